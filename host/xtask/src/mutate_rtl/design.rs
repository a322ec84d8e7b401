//! Cells of an elaborated design, and where the cell of one design stands in another.
//!
//! Designs number their cells each in its own way. What they share is the place in the source: a cell of the same kind from the same
//! place is the same logic, and where a loop or several instances make more of them, their order.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Type and source of a cell.
type Kind = (String, String);

pub(super) struct Cells {
    top: String,
    names: BTreeMap<Kind, Vec<String>>,
    kinds: BTreeMap<String, Kind>,
}

impl Cells {
    /// Reads a flat design that Yosys wrote as RTLIL.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let mut cells = Self { top: String::new(), names: BTreeMap::new(), kinds: BTreeMap::new() };
        let mut source = "";
        for line in text.lines().map(str::trim_start) {
            if let Some(rest) = line.strip_prefix("attribute \\src \"") {
                source = rest.trim_end_matches('"');
            } else if let Some(name) = line.strip_prefix("module ") {
                name.trim_start_matches('\\').clone_into(&mut cells.top);
            } else if let Some((kind, name)) = line.strip_prefix("cell ").and_then(|rest| rest.split_once(' ')) {
                let kind = (kind.to_owned(), source.to_owned());
                let name = name.trim_start_matches('\\').to_owned();
                cells.names.entry(kind.clone()).or_default().push(name.clone());
                cells.kinds.insert(name, kind);
                source = "";
            } else if !line.starts_with("attribute ") {
                source = "";
            }
        }
        Ok(cells)
    }

    /// The same damage in the other design, or none where that design does not hold the cell.
    pub(super) fn carry(&self, command: &str, other: &Self) -> Option<String> {
        let cell = option(command, "-cell");
        let kind = self.kinds.get(cell)?;
        let (here, there) = (self.names.get(kind)?, other.names.get(kind)?);
        let at = here.iter().position(|name| name == cell)?;
        // More of one instance's, or more instances: the place in the first, or the same part of the way.
        let to = if here.len().is_multiple_of(there.len()) { at % there.len() } else { at * there.len() / here.len() };
        let parts = ["-mode", "-port", "-portbit", "-ctrlbit"].map(|name| (name, option(command, name)));
        let rest: Vec<_> = parts.iter().filter(|(_, v)| !v.is_empty()).map(|(n, v)| format!("{n} {v}")).collect();
        Some(format!("mutate -module {} -cell {} {}", other.top, there.get(to)?, rest.join(" ")))
    }
}

/// The word after an option of a command.
pub(super) fn option<'a>(command: &'a str, name: &str) -> &'a str {
    command.split_whitespace().skip_while(|word| *word != name).nth(1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Cells;
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
        let (small, large) = (Cells::read(&small).unwrap(), Cells::read(&large).unwrap());
        let carry = |from: &Cells, to: &Cells, cell: &str| {
            from.carry(&format!("mutate -mode inv -module m -cell {cell} -port A -portbit 2 -src x"), to)
        };
        assert_eq!(
            carry(&large, &small, "u.$driver$q").unwrap(),
            "mutate -module small -cell $7 -mode inv -port A -portbit 2"
        );
        assert_eq!(carry(&small, &large, "$7").unwrap(), "mutate -module large -cell $1 -mode inv -port A -portbit 2");
        assert_eq!(carry(&large, &small, "$3"), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
