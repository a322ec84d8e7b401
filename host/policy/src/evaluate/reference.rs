//! Matches rows without an index: the reference with which tests compare the indexed evaluator and the card.

use super::{BankAnswer, Banks};
use crate::image::Image;
use portcullis_core::wire::{Descriptor, QUANTITY_SLOTS, ROW_NONE, Row, RowKind, row_bits, small_enums};

/// Whether all conditions of `row` hold for `descriptor`. An empty row, or a row of an unknown kind, never matches.
#[must_use]
pub fn row_matches(row: &Row, descriptor: &Descriptor) -> bool {
    matches!(RowKind::try_from(row.kind), Ok(kind) if kind != RowKind::Empty)
        && enumerations_match(row, descriptor)
        && (descriptor_bits(descriptor) ^ row.bits_value) & row.bits_mask == 0
        && set_matches(
            descriptor.fields_touched.into(),
            row.touched_all.into(),
            row.touched_any.into(),
            row.touched_none.into(),
        )
        && set_matches(descriptor.classes.get(), row.classes_all.get(), row.classes_any.get(), row.classes_none.get())
        && set_matches(
            descriptor.established.get(),
            row.established_all.get(),
            row.established_any.get(),
            row.established_none.get(),
        )
        && ranges_match(row, descriptor)
}

/// The result of a bank of `rows`, evaluated row by row.
#[must_use]
pub fn evaluate_rows(rows: &[Row], descriptor: &Descriptor) -> BankAnswer {
    let first = |kind: RowKind| {
        let position = rows.iter().position(|row| row.kind == u8::from(kind) && row_matches(row, descriptor));
        position.and_then(|row| u16::try_from(row).ok()).filter(|row| *row != ROW_NONE)
    };
    BankAnswer::of(first(RowKind::ForbidReject), first(RowKind::ForbidDecompose), first(RowKind::Permit))
}

/// The results of both banks of `image`.
#[must_use]
pub fn evaluate(image: &Image, descriptor: &Descriptor) -> Banks {
    Banks {
        policy: evaluate_rows(image.policy_rows(), descriptor),
        entropy: evaluate_rows(image.entropy_rows(), descriptor),
    }
}

fn enumerations_match(row: &Row, d: &Descriptor) -> bool {
    let small = u32::from(row.small_enums.get());
    let group = |value: u8, bit: u32, mask: u16| allowed(small & u32::from(mask), u32::from(value) + bit, mask);
    group(d.category, small_enums::CATEGORY_BIT, small_enums::CATEGORY)
        && group(d.granularity, small_enums::GRANULARITY_BIT, small_enums::GRANULARITY)
        && group(d.epistemic, small_enums::EPISTEMIC_BIT, small_enums::EPISTEMIC)
        && group(d.anchor, small_enums::ANCHOR_BIT, small_enums::ANCHOR)
        && value_allowed(row.temporal.get(), d.temporal)
        && value_allowed(row.domain.get(), d.domain)
        && value_allowed(row.audience.get(), d.audience)
        && value_allowed(row.register.get(), d.register)
}

/// Whether bit `bit` is in the group `mask` and the row allows that bit.
fn allowed(small: u32, bit: u32, mask: u16) -> bool {
    1u32.checked_shl(bit).is_some_and(|bit| bit & u32::from(mask) & small != 0)
}

fn value_allowed(mask: u32, value: u8) -> bool {
    1u32.checked_shl(value.into()).is_some_and(|bit| mask & bit != 0)
}

/// Flags and quantity presence in the order of a row's bits.
pub(crate) fn descriptor_bits(d: &Descriptor) -> u8 {
    let flags = d.flags & (row_bits::INERT_PREFIX | row_bits::UNCERTAINTY_KNOWN) as u8;
    flags | (d.quantity_present & ((1 << QUANTITY_SLOTS) - 1)) << row_bits::QUANTITY_BIT
}

fn set_matches(value: u128, all: u128, any: u128, none: u128) -> bool {
    value & all == all && value & none == 0 && (any == 0 || value & any != 0)
}

fn ranges_match(row: &Row, d: &Descriptor) -> bool {
    let within = |value: u8, [low, high]: [u8; 2]| low <= value && value <= high;
    within(d.depth, row.depth)
        && within(d.alternatives, row.alternatives)
        && within(d.correction, row.correction)
        && scalars(d)
            .into_iter()
            .zip(row.scalars.chunks_exact(2))
            .all(|(value, range)| matches!(range, [low, high] if low.get() <= value && value <= high.get()))
        && d.quantities
            .iter()
            .zip(row.quantities.chunks_exact(2))
            .all(|(value, range)| matches!(range, [low, high] if low.get() <= value.get() && value.get() <= high.get()))
}

/// The descriptor's scalars in the order of a row's ranges.
pub(super) fn scalars(d: &Descriptor) -> [u16; 8] {
    [
        d.novelty.get(),
        d.uncertainty.get(),
        d.certainty.get(),
        d.content_deviation.get(),
        d.certainty_divergence.get(),
        d.register_divergence.get(),
        d.trust_slope.get(),
        d.length.get(),
    ]
}

/// The descriptor's values in the order of a row's ranges: counters, scalars, quantities.
pub(crate) fn descriptor_ranges(d: &Descriptor) -> impl Iterator<Item = i64> {
    let counters = [d.depth, d.alternatives, d.correction].map(i64::from);
    counters.into_iter().chain(scalars(d).map(i64::from)).chain(d.quantities.map(|quantity| quantity.get().into()))
}
