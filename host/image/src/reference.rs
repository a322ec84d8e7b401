//! Matches rows without an index: the reference with which tests compare the indexed evaluator and the card.

use crate::answer::{BankAnswers, TableBankAnswer};
use crate::image::TableImage;
use portcullis_core::wire::{
    Descriptor, EnumerationColumn, QUANTITY_SLOTS, ROW_NONE, RangeColumn, Row, RowKind, SetColumn, row_bits,
};

/// Whether all conditions of `row` hold for `descriptor`. An empty row, or a row of an unknown kind, never matches.
#[must_use]
pub fn row_matches(row: &Row, descriptor: &Descriptor) -> bool {
    matches!(RowKind::try_from(row.kind), Ok(kind) if kind != RowKind::Empty)
        && EnumerationColumn::ALL.iter().all(|column| is_allowed(column.allowed(row), column.value(descriptor)))
        && (descriptor_bits(descriptor) ^ row.bits_value) & row.bits_mask == 0
        && SetColumn::ALL.iter().all(|column| column.conditions(row).hold(column.value(descriptor)))
        && RangeColumn::ALL.iter().all(|column| {
            let (low, high) = column.range(row);
            (low..=high).contains(&column.value(descriptor))
        })
}

/// The result of a bank of `rows`, evaluated row by row.
#[must_use]
pub fn evaluate_rows(rows: &[Row], descriptor: &Descriptor) -> TableBankAnswer {
    let first = |kind: RowKind| {
        let position = rows.iter().position(|row| row.kind == u8::from(kind) && row_matches(row, descriptor));
        position.and_then(|row| u16::try_from(row).ok()).filter(|row| *row != ROW_NONE)
    };
    TableBankAnswer::of(first(RowKind::ForbidReject), first(RowKind::ForbidDecompose), first(RowKind::Permit))
}

/// The results of both banks of `image`.
#[must_use]
pub fn evaluate(image: &TableImage, descriptor: &Descriptor) -> BankAnswers {
    BankAnswers {
        policy: evaluate_rows(image.policy_rows(), descriptor),
        entropy: evaluate_rows(image.entropy_rows(), descriptor),
    }
}

fn is_allowed(mask: u32, value: u8) -> bool {
    1u32.checked_shl(value.into()).is_some_and(|bit| mask & bit != 0)
}

/// Flags and quantity presence in the order of a row's bits.
#[must_use]
pub fn descriptor_bits(d: &Descriptor) -> u8 {
    let flags = d.flags & (row_bits::INERT_PREFIX | row_bits::UNCERTAINTY_KNOWN) as u8;
    flags | (d.quantity_present & ((1 << QUANTITY_SLOTS) - 1)) << row_bits::QUANTITY_BIT
}
