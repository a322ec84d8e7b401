//! Reads stores in JSON Lines: one entity, fact or citation per line.

use super::contents::{AnchorContents, AnchorLine};

/// A line that is not an entity, fact or citation.
pub(super) struct LineError {
    pub(super) line: usize,
    pub(super) problem: String,
}

pub(super) fn read(bytes: &[u8]) -> Result<AnchorContents, LineError> {
    let mut contents = AnchorContents::default();
    for (number, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let problem = |error: serde_json::Error| LineError { line: number + 1, problem: error.to_string() };
        match serde_json::from_slice(line).map_err(problem)? {
            AnchorLine::Entity(entity) => contents.entities.push(entity),
            AnchorLine::Fact(fact) => contents.facts.push(fact),
            AnchorLine::Citation(citation) => contents.citations.push(citation),
        }
    }
    Ok(contents)
}
