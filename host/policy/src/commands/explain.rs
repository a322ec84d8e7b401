//! `policy explain`: which rows match a descriptor, and of the nearest that do not, what keeps them from it.

use crate::compile::Compiled;
use crate::cube::{Universe, presence_bit, rows::of_row};
use crate::decision::{BankDecision, Decision};
use crate::evaluate::Evaluator;
use crate::evaluate::reference::{descriptor_bits, descriptor_ranges, row_matches};
use crate::image::Bank;
use crate::package::PRELUDE_FILE;
use crate::vocabulary::{ENUMERATIONS, FLAGS, RANGES, SETS, Unit, Vocabulary, bits_of};
use portcullis_core::wire::{BASIS_POINTS_MAX, Descriptor, Row};
use serde::Serialize;

/// Rows that do not match, at most this many a bank, are explained.
const NEAREST: usize = 3;

/// Why a descriptor is decided as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The decision.
    pub decision: Decision,
    /// Policy bank, then entropy bank.
    pub banks: [BankExplanation; 2],
}

/// One bank's part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BankExplanation {
    /// The bank.
    pub bank: Bank,
    /// Its answer.
    pub answer: BankDecision,
    /// Rows that match, by row; no rule for the permit-all.
    pub matched: Vec<(u16, Option<String>)>,
    /// Rows that do not match and miss by the fewest columns, one a rule; the prelude's come last.
    pub nearest: Vec<NearMiss>,
}

/// A row that does not match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NearMiss {
    /// Its number.
    pub row: u16,
    /// Id of its rule.
    pub rule: Option<String>,
    /// Each column that fails, in words.
    pub failed: Vec<String>,
}

/// Explains what `compiled` makes of `descriptor`.
#[must_use]
pub fn explain(compiled: &Compiled, vocabulary: &Vocabulary, descriptor: &Descriptor) -> Explanation {
    let banks = Evaluator::new(&compiled.image).evaluate(descriptor);
    let decision = Decision::new(compiled, descriptor, &banks);
    let bank = |bank: Bank, answer: &BankDecision| {
        let (mut matched, mut missed) = (Vec::new(), Vec::new());
        for (number, row) in (0u16..).zip(compiled.image.rows(bank)) {
            let rule = compiled.rule_of_row(bank, number).map(|rule| rule.id.clone());
            if row_matches(row, descriptor) {
                matched.push((number, rule));
            } else {
                let failed = failures(&compiled.universe, vocabulary, row, descriptor);
                missed.push(NearMiss { row: number, rule, failed });
            }
        }
        let of_prelude = |miss: &NearMiss| {
            let rule = compiled.rule_of_row(bank, miss.row);
            rule.and_then(|rule| rule.place.as_ref()).is_some_and(|place| place.file == PRELUDE_FILE)
        };
        missed.sort_by_key(|miss| (of_prelude(miss), miss.failed.len(), miss.row));
        let mut nearest: Vec<NearMiss> = Vec::new();
        for miss in missed {
            let known =
                nearest.iter().any(|near| near.rule == miss.rule) || matched.iter().any(|(_, rule)| *rule == miss.rule);
            if !known && nearest.len() < NEAREST {
                nearest.push(miss);
            }
        }
        BankExplanation { bank, answer: answer.clone(), matched, nearest }
    };
    let banks = [bank(Bank::Policy, &decision.policy), bank(Bank::Entropy, &decision.entropy)];
    Explanation { decision, banks }
}

/// Every column of `row` that `d` does not meet; never empty for a row that does not match.
fn failures(universe: &Universe, vocabulary: &Vocabulary, row: &Row, d: &Descriptor) -> Vec<String> {
    let mut failed = Vec::new();
    let Some(cube) = of_row(row, universe) else { return vec!["the row can never match".into()] };
    let values = [d.category, d.granularity, d.epistemic, d.anchor, d.temporal, d.domain, d.audience, d.register];
    for ((column, name), (mask, value)) in ENUMERATIONS.iter().enumerate().zip(cube.enumerations.iter().zip(values)) {
        if 1u32.checked_shl(value.into()).is_none_or(|bit| bit & mask == 0) {
            let known = vocabulary.enumeration(column);
            let found = known.get(usize::from(value)).map_or("undeclared", String::as_str);
            let wanted = names(known, (*mask).into());
            failed.push(format!("{name} is {found}, wanted {}", wanted.join(" or ")));
        }
    }
    let bits = descriptor_bits(d);
    for bit in bits_of(u128::from((bits ^ cube.bits_value) & cube.bits_mask)) {
        let wanted = cube.bits_value >> bit & 1 == 1;
        failed.push(match FLAGS.get(bit) {
            Some(flag) => format!("{flag} is {}, wanted {wanted}", !wanted),
            None => {
                let slot = vocabulary.quantities().get(bit - presence_bit(0)).map_or("?", String::as_str);
                let (is, wanted) = if wanted { ("absent", "present") } else { ("present", "absent") };
                format!("quantity.{slot} is {is}, wanted {wanted}")
            }
        });
    }
    let sets = [u128::from(d.fields_touched), d.classes.get(), d.established.get()];
    for ((column, name), (condition, value)) in SETS.iter().enumerate().zip(cube.sets.iter().zip(sets)) {
        let known = vocabulary.set(column);
        let lacking = names(known, condition.all & !value);
        if !lacking.is_empty() {
            failed.push(format!("{name} lacks {}", lacking.join(", ")));
        }
        let excess = names(known, condition.none & value);
        if !excess.is_empty() {
            failed.push(format!("{name} has {}", excess.join(", ")));
        }
        if condition.any != 0 && condition.any & value == 0 {
            failed.push(format!("{name} has none of {}", names(known, condition.any).join(", ")));
        }
    }
    for (column, (&(low, high), value)) in cube.ranges.iter().zip(descriptor_ranges(d)).enumerate() {
        if (low..=high).contains(&value) {
            continue;
        }
        let (name, text): (String, fn(i64) -> String) = match RANGES.get(column) {
            Some((name, Unit::Count(_))) => ((*name).into(), |value| value.to_string()),
            Some((name, Unit::BasisPoints)) => ((*name).into(), |value| {
                let one = i64::from(BASIS_POINTS_MAX);
                format!("{}.{:04}", value / one, value % one)
            }),
            None => {
                // An absent quantity has been reported as absent, and its zero is no value.
                let slot = column - RANGES.len();
                if bits >> presence_bit(slot) & 1 == 0 {
                    continue;
                }
                let name = vocabulary.quantities().get(slot).map_or("?", String::as_str);
                (format!("quantity.{name}"), |value| value.to_string())
            }
        };
        failed.push(format!("{name} is {}, wanted {} to {}", text(value), text(low), text(high)));
    }
    failed
}

fn names(known: &[String], mask: u128) -> Vec<&str> {
    bits_of(mask).map(|at| known.get(at).map_or("?", String::as_str)).collect()
}
