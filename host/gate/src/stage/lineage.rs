//! Stage 3, lineage continuity: a mutation must follow from the admitted transitions. The rules are checked in this
//! order: repetition, regression, discontinuity, topic. The first rule that fails is reported.

use super::propositions::Conflicts;
use crate::determination::DecidingField;
use portcullis_core::mutation::SpanMutation;
use portcullis_core::reason::LineageReason;
use portcullis_core::state::SemanticState;
use portcullis_mapping::SpanReading;

/// A failed rule of this stage, and the deciding field.
pub(super) type Failure = (LineageReason, DecidingField);

/// The first rule that fails for the mutation.
pub(super) fn check(
    state: &SemanticState,
    mutation: &SpanMutation,
    reading: &SpanReading,
    conflicts: Option<&Conflicts>,
) -> Option<Failure> {
    let rules = &state.policy.continuity;
    repetition(state, mutation)
        .or_else(|| rules.contradiction.then(|| regression(state, mutation, conflicts)).flatten())
        .or_else(|| rules.discontinuity.then(|| discontinuity(state, mutation, reading)).flatten())
        .or_else(|| topic(state, mutation))
}

fn failed(reason: LineageReason, field: &str, value: String, condition: String) -> Failure {
    (reason, DecidingField { field: field.to_owned(), value, condition })
}

/// Fails if the statement already occurs in the recent transitions as often as the policy allows.
fn repetition(state: &SemanticState, mutation: &SpanMutation) -> Option<Failure> {
    let rules = &state.policy.continuity;
    let fingerprint = mutation.proposed.fingerprint;
    if rules.repetitions == 0 || fingerprint == 0 {
        return None;
    }
    let recent = state.lineage.iter().rev().take(usize::from(rules.recent));
    let same: Vec<u32> = recent.filter(|t| t.fingerprint == fingerprint).map(|t| t.sequence).collect();
    (same.len() >= usize::from(rules.repetitions)).then(|| {
        let earlier: Vec<String> = same.iter().rev().map(u32::to_string).collect();
        let (most, recent, earlier) = (rules.repetitions, rules.recent, earlier.join(", "));
        let condition = format!("at most {most} among the last {recent}; the same was said in {earlier}");
        failed(LineageReason::Repetition, "repetitions", (same.len() + 1).to_string(), condition)
    })
}

/// Fails if a value that a revision replaced comes back without another revision.
fn regression(state: &SemanticState, mutation: &SpanMutation, conflicts: Option<&Conflicts>) -> Option<Failure> {
    if mutation.proposed.revises {
        return None;
    }
    if let Some(conflicts) = conflicts {
        return conflicts.regression.clone().map(|deciding| (LineageReason::Regression, deciding));
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

/// Fails for a continuation without earlier text, or an enumeration with a gap.
fn discontinuity(state: &SemanticState, mutation: &SpanMutation, reading: &SpanReading) -> Option<Failure> {
    if reading.continuation && state.lineage.is_empty() {
        let condition = "something that it continues".to_owned();
        return Some(failed(LineageReason::Discontinuity, "continuation", "nothing before it".into(), condition));
    }
    let ordinal = mutation.proposed.ordinal.filter(|n| *n > 1)?;
    let open = state.memory.ordinal.unwrap_or(0);
    (ordinal != open + 1 && ordinal != open)
        .then(|| failed(LineageReason::Discontinuity, "enumeration", ordinal.to_string(), format!("1 or {}", open + 1)))
}

/// Fails if the last sentences, this one included, are too far from the earlier text.
fn topic(state: &SemanticState, mutation: &SpanMutation) -> Option<Failure> {
    let most = state.policy.continuity.topic;
    let mean = mutation.proposed.topic?.mean.get();
    (most > 0 && mean >= most).then(|| {
        let known = |word: &&String| !state.memory.topic_words.contains(*word) && !state.intent.words.contains(*word);
        let strange: Vec<&str> = mutation.proposed.topic_words.iter().filter(known).map(String::as_str).collect();
        let condition = format!("under {most}; not said before: {}", strange.join(", "));
        failed(LineageReason::TopicShift, "distance", mean.to_string(), condition)
    })
}
