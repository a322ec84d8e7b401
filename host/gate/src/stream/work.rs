//! The unit of judgement: a span that waits for the card, and one that the card has.

use crate::stage::HostFindings;
use portcullis_core::commitment::SpanKind;
use portcullis_core::mutation::Mutation;
use portcullis_core::wire::Descriptor;
use portcullis_mapping::{LogProbs, LogProbsError, Text};
use std::ops::Range;
use std::sync::Arc;

/// One span to be judged.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) text: Arc<Text>,
    pub(super) logprobs: Option<Result<LogProbs, LogProbsError>>,
    pub(super) kind: SpanKind,
    pub(super) range: Range<usize>,
    pub(super) inert: bool,
    pub(super) depth: u8,
    pub(super) parent: Option<u32>,
    /// Place of its candidate, and which candidate of the place it is; `None` in a whole text.
    pub(super) place: Option<(usize, u8)>,
    /// Steps that it may wait again, when it was deferred before.
    pub(super) waited: Option<u16>,
    /// The engine marked it as a tool call, but it does not parse.
    pub(super) malformed: bool,
}

impl Work {
    /// A whole text, or a whole candidate.
    pub(super) const fn whole(
        text: Arc<Text>,
        logprobs: Option<Result<LogProbs, LogProbsError>>,
        place: Option<(usize, u8)>,
    ) -> Self {
        Self {
            text,
            logprobs,
            kind: SpanKind::Text,
            range: 0..0,
            inert: false,
            depth: 0,
            parent: None,
            place,
            waited: None,
            malformed: false,
        }
    }

    /// Its bytes.
    pub(super) fn slice(&self) -> &str {
        self.text.slice(&self.range)
    }
}

/// A span that the card has not answered yet.
pub(super) struct InFlight {
    pub(super) work: Work,
    pub(super) sequence: u32,
    pub(super) mutation: Mutation,
    pub(super) descriptor: Descriptor,
    pub(super) findings: HostFindings,
}
