//! Reads files with one row per line: JSON objects with `id` and `text`.

use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// One row. Files of model outputs have `output` instead of `text`, and no id.
#[derive(Clone, Debug)]
pub struct LabelledRow {
    /// The row's line in its file, from 1.
    pub line: usize,
    /// Id; the line number if the file has no ids.
    pub id: String,
    pub text: String,
    /// The label; as JSON if it is not a string.
    pub label: Option<String>,
    /// The row's language, or the row's variant if it has no language.
    pub variant: Option<String>,
}

#[derive(Deserialize)]
struct LabelledRowLine {
    id: Option<Value>,
    text: Option<String>,
    output: Option<String>,
    label: Option<Value>,
    variant: Option<String>,
    lang: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum RowError {
    #[error("cannot open `{name}`")]
    Open { name: String, source: std::io::Error },
    #[error("{name}:{line}")]
    Read { name: String, line: usize, source: std::io::Error },
    #[error("{name}:{line}: {EXPECTED}")]
    Json { name: String, line: usize, source: serde_json::Error },
    #[error("{name}:{line}: no `text`; {EXPECTED}")]
    Text { name: String, line: usize },
}

const EXPECTED: &str = "expected {\"id\", \"text\"}";

/// The rows of a file, or of standard input for `-`. If `plain`, each line is itself the text of a row. Errors:
/// [`RowError`], for the file and for each line.
pub fn read(file: &Path, plain: bool) -> Result<impl Iterator<Item = Result<LabelledRow, RowError>> + use<>, RowError> {
    let name = file.display().to_string();
    let reader: Box<dyn BufRead> = if file.as_os_str() == "-" {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let open = |source| RowError::Open { name: name.clone(), source };
        Box::new(BufReader::new(File::open(file).map_err(open)?))
    };
    let lines = (1usize..).zip(reader.lines());
    let row = move |(line, text): (usize, std::io::Result<String>)| {
        let read = text.map_err(|source| RowError::Read { name: name.clone(), line, source });
        read.and_then(|text| parse(&name, line, text, plain)).transpose()
    };
    Ok(lines.filter_map(row))
}

/// The row in a line; `None` for a blank line.
fn parse(name: &str, line: usize, text: String, plain: bool) -> Result<Option<LabelledRow>, RowError> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    if plain {
        return Ok(Some(LabelledRow { line, id: line.to_string(), text, label: None, variant: None }));
    }
    let found: LabelledRowLine =
        serde_json::from_str(&text).map_err(|source| RowError::Json { name: name.to_owned(), line, source })?;
    let text = found.text.or(found.output).ok_or_else(|| RowError::Text { name: name.to_owned(), line })?;
    let id = match found.id {
        Some(Value::String(id)) => id,
        Some(other) => other.to_string(),
        None => line.to_string(),
    };
    let label = match found.label {
        Some(Value::String(label)) => Some(label),
        Some(Value::Null) | None => None,
        Some(other) => Some(other.to_string()),
    };
    Ok(Some(LabelledRow { line, id, text, label, variant: found.lang.or(found.variant) }))
}
