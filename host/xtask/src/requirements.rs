//! docs/explanation/requirements.md: the system's requirements, generated from docs/claims.toml.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const COLUMNS: usize = 118;
/// Groups of requirements by the letters of their ids, in the order of the page.
const GROUPS: [(&str, &str); 14] = [
    ("S", "Semantic state"),
    ("M", "Mapping from text to descriptors"),
    ("G", "Admissibility gate"),
    ("P", "Policy"),
    ("L", "Governed loop"),
    ("T", "Trust slope"),
    ("A", "Anchors"),
    ("X", "Starvation of the engine"),
    ("F", "Pre-execution filter"),
    ("C", "Card and driver"),
    ("E", "Evidence"),
    ("W", "Gateway"),
    ("V", "Text lane"),
    ("R", "Fleet"),
];

#[derive(Deserialize)]
struct RequirementClaims {
    open: BTreeMap<String, String>,
    claim: BTreeMap<String, RequirementClaim>,
}

#[derive(Deserialize)]
struct RequirementClaim {
    text: String,
    tests: Vec<String>,
}

pub(crate) fn page(claims: &str) -> Result<String> {
    let claims: RequirementClaims = toml::from_str(claims)?;
    let mut page = String::from(
        "<!-- Generated from docs/claims.toml by `cargo xtask gen`. Do not edit. -->\n# Requirements\n\n\
         What the system must do. Each requirement has an id, which code, tests and pages refer to. `docs/claims.toml`\n\
         maps an id to the code that fulfils it and to the tests and proofs that show it; `cargo xtask claims` checks\n\
         that they exist. [Claims](claims.md) says in which way the more important ones are shown.\n",
    );
    let mut ids: Vec<(&str, u32, &str)> = Vec::new();
    for id in claims.claim.keys().chain(claims.open.keys()) {
        let digits = id.find(|c: char| c.is_ascii_digit()).with_context(|| format!("`{id}` has no number"))?;
        let (letters, number) = id.split_at(digits);
        let number = number.parse().with_context(|| format!("`{id}` is not letters and a number"))?;
        GROUPS.iter().find(|(known, _)| *known == letters).with_context(|| format!("`{id}` is of no group"))?;
        ids.push((letters, number, id));
    }
    ids.sort_unstable();
    for (letters, title) in GROUPS {
        let group: Vec<&str> = ids.iter().filter(|(of, ..)| *of == letters).map(|(.., id)| *id).collect();
        if group.is_empty() {
            continue;
        }
        write!(page, "\n## {title}\n\n")?;
        for id in group {
            let line = match (claims.claim.get(id), claims.open.get(id)) {
                (Some(RequirementClaim { text, tests }), _) => format!("- **{id}** {text} ({})", shown_by(tests)),
                (None, open) => format!("- **{id}** Open: {}", open.map_or("", String::as_str)),
            };
            wrap(&mut page, &line);
        }
    }
    Ok(page)
}

/// How many tests and proofs show a requirement, in words.
fn shown_by(tests: &[String]) -> String {
    let proofs = tests.iter().filter(|test| test.starts_with("proof:")).count();
    let counted = |number: usize, what: &str| match number {
        0 => None,
        1 => Some(format!("1 {what}")),
        more => Some(format!("{more} {what}s")),
    };
    [counted(tests.len() - proofs, "test"), counted(proofs, "proof")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

/// Appends an item of a list to the page, in lines of at most `COLUMNS` columns.
pub(crate) fn wrap(page: &mut String, item: &str) {
    let mut columns = 0;
    for word in item.split(' ') {
        let width = word.chars().count();
        if columns + 1 + width > COLUMNS {
            page.push_str("\n  ");
            columns = 2;
        } else if columns > 0 {
            page.push(' ');
            columns += 1;
        }
        page.push_str(word);
        columns += width;
    }
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_in_the_order_of_their_numbers() {
        let claims = "[open]\nS10 = \"later\"\n[claim.S2]\ntext = \"Two.\"\ncode = []\ntests = [\"a::b\", \"proof:c\"]\n\
                      [claim.G1]\ntext = \"One.\"\ncode = []\ntests = [\"a::b\", \"c::d\"]\n";
        let page = page(claims).unwrap();
        let (_, items) = page.split_once("## Semantic").unwrap();
        let items: Vec<&str> = items.lines().filter(|line| line.starts_with("- ")).collect();
        assert_eq!(items, ["- **S2** Two. (1 test, 1 proof)", "- **S10** Open: later", "- **G1** One. (2 tests)"]);
        assert!(super::page("[open]\nQ1 = \"x\"\n[claim]\n").is_err());
    }

    #[test]
    fn items_are_wrapped() {
        let mut page = String::new();
        wrap(&mut page, &format!("- **S1** {}", "word ".repeat(40).trim_end()));
        assert!(page.lines().count() == 2 && page.lines().all(|line| line.len() <= COLUMNS), "{page}");
    }
}
