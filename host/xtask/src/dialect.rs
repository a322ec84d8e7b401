//! Checks the project's rules for RTL that other tools do not check.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

const WIDTH: usize = 100;
/// Folders with files that other tools write.
const GENERATED: &str = "gen";

/// Checks every file of rtl: at most 100 columns of ASCII, and generate blocks named `g_…`. In files of the design,
/// also checks that ports are aligned, and that assertions use the macro and have a message.
pub(crate) fn run() -> Result<()> {
    let mut files = Vec::new();
    collect(Path::new("rtl"), &mut files)?;
    let mut bad = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let design = !["formal", "tb", "standin"].iter().any(|part| path.iter().any(|folder| folder == *part));
        for (number, line) in (1..).zip(text.lines()) {
            bad.extend(faults(line, design).map(|what| format!("  {}:{number}: {what}", path.display())));
        }
        if design {
            let what = "a port whose name does not stand in the column of its list";
            bad.extend(ragged(&text).map(|number| format!("  {}:{number}: {what}", path.display())));
        }
    }
    ensure!(bad.is_empty(), "against the RTL's dialect:\n{}", bad.join("\n"));
    eprintln!("    {} files", files.len());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != GENERATED) {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| ["sv", "svh", "vh"].iter().any(|known| e == *known)) {
            files.push(path);
        }
    }
    Ok(())
}

fn faults(line: &str, design: bool) -> impl Iterator<Item = &'static str> + use<> {
    let code = line.split("//").next().unwrap_or_default();
    let words = code.trim_start();
    let block = code.split_once("begin : ").map(|(before, name)| (before.trim_start(), name));
    // A generate loop needs a name, but a loop inside a process does not.
    let unnamed = words.starts_with("for (genvar") && block.is_none();
    let misnamed = block.is_some_and(|(_, name)| !name.starts_with("g_"));
    let port = words.strip_prefix("input ").is_some_and(|rest| design && !rest.starts_with(' '));
    let bare = design && code.contains("assert (") && !code.contains("`define");
    // The message is the macro's last argument, and may be on a later line. A call that ends on this line must end with
    // a message.
    let mute =
        design && code.contains("`ASSERT(") && code.trim_end().ends_with(");") && !code.trim_end().ends_with("\");");
    [
        (line.chars().count() > WIDTH, "more than 100 columns"),
        (!line.is_ascii(), "a character that is not ASCII"),
        (line.ends_with(' '), "blanks at the end"),
        (line.contains('\t'), "a tab"),
        (unnamed, "a generate loop without a name"),
        (misnamed, "a block whose name does not begin with `g_`"),
        (port, "a port whose direction is not aligned: two blanks behind `input`"),
        (bare, "an assertion that is not by the macro `ASSERT`"),
        (mute, "an assertion without a message"),
    ]
    .into_iter()
    .filter_map(|(wrong, what)| wrong.then_some(what))
}

/// Numbers of the lines with a port whose name is not aligned with the first name of its list.
fn ragged(text: &str) -> impl Iterator<Item = usize> + use<> {
    let mut first = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with(')') {
            first = None;
        } else if let Some(column) = name_column(line)
            && *first.get_or_insert(column) != column
        {
            lines.push(number);
        }
    }
    lines.into_iter()
}

/// The column of a port's name.
fn name_column(line: &str) -> Option<usize> {
    let code = line.split("//").next().unwrap_or_default();
    let words = code.strip_prefix("    ")?;
    ["input ", "output "].iter().any(|direction| words.starts_with(direction)).then_some(())?;
    let mut name = code.trim_end().trim_end_matches(',').trim_end();
    // The size of an array follows its name.
    while let Some(open) = name.strip_suffix(']').and_then(|rest| rest.rfind('[')) {
        name = name.get(..open).unwrap_or_default().trim_end();
    }
    Some(name.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |before| before + 1))
}

#[cfg(test)]
mod tests {
    use super::{faults, ragged};

    #[test]
    fn ports_stand_in_columns() {
        let list = "(\n    input  logic       a_i,  // One.\n    output logic [3:0] b_o,\n    output t           c_o [4]\n);\n";
        assert_eq!(ragged(list).count(), 0);
        assert_eq!(ragged(&list.replace("t           c", "t          c")).collect::<Vec<_>>(), [4]);
        // Each port list has its own column.
        assert_eq!(ragged(&format!("{list}(\n    input  logic d_i\n);\n")).count(), 0);
    }

    #[test]
    fn each_rule_finds_its_fault() {
        let one = |line: &str| faults(line, true).collect::<Vec<_>>();
        for good in [
            "  for (genvar i = 0; i < 4; i++) begin : g_byte",
            "    input  logic clk_i,",
            "      `ASSERT(a && b, \"part: what\");",
            "      `ASSERT(a &&",
            "  // assert (x) in a comment",
        ] {
            assert!(one(good).is_empty(), "{good}: {:?}", one(good));
        }
        for bad in [
            "  for (genvar i = 0; i < 4; i++) begin",
            "  if (Lanes > 8) begin : gen_bad",
            "    input logic clk_i,",
            "      assert (a);",
            "      `ASSERT(a);",
            "  // an em dash \u{2014}",
            "  logic a; ",
            "\tlogic a;",
        ] {
            assert_eq!(one(bad).len(), 1, "{bad}: {:?}", one(bad));
        }
        assert_eq!(one(&"x".repeat(101)).len(), 1);
        assert!(faults("    assert (a);", false).next().is_none(), "a proof's assertions are its claims");
    }
}
