//! Parts of a text that is judged while it is written. The caller reads the text into parts, outside the session.

use super::work::{Base, RangeLogProbs, SpanWork};
use crate::candidate::AnswerCandidate;
use crate::engine::EngineProposal;
use crate::governor::StreamGovernor;
use portcullis_core::commitment::SpanKind;
use portcullis_core::wire::Granularity;
use portcullis_mapping::{EngineToolCall, LogProbs, LogProbsError, NotUtf8, ScannedText, Segmenter};
use std::ops::Range;
use std::sync::Arc;

/// A part of a held stream: spans that later text cannot change, and optionally a tool call or the end of the stream.
#[derive(Clone, Debug)]
pub struct HeldStreamPart {
    /// Everything that arrived since the previous part, in order, including the end of the stream. It can contain bytes
    /// that wait for later text and are not in a span yet.
    pub(super) given: Vec<EngineProposal>,
    pub(super) work: Vec<SpanWork>,
}

impl HeldStreamPart {
    /// Number of bytes that arrived.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let call = |call: &EngineToolCall| call.name.len() + call.arguments.len();
        let bytes = |given: &EngineProposal| match given {
            EngineProposal::Candidate(one) => one.text.len() + one.call.as_ref().map_or(0, call),
            EngineProposal::Exhausted | EngineProposal::End => 0,
        };
        self.given.iter().map(bytes).sum()
    }

    pub(crate) fn is_last(&self) -> bool {
        self.given.last() == Some(&EngineProposal::End)
    }
}

/// Turns the text and the tool calls of one stream into parts as they arrive. The spans depend on the text only, not on
/// its division into chunks.
pub struct PartReader {
    governor: Arc<StreamGovernor>,
    segmenter: Segmenter,
    /// Number of bytes of the stream before the segmenter's text.
    before: usize,
    length: usize,
    /// Log-probabilities for ranges of the segmenter's text.
    said: Vec<RangeLogProbs>,
    given: Vec<EngineProposal>,
}

impl PartReader {
    #[must_use]
    pub fn new(governor: Arc<StreamGovernor>) -> Self {
        let segmenter = Segmenter::new(governor.granularity(false));
        Self { governor, segmenter, before: 0, length: 0, said: Vec::new(), given: Vec::new() }
    }

    /// Reads the next bytes of the text. Errors: [`NotUtf8`]: the text cannot be read any further.
    pub fn text(
        &mut self,
        chunk: &str,
        logprobs: Option<Result<LogProbs, LogProbsError>>,
    ) -> Result<Option<HeldStreamPart>, NotUtf8> {
        let range = self.length..self.length + chunk.len();
        self.length = range.end;
        match (self.given.last_mut(), &logprobs) {
            (Some(EngineProposal::Candidate(last)), None) if last.logprobs.is_none() => last.text.push_str(chunk),
            _ => self.give(chunk, logprobs.clone(), None),
        }
        if logprobs.is_some() || !self.said.is_empty() {
            self.said.push(RangeLogProbs { range, skipped: 0, logprobs });
        }
        let read = self.segmenter.push(self.governor.mapper(), chunk.as_bytes())?;
        Ok(read.map(|text| self.part(text)))
    }

    /// Reads a tool call, which ends the text before it. Errors: [`NotUtf8`]: the text before it ends inside a
    /// character.
    pub fn call(
        &mut self,
        call: &EngineToolCall,
        logprobs: Option<Result<LogProbs, LogProbsError>>,
    ) -> Result<HeldStreamPart, NotUtf8> {
        self.give("", logprobs.clone(), Some(call.clone()));
        let mut part = self.flush()?;
        let base = Base { from: 0, number: self.before };
        let work = SpanWork { base, ..call_work(&self.governor, call, logprobs) };
        self.before += work.range.len();
        part.work.push(work);
        Ok(part)
    }

    /// The rest of the text, and the end of the stream. Errors: [`NotUtf8`]: the text ends inside a character.
    pub fn finish(mut self) -> Result<HeldStreamPart, NotUtf8> {
        self.given.push(EngineProposal::End);
        self.flush()
    }

    /// Number of bytes that wait for later text.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.segmenter.pending()
    }

    fn give(&mut self, text: &str, logprobs: Option<Result<LogProbs, LogProbsError>>, call: Option<EngineToolCall>) {
        let candidate = AnswerCandidate { text: text.to_owned(), logprobs, logprobs_absent: None, call };
        self.given.push(EngineProposal::Candidate(candidate));
    }

    /// The rest of the text. Later bytes start a new text.
    fn flush(&mut self) -> Result<HeldStreamPart, NotUtf8> {
        let next = Segmenter::new(self.governor.granularity(false));
        let rest = std::mem::replace(&mut self.segmenter, next).finish(self.governor.mapper())?;
        let part = self.part(rest);
        self.before += std::mem::take(&mut self.length);
        self.said.clear();
        Ok(part)
    }

    fn part(&mut self, text: ScannedText) -> HeldStreamPart {
        let offset = text.offset();
        let end = text.pieces().last().map_or(0, |piece| piece.range.end);
        let here = |said: &RangeLogProbs| {
            let range = said.range.start.max(offset)..said.range.end;
            let skipped = range.start - said.range.start;
            (range.start < range.end).then(|| RangeLogProbs {
                range: range.start - offset..range.end - offset,
                skipped,
                logprobs: said.logprobs.clone(),
            })
        };
        let mut said: Vec<RangeLogProbs> = Vec::new();
        for next in self.said.iter().filter_map(here) {
            match said.last_mut().and_then(|last| Some((last.joined(&next)?, last))) {
                Some((joined, last)) => *last = joined,
                None => said.push(next),
            }
        }
        self.said.retain(|said| offset + end < said.range.end);
        let text = Arc::new(text);
        let base = Base { from: 0, number: self.before + offset };
        let whole = SpanWork { base, ..SpanWork::whole(Arc::clone(&text), said.into(), None) };
        let work = text.pieces().iter().map(|p| SpanWork { range: p.range.clone(), inert: p.inert, ..whole.clone() });
        HeldStreamPart { given: std::mem::take(&mut self.given), work: work.collect() }
    }
}

/// A tool call as work: one step at the depth limit, so that it is admitted or rejected as a whole. A call that does
/// not parse is judged as written, and stage 2 rejects it.
pub(super) fn call_work(
    governor: &StreamGovernor,
    call: &EngineToolCall,
    logprobs: Option<Result<LogProbs, LogProbsError>>,
) -> SpanWork {
    let read = governor.mapper().read_call(call);
    let malformed = read.is_none();
    let text =
        read.unwrap_or_else(|| governor.mapper().read(format!("{}({})", call.name, call.arguments), Granularity::Step));
    let range: Range<usize> = 0..text.as_str().len();
    let said = RangeLogProbs { range: range.clone(), skipped: 0, logprobs };
    let depth = governor.limits().max_depth;
    let whole = SpanWork::whole(Arc::new(text), Arc::new([said]), None);
    SpanWork { kind: SpanKind::Call, range, depth, malformed, ..whole }
}
