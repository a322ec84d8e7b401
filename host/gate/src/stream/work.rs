//! Spans that wait to be submitted to the card, and the span that waits for the card's answer.

use crate::stage::HostFindings;
use crate::text_lane::AdmittedTextScan;
use portcullis_core::commitment::SpanKind;
use portcullis_core::fixed::BasisPoints;
use portcullis_core::mutation::SpanMutation;
use portcullis_core::wire::Descriptor;
use portcullis_mapping::{LogProbs, LogProbsError, ScannedText};
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct SpanWork {
    pub(super) text: Arc<ScannedText>,
    pub(super) said: Arc<[RangeLogProbs]>,
    pub(super) kind: SpanKind,
    pub(super) range: Range<usize>,
    /// Where the work's text or step starts in `text`, and the number that reports give to its first byte.
    pub(super) base: Base,
    pub(super) inert: bool,
    pub(super) depth: u8,
    pub(super) parent: Option<u32>,
    /// The choice of values that is judged, if the span has several values of a quantity.
    pub(super) choice: Option<ValueChoice>,
    /// Place of the work's candidate, and the number of the alternative there; `None` in a whole text.
    pub(super) place: Option<(usize, u8)>,
    /// Remaining steps before the work expires, if it was deferred before.
    pub(super) waited: Option<u16>,
    /// Whether the work is a tool call that does not parse.
    pub(super) malformed: bool,
}

/// One of the choices of values for which a span with several values of a quantity is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueChoice {
    pub(super) number: usize,
    /// Number of choices.
    pub(super) of: usize,
}

/// An engine's log-probabilities for a range of a text.
#[derive(Clone, Debug)]
pub(super) struct RangeLogProbs {
    pub(super) range: Range<usize>,
    /// Number of bytes of the candidate before the range.
    pub(super) skipped: usize,
    pub(super) logprobs: Option<Result<LogProbs, LogProbsError>>,
}

impl RangeLogProbs {
    /// Both ranges as one, if `next` follows this range and the ends of all tokens are known.
    pub(super) fn joined(&self, next: &Self) -> Option<Self> {
        let (Some(Ok(first)), Some(Ok(second))) = (&self.logprobs, &next.logprobs) else { return None };
        if self.range.end != next.range.start || next.skipped > 0 {
            return None;
        }
        let logprobs = first.followed_by(next.range.start + self.skipped - self.range.start, second)?;
        Some(Self { range: self.range.start..next.range.end, skipped: self.skipped, logprobs: Some(Ok(logprobs)) })
    }
}

/// How reports number the bytes of a text: byte `from` has the number `number`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Base {
    /// The offset in the text of the byte with the number `number`.
    pub(super) from: usize,
    pub(super) number: usize,
}

impl SpanWork {
    /// Whether the span is a JSON number or name in a text.
    pub(super) fn is_bare_value(&self) -> bool {
        self.kind == SpanKind::Text && self.text.is_bare_value(&self.range)
    }

    /// A whole text, or a whole candidate.
    pub(super) fn whole(text: Arc<ScannedText>, said: Arc<[RangeLogProbs]>, place: Option<(usize, u8)>) -> Self {
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
            choice: None,
            place,
            waited: None,
            malformed: false,
        }
    }

    /// The numbers of the span's bytes: counted from the start of the whole text, or of the step.
    pub(super) fn numbers(&self) -> Range<usize> {
        let number = |at: usize| at - self.base.from + self.base.number;
        number(self.range.start)..number(self.range.end)
    }

    /// The engine's uncertainty: the largest value of the ranges that overlap the span, or unknown if one is unknown.
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

    /// The text that leaves if the card admits the work. Of the choices of values, only the last one has the text: it
    /// is submitted after all others were admitted.
    pub(super) fn slice(&self) -> &str {
        if self.is_value() { "" } else { self.text.slice(&self.range) }
    }

    /// Whether this is a choice of values that another one follows.
    pub(super) fn is_value(&self) -> bool {
        self.choice.is_some_and(|choice| choice.number + 1 < choice.of)
    }

    /// The next choice of values; `None` if there is none.
    pub(super) fn next_choice(&self) -> Option<Self> {
        let ValueChoice { number, of } = self.choice.filter(|_| self.is_value())?;
        Some(Self { choice: Some(ValueChoice { number: number + 1, of }), ..self.clone() })
    }

    /// The span itself, without a choice of values.
    pub(super) fn span(self) -> Self {
        let depth = self.depth.saturating_sub(u8::from(self.choice.is_some()));
        Self { choice: None, depth, ..self }
    }
}

/// A span that the card has not answered yet.
pub(super) struct InFlight {
    pub(super) work: SpanWork,
    pub(super) sequence: u32,
    pub(super) mutation: SpanMutation,
    pub(super) descriptor: Descriptor,
    pub(super) findings: HostFindings,
    /// The state of the text lane's scan of the stream, if this span is admitted.
    pub(super) scan: AdmittedTextScan,
}
