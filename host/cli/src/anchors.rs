//! `portcullis anchors`: stores of entities, facts and citations.

use crate::failure::{CommandFailure, SUCCESS};
use crate::output::digest;
use anyhow::{Context, anyhow};
use portcullis_gate::anchor::{AnchorContents, AnchorPassage, AnchorStore, read_passages, write_sqlite};
use portcullis_mapping::TextMapper;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub(crate) enum AnchorsCommand {
    /// Build a SQLite store from JSON Lines: `{"entity": {"id", "name", "aliases", "kind"}}`, `{"fact": {"entity",
    /// "text", "source"}}`, `{"citation": {"id", "source"}}`.
    Build {
        /// The store; it must not be there yet.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// Text in which every sentence is a fact, as JSON Lines `{"entity", "text", "source"}`. The entity's id is one
        /// of those in the inputs.
        #[arg(long, value_name = "FILE")]
        passages: Vec<PathBuf>,
        /// Language of the passages.
        #[arg(long, value_name = "CODE", default_value = "en")]
        language: String,
        /// JSON Lines files, or other stores; entries about one entity are joined.
        #[arg(required = true, value_name = "FILE")]
        inputs: Vec<PathBuf>,
    },
    /// Say what a store holds, and its digest.
    Info {
        store: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &AnchorsCommand) -> Result<u8, CommandFailure> {
    match command {
        AnchorsCommand::Build { output, passages, language, inputs } => build(output, passages, language, inputs),
        AnchorsCommand::Info { store, json } => info(store, *json),
    }
}

fn build(output: &Path, passages: &[PathBuf], language: &str, inputs: &[PathBuf]) -> Result<u8, CommandFailure> {
    if output.exists() {
        return Err(anyhow!("`{}` is there already; remove it, or build into another file", output.display()).into());
    }
    let mut joined = AnchorContents::default();
    let mut entities = BTreeMap::new();
    for input in inputs {
        let store = AnchorStore::open(input).map_err(anyhow::Error::from)?;
        for entity in &store.contents().entities {
            let known = entities.entry(entity.id.clone()).or_insert_with(|| entity.clone());
            if known.name != entity.name {
                known.aliases.push(entity.name.clone());
            }
            known.aliases.extend(entity.aliases.iter().cloned());
        }
        joined.facts.extend(store.contents().facts.iter().cloned());
        joined.citations.extend(store.contents().citations.iter().cloned());
    }
    joined.entities = entities.into_values().collect();
    if !passages.is_empty() {
        add_passages(&mut joined, passages, language)?;
    }
    let contents = joined.canonical().map_err(|problem| anyhow!("{problem}"))?;
    write_sqlite(output, &contents).with_context(|| format!("cannot write `{}`", output.display()))?;
    info(output, false)
}

fn add_passages(joined: &mut AnchorContents, files: &[PathBuf], language: &str) -> Result<(), CommandFailure> {
    let manifest = json!({
        "package": {"name": "passages", "version": "1.0.0", "description": "", "language": language},
        "enumerations": {"domain": ["any"], "audience": ["any"], "temporal": ["any"], "register": ["any"]},
    });
    let manifest = serde_json::from_value(manifest).context("the settings of passages")?;
    let mapper = TextMapper::new(&manifest, &BTreeMap::new()).map_err(anyhow::Error::from)?;
    let mut passages = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = || format!("`{}`, line {}: not a passage", file.display(), number + 1);
            passages.push(serde_json::from_str::<AnchorPassage>(line).with_context(place)?);
        }
    }
    let read = read_passages(&passages, joined, &mapper);
    for sentence in &read.uncertain {
        errln!("left out, for whom its pronoun means is not certain: {sentence}");
    }
    joined.facts.extend(read.facts);
    Ok(())
}

fn info(path: &Path, json: bool) -> Result<u8, CommandFailure> {
    let store = AnchorStore::open(path).map_err(anyhow::Error::from)?;
    let contents = store.contents();
    let (entities, facts, citations) = (contents.entities.len(), contents.facts.len(), contents.citations.len());
    let digest = digest(&store.digest());
    if json {
        let line = serde_json::json!({"entities": entities, "facts": facts, "citations": citations, "digest": digest});
        outln!("{line}");
    } else {
        outln!("{}: {entities} entities, {facts} facts, {citations} citations; digest {digest}", path.display());
    }
    Ok(SUCCESS)
}
