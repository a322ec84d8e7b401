//! Rows of `{"id","text"}` files.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// One row. Files of model outputs have `output` in the place of `text`, and no id.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) label: Option<String>,
    /// Language, else variant.
    pub(super) variant: Option<String>,
}

#[derive(Deserialize)]
struct Line {
    id: Option<Value>,
    text: Option<String>,
    output: Option<String>,
    label: Option<Value>,
    variant: Option<String>,
    lang: Option<String>,
}

/// The rows of a file, or of stdin for `-`; every line is one row's text where they are `plain`.
pub(super) fn read(file: &Path, plain: bool) -> Result<impl Iterator<Item = Result<Row, Failure>> + use<>, Failure> {
    let name = file.display().to_string();
    let reader: Box<dyn BufRead> = if file.as_os_str() == "-" {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        Box::new(BufReader::new(File::open(file).with_context(|| format!("cannot open `{name}`"))?))
    };
    let lines = (1usize..).zip(reader.lines());
    let row = move |(number, line): (usize, std::io::Result<String>)| -> Option<Result<Row, Failure>> {
        let read = line.with_context(|| format!("{name}:{number}")).and_then(|line| {
            if line.trim().is_empty() {
                return Ok(None);
            }
            if plain {
                return Ok(Some(Row { id: number.to_string(), text: line, label: None, variant: None }));
            }
            let expected = "expected {\"id\", \"text\"}";
            let line: Line = serde_json::from_str(&line).with_context(|| format!("{name}:{number}: {expected}"))?;
            let text = line.text.or(line.output).ok_or_else(|| anyhow!("{name}:{number}: no `text`; {expected}"))?;
            let id = match line.id {
                Some(Value::String(id)) => id,
                Some(other) => other.to_string(),
                None => number.to_string(),
            };
            let label = line.label.and_then(|l| l.as_str().map(str::to_owned));
            Ok(Some(Row { id, text, label, variant: line.lang.or(line.variant) }))
        });
        read.map_err(Failure::from).transpose()
    };
    Ok(lines.filter_map(row))
}
