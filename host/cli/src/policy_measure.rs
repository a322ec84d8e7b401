//! `portcullis policy measure`: how much harmful text a package finds, and how much harmless text it refuses.

use crate::failure::{CommandFailure, SUCCESS};
use crate::open::{self, CardArgs, MemberArg, TextLaneArg};
use crate::replay::progress;
use anyhow::Context;
use portcullis_card::{CardSession, SessionConfig};
use portcullis_core::state::StreamTask;
use portcullis_core::wire::Determination;
use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamGovernor, judge_text};
use portcullis_verify::console::{InfallibleStdout, json_pretty};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Measure a package on texts that its author has not seen: recall and false alarms, each with a 95 % interval, and
/// every text that is judged wrongly.
///
/// The tests of a package measure what its author thought of. A file has a text on each line, or JSON Lines with
/// `text`, and optionally `class`, `id` and `intent`. A text counts as refused if any part of it is.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  portcullis policy measure policies/pii --harmful leaks.jsonl --harmless letters.txt
  portcullis policy measure policies/pii --harmless letters.txt --json | jq .harmless.rate")]
pub(crate) struct PolicyMeasureArgs {
    /// Folder of the package.
    dir: PathBuf,
    /// Texts of which something must be refused.
    #[arg(long, value_name = "FILE", required_unless_present = "harmless")]
    harmful: Option<PathBuf>,
    /// Texts that must leave whole.
    #[arg(long, value_name = "FILE")]
    harmless: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    member: MemberArg,
    #[command(flatten)]
    card: CardArgs,
    #[command(flatten)]
    text_lane: TextLaneArg,
}

/// One line of a file of texts.
#[derive(Deserialize)]
struct LabelledText {
    text: String,
    #[serde(default)]
    class: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    intent: String,
}

/// A part of all texts, with its Wilson score interval at 95 %, in tenths of a percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct MeasuredRate {
    of: u64,
    all: u64,
    rate: u64,
    low: u64,
    high: u64,
}

impl MeasuredRate {
    fn new(of: u64, all: u64) -> Self {
        /// The square of the 97.5th percentile of the normal distribution, 1.96, in ten-thousandths.
        const SQUARE: u128 = 38_416;
        const SCALE: u128 = 10_000;
        if all == 0 {
            return Self::default();
        }
        let (k, n) = (u128::from(of), u128::from(all));
        let middle = 2 * k * SCALE + SQUARE;
        let spread = (SQUARE * (SQUARE * n + 4 * k * (n - k) * SCALE) / n).isqrt();
        let tenths = |value: u128| {
            u64::try_from((1000 * value + n * SCALE + SQUARE) / (2 * (n * SCALE + SQUARE))).unwrap_or(1000)
        };
        Self {
            of,
            all,
            rate: (2000 * of + all) / (2 * all),
            low: tenths(middle.saturating_sub(spread)),
            high: tenths(middle + spread).min(1000),
        }
    }
}

impl fmt::Display for MeasuredRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |tenths: u64| format!("{}.{}", tenths / 10, tenths % 10);
        let (rate, low, high) = (shown(self.rate), shown(self.low), shown(self.high));
        write!(f, "{} of {} = {rate} % [{low}, {high}]", self.of, self.all)
    }
}

/// A text that is judged wrongly.
#[derive(Debug, Serialize)]
struct MisjudgedText {
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The rule that refused it; none for a text that was released.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    text: String,
}

/// The judgement of one file.
#[derive(Debug, Serialize)]
struct MeasuredTexts {
    /// Refused texts of all.
    refused: MeasuredRate,
    /// Refused texts by class, for texts that name one.
    classes: BTreeMap<String, MeasuredRate>,
    /// Refused texts by the first rule that refused something.
    rules: BTreeMap<String, u64>,
    wrong: Vec<MisjudgedText>,
}

#[derive(Serialize)]
struct PolicyMeasurement {
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    harmful: Option<MeasuredTexts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    harmless: Option<MeasuredTexts>,
}

pub(crate) fn run(args: &PolicyMeasureArgs) -> Result<u8, CommandFailure> {
    let policy = open::policy(&args.dir, &args.member, args.text_lane)?;
    let settings = GateSettings { streams: 1, ..GateSettings::new(SaltKey::from_bytes([0; 32])) };
    let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), settings).map_err(anyhow::Error::from)?);
    let measure = |file: &Option<PathBuf>, must: Determination| {
        file.as_ref().map(|file| judge(&policy, &governor, &args.card, file, must)).transpose()
    };
    let measured = PolicyMeasurement {
        policy: policy.package.manifest().reference(),
        harmful: measure(&args.harmful, Determination::Reject)?,
        harmless: measure(&args.harmless, Determination::Admit)?,
    };
    if args.json {
        outln!("{}", json_pretty(&measured)?);
    } else {
        print(&measured)?;
    }
    Ok(SUCCESS)
}

fn read(file: &Path) -> anyhow::Result<Vec<(usize, LabelledText)>> {
    let all = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = all.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let text = |(at, line): (usize, &str)| {
        if !line.trim_start().starts_with("{\"") {
            return Ok((at + 1, LabelledText { text: line.to_owned(), class: None, id: None, intent: String::new() }));
        }
        let row = serde_json::from_str(line);
        row.map(|row| (at + 1, row))
            .with_context(|| format!("{} line {}: not an object with `text`", file.display(), at + 1))
    };
    lines.map(text).collect()
}

fn judge(
    policy: &Arc<GatePolicy>,
    governor: &Arc<StreamGovernor>,
    card: &CardArgs,
    file: &Path,
    must: Determination,
) -> Result<MeasuredTexts, CommandFailure> {
    let texts = read(file)?;
    let config = SessionConfig { text_stride_log2: policy.text_stride_log2(), ..SessionConfig::default() };
    let mut session = CardSession::open(card.open()?, &policy.compiled.image, config)?;
    let (mut refused, mut wrong) = (0, Vec::new());
    let (mut classes, mut rules) = (BTreeMap::<String, (u64, u64)>::new(), BTreeMap::<String, u64>::new());
    let all = u64::try_from(texts.len()).unwrap_or(u64::MAX);
    let progress = progress("texts judged");
    for (line, LabelledText { text, class, id, intent }) in texts {
        progress.inc(1);
        let task = StreamTask { intent, facts: Vec::new() };
        let verdict =
            judge_text(governor, &mut session, &line.to_string(), &text, &task).map_err(anyhow::Error::from)?;
        let is_refused = verdict.determination == Determination::Reject;
        refused += u64::from(is_refused);
        if let Some(class) = class {
            let count = classes.entry(class).or_default();
            *count = (count.0 + u64::from(is_refused), count.1 + 1);
        }
        if let Some(rule) = &verdict.rule {
            *rules.entry(rule.clone()).or_default() += 1;
        }
        if verdict.determination != must {
            wrong.push(MisjudgedText { line, id, rule: verdict.rule, text });
        }
    }
    session.close()?;
    progress.finish_and_clear();
    let classes = classes.into_iter().map(|(class, (of, all))| (class, MeasuredRate::new(of, all))).collect();
    Ok(MeasuredTexts { refused: MeasuredRate::new(refused, all), classes, rules, wrong })
}

fn print(measured: &PolicyMeasurement) -> Result<(), CommandFailure> {
    let mut out = InfallibleStdout;
    writeln!(out, "{}", measured.policy)?;
    let parts = [("harmful: found", &measured.harmful), ("harmless: refused", &measured.harmless)];
    for (name, texts) in parts {
        let Some(texts) = texts else { continue };
        writeln!(out, "{name} {}", texts.refused)?;
        for (class, rate) in &texts.classes {
            writeln!(out, "  class {class}: {rate}")?;
        }
        for (rule, count) in &texts.rules {
            writeln!(out, "  by {rule}: {count}")?;
        }
        for MisjudgedText { line, rule, text, .. } in &texts.wrong {
            let by = rule.as_ref().map_or_else(|| "not found".to_owned(), |rule| format!("by {rule}"));
            writeln!(out, "  line {line}, {by}: {text:?}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_wilson() {
        for (of, all, shown) in [
            (21, 64, "21 of 64 = 32.8 % [22.6, 45.0]"),
            (39, 700, "39 of 700 = 5.6 % [4.1, 7.5]"),
            (0, 10, "0 of 10 = 0.0 % [0.0, 27.8]"),
            (10, 10, "10 of 10 = 100.0 % [72.2, 100.0]"),
            (0, 0, "0 of 0 = 0.0 % [0.0, 0.0]"),
        ] {
            assert_eq!(MeasuredRate::new(of, all).to_string(), shown);
        }
    }
}
