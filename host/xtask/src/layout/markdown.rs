//! Markdown of every layout: tables of the structs; lists of constants, bits and values.

use super::{Layout, Type};
use crate::requirements::wrap;
use crate::table::Below;
use std::fmt::Write as _;

/// The doc of a struct, bit or value.
fn marked(reserved: bool, doc: &str) -> String {
    if reserved { format!("*Reserved.* {doc}") } else { doc.to_owned() }
}

/// The text of `docs/reference/wire-formats.md`.
pub(crate) fn markdown(layout: &Layout) -> String {
    let mut out = String::from(
        "<!-- Generated from rtl/layout/layout.toml by `cargo xtask gen`. Do not edit. -->\n# Wire formats\n\n\
         Integers are little-endian. Reserved bytes are zero, and the card checks that they are. Which values and combinations are legal is\n\
         said in [formats](formats/README.md). What is marked *reserved* has its place and its meaning, but no card and no verifier\n\
         accepts it yet ([reserved](../explanation/reserved.md)).\n\n\
         `map_digest`, the SHA-256 over the layout source and the register source, is ",
    );
    out.push('`');
    out.push_str(&base16ct::lower::encode_string(&layout.map_digest));
    out.push_str("`.\n\n## Constants\n\n");
    for (name, c) in &layout.consts {
        wrap(&mut out, &format!("- `{name}` = {}: {}", c.value, c.doc));
    }
    let mut below = Below::default();
    for s in &layout.structs {
        let _ = write!(
            out,
            "\n## `{}`, {} bytes\n\n{}\n\n| offset | field | type | meaning |\n| --- | --- | --- | --- |\n",
            s.name,
            s.bytes,
            marked(s.reserved, &s.doc)
        );
        for f in &s.fields {
            let base = match &f.ty {
                Type::U8 => "u8",
                Type::U16 => "u16",
                Type::U32 => "u32",
                Type::U64 => "u64",
                Type::U128 => "u128",
                Type::I32 => "i32",
                Type::I64 => "i64",
                Type::Bytes => "bytes",
                Type::Struct(n) => n,
            };
            let count = if f.count == 1 { String::new() } else { format!(" × {}", f.count) };
            let note = if f.note.is_empty() { String::new() } else { format!(" ({})", f.note) };
            let gap = f.reserved && f.ty == Type::Bytes;
            let name = if gap { "reserved".into() } else { format!("`{}`", f.name) };
            let zero = if f.reserved && !gap { "Reserved, zero. " } else { "" };
            let meaning = below.cell(&f.name, &format!("{zero}{}{note}", f.doc));
            let _ = writeln!(out, "| {} | {name} | {base}{count} | {meaning} |", f.at);
        }
        below.end(&mut out);
    }
    for b in &layout.bits {
        let _ = write!(out, "\n## Bits `{}`\n\n{}\n\n", b.name, b.doc);
        for (name, bit) in &b.bits {
            let range = if bit.width == 1 {
                bit.bit.to_string()
            } else {
                format!("{} to {}", bit.bit, bit.bit + bit.width - 1)
            };
            wrap(&mut out, &format!("- {range} `{name}`: {}", marked(bit.reserved, &bit.doc)));
        }
    }
    for e in &layout.enums {
        let _ = write!(out, "\n## Enumeration `{}`\n\n{}\n\n", e.name, e.doc);
        for (name, v) in &e.values {
            let value = if e.bits() == 16 { format!("{:#06x}", v.value) } else { v.value.to_string() };
            wrap(&mut out, &format!("- {value} `{name}`: {}", marked(v.reserved, &v.doc)));
        }
    }
    out
}
