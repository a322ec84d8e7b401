//! Reads one lane: its log, and in parallel the lines about its records (streams, inputs, texts, receipts).

use super::check::context::{self, ContextDocumentSet};
use super::check::heartbeat::Nonces;
use super::check::{receipt, session, span, text_lane, withholding};
use super::code::Code;
use super::facts::BundleFacts;
use super::findings::VerifyFindings;
use super::lane_state::LaneState;
use super::report::EvidenceSummary;
use crate::format::bundle::{self, Bundle, BundleError, IndexedLineReader, InputLine, Receipt, SpanLine, StreamLine};
use crate::format::log::{self, LogEvent};
use crate::format::tree;
use portcullis_core::wire::{Opcode, Record, RecordType, SessionFields};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use zerocopy::IntoBytes;

/// Records between two calls of the progress function.
const PROGRESS: u64 = 1 << 16;

/// Data that all lanes of a session share.
pub(super) struct SessionVerifyState<'a, 'b> {
    pub(super) bundle: &'b Bundle<'a>,
    pub(super) facts: &'b BundleFacts,
    pub(super) findings: &'b mut VerifyFindings,
    pub(super) summary: &'b mut EvidenceSummary,
    pub(super) contexts: ContextDocumentSet,
    pub(super) nonces: Nonces,
    pub(super) checkpoints: u64,
    pub(super) records: u64,
    pub(super) progress: &'b mut dyn FnMut(u64),
}

pub(super) struct LaneVerifier<'a> {
    pub(super) state: LaneState,
    log: Box<dyn BufRead + 'a>,
    ended: bool,
    /// Serial of the witness note that contains the nonce of the last heartbeat.
    last_note: Option<u64>,
    streams: IndexedLineReader<'a, StreamLine>,
    inputs: IndexedLineReader<'a, InputLine>,
    spans: IndexedLineReader<'a, SpanLine>,
    receipts: IndexedLineReader<'a, Receipt>,
    /// Log index of the last BEGIN in each slot.
    begun: BTreeMap<u16, u64>,
    /// Slots from whose last stream no rollback can remove admitted text.
    kept: BTreeSet<u16>,
}

impl<'a> LaneVerifier<'a> {
    /// Opens lane `number`, before its first record, with an image of this many rows.
    pub(super) fn new(bundle: &Bundle<'a>, number: u8, rows: (u16, u16)) -> Result<Self, BundleError> {
        Ok(Self {
            state: LaneState::new(number, bundle.lanes(), rows),
            log: bundle.records(number)?,
            ended: false,
            last_note: None,
            streams: bundle.streams(number)?,
            inputs: bundle.inputs(number)?,
            spans: bundle.spans(number)?,
            receipts: bundle.receipts(number)?,
            begun: BTreeMap::new(),
            kept: BTreeSet::new(),
        })
    }

    /// Whether the texts of the stream in `slot` are withheld.
    fn is_withheld(&self, slot: u16, facts: &BundleFacts) -> bool {
        self.begun.get(&slot).is_some_and(|index| facts.withheld.contains(&(self.state.number, *index)))
    }

    /// Reads the first `size` records, which a checkpoint covers, or up to the end of the log.
    pub(super) fn sign(&mut self, size: u64, shared: &mut SessionVerifyState<'a, '_>) -> Result<(), BundleError> {
        (self.state.signed, self.state.most) = (size, self.state.most.max(size));
        self.read_to(size, shared)
    }

    /// Reads the first `size` records, or up to the end of the log.
    pub(super) fn read_to(&mut self, size: u64, shared: &mut SessionVerifyState<'a, '_>) -> Result<(), BundleError> {
        while self.state.size() < size && !self.ended {
            match self.next(shared)? {
                Some(record) => self.record(&record, shared)?,
                None => self.ended = true,
            }
        }
        Ok(())
    }

    /// The next record. An incomplete record at the end of the log is reported and ignored.
    fn next(&mut self, shared: &mut SessionVerifyState<'a, '_>) -> Result<Option<Record>, BundleError> {
        match log::read(&mut self.log) {
            Ok(record) => Ok(record),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let at = self.state.at(self.state.size());
                shared.findings.add(Code::RecordsTruncated, format_args!("the log ends within {at}"));
                Ok(None)
            }
            Err(source) => Err(BundleError::Io { name: bundle::in_lane(bundle::RECORDS, self.state.number), source }),
        }
    }

    fn record(&mut self, record: &Record, shared: &mut SessionVerifyState<'a, '_>) -> Result<(), BundleError> {
        let index = self.state.size();
        self.state.tree.push(tree::leaf(record.as_bytes()));
        shared.records += 1;
        if shared.records.is_multiple_of(PROGRESS) {
            (shared.progress)(shared.records);
        }
        if self.state.broken {
            return Ok(());
        }
        match self.state.log.next(record) {
            Ok(LogEvent::Session(kind, session)) => {
                self.session(kind, session, record, shared);
                Ok(())
            }
            Ok(LogEvent::Entry(Opcode::Begin, _)) => self.begin(index, record, shared),
            Ok(LogEvent::Entry(Opcode::Note, _)) => Ok(()),
            Ok(event) => self.text(index, event, record, shared),
            Err(violation) => {
                self.state.broken = true;
                let at = self.state.at(index);
                shared.findings.add(violation.into(), format_args!("{at}: {violation}"));
                Ok(())
            }
        }
    }

    fn session(
        &mut self,
        kind: RecordType,
        session: SessionFields,
        record: &Record,
        shared: &mut SessionVerifyState<'a, '_>,
    ) {
        let SessionVerifyState { facts, findings, nonces, checkpoints, .. } = shared;
        findings.append(session::tables(kind, &session, facts.image.as_ref()));
        findings.append(session::ticket(kind, &session, facts.ticket.as_ref()));
        match kind {
            RecordType::Open => self.state.first_tick = Some(record.answer.tick.get()),
            RecordType::Heartbeat => {
                let nonce = session.heartbeat_nonce.get();
                self.state.heartbeats.push(nonce);
                self.last_note = nonces.heartbeat(nonce, self.last_note, *checkpoints, findings);
            }
            RecordType::Close => self.state.close = Some(session),
            _ => self.state.cause = Some(session.cause.get()),
        }
    }

    fn begin(
        &mut self,
        index: u64,
        record: &Record,
        shared: &mut SessionVerifyState<'a, '_>,
    ) -> Result<(), BundleError> {
        let commitment = &record.descriptor.commitment;
        let slot = record.descriptor.slot.get();
        let at = self.state.at(index);
        let SessionVerifyState { bundle, facts, findings, summary, contexts, .. } = shared;
        let ticket = facts.ticket.as_ref().map(|ticket| &ticket.content);
        findings.append(context::permitted(commitment, ticket));
        self.begun.insert(slot, index);
        let withheld = self.is_withheld(slot, facts);
        let line = self.streams.about(index)?;
        if line.is_none() && !withheld {
            findings.add(Code::StreamUnnamed, format_args!("no line names the stream at {at}"));
        }
        match (self.inputs.about(index)?, withheld) {
            (Some(_), true) => withholding::left(at, "the input", findings),
            (None, false) => {
                findings.add(Code::InputWithheld, format_args!("what the stream at {at} was given is not disclosed"));
            }
            _ => {}
        }
        if withheld {
            self.state.withheld += 1;
            findings.add(Code::Withheld, format_args!("the texts of the stream at {at} were taken out of the bundle"));
        }
        // The number of a stream is the number of streams that began before it in the same lane.
        let number = self.state.log.counts().streams.saturating_sub(1);
        if let Some(line) = line.as_ref().filter(|line| line.stream != number) {
            let what = format!("the stream at {at} is called number {}, but is number {number}", line.stream);
            findings.add(Code::StreamNumber, what);
        }
        let (id, open) = (line.as_ref().map(|line| &*line.id), self.state.log.open());
        let governed = contexts.begin(bundle, at, commitment, id, (open, withheld), findings, summary)?;
        findings.append(context::profile(at, governed.map(|governed| governed.profile), ticket));
        if governed.is_some_and(|governed| governed.kept) {
            self.kept.insert(slot);
        } else {
            self.kept.remove(&slot);
        }
        Ok(())
    }

    /// Checks the text of a judged entry, an END, or a refused entry.
    fn text(
        &mut self,
        index: u64,
        event: LogEvent,
        record: &Record,
        shared: &mut SessionVerifyState<'a, '_>,
    ) -> Result<(), BundleError> {
        let at = self.state.at(index);
        let SessionVerifyState { facts, findings, summary, .. } = shared;
        match event {
            LogEvent::Entry(opcode, _) => {
                let kept = self.kept.contains(&record.descriptor.slot.get());
                findings.append(text_lane::check(at, opcode, record, kept, facts.image.as_ref()));
            }
            LogEvent::Refusal(fault) => findings.append(text_lane::refusal(at, fault)),
            _ => {}
        }
        let text = self.spans.about(index)?;
        let withheld = self.is_withheld(record.descriptor.slot.get(), facts);
        match &text {
            Some(_) if withheld => withholding::left(at, "the text", findings),
            None if withheld => {}
            Some(text) => {
                let found = span::commitment(text, at, record);
                summary.disclosed += u64::from(found.is_empty());
                findings.append(found);
                if let LogEvent::Entry(opcode, _) = event {
                    findings.append(span::shape(text, at, opcode, record));
                }
            }
            // A refused entry changed nothing, so a replay does not need its text.
            None if matches!(event, LogEvent::Refusal(_)) => {}
            None => findings.add(Code::SpanWithheld, format_args!("the text of {at} is not disclosed")),
        }
        if let (LogEvent::Entry(Opcode::End, _), Some(text)) = (event, &text) {
            findings.append(span::end(text, at));
        }
        // Nothing is released for a refused entry. A receipt for it stays unread, and `finish` reports it.
        let receipt = if matches!(event, LogEvent::Refusal(_)) { None } else { self.receipts.about(index)? };
        if let Some(receipt) = receipt {
            if withheld {
                withholding::left(at, "the receipt", findings);
            }
            findings.append(receipt::check(&receipt, (at, self.state.number), event, text.as_ref(), facts));
        }
        Ok(())
    }

    /// Checks that no lines are left after the last record.
    pub(super) fn finish(&mut self, findings: &mut VerifyFindings) -> Result<(), BundleError> {
        if let Some(index) = self.state.log.overdrawn() {
            let at = self.state.at(index);
            findings.add(Code::HeartbeatGap, format_args!("{at} was accepted after the heartbeat credit was spent"));
        }
        for (name, rest) in [
            (bundle::STREAMS, self.streams.rest()?),
            (bundle::INPUTS, self.inputs.rest()?),
            (bundle::SPANS, self.spans.rest()?),
            (bundle::RECEIPTS, self.receipts.rest()?),
        ] {
            if let Some(index) = rest.filter(|_| !self.state.broken) {
                let name = bundle::in_lane(name, self.state.number);
                let at = self.state.at(index);
                let what = format!("`{name}` has a line about {at}, which has no such line");
                findings.add(Code::LineWithoutRecord, what);
            }
        }
        Ok(())
    }
}
