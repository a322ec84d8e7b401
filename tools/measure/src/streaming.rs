//! Compares, under every shipped policy, texts that arrive in chunks with the same texts as wholes: whether the spans
//! are equal, and how long bytes wait.

use crate::judged::rows;
use anyhow::{Context, Result, bail};
use portcullis_core::wire::Granularity;
use portcullis_mapping::{ScannedText, Segmenter, TextMapper};
use portcullis_policy::PolicyPackage;
use portcullis_tools::tool::say;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Sizes of chunks in bytes, used in turn: first about one token each, then several tokens.
const CHUNKS: [[usize; 3]; 3] = [[4, 4, 4], [1, 7, 3], [13, 64, 29]];

/// For each span, the number of bytes that arrived between the span's end and its release.
#[derive(Default)]
struct Waits {
    bytes: Vec<usize>,
    /// Time for all texts in chunks, and time for all texts as wholes.
    time: [Duration; 2],
    length: usize,
}

pub(crate) fn run(folder: &Path) -> Result<()> {
    let texts = texts(folder)?;
    let policies = policies()?;
    println!(
        "| policy | texts | read otherwise | bytes until a span leaves: median | 90 % | 99 % | most | a text in chunks, KB/s | whole, MB/s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut otherwise = 0;
    for path in policies {
        let name = path.file_name().context("a policy has a name")?.to_string_lossy().into_owned();
        say(&format!("reading {} texts under {name}", texts.len()));
        let package = PolicyPackage::load(&path)?;
        let mapper = TextMapper::new(package.manifest(), package.files())?;
        let (mut waits, mut differ) = (Waits::default(), 0);
        for (number, text) in texts.iter().enumerate() {
            let sizes = CHUNKS.get(number % CHUNKS.len()).copied().unwrap_or_default();
            differ += usize::from(!reads_alike(&mapper, text, &sizes, &mut waits)?);
        }
        waits.bytes.sort_unstable();
        let share =
            |percent: usize| waits.bytes.get((waits.bytes.len().max(1) - 1) * percent / 100).copied().unwrap_or(0);
        let rate = |time: Duration| waits.length as u128 * 1000 / time.as_micros().max(1);
        println!(
            "| {name} | {} | {differ} | {} | {} | {} | {} | {} | {} |",
            texts.len(),
            share(50),
            share(90),
            share(99),
            share(100),
            rate(waits.time[0]),
            rate(waits.time[1]) / 1000,
        );
        otherwise += differ;
    }
    if otherwise > 0 {
        bail!("{otherwise} texts are read otherwise in chunks");
    }
    Ok(())
}

/// The reading of one piece: its range, whether it is judged, and its citations.
type Read = (Range<usize>, bool, Option<Vec<String>>);

fn read(text: &ScannedText) -> impl Iterator<Item = Read> {
    text.pieces().iter().map(|piece| {
        let range = piece.range.start + text.offset()..piece.range.end + text.offset();
        let cites = text.citations(&piece.range).map(|all| all.into_iter().map(str::to_owned).collect());
        (range, piece.inert, cites)
    })
}

fn reads_alike(mapper: &TextMapper, text: &str, sizes: &[usize], waits: &mut Waits) -> Result<bool> {
    let start = Instant::now();
    let whole = mapper.read(text.to_owned(), Granularity::Span);
    waits.time[1] += start.elapsed();
    let expected: Vec<Read> = read(&whole).collect();
    let mut segmenter = Segmenter::new(Granularity::Span);
    let mut found: Vec<Read> = Vec::new();
    let (mut came, mut rest) = (0, text.as_bytes());
    let start = Instant::now();
    for size in sizes.iter().cycle() {
        let Some((chunk, after)) =
            rest.split_at_checked((*size).min(rest.len())).filter(|(chunk, _)| !chunk.is_empty())
        else {
            break;
        };
        (came, rest) = (came + chunk.len(), after);
        if let Some(part) = segmenter.push(mapper, chunk)? {
            let spans = part.pieces().iter().filter(|piece| !piece.inert);
            waits.bytes.extend(spans.map(|piece| came - (piece.range.end + part.offset())));
            found.extend(read(&part));
        }
    }
    let last = segmenter.finish(mapper)?;
    waits.time[0] += start.elapsed();
    waits.length += text.len();
    let spans = last.pieces().iter().filter(|piece| !piece.inert);
    waits.bytes.extend(spans.map(|piece| came - (piece.range.end + last.offset())));
    found.extend(read(&last));
    Ok(found == expected)
}

/// The texts of all labelled sets in a folder.
pub(crate) fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut texts: Vec<String> = Vec::new();
    let folders = [folder.to_owned(), folder.join("outputs"), folder.join("prompts")];
    for file in folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten() {
        let file = file?.path();
        if file.extension().is_some_and(|end| end == "jsonl") {
            let text = |row: &serde_json::Value| {
                ["text", "output", "prompt"].iter().find_map(|key| row[key].as_str().map(str::to_owned))
            };
            texts.extend(rows(&file)?.iter().filter_map(text));
        }
    }
    Ok(texts)
}

/// The folders of the shipped policies.
pub(crate) fn policies() -> Result<Vec<PathBuf>> {
    let mut policies: Vec<PathBuf> = Path::new("policies").read_dir()?.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    policies.retain(|path| path.join("policy.toml").exists());
    policies.sort();
    Ok(policies)
}
