//! One lane: its log, record by record, with texts, streams and receipts in step.

use super::gaps::{self, Nonces};
use super::replayable::{self, Contexts};
use super::walk::Facts;
use super::{Findings, Property, Summary};
use super::{genuine, policy, withheld};
use crate::bundle::{self, Bundle, BundleError, Input, Lines, Receipt, Span, Stream};
use crate::checkpoint;
use crate::record::{self, Rules, Seen};
use crate::tree::{self, Frontier, Hash};
use portcullis_core::wire::{LaneHead, Opcode, Record, RecordType, Session};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;
use zerocopy::IntoBytes;

/// Records between two calls of the progress function.
const PROGRESS: u64 = 1 << 16;

/// A record, as findings name it; the lane is left out where there is only one.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    lane: Option<u8>,
    index: u64,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}", self.index)?;
        self.lane.map_or(Ok(()), |lane| write!(f, " of lane {lane}"))
    }
}

/// What the lanes of a session have in common while they are read.
pub(super) struct Shared<'a, 'b> {
    pub(super) bundle: &'b Bundle<'a>,
    pub(super) facts: &'b Facts,
    pub(super) findings: &'b mut Findings,
    pub(super) summary: &'b mut Summary,
    pub(super) contexts: Contexts,
    pub(super) nonces: Nonces,
    /// Checkpoints whose records have been read.
    pub(super) checkpoints: u64,
    /// Records read, of all lanes.
    pub(super) records: u64,
    pub(super) progress: &'b mut dyn FnMut(u64),
}

/// Heartbeats in their order, as a digest over them: a log may hold very many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Beats {
    pub(super) count: u64,
    /// Over all of them.
    pub(super) all: Hash,
    /// Over all but the last.
    pub(super) before: Hash,
}

impl Beats {
    fn push(&mut self, nonce: u64) {
        self.count += 1;
        self.before = self.all;
        self.all = Sha256::new().chain_update(self.all).chain_update(nonce.to_le_bytes()).finalize().into();
    }
}

/// A lane, as far as its log has been read.
pub(super) struct Lane<'a> {
    number: u8,
    /// Whether there are others.
    one_of_several: bool,
    log: Box<dyn BufRead + 'a>,
    ended: bool,
    rules: Rules,
    // The rules say nothing of what follows a record that broke one.
    broken: bool,
    tree: Frontier,
    /// Records under the last checkpoint.
    signed: u64,
    /// Most records under any checkpoint.
    most: u64,
    beats: Beats,
    last_note: Option<u64>,
    close: Option<Session>,
    cause: Option<u16>,
    first_tick: Option<u64>,
    streams: Lines<'a, Stream>,
    inputs: Lines<'a, Input>,
    spans: Lines<'a, Span>,
    receipts: Lines<'a, Receipt>,
    /// Where the stream of each slot began, the last one.
    begun: BTreeMap<u16, u64>,
    /// Streams that are withheld.
    withheld: u64,
}

impl<'a> Lane<'a> {
    /// Lane `number` before its first record, under an image of this many rows.
    pub(super) fn new(bundle: &Bundle<'a>, number: u8, rows: (u16, u16)) -> Result<Self, BundleError> {
        Ok(Self {
            number,
            one_of_several: bundle.lanes() > 1,
            log: bundle.records(number)?,
            ended: false,
            rules: Rules::of_lane(rows, number, bundle.lanes()),
            broken: false,
            tree: Frontier::new(),
            signed: 0,
            most: 0,
            beats: Beats::default(),
            last_note: None,
            close: None,
            cause: None,
            first_tick: None,
            streams: bundle.streams(number)?,
            inputs: bundle.inputs(number)?,
            spans: bundle.spans(number)?,
            receipts: bundle.receipts(number)?,
            begun: BTreeMap::new(),
            withheld: 0,
        })
    }

    /// As findings name it.
    pub(super) fn name(&self) -> String {
        if self.one_of_several { format!("lane {}", self.number) } else { "the log".to_owned() }
    }

    pub(super) const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Whether a record broke a rule.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Records read so far.
    pub(super) const fn size(&self) -> u64 {
        self.tree.size()
    }

    /// Records under the last checkpoint, as its heads say.
    pub(super) const fn signed(&self) -> u64 {
        self.signed
    }

    /// Most records under any checkpoint, as the heads say.
    pub(super) const fn most(&self) -> u64 {
        self.most
    }

    pub(super) const fn beats(&self) -> &Beats {
        &self.beats
    }

    /// What CLOSE recorded.
    pub(super) const fn close(&self) -> Option<&Session> {
        self.close.as_ref()
    }

    /// What ALARM gives as its cause.
    pub(super) const fn cause(&self) -> Option<u16> {
        self.cause
    }

    /// Streams so far that are withheld.
    pub(super) const fn withheld(&self) -> u64 {
        self.withheld
    }

    /// Whether the texts of the stream of `slot` were taken out.
    fn is_withheld(&self, slot: u16, facts: &Facts) -> bool {
        self.begun.get(&slot).is_some_and(|index| facts.withheld.contains(&(self.number, *index)))
    }

    /// Ticks of the first and the last record.
    pub(super) fn ticks(&self) -> Option<(u64, u64)> {
        self.first_tick.map(|first| (first, self.rules.tick()))
    }

    /// Head over the records so far.
    pub(super) fn head(&self) -> LaneHead {
        checkpoint::head(self.number, self.tree.size(), self.tree.root())
    }

    fn at(&self, index: u64) -> At {
        At { lane: self.one_of_several.then_some(self.number), index }
    }

    /// Reads on to the first `size` records, which a checkpoint covers, or to the end of the log.
    pub(super) fn sign(&mut self, size: u64, shared: &mut Shared<'a, '_>) -> Result<(), BundleError> {
        (self.signed, self.most) = (size, self.most.max(size));
        self.read_to(size, shared)
    }

    /// Reads on to the first `size` records, or to the end of the log.
    pub(super) fn read_to(&mut self, size: u64, shared: &mut Shared<'a, '_>) -> Result<(), BundleError> {
        while self.tree.size() < size && !self.ended {
            match self.next(shared)? {
                Some(record) => self.record(&record, shared)?,
                None => self.ended = true,
            }
        }
        Ok(())
    }

    /// The next record; a log that ends within one is cut there.
    fn next(&mut self, shared: &mut Shared<'a, '_>) -> Result<Option<Record>, BundleError> {
        match record::read(&mut self.log) {
            Ok(record) => Ok(record),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let what = format!("the log ends within {}", self.at(self.tree.size()));
                shared.findings.contradict(Property::Complete, "records-truncated", what);
                Ok(None)
            }
            Err(source) => Err(BundleError::Io { name: bundle::in_lane(bundle::RECORDS, self.number), source }),
        }
    }

    fn record(&mut self, record: &Record, shared: &mut Shared<'a, '_>) -> Result<(), BundleError> {
        let index = self.tree.size();
        self.tree.push(tree::leaf(record.as_bytes()));
        shared.records += 1;
        if shared.records.is_multiple_of(PROGRESS) {
            (shared.progress)(shared.records);
        }
        if self.broken {
            return Ok(());
        }
        match self.rules.next(record) {
            Ok(seen) => self.seen(index, seen, record, shared),
            Err(violation) => {
                self.broken = true;
                let what = format!("{}: {violation}", self.at(index));
                shared.findings.contradict(Property::Complete, violation.code(), what);
                Ok(())
            }
        }
    }

    fn seen(
        &mut self,
        index: u64,
        seen: Seen,
        record: &Record,
        shared: &mut Shared<'a, '_>,
    ) -> Result<(), BundleError> {
        let commitment = &record.descriptor.commitment;
        let slot = record.descriptor.slot.get();
        let at = self.at(index);
        let Shared { bundle, facts, findings, summary, contexts, nonces, checkpoints, .. } = shared;
        match seen {
            Seen::Session(kind, session) => {
                policy::session(kind, &session, facts.image.as_ref(), findings);
                gaps::session(kind, &session, facts.ticket.as_ref(), findings);
                match kind {
                    RecordType::Open => self.first_tick = Some(record.answer.tick.get()),
                    RecordType::Heartbeat => {
                        let nonce = session.heartbeat_nonce.get();
                        self.beats.push(nonce);
                        self.last_note = nonces.heartbeat(nonce, self.last_note, *checkpoints, findings);
                    }
                    RecordType::Close => self.close = Some(session),
                    _ => self.cause = Some(session.cause.get()),
                }
            }
            Seen::Entry(Opcode::Begin, _) => {
                let ticket = facts.ticket.as_ref().map(|ticket| &ticket.content);
                policy::context(commitment, ticket, findings);
                self.begun.insert(slot, index);
                let withheld = self.is_withheld(slot, facts);
                let line = self.streams.about(index)?;
                if line.is_none() && !withheld {
                    replayable::unnamed(at, findings);
                }
                match (self.inputs.about(index)?, withheld) {
                    (Some(_), true) => withheld::left(at, "the input", findings),
                    (None, false) => replayable::input_withheld(at, findings),
                    _ => {}
                }
                if withheld {
                    self.withheld += 1;
                    withheld::stream(at, findings);
                }
                // The number is the record's own: how many streams began in its lane before.
                let number = self.rules.counts().streams.saturating_sub(1);
                if let Some(line) = line.as_ref().filter(|line| line.stream != number) {
                    let what = format!("the stream at {at} is called number {}, but is number {number}", line.stream);
                    findings.contradict(Property::Replayable, "stream-number", what);
                }
                let (id, open) = (line.as_ref().map(|line| &*line.id), self.rules.open());
                let profile = contexts.begin(bundle, at, commitment, id, (open, withheld), findings, summary)?;
                policy::profile(at, profile, ticket, findings);
            }
            Seen::Entry(Opcode::Gate | Opcode::End, _) | Seen::Refused(_) => {
                let span = self.spans.about(index)?;
                let withheld = self.is_withheld(slot, facts);
                match &span {
                    Some(_) if withheld => withheld::left(at, "the text", findings),
                    None if withheld => {}
                    Some(span) => {
                        genuine::span(span, at, record, findings, summary);
                        if let Seen::Entry(opcode, _) = seen {
                            genuine::shape(span, at, opcode, record, findings);
                        }
                    }
                    // A refused entry changed nothing, so that a replay can do without its text.
                    None if matches!(seen, Seen::Refused(_)) => {}
                    None => replayable::withheld(at, findings),
                }
                if let (Seen::Entry(Opcode::End, _), Some(span)) = (&seen, &span) {
                    genuine::end(span, at, findings);
                }
                // Nothing was released for a refused entry: a receipt about it is left for the end.
                let receipt = if matches!(seen, Seen::Refused(_)) { None } else { self.receipts.about(index)? };
                if let Some(receipt) = receipt {
                    if withheld {
                        withheld::left(at, "the receipt", findings);
                    }
                    genuine::receipt(&receipt, (at, self.number), seen, span.as_ref(), facts, findings);
                }
            }
            Seen::Entry(Opcode::Note, _) => {}
        }
        Ok(())
    }

    /// After the last record.
    pub(super) fn finish(&mut self, shared: &mut Shared<'a, '_>) -> Result<(), BundleError> {
        if let Some(index) = self.rules.overdrawn() {
            gaps::overdrawn(self.at(index), shared.findings);
        }
        for (name, rest) in [
            (bundle::STREAMS, self.streams.rest()?),
            (bundle::INPUTS, self.inputs.rest()?),
            (bundle::SPANS, self.spans.rest()?),
            (bundle::RECEIPTS, self.receipts.rest()?),
        ] {
            if let Some(index) = rest.filter(|_| !self.broken) {
                let name = bundle::in_lane(name, self.number);
                let what = format!("`{name}` has a line about {}, which has no such line", self.at(index));
                shared.findings.contradict(Property::Genuine, "line-without-record", what);
            }
        }
        Ok(())
    }
}
