//! Finds a cell of one elaborated design in another elaborated design.
//!
//! Each design numbers its cells differently, but cells have a place in the source. Cells of the same kind from the
//! same place are the same logic. If several cells match, their parameters decide; for loops and several instances,
//! their order in the design decides. If an instance is a black box in a proof, a flat design that contains its logic
//! has no cell for it; then the buffer of the instance's port is used.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

type Kind = (String, String);
/// The kind of a cell, and its parameters as the design writes them.
type Form = (Kind, String);

#[derive(Default)]
pub(super) struct DesignCells {
    top: String,
    names: BTreeMap<Kind, Vec<String>>,
    forms: BTreeMap<Form, Vec<String>>,
    cells: BTreeMap<String, Form>,
    /// For each port of an instance: its buffer, and the side of the buffer to which the port belongs.
    ports: BTreeMap<String, (String, &'static str)>,
}

impl DesignCells {
    /// Reads a flat design that Yosys wrote as RTLIL.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut cells = Self::default();
        let mut source = "";
        let mut buffer = None;
        let mut last = String::new();
        for line in text.lines().map(str::trim_start) {
            if let Some(rest) = line.strip_prefix("attribute \\src \"") {
                source = rest.trim_end_matches('"');
            } else if let Some(name) = line.strip_prefix("module ") {
                // The modules after the first one are black boxes.
                if cells.top.is_empty() {
                    name.trim_start_matches('\\').clone_into(&mut cells.top);
                }
            } else if let Some((kind, name)) = line.strip_prefix("cell ").and_then(|rest| rest.split_once(' ')) {
                let kind = (kind.to_owned(), source.to_owned());
                let name = name.trim_start_matches('\\').to_owned();
                cells.names.entry(kind.clone()).or_default().push(name.clone());
                buffer = (kind.0 == "$buf").then(|| name.clone());
                last.clone_from(&name);
                cells.cells.insert(name, (kind, String::new()));
                source = "";
            } else if let Some(parameter) = line.strip_prefix("parameter ") {
                if let Some((_, parameters)) = cells.cells.get_mut(&last) {
                    parameters.push_str(parameter);
                    parameters.push('\n');
                }
            } else if let Some((side, name, wire)) = buffer.as_ref().and_then(|name| port(name, line)) {
                cells.ports.entry(wire).or_insert((name, side));
            } else if !line.starts_with("attribute ") {
                source = "";
            }
        }
        // Cells of the same form are listed in the order of the design.
        for name in cells.names.values().flatten() {
            if let Some(form) = cells.cells.get(name) {
                cells.forms.entry(form.clone()).or_default().push(name.clone());
            }
        }
        Ok(cells)
    }

    /// The command for this mutation in the other design; `None` if that design does not contain the cell.
    pub(super) fn carry(&self, command: &str, other: &Self) -> Option<String> {
        let cell = option(command, "-cell");
        let form = self.cells.get(cell)?;
        let (here, there) = match (self.forms.get(form), other.forms.get(form)) {
            (Some(here), Some(there)) => (here, there),
            _ => match other.names.get(&form.0) {
                Some(there) => (self.names.get(&form.0)?, there),
                None => return other.at_port(command),
            },
        };
        let at = here.iter().position(|name| name == cell)?;
        // If one design has more instances of the module, the position repeats in each instance, or is scaled.
        let to = if here.len().is_multiple_of(there.len()) { at % there.len() } else { at * there.len() / here.len() };
        Some(other.command(command, there.get(to)?, option(command, "-port")))
    }

    /// A mutation of an instance's port, applied to the buffer of that port; `None` if there is no such buffer.
    fn at_port(&self, command: &str) -> Option<String> {
        let instance = option(command, "-cell").rsplit('.').next()?;
        let (cell, side) = self.ports.get(&format!("{instance}.{}", option(command, "-port")))?;
        Some(self.command(command, cell, side))
    }

    fn command(&self, command: &str, cell: &str, port: &str) -> String {
        let rest: String = ["-portbit", "-ctrlbit"]
            .map(|name| (name, option(command, name)))
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!(" {name} {value}"))
            .collect();
        format!("mutate -mode {} -module {} -cell {cell} -port {port}{rest}", option(command, "-mode"), self.top)
    }
}

/// Side of the buffer, buffer, and port, if the line connects a buffer to `…instance.port`.
fn port(buffer: &str, line: &str) -> Option<(&'static str, String, String)> {
    let (side, wire) = line.strip_prefix("connect \\")?.split_once(" \\")?;
    let side = ["A", "Y"].into_iter().find(|s| *s == side)?;
    let mut parts = wire.rsplit('.');
    let (port, instance) = (parts.next()?, parts.next()?);
    Some((side, buffer.to_owned(), format!("{instance}.{port}")))
}

/// The word after an option in a command.
pub(super) fn option<'a>(command: &'a str, name: &str) -> &'a str {
    command.split_whitespace().skip_while(|word| *word != name).nth(1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::DesignCells;
    use std::fs;

    #[test]
    fn a_cell_is_found_by_its_place_in_the_source() {
        let folder = std::env::temp_dir().join(format!("portcullis-cells-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let cell = |name: &str, source: &str| format!("  attribute \\src \"{source}\"\n  cell $and {name}\n  end\n");
        let design = |top: &str, cells: &str| format!("module \\{top}\n  wire \\a\n{cells}end\n");
        let (small, large) = (folder.join("small.il"), folder.join("large.il"));
        fs::write(&small, design("small", &(cell("$7", "x.sv:2.1") + &cell("$8", "y.sv:1.1")))).unwrap();
        let both = cell("$1", "x.sv:2.1") + &cell("\\u.$driver$q", "x.sv:2.1") + &cell("$3", "z.sv:1.1");
        fs::write(&large, design("large", &both)).unwrap();
        let (small, large) = (DesignCells::read(&small).unwrap(), DesignCells::read(&large).unwrap());
        let carry = |from: &DesignCells, to: &DesignCells, cell: &str| {
            from.carry(&format!("mutate -mode inv -module m -cell {cell} -port A -portbit 2 -src x"), to)
        };
        assert_eq!(
            carry(&large, &small, "u.$driver$q").unwrap(),
            "mutate -mode inv -module small -cell $7 -port A -portbit 2"
        );
        assert_eq!(carry(&small, &large, "$7").unwrap(), "mutate -mode inv -module large -cell $1 -port A -portbit 2");
        assert_eq!(carry(&large, &small, "$3"), None);
        let wide = |name: &str, width: u32| {
            cell(name, "w.sv:1.1").replace("  end", &format!("    parameter \\WIDTH {width}\n  end"))
        };
        let (one, two) = (folder.join("one.il"), folder.join("two.il"));
        fs::write(&one, design("one", &(wide("$1", 8) + &wide("$2", 4)))).unwrap();
        fs::write(&two, design("two", &(wide("$5", 4) + &wide("$6", 8)))).unwrap();
        let (one, two) = (DesignCells::read(&one).unwrap(), DesignCells::read(&two).unwrap());
        assert_eq!(carry(&one, &two, "$1").unwrap(), "mutate -mode inv -module two -cell $6 -port A -portbit 2");
        let (boxed, flat) = (folder.join("boxed.il"), folder.join("flat.il"));
        let part = design("part", "").replacen("module", "attribute \\blackbox 1\nmodule", 1);
        let instance = cell("dut.u_part", "x.sv:9.1").replace("$and", "\\part");
        fs::write(&boxed, design("boxed", &(instance + &cell("$2", "x.sv:2.1"))) + &part).unwrap();
        fs::write(&flat, design("flat", "  cell $buf $4\n    connect \\A \\q\n    connect \\Y \\u.u_part.A\n  end\n"))
            .unwrap();
        let (boxed, flat) = (DesignCells::read(&boxed).unwrap(), DesignCells::read(&flat).unwrap());
        assert_eq!(
            carry(&boxed, &flat, "dut.u_part").unwrap(),
            "mutate -mode inv -module flat -cell $4 -port Y -portbit 2"
        );
        assert_eq!(carry(&small, &boxed, "$7").unwrap(), "mutate -mode inv -module boxed -cell $2 -port A -portbit 2");
        fs::remove_dir_all(folder).unwrap();
    }
}
