//! Reads stores in JSON Lines: one entity, fact or citation per line.

use super::contents::{Contents, Line};

/// A line that is not an entity, fact or citation.
pub(super) struct LineError {
    pub(super) line: usize,
    pub(super) problem: String,
}

pub(super) fn read(bytes: &[u8]) -> Result<Contents, LineError> {
    let mut contents = Contents::default();
    for (number, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let problem = |error: serde_json::Error| LineError { line: number + 1, problem: error.to_string() };
        match serde_json::from_slice(line).map_err(problem)? {
            Line::Entity(entity) => contents.entities.push(entity),
            Line::Fact(fact) => contents.facts.push(fact),
            Line::Citation(citation) => contents.citations.push(citation),
        }
    }
    Ok(contents)
}
