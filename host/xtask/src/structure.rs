//! Checks pages that list parts of the project: the folders in docs/explanation/architecture.md, and the codes of an
//! audit in fleet/README.md.

use crate::crates::PAGE;
use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::capture;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Folders of which the page lists every folder.
const WHOLE: [&str; 3] = ["clients", "host", "rtl"];
/// The folder of the page itself.
const UNLISTED: &str = "docs";
const FLEET_PAGE: &str = "fleet/README.md";
/// The codes that only an audit has; the file, and the texts before and after them.
const OWN_CODES: [&str; 3] = ["fleet/core/src/finding.rs", "const fn meaning(", "pub const fn id("];
/// The codes that an audit shares with `verify-series`.
const SERIES_CODES: [&str; 3] = ["host/evidence/src/verify/code.rs", "SeriesCode {", "\n    }\n"];

pub(crate) fn run() -> Result<()> {
    let files = capture(Command::new("git").args(["ls-files"]))?;
    let mut faults = folders(&read(PAGE)?, &tracked(&files))?;
    let mut codes = BTreeSet::new();
    for [path, before, after] in [OWN_CODES, SERIES_CODES] {
        let text = read(path)?;
        let found = ids(between(&text, before, after).with_context(|| format!("{path} has no `{before}`"))?);
        ensure!(!found.is_empty(), "{path} has no codes after `{before}`");
        codes.extend(found);
    }
    faults.extend(rows(&read(FLEET_PAGE)?, &codes)?);
    ensure!(faults.is_empty(), "{} faults:\n  {}", faults.len(), faults.join("\n  "));
    Ok(())
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).context(path.to_owned())
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

/// The folders of the repository, of one and of two levels. Hidden ones are left out.
fn tracked(files: &str) -> BTreeSet<&str> {
    files
        .lines()
        .filter(|path| !path.starts_with('.'))
        .flat_map(|path| path.match_indices('/').take(2).filter_map(|(at, _)| path.get(..at)))
        .collect()
}

/// The faults of the list of folders: items such as "- `rtl/pkg`, `rtl/lib`: what they are for".
fn folders(page: &str, tracked: &BTreeSet<&str>) -> Result<Vec<String>> {
    let list = between(page, "\n## Folders\n", "\n## ").with_context(|| format!("{PAGE} has no `## Folders`"))?;
    let items = list.lines().filter_map(|line| Some(line.strip_prefix("- ")?.split_once(": ")?.0));
    let listed: BTreeSet<&str> = items.flat_map(|names| names.split('`').skip(1).step_by(2)).collect();
    let unknown = listed.iter().filter(|name| !tracked.contains(*name));
    let mut faults: Vec<String> =
        unknown.map(|name| format!("{PAGE} lists `{name}`, and there is no such folder")).collect();
    let is_listed = |folder: &str| match folder.split_once('/') {
        Some((above, _)) => !WHOLE.contains(&above) || listed.contains(folder),
        None => folder == UNLISTED || listed.iter().any(|name| name.split('/').next() == Some(folder)),
    };
    faults.extend(tracked.iter().filter(|f| !is_listed(f)).map(|folder| format!("{PAGE} does not list `{folder}`")));
    Ok(faults)
}

/// The quoted ids in Rust code: of what is quoted there, they alone have neither blanks nor capitals.
fn ids(code: &str) -> BTreeSet<String> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let quoted = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    let is_id = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    quoted.filter(is_id).map(str::to_owned).collect()
}

/// The codes that the table of findings lacks, and those that it has too many.
fn rows(page: &str, codes: &BTreeSet<String>) -> Result<Vec<String>> {
    let table =
        between(page, "\n## Findings\n", "\n## ").with_context(|| format!("{FLEET_PAGE} has no `## Findings`"))?;
    let cells = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let listed: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let lost = codes.iter().filter(|code| !listed.contains(code.as_str()));
    let unknown = listed.iter().filter(|code| !codes.contains(**code));
    Ok((lost.map(|code| format!("{FLEET_PAGE} does not list `{code}`")))
        .chain(unknown.map(|code| format!("{FLEET_PAGE} lists `{code}`, and an audit has no such code")))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_not_listed_and_those_that_are_gone() {
        let tracked =
            tracked("README.md\n.github/a.yml\ndocs/a.md\nrtl/top/a.sv\nrtl/pkg/gen/b.sv\ntests/x/y.rs\nsim/a\n");
        assert_eq!(Vec::from_iter(&tracked), [&"docs", &"rtl", &"rtl/pkg", &"rtl/top", &"sim", &"tests", &"tests/x"]);
        let page =
            "x\n## Folders\n\n- `rtl/pkg`, `rtl/top`: see `rtl/x`\n- `tests/x`: y\n- `sim`: z\n\n## Crates\n- `a`: b\n";
        assert_eq!(folders(page, &tracked).unwrap(), [""; 0]);
        let page = "x\n## Folders\n\n- `rtl/pkg`: a\n- `sim`, `tests/z`: b\n\n## Crates\n";
        let faults = ["lists `tests/z`, and there is no such folder", "does not list `rtl/top`"];
        assert_eq!(folders(page, &tracked).unwrap(), faults.map(|fault| format!("{PAGE} {fault}")));
        assert!(folders("# Folders\n", &tracked).is_err());
    }

    #[test]
    fn codes_that_are_not_listed_and_those_that_are_gone() {
        let code = "A => (\"fork\", Warned, \"ask for it\"),\n// \"comment\"\n/// it's \"one\nB = \"log-behind\", warns => \"go on\"";
        let codes = BTreeSet::from(["fork".to_owned(), "log-behind".to_owned()]);
        assert_eq!(ids(code), codes);
        let page =
            "\n## Findings\n\n| code | meaning |\n| --- | --- |\n| `fork`, `x` | see `log-behind` |\n\n## Figures\n";
        let faults = ["does not list `log-behind`", "lists `x`, and an audit has no such code"];
        assert_eq!(rows(page, &codes).unwrap(), faults.map(|fault| format!("{FLEET_PAGE} {fault}")));
    }
}
