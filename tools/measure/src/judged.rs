//! The outcomes of labelled texts. Either the program judges them on the simulated card, or this process does so on the
//! software model of the card.

use anyhow::{Context, Result};
use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
use portcullis_core::state::StreamTask;
use portcullis_core::wire::Determination;
use portcullis_gate::anchor::{AnchorSet, AnchorStore};
use portcullis_gate::{GateSettings, OnRefuse, ReleaseMode, SaltKey, StreamEventKind, StreamGovernor, StreamInput};
use portcullis_policy::PolicyPackage;
use portcullis_tools::demo;
use portcullis_tools::tool::{capture, say};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct MeasuredJudgement {
    /// Byte range, determination and rule of each mutation that was not decomposed, in order.
    pub(crate) leaves: Vec<Leaf>,
    /// The released text, with inert bytes; only known for texts that this process judged.
    pub(crate) left: String,
    pub(crate) split: bool,
    /// The reason why the stream ended early, and the end of the last judged span.
    pub(crate) stopped: Option<(String, usize)>,
}

pub(crate) struct Leaf {
    /// The index of the span's candidate in the list of candidates; 0 if the text was judged as a whole.
    pub(crate) candidate: usize,
    pub(crate) range: Range<usize>,
    pub(crate) admitted: bool,
    pub(crate) rule: String,
    /// The trust slope after the span, in basis points; only known for texts that this process judged.
    pub(crate) slope: u16,
}

impl MeasuredJudgement {
    /// The admitted parts of the text, without inert bytes.
    pub(crate) fn released<'a>(&self, text: &'a str) -> Vec<&'a str> {
        self.leaves.iter().filter(|l| l.admitted).filter_map(|l| text.get(l.range.clone())).collect()
    }
}

/// Governs lines `{"id", "text", "intent"}` on the simulated card; returns the outcomes by id.
pub(crate) fn govern(
    policy: &str,
    anchors: Option<&Path>,
    lines: &[Value],
) -> Result<BTreeMap<String, MeasuredJudgement>> {
    let folder = Path::new("target/measure");
    std::fs::create_dir_all(folder)?;
    let input = folder.join("input.jsonl");
    let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
    std::fs::write(&input, text)?;
    say(&format!("judging {} texts on the simulated card", lines.len()));
    let mut command = Command::new(demo::binary()?);
    command.args(["run", "--card", "sim", "--json", "--policy", policy, "--input"]).arg(&input);
    if let Some(store) = anchors {
        command.arg("--anchors").arg(store);
    }
    let mut judged: BTreeMap<String, MeasuredJudgement> = BTreeMap::new();
    for line in capture(&mut command)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let of = judged.entry(text_of(&line["id"])).or_default();
        if let Some(summary) = line.get("summary") {
            let last = of.leaves.last().map_or(0, |l| l.range.start);
            of.stopped = summary["termination"]["trigger"].as_str().map(|t| (t.to_owned(), last));
        } else if line["determination"] == "decompose" {
            of.split = true;
        } else {
            of.leaves.push(Leaf {
                candidate: number(&line["step"]),
                range: number(&line["start"])..number(&line["end"]),
                admitted: line["determination"] == "admit",
                rule: text_of(&line["rule"]),
                slope: 0,
            });
        }
    }
    Ok(judged)
}

/// A policy with which this process judges texts on the model of the card.
pub(crate) struct MeasuredPolicy(Arc<portcullis_gate::GatePolicy>);

impl MeasuredPolicy {
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        Self::new(PolicyPackage::load(folder)?)
    }

    pub(crate) fn new(package: PolicyPackage) -> Result<Self> {
        let compiled = package.compile()?;
        Ok(Self(Arc::new(portcullis_gate::GatePolicy::new(package, compiled)?)))
    }

    pub(crate) fn package(&self) -> &PolicyPackage {
        &self.0.package
    }

    /// The outcome of each item, in order. `store` is an anchor store as JSON Lines.
    pub(crate) fn judge(
        &self,
        store: Option<&str>,
        items: Vec<StreamInput>,
        release: ReleaseMode,
    ) -> Result<Vec<MeasuredJudgement>> {
        let settings = GateSettings {
            on_refuse: Some(OnRefuse::Skip),
            release,
            ..GateSettings::new(SaltKey::from_bytes([7; 32]))
        };
        let mut governor = StreamGovernor::new(Arc::clone(&self.0), settings)?;
        if let Some(lines) = store {
            let store = AnchorStore::from_json_lines(Path::new("store of the measurement"), lines.as_bytes())?;
            governor = governor.with_anchors(AnchorSet::new(vec![store], &self.0.mapper));
        }
        let mut judged: Vec<MeasuredJudgement> = items.iter().map(|_| MeasuredJudgement::default()).collect();
        let mut session =
            CardSession::open(CardChoice::Model.open()?, &self.0.compiled.image, SessionConfig::default())?;
        Arc::new(governor).govern(&mut session, items, |event| -> Result<(), SessionError> {
            let Some(of) = usize::try_from(event.stream).ok().and_then(|n| judged.get_mut(n)) else { return Ok(()) };
            match event.what {
                StreamEventKind::Determined(judgement) => of.add(judgement.determination, judgement.slope),
                StreamEventKind::Released { text, .. } => of.left.push_str(&text),
                StreamEventKind::Ended { summary, .. } => {
                    let last = of.leaves.last().map_or(0, |l| l.range.start);
                    of.stopped = summary.termination.map(|t| (text_of(&json!(t.trigger)), last));
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(judged)
    }

    /// The outcomes of these texts with their intents, under release span by span.
    pub(crate) fn texts<'a>(
        &self,
        store: Option<&str>,
        texts: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<Vec<MeasuredJudgement>> {
        let item = |(at, (text, intent)): (usize, (&str, String))| StreamInput::Text {
            id: at.to_string(),
            text: text.to_owned(),
            task: StreamTask { intent, ..StreamTask::default() },
        };
        self.judge(store, texts.into_iter().enumerate().map(item).collect(), ReleaseMode::Span)
    }
}

impl MeasuredJudgement {
    fn add(&mut self, d: portcullis_gate::SpanDetermination, slope: u16) {
        match d.determination {
            Some(Determination::Decompose) => self.split = true,
            Some(answer @ (Determination::Admit | Determination::Reject)) => self.leaves.push(Leaf {
                candidate: d.step.unwrap_or(0),
                range: d.start..d.end,
                admitted: answer == Determination::Admit,
                rule: d.rule.unwrap_or_default(),
                slope,
            }),
            Some(Determination::None) | None => {}
        }
    }
}

pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn number(value: &Value) -> usize {
    value.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// A percentage with its counts.
pub(crate) fn share(of: usize, all: usize) -> String {
    let tenths = (of * 1000).checked_div(all).unwrap_or(0);
    format!("{}.{} % ({of} of {all})", tenths / 10, tenths % 10)
}

/// Rows of a JSON Lines file.
pub(crate) fn rows(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    text.lines().map(|l| Ok(serde_json::from_str(l)?)).collect()
}

/// The words in these lists of the English cue tables.
pub(crate) fn cues(lists: &[&str]) -> Result<BTreeSet<String>> {
    let tables: toml::Table = std::fs::read_to_string("host/mapping/languages/en.toml")?.parse()?;
    let words = lists.iter().filter_map(|l| tables.get(*l)?.as_array()).flatten();
    Ok(words.filter_map(|w| w.as_str().map(str::to_owned)).collect())
}
