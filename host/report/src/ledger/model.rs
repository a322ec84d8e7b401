//! The content of a ledger's page, collected from its entries.

use portcullis_core::wire::Determination;
use portcullis_gate::engine::EngineProposal;
use portcullis_gate::ledger::{LedgerEntry, LedgerHeader};
use portcullis_gate::{AnswerCandidate, JudgementSummary, SpanJudgement, StreamEventKind, StreamMode};
use std::collections::BTreeMap;

/// All data on the page.
#[derive(Debug)]
pub struct LedgerModel {
    pub header: LedgerHeader,
    pub streams: BTreeMap<u64, StreamModel>,
    /// Whether the ledger ends with an incomplete entry.
    pub torn: bool,
    /// Number of rejects by stage and rule.
    pub rejects: RuleCounts,
    /// Number of decomposes by stage and rule. The parts of each span were judged again.
    pub splits: RuleCounts,
    /// Number of the card's faults by rule.
    pub faults: RuleCounts,
    /// Host time of the first entry, milliseconds since 1970.
    pub first_time: Option<u64>,
    pub last_time: u64,
}

/// Counts by stage and rule.
pub type RuleCounts = BTreeMap<(String, String), u64>;

#[derive(Debug, Default)]
pub struct StreamModel {
    pub id: String,
    /// `None` if the BEGIN of the stream is not in the ledger.
    pub mode: Option<StreamMode>,
    pub intent: String,
    /// The whole text of a recorded stream.
    pub text: Option<String>,
    /// The determinations, in the order of the ledger.
    pub judged: Vec<SpanJudgement>,
    /// Other events as text, each with the number of determinations before it.
    pub notes: Vec<(usize, String)>,
    pub released: String,
    /// `None` if the end of the stream is not in the ledger.
    pub summary: Option<JudgementSummary>,
}

impl StreamModel {
    /// Whether a part was rejected, or the stream ended early or has no end.
    pub(super) fn is_refused(&self) -> bool {
        self.summary.as_ref().is_none_or(|summary| summary.stopped.is_some() || summary.rejected > 0)
    }
}

impl LedgerModel {
    /// An empty ledger.
    #[must_use]
    pub const fn new(header: LedgerHeader) -> Self {
        Self {
            header,
            streams: BTreeMap::new(),
            torn: false,
            rejects: BTreeMap::new(),
            splits: BTreeMap::new(),
            faults: BTreeMap::new(),
            first_time: None,
            last_time: 0,
        }
    }

    /// Adds the next entry.
    pub fn add(&mut self, entry: LedgerEntry) {
        self.first_time.get_or_insert(entry.host_time_unverified);
        self.last_time = entry.host_time_unverified;
        let stream = self.streams.entry(entry.event.stream).or_default();
        let after = stream.judged.len();
        match entry.event.what {
            StreamEventKind::Begun { id, context, text, .. } => {
                // Each run that appends to a ledger numbers its streams from 1 again. Of several streams with the same
                // number, the page shows the last.
                *stream = StreamModel {
                    id,
                    mode: Some(context.mode),
                    intent: context.task.intent,
                    text,
                    ..StreamModel::default()
                };
            }
            StreamEventKind::Determined(judged) => {
                if let Some(rule) = &judged.determination.rule {
                    let stage = judged.determination.stage.map_or("fault", |s| s.name()).to_owned();
                    let counts = match judged.determination.determination {
                        Some(Determination::Admit) => None,
                        Some(Determination::Reject) => Some(&mut self.rejects),
                        Some(Determination::Decompose) => Some(&mut self.splits),
                        Some(Determination::None) | None => Some(&mut self.faults),
                    };
                    if let Some(counts) = counts {
                        *counts.entry((stage, rule.clone())).or_default() += 1;
                    }
                }
                stream.judged.push(*judged);
            }
            StreamEventKind::Deferred { seq, rule, expiry } => {
                stream.notes.push((after, format!("{seq} waits for information ({rule}), {expiry} steps at most")));
            }
            StreamEventKind::Expired { seq } => stream.notes.push((after, format!("{seq} was given up"))),
            StreamEventKind::RolledBack { to, transitions } => {
                stream.notes.push((after, format!("rolled back to {to}: {transitions:?} were taken back")));
            }
            StreamEventKind::Drift { seq, level, slope } => {
                stream.notes.push((after, format!("drift {} at {seq}, slope {slope}", level.name())));
            }
            StreamEventKind::Proposed(answer) => {
                if let Ok(EngineProposal::Candidate(AnswerCandidate { logprobs_absent: Some(why), .. })) =
                    answer.as_ref()
                {
                    stream.notes.push((after, format!("the uncertainty of the next candidate is unknown: {why}")));
                }
            }
            StreamEventKind::Released { text, .. } => stream.released.push_str(&text),
            StreamEventKind::Ended { summary, .. } => stream.summary = Some(summary),
        }
    }
}
