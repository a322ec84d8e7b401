//! The unit of judgement: a span that waits for the card, and one that the card has.

use crate::stage::HostFindings;
use portcullis_core::commitment::SpanKind;
use portcullis_core::fixed::BasisPoints;
use portcullis_core::mutation::Mutation;
use portcullis_core::wire::Descriptor;
use portcullis_mapping::{LogProbs, LogProbsError, Text};
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) text: Arc<Text>,
    pub(super) said: Arc<[Said]>,
    pub(super) kind: SpanKind,
    pub(super) range: Range<usize>,
    /// Where the text or step that it belongs to begins in `text`, and how much of that was judged before.
    pub(super) base: Base,
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

/// An engine's log-probabilities for a part of a read text.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) range: Range<usize>,
    /// Bytes of the candidate before it.
    pub(super) skipped: usize,
    pub(super) logprobs: Option<Result<LogProbs, LogProbsError>>,
}

impl Said {
    /// Both parts as one, if the next part follows this one and the places of all tokens are known.
    pub(super) fn joined(&self, next: &Self) -> Option<Self> {
        let (Some(Ok(first)), Some(Ok(second))) = (&self.logprobs, &next.logprobs) else { return None };
        if self.range.end != next.range.start || next.skipped > 0 {
            return None;
        }
        let logprobs = first.followed_by(next.range.start + self.skipped - self.range.start, second)?;
        Some(Self { range: self.range.start..next.range.end, skipped: self.skipped, logprobs: Some(Ok(logprobs)) })
    }
}

/// How bytes of a read text are counted in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Base {
    /// The byte of the read text that counting begins at.
    pub(super) from: usize,
    pub(super) number: usize,
}

impl Work {
    /// A whole text, or a whole candidate.
    pub(super) fn whole(text: Arc<Text>, said: Arc<[Said]>, place: Option<(usize, u8)>) -> Self {
        let base = Base { from: text.origin(), number: 0 };
        Self {
            text,
            said,
            kind: SpanKind::Text,
            range: 0..0,
            base,
            inert: false,
            depth: 0,
            parent: None,
            place,
            waited: None,
            malformed: false,
        }
    }

    /// Its bytes' numbers in the text, or in the candidates of its step.
    pub(super) fn numbers(&self) -> Range<usize> {
        let number = |at: usize| at - self.base.from + self.base.number;
        number(self.range.start)..number(self.range.end)
    }

    /// How uncertain the engine is of it: the most uncertain of the parts that it is in; unknown when one of them
    /// is.
    pub(super) fn uncertainty(&self) -> Option<Result<BasisPoints, LogProbsError>> {
        let mut most: Option<BasisPoints> = None;
        for said in self.said.iter() {
            let (start, end) = (self.range.start.max(said.range.start), self.range.end.min(said.range.end));
            if start < end {
                let within = |at: usize| at - said.range.start + said.skipped;
                match said.logprobs.as_ref()? {
                    Ok(logprobs) => most = most.max(Some(logprobs.uncertainty(&(within(start)..within(end))))),
                    Err(error) => return Some(Err(error.clone())),
                }
            }
        }
        most.map(Ok)
    }

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
