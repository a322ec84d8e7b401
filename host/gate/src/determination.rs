//! What the gate says of one mutation, as data and in words.

use portcullis_core::wire::{Category, Determination as Outcome, Fault, Stage};
use serde::{Serialize, Serializer};
use std::ops::Range;

/// One determination, or one fault in its place. Serialises to a line of `run --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Determination {
    /// Identity of the text in its input.
    pub id: String,
    /// Number of the stream: the place of the text in its input.
    pub stream: u64,
    /// Sequence within the stream.
    pub seq: u32,
    /// Sequence of the mutation that this one is a part of.
    pub parent: Option<u32>,
    /// Decompose depth.
    pub depth: u8,
    /// First byte of the span in the text.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Step of a list of candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// Which of the step's alternatives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternative: Option<u8>,
    /// What the span does.
    pub category: Category,
    /// The answer; absent for a fault.
    pub determination: Option<Outcome>,
    /// The first stage that failed.
    #[serde(serialize_with = "stage")]
    pub stage: Option<Stage>,
    /// The rule or reason id of a refusal; never absent from one.
    pub rule: Option<String>,
    /// The same in words.
    pub reason: Option<String>,
    /// The fault's name.
    #[serde(serialize_with = "fault")]
    pub fault: Option<Fault>,
}

impl Determination {
    /// Bytes of the span in the text.
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

/// Totals of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// `recorded`: judged after the fact, nothing was prevented. `driven`: nothing was released before its admit.
    pub mode: &'static str,
    /// Mutations submitted.
    pub mutations: u64,
    /// Admitted.
    pub admitted: u64,
    /// Rejected.
    pub rejected: u64,
    /// Decomposed.
    pub decomposed: u64,
    /// Faults.
    pub faults: u64,
    /// Bytes of the text.
    pub bytes: usize,
    /// Bytes admitted, held inert bytes included.
    pub bytes_admitted: usize,
    /// Why the stream stopped before its end, if it did: safe non-execution is a result.
    pub stopped: Option<String>,
}
