//! Checks an image before its evaluation. Only rows in the compiler's canonical form are accepted. So equal policies
//! have equal bytes, and a corrupted table is found before it is loaded.

use crate::error::{BankKind, ImageError};
use portcullis_core::class::ClassSet;
use portcullis_core::directions::ClassDirections;
use portcullis_core::wire::{
    EnumerationColumn, IMAGE_MAGIC, ImageHeader, ImageText, LAYOUT_VERSION, QUANTITY_SLOTS, RangeColumn, Row, RowKind,
    SetColumn, SetMasks, image_parts, row_bits,
};

/// What holds for the header of every register map.
pub(crate) fn header(header: &ImageHeader) -> Result<(), ImageError> {
    if header.magic.get() != IMAGE_MAGIC {
        return Err(ImageError::Magic(header.magic.get()));
    }
    if header.version != LAYOUT_VERSION {
        return Err(ImageError::Version { found: header.version, known: LAYOUT_VERSION });
    }
    require(header.reserved_is_zero(), "a reserved byte is not zero").map_err(ImageError::Header)?;
    require(u16::from(header.parts) & !image_parts::ALL == 0, "an unknown part").map_err(ImageError::Header)
}

/// What holds for the text part of every register map.
pub(crate) fn text(text: &ImageText) -> Result<(), ImageError> {
    require(text.reserved_is_zero(), "a reserved byte is not zero").map_err(ImageError::Text)?;
    require(text.bytes.get() > 0, "tables without bytes").map_err(ImageError::Text)
}

/// What the header declares.
pub(crate) fn declared(header: &ImageHeader) -> Result<(), ImageError> {
    let require = |holds, what| require(holds, what).map_err(ImageError::Header);
    require(header.policy_rows.get() > 0, "no policy row")?;
    require(header.entropy_rows.get() > 0, "no entropy row")?;
    require(declares_prefix(header.quantities.into()), "quantity slots are not declared from the first on")?;
    require(declares_prefix(header.classes.get()), "classes are not declared from the first on")?;
    for mask in EnumerationColumn::ALL.map(|column| column.declared(header)) {
        require(mask != 0 && declares_prefix(mask.into()), "an enumeration declares no value, or leaves a gap")?;
    }
    require(header.quantities < 1 << QUANTITY_SLOTS, "a quantity slot that does not exist")
}

/// The opening classes are declared, and the rows of both banks read them in that direction only.
pub(crate) fn opening(header: &ImageHeader, text: &ImageText, rows: &[Row]) -> Result<(), ImageError> {
    let opening = text.opening.get();
    let require = |holds, what| require(holds, what).map_err(ImageError::Text);
    require(opening & !header.classes.get() == 0, "a class that the header does not declare")?;
    let what = "an opening class that no row reads, or that a row reads the other way";
    require(ClassDirections::of(rows).permit(ClassSet(opening)), what)
}

/// Whether the bits that are 1 in a mask of declared values are its lowest bits; values are numbered from 0 without
/// gaps.
const fn declares_prefix(mask: u128) -> bool {
    mask & mask.wrapping_add(1) == 0
}

pub(crate) fn rows(header: &ImageHeader, bank: BankKind, rows: &[Row]) -> Result<(), ImageError> {
    let mut last_rule = 0;
    for (number, row) in rows.iter().enumerate() {
        let checked = conditions(header, row).and_then(|()| {
            let in_order = row.rule.get() >= last_rule;
            last_rule = row.rule.get();
            require(in_order, "its rule comes before the one of the row above")
        });
        checked.map_err(|what| ImageError::Row { bank, row: number, what })?;
    }
    Ok(())
}

fn require(holds: bool, what: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(what) }
}

fn conditions(header: &ImageHeader, row: &Row) -> Result<(), &'static str> {
    match RowKind::try_from(row.kind) {
        Ok(RowKind::Permit | RowKind::ForbidReject | RowKind::ForbidDecompose) => {}
        Ok(RowKind::Empty) => return Err("it is empty"),
        Err(_) => return Err("unknown kind"),
    }
    require(row.reserved_is_zero(), "a reserved byte is not zero")?;
    for column in EnumerationColumn::ALL {
        let (allowed, declared) = (column.allowed(row), column.declared(header));
        require(allowed != 0, "an enumeration without an allowed value")?;
        require(allowed & !declared == 0, "an enumeration value that the header does not declare")?;
    }
    let bits = row_bits::INERT_PREFIX | row_bits::UNCERTAINTY_KNOWN;
    let bits = bits | u16::from(header.quantities) << row_bits::QUANTITY_BIT;
    require(u16::from(row.bits_mask) & !bits == 0, "a flag or a quantity slot that does not exist")?;
    require(row.bits_value & !row.bits_mask == 0, "a required value outside its mask")?;
    for column in SetColumn::ALL {
        set(column.conditions(row), column.declared(header))?;
    }
    for column in RangeColumn::ALL {
        let (low, high) = column.range(row);
        require(low <= high, "an empty range")?;
    }
    for (slot, column) in RangeColumn::SLOTS.into_iter().enumerate() {
        let bounded = column.range(row) != column.wire_limits();
        let present = u16::from(row.bits_mask & row.bits_value) >> (row_bits::QUANTITY_BIT as usize + slot) & 1;
        require(!bounded || present == 1, "a bound on a quantity that it does not require")?;
    }
    Ok(())
}

fn set(masks: SetMasks, declared: u128) -> Result<(), &'static str> {
    let SetMasks { all, any, none } = masks;
    require((all | any | none) & !declared == 0, "a member of a set that the header does not declare")?;
    require(all & none == 0, "a set with a member that is both required and forbidden")?;
    require(any & (all | none) == 0, "a choice of set members that is already decided")?;
    require(any.count_ones() != 1, "a choice of one set member")
}
