//! Stage 2, descriptor validation: a mutation must be consistent in itself. It must not presuppose anything that was
//! not established, and must not contradict anything that was. The rules are checked in this order, and the first
//! failure is reported:
//!
//! 1. text that cannot be mapped, and quantities (found by the mapping),
//! 2. two claims of the span that cannot both hold,
//! 3. another value for an established fact, or its negation, unless the span declares a revision,
//! 4. references to something that was not introduced.

use super::propositions::Conflicts;
use crate::determination::DecidingField;
use portcullis_core::mutation::{SpanClaim, SpanMutation};
use portcullis_core::reason::ValidationReason;
use portcullis_core::state::{ClaimKey, ClaimValue, SemanticState};
use portcullis_mapping::{IntroducedWords, PropositionConflict, SpanReading, TextMapper};

/// A failed rule of this stage, and the deciding field.
pub(super) type Failure = (ValidationReason, DecidingField);

/// The first rule that the mutation fails, without the rules that the mapping checks. `prose` is the part of the span
/// that states something.
pub(super) fn check(
    state: &SemanticState,
    mutation: &SpanMutation,
    reading: &SpanReading,
    conflicts: Option<&Conflicts>,
    prose: Option<&str>,
    words: (&TextMapper, &IntroducedWords),
) -> Option<Failure> {
    let rules = &state.policy.continuity;
    let contradiction =
        || (rules.contradiction && prose.is_some()).then(|| contradiction(state, mutation, conflicts)).flatten();
    let presupposition = || {
        prose.filter(|_| rules.presupposition).and_then(|prose| presupposition(state, mutation, reading, prose, words))
    };
    inconsistency(state, mutation).or_else(contradiction).or_else(presupposition)
}

fn failed(reason: ValidationReason, field: String, value: &str, condition: String) -> Failure {
    (reason, DecidingField { field, value: value.to_owned(), condition })
}

fn named(key: &ClaimKey) -> String {
    format!("{}: {}", if key.subject.is_empty() { "the subject" } else { &key.subject }, key.relation)
}

/// Finds two values for one relation of one subject, or an end before its beginning, such as a death before a birth.
fn inconsistency(state: &SemanticState, mutation: &SpanMutation) -> Option<Failure> {
    let claims: Vec<(ClaimKey, &SpanClaim)> =
        mutation.proposed.claims.iter().filter(|c| !c.negated).map(|c| (state.memory.relation(c), c)).collect();
    for (at, (key, claim)) in claims.iter().enumerate() {
        let earlier = claims.iter().take(at).find(|(k, c)| k == key && c.value != claim.value);
        if let Some((_, other)) = earlier {
            let condition = format!("one value, and {} stands before it", other.value);
            return Some(failed(ValidationReason::Inconsistent, named(key), &claim.value, condition));
        }
    }
    // To find an end before its beginning, a claim of the span is compared with the other claims of span and memory.
    for (first, last) in [("born year", "died year"), ("founded year", "closed year"), ("begin year", "end year")] {
        for (key, claim) in &claims {
            let other = if key.relation == first {
                last
            } else if key.relation == last {
                first
            } else {
                continue;
            };
            let other = ClaimKey { subject: key.subject.clone(), relation: other.to_owned() };
            let in_span = claims.iter().find(|(k, _)| *k == other).map(|(_, c)| c.value.clone());
            let held = || state.memory.claims.get(&other).filter(|h| !h.negated).map(|h| h.value.clone());
            let Some(value) = in_span.or_else(held) else { continue };
            let (Ok(this), Ok(that)) = (claim.value.parse::<u32>(), value.parse::<u32>()) else { continue };
            if if key.relation == first { this > that } else { this < that } {
                let condition = format!("in order with {} {value}", other.relation);
                return Some(failed(ValidationReason::Inconsistent, named(key), &claim.value, condition));
            }
        }
    }
    None
}

fn contradiction(state: &SemanticState, mutation: &SpanMutation, conflicts: Option<&Conflicts>) -> Option<Failure> {
    if mutation.proposed.revises {
        return None;
    }
    let found = match conflicts {
        Some(conflicts) => conflicts.contradiction.clone().map(|(conflict, deciding)| {
            let reason = match conflict {
                PropositionConflict::Negation => ValidationReason::ContradictNegation,
                PropositionConflict::Value => ValidationReason::ContradictValue,
            };
            (reason, deciding)
        }),
        None => contradicted_claim(state, mutation),
    };
    found.or_else(|| contradicted_quantity(state, mutation))
}

/// For a language without a grammar: finds another value for an established relation, or the denial of an established
/// statement.
fn contradicted_claim(state: &SemanticState, mutation: &SpanMutation) -> Option<Failure> {
    let proposed = &mutation.proposed;
    for claim in &proposed.claims {
        let key = state.memory.relation(claim);
        let Some(ClaimValue { value, negated }) = state.memory.claims.get(&key) else { continue };
        // A value that was replaced earlier is a regression; stage 3 finds it.
        if state.memory.superseded.contains(&(key.clone(), claim.value.clone())) {
            continue;
        }
        let reason = match (negated, claim.negated, *value == claim.value) {
            (false, false, false) => ValidationReason::ContradictValue,
            (false, true, true) | (true, false, true) => ValidationReason::ContradictNegation,
            _ => continue,
        };
        let not = if *negated { "not " } else { "" };
        return Some(failed(reason, named(&key), &claim.value, format!("{not}{value}, as established")));
    }
    if let Some(negated) = state.memory.statements.get(&proposed.fingerprint)
        && *negated != proposed.negated
    {
        let (value, condition) = if proposed.negated { ("denied", "affirmed") } else { ("affirmed", "denied") };
        let condition = format!("{condition}, as established");
        return Some(failed(ValidationReason::ContradictNegation, proposed.words.join(" "), value, condition));
    }
    None
}

/// Finds a quantity outside the tolerance of its slot.
fn contradicted_quantity(state: &SemanticState, mutation: &SpanMutation) -> Option<Failure> {
    let slots = mutation.quantities.iter().zip(&state.memory.quantities).zip(&state.policy.tolerances).enumerate();
    for (slot, ((new, old), tolerance)) in slots {
        let (Some(new), Some(old), Some(tolerance)) = (new, old, tolerance) else { continue };
        let distance = (i64::from(*new) - i64::from(*old)).abs();
        if distance * 10_000 > i64::from(*tolerance) * i64::from(*old).abs() {
            let condition = format!("within {tolerance} basis points of {old}");
            let field = format!("quantity slot {slot}");
            return Some(failed(ValidationReason::ContradictQuantity, field, &new.to_string(), condition));
        }
    }
    None
}

fn presupposition(
    state: &SemanticState,
    mutation: &SpanMutation,
    reading: &SpanReading,
    span: &str,
    (mapper, introduced): (&TextMapper, &IntroducedWords),
) -> Option<Failure> {
    let is_introduced = |word: &str| {
        let memory = &state.memory.words;
        let known = |w: &str| memory.contains_key(w) || state.intent.words.contains(w);
        // A noun also counts as introduced if its singular or its plural was introduced.
        let singular = [word.strip_suffix("es"), word.strip_suffix('s')].into_iter().flatten().any(known);
        let listed = known(word) || singular || known(&format!("{word}s")) || known(&format!("{word}es"));
        listed || mapper.is_introduced(introduced, word)
    };
    let nothing_said = state.lineage.is_empty();
    if reading.backward && nothing_said {
        let condition = "something above it".to_owned();
        return Some(failed(ValidationReason::PresupposeAbove, "reference back".into(), "nothing above", condition));
    }
    if reading.quantity_reference {
        let numeric = |w: &String| mapper.is_number(w);
        let given = mutation.quantities.iter().chain(&state.memory.quantities).any(Option::is_some)
            || introduced.has_number()
            || mutation.proposed.words.iter().any(numeric);
        if !given {
            let condition = "a quantity that was given".to_owned();
            return Some(failed(ValidationReason::PresupposeQuantity, "quantity".into(), "none", condition));
        }
    }
    let definite = reading.definite.iter().filter(|_| state.policy.continuity.definite);
    let pointed = mapper.pointing(span, !nothing_said);
    let pointing = pointed.as_ref().unwrap_or(&reading.pointing);
    let missing = pointing.iter().chain(definite).find(|phrase| !phrase.iter().any(|w| is_introduced(w)))?;
    let condition = "a noun that was introduced".to_owned();
    Some(failed(ValidationReason::PresupposeReferent, "referent".into(), &missing.join(" "), condition))
}
