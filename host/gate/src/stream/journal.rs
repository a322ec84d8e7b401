//! The reports of a stream: its events in order, its totals, and the admitted bytes that are not released yet.

use super::release::ReleaseBuffer;
use super::seat::StreamNumbers;
use super::work::InFlight;
use crate::determination::{JudgementSummary, SpanDetermination};
use crate::end_state::EndState;
use crate::event::{EndCommitment, SpanJudgement, StreamEvent, StreamEventKind};
use crate::rationale::Rationale;
use portcullis_core::context::StreamMode;
use portcullis_core::hex;
use portcullis_core::wire::{Determination as Answer, Fault, Record};
use portcullis_image::EntryVerdict;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// The card's answer to a span, and its rationale.
pub(super) struct CardAnswer<'a> {
    pub(super) flight: &'a InFlight,
    pub(super) verdict: Option<&'a EntryVerdict>,
    pub(super) why: Option<Rationale>,
    pub(super) fault: Option<Fault>,
    pub(super) record: Option<&'a Record>,
}

/// The stream's position at the time of an answer.
pub(super) struct Position<'a> {
    /// Inert bytes held before the span.
    pub(super) held: &'a str,
    pub(super) salt: [u8; 16],
    /// Semantic distance of the last admitted transition.
    pub(super) distance: Option<u16>,
    pub(super) slope: u16,
}

pub(super) struct StreamJournal {
    id: String,
    number: u64,
    events: Vec<StreamEvent>,
    pub(super) summary: JudgementSummary,
    pub(super) unreleased: ReleaseBuffer,
    closing: Option<EndCommitment>,
}

impl StreamJournal {
    pub(super) fn new(id: String, seat: StreamNumbers, mode: StreamMode) -> Self {
        Self {
            id,
            number: seat.number,
            events: Vec::new(),
            summary: JudgementSummary::new(mode),
            unreleased: ReleaseBuffer::default(),
            closing: None,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn push(&mut self, what: StreamEventKind) {
        self.events.push(StreamEvent { stream: self.number, what });
    }

    /// The events since the last call, in order.
    pub(super) fn take_events(&mut self) -> Vec<StreamEvent> {
        std::mem::take(&mut self.events)
    }

    pub(super) fn release(&mut self) {
        if let Some(released) = self.unreleased.take() {
            self.push(released);
        }
    }

    /// Records that the card accepted END, which committed to `inert`.
    pub(super) fn close(&mut self, seq: u32, inert: String, salt: [u8; 16], record: Option<&Record>) {
        self.closing =
            Some(EndCommitment { seq, inert: inert.clone(), salt: hex::encode(&salt), log_index: index_of(record) });
        // END's commitment covers trailing inert bytes, so they are released with it.
        if !inert.is_empty() {
            self.unreleased.push(seq, &inert, None);
        }
        self.release();
    }

    pub(super) fn end(&mut self, slope: u16, state: Option<Arc<EndState>>) {
        self.summary.trust_slope = slope;
        let (id, summary, closing) = (self.id.clone(), self.summary.clone(), self.closing.take());
        self.push(StreamEventKind::Ended { id, summary, closing, state });
    }

    /// Reports a determination or a fault.
    pub(super) fn determined(&mut self, answered: CardAnswer<'_>, position: &Position<'_>) {
        let CardAnswer { flight, verdict, why, fault, record } = answered;
        let work = &flight.work;
        let (rule, reason, fields) = match why {
            Some(why) => (Some(why.rule), Some(why.words), why.fields),
            None => (None, None, Vec::new()),
        };
        let admit = verdict.is_some_and(|v| v.determination == Answer::Admit);
        let mut numbers = work.numbers();
        if admit && work.is_value() {
            // No byte of the span is admitted yet.
            numbers.end = numbers.start;
        }
        let determination = SpanDetermination {
            id: self.id.clone(),
            stream: self.number,
            seq: flight.sequence,
            parent: work.parent,
            depth: work.depth,
            kind: work.kind,
            start: numbers.start,
            end: numbers.end,
            step: work.place.map(|(place, _)| place),
            alternative: work.place.map(|(_, alternative)| alternative),
            category: flight.mutation.category,
            bare_value: verdict.is_some_and(|v| v.determination == Answer::Reject) && work.is_bare_value(),
            determination: verdict.map(|v| v.determination),
            stage: verdict.map(|v| v.stage),
            rule,
            reason,
            fault,
        };
        let judgement = SpanJudgement {
            determination,
            inert: position.held.to_owned(),
            text: work.slice().to_owned(),
            salt: hex::encode(&position.salt),
            descriptor: hex::encode(flight.descriptor.as_bytes()),
            fields,
            distance: position.distance.filter(|_| admit && !work.is_value()),
            slope: position.slope,
            tick: record.map(|r| r.answer.tick.get()),
            log_index: index_of(record),
        };
        self.push(StreamEventKind::Determined(Box::new(judgement)));
    }
}

/// Index of a record in the card's log.
pub(super) fn index_of(record: Option<&Record>) -> Option<u64> {
    record.map(|r| r.answer.log_index.get())
}
