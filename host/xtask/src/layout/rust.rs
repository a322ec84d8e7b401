//! Generates Rust: constants, enumerations with checked conversion, zerocopy structs.

use super::{Enumeration, Layout, Struct, Type, camel};
use std::fmt::Write as _;

/// The text of `host/core/src/wire/layout.rs`, before rustfmt.
pub(crate) fn rust(layout: &Layout) -> String {
    let mut out = String::from(
        "// Generated from rtl/layout/layout.toml by `cargo xtask gen`. Do not edit.\n\n\
         use super::UnknownValue;\n\
         use serde::{Deserialize, Serialize};\n\
         use zerocopy::little_endian::{I32, U16, U32, U64, U128};\n\
         use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};\n\n",
    );
    for (name, c) in &layout.consts {
        let ty = match name.as_str() {
            "layout_version" => "u8",
            "row_none" | "basis_points_max" => "u16",
            "image_magic" | "checkpoint_magic" => "u32",
            _ => "usize",
        };
        let _ = writeln!(out, "/// {}\npub const {}: {ty} = {};", c.doc, name.to_uppercase(), c.value);
    }
    let _ = writeln!(
        out,
        "/// SHA-256 that names this layout and the register map.\npub const MAP_DIGEST: [u8; 32] = {:?};\n",
        layout.map_digest
    );
    for e in &layout.enums {
        enumeration(&mut out, e);
    }
    for b in &layout.bits {
        if b.named().next().is_none() {
            continue;
        }
        let _ = writeln!(out, "/// {}\npub mod {} {{", b.doc, b.name);
        for (name, bit) in b.named() {
            let upper = name.to_uppercase();
            let _ = writeln!(out, "/// {} First bit.\npub const {upper}_BIT: u32 = {};", bit.doc, bit.bit);
            let mask = ((1u64 << bit.width) - 1) << bit.bit;
            let _ = writeln!(out, "/// {} Mask.\npub const {upper}: u16 = {mask:#x};", bit.doc);
        }
        let all = b.named().fold(0u64, |m, (_, x)| m | (((1 << x.width) - 1) << x.bit));
        let _ = writeln!(out, "/// Every defined bit.\npub const ALL: u16 = {all:#x};\n}}\n");
    }
    for s in layout.named_structs() {
        structure(&mut out, s);
    }
    out
}

fn enumeration(out: &mut String, e: &Enumeration) {
    let name = camel(&e.name);
    let repr = if e.bits() == 16 { "u16" } else { "u8" };
    let _ = writeln!(out, "/// {}", e.doc);
    let _ =
        writeln!(out, "#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]");
    let _ = writeln!(out, "#[serde(rename_all = \"snake_case\")]\n#[repr({repr})]\npub enum {name} {{");
    for (v, c) in e.named() {
        let _ = writeln!(out, "/// {}\n{} = {},", c.doc, camel(v), c.value);
    }
    let _ = writeln!(
        out,
        "}}\n\nimpl {name} {{\n/// Every value, in the order of the source.\npub const ALL: &[Self] = &["
    );
    for (v, _) in e.named() {
        let _ = writeln!(out, "Self::{},", camel(v));
    }
    let _ = writeln!(
        out,
        "];\n\n/// The value's name in policies, reports and docs.\n#[must_use]\npub const fn name(self) -> &'static str {{ match self {{"
    );
    for (v, _) in e.named() {
        let _ = writeln!(out, "Self::{} => \"{v}\",", camel(v));
    }
    let _ = writeln!(
        out,
        "}} }}\n\n/// The value called `name`.\n#[must_use]\npub fn from_name(name: &str) -> Option<Self> {{ Self::ALL.iter().copied().find(|v| v.name() == name) }}\n}}\n"
    );
    let _ = writeln!(
        out,
        "impl TryFrom<{repr}> for {name} {{ type Error = UnknownValue;\nfn try_from(value: {repr}) -> Result<Self, UnknownValue> {{ match value {{"
    );
    for (v, c) in e.named() {
        let _ = writeln!(out, "{} => Ok(Self::{}),", c.value, camel(v));
    }
    let widen = if repr == "u16" { "value" } else { "value: value.into()" };
    let _ = writeln!(out, "_ => Err(UnknownValue {{ enumeration: \"{}\", {widen} }}),\n}} }} }}\n", e.name);
    let _ = writeln!(out, "impl From<{name}> for {repr} {{ fn from(value: {name}) -> Self {{ value as Self }} }}\n");
}

/// A structure's name as a type. In the layout, `session` is the half of a record that has a session's fields. In the
/// host's code "session" has another meaning, so the type gets another name.
fn struct_name(name: &str) -> String {
    if name == "session" { "SessionFields".into() } else { camel(name) }
}

fn structure(out: &mut String, s: &Struct) {
    let name = struct_name(&s.name);
    let _ = writeln!(out, "/// {} {} bytes.", s.doc, s.bytes);
    let _ = writeln!(
        out,
        "#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]"
    );
    let _ = writeln!(out, "#[repr(C)]\npub struct {name} {{");
    for f in &s.fields {
        let base = match &f.ty {
            Type::U8 | Type::Bytes => "u8".to_owned(),
            Type::U16 => "U16".into(),
            Type::U32 => "U32".into(),
            Type::U64 => "U64".into(),
            Type::U128 => "U128".into(),
            Type::I32 => "I32".into(),
            Type::I64 => "I64".into(),
            Type::Struct(n) => struct_name(n),
        };
        let ty = if f.ty == Type::Bytes || f.count > 1 { format!("[{base}; {}]", f.count) } else { base };
        let note = if f.note.is_empty() { String::new() } else { format!(" ({})", f.note) };
        let _ = writeln!(out, "/// Offset {}. {}{note}\npub {}: {ty},", f.at, f.doc, f.name);
    }
    let _ = writeln!(out, "}}\n\nimpl {name} {{\n/// Size on the wire.\npub const BYTES: usize = {};", s.bytes);
    let _ = writeln!(out, "/// Every byte zero.\npub const ZERO: Self = zerocopy::transmute!([0u8; {}]);", s.bytes);
    let reserved: Vec<_> = s.fields.iter().filter(|f| f.reserved).collect();
    let _ = writeln!(
        out,
        "/// Whether every reserved byte is zero.\n#[must_use]\npub fn reserved_is_zero(&self) -> bool {{"
    );
    if reserved.is_empty() {
        out.push_str("true");
    }
    for (i, f) in reserved.iter().enumerate() {
        let and = if i == 0 { "" } else { " && " };
        let zero = match f.ty {
            Type::Bytes => format!("[0; {}]", f.count),
            _ => "0".to_owned(),
        };
        let _ = write!(out, "{and}self.{} == {zero}", f.name);
    }
    out.push_str("\n}\n}\n\nconst _: () = {\n");
    for f in &s.fields {
        let _ = writeln!(out, "assert!(core::mem::offset_of!({name}, {}) == {});", f.name, f.at);
    }
    let _ = writeln!(out, "assert!(size_of::<{name}>() == {});\n}};\n", s.bytes);
}
