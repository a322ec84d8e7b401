//! Stage 3, lineage continuity: a mutation must follow from the admitted transitions. The first rule that fails is reported, in this
//! order: repetition, regression, discontinuity, topic.

use crate::determination::DecidingField;
use portcullis_core::fixed::BasisPoints;
use portcullis_core::mutation::Mutation;
use portcullis_core::reason::LineageReason;
use portcullis_core::state::SemanticState;
use portcullis_mapping::Reading;

/// What a rule of this stage found.
pub(super) type Failure = (LineageReason, DecidingField);

/// Content words under which a span has no topic of its own.
const TOPIC_WORDS: usize = 3;

/// The first rule that the mutation fails.
pub(super) fn check(state: &SemanticState, mutation: &Mutation, reading: &Reading) -> Option<Failure> {
    let rules = &state.policy.continuity;
    repetition(state, mutation)
        .or_else(|| rules.contradiction.then(|| regression(state, mutation)).flatten())
        .or_else(|| rules.discontinuity.then(|| discontinuity(state, mutation, reading)).flatten())
        .or_else(|| topic(state, mutation, reading))
}

fn failed(reason: LineageReason, field: &str, value: String, condition: String) -> Failure {
    (reason, DecidingField { field: field.to_owned(), value, condition })
}

/// The statement stands among the recent ones as often as it may already.
fn repetition(state: &SemanticState, mutation: &Mutation) -> Option<Failure> {
    let rules = &state.policy.continuity;
    let fingerprint = mutation.proposed.fingerprint;
    if rules.repetitions == 0 || fingerprint == 0 {
        return None;
    }
    let recent = state.lineage.iter().rev().take(usize::from(rules.recent));
    let count = recent.filter(|t| t.fingerprint == fingerprint).count();
    (count >= usize::from(rules.repetitions)).then(|| {
        let condition = format!("at most {} among the last {}", rules.repetitions, rules.recent);
        failed(LineageReason::Repetition, "repetitions", (count + 1).to_string(), condition)
    })
}

/// A value that a revision replaced comes back without one.
fn regression(state: &SemanticState, mutation: &Mutation) -> Option<Failure> {
    if mutation.proposed.revises {
        return None;
    }
    mutation.proposed.claims.iter().filter(|c| !c.negated).find_map(|claim| {
        let key = (state.memory.relation(claim), claim.value.clone());
        let now = state.memory.claims.get(&key.0).map_or("another value", |h| h.value.as_str());
        state.memory.superseded.contains(&key).then(|| {
            let condition = format!("{now}, which replaced it");
            failed(LineageReason::Regression, &claim.relation, claim.value.clone(), condition)
        })
    })
}

/// A continuation of nothing, or an enumeration that leaves a place out.
fn discontinuity(state: &SemanticState, mutation: &Mutation, reading: &Reading) -> Option<Failure> {
    if reading.continuation && state.lineage.is_empty() {
        let condition = "something that it continues".to_owned();
        return Some(failed(LineageReason::Discontinuity, "continuation", "nothing before it".into(), condition));
    }
    let ordinal = mutation.proposed.ordinal.filter(|n| *n > 1)?;
    let open = state.memory.ordinal.unwrap_or(0);
    (ordinal != open + 1 && ordinal != open)
        .then(|| failed(LineageReason::Discontinuity, "enumeration", ordinal.to_string(), format!("1 or {}", open + 1)))
}

/// Too few words that intent or recent lineage hold, no cue of transition, and no pronoun that carries the subject on.
fn topic(state: &SemanticState, mutation: &Mutation, reading: &Reading) -> Option<Failure> {
    let rules = &state.policy.continuity;
    let words = &mutation.proposed.words;
    let anything = !state.lineage.is_empty() || !state.intent.words.is_empty();
    if rules.topic == 0 || !anything || words.len() < TOPIC_WORDS || reading.transition || reading.pronoun {
        return None;
    }
    let oldest = state.lineage.len().saturating_sub(usize::from(rules.recent));
    let oldest = state.lineage.get(oldest).map_or(0, |t| t.sequence);
    let linked = words
        .iter()
        .filter(|w| state.intent.words.contains(*w) || state.memory.words.get(*w).is_some_and(|said| *said >= oldest))
        .count();
    let share = BasisPoints::ratio(linked, words.len());
    (share.get() < rules.topic).then(|| {
        failed(LineageReason::TopicShift, "linked", share.get().to_string(), format!("at least {}", rules.topic))
    })
}
