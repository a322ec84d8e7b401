//! Coverage-guided fuzzing of every parser of hostile bytes, one target after the other. CI does not fuzz; it only runs
//! the parsers on the stored corpus.

use anyhow::{Context, Result, anyhow, ensure};
use portcullis_tools::tool::{self, capture, cargo, path_with, say};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of cargo-fuzz to install if cargo-fuzz is missing.
const VERSION: &str = "0.13.1";
/// Folder for the tool, the seeds and the findings of a run.
const WORK: &str = "fuzz/target";
/// Largest input in bytes; no message in a bundle is larger.
const MAX_LENGTH: &str = "-max_len=65536";
/// Largest stored input, and largest corpus of a target, in bytes. Both are small, because CI reads the corpus.
const KEPT_INPUT: u64 = 2 << 10;
const KEPT_TARGET: u64 = 16 << 10;

/// Fuzzes the targets whose name contains `filter`, each for `seconds`. With `keep`, the minimised corpus of this run
/// replaces the stored corpus.
pub(crate) fn run(filter: Option<&str>, seconds: u32, keep: bool) -> Result<()> {
    let targets = targets(filter)?;
    ensure!(!targets.is_empty(), "no target has `{}` in its name", filter.unwrap_or_default());
    install()?;
    seed()?;
    for target in &targets {
        say(&format!("fuzz {target}, {seconds} s"));
        let folders = ["work", "seeds"].map(|folder| format!("{WORK}/{folder}/{target}"));
        let kept = unpack(target)?;
        fs::create_dir_all(&folders[0])?;
        let time = format!("-max_total_time={seconds}");
        // libFuzzer writes new inputs to the first folder that it is given.
        let run = fuzz(&["run", target])?;
        tool::run({ run }.args(&folders).arg(&kept).args([
            "--",
            &time,
            MAX_LENGTH,
            "-timeout=20",
            "-rss_limit_mb=4096",
        ]))?;
        if keep {
            minimise(target, &folders[0], &folders[1], &kept)?;
        }
    }
    Ok(())
}

fn targets(filter: Option<&str>) -> Result<Vec<String>> {
    let files = fs::read_dir("fuzz/targets").context("fuzz/targets")?;
    let mut names = Vec::new();
    for file in files {
        let path = file?.path();
        names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    }
    names.retain(|name| filter.is_none_or(|filter| name.contains(filter)));
    names.sort();
    Ok(names)
}

fn bin() -> PathBuf {
    Path::new(WORK).join("tools/bin")
}

/// `cargo fuzz` on the stable toolchain: with coverage, but without a sanitizer, because sanitizers need unstable
/// compiler flags.
fn fuzz(command: &[&str]) -> Result<Command> {
    let mut run = Command::new("cargo-fuzz");
    run.env("PATH", path_with(&tool::root()?.join(bin()))?).arg("fuzz").args(command.first());
    run.args(["--fuzz-dir", "fuzz", "--sanitizer", "none"]).args(command.get(1..).unwrap_or_default());
    Ok(run)
}

fn install() -> Result<()> {
    if Path::new(&bin()).join("cargo-fuzz").is_file() || capture(Command::new("cargo-fuzz").arg("--version")).is_ok() {
        return Ok(());
    }
    say(&format!("cargo install cargo-fuzz {VERSION}"));
    let root = OsString::from(Path::new(WORK).join("tools"));
    tool::run(cargo().args(["install", "cargo-fuzz", "--version", VERSION, "--locked", "--root"]).arg(root))
}

/// Writes the seeds, which are made from real data.
fn seed() -> Result<()> {
    say("seeds");
    let seeds = tool::root()?.join(WORK).join("seeds");
    let test =
        ["test", "--locked", "--package", "portcullis-test-parsers", "--test", "parsers", "--", "seeds_are_accepted"];
    tool::run(cargo().args(test).env("PORTCULLIS_SEEDS", seeds))
}

/// The file with the stored corpus of a target: one input per line, in hexadecimal.
fn corpus(target: &str) -> PathBuf {
    Path::new("fuzz/corpus").join(target).with_extension("hex")
}

/// Writes a target's stored inputs to a folder, one file per input, because libFuzzer reads that form.
fn unpack(target: &str) -> Result<PathBuf> {
    let folder = Path::new(WORK).join("kept").join(target);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let file = corpus(target);
    let text = if file.exists() { fs::read_to_string(&file)? } else { String::new() };
    for (number, line) in text.lines().enumerate() {
        let bytes = base16ct::mixed::decode_vec(line)
            .map_err(|_| anyhow!("{}:{}: not hexadecimal", file.display(), number + 1))?;
        fs::write(folder.join(number.to_string()), bytes)?;
    }
    Ok(folder)
}

/// Replaces the stored corpus by a small corpus that has the same coverage as all inputs found. libFuzzer prefers small
/// inputs.
fn minimise(target: &str, found: &str, seeds: &str, kept: &Path) -> Result<()> {
    let merged = PathBuf::from(format!("{WORK}/merged/{target}"));
    if merged.exists() {
        fs::remove_dir_all(&merged)?;
    }
    fs::create_dir_all(&merged)?;
    let run = fuzz(&["run", target])?;
    tool::run({ run }.arg(&merged).args([found, seeds]).arg(kept).args(["--", "-merge=1", MAX_LENGTH]))?;
    let mut inputs = Vec::new();
    for file in fs::read_dir(&merged)? {
        let file = file?;
        inputs.push((file.metadata()?.len(), file.path()));
    }
    inputs.sort();
    let mut lines = String::new();
    let mut total = 0;
    for (size, path) in inputs.into_iter().filter(|(size, _)| *size <= KEPT_INPUT) {
        total += size;
        if total > KEPT_TARGET {
            break;
        }
        lines.push_str(&base16ct::lower::encode_string(&fs::read(&path)?));
        lines.push('\n');
    }
    Ok(fs::write(corpus(target), lines)?)
}
