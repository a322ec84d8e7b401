//! Stores as JSON Lines: one entity, fact or citation a line.

use super::store::{Citation, Contents, Entity, Fact, StoreError};
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Entity(Entity),
    Fact(Fact),
    Citation(Citation),
}

pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Contents, StoreError> {
    let mut contents = Contents::default();
    for (number, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let problem = |problem: String| StoreError::Line { path: path.to_owned(), line: number + 1, problem };
        match serde_json::from_slice(line).map_err(|e| problem(e.to_string()))? {
            Line::Entity(entity) => contents.entities.push(entity),
            Line::Fact(fact) => contents.facts.push(fact),
            Line::Citation(citation) => contents.citations.push(citation),
        }
    }
    Ok(contents)
}

/// Gives each line of the canonical form.
pub(super) fn lines(contents: &Contents, mut give: impl FnMut(&[u8])) {
    let entities = contents.entities.iter().cloned().map(Line::Entity);
    let facts = contents.facts.iter().cloned().map(Line::Fact);
    let citations = contents.citations.iter().cloned().map(Line::Citation);
    for line in entities.chain(facts).chain(citations) {
        // Plain strings always serialise.
        give(&serde_json::to_vec(&line).unwrap_or_default());
    }
}
