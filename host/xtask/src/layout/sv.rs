//! Generates the SystemVerilog package: constants, enumerations, bit positions, packed structs.
//!
//! A packed struct's last member has the lowest bits, so members are written from the highest offset to the lowest.
//! Then byte `n` of the wire form is bits `8*n +: 8`.

use super::{Layout, Struct, Type, camel};
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
        let last = e.named().count();
        for (place, (name, v)) in (1..).zip(e.named()) {
            let comma = if place == last { " " } else { "," };
            let literal = if e.bits() == 16 { format!("16'h{:04x}", v.value) } else { format!("8'd{}", v.value) };
            let _ = writeln!(out, "    {}{} = {literal}{comma}  // {}", camel(&e.name), camel(name), v.doc);
        }
        let _ = writeln!(out, "  }} {}_e;\n", e.name);
    }
    for b in &layout.bits {
        if b.named().next().is_none() {
            continue;
        }
        let _ = writeln!(out, "  // {}", b.doc);
        for (name, bit) in b.named() {
            let base = format!("{}{}", camel(&b.name), camel(name));
            let _ = writeln!(out, "  localparam int unsigned {base}Bit = {};  // {}", bit.bit, bit.doc);
            if bit.width > 1 {
                let _ = writeln!(out, "  localparam int unsigned {base}Width = {};", bit.width);
            }
        }
        let all = b.named().fold(0u64, |mask, (_, bit)| mask | (((1 << bit.width) - 1) << bit.bit));
        let _ =
            writeln!(out, "  localparam logic [15:0] {}All = 16'h{all:x};  // Every defined bit.\n", camel(&b.name));
    }
    for s in layout.named_structs() {
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
                        Type::U64 | Type::I64 => 64,
                        _ => 128,
                    };
                    let sign = if matches!(t, Type::I32 | Type::I64) { "logic signed" } else { "logic" };
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
        reserved(&mut out, s);
    }
    columns(&mut out, layout);
    out.push_str("endpackage\n");
    out
}

/// Writes the function that says whether every reserved byte of a struct is zero.
fn reserved(out: &mut String, s: &Struct) {
    let fields: Vec<_> = s.fields.iter().filter(|field| field.reserved).map(|field| member(&field.name)).collect();
    if fields.is_empty() {
        return;
    }
    let zero: Vec<_> = fields.iter().map(|field| format!("s.{field} == '0")).collect();
    let _ = writeln!(out, "  // Whether every reserved byte is zero.");
    let _ = writeln!(out, "  function automatic logic {0}_reserved_is_zero({0}_t s);", s.name);
    let _ = writeln!(out, "    return {};", zero.join("\n      && "));
    let _ = writeln!(out, "  endfunction\n");
}

/// Writes where the columns of a row stand in an entry and in a row, as numbers of bits: the n-th number of a list is
/// bits 16*n +: 16 of its parameter.
fn columns(out: &mut String, layout: &Layout) {
    let at = |name: &str, field: &str| {
        let within = layout.structs.iter().find(|s| s.name == name);
        within.and_then(|s| s.fields.iter().find(|f| f.name == field)).map_or(0, |f| 8 * f.at)
    };
    let small = |name: &str| {
        let set = layout.bits.iter().find(|b| b.name == "small_enums");
        let bit = set.and_then(|b| b.bits.iter().find(|(part, _)| part == name));
        bit.map_or((0, 0), |(_, bit)| (bit.bit as usize, bit.width))
    };
    let columns = &layout.columns;
    let width = |name: &str| {
        let bytes = layout.structs.iter().find(|s| s.name == name).map_or(1, |s| s.bytes);
        (8 * bytes).next_power_of_two().ilog2()
    };
    let (entry, whole) = (width("descriptor"), width("row"));
    out.push_str("  // The columns of a row: how many of each kind, and where each stands, in bits of the entry\n");
    out.push_str("  // (`EntryAt`) and of the row (the others). A list has one number per column, the first lowest.\n");
    let _ = writeln!(out, "  localparam int unsigned EntryAtWidth = {entry};");
    let _ = writeln!(out, "  localparam int unsigned RowAtWidth = {whole};");
    let enumerations: Vec<_> = columns.enumerations.iter().collect();
    let row = enumerations.iter().map(|column| match column.is_fixed {
        true => at("row", "small_enums") + small(&column.name).0,
        false => at("row", &column.name),
    });
    let masks = enumerations.iter().map(|column| match column.is_fixed {
        true => (1u128 << small(&column.name).1) - 1,
        false => u32::MAX.into(),
    });
    let names: Vec<_> = enumerations.iter().map(|column| column.name.as_str()).collect();
    list(out, "Enumeration", "EntryAt", entry, &names, names.iter().map(|name| at("descriptor", name)));
    list(out, "Enumeration", "RowAt", whole, &names, row);
    wide(out, "EnumerationMasks", 32, masks);
    let _ = writeln!(out, "  // {}", columns.flags.join(", "));
    let _ = writeln!(out, "  localparam int unsigned FlagColumns = {};", columns.flags.len());
    let sets = &columns.sets;
    let names: Vec<_> = sets.iter().map(|column| column.name.as_str()).collect();
    list(out, "Set", "EntryAt", entry, &names, names.iter().map(|name| at("descriptor", name)));
    for part in ["all", "any", "none"] {
        let row = sets.iter().map(|column| at("row", &format!("{}_{part}", column.row)));
        list(out, "Set", &format!("{}At", camel(part)), whole, &names, row);
    }
    wide(out, "SetMasks", 128, sets.iter().map(|column| u128::MAX >> (128 - column.bits)));
    let names: Vec<_> = columns.counters.iter().map(|column| column.name.as_str()).collect();
    list(out, "Counter", "EntryAt", entry, &names, names.iter().map(|name| at("descriptor", name)));
    list(out, "Counter", "RowAt", whole, &names, names.iter().map(|name| at("row", name)));
    let names: Vec<_> = columns.scalars.iter().map(|column| column.name.as_str()).collect();
    list(out, "Scalar", "EntryAt", entry, &names, names.iter().map(|name| at("descriptor", name)));
    let fractions: String = columns.scalars.iter().rev().map(|c| if c.is_fraction { '1' } else { '0' }).collect();
    let count = columns.scalars.len();
    let _ = writeln!(out, "  // The scalars that are fractions, a bit for each.");
    let _ = writeln!(out, "  localparam logic [{}:0] ScalarFractions = {count}'b{fractions};\n", count - 1);
}

/// Writes the number of the columns of a kind, if it is not there yet, and one list of numbers.
fn list(out: &mut String, kind: &str, what: &str, width: u32, names: &[&str], numbers: impl Iterator<Item = usize>) {
    let count = names.len();
    let declared = format!("  localparam int unsigned {kind}Columns = {count};\n");
    if !out.contains(&declared) {
        for line in names.chunks(6) {
            let _ = writeln!(out, "  // {}", line.join(", "));
        }
        out.push_str(&declared);
    }
    let numbers: Vec<_> = numbers.map(|number| format!("{width}'d{number}")).collect();
    let reversed: Vec<_> = numbers.into_iter().rev().collect();
    let _ = writeln!(out, "  localparam logic [{}:0] {kind}{what} = {{", width as usize * count - 1);
    let _ = writeln!(out, "    {}\n  }};", reversed.join(", "));
}

/// Writes one mask for each column of a kind, each of `bits` bits.
fn wide(out: &mut String, name: &str, bits: usize, masks: impl Iterator<Item = u128>) {
    let masks: Vec<_> = masks.map(|mask| format!("{bits}'h{mask:x}")).collect();
    let reversed: Vec<_> = masks.iter().rev().cloned().collect();
    let _ = writeln!(out, "  localparam logic [{}:0] {name} = {{", bits * masks.len() - 1);
    let _ = writeln!(out, "    {}\n  }};", reversed.join(",\n    "));
}
