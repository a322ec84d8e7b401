//! How good the filter is: recall and false positives on labelled rows.

mod rows;
mod share;

pub use rows::{Row, RowError, read};
pub use share::Share;

use crate::filter::Prefilter;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// Bytes below which an input counts as short.
const SHORT: usize = 800;
const JOINED: std::ops::Range<u64> = 1024..8193;

/// The class in which a refused row is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    Recall,
    /// It should have passed.
    FalsePositive,
    /// The label says neither.
    Refused,
}

impl Counts {
    /// The class in which a refused row with this label is counted.
    #[must_use]
    pub fn of(label: Option<&str>) -> Self {
        match label {
            Some("attack" | "jailbreak") => Self::Recall,
            Some("benign" | "control") | None => Self::FalsePositive,
            Some(_) => Self::Refused,
        }
    }

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::FalsePositive => "false positives",
            Self::Refused => "refused",
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    refused: u64,
    all: u64,
    nanos: Vec<u64>,
}

impl Tally {
    fn share(&self) -> Share {
        Share::new(self.refused, self.all)
    }

    /// The time in nanoseconds below which `of_thousand` of a thousand inputs are.
    fn quantile(&self, of_thousand: usize) -> u64 {
        let mut nanos = self.nanos.clone();
        nanos.sort_unstable();
        nanos.get((nanos.len() * of_thousand / 1000).min(nanos.len().saturating_sub(1))).copied().unwrap_or(0)
    }
}

/// One set of rows, or a part of one.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub set: String,
    /// Part of it; empty for the whole.
    pub variant: String,
    /// The class of its refused rows.
    pub counts: Counts,
    /// How many were refused.
    #[serde(flatten)]
    pub share: Share,
    /// Time of a judgement, nanoseconds.
    pub median_ns: u64,
    /// The same, of the slowest hundredth.
    pub p99_ns: u64,
}

/// How often a rule was seen, and how often it alone made the difference, in attacks and in benign rows.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RuleLine {
    /// Seen in attacks.
    pub attacks: u64,
    /// Seen in benign rows.
    pub benign: u64,
    pub alone_attacks: u64,
    /// The only rule of a benign row.
    pub alone_benign: u64,
}

/// The results of the filter for labelled rows.
#[derive(Debug, Default)]
pub struct Evaluation {
    repeat: u16,
    sets: BTreeMap<(String, String, Counts), Tally>,
    rules: BTreeMap<String, RuleLine>,
}

const ALL: &str = "";

impl Evaluation {
    /// An evaluation in which each row is judged `repeat` times; the median of its times counts.
    #[must_use]
    pub fn new(repeat: u16) -> Self {
        Self { repeat, ..Self::default() }
    }

    /// Judges a row of `set`.
    pub fn row(&mut self, filter: &Prefilter, set: &str, row: &Row, counts: Counts) {
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

    /// A line for each set and each part of one.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let line = |((set, variant, counts), tally): (&(String, String, Counts), &Tally)| Line {
            set: set.clone(),
            variant: variant.clone(),
            counts: *counts,
            share: tally.share(),
            median_ns: tally.quantile(500),
            p99_ns: tally.quantile(990),
        };
        self.sets.iter().map(line).collect()
    }

    /// All sets in one.
    #[must_use]
    pub fn pooled(&self, counts: Counts) -> Share {
        let of = |((_, variant, found), _): &(&(String, String, Counts), &Tally)| *found == counts && variant == ALL;
        let sum = self.sets.iter().filter(of).fold((0, 0), |(k, n), (_, tally)| (k + tally.refused, n + tally.all));
        Share::new(sum.0, sum.1)
    }

    #[must_use]
    pub const fn rules(&self) -> &BTreeMap<String, RuleLine> {
        &self.rules
    }
}

/// Benign rows one after the other until they are as long as is drawn.
#[must_use]
pub fn joined(rows: &[String], seed: u64, number: u64) -> String {
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
