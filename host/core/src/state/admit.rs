//! The only two ways to change a state: commit an admitted mutation, and undo a commit.

use super::{
    AdmittedTransition, ClaimKey, ClaimValue, EntropyBounds, HeldProposition, SemanticCommitments, SemanticState,
};
use crate::class::ClassSet;
use crate::drift::DriftLevel;
use crate::mutation::{SpanClaim, SpanMutation};
use crate::proposition::{PropositionSubject, mention};
use crate::wire::QUANTITY_SLOTS;
use std::collections::BTreeMap;

/// Undoes one commit. It contains the old values of everything that the commit changed, so its size depends on the
/// span and not on the lineage.
#[derive(Clone, Debug)]
pub struct CommitUndo {
    established: ClassSet,
    quantities: [Option<i32>; QUANTITY_SLOTS],
    subject: Option<String>,
    ordinal: Option<u32>,
    bounds: EntropyBounds,
    subjects: Vec<PropositionSubject>,
    /// Number of propositions before the commit.
    propositions: usize,
    /// Changes of the collections, in the order in which the commit made them.
    changes: Vec<CommitChange>,
}

/// One change of a collection, with its previous content where there was any.
#[derive(Clone, Debug)]
enum CommitChange {
    Word(String, Option<u32>),
    Referent(String),
    Claim(ClaimKey, Option<ClaimValue>),
    Superseded(ClaimKey, String),
    Reinstated(ClaimKey, String),
    Statement(u64, Option<bool>),
    Replaced(usize),
    TopicWord(String),
}

impl SemanticState {
    /// Commits an admitted mutation. `sequence` and `commitment` come from its entry.
    pub fn admit(&mut self, mutation: &SpanMutation, sequence: u32, commitment: [u8; 32]) -> CommitUndo {
        let proposed = &mutation.proposed;
        let memory = &mut self.memory;
        let mut undo = CommitUndo {
            established: memory.established,
            quantities: memory.quantities,
            subject: memory.subject.clone(),
            ordinal: memory.ordinal,
            bounds: self.bounds,
            subjects: memory.subjects.clone(),
            propositions: memory.propositions.len(),
            changes: Vec::with_capacity(proposed.words.len()),
        };
        memory.established = memory.established.union(mutation.classes);
        for (slot, value) in memory.quantities.iter_mut().zip(mutation.quantities) {
            *slot = value.or(*slot);
        }
        for word in &proposed.words {
            undo.changes.push(CommitChange::Word(word.clone(), memory.words.insert(word.clone(), sequence)));
        }
        for referent in &proposed.referents {
            if memory.referents.insert(referent.clone()) {
                undo.changes.push(CommitChange::Referent(referent.clone()));
            }
        }
        if let Some(subject) = &proposed.subject {
            memory.subject = Some(subject.clone());
        }
        for claim in &proposed.claims {
            memory.commit(claim, &mut undo.changes);
        }
        if proposed.prose && proposed.fingerprint != 0 {
            let before = memory.statements.insert(proposed.fingerprint, proposed.negated);
            undo.changes.push(CommitChange::Statement(proposed.fingerprint, before));
        }
        memory.ordinal = proposed.ordinal.or(memory.ordinal);
        for at in &proposed.replaces {
            if let Some(held) = memory.propositions.get_mut(*at).filter(|held| !held.replaced) {
                held.replaced = true;
                undo.changes.push(CommitChange::Replaced(*at));
            }
        }
        if let Some(opened) = &proposed.opened {
            mention(&mut memory.subjects, opened);
        }
        for proposition in &proposed.propositions {
            mention(&mut memory.subjects, &proposition.subject);
            memory.propositions.push(HeldProposition { proposition: proposition.clone(), replaced: false });
        }

        for word in &proposed.topic_words {
            if memory.topic_words.insert(word.clone()) {
                undo.changes.push(CommitChange::TopicWord(word.clone()));
            }
        }

        let slope = &self.policy.trust_slope;
        self.lineage.push(AdmittedTransition {
            sequence,
            commitment,
            category: mutation.category,
            fingerprint: proposed.fingerprint,
            theme: proposed.theme,
            opening: proposed.opening,
            distance: slope.distance(mutation),
        });
        let trust_slope = slope.slope(self.lineage.iter().map(|t| t.distance));
        self.bounds = EntropyBounds {
            trust_slope,
            drift: hysteresis(self.bounds.drift, slope.drift(trust_slope)),
            topic: proposed.topic.unwrap_or(self.bounds.topic),
        };
        undo
    }

    /// Undoes the last commit. The state afterwards is byte for byte the state before the commit.
    pub fn revert(&mut self, undo: CommitUndo) {
        let memory = &mut self.memory;
        memory.established = undo.established;
        memory.quantities = undo.quantities;
        memory.subject = undo.subject;
        memory.subjects = undo.subjects;
        memory.propositions.truncate(undo.propositions);
        memory.ordinal = undo.ordinal;
        self.bounds = undo.bounds;
        self.lineage.pop();
        for change in undo.changes.into_iter().rev() {
            match change {
                CommitChange::Word(word, before) => restore(&mut memory.words, word, before),
                CommitChange::Referent(referent) => {
                    memory.referents.remove(&referent);
                }
                CommitChange::Claim(key, before) => restore(&mut memory.claims, key, before),
                CommitChange::Superseded(key, value) => {
                    memory.superseded.remove(&(key, value));
                }
                CommitChange::Reinstated(key, value) => {
                    memory.superseded.insert((key, value));
                }
                CommitChange::Statement(fingerprint, before) => restore(&mut memory.statements, fingerprint, before),
                CommitChange::TopicWord(word) => {
                    memory.topic_words.remove(&word);
                }
                CommitChange::Replaced(at) => {
                    memory.propositions.iter_mut().skip(at).take(1).for_each(|held| held.replaced = false);
                }
            }
        }
    }
}

impl SemanticCommitments {
    /// The key of a claim. A claim without a subject concerns the stream's current subject.
    #[must_use]
    pub fn relation(&self, claim: &SpanClaim) -> ClaimKey {
        let subject =
            if claim.subject.is_empty() { self.subject.as_deref().unwrap_or_default() } else { &claim.subject };
        ClaimKey { subject: subject.to_owned(), relation: claim.relation.clone() }
    }

    fn commit(&mut self, claim: &SpanClaim, changes: &mut Vec<CommitChange>) {
        let key = self.relation(claim);
        // "Not X" does not give a new value, so the old value stays.
        if claim.negated && self.claims.get(&key).is_some_and(|h| !h.negated) {
            return;
        }
        let held = ClaimValue { value: claim.value.clone(), negated: claim.negated };
        let before = self.claims.insert(key.clone(), held);
        if let Some(old) = before.as_ref().filter(|b| !b.negated && b.value != claim.value)
            && self.superseded.insert((key.clone(), old.value.clone()))
        {
            changes.push(CommitChange::Superseded(key.clone(), old.value.clone()));
        }
        changes.push(CommitChange::Claim(key.clone(), before));
        // A revision may return to a superseded value, which is then in force again.
        if !claim.negated && self.superseded.remove(&(key.clone(), claim.value.clone())) {
            changes.push(CommitChange::Reinstated(key, claim.value.clone()));
        }
    }
}

/// A correction stays until the slope falls below the warning threshold. All other levels follow the slope at once.
fn hysteresis(before: DriftLevel, now: DriftLevel) -> DriftLevel {
    if before >= DriftLevel::Correction && now == DriftLevel::Warning { DriftLevel::Correction } else { now }
}

fn restore<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, before: Option<V>) {
    match before {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}
