//! Generates the SystemVerilog package: constants, enumerations, bit positions, packed structs.
//!
//! A packed struct's last member has the lowest bits, so members are written from the highest offset to the lowest.
//! Then byte `n` of the wire form is bits `8*n +: 8`.

use super::{Layout, Type, camel};
use std::fmt::Write as _;

/// A field's name as a SystemVerilog identifier; keywords get an underscore.
fn member(name: &str) -> String {
    let keyword = matches!(name, "sequence" | "property" | "rand" | "type" | "event" | "class" | "context");
    if keyword { format!("{name}_") } else { name.to_owned() }
}

/// The text of `layout_pkg.sv`.
pub(crate) fn systemverilog(layout: &Layout) -> String {
    let mut out = String::from(
        "// Generated from rtl/layout/layout.toml by `cargo xtask gen`. Do not edit.\n\
         // Wire layouts: byte n of a struct is bits 8*n +: 8.\npackage layout_pkg;\n",
    );
    for (name, c) in &layout.consts {
        let _ = writeln!(out, "  localparam int unsigned {} = {};  // {}", camel(name), c.value, c.doc);
    }
    let highest_first: Vec<u8> = layout.map_digest.iter().rev().copied().collect();
    let digest = base16ct::lower::encode_string(&highest_first);
    let _ = writeln!(out, "  // SHA-256 that names this layout and the register map; first byte lowest.");
    let _ = writeln!(out, "  localparam logic [255:0] MapDigest =\n    256'h{digest};\n");
    for e in &layout.enums {
        let _ = writeln!(out, "  // {}", e.doc);
        let _ = writeln!(out, "  typedef enum logic [{}:0] {{", e.bits() - 1);
        for (i, (name, v)) in e.values.iter().enumerate() {
            let comma = if i + 1 == e.values.len() { " " } else { "," };
            let literal = if e.bits() == 16 { format!("16'h{:04x}", v.value) } else { format!("8'd{}", v.value) };
            let _ = writeln!(out, "    {}{} = {literal}{comma}  // {}", camel(&e.name), camel(name), v.doc);
        }
        let _ = writeln!(out, "  }} {}_e;\n", e.name);
    }
    for b in &layout.bits {
        let _ = writeln!(out, "  // {}", b.doc);
        for (name, bit) in &b.bits {
            let base = format!("{}{}", camel(&b.name), camel(name));
            let _ = writeln!(out, "  localparam int unsigned {base}Bit = {};  // {}", bit.bit, bit.doc);
            if bit.width > 1 {
                let _ = writeln!(out, "  localparam int unsigned {base}Width = {};", bit.width);
            }
        }
        out.push('\n');
    }
    for s in &layout.structs {
        let _ = writeln!(out, "  // {}", s.doc);
        let _ = writeln!(out, "  localparam int unsigned {}Bytes = {};", camel(&s.name), s.bytes);
        let _ = writeln!(out, "  typedef struct packed {{");
        for f in s.fields.iter().rev() {
            let ty = match (&f.ty, f.count) {
                (Type::Bytes, n) => format!("logic [{}:0]", 8 * n - 1),
                (Type::Struct(name), _) => format!("{name}_t"),
                (t, n) => {
                    let bits = match t {
                        Type::U8 => 8,
                        Type::U16 => 16,
                        Type::U32 | Type::I32 => 32,
                        Type::U64 => 64,
                        _ => 128,
                    };
                    let sign = if *t == Type::I32 { "logic signed" } else { "logic" };
                    if n == 1 {
                        format!("{sign} [{}:0]", bits - 1)
                    } else {
                        format!("{sign} [{}:0][{}:0]", n - 1, bits - 1)
                    }
                }
            };
            let _ = writeln!(out, "    {ty} {};  // {}", member(&f.name), f.at);
        }
        let _ = writeln!(out, "  }} {}_t;\n", s.name);
    }
    out.push_str("endpackage\n");
    out
}
