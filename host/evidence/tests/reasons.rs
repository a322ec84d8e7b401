//! Generates the documentation's tables of reason codes from the enums of the verifier.
//!
//! `cargo xtask gen` runs this test with `UPDATE_SNAPSHOTS=1`, which writes the tables.
#![cfg(test)]

use portcullis_evidence::verify::{BundleProperty, Code, EvidenceStatus, PeriodCode, ReplayCode, SeriesCode};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- begin: codes, made by `cargo xtask gen` -->\n";
const END: &str = "<!-- end: codes -->\n";
/// Advice that many codes share, and the word that stands for it in the tables.
const SHORT: [(&str, &str); 2] =
    [("*original*", Code::ImageMalformed.remedy()), ("*policy*", Code::TicketPolicy.remedy())];

fn tables() -> String {
    let columns = |status, meaning: &str, remedy: &str| {
        assert!(remedy.len() <= 120, "{remedy}");
        assert!(!remedy.ends_with('.') && remedy.starts_with(char::is_lowercase), "{remedy}");
        let remedy = SHORT.iter().find(|(_, long)| *long == remedy).map_or(remedy, |(word, _)| *word);
        format!("{}{meaning} | {remedy}", if status == EvidenceStatus::Warned { "w: " } else { "" })
    };
    let mut text = "\n".to_owned();
    for (word, remedy) in SHORT {
        writeln!(text, "- {word}: {remedy}").unwrap();
    }
    text.push_str("\n| code | property | what was found | what to do |\n| --- | --- | --- | --- |\n");
    for code in Code::ALL {
        let property = code.property().map_or("any", BundleProperty::name);
        writeln!(text, "| `{code}` | {property} | {} |", columns(code.status(), code.meaning(), code.remedy()))
            .unwrap();
    }
    text.push_str("\nOf a series:\n\n| code | what was found | what to do |\n| --- | --- | --- |\n");
    for code in SeriesCode::ALL {
        writeln!(text, "| `{code}` | {} |", columns(code.status(), code.meaning(), code.remedy())).unwrap();
    }
    text.push_str("\nOf a period, by `attest`:\n\n| code | what was found | what to do |\n| --- | --- | --- |\n");
    for code in PeriodCode::ALL {
        writeln!(text, "| `{code}` | {} |", columns(code.status(), code.meaning(), code.remedy())).unwrap();
    }
    text.push_str("\nOf a replay, by `replay` and `check`:\n\n| code | what the replay found | what to do |\n| --- | --- | --- |\n");
    for code in ReplayCode::ALL {
        writeln!(text, "| `{code}` | {} |", columns(code.status(), code.meaning(), code.remedy())).unwrap();
    }
    text.push('\n');
    text
}

#[test]
fn codes_are_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/verify.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let tables = tables();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        fs::write(&page, format!("{before}{BEGIN}{tables}{END}{after}")).unwrap();
    } else {
        assert!(
            found == tables,
            "docs/reference/verify.md: the tables of codes are not the verifier's; run `cargo xtask gen`"
        );
    }
}
