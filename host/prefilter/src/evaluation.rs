//! Measures the filter: recall and false positives on labelled rows.

mod rows;
mod share;

pub use rows::{LabelledRow, RowError, read};
pub use share::WilsonShare;

use crate::filter::InputPrefilter;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// Inputs with fewer bytes count as short.
const SHORT: usize = 800;
const JOINED: std::ops::Range<u64> = 1024..8193;

/// The labels that count, for help texts and messages.
pub const LABELS: &str = "`attack` and `jailbreak` count for recall, `benign` and `control` for false positives, any other label for neither";

/// How a row with a label is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelCounting {
    Recall,
    /// Rows that should pass.
    FalsePositive,
    /// The label is neither attack nor benign; refused rows are counted.
    Refused,
}

impl LabelCounting {
    /// How rows with the label `label` are counted.
    #[must_use]
    pub fn of(label: &str) -> Self {
        match label {
            "attack" | "jailbreak" => Self::Recall,
            "benign" | "control" => Self::FalsePositive,
            _ => Self::Refused,
        }
    }

    /// The name in words.
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
struct EvaluationTally {
    refused: u64,
    all: u64,
    nanos: Vec<u64>,
}

impl EvaluationTally {
    fn share(&self) -> WilsonShare {
        WilsonShare::new(self.refused, self.all)
    }

    /// A quantile of the times in nanoseconds: `of_thousand` of every thousand inputs took less.
    fn quantile(&self, of_thousand: usize) -> u64 {
        let mut nanos = self.nanos.clone();
        nanos.sort_unstable();
        nanos.get((nanos.len() * of_thousand / 1000).min(nanos.len().saturating_sub(1))).copied().unwrap_or(0)
    }
}

/// The result of one set of rows, or of a part of a set.
#[derive(Clone, Debug, Serialize)]
pub struct EvaluationLine {
    pub set: String,
    /// Name of the part; empty for the whole set.
    pub variant: String,
    /// How the rows of this line are counted.
    pub counts: LabelCounting,
    /// The share of refused rows.
    #[serde(flatten)]
    pub share: WilsonShare,
    /// Median time of a judgement, in nanoseconds.
    pub median_ns: u64,
    /// 99th percentile of the time, in nanoseconds.
    pub p99_ns: u64,
}

/// For one rule: the attacks and benign rows that violated it, and those that violated no other rule.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RuleLine {
    /// Violations in attacks.
    pub attacks: u64,
    /// Violations in benign rows.
    pub benign: u64,
    pub alone_attacks: u64,
    /// Benign rows that violated no other rule.
    pub alone_benign: u64,
}

/// The results of the filter for labelled rows.
#[derive(Debug, Default)]
pub struct FilterEvaluation {
    repeat: u16,
    sets: BTreeMap<(String, String, LabelCounting), EvaluationTally>,
    rules: BTreeMap<String, RuleLine>,
}

const ALL: &str = "";

impl FilterEvaluation {
    /// An evaluation that judges each row `repeat` times and uses the median of the times.
    #[must_use]
    pub fn new(repeat: u16) -> Self {
        Self { repeat, ..Self::default() }
    }

    /// Judges a row of `set`.
    pub fn row(&mut self, filter: &InputPrefilter, set: &str, row: &LabelledRow, counts: LabelCounting) {
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
                LabelCounting::Recall => {
                    (rule.attacks, rule.alone_attacks) = (rule.attacks + 1, rule.alone_attacks + alone)
                }
                LabelCounting::FalsePositive => {
                    (rule.benign, rule.alone_benign) = (rule.benign + 1, rule.alone_benign + alone)
                }
                LabelCounting::Refused => {}
            }
        }
    }

    /// A line for each set and each part of a set.
    #[must_use]
    pub fn lines(&self) -> Vec<EvaluationLine> {
        let line =
            |((set, variant, counts), tally): (&(String, String, LabelCounting), &EvaluationTally)| EvaluationLine {
                set: set.clone(),
                variant: variant.clone(),
                counts: *counts,
                share: tally.share(),
                median_ns: tally.quantile(500),
                p99_ns: tally.quantile(990),
            };
        self.sets.iter().map(line).collect()
    }

    /// The result over all sets; `None` if no row counts so.
    #[must_use]
    pub fn pooled(&self, counts: LabelCounting) -> Option<WilsonShare> {
        let of = |((_, variant, found), _): &(&(String, String, LabelCounting), &EvaluationTally)| {
            *found == counts && variant == ALL
        };
        let sum = self.sets.iter().filter(of).fold((0, 0), |(k, n), (_, tally)| (k + tally.refused, n + tally.all));
        (sum.1 > 0).then(|| WilsonShare::new(sum.0, sum.1))
    }

    #[must_use]
    pub const fn rules(&self) -> &BTreeMap<String, RuleLine> {
        &self.rules
    }
}

/// Consecutive benign rows, joined until the text has a randomly drawn length.
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
