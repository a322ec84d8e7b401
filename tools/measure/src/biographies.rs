//! FActScore's labelled biographies (google-deepmind/long-form-factuality): sentences with atomic facts, labelled S
//! (supported), NS (not supported) or IR (irrelevant).

use crate::judged::{rows, text_of};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A biography of one person, written by one language model.
pub(crate) struct Biography {
    pub(crate) person: String,
    pub(crate) sentences: Vec<Sentence>,
}

pub(crate) struct Sentence {
    pub(crate) text: String,
    pub(crate) supported: Vec<String>,
    pub(crate) unsupported: Vec<String>,
    irrelevant: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentenceSupport {
    /// Every fact of the sentence has the label S.
    Supported,
    /// The sentence has a fact labelled NS, and no fact labelled S.
    Unsupported,
    Mixed,
    Other,
}

impl Sentence {
    pub(crate) fn kind(&self) -> SentenceSupport {
        match (self.supported.is_empty(), self.unsupported.is_empty()) {
            (false, true) if !self.irrelevant => SentenceSupport::Supported,
            (true, false) => SentenceSupport::Unsupported,
            (false, false) => SentenceSupport::Mixed,
            _ => SentenceSupport::Other,
        }
    }
}

/// Reads the files of a folder; returns the biographies of each model.
pub(crate) fn read(folder: &Path) -> Result<Vec<(String, Vec<Biography>)>> {
    let mut models = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        if let Some(model) = name.strip_prefix("factscore_").and_then(|n| n.strip_suffix(".jsonl")) {
            models.push((model.to_owned(), rows(&path)?.iter().filter_map(biography).collect()));
        }
    }
    ensure!(!models.is_empty(), "`{}` holds no factscore_*.jsonl", folder.display());
    models.sort_by(|a: &(String, Vec<Biography>), b| a.0.cmp(&b.0));
    Ok(models)
}

fn biography(row: &Value) -> Option<Biography> {
    let facts = |a: &Value, label: &str| -> Vec<String> {
        let all = a["human-atomic-facts"].as_array().into_iter().flatten();
        all.filter(|f| f["label"] == label).map(|f| text_of(&f["text"])).collect()
    };
    let sentence = |a: &Value| Sentence {
        text: text_of(&a["text"]),
        supported: facts(a, "S"),
        unsupported: facts(a, "NS"),
        irrelevant: !facts(a, "IR").is_empty(),
    };
    let sentences = row["annotations"].as_array()?.iter().map(sentence).collect();
    Some(Biography { person: text_of(&row["topic"]), sentences })
}

/// The supported facts of these biographies, as lines of an anchor store.
pub(crate) fn lines<'a>(name: &str, biographies: impl Iterator<Item = &'a Biography>) -> String {
    let mut lines = String::new();
    let mut known = BTreeSet::new();
    for biography in biographies {
        let person = &biography.person;
        if known.insert(person.clone()) {
            let entity = json!({"entity": {"id": person, "name": person, "aliases": [], "kind": "person"}});
            lines.push_str(&format!("{entity}\n"));
        }
        for fact in biography.sentences.iter().flat_map(|s| &s.supported) {
            let fact = json!({"fact": {"entity": person, "text": fact, "source": format!("{name}, label S")}});
            lines.push_str(&format!("{fact}\n"));
        }
    }
    lines
}

/// Builds an anchor store of the supported facts of these biographies, with the program's own command.
pub(crate) fn store<'a>(name: &str, biographies: impl Iterator<Item = &'a Biography>) -> Result<PathBuf> {
    let folder = Path::new("target/measure");
    std::fs::create_dir_all(folder)?;
    let (input, output) = (folder.join(format!("{name}.jsonl")), folder.join(format!("{name}.sqlite")));
    std::fs::write(&input, lines(name, biographies))?;
    if output.exists() {
        std::fs::remove_file(&output)?;
    }
    let mut build = std::process::Command::new(portcullis_tools::demo::binary()?);
    portcullis_tools::tool::capture(build.args(["anchors", "build", "--output"]).arg(&output).arg(&input))?;
    Ok(output)
}

pub(crate) fn intent(person: &str) -> String {
    format!("Tell me a bio of {person}.")
}
