//! The answer to one mutation, as data and in words.

use portcullis_core::commitment::SpanKind;
use portcullis_core::context::StreamMode;
use portcullis_core::wire::{Category, Determination as Answer, Fault, Stage};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Range;

/// A determination or a fault. It serialises to a line of `run --json` without that line's deciding fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanDetermination {
    /// Name of the text in the input.
    pub id: String,
    /// Number of the stream: the index of the text in the input.
    pub stream: u64,
    pub seq: u32,
    /// Sequence of the mutation of which this mutation is a part.
    pub parent: Option<u32>,
    /// Decompose depth. For a tool call it is the greatest depth, because calls are never divided.
    pub depth: u8,
    #[serde(default, skip_serializing_if = "SpanKind::is_text")]
    pub kind: SpanKind,
    /// First byte of the span in the text.
    pub start: usize,
    /// End of the span in the text, exclusive.
    pub end: usize,
    /// Number of the step, in a list of candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// Alternative of the step, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<u8>,
    pub category: Category,
    /// Whether the span is a refused JSON number or name: only a value, such as `null`, can stand in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bare_value: bool,
    /// The answer; `None` for a fault.
    pub determination: Option<Answer>,
    /// The first stage that failed.
    #[serde(serialize_with = "stage", deserialize_with = "read_stage")]
    pub stage: Option<Stage>,
    /// Id of the deciding rule or reason; always present in a refusal.
    pub rule: Option<String>,
    pub reason: Option<String>,
    #[serde(serialize_with = "fault", deserialize_with = "read_fault")]
    pub fault: Option<Fault>,
}

impl SpanDetermination {
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

fn stage<S: Serializer>(stage: &Option<Stage>, serializer: S) -> Result<S::Ok, S::Error> {
    stage.filter(|s| *s != Stage::None).serialize(serializer)
}

fn fault<S: Serializer>(fault: &Option<Fault>, serializer: S) -> Result<S::Ok, S::Error> {
    fault.map(Fault::name).serialize(serializer)
}

fn read_stage<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<Stage>, D::Error> {
    Ok(Option::<Stage>::deserialize(deserializer)?.or(Some(Stage::None)))
}

fn read_fault<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<Fault>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    name.map(|n| Fault::from_name(&n).ok_or_else(|| serde::de::Error::custom(format!("no fault is called `{n}`"))))
        .transpose()
}

/// Totals of one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgementSummary {
    /// `recorded`: judged afterwards, nothing was prevented. `driven`: nothing was released before its admit.
    pub mode: StreamMode,
    pub mutations: u64,
    pub admitted: u64,
    pub rejected: u64,
    pub decomposed: u64,
    /// Rejects that were deferred.
    pub deferred: u64,
    /// Admitted transitions that were undone.
    pub rolled_back: u64,
    pub faults: u64,
    pub bytes: usize,
    /// Admitted bytes, held inert bytes included.
    pub bytes_admitted: usize,
    /// Trust slope at the end of the stream, in basis points.
    pub trust_slope: u16,
    /// Why the stream stopped before its end, if it did. Safe non-execution is a result, not an error.
    pub stopped: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination: Option<StreamTermination>,
}

/// Where and why a stream ended early. The admitted part stays released; nothing else was released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTermination {
    pub trigger: TerminationTrigger,
    /// Rule or reason of the last refusal, the fault's name, or the engine's error.
    pub detail: String,
    /// Sequence of the last determination.
    pub seq: u32,
    /// Trust slope, in basis points.
    pub slope: u16,
    /// Sequences of the admitted transitions, in order: the complete lineage.
    pub lineage: Vec<u32>,
}

/// Reasons to end a stream early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminationTrigger {
    /// Every candidate was refused, and no rollback is possible.
    NoAdmissibleCandidate,
    /// The trust slope reached the policy's halt threshold.
    DriftHalt,
    /// The card refused an entry, or answered in an invalid form.
    Fault,
    /// The pre-execution filter refused the task, so no engine received it.
    Prefilter,
    /// The engine failed, died, or did not answer in time.
    Engine,
    /// An anchor store does not have the digest in BEGIN's context any more.
    AnchorsChanged,
    /// A bound of the loop was reached.
    Limit,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidingField {
    /// The field's name, as in policies.
    pub field: String,
    pub value: String,
    /// The rule's condition on the field.
    pub condition: String,
}

impl TerminationTrigger {
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoAdmissibleCandidate => "no admissible candidate is left",
            Self::DriftHalt => "drift halt",
            Self::Fault => "FAULT",
            Self::Prefilter => "pre-execution filter",
            Self::Engine => "engine",
            Self::AnchorsChanged => "anchors changed",
            Self::Limit => "limit",
        }
    }
}

impl JudgementSummary {
    #[must_use]
    pub fn new(mode: StreamMode) -> Self {
        Self {
            mode,
            mutations: 0,
            admitted: 0,
            rejected: 0,
            decomposed: 0,
            deferred: 0,
            rolled_back: 0,
            faults: 0,
            bytes: 0,
            bytes_admitted: 0,
            trust_slope: 0,
            stopped: None,
            termination: None,
        }
    }
}
