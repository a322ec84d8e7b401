//! Cubes as wire rows, and wire rows as cubes.

use super::{Cube, Universe};
use portcullis_core::wire::{EnumerationColumn, RangeColumn, Row, RowKind, SetColumn};

/// The row of `cube`. A side without a bound gets the wire type's minimum or maximum.
pub(crate) fn to_row(cube: &Cube, universe: &Universe, kind: RowKind, rule: u16) -> Row {
    let (bits_mask, bits_value) = (cube.bits_mask, cube.bits_value);
    let mut row = Row { kind: kind.into(), rule: rule.into(), bits_mask, bits_value, ..Row::ZERO };
    for (column, mask) in EnumerationColumn::ALL.into_iter().zip(cube.enumerations) {
        column.set_allowed(&mut row, mask);
    }
    for (column, ((low, high), all)) in
        RangeColumn::ALL.into_iter().zip(cube.ranges.into_iter().zip(universe.all.ranges))
    {
        let (least, greatest) = column.wire_limits();
        let open = (if low == all.0 { least } else { low }, if high == all.1 { greatest } else { high });
        column.set_range(&mut row, open);
    }
    for (column, condition) in SetColumn::ALL.into_iter().zip(cube.sets) {
        column.set_conditions(&mut row, condition.into());
    }
    row
}

/// The descriptors of `universe` that `row` matches; the row's kind is ignored. `None` if it matches none.
pub(crate) fn of_row(row: &Row, universe: &Universe) -> Option<Cube> {
    let mut cube = Cube { bits_mask: row.bits_mask, bits_value: row.bits_value, ..universe.all.clone() };
    for (mask, column) in cube.enumerations.iter_mut().zip(EnumerationColumn::ALL) {
        *mask &= column.allowed(row);
    }
    for (range, column) in cube.ranges.iter_mut().zip(RangeColumn::ALL) {
        let (low, high) = column.range(row);
        *range = (range.0.max(low), range.1.min(high));
    }
    cube.sets = SetColumn::ALL.map(|column| column.conditions(row).into());
    cube.normalised()
}

/// The canonical row that permits every descriptor; it is the last row of the entropy bank.
pub(crate) fn permit_all(universe: &Universe) -> Row {
    to_row(&universe.all, universe, RowKind::Permit, portcullis_core::wire::ROW_NONE)
}
