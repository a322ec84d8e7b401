//! Trial of a new policy: finds the decisions that differ from those of the old policy, over the streams of finished
//! bundles.
//!
//! Each stream is first replayed, to make sure that the old policy gives exactly its records. Then it is governed again
//! under the new policy with the same input. A text that was known in advance is compared as a whole. An engine's
//! answer depends on the admitted text, so it is compared only up to the first determination that differs.

use crate::AuditError;
use crate::replay::{ReplayReport, ReplayedStream, replay_each};
use portcullis_core::context::{ContextDocument, StreamMode};
use portcullis_core::wire::Determination;
use portcullis_evidence::bundle::SnapshotFiles;
use portcullis_gate::replay::{ReplayError, StreamJudgements, StreamReplayer};
use portcullis_gate::{GatePolicy, SpanJudgement};
use portcullis_image::TableImage;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The differences between two policies for one bundle.
#[derive(Debug, serde::Serialize)]
pub struct TrialReport {
    /// Number of streams that were compared.
    pub compared: u64,
    /// Streams with different decisions, in order.
    pub different: Vec<ChangedStreamDecisions>,
    /// For each reason why a replayed stream was not compared: the number of such streams.
    pub not_compared: BTreeMap<String, u64>,
    /// The replay of the bundle; only streams that replay are compared.
    pub replay: ReplayReport,
}

/// A stream with different decisions.
#[derive(Debug, serde::Serialize)]
pub struct ChangedStreamDecisions {
    /// The stream's id in the input.
    pub id: String,
    /// How the stream's text came to the gate.
    pub mode: StreamMode,
    /// Spans with different decisions, in order.
    pub changes: Vec<SpanChange>,
    /// Why the stream stopped early under the old policy, if it did.
    pub stopped_before: Option<String>,
    /// Why the stream stops early under the new policy, if it does.
    pub stops: Option<String>,
    /// Admitted bytes under the old policy.
    pub admitted_before: usize,
    /// Admitted bytes under the new policy; `None` for an engine's answers, which are not known.
    pub admitted: Option<usize>,
}

/// A span with a different decision.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SpanChange {
    /// First byte in the text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    pub text: String,
    /// Outcome under the old policy.
    pub before: SpanOutcome,
    /// TextOutcome under the new policy.
    pub after: SpanOutcome,
}

/// The outcome of a span under one policy.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "determination", rename_all = "snake_case")]
pub enum SpanOutcome {
    Admitted,
    Refused {
        rule: String,
    },
    Decomposed {
        rule: String,
    },
    /// Not judged: the stream had ended, or the engine had written other text.
    NotJudged,
}

/// Tries policies on the streams of a bundle. There is at least one policy; `image` is compiled from all of them.
/// Errors: [`AuditError`]: there is no bundle, reading it failed, or this program failed.
pub fn trial(
    files: &SnapshotFiles<'_>,
    (image, policies): (&TableImage, &[Arc<GatePolicy>]),
    progress: &mut dyn FnMut(),
) -> Result<TrialReport, AuditError> {
    let (mut compared, mut different, mut not_compared) = (0, Vec::new(), BTreeMap::new());
    let mut replayer = None;
    let replay = replay_each(files, None, progress, &mut |stream: ReplayedStream<'_>| {
        let replayer = match &mut replayer {
            Some(replayer) => replayer,
            none => {
                let new = StreamReplayer::new(image, policies.iter().cloned(), stream.stores.to_vec());
                none.insert(new.map_err(ReplayError::from)?.with_ends(stream.ends.clone()))
            }
        };
        match replayer.trial(stream.context, stream.input, stream.name) {
            Ok(course) => {
                compared += 1;
                // The stream replays, so its context document exists.
                let document = ContextDocument::parse(stream.context);
                let document = document.map_err(|error| ReplayError::Context(error.to_string()))?;
                different.extend(compare(document, &stream.course, &course));
            }
            Err(error @ ReplayError::Card(_)) => return Err(error.into()),
            Err(ReplayError::Predecessor(_)) => {
                *not_compared.entry("the stream that it continues was not compared".to_owned()).or_default() += 1;
            }
            Err(error) => *not_compared.entry(error.to_string()).or_default() += 1,
        }
        Ok(())
    })?;
    Ok(TrialReport { compared, different, not_compared, replay })
}

fn compare(
    document: ContextDocument,
    before: &StreamJudgements,
    after: &StreamJudgements,
) -> Option<ChangedStreamDecisions> {
    let is_engine = matches!(document.mode, StreamMode::Driven | StreamMode::DrivenConversation);
    let changes = if is_engine { first_change(before, after) } else { changes(before, after) };
    let stopped = |course: &StreamJudgements| course.summary.as_ref().and_then(|summary| summary.stopped.clone());
    let admitted = |course: &StreamJudgements| course.summary.as_ref().map_or(0, |summary| summary.bytes_admitted);
    let ends_alike = stopped(before).is_some() == stopped(after).is_some() && admitted(before) == admitted(after);
    if changes.is_empty() && (is_engine || ends_alike) {
        return None;
    }
    Some(ChangedStreamDecisions {
        id: document.id,
        mode: document.mode,
        changes: changes.into_iter().collect(),
        stopped_before: stopped(before),
        stops: stopped(after).filter(|_| !is_engine),
        admitted_before: admitted(before),
        admitted: (!is_engine).then(|| admitted(after)),
    })
}

/// The first determination that differs for an engine's candidates.
fn first_change(before: &StreamJudgements, after: &StreamJudgements) -> Vec<SpanChange> {
    let most = before.judgements.len().max(after.judgements.len());
    let pair = |at: usize| (before.judgements.get(at), after.judgements.get(at));
    let is_other = |at: &usize| {
        let (before, after) = pair(*at);
        let same = |judgement: &SpanJudgement| (judgement.text.clone(), judgement.determination.determination);
        before.map(same) != after.map(same)
    };
    let first = (0..most).find(is_other).map(pair);
    let change = first.and_then(|(before, after)| {
        let shown = before.or(after)?;
        let range = shown.determination.range();
        // After a different split or end, the spans are no longer comparable.
        let after = after.filter(|after| after.text == shown.text);
        Some(change(
            shown,
            range,
            before.map_or(SpanOutcome::NotJudged, fate),
            after.map_or(SpanOutcome::NotJudged, fate),
        ))
    });
    change.into_iter().collect()
}

/// Every span that one policy refuses although the other admits its text. The policies may cut the text differently, so
/// the outcomes of bytes are compared.
fn changes(before: &StreamJudgements, after: &StreamJudgements) -> Vec<SpanChange> {
    let (was, is) = (TextOutcome::new(before), TextOutcome::new(after));
    let refused = |of: &TextOutcome, by: &TextOutcome, flip: bool| {
        let mut changes = Vec::new();
        for judgement in of.last.values().filter(|judgement| is_refused(judgement)) {
            let range = judgement.determination.range();
            if by.admits(&range) {
                let (before, after) = (SpanOutcome::Admitted, fate(judgement));
                let (before, after) = if flip { (after, before) } else { (before, after) };
                changes.push(change(judgement, range, before, after));
            }
        }
        changes
    };
    let mut changes = refused(&is, &was, false);
    changes.extend(refused(&was, &is, true));
    changes.sort_by_key(|change| (change.start, change.end));
    changes
}

/// The outcomes of the spans of a text.
struct TextOutcome<'a> {
    /// The last judgement of each span, since a deferred span is judged again.
    last: BTreeMap<(usize, usize), &'a SpanJudgement>,
}

impl<'a> TextOutcome<'a> {
    fn new(course: &'a StreamJudgements) -> Self {
        let place = |judgement: &SpanJudgement| (judgement.determination.start, judgement.determination.end);
        Self { last: course.judgements.iter().map(|judgement| (place(judgement), judgement)).collect() }
    }

    /// Whether any byte of this range was admitted.
    fn admits(&self, range: &Range<usize>) -> bool {
        let admitted = self.last.values().filter(|j| j.determination.determination == Some(Determination::Admit));
        admitted.map(|j| j.determination.range()).any(|other| other.start < range.end && range.start < other.end)
    }
}

fn is_refused(judgement: &SpanJudgement) -> bool {
    judgement.determination.determination == Some(Determination::Reject)
}

fn fate(judgement: &SpanJudgement) -> SpanOutcome {
    let rule = judgement.determination.rule.clone().unwrap_or_default();
    match judgement.determination.determination {
        Some(Determination::Admit) => SpanOutcome::Admitted,
        Some(Determination::Decompose) => SpanOutcome::Decomposed { rule },
        Some(Determination::Reject) => SpanOutcome::Refused { rule },
        Some(Determination::None) | None => SpanOutcome::NotJudged,
    }
}

fn change(judgement: &SpanJudgement, range: Range<usize>, before: SpanOutcome, after: SpanOutcome) -> SpanChange {
    SpanChange { start: range.start, end: range.end, text: judgement.text.clone(), before, after }
}
