//! Cubes as wire rows, and wire rows as cubes.

use super::{Cube, ENUMERATION_COLUMNS, RANGE_COLUMNS, SET_COLUMNS, SetCondition, Universe};
use crate::vocabulary::QUANTITIES;
use portcullis_core::wire::{Row, RowKind, small_enums};
use zerocopy::little_endian::{I32, U16};

/// First bit and mask of each enumeration whose values the layout fixes.
const SMALL: [(u32, u16); 4] = [
    (small_enums::CATEGORY_BIT, small_enums::CATEGORY),
    (small_enums::GRANULARITY_BIT, small_enums::GRANULARITY),
    (small_enums::EPISTEMIC_BIT, small_enums::EPISTEMIC),
    (small_enums::ANCHOR_BIT, small_enums::ANCHOR),
];

/// The row of `cube`. A side without a bound gets the wire type's minimum or maximum.
pub(crate) fn to_row(cube: &Cube, universe: &Universe, kind: RowKind, rule: u16) -> Row {
    let [category, granularity, epistemic, anchor, temporal, domain, audience, register] = cube.enumerations;
    let small = [category, granularity, epistemic, anchor].into_iter().zip(SMALL);
    let small = small.fold(0, |word, (mask, (bit, _))| word | (mask as u16) << bit);
    let mut open = cube.ranges.iter().zip(universe.all.ranges);
    let mut next = |least: i64, greatest: i64| match open.next() {
        Some((&(low, high), (first, last))) => {
            (if low == first { least } else { low }, if high == last { greatest } else { high })
        }
        None => (least, greatest),
    };
    let mut counter = || {
        let (low, high) = next(0, u8::MAX.into());
        [low as u8, high as u8]
    };
    let (depth, alternatives, correction) = (counter(), counter(), counter());
    let mut scalars = [U16::ZERO; 16];
    for pair in scalars.chunks_exact_mut(2) {
        let (low, high) = next(0, u16::MAX.into());
        pair.copy_from_slice(&[U16::new(low as u16), U16::new(high as u16)]);
    }
    let mut quantities = [I32::ZERO; 8];
    for pair in quantities.chunks_exact_mut(2) {
        let (low, high) = next(i32::MIN.into(), i32::MAX.into());
        pair.copy_from_slice(&[I32::new(low as i32), I32::new(high as i32)]);
    }
    let [touched, classes, established] = cube.sets;
    Row {
        kind: kind.into(),
        touched_all: touched.all as u8,
        rule: rule.into(),
        small_enums: small.into(),
        bits_mask: cube.bits_mask,
        bits_value: cube.bits_value,
        touched_any: touched.any as u8,
        touched_none: touched.none as u8,
        depth,
        alternatives,
        correction,
        temporal: temporal.into(),
        domain: domain.into(),
        audience: audience.into(),
        register: register.into(),
        scalars,
        quantities,
        classes_all: classes.all.into(),
        classes_any: classes.any.into(),
        classes_none: classes.none.into(),
        established_all: established.all.into(),
        established_any: established.any.into(),
        established_none: established.none.into(),
    }
}

/// The descriptors of `universe` that `row` matches; the row's kind is ignored. `None` if it matches none.
pub(crate) fn of_row(row: &Row, universe: &Universe) -> Option<Cube> {
    let mut enumerations = [0; ENUMERATION_COLUMNS];
    let small = SMALL.map(|(bit, mask)| u32::from(row.small_enums.get() & mask) >> bit);
    let declared = [row.temporal, row.domain, row.audience, row.register].map(zerocopy::little_endian::U32::get);
    for (slot, (mask, known)) in
        enumerations.iter_mut().zip(small.into_iter().chain(declared).zip(universe.all.enumerations))
    {
        *slot = mask & known;
    }
    let counters = [row.depth, row.alternatives, row.correction].map(|[low, high]| (i64::from(low), i64::from(high)));
    let scalars = row.scalars.chunks_exact(2).filter_map(|pair| match pair {
        [low, high] => Some((i64::from(low.get()), i64::from(high.get()))),
        _ => None,
    });
    let quantities = row.quantities.chunks_exact(2).filter_map(|pair| match pair {
        [low, high] => Some((i64::from(low.get()), i64::from(high.get()))),
        _ => None,
    });
    let mut ranges: [(i64, i64); RANGE_COLUMNS] = universe.all.ranges;
    for (range, (low, high)) in ranges.iter_mut().zip(counters.into_iter().chain(scalars).chain(quantities)) {
        *range = (range.0.max(low), range.1.min(high));
    }
    let sets: [SetCondition; SET_COLUMNS] = [
        SetCondition { all: row.touched_all.into(), any: row.touched_any.into(), none: row.touched_none.into() },
        SetCondition { all: row.classes_all.get(), any: row.classes_any.get(), none: row.classes_none.get() },
        SetCondition {
            all: row.established_all.get(),
            any: row.established_any.get(),
            none: row.established_none.get(),
        },
    ];
    Cube { enumerations, bits_mask: row.bits_mask, bits_value: row.bits_value, ranges, sets }.normalised()
}

/// The canonical row that permits every descriptor; it is the last row of the entropy bank.
pub(crate) fn permit_all(universe: &Universe) -> Row {
    to_row(&universe.all, universe, RowKind::Permit, portcullis_core::wire::ROW_NONE)
}

const _: () = assert!(QUANTITIES + 4 == RANGE_COLUMNS);
