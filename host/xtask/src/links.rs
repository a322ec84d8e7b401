//! Checks links: every relative link of a page leads to a file and heading of the repository, the table of contents has
//! every page under `docs/` once, and every path `docs/…` in a file exists.

use anyhow::{Context, Result, ensure};
use portcullis_tools::pages::{FencedBlockUse, blocks};
use portcullis_tools::tool::capture;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const DOCS: &str = "docs/";
const CONTENTS: &str = "docs/SUMMARY.md";
/// Pages that are not checked: golden files, and pages inside bundles and packages, which are read in other places.
const ELSEWHERE: [&str; 5] = [
    "host/evidence/src/extract/",
    "host/evidence/src/format/bundle/",
    "host/policy/src/commands/template/",
    "tests/golden/0",
    "tests/cases/",
];
/// Files that a digest covers, so that their comments may have old paths; also this file, whose tests have such paths.
const FIXED: [&str; 4] =
    ["host/prefilter/rules/", "host/xtask/src/links.rs", "rtl/layout/card.rdl", "rtl/layout/layout.toml"];
/// Extensions of pages, and of files that pages name.
const ENDS: [&str; 4] = [".md", ".toml", ".txt", ".service"];

pub(crate) fn run() -> Result<()> {
    let listed = capture(Command::new("git").args(["ls-files"]))?;
    let files: BTreeSet<&str> = listed.lines().filter(|path| Path::new(path).is_file()).collect();
    let mut pages = BTreeMap::new();
    let mut faults = Vec::new();
    for path in files.iter().filter(|path| !ELSEWHERE.iter().any(|folder| path.starts_with(folder))) {
        // Files that are not text contain no paths.
        let Ok(text) = fs::read_to_string(path) else { continue };
        if !FIXED.iter().any(|fixed| path.starts_with(fixed)) {
            let lost = mentions(&text).into_iter().filter(|mention| !files.contains(mention.as_str()));
            faults.extend(lost.map(|mention| format!("{path}: there is no `{mention}`")));
        }
        if path.ends_with(".md") {
            pages.insert(*path, text);
        }
    }
    let headings: BTreeMap<&str, BTreeSet<String>> = pages.iter().map(|(path, text)| (*path, anchors(text))).collect();
    for (path, text) in &pages {
        for (line, target) in links(text) {
            if let Some(fault) = fault(path, &target, &headings) {
                faults.push(format!("{path}:{line}: `{target}`: {fault}"));
            }
        }
    }
    let contents = pages.get(CONTENTS).context(CONTENTS)?;
    let named: Vec<PathBuf> = links(contents).iter().filter_map(|(_, target)| below(CONTENTS, target)).collect();
    for path in pages.keys().filter(|path| path.starts_with(DOCS) && **path != CONTENTS) {
        let times = named.iter().filter(|page| page.as_path() == Path::new(path)).count();
        if times != 1 {
            faults.push(format!("{CONTENTS} names {path} {times} times"));
        }
    }
    ensure!(faults.is_empty(), "{} faults:\n  {}", faults.len(), faults.join("\n  "));
    Ok(())
}

/// Counts and lists the code blocks that a page marks with `norun`; the test `pages` runs all other blocks.
pub(crate) fn commands() -> Result<()> {
    let (mut run, mut left) = (0, Vec::new());
    for path in capture(Command::new("git").args(["ls-files", "*.md"]))?.lines() {
        if ELSEWHERE.iter().any(|folder| path.starts_with(folder)) || !Path::new(path).is_file() {
            continue;
        }
        for block in blocks(&fs::read_to_string(path)?) {
            match block.usage().context(path.to_owned())? {
                FencedBlockUse::Run => run += 1,
                FencedBlockUse::NoRun(reason) => left.push(format!("{path}:{}: {reason}", block.line)),
                FencedBlockUse::Output | FencedBlockUse::Other => {}
            }
        }
    }
    ensure!(run > 0, "no page has commands");
    eprintln!("    {run} blocks of commands run, {} do not:\n      {}", left.len(), left.join("\n      "));
    Ok(())
}

/// The fault of a page's link; `None` if the link is good.
fn fault(page: &str, target: &str, headings: &BTreeMap<&str, BTreeSet<String>>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { PathBuf::from(page) } else { below(page, path)? };
    if !path.exists() {
        return Some("there is no such file".to_owned());
    }
    let known = path.to_str().and_then(|path| headings.get(path));
    let is_there = anchor.is_empty() || known.is_some_and(|known| known.contains(anchor));
    (!is_there).then(|| "there is no such heading".to_owned())
}

/// The target file of a relative link, relative to the root of the repository.
fn below(page: &str, target: &str) -> Option<PathBuf> {
    let target = target.split_once('#').map_or(target, |(path, _)| path);
    let mut found = Path::new(page).parent()?.to_path_buf();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::Normal(name) => found.push(name),
            _ => {}
        }
    }
    Some(found)
}

/// The lines of a page outside of fenced code, with line numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            return None;
        }
        (!is_code).then_some((at + 1, line))
    })
}

/// The targets of a page's links, with their lines. Links in code are skipped; a link may span two lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in prose(text) {
        let spoken: String = line.split('`').step_by(2).collect::<Vec<_>>().join("x");
        for rest in spoken.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                found.push((at, target.to_owned()));
            }
        }
    }
    found
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(title) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let Some(title) = title.strip_prefix(' ') else { continue };
        let kept = title.trim().to_lowercase();
        let anchor: String = kept
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let before = times.entry(anchor.clone()).or_default();
        found.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    found
}

/// The paths below `docs/` in a text. If such a path has a prefix, the prefix is left out.
fn mentions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(DOCS) {
        let before = text.get(..at).unwrap_or_default().trim_end_matches("../");
        // The match is a part of another path, such as `QEMU/docs/`.
        if before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.')) {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '-' | '_' | '.'));
        let path = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().trim_end_matches('.');
        if ENDS.iter().any(|name| path.ends_with(name)) {
            found.push(path.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_outside_of_code() {
        let page = "See [a](b.md#c) and\n[two\nlines](../d) `[x](y)`.\n```\n[no](no)\n```\n";
        assert_eq!(links(page), [(1, "b.md#c".into()), (3, "../d".into())]);
    }

    #[test]
    fn headings_have_the_anchors_of_github() {
        let page = "# `policy.toml`\n## What it does, and how\n## Twice\n## Twice\n```\n# none\n```\n#no\n";
        let found: Vec<String> = anchors(page).into_iter().collect();
        assert_eq!(found, ["policytoml", "twice", "twice-1", "what-it-does-and-how"]);
    }

    #[test]
    fn mentioned_pages() {
        let text = "docs/a.md, `docs/b/c.toml` in ../../docs/d.md. QEMU/docs/e.md docs/f.rst (docs/g.md)";
        assert_eq!(mentions(text), ["docs/a.md", "docs/b/c.toml", "docs/d.md", "docs/g.md"]);
    }

    #[test]
    fn links_that_lead_nowhere() {
        let headings = BTreeMap::from([("docs/a.md", BTreeSet::from(["x".to_owned()]))]);
        let of = |target: &str| fault("docs/a.md", target, &headings);
        assert_eq!(of("https://example.org/#y"), None);
        assert_eq!(of("#x"), Some("there is no such file".into()));
        assert_eq!(below("docs/b/a.md", "../c.md#d"), Some(PathBuf::from("docs/c.md")));
    }
}
