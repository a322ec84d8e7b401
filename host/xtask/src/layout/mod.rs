//! The layout source `rtl/layout/layout.toml`: parses and checks it, and generates SystemVerilog, Rust and Markdown.

mod columns;
mod markdown;
mod rust;
mod rust_columns;
mod sv;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

pub(crate) use columns::LayoutColumns;
pub(crate) use markdown::markdown;
pub(crate) use rust::rust;
pub(crate) use rust_columns::rust_columns;
pub(crate) use sv::systemverilog;

/// A checked layout source, in the source's order.
pub(crate) struct Layout {
    pub(crate) consts: Vec<(String, Const)>,
    pub(crate) enums: Vec<Enumeration>,
    pub(crate) bits: Vec<BitSet>,
    pub(crate) structs: Vec<Struct>,
    pub(crate) columns: LayoutColumns,
    /// SHA-256 over layout and register sources; it identifies both together.
    pub(crate) map_digest: [u8; 32],
}

#[derive(Deserialize)]
pub(crate) struct Const {
    pub(crate) value: u64,
    pub(crate) doc: String,
    /// Whether only the docs name it.
    #[serde(default)]
    pub(crate) reserved: bool,
}

pub(crate) struct Enumeration {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) values: Vec<(String, Const)>,
}

impl Enumeration {
    /// The values that code names.
    pub(crate) fn named(&self) -> impl Iterator<Item = &(String, Const)> {
        self.values.iter().filter(|(_, value)| !value.reserved)
    }

    /// Width in bits of a field for a value: 8, or 16 if a value does not fit into 8.
    pub(crate) fn bits(&self) -> u32 {
        if self.values.iter().any(|(_, v)| v.value > 0xff) { 16 } else { 8 }
    }
}

pub(crate) struct BitSet {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) bits: Vec<(String, Bit)>,
}

impl BitSet {
    /// The bits that code names.
    pub(crate) fn named(&self) -> impl Iterator<Item = &(String, Bit)> {
        self.bits.iter().filter(|(_, bit)| !bit.reserved)
    }
}

#[derive(Deserialize)]
pub(crate) struct Bit {
    pub(crate) bit: u32,
    #[serde(default = "one")]
    pub(crate) width: u32,
    pub(crate) doc: String,
    /// Whether only the docs name it.
    #[serde(default)]
    pub(crate) reserved: bool,
}

fn one() -> u32 {
    1
}

pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) bytes: usize,
    /// Named fields, and reserved fields for the gaps between them, by offset; together they cover every byte once.
    pub(crate) fields: Vec<LayoutField>,
    /// Whether only the docs name it.
    pub(crate) reserved: bool,
}

pub(crate) struct LayoutField {
    pub(crate) at: usize,
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) count: usize,
    pub(crate) note: String,
    pub(crate) doc: String,
    /// Whether the field must be zero; readers check it.
    pub(crate) reserved: bool,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Type {
    U8,
    U16,
    U32,
    U64,
    U128,
    I32,
    I64,
    Bytes,
    Struct(String),
}

impl Layout {
    /// The structs that code names.
    pub(crate) fn named_structs(&self) -> impl Iterator<Item = &Struct> {
        self.structs.iter().filter(|s| !s.reserved)
    }
}

impl LayoutField {
    pub(crate) fn bytes(&self, structs: &HashMap<String, usize>) -> usize {
        let unit = match &self.ty {
            Type::U8 | Type::Bytes => 1,
            Type::U16 => 2,
            Type::U32 | Type::I32 => 4,
            Type::U64 | Type::I64 => 8,
            Type::U128 => 16,
            Type::Struct(name) => structs.get(name).copied().unwrap_or(0),
        };
        unit * self.count
    }
}

#[derive(Deserialize)]
struct RawField {
    at: usize,
    name: String,
    #[serde(rename = "type")]
    ty: String,
    doc: String,
    r#enum: Option<String>,
    bits: Option<String>,
    unit: Option<String>,
    #[serde(default)]
    reserved: bool,
}

#[derive(Deserialize)]
struct RawStruct {
    doc: String,
    bytes: usize,
    fields: Vec<RawField>,
    #[serde(default)]
    reserved: bool,
}

/// Parses and checks the source: fields must be in order and must not overlap, and every named type must exist.
pub(crate) fn parse(source: &str, registers: &str) -> Result<Layout> {
    let root: toml::Table = source.parse().context("rtl/layout/layout.toml")?;
    let section = |name: &str| -> Result<toml::Table> {
        root.get(name).and_then(toml::Value::as_table).cloned().with_context(|| format!("layout.toml has no [{name}]"))
    };
    let mut consts = Vec::new();
    for (name, value) in section("const")? {
        consts.push((name, value.try_into::<Const>()?));
    }
    let mut enums = Vec::new();
    for (name, value) in section("enum")? {
        let (doc, entries) = documented(&name, value)?;
        let values = entries.into_iter().map(|(k, v)| Ok((k, v.try_into::<Const>()?))).collect::<Result<Vec<_>>>()?;
        enums.push(Enumeration { name, doc, values });
    }
    let mut bits = Vec::new();
    for (name, value) in section("bits")? {
        let (doc, entries) = documented(&name, value)?;
        let set = entries.into_iter().map(|(k, v)| Ok((k, v.try_into::<Bit>()?))).collect::<Result<Vec<_>>>()?;
        bits.push(BitSet { name, doc, bits: set });
    }
    let mut sizes = HashMap::new();
    let mut structs = Vec::new();
    for (name, value) in section("struct")? {
        let raw: RawStruct = value.try_into().with_context(|| format!("struct `{name}`"))?;
        let known = |n: &str, here: &dyn Fn(&str) -> bool| -> Result<()> {
            ensure!(here(n), "struct `{name}` names `{n}`, which the source does not define");
            Ok(())
        };
        let mut fields = Vec::new();
        let mut next = 0;
        for f in raw.fields {
            if let Some(e) = &f.r#enum {
                known(e, &|n| enums.iter().any(|x: &Enumeration| x.name == n))?;
            }
            if let Some(b) = &f.bits {
                known(b, &|n| bits.iter().any(|x: &BitSet| x.name == n))?;
            }
            let (ty, count) = field_type(&f.ty, &sizes)?;
            let note = [f.r#enum.map(|e| format!("enumeration `{e}`")), f.bits.map(|b| format!("bits `{b}`")), f.unit]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", ");
            ensure!(f.at >= next, "struct `{name}`: `{}` overlaps the field before it", f.name);
            gap(&mut fields, next, f.at);
            let field = LayoutField { at: f.at, name: f.name, ty, count, note, doc: f.doc, reserved: f.reserved };
            next = f.at + field.bytes(&sizes);
            fields.push(field);
        }
        ensure!(next <= raw.bytes, "struct `{name}` is longer than its {} bytes", raw.bytes);
        gap(&mut fields, next, raw.bytes);
        sizes.insert(name.clone(), raw.bytes);
        structs.push(Struct { name, doc: raw.doc, bytes: raw.bytes, fields, reserved: raw.reserved });
    }
    let listed = section("columns")?.try_into().context("the section `columns`")?;
    let columns = LayoutColumns::new(listed, &structs, &bits)?;
    let mut hash = Sha256::new();
    for part in [source, registers] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Ok(Layout { consts, enums, bits, structs, columns, map_digest: hash.finalize().into() })
}

fn documented(name: &str, value: toml::Value) -> Result<(String, toml::Table)> {
    let toml::Value::Table(mut table) = value else { bail!("`{name}` is not a table") };
    match table.remove("doc") {
        Some(toml::Value::String(doc)) => Ok((doc, table)),
        _ => bail!("`{name}` has no doc"),
    }
}

fn gap(fields: &mut Vec<LayoutField>, from: usize, to: usize) {
    if from < to {
        fields.push(LayoutField {
            at: from,
            name: format!("reserved_{from}"),
            ty: Type::Bytes,
            count: to - from,
            note: String::new(),
            doc: "Reserved, zero.".into(),
            reserved: true,
        });
    }
}

fn field_type(text: &str, structs: &HashMap<String, usize>) -> Result<(Type, usize)> {
    let (base, count) = match text.split_once('*') {
        Some((base, n)) => (base, n.parse().with_context(|| format!("type `{text}`"))?),
        None => (text, 1),
    };
    let ty = match base {
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        "u128" => Type::U128,
        "i32" => Type::I32,
        "i64" => Type::I64,
        "bytes" => Type::Bytes,
        name if structs.contains_key(name) => Type::Struct(name.into()),
        _ => bail!("unknown type `{text}`"),
    };
    Ok((ty, count))
}

/// Converts `snake_case` to `UpperCamel`.
pub(crate) fn camel(name: &str) -> String {
    name.split('_')
        .map(|w| {
            let mut c = w.chars();
            c.next().map(|f| f.to_uppercase().chain(c).collect::<String>()).unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = include_str!("../../../../rtl/layout/layout.toml");

    /// A reserved value, bit or struct has a name in the docs and in no code, so that code refuses it.
    #[test]
    fn only_the_docs_name_what_is_reserved() {
        let layout = parse(SOURCE, "").unwrap();
        let without_comments = |code: String| {
            code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
        };
        let code = [rust(&layout), systemverilog(&layout)].map(without_comments);
        for name in ["supplement", "supplemented", "further_row", "supplement_present"] {
            assert!(markdown(&layout).contains(&format!("`{name}`")), "{name}");
            let variants = [name.to_owned(), name.to_uppercase(), camel(name)];
            for variant in &variants {
                let word = |c: char| c.is_alphanumeric() || c == '_';
                let names = |code: &String| code.split(|c| !word(c)).any(|found| found == variant);
                assert!(!code.iter().any(names), "{variant}");
            }
        }
    }

    #[test]
    fn what_is_no_longer_reserved_gets_a_name() {
        let used = SOURCE.replacen("value = 5, reserved = true", "value = 5", 1);
        let layout = parse(&used, "").unwrap();
        assert!(rust(&layout).contains("5 => Ok(Self::Supplement)"));
        assert!(systemverilog(&layout).contains("OpcodeSupplement = 8'd5"));
    }

    #[test]
    fn a_reserved_field_needs_its_place() {
        let overlapping = SOURCE.replacen("{ at = 12, name = \"present\"", "{ at = 10, name = \"present\"", 1);
        let error = parse(&overlapping, "").err().unwrap().to_string();
        assert!(error.contains("`present` overlaps the field before it"), "{error}");
    }
}
