//! Generates the list of regulations in the documentation from the table of clauses.
//!
//! `cargo xtask gen` runs this test with `UPDATE_SNAPSHOTS=1`, which writes the list.
#![cfg(test)]

use portcullis_attestation::clauses;
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- begin: clauses, made by `cargo xtask gen` -->\n";
const END: &str = "<!-- end: clauses -->\n";
const COLUMNS: usize = 118;

fn list() -> String {
    let mut list = String::new();
    for clause in clauses() {
        list.push_str(&format!("\n**{}**\n\n", clause.name));
        let items =
            [("Applies", clause.applies), ("We provide", clause.provided), ("The operator must add", clause.operator)];
        for item in items.map(|(what, text)| format!("{what}: {text}")) {
            let mut line = "-".to_owned();
            for word in item.split_whitespace() {
                if line.chars().count() + 1 + word.chars().count() > COLUMNS {
                    list.push_str(&line);
                    list.push('\n');
                    line = " ".to_owned();
                }
                line.push(' ');
                line.push_str(word);
            }
            list.push_str(&line);
            list.push('\n');
        }
    }
    list.push('\n');
    list
}

#[test]
fn clauses_are_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/explanation/regulations.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let list = list();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        fs::write(&page, format!("{before}{BEGIN}{list}{END}{after}")).unwrap();
    } else {
        assert!(
            found == list,
            "docs/explanation/regulations.md: the clauses are not those of clauses.toml; run `cargo xtask gen`"
        );
    }
}
