//! `docs/reference/cli.md`: what `--help` says, with the options of several commands in one place.

#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

use portcullis_test_support::root;
use std::collections::BTreeMap;
use std::process::Command;

/// Commands from which on an option with the same text stands in the section of common options.
const COMMON: usize = 3;
/// Options that every command has.
const EVERYWHERE: [&str; 4] = ["--help", "--version", "--color", "--help,"];

fn help(command: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_portcullis")).args(command).arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `command` and all commands below it with their help texts, in the order of these texts.
fn commands(command: &[String]) -> Vec<(String, String)> {
    let text = help(command);
    let name = [&["portcullis".to_owned()], command].concat().join(" ");
    let mut found = vec![(name, text.clone())];
    // Names are indented by two columns, explanations by more.
    let mut is_list = false;
    let listed = text.lines().filter(|line| {
        if !line.starts_with(' ') {
            is_list = line.ends_with("ommands:");
        }
        is_list && line.starts_with("  ") && !line.starts_with("   ")
    });
    for line in listed {
        let name = line.split_whitespace().next().unwrap().to_owned();
        if name != "help" {
            found.extend(commands(&[command, &[name]].concat()));
        }
    }
    found
}

/// A help text in parts: text, headings, and options with their explanations.
enum Part {
    Text(String),
    /// A heading of options.
    Heading(String),
    /// The option's name, and all its lines with one space in place of any white space.
    Option {
        name: String,
        lines: Vec<String>,
    },
}

fn is_option(line: &str) -> bool {
    let indented = line.len() - line.trim_start().len();
    line.trim_start().starts_with('-') && (indented == 2 || indented == 6)
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if line.ends_with("ptions:") && !line.starts_with(' ') {
            parts.push(Part::Heading(line.to_owned()));
        } else if is_option(line) {
            let name = line.split([' ', ',', '=']).find(|word| word.starts_with("--")).unwrap_or(line.trim());
            parts.push(Part::Option { name: name.to_owned(), lines: vec![line.to_owned()] });
        } else if let Some(Part::Option { lines, .. }) = parts.last_mut()
            && (line.is_empty() || line.starts_with("      "))
        {
            lines.push(line.to_owned());
        } else {
            parts.push(Part::Text(line.to_owned()));
        }
    }
    parts
}

/// The option's text without its layout, by which equal options are found.
fn meaning(lines: &[String]) -> String {
    lines.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// Replaces a list of subcommands by their names, because each has a section of its own.
fn names_only(lines: &mut Vec<String>) {
    let Some(from) = lines.iter().position(|line| line == "Commands:") else { return };
    let to = lines.iter().skip(from).position(String::is_empty).map_or(lines.len(), |length| from + length);
    let names = lines.drain(from..to).skip(1).filter_map(|line| {
        let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?;
        name.split(' ').next().filter(|name| *name != "help").map(str::to_owned)
    });
    let names = names.collect::<Vec<_>>().join(", ");
    lines.insert(from, format!("Commands: {names}"));
}

/// A section of the page: the text of a command without the common options, then the names of these.
fn section(name: &str, text: &str, common: &BTreeMap<String, usize>) -> String {
    let (mut lines, mut elsewhere): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut heading = None;
    for part in parts(text) {
        match part {
            Part::Text(line) => {
                heading = None;
                lines.push(line);
            }
            Part::Heading(line) => heading = Some(line),
            Part::Option { name, .. } if EVERYWHERE.contains(&name.as_str()) => {}
            Part::Option { name, lines: own } if common.contains_key(&meaning(&own)) => {
                elsewhere.push(format!("`{name}`"));
            }
            Part::Option { lines: own, .. } => {
                lines.extend(heading.take());
                lines.extend(own);
            }
        }
    }
    if name != "portcullis" {
        names_only(&mut lines);
    }
    // Removed options leave empty lines.
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    let mut page = format!("\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    if !elsewhere.is_empty() {
        let mut line = String::from("Also");
        page.push('\n');
        for (at, option) in elsewhere.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            if line.len() + option.len() > 110 {
                page += &format!("{line}{comma}\n");
                line = option.clone();
            } else {
                line += &format!("{comma} {option}");
            }
        }
        page += &format!("{line}.\n");
    }
    page
}

/// `cargo xtask gen` writes the page again.
#[test]
fn the_manual_is_what_help_says() {
    let all = commands(&[]);
    let mut count: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for (_, text) in &all {
        for part in parts(text) {
            if let Part::Option { name, lines } = part
                && !EVERYWHERE.contains(&name.as_str())
            {
                count.entry(meaning(&lines)).or_insert((0, lines)).0 += 1;
            }
        }
    }
    count.retain(|_, (times, _)| *times >= COMMON);
    let common: BTreeMap<String, usize> = count.iter().map(|(text, (times, _))| (text.clone(), *times)).collect();
    let mut page = String::from("# Command line\n\nMade from `--help` by `cargo xtask gen`.\n\n");
    page += include_str!("exit_codes.md");
    page += "\n## Options of several commands\n\n\
             Each command has `--help` and `--color WHEN`. The section of a command names those of the following options\n\
             that it also has.\n\n```text\n";
    for (_, (_, lines)) in count {
        page += lines.join("\n").trim_end();
        page += "\n\n";
    }
    page.truncate(page.trim_end().len());
    page += "\n```\n";
    for (name, text) in &all {
        page += &section(name, text, &common);
    }
    let path = root().join("docs/reference/cli.md");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        page,
        "docs/reference/cli.md is not what `--help` says; run `cargo xtask gen`"
    );
}
