//! Compares the propositions of a span with the admitted ones.

use super::Span;
use crate::determination::DecidingField;
use crate::governor::StreamGovernor;
use portcullis_core::mutation::SpanMutation;
use portcullis_core::proposition::{Proposition, PropositionSubject, mention};
use portcullis_core::state::SemanticState;
use portcullis_mapping::PropositionConflict;
use std::ops::Range;

/// Number of recent propositions that are compared with a new one. This bounds the work per span.
const RECENT: usize = 256;

/// Propositions of the span that conflict with admitted ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conflicts {
    /// A contradiction, and its deciding field.
    pub(super) contradiction: Option<(PropositionConflict, DecidingField)>,
    /// A proposition that a revision replaced, and that the span repeats.
    pub(super) regression: Option<DecidingField>,
}

/// Reads the propositions that a span asserts, adds them to the mutation, and compares them with the admitted ones.
/// `None` for a language without a grammar, or if the policy does not check contradictions. `prose` is the part of the
/// span that states something.
pub(super) fn propose(
    governor: &StreamGovernor,
    state: &SemanticState,
    span: &Span<'_>,
    prose: Option<&Range<usize>>,
    mutation: &mut SpanMutation,
) -> Option<Conflicts> {
    if !state.policy.continuity.contradiction {
        return None;
    }
    mutation.proposed.opened = governor.mapper().opened(span.text, span.range);
    let Some(prose) = prose else { return Some(Conflicts::default()) };
    let mut subjects = state.memory.subjects.clone();
    mutation.proposed.opened.iter().for_each(|opened| mention(&mut subjects, opened));
    let before = if prose.start == span.range.start { span.text.earlier(span.range) } else { "" };
    let mut propositions = governor.mapper().propositions(before, span.text.slice(prose))?;
    propositions.retain_mut(|p| resolve(governor, state, &mut subjects, p));
    mutation.proposed.revises |= governor.mapper().revises(before);
    let revises = mutation.proposed.revises;
    if revises {
        // In the revision "The pool now opens at nine", "now" only marks the revision. So adverbs are dropped.
        propositions.iter_mut().for_each(|p| p.phrases.retain(|phrase| phrase.lead != "adv"));
    }
    let held = &state.memory.propositions;
    let recent = || held.iter().enumerate().skip(held.len().saturating_sub(RECENT));
    let mut conflicts = Conflicts::default();
    for new in &propositions {
        let returns = recent().any(|(_, h)| h.replaced && governor.mapper().say_the_same(&h.proposition, new));
        for (at, old) in recent().filter(|(_, h)| !h.replaced) {
            let replaces = || governor.mapper().replaces(&old.proposition, new);
            if revises {
                if replaces() {
                    mutation.proposed.replaces.push(at);
                }
            } else if returns && replaces() {
                let condition = format!("\"{}\", which replaced it", old.proposition.shown);
                conflicts.regression.get_or_insert_with(|| deciding(new, condition));
            } else if let Some(conflict) = governor.mapper().conflict(&old.proposition, new) {
                let condition = format!("\"{}\", as established", old.proposition.shown);
                conflicts.contradiction.get_or_insert_with(|| (conflict, deciding(new, condition)));
            }
        }
    }
    mutation.proposed.propositions = propositions;
    Some(conflicts)
}

fn deciding(new: &Proposition, condition: String) -> DecidingField {
    DecidingField { field: format!("{}: {}", new.subject.words, new.verb), value: new.shown.clone(), condition }
}

/// Replaces a subject by the referent of a pronoun, or by the entity of an anchor store. False if there is no referent.
fn resolve(
    governor: &StreamGovernor,
    state: &SemanticState,
    subjects: &mut Vec<PropositionSubject>,
    proposition: &mut Proposition,
) -> bool {
    let Some(mut subject) = proposition.subject.resolved(subjects) else { return false };
    let named = subject.words.clone();
    if subject.is_bare() {
        subject.within = subjects.iter().rfind(|s| !s.is_bare()).map_or_else(String::new, |s| s.words.clone());
    }
    if let Some(id) = governor.anchors().entity_called(&named) {
        subject.words = id.to_owned();
        subject.name = false;
    } else if proposition.subject.pronoun
        && let Some(entity) = &state.memory.subject
        && subjects.is_empty()
    {
        subject.words.clone_from(entity);
    }
    mention(subjects, &subject);
    proposition.subject = subject;
    true
}
