//! `policy explain`: the rows that match a descriptor, and for the nearest other rows, why they do not match.

use crate::compile::CompiledPackage;
use crate::cube::{Cube, Universe, presence_bit, rows::of_row};
use crate::decision::{BankDecision, DescriptorDecision};
use crate::package::PRELUDE_FILE;
use crate::vocabulary::{PolicyVocabulary, QUANTITIES, bits_of};
use portcullis_core::wire::{
    BASIS_POINTS_MAX, Descriptor, EnumerationColumn, FlagColumn, RangeColumn, RangeUnit, Row, SetColumn,
};
use portcullis_image::reference::{descriptor_bits, row_matches};
use portcullis_image::{BankKind, ImageEvaluator};
use serde::Serialize;

/// Largest number of rows per bank whose mismatch is explained.
const NEAREST: usize = 3;

/// Why a descriptor has its determination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DescriptorExplanation {
    pub decision: DescriptorDecision,
    /// Policy bank, then entropy bank.
    pub banks: [BankExplanation; 2],
}

/// The explanation for one bank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BankExplanation {
    pub bank: BankKind,
    pub answer: BankDecision,
    /// Matching rows, by number; the row permit-all has no rule.
    pub matched: Vec<(u16, Option<String>)>,
    /// The rows that fail in the fewest columns, one per rule; rows of the prelude come last.
    pub nearest: Vec<NearMiss>,
}

/// A row that does not match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NearMiss {
    pub row: u16,
    pub rule: Option<String>,
    /// Each failed column, in words.
    pub failed: Vec<String>,
}

#[must_use]
pub fn explain(
    compiled: &CompiledPackage,
    vocabulary: &PolicyVocabulary,
    descriptor: &Descriptor,
) -> DescriptorExplanation {
    let banks = ImageEvaluator::new(&compiled.image).evaluate(descriptor);
    let decision = DescriptorDecision::new(compiled, descriptor, &banks);
    let bank = |bank: BankKind, answer: &BankDecision| {
        let (mut matched, mut missed) = (Vec::new(), Vec::new());
        for (number, row) in compiled.rows(bank) {
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
    let banks = [bank(BankKind::Policy, &decision.policy), bank(BankKind::Entropy, &decision.entropy)];
    DescriptorExplanation { decision, banks }
}

/// A condition of a row on one column, with the descriptor's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedCondition {
    /// The field's name in Cedar.
    pub field: String,
    /// The field's value in the descriptor.
    pub value: String,
    pub wanted: String,
    /// Whether the value meets the row's condition.
    pub holds: bool,
}

impl std::fmt::Display for ExplainedCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {}, wanted {}", self.field, self.value, self.wanted)
    }
}

/// The conditions of `row`. Empty for a row that matches every descriptor, and for a row that matches none.
#[must_use]
pub fn conditions(
    compiled: &CompiledPackage,
    vocabulary: &PolicyVocabulary,
    row: &Row,
    descriptor: &Descriptor,
) -> Vec<ExplainedCondition> {
    of_row(row, &compiled.universe)
        .map_or_else(Vec::new, |cube| columns(&compiled.universe, vocabulary, &cube, descriptor))
}

/// The conditions of `row` that `d` does not meet; never empty for a row that does not match.
fn failures(universe: &Universe, vocabulary: &PolicyVocabulary, row: &Row, d: &Descriptor) -> Vec<String> {
    let Some(cube) = of_row(row, universe) else { return vec!["the row can never match".into()] };
    columns(universe, vocabulary, &cube, d).iter().filter(|c| !c.holds).map(ToString::to_string).collect()
}

fn columns(universe: &Universe, vocabulary: &PolicyVocabulary, cube: &Cube, d: &Descriptor) -> Vec<ExplainedCondition> {
    let mut columns = Vec::new();
    let mut add = |field: &str, value: String, wanted: String, holds: bool| {
        columns.push(ExplainedCondition { field: field.to_owned(), value, wanted, holds });
    };
    let any = &universe.all;
    let masks = cube.enumerations.iter().zip(&any.enumerations);
    for (column, (mask, all)) in EnumerationColumn::ALL.into_iter().zip(masks) {
        let value = column.value(d);
        let holds = 1u32.checked_shl(value.into()).is_some_and(|bit| bit & mask != 0);
        if mask != all || !holds {
            let name_of = |number| vocabulary.value_name(column, number);
            let found = name_of(value.into()).unwrap_or("undeclared");
            add(column.name(), found.into(), names(name_of, (*mask).into()).join(" or "), holds);
        }
    }
    let bits = descriptor_bits(d);
    for bit in bits_of(u128::from(cube.bits_mask)) {
        let (is, wanted) = (bits >> bit & 1 == 1, cube.bits_value >> bit & 1 == 1);
        match FlagColumn::NAMES.get(bit) {
            Some(flag) => add(flag, is.to_string(), wanted.to_string(), is == wanted),
            None => {
                let slot = vocabulary.quantities().get(bit - presence_bit(0)).map_or("?", String::as_str);
                let word = |present| if present { "present" } else { "absent" };
                add(&format!("quantity.{slot}"), word(is).into(), word(wanted).into(), is == wanted);
            }
        }
    }
    for (column, condition) in SetColumn::ALL.into_iter().zip(&cube.sets) {
        let (name, value) = (column.name(), column.value(d));
        let list = |mask| names(|number| vocabulary.member_name(column, number), mask).join(", ");
        let held = || if value == 0 { "empty".to_owned() } else { list(value) };
        if condition.all != 0 {
            add(name, held(), format!("all of {}", list(condition.all)), condition.all & !value == 0);
        }
        if condition.none != 0 {
            add(name, held(), format!("none of {}", list(condition.none)), condition.none & value == 0);
        }
        if condition.any != 0 {
            add(name, held(), format!("any of {}", list(condition.any)), condition.any & value != 0);
        }
    }
    let ranges = cube.ranges.iter().zip(&any.ranges);
    for (column, (&(low, high), all)) in RangeColumn::ALL.into_iter().zip(ranges) {
        let value = column.value(d);
        let holds = (low..=high).contains(&value);
        if (low, high) == *all && holds {
            continue;
        }
        let (name, text): (String, fn(i64) -> String) = match column.unit() {
            RangeUnit::Count(_) => (column.name().into(), |value| value.to_string()),
            RangeUnit::BasisPoints => (column.name().into(), |value| {
                let one = i64::from(BASIS_POINTS_MAX);
                format!("{}.{:04}", value / one, value % one)
            }),
            RangeUnit::Quantity => {
                // An absent quantity is reported as absent, although its value is zero.
                let slot = column.index() - QUANTITIES;
                if bits >> presence_bit(slot) & 1 == 0 {
                    continue;
                }
                let name = vocabulary.quantities().get(slot).map_or("?", String::as_str);
                (format!("quantity.{name}"), |value| value.to_string())
            }
        };
        add(&name, text(value), format!("{} to {}", text(low), text(high)), holds);
    }
    columns
}

fn names<'v>(name_of: impl Fn(usize) -> Option<&'v str>, mask: u128) -> Vec<&'v str> {
    bits_of(mask).map(|number| name_of(number).unwrap_or("?")).collect()
}
