//! `portcullis prefilter eval`: recall and false positives on labelled rows.

use super::Judged;
use super::rows::{self, Row};
use super::share::Share;
use crate::failure::{Failure, SUCCESS};
use anyhow::anyhow;
use portcullis_prefilter::Prefilter;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Bytes below which an input counts as short.
const SHORT: usize = 800;
/// Sizes of joined texts, in bytes.
const JOINED: std::ops::Range<u64> = 1024..8193;

/// Measure recall and false positives on labelled rows (`{"id","text","label"}` and, if they like, `"variant"` or `"lang"`).
///
/// A refused row counts for recall when its label is `attack` or `jailbreak`, and as a false positive when it is `benign` or `control`
/// or it has none. Intervals are Wilson's, at 95 %.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Files of rows; rows may have `output` in the place of `text`. A file whose name ends in .txt has one harmless row a line.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    data: Vec<PathBuf>,
    /// Judge so many texts of 1 to 8 KiB, joined from the benign rows, too.
    #[arg(long, value_name = "N", default_value_t = 0)]
    join: u64,
    /// Seed of what is joined.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Judge every row so many times; the median of its times counts.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// One JSON object with everything.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    judged: Judged,
}

/// What a refused row counts as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Counts {
    Recall,
    FalsePositive,
    /// The label says neither.
    Refused,
}

impl Counts {
    fn of(label: Option<&str>) -> Self {
        match label {
            Some("attack" | "jailbreak") => Self::Recall,
            Some("benign" | "control") | None => Self::FalsePositive,
            Some(_) => Self::Refused,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::FalsePositive => "false positives",
            Self::Refused => "refused",
        }
    }
}

#[derive(Default)]
struct Tally {
    refused: u64,
    all: u64,
    nanos: Vec<u64>,
}

impl Tally {
    fn share(&self) -> Share {
        Share::new(self.refused, self.all)
    }

    /// The time below which so many of a thousand inputs lie, in nanoseconds.
    fn quantile(&self, of_thousand: usize) -> u64 {
        let mut nanos = self.nanos.clone();
        nanos.sort_unstable();
        nanos.get((nanos.len() * of_thousand / 1000).min(nanos.len().saturating_sub(1))).copied().unwrap_or(0)
    }
}

#[derive(Serialize)]
struct Line {
    set: String,
    variant: String,
    counts: Counts,
    #[serde(flatten)]
    share: Share,
    median_ns: u64,
    p99_ns: u64,
}

/// How often a rule was seen, and how often it alone made the difference, in attacks and in benign rows.
#[derive(Default, Serialize)]
struct RuleLine {
    attacks: u64,
    benign: u64,
    alone_attacks: u64,
    alone_benign: u64,
}

#[derive(Default)]
struct Measured {
    /// Times that each row is judged.
    repeat: u16,
    sets: BTreeMap<(String, String, Counts), Tally>,
    rules: BTreeMap<String, RuleLine>,
}

const ALL: &str = "";

impl Measured {
    fn row(&mut self, filter: &Prefilter, set: &str, row: &Row, counts: Counts) {
        let timed = || {
            let started = Instant::now();
            let report = filter.report(row.text.as_bytes());
            (u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX), report)
        };
        let (first, report) = timed();
        let mut times = vec![first];
        times.extend((1..self.repeat).map(|_| timed().0));
        times.sort_unstable();
        let nanos = times.get(times.len() / 2).copied().unwrap_or(first);
        let mut variants = vec![ALL];
        variants.extend(row.variant.as_deref());
        if row.text.len() < SHORT {
            variants.push("under 800 bytes");
        }
        for variant in variants {
            let tally = self.sets.entry((set.to_owned(), variant.to_owned(), counts)).or_default();
            tally.all += 1;
            tally.refused += u64::from(!report.is_executive());
            tally.nanos.push(nanos);
        }
        let ids: Vec<_> = report.violations().map(|v| v.id.as_str()).collect();
        for id in &ids {
            let rule = self.rules.entry((*id).to_owned()).or_default();
            let alone = u64::from(ids.len() == 1);
            match counts {
                Counts::Recall => (rule.attacks, rule.alone_attacks) = (rule.attacks + 1, rule.alone_attacks + alone),
                Counts::FalsePositive => {
                    (rule.benign, rule.alone_benign) = (rule.benign + 1, rule.alone_benign + alone)
                }
                Counts::Refused => {}
            }
        }
    }
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let filter = args.judged.filter()?;
    let mut measured = Measured { repeat: args.repeat, ..Measured::default() };
    let mut benign = Vec::new();
    for file in &args.data {
        let set = file.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        for row in rows::read(file, file.extension().is_some_and(|e| e == "txt"))? {
            let row = row?;
            let counts = Counts::of(row.label.as_deref());
            measured.row(&filter, &set, &row, counts);
            if counts == Counts::FalsePositive && row.label.as_deref() != Some("control") {
                benign.push(row.text);
            }
        }
    }
    if args.join > 0 && benign.is_empty() {
        return Err(anyhow!("`--join` needs rows labelled `benign`, or without a label").into());
    }
    for number in 0..args.join {
        let text = joined(&benign, args.seed, number);
        let row = Row { id: number.to_string(), text, label: None, variant: None };
        measured.row(&filter, "joined, 1 to 8 KiB", &row, Counts::FalsePositive);
    }
    show(&measured, args.json)?;
    Ok(SUCCESS)
}

/// Benign rows one after the other until they are as long as is drawn.
fn joined(rows: &[String], seed: u64, number: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mut draw = |below: u64| {
        // SplitMix64 (Steele, Lea, Flood 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below.max(1)
    };
    let size = usize::try_from(JOINED.start + draw(JOINED.end - JOINED.start)).unwrap_or(8192);
    let mut text = String::new();
    while text.len() < size {
        let pick = usize::try_from(draw(rows.len() as u64)).unwrap_or(0);
        text.push_str(rows.get(pick).map_or("", String::as_str));
        text.push_str("\n\n");
    }
    let end = (0..=size).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    text
}

fn show(measured: &Measured, as_json: bool) -> Result<(), Failure> {
    let line = |((set, variant, counts), tally): (&(String, String, Counts), &Tally)| Line {
        set: set.clone(),
        variant: variant.clone(),
        counts: *counts,
        share: tally.share(),
        median_ns: tally.quantile(500),
        p99_ns: tally.quantile(990),
    };
    let lines: Vec<_> = measured.sets.iter().map(line).collect();
    let pooled = |counts| {
        let of = |l: &&Line| l.counts == counts && l.variant == ALL;
        let sum = lines.iter().filter(of).fold((0, 0), |(k, n), l| (k + l.share.of, n + l.share.all));
        Share::new(sum.0, sum.1)
    };
    let (recall, wrong) = (pooled(Counts::Recall), pooled(Counts::FalsePositive));
    if as_json {
        let all = serde_json::json!({"sets": lines, "pooled": {"recall": recall, "false_positives": wrong},
            "rules": measured.rules});
        outln!("{all}");
        return Ok(());
    }
    outln!("| set | variant | counted | share, 95 % interval | median µs | p99 µs |");
    outln!("| --- | --- | --- | --- | --- | --- |");
    for l in &lines {
        let micros = |ns: u64| format!("{}.{}", ns / 1000, ns % 1000 / 100);
        let (median, p99) = (micros(l.median_ns), micros(l.p99_ns));
        outln!("| {} | {} | {} | {} | {median} | {p99} |", l.set, l.variant, l.counts.name(), l.share);
    }
    outln!("\npooled recall {recall}\npooled false positives {wrong}\n");
    outln!("| rule | in attacks | alone | in benign | alone |\n| --- | --- | --- | --- | --- |");
    for (id, r) in &measured.rules {
        outln!("| {id} | {} | {} | {} | {} |", r.attacks, r.alone_attacks, r.benign, r.alone_benign);
    }
    Ok(())
}
