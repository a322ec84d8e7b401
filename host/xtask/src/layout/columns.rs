//! The columns of a row: finds each column's fields in descriptor, row and image header, and refuses columns that do
//! not fit them.

use super::{BitSet, LayoutField, Struct, Type};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The section `columns` of the source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LayoutColumnsSection {
    enumerations: Vec<String>,
    flags: Vec<String>,
    sets: toml::Table,
    counters: Vec<String>,
    scalars: Vec<String>,
    slots: String,
}

/// The columns, each with what the generators need of its fields.
pub(crate) struct LayoutColumns {
    pub(crate) enumerations: Vec<EnumerationColumnLayout>,
    pub(crate) flags: Vec<String>,
    pub(crate) sets: Vec<SetColumnLayout>,
    pub(crate) counters: Vec<RangeColumnLayout>,
    pub(crate) scalars: Vec<RangeColumnLayout>,
    /// Name and number of the slots of signed numbers.
    pub(crate) slots: (String, usize),
}

pub(crate) struct EnumerationColumnLayout {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// Whether the layout fixes the values, so that the row's allowed values are a part of `small_enums`.
    pub(crate) is_fixed: bool,
}

pub(crate) struct SetColumnLayout {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// Start of the names of the row's three masks.
    pub(crate) row: String,
    /// 8 or 128.
    pub(crate) bits: u32,
}

pub(crate) struct RangeColumnLayout {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// Whether the column is a fraction in basis points, at most one.
    pub(crate) is_fraction: bool,
}

/// Unit of a field that holds a fraction. A field that exceeds one has another unit.
const FRACTION: &str = "basis points";

impl LayoutColumns {
    /// Errors: a column without a field in the descriptor, in the row or in the header, or with a field of another
    /// type; a field of the row that no column fills.
    pub(super) fn new(source: LayoutColumnsSection, structs: &[Struct], bits: &[BitSet]) -> Result<Self> {
        let named = |name: &str| structs.iter().find(|s| s.name == name).with_context(|| format!("no struct `{name}`"));
        let (descriptor, row, header) = (named("descriptor")?, named("row")?, named("image_header")?);
        let places = |set: &str| bits.iter().find(|b| b.name == set).with_context(|| format!("no bits `{set}`"));
        let mut enumerations = Vec::new();
        for name in source.enumerations {
            let field = typed(descriptor, &name, &Type::U8, 1)?;
            let is_fixed = field.note.starts_with("enumeration");
            if is_fixed {
                let small = &places("small_enums")?.bits;
                ensure!(small.iter().any(|(part, _)| *part == name), "column `{name}` has no part in `small_enums`");
            } else {
                typed(row, &name, &Type::U32, 1)?;
                typed(header, &name, &Type::U32, 1)?;
            }
            enumerations.push(EnumerationColumnLayout { doc: field.doc.clone(), name, is_fixed });
        }
        for (position, flag) in (0..).zip(&source.flags) {
            for set in ["flags", "row_bits"] {
                let bit = places(set)?.bits.iter().find(|(name, _)| name == flag);
                let (_, bit) = bit.with_context(|| format!("column `{flag}` has no bit in `{set}`"))?;
                ensure!(bit.bit == position, "column `{flag}` is bit {} of `{set}`, not {position}", bit.bit);
            }
        }
        let mut sets = Vec::new();
        for (name, place) in source.sets {
            let place = place.as_str().with_context(|| format!("set `{name}` names no masks"))?.to_owned();
            let field = named_field(descriptor, &name)?;
            for part in ["all", "any", "none"] {
                typed(row, &format!("{place}_{part}"), &field.ty, 1)?;
            }
            let width = match field.ty {
                Type::U8 => 8,
                Type::U128 => 128,
                _ => anyhow::bail!("set `{name}` has {} bytes, not 1 or 16", field.count),
            };
            sets.push(SetColumnLayout { doc: field.doc.clone(), name, row: place, bits: width });
        }
        let counters = ranges(descriptor, source.counters, &Type::U8)?;
        for column in &counters {
            typed(row, &column.name, &Type::U8, 2)?;
        }
        let scalars = ranges(descriptor, source.scalars, &Type::U16)?;
        typed(row, "scalars", &Type::U16, 2 * scalars.len())?;
        let slots = named_field(descriptor, &source.slots)?.count;
        typed(descriptor, &source.slots, &Type::I32, slots)?;
        typed(row, &source.slots, &Type::I32, 2 * slots)?;
        Ok(Self { enumerations, flags: source.flags, sets, counters, scalars, slots: (source.slots, slots) })
    }
}

fn ranges(descriptor: &Struct, names: Vec<String>, ty: &Type) -> Result<Vec<RangeColumnLayout>> {
    let column = |name: String| {
        let field = typed(descriptor, &name, ty, 1)?;
        Ok(RangeColumnLayout { doc: field.doc.clone(), is_fraction: field.note == FRACTION, name })
    };
    names.into_iter().map(column).collect()
}

fn named_field<'a>(within: &'a Struct, name: &str) -> Result<&'a LayoutField> {
    let field = within.fields.iter().find(|field| field.name == name);
    field.with_context(|| format!("struct `{}` has no field `{name}` for the column of that name", within.name))
}

fn typed<'a>(within: &'a Struct, name: &str, ty: &Type, count: usize) -> Result<&'a LayoutField> {
    let field = named_field(within, name)?;
    ensure!(
        field.ty == *ty && field.count == count,
        "field `{name}` of struct `{}` has another type than its column needs",
        within.name
    );
    Ok(field)
}
