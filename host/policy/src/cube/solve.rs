//! Subtraction and witnesses: decides whether cubes cover another cube, and finds an uncovered descriptor.

use super::{Cube, RANGE_COLUMNS, SET_COLUMNS, SetCondition, Universe, presence_bit};
use crate::vocabulary::bits_of;
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{
    BASIS_POINTS_MAX, Descriptor, EnumerationColumn, Opcode, QUANTITY_SLOTS, RangeColumn, SetColumn, StageOutcome,
    row_bits,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Residue {
    /// Nothing is left.
    Empty,
    Left(Box<Cube>),
    /// The budget ran out before the result was certain.
    Unknown,
}

/// The part of `region` outside `covers`. `budget` limits the number of splits; several calls may share it.
pub(crate) fn residue(universe: &Universe, region: &Cube, covers: &[&Cube], budget: &mut u32) -> Residue {
    let mut unknown = false;
    for valid in valid(universe) {
        for region in region.and(&valid) {
            let near: Vec<_> = covers.iter().copied().filter(|cover| cover.meets(&region)).collect();
            match subtract(universe, region, &near, budget) {
                Residue::Empty => {}
                Residue::Unknown => unknown = true,
                left @ Residue::Left(_) => return left,
            }
        }
    }
    if unknown { Residue::Unknown } else { Residue::Empty }
}

/// The valid descriptors as two cubes: uncertainty known, and uncertainty unknown with the value 10000.
fn valid(universe: &Universe) -> [Cube; 2] {
    let flag = row_bits::UNCERTAINTY_KNOWN as u8;
    let known = Cube { bits_mask: flag, bits_value: flag, ..universe.all.clone() };
    let mut unknown = Cube { bits_mask: flag, bits_value: 0, ..universe.all.clone() };
    if let Some(range) = unknown.ranges.get_mut(RangeColumn::Uncertainty.index()) {
        *range = (BASIS_POINTS_MAX.into(), BASIS_POINTS_MAX.into());
    }
    [known, unknown]
}

/// Splits the region along its first cover, depth first, until each part is inside a cover or meets no cover.
fn subtract(universe: &Universe, region: Cube, covers: &[&Cube], budget: &mut u32) -> Residue {
    let Some((first, rest)) = covers.split_first() else { return Residue::Left(Box::new(region)) };
    if covers.iter().any(|cover| region.within(cover)) {
        return Residue::Empty;
    }
    let Some(left) = budget.checked_sub(1) else { return Residue::Unknown };
    *budget = left;
    let mut unknown = false;
    for part in without(universe, &region, first) {
        let near: Vec<_> = rest.iter().copied().filter(|cover| cover.meets(&part)).collect();
        match subtract(universe, part, &near, budget) {
            Residue::Empty => {}
            Residue::Unknown => unknown = true,
            left @ Residue::Left(_) => return left,
        }
    }
    if unknown { Residue::Unknown } else { Residue::Empty }
}

/// `region` without `cover`, as cubes. There is one cube for each condition of `cover`: the part of the region that
/// breaks this condition but meets all conditions before it.
fn without(universe: &Universe, region: &Cube, cover: &Cube) -> Vec<Cube> {
    let mut parts = Vec::new();
    let mut rest = region.clone();
    for column in 0..rest.enumerations.len() {
        let (Some(mask), Some(allowed)) = (rest.enumerations.get(column), cover.enumerations.get(column)) else {
            continue;
        };
        let (outside, inside) = (mask & !allowed, mask & allowed);
        parts.extend(with_enumeration(&rest, column, outside));
        match with_enumeration(&rest, column, inside) {
            Some(kept) => rest = kept,
            None => return parts,
        }
    }
    for bit in bits_of(cover.bits_mask.into()) {
        let (bit, wanted) = (1u8 << bit, cover.bits_value & 1 << bit);
        if rest.bits_mask & bit == 0 {
            let value = (rest.bits_value & !bit) | (wanted ^ bit);
            parts.push(Cube { bits_mask: rest.bits_mask | bit, bits_value: value, ..rest.clone() });
            rest.bits_mask |= bit;
            rest.bits_value |= wanted;
        } else if rest.bits_value & bit != wanted {
            parts.push(rest);
            return parts;
        }
    }
    // A bound on a quantity requires its presence; the loop over bits above has ensured it.
    for column in 0..RANGE_COLUMNS {
        let (Some(&(low, high)), Some(&(from, to))) = (rest.ranges.get(column), cover.ranges.get(column)) else {
            continue;
        };
        parts.extend(with_range(&rest, column, (low, high.min(from.saturating_sub(1)))));
        parts.extend(with_range(&rest, column, (low.max(to.saturating_add(1)), high)));
        match with_range(&rest, column, (low.max(from), high.min(to))) {
            Some(kept) => rest = kept,
            None => return parts,
        }
    }
    for column in 0..SET_COLUMNS {
        let Some(condition) = cover.sets.get(column) else { continue };
        let members = universe.members.get(column).copied().unwrap_or_default();
        for (wanted, breaks, keeps) in [
            (condition.all, SetCondition::none as fn(u128) -> _, SetCondition::all as fn(u128) -> _),
            (condition.none & members, SetCondition::all, SetCondition::none),
        ] {
            for member in bits_of(wanted) {
                parts.extend(with_set(&rest, column, breaks(1 << member)));
                match with_set(&rest, column, keeps(1 << member)).pop() {
                    Some(kept) => rest = kept,
                    None => return parts,
                }
            }
        }
    }
    // Conditions of the form `any` come last, because `rest` has room for only one `any` per set.
    for column in 0..SET_COLUMNS {
        let Some(any) = cover.sets.get(column).map(|condition| condition.any).filter(|any| *any != 0) else { continue };
        parts.extend(with_set(&rest, column, SetCondition::none(any)));
    }
    parts
}

fn with_enumeration(cube: &Cube, column: usize, mask: u32) -> Option<Cube> {
    let mut cube = cube.clone();
    *cube.enumerations.get_mut(column)? = mask;
    (mask != 0).then_some(cube)
}

fn with_range(cube: &Cube, column: usize, range: (i64, i64)) -> Option<Cube> {
    let mut cube = cube.clone();
    *cube.ranges.get_mut(column)? = range;
    (range.0 <= range.1).then_some(cube)
}

/// Adds a condition without `any` to a set, so the result is at most one cube.
fn with_set(cube: &Cube, column: usize, condition: SetCondition) -> Vec<Cube> {
    let mut cube = cube.clone();
    let Some(set) = cube.sets.get_mut(column) else { return Vec::new() };
    let Some(both) = set.and(condition).pop() else { return Vec::new() };
    *set = both;
    vec![cube]
}

/// A descriptor in `cube`. A column without a condition gets the first value, an absent member or the smallest number.
/// The host stages count as passed.
pub(crate) fn witness(cube: &Cube) -> Descriptor {
    let range = |column: RangeColumn| cube.ranges.get(column.index()).copied().unwrap_or_default();
    let known = row_bits::UNCERTAINTY_KNOWN as u8;
    let uncertainty = range(RangeColumn::Uncertainty);
    let mut bits = cube.bits_value;
    if cube.bits_mask & known == 0 && uncertainty.1 < BASIS_POINTS_MAX.into() {
        bits |= known;
    }
    let mut descriptor = Descriptor {
        flags: bits & (row_bits::INERT_PREFIX | row_bits::UNCERTAINTY_KNOWN) as u8,
        quantity_present: bits >> row_bits::QUANTITY_BIT & ((1 << QUANTITY_SLOTS) - 1),
        validation_outcome: StageOutcome::Pass.into(),
        lineage_outcome: StageOutcome::Pass.into(),
        ..Descriptor::entry(Opcode::Gate, SlotSequence { slot: 0, sequence: 1 }, [0; 32])
    };
    for (column, mask) in EnumerationColumn::ALL.into_iter().zip(cube.enumerations) {
        column.set_value(&mut descriptor, mask.trailing_zeros() as u8);
    }
    for (column, condition) in SetColumn::ALL.into_iter().zip(cube.sets) {
        column.set_value(&mut descriptor, condition.all | condition.any & condition.any.wrapping_neg());
    }
    for (column, (low, high)) in RangeColumn::ALL.into_iter().zip(cube.ranges) {
        column.set_value(&mut descriptor, 0.clamp(low, high));
    }
    if bits & known == 0 {
        RangeColumn::Uncertainty.set_value(&mut descriptor, BASIS_POINTS_MAX.into());
    }
    for (slot, column) in RangeColumn::SLOTS.into_iter().enumerate() {
        if bits >> presence_bit(slot) & 1 == 0 {
            column.set_value(&mut descriptor, 0);
        }
    }
    descriptor.sealed()
}
