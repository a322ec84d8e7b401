//! Generates Rust for the columns of a row: one enumeration for each kind of column, with its fields.

use super::columns::RangeColumnLayout;
use super::{Layout, LayoutColumns, camel};
use std::fmt::Write as _;

/// The text of `host/core/src/wire/columns.rs`, before rustfmt.
pub(crate) fn rust_columns(layout: &Layout) -> String {
    let columns = &layout.columns;
    let mut out = String::from(
        "//! The columns of a row: what each compares, and where its values stand in descriptor, row and image header.\n\n\
         // Generated from rtl/layout/layout.toml by `cargo xtask gen`. Do not edit.\n\n\
         use super::layout::*;\n\
         use super::{RangeUnit, SetMasks};\n\
         use zerocopy::little_endian::{I32, U16, U128};\n\n",
    );
    enumerations(&mut out, columns);
    flags(&mut out, columns);
    sets(&mut out, columns);
    ranges(&mut out, columns);
    out
}

/// Declares an enumeration of columns with the methods that each kind has.
fn declare<'a>(out: &mut String, name: &str, doc: &str, variants: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
    let _ = writeln!(out, "/// {doc}\n#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]");
    let _ = writeln!(out, "pub enum {name} {{");
    for (variant, doc) in variants.clone() {
        let _ = writeln!(out, "/// {doc}\n{},", camel(variant));
    }
    let count = variants.clone().count();
    let _ = writeln!(out, "}}\n\nimpl {name} {{\n/// Every column, in order.\npub const ALL: [Self; {count}] = [");
    for (variant, _) in variants.clone() {
        let _ = writeln!(out, "Self::{},", camel(variant));
    }
    let _ = writeln!(out, "];\n/// The names of the columns, in order.\npub const NAMES: [&'static str; {count}] = [");
    for (variant, _) in variants {
        let _ = writeln!(out, "\"{variant}\",");
    }
    out.push_str(
        "];\n\n/// Position among the columns of this kind.\n#[must_use]\npub const fn index(self) -> usize { self as usize }\n\n\
         /// The name of the descriptor's field, which is the name in rules.\n#[must_use]\n\
         pub fn name(self) -> &'static str { Self::NAMES.get(self.index()).copied().unwrap_or_default() }\n",
    );
}

/// Writes a method that does something else for each column.
fn method(out: &mut String, doc: &str, signature: &str, arms: impl Iterator<Item = (String, String)>) {
    let _ = writeln!(out, "\n/// {doc}\n{signature} {{ match self {{");
    for (pattern, value) in arms {
        let _ = writeln!(out, "Self::{pattern} => {value},");
    }
    out.push_str("} }\n");
}

fn enumerations(out: &mut String, columns: &LayoutColumns) {
    let all = || columns.enumerations.iter();
    let names = all().map(|column| (column.name.as_str(), column.doc.as_str()));
    declare(out, "EnumerationColumn", "A column that lists the allowed values of an enumeration.", names);
    method(
        out,
        "The descriptor's value.",
        "#[must_use]\npub const fn value(self, descriptor: &Descriptor) -> u8",
        all().map(|column| (camel(&column.name), format!("descriptor.{}", column.name))),
    );
    method(
        out,
        "Sets the descriptor's value.",
        "pub const fn set_value(self, descriptor: &mut Descriptor, value: u8)",
        all().map(|column| (camel(&column.name), format!("descriptor.{} = value", column.name))),
    );
    method(
        out,
        "The values that a row allows, as a mask with one bit per value.",
        "#[must_use]\npub fn allowed(self, row: &Row) -> u32",
        all().map(|column| {
            let (name, upper) = (&column.name, column.name.to_uppercase());
            let fixed = format!("u32::from(row.small_enums.get() & small_enums::{upper}) >> small_enums::{upper}_BIT");
            (camel(name), if column.is_fixed { fixed } else { format!("row.{name}.get()") })
        }),
    );
    method(
        out,
        "Sets the values that a row allows. For an enumeration that the layout fixes, bits of other values are dropped.",
        "pub fn set_allowed(self, row: &mut Row, mask: u32)",
        all().map(|column| {
            let (name, upper) = (&column.name, column.name.to_uppercase());
            let fixed = format!(
                "{{ let others = row.small_enums.get() & !small_enums::{upper}; let own = (mask << small_enums::{upper}_BIT) as u16 & small_enums::{upper}; row.small_enums = U16::new(others | own); }}"
            );
            (camel(name), if column.is_fixed { fixed } else { format!("row.{name} = mask.into()") })
        }),
    );
    method(
        out,
        "Whether the layout fixes the values; a policy declares those of the others.",
        "#[must_use]\npub const fn is_fixed(self) -> bool",
        all().map(|column| (camel(&column.name), column.is_fixed.to_string())),
    );
    method(
        out,
        "Sets the values that an image declares; does nothing where the layout fixes them.",
        "pub fn set_declared(self, header: &mut ImageHeader, mask: u32)",
        all().map(|column| {
            let set = format!("header.{} = mask.into()", column.name);
            (camel(&column.name), if column.is_fixed { "{}".into() } else { set })
        }),
    );
    method(
        out,
        "The values that an image declares, as a mask with one bit per value.",
        "#[must_use]\npub fn declared(self, header: &ImageHeader) -> u32",
        all().map(|column| {
            let (name, upper) = (&column.name, column.name.to_uppercase());
            let fixed = format!("(small_enums::{upper} >> small_enums::{upper}_BIT) as u32");
            (camel(name), if column.is_fixed { fixed } else { format!("header.{name}.get()") })
        }),
    );
    out.push_str("}\n\n");
}

fn flags(out: &mut String, columns: &LayoutColumns) {
    let names = columns.flags.iter().map(|name| (name.as_str(), "A flag of the descriptor, and the row's bit of it."));
    declare(out, "FlagColumn", "A flag that a row can require. Its index is its bit in descriptor and row.", names);
    out.push_str("}\n\n");
}

fn sets(out: &mut String, columns: &LayoutColumns) {
    let all = || columns.sets.iter();
    let names = all().map(|column| (column.name.as_str(), column.doc.as_str()));
    declare(out, "SetColumn", "A column with conditions on the members of a set.", names);
    method(
        out,
        "The members in the descriptor's set, as a mask.",
        "#[must_use]\npub fn value(self, descriptor: &Descriptor) -> u128",
        all().map(|column| {
            let value = format!("descriptor.{}", column.name);
            (camel(&column.name), if column.bits == 8 { format!("{value}.into()") } else { format!("{value}.get()") })
        }),
    );
    method(
        out,
        "The members that an image declares, as a mask.",
        "#[must_use]\npub fn declared(self, header: &ImageHeader) -> u128",
        all().map(|column| {
            let fixed = format!("{}::ALL.into()", column.name);
            (camel(&column.name), if column.bits == 8 { fixed } else { "header.classes.get()".into() })
        }),
    );
    let from = |column: &super::columns::SetColumnLayout, value: &str| {
        if column.bits == 8 { format!("{value} as u8") } else { format!("U128::new({value})") }
    };
    method(
        out,
        "Sets the members in the descriptor's set; members beyond its width are dropped.",
        "pub fn set_value(self, descriptor: &mut Descriptor, mask: u128)",
        all().map(|column| (camel(&column.name), format!("descriptor.{} = {}", column.name, from(column, "mask")))),
    );
    method(
        out,
        "A row's conditions.",
        "#[must_use]\npub fn conditions(self, row: &Row) -> SetMasks",
        all().map(|column| {
            let get = if column.bits == 8 { "into" } else { "get" };
            let part = |part: &str| format!("{part}: row.{}_{part}.{get}()", column.row);
            (camel(&column.name), format!("SetMasks {{ {}, {}, {} }}", part("all"), part("any"), part("none")))
        }),
    );
    method(
        out,
        "Sets a row's conditions; members beyond the set's width are dropped.",
        "pub fn set_conditions(self, row: &mut Row, masks: SetMasks)",
        all().map(|column| {
            let part = |part: &str| format!("row.{}_{part} = {}", column.row, from(column, &format!("masks.{part}")));
            (camel(&column.name), format!("{{ {}; {}; {} }}", part("all"), part("any"), part("none")))
        }),
    );
    out.push_str("}\n\n");
}

fn ranges(out: &mut String, columns: &LayoutColumns) {
    let (field, slots) = (columns.slots.0.as_str(), columns.slots.1);
    let slot_names: Vec<String> = (0..slots).map(|slot| format!("slot_{slot}")).collect();
    let slot_docs: Vec<String> = (0..slots).map(|slot| format!("Slot {slot} of `{field}`.")).collect();
    let named: Vec<&RangeColumnLayout> = columns.counters.iter().chain(&columns.scalars).collect();
    let names = named.iter().map(|column| (column.name.as_str(), column.doc.as_str()));
    let names = names.chain(slot_names.iter().map(String::as_str).zip(slot_docs.iter().map(String::as_str)));
    declare(out, "RangeColumn", "A column with an inclusive range of a number.", names);
    list(out, "FIELDS", "The columns that are fields of their own in rules; the slots follow them.", &named);
    let fractions: Vec<_> = named.iter().copied().filter(|column| column.is_fraction).collect();
    list(out, "FRACTIONS", "The columns that are fractions.", &fractions);
    let _ = writeln!(out, "/// The columns of the slots.\npub const SLOTS: [Self; {slots}] = [");
    for name in &slot_names {
        let _ = writeln!(out, "Self::{},", camel(name));
    }
    out.push_str("];\n");
    let counters = || columns.counters.iter().map(|column| (column, "u8"));
    let fields = || counters().chain(columns.scalars.iter().map(|column| (column, "u16")));
    let slots_with = |value: &dyn Fn(usize) -> String| -> Vec<(String, String)> {
        slot_names.iter().enumerate().map(|(slot, name)| (camel(name), value(slot))).collect()
    };
    method(
        out,
        "What the column counts.",
        "#[must_use]\npub const fn unit(self) -> RangeUnit",
        fields()
            .map(|(column, ty)| {
                let unit = if column.is_fraction { "BasisPoints".into() } else { format!("Count({ty}::MAX as i64)") };
                (camel(&column.name), format!("RangeUnit::{unit}"))
            })
            .chain(slots_with(&|_| "RangeUnit::Quantity".into())),
    );
    method(
        out,
        "The smallest and the greatest number that the column's place in a row can hold.",
        "#[must_use]\npub const fn wire_limits(self) -> (i64, i64)",
        fields()
            .map(|(column, ty)| (camel(&column.name), format!("(0, {ty}::MAX as i64)")))
            .chain(slots_with(&|_| "(i32::MIN as i64, i32::MAX as i64)".into())),
    );
    out.push_str(
        "\n/// The smallest and the greatest number that a descriptor may have in this column.\n#[must_use]\n\
         pub const fn limits(self) -> (i64, i64) { match self.unit() {\n\
         RangeUnit::Count(last) => (0, last),\nRangeUnit::BasisPoints => (0, BASIS_POINTS_MAX as i64),\n\
         RangeUnit::Quantity => self.wire_limits(),\n} }\n",
    );
    let own = |ty: &str, value: &str| match ty {
        "u8" => format!("{value} as u8"),
        _ => format!("U16::new({value} as u16)"),
    };
    let wide =
        |ty: &str, value: String| if ty == "u8" { format!("{value}.into()") } else { format!("{value}.get().into()") };
    let nth = |slot: usize| std::iter::repeat_n("_, ", slot).collect::<String>();
    method(
        out,
        "The descriptor's number.",
        "#[must_use]\npub fn value(self, descriptor: &Descriptor) -> i64",
        fields().map(|(column, ty)| (camel(&column.name), wide(ty, format!("descriptor.{}", column.name)))).chain(
            slots_with(&|slot| {
                format!("{{ let [{}number, ..] = descriptor.{field}; number.get().into() }}", nth(slot))
            }),
        ),
    );
    method(
        out,
        "Sets the descriptor's number; a number outside the field's width loses its high bits.",
        "pub fn set_value(self, descriptor: &mut Descriptor, number: i64)",
        fields()
            .map(|(column, ty)| (camel(&column.name), format!("descriptor.{} = {}", column.name, own(ty, "number"))))
            .chain(slots_with(&|slot| {
                format!(
                    "{{ let [{}place, ..] = &mut descriptor.{field}; *place = I32::new(number as i32); }}",
                    nth(slot)
                )
            })),
    );
    let scalar = |at: usize| format!("[{}low, high, ..]", nth(2 * at));
    let counter_names: Vec<_> = columns.counters.iter().map(|column| column.name.clone()).collect();
    let scalar_names: Vec<_> = columns.scalars.iter().map(|column| column.name.clone()).collect();
    method(
        out,
        "A row's range, low then high.",
        "#[must_use]\npub fn range(self, row: &Row) -> (i64, i64)",
        counter_names
            .iter()
            .map(|name| (camel(name), format!("{{ let [low, high] = row.{name}; (low.into(), high.into()) }}")))
            .chain(scalar_names.iter().enumerate().map(|(at, name)| {
                (camel(name), format!("{{ let {} = row.scalars; (low.get().into(), high.get().into()) }}", scalar(at)))
            }))
            .chain(slots_with(&|slot| {
                format!("{{ let {} = row.{field}; (low.get().into(), high.get().into()) }}", scalar(slot))
            })),
    );
    method(
        out,
        "Sets a row's range; a number outside the field's width loses its high bits.",
        "pub fn set_range(self, row: &mut Row, (least, greatest): (i64, i64))",
        counter_names
            .iter()
            .map(|name| (camel(name), format!("row.{name} = [least as u8, greatest as u8]")))
            .chain(scalar_names.iter().enumerate().map(|(at, name)| {
                let set = "*low = U16::new(least as u16); *high = U16::new(greatest as u16);";
                (camel(name), format!("{{ let {} = &mut row.scalars; {set} }}", scalar(at)))
            }))
            .chain(slots_with(&|slot| {
                let set = "*low = I32::new(least as i32); *high = I32::new(greatest as i32);";
                format!("{{ let {} = &mut row.{field}; {set} }}", scalar(slot))
            })),
    );
    out.push_str("}\n");
}

fn list(out: &mut String, name: &str, doc: &str, columns: &[&RangeColumnLayout]) {
    let _ = writeln!(out, "/// {doc}\npub const {name}: [Self; {}] = [", columns.len());
    for column in columns {
        let _ = writeln!(out, "Self::{},", camel(&column.name));
    }
    out.push_str("];\n");
}
