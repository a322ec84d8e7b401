//! docs/reference/top.md: parameters and ports of the card's top module, read from its source.
//!
//! The source has a fixed form: one parameter or port per line, with its comment behind it or on the lines above it,
//! and a separate comment line above each group of ports.

use crate::requirements::wrap;
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;

pub(crate) const SOURCE: &str = "rtl/top/portcullis_top.sv";

#[derive(Debug, PartialEq, Eq)]
struct PortOrParameter {
    /// A port's direction, or a parameter's type.
    kind: String,
    name: String,
    /// A port's bits, or a parameter's default.
    value: String,
    remark: String,
}

pub(crate) fn page(source: &str) -> Result<String> {
    let (purpose, rest) = source.split_once("\nmodule ").context("no module")?;
    let (_, rest) = rest.split_once("#(\n").context("no parameters")?;
    let (parameters, rest) = rest.split_once("\n) (\n").context("no ports")?;
    let (ports, body) = rest.split_once("\n);\n").context("the list of ports has no end")?;
    let mut page = format!(
        "<!-- Generated from {SOURCE} by `cargo xtask gen`. Do not edit. -->\n# Ports and parameters of the card\n\n\
         `portcullis_top` in `{SOURCE}` is the whole card. Shells connect it to a board:\n\
         [AWS F2](../how-to/aws-f2.md) and [Alveo](../how-to/alveo.md). `rtl/portcullis.f` lists its sources for a tool.\n\n\
         The head of the source says:\n\n"
    );
    for line in purpose.lines() {
        writeln!(page, "{}", format!("> {}", line.trim_start_matches('/').trim()).trim_end())?;
    }
    page.push_str("\n## Parameters\n\n| parameter | type | default | meaning |\n| --- | --- | --- | --- |\n");
    let parameters = items(parameters, parameter)?;
    ensure!(!parameters.is_empty(), "no parameters");
    for (_, item) in parameters {
        let remark = if item.remark.is_empty() { "–" } else { &item.remark };
        writeln!(page, "| `{}` | `{}` | `{}` | {remark} |", item.name, item.kind, item.value)?;
    }
    page.push_str("\nElaboration stops with one of these messages where parameters do not fit:\n\n");
    let messages: Vec<&str> = body.split("$fatal(").skip(1).filter_map(|rest| rest.split('"').nth(1)).collect();
    ensure!(!messages.is_empty(), "no guards");
    for message in messages {
        writeln!(page, "- {}", message.trim_start_matches("portcullis_top: "))?;
    }
    page.push_str("\n## Ports\n\nIn brackets is the width in bits; other ports have one bit.\n");
    let ports = items(ports, port)?;
    for group in ports.chunk_by(|before, next| before.0 == next.0) {
        let title = group.first().map_or("", |(title, _)| title);
        write!(page, "\n{}:\n\n", if title.is_empty() { "Clock, reset and interrupt" } else { title })?;
        for kind in ["input", "output"] {
            let of_kind = group.iter().filter(|(_, item)| item.kind == kind).map(|(_, item)| match &*item.value {
                "1" => format!("`{}`", item.name),
                bits => format!("`{}` ({bits})", item.name),
            });
            let names: Vec<String> = of_kind.collect();
            if !names.is_empty() {
                wrap(&mut page, &format!("- {kind}: {}", names.join(", ")));
            }
        }
    }
    Ok(page)
}

/// All items of a list, each with the comment above it. For a port, this comment is the name of its group; for a
/// parameter, it is the description.
fn items(list: &str, read: fn(&str) -> Option<PortOrParameter>) -> Result<Vec<(String, PortOrParameter)>> {
    let mut found = Vec::new();
    let mut above = String::new();
    let mut is_group = true;
    for line in list.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix("//") {
            if is_group {
                above.clear();
            }
            above = [above.trim(), comment.trim()].join(" ").trim().trim_end_matches('.').to_owned();
            is_group = false;
            continue;
        }
        let (code, behind) = line.split_once("//").unwrap_or((line, ""));
        let mut item = read(code.trim().trim_end_matches(',')).with_context(|| format!("`{line}` is not read"))?;
        item.remark = if behind.is_empty() { above.clone() } else { behind.trim().trim_end_matches('.').to_owned() };
        if line.starts_with("parameter") {
            above.clear();
        }
        found.push((above.clone(), item));
        is_group = true;
    }
    Ok(found)
}

/// Parses `parameter TYPE NAME = VALUE`.
fn parameter(code: &str) -> Option<PortOrParameter> {
    let (left, value) = code.strip_prefix("parameter")?.split_once('=')?;
    let (kind, name) = left.trim().rsplit_once(' ')?;
    let kind = kind.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(PortOrParameter { kind, name: name.to_owned(), value: value.trim().to_owned(), remark: String::new() })
}

/// Parses `input logic [MSB:0] NAME`.
fn port(code: &str) -> Option<PortOrParameter> {
    let (kind, rest) = code.split_once(' ')?;
    let rest = rest.trim().strip_prefix("logic")?.trim();
    let (bits, name) = match rest.strip_prefix('[') {
        Some(range) => {
            let (range, name) = range.split_once(']')?;
            let high: u32 = range.strip_suffix(":0")?.parse().ok()?;
            ((high + 1).to_string(), name.trim())
        }
        None => ("1".to_owned(), rest),
    };
    let known = matches!(kind, "input" | "output");
    known.then(|| PortOrParameter { kind: kind.to_owned(), name: name.to_owned(), value: bits, remark: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "// A card.\nmodule portcullis_top\n  import a_pkg::*;\n#(\n    parameter int unsigned Rows = 256,   // 1 to 1024.\n    // Of all lanes\n    // together.\n    parameter bit          Sleep = 1'b0\n) (\n    input  logic         clk_i,\n    // AXI4 master.\n    output logic [4:0]   m_axi_awid\n);\n  $fatal(1, \"portcullis_top: too few\");\nendmodule\n";

    #[test]
    fn parameters_and_ports_are_read() {
        let page = page(MODULE).unwrap();
        for row in [
            "> A card.",
            "| `Rows` | `int unsigned` | `256` | 1 to 1024 |",
            "| `Sleep` | `bit` | `1'b0` | Of all lanes together |",
            "- too few",
            "Clock, reset and interrupt:",
            "- input: `clk_i`",
            "AXI4 master:",
            "- output: `m_axi_awid` (5)",
        ] {
            assert!(page.lines().any(|line| line == row), "`{row}` is not in\n{page}");
        }
    }

    #[test]
    fn what_is_not_read_is_an_error() {
        assert!(page(&MODULE.replace("output logic [4:0]", "output my_type_t")).is_err());
    }
}
