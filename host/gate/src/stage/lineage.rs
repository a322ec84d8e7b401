//! Stage 3, lineage continuity: a mutation must follow from the admitted transitions. The rules are checked in this
//! order: repetition, regression, discontinuity, topic. The first rule that fails is reported.

use super::propositions::Conflicts;
use crate::determination::DecidingField;
use portcullis_core::mutation::{RepetitionRule, SpanMutation};
use portcullis_core::reason::LineageReason;
use portcullis_core::state::{AdmittedTransition, SemanticState};
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

/// Fails if the engine loops: the last statements, this one included, brought nothing new for longer than one round,
/// and this one stands for the third time. A round is the way from one occurrence of a statement to the next.
/// Statements that differ in their numbers only, or that begin alike, loop after twice as many.
fn repetition(state: &SemanticState, mutation: &SpanMutation) -> Option<Failure> {
    let rules = &state.policy.continuity;
    let (proposed, most) = (&mutation.proposed, usize::from(rules.repetitions));
    let recent = state.lineage.iter().rev().take(usize::from(rules.recent).max(2 * most));
    let exact = Rounds::of(proposed.fingerprint, recent.clone().map(|t| t.fingerprint));
    let numbered = Rounds::of(proposed.theme, recent.clone().map(|t| t.theme));
    let growing = Rounds::of(proposed.opening, recent.clone().map(|t| t.opening));
    let alike = |rounds: Rounds| rounds.distance == 1 && rounds.is_loop(2 * most);
    let loops = match proposed.repeats {
        RepetitionRule::Exempt => false,
        RepetitionRule::Call => return equal_calls(state, proposed.fingerprint),
        RepetitionRule::Consecutive => alike(numbered),
        RepetitionRule::Counted => exact.is_loop(most) || numbered.is_loop(2 * most) || alike(growing),
    };
    (most > 0 && loops).then(|| {
        let rounds = [exact, numbered, growing].into_iter().max_by_key(|rounds| rounds.stale).unwrap_or(exact);
        let same = |t: &&AdmittedTransition| {
            [(t.fingerprint, proposed.fingerprint), (t.theme, proposed.theme), (t.opening, proposed.opening)]
                .iter()
                .any(|(old, new)| old == new && *new != 0)
        };
        let mut said: Vec<u32> = recent.filter(same).map(|t| t.sequence).collect();
        said.reverse();
        let said = said.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let condition = format!("something new among the last {}; the same was said in {said}", rounds.stale);
        failed(LineageReason::Repetition, "repetitions", (rounds.before + 1).to_string(), condition)
    })
}

/// How the admitted statements lead up to a new one.
#[derive(Clone, Copy)]
struct Rounds {
    /// How often the statement was made before.
    before: usize,
    /// Number of statements since it was last made, itself included.
    distance: usize,
    /// Number of last statements, the new one included, that had all been made before.
    stale: usize,
}

impl Rounds {
    /// `recent` are the fingerprints of the admitted statements, the last one first.
    fn of(new: u64, recent: impl Iterator<Item = u64>) -> Self {
        let recent: Vec<u64> = recent.filter(|f| *f != 0).collect();
        let before = recent.iter().filter(|f| **f == new && new != 0).count();
        let distance = recent.iter().position(|f| *f == new).map_or(usize::MAX, |at| at + 1);
        let is_stale = |at: &usize| recent.get(*at).is_some_and(|f| recent.iter().skip(at + 1).any(|e| e == f));
        let stale = if before == 0 { 0 } else { 1 + (0..recent.len()).take_while(is_stale).count() };
        Self { before, distance, stale }
    }

    fn is_loop(&self, most: usize) -> bool {
        self.before >= 2 && self.stale >= most && self.stale > self.distance
    }
}

/// Number of admitted spans among which equal calls are counted.
const CALLS: usize = 1024;

/// Fails if the same call was made as often as the policy allows.
fn equal_calls(state: &SemanticState, call: u64) -> Option<Failure> {
    let most = usize::from(state.policy.continuity.calls);
    let made = state.lineage.iter().rev().take(CALLS).filter(|t| t.fingerprint == call).count();
    (most > 0 && made >= most).then(|| {
        let condition = format!("at most {most} equal calls");
        failed(LineageReason::Repetition, "calls", (made + 1).to_string(), condition)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of statements, one letter each, after which the loop is seen; `None` if it never is.
    fn seen_after(statements: &str, most: usize) -> Option<usize> {
        let all: Vec<u64> = statements.bytes().map(u64::from).collect();
        (0..all.len()).find(|at| Rounds::of(all[*at], all[..*at].iter().rev().copied()).is_loop(most)).map(|at| at + 1)
    }

    #[test]
    fn a_loop_brings_nothing_new_for_longer_than_a_round() {
        assert_eq!(
            [seen_after("AAAA", 3), seen_after("ABABAB", 3), seen_after("ABCABCABC", 3)],
            [Some(4), Some(5), Some(7)]
        );
        assert_eq!(seen_after("AAAAAAAA", 6), Some(7));
        for refrain in ["xRyRzRuRv", "abcCHdefCHghiCH", "AbAcAdAeAf"] {
            assert_eq!(seen_after(refrain, 3), None, "{refrain}");
        }
    }
}
