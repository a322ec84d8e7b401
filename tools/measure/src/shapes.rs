//! Counts the instructions of the mapping on texts of many shapes, at one length and at twice the length. A reader
//! whose cost grows faster than the text is found on a machine of any load, because no clock is read.

use anyhow::{Context, Result, ensure};
use portcullis_tools::tool::{self, cargo, say};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Largest accepted factor of the instructions when the text becomes twice as long, in hundredths.
const MOST: u64 = 220;
/// Name of the function whose calls are counted, in `host/mapping/tests/linear.rs`.
const COUNTED: &str = "linear::one_reading";

/// One call: the shape, the length of the text, whole or chunks, and the instructions.
struct Count {
    shape: String,
    bytes: u64,
    way: String,
    instructions: u64,
}

/// Prints a table of the shapes. A shape whose factor exceeds [`MOST`] is counted again at eight times the length: a
/// reader of chunks waits for the end of a sentence, which has at most 65,536 bytes, so its cost has a step there.
/// Errors: valgrind is missing, or the factor exceeds [`MOST`] at both lengths.
pub(crate) fn run(names: &[String], bytes: usize) -> Result<()> {
    let program = test_program()?;
    let dir = tool::target_dir().join("shapes");
    say("instructions of the mapping, by the shape of the text");
    println!("| shape | bytes | read as | instructions per byte | factor |\n| --- | --- | --- | --- | --- |");
    let steep = steep(&program, &dir, names, bytes)?;
    if steep.is_empty() {
        return Ok(());
    }
    let still = self::steep(&program, &dir, &steep, 8 * bytes)?;
    ensure!(still.is_empty(), "grow by more than a factor of {}.{:02}: {}", MOST / 100, MOST % 100, still.join(", "));
    Ok(())
}

/// Prints the rows of the shapes, and returns the names of those whose factor exceeds [`MOST`], each once.
fn steep(program: &Path, dir: &Path, names: &[String], bytes: usize) -> Result<Vec<String>> {
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).with_context(|| format!("`{}`", dir.display()))?;
    let counts = counts(program, dir, names, bytes)?;
    ensure!(!counts.is_empty(), "no shape has one of these names: {}", names.join(", "));
    let mut steep = Vec::new();
    for three in counts.chunks_exact(3) {
        let [empty, once, twice] = three else { continue };
        let is_one = |count: &Count| (&count.shape, &count.way) == (&empty.shape, &empty.way);
        ensure!(empty.bytes == 0 && three.iter().all(is_one), "the calls of `{}` are not three", empty.shape);
        let (once_cost, twice_cost) = (
            once.instructions.saturating_sub(empty.instructions).max(1),
            twice.instructions.saturating_sub(empty.instructions),
        );
        // The texts are a whole number of units long, so their lengths are not exactly one to two.
        let factor = scaled(twice_cost * once.bytes, once_cost * twice.bytes);
        let (per_byte, parts) = (twice_cost / twice.bytes.max(1), (factor / 100, factor % 100));
        println!("| `{}` | {bytes} | {} | {per_byte} | {}.{:02} |", once.shape, once.way, parts.0, parts.1);
        if factor > MOST && steep.last() != Some(&once.shape) {
            steep.push(once.shape.clone());
        }
    }
    Ok(steep)
}

/// Twice the quotient of the costs per byte, in hundredths: 200 for a linear cost.
fn scaled(twice: u64, once: u64) -> u64 {
    u64::try_from(u128::from(twice) * 200 / u128::from(once.max(1))).unwrap_or(u64::MAX)
}

/// Builds the test program of the shapes, and returns its path.
fn test_program() -> Result<PathBuf> {
    let test = ["test", "--locked", "--workspace", "--test", "linear", "--no-run", "--message-format", "json"];
    let built =
        cargo().args(test).stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(built.status.success(), "the test program of the shapes cannot be built");
    let messages = String::from_utf8(built.stdout).context("cargo's messages")?;
    let program = messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == "linear").then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    });
    program.context("cargo names no test program of the shapes")
}

/// Runs the calls under valgrind, which writes one file per counted call.
fn counts(program: &Path, dir: &Path, names: &[String], bytes: usize) -> Result<Vec<Count>> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", &format!("--toggle-collect={COUNTED}")])
        .arg(format!("--dump-after={COUNTED}"))
        .arg(format!("--callgrind-out-file={}", dir.join("out").display()))
        .arg(program)
        .args(["--ignored", "--exact", "counted_calls", "--nocapture", "--test-threads", "1"])
        .env("PORTCULLIS_SHAPES", names.join(","))
        .env("PORTCULLIS_SHAPE_BYTES", bytes.to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start valgrind; install it (`apt-get install valgrind`)")?;
    ensure!(run.status.success(), "the calls under valgrind ended with {}", run.status);
    let said = String::from_utf8(run.stdout).context("the names of the calls")?;
    let calls = said.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (shape, bytes, way) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
        matches!(way, "whole" | "chunks").then(|| (shape.to_owned(), bytes, way.to_owned()))
    });
    calls
        .zip(1..)
        .map(|((shape, bytes, way), number)| {
            let instructions = instructions(&dir.join(format!("out.{number}")))?;
            Ok(Count { shape, bytes, way, instructions })
        })
        .collect()
}

/// The instructions in a file of callgrind.
fn instructions(path: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(path).with_context(|| format!("`{}`", path.display()))?;
    let total = text.lines().find_map(|line| line.strip_prefix("summary: ").or_else(|| line.strip_prefix("totals: ")));
    total.and_then(|total| total.trim().parse().ok()).with_context(|| format!("`{}` has no total", path.display()))
}
