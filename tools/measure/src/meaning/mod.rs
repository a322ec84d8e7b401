//! Measures how stages 2 and 3 judge the meaning of texts: on the cases of a folder that is organised like
//! `tests/cases/meaning`, and, with labelled data from the user, on false sentences, ordinary prose and drift.

mod answers;
mod drifting;
mod falsehoods;
mod grounded;
mod hand;
mod paraphrases;
mod polarity;
mod policies;
mod prose;
mod script;
mod splits;
mod survival;
mod table;
mod vocabulary;

use crate::judged::{self, text_of};
use anyhow::Result;
use policies::CompiledPolicyCache;
pub(crate) use policies::{PERMIT_ALL, permit_all};
use portcullis_tools::tool::say;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(crate) struct Cases<'a> {
    folder: &'a Path,
    policies: CompiledPolicyCache,
    /// Whether to print failed cases.
    list: bool,
}

pub(crate) fn run(folder: &Path, data: Option<&Path>, list: bool) -> Result<()> {
    let cases = Cases { folder, policies: CompiledPolicyCache::default(), list };
    hand::run(&cases)?;
    splits::run(&cases)?;
    answers::run(&cases)?;
    paraphrases::run(&cases)?;
    polarity::run(&cases)?;
    vocabulary::run(&cases)?;
    prose::run(&cases, data)?;
    if let Some(data) = data {
        let labelled = labelled(data);
        grounded::run(&cases, &labelled)?;
        falsehoods::run(&cases, &labelled)?;
        drifting::run(&cases, &labelled)?;
    }
    Ok(())
}

/// The folder with the labelled biographies: the folder `outputs` in `data`, or `data`.
fn labelled(data: &Path) -> PathBuf {
    let below = data.join("outputs");
    if below.is_dir() { below } else { data.to_owned() }
}

impl Cases<'_> {
    /// The rows of a file in the folder of the cases.
    fn rows(&self, file: &str) -> Result<Vec<Value>> {
        let rows = judged::rows(&self.folder.join(file))?;
        say(&format!("judging {} rows of {file}", rows.len()));
        Ok(rows)
    }

    /// Prints a failed case, if the user requested that.
    fn failed(&self, row: &Value, why: &str) {
        if self.list {
            println!("- {}: {why}", text_of(&row["id"]));
        }
    }
}
