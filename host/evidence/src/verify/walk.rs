//! One pass over the records, with checkpoints, texts, streams and receipts in step: memory does not grow with the log.

use super::complete::Order;
use super::gaps::Heartbeats;
use super::policy::Image;
use super::replayable::Contexts;
use super::{Findings, Options, Property, Summary};
use super::{complete, gaps, genuine, policy, replayable};
use crate::bundle::{self, Bundle, BundleError, Input, Lines, Receipt, Span, Stream};
use crate::certificate::DeviceCertificate;
use crate::checkpoint;
use crate::hex::Hex;
use crate::note::Cosigned;
use crate::record::{self, Rules, Seen};
use crate::ticket::{Signed, Ticket};
use crate::tree::{self, Frontier};
use portcullis_core::wire::{Opcode, Record, RecordType};
use std::collections::BTreeMap;
use std::io::BufRead;
use zerocopy::IntoBytes;

/// Records between two calls of the progress function.
const PROGRESS: u64 = 1 << 16;

/// What is known before the records are read.
pub(super) struct Facts {
    pub(super) ticket: Option<Signed<Ticket>>,
    pub(super) image: Option<Image>,
    pub(super) device: Option<DeviceCertificate>,
    pub(super) notes: BTreeMap<u64, Cosigned>,
}

/// Checks every record and every checkpoint; whether any mark of simulation was found.
pub(super) fn records(
    bundle: &Bundle<'_>,
    facts: &Facts,
    options: Options,
    findings: &mut Findings,
    summary: &mut Summary,
    progress: &mut dyn FnMut(u64),
) -> Result<bool, BundleError> {
    let mut walk = Walk::new(bundle, facts, options, findings, summary)?;
    let mut log = bundle.stream(bundle::RECORDS)?;
    walk.before_records();
    while let Some(record) = walk.read(&mut log)? {
        walk.record(&record)?;
        if walk.tree.size().is_multiple_of(PROGRESS) {
            progress(walk.tree.size());
        }
    }
    progress(walk.tree.size());
    walk.finish()
}

struct Walk<'a, 'b> {
    bundle: &'b Bundle<'a>,
    facts: &'b Facts,
    options: Options,
    findings: &'b mut Findings,
    summary: &'b mut Summary,
    rules: Rules,
    // The rules say nothing of what follows a record that broke one.
    broken: bool,
    tree: Frontier,
    order: Order,
    next: Option<checkpoint::Signed>,
    read: u64,
    heartbeats: Heartbeats,
    contexts: Contexts,
    streams: Lines<'a, Stream>,
    inputs: Lines<'a, Input>,
    spans: Lines<'a, Span>,
    receipts: Lines<'a, Receipt>,
    first_tick: Option<u64>,
    simulated: bool,
}

impl<'a, 'b> Walk<'a, 'b> {
    fn new(
        bundle: &'b Bundle<'a>,
        facts: &'b Facts,
        options: Options,
        findings: &'b mut Findings,
        summary: &'b mut Summary,
    ) -> Result<Self, BundleError> {
        // Without an image the rows that records name cannot be checked.
        let rows = facts
            .image
            .as_ref()
            .map_or((u16::MAX, u16::MAX), |image| (image.header.policy_rows.get(), image.header.entropy_rows.get()));
        let mut walk = Self {
            bundle,
            facts,
            options,
            findings,
            summary,
            rules: Rules::new(rows),
            broken: false,
            tree: Frontier::new(),
            order: Order::default(),
            next: None,
            read: 0,
            heartbeats: Heartbeats::new(&facts.notes),
            contexts: Contexts::default(),
            streams: bundle.streams()?,
            inputs: bundle.inputs()?,
            spans: bundle.spans()?,
            receipts: bundle.receipts()?,
            first_tick: None,
            simulated: false,
        };
        walk.advance()?;
        Ok(walk)
    }

    fn before_records(&mut self) {
        if let Some(ticket) = &self.facts.ticket {
            policy::ticket(&ticket.content, self.facts.image.as_ref(), self.findings);
            if let Some(device) = &self.facts.device {
                gaps::key(&ticket.content, device, self.findings);
            }
        }
    }

    /// The next record; a log that ends within one is cut there.
    fn read(&mut self, log: &mut dyn BufRead) -> Result<Option<Record>, BundleError> {
        match record::read(&mut { log }) {
            Ok(record) => Ok(record),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let what = format!("the log ends within record {}", self.tree.size());
                self.findings.contradict(Property::Complete, "records-truncated", what);
                Ok(None)
            }
            Err(source) => Err(BundleError::Io { name: bundle::RECORDS.to_owned(), source }),
        }
    }

    fn record(&mut self, record: &Record) -> Result<(), BundleError> {
        let index = self.tree.size();
        self.tree.push(tree::leaf(record.as_bytes()));
        if !self.broken {
            match self.rules.next(record) {
                Ok(seen) => self.seen(index, seen, record)?,
                Err(violation) => {
                    self.broken = true;
                    self.findings.contradict(
                        Property::Complete,
                        violation.code(),
                        format!("record {index}: {violation}"),
                    );
                }
            }
        }
        self.checkpoints()
    }

    fn seen(&mut self, index: u64, seen: Seen, record: &Record) -> Result<(), BundleError> {
        let commitment = &record.descriptor.commitment;
        match seen {
            Seen::Session(kind, session) => {
                let ticket = self.facts.ticket.as_ref();
                policy::session(kind, &session, self.facts.image.as_ref(), self.findings);
                self.heartbeats.session(kind, &session, ticket, self.order.count(), self.findings);
                if kind == RecordType::Open {
                    self.first_tick = Some(record.answer.tick.get());
                }
            }
            Seen::Entry(Opcode::Begin, _) => {
                let ticket = self.facts.ticket.as_ref().map(|ticket| &ticket.content);
                policy::context(commitment, ticket, self.findings);
                let line = self.streams.about(index)?;
                if self.inputs.about(index)?.is_none() {
                    replayable::input_withheld(index, self.findings);
                }
                let (id, open) = (line.as_ref().map(|line| &*line.id), self.rules.open());
                self.contexts.begin(self.bundle, index, commitment, id, open, self.findings, self.summary)?;
            }
            Seen::Entry(Opcode::Gate | Opcode::End, _) | Seen::Refused(_) => {
                let span = self.spans.about(index)?;
                match &span {
                    Some(span) => genuine::span(span, record, self.findings, self.summary),
                    // A refused entry changed nothing, so that a replay can do without its text.
                    None if matches!(seen, Seen::Refused(_)) => {}
                    None => replayable::withheld(index, self.findings),
                }
                if let Some(receipt) = self.receipts.about(index)? {
                    genuine::receipt(&receipt, seen, span.as_ref(), self.facts, self.findings);
                }
            }
            Seen::Entry(Opcode::Note, _) => {}
        }
        Ok(())
    }

    /// Checks the checkpoints that are due at the records so far.
    fn checkpoints(&mut self) -> Result<(), BundleError> {
        while let Some(signed) = self.next.take_if(|next| next.checkpoint.wire.size.get() <= self.tree.size()) {
            complete::root(&signed.checkpoint, &self.tree, self.findings);
            if !self.broken {
                complete::state(&signed.checkpoint, &self.rules, self.findings);
            }
            self.checkpoint(&signed);
            self.advance()?;
        }
        Ok(())
    }

    /// Checks that need the checkpoint alone.
    fn checkpoint(&mut self, signed: &checkpoint::Signed) {
        let checkpoint = &signed.checkpoint;
        self.order.check(checkpoint, self.findings);
        self.simulated |= genuine::checkpoint(signed, self.facts, self.options, self.findings);
        policy::checkpoint(checkpoint, self.facts.image.as_ref(), self.findings);
        gaps::checkpoint(checkpoint, self.facts.ticket.as_ref(), &self.facts.notes, self.findings);
    }

    /// Reads the next checkpoint. One that is malformed is passed over, with its finding.
    fn advance(&mut self) -> Result<(), BundleError> {
        while self.next.is_none() && self.read < self.bundle.checkpoints() {
            let serial = self.read;
            self.read += 1;
            match checkpoint::Signed::parse(&self.bundle.read(&bundle::checkpoint(serial))?) {
                Ok(signed) => self.next = Some(signed),
                Err(error) => {
                    let what = format!("checkpoint {serial}: {error}");
                    self.findings.contradict(Property::Genuine, "checkpoint-malformed", what);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<bool, BundleError> {
        while let Some(signed) = self.next.take() {
            self.checkpoint(&signed);
            self.advance()?;
        }
        let records = self.tree.size();
        gaps::credit(self.rules.overdrawn(), self.findings);
        self.summary.records = records;
        self.summary.signed_records = complete::end(&self.order, records, self.findings);
        self.summary.last_checkpoint = self.order.last().map(|last| Hex(last.digest()));
        self.summary.ticks = self.first_tick.map(|first| (first, self.rules.tick()));
        self.summary.counts = self.rules.counts().clone();
        for (name, rest) in [
            (bundle::STREAMS, self.streams.rest()?),
            (bundle::INPUTS, self.inputs.rest()?),
            (bundle::SPANS, self.spans.rest()?),
            (bundle::RECEIPTS, self.receipts.rest()?),
        ] {
            if let Some(index) = rest.filter(|_| !self.broken) {
                let what = format!("`{name}` has a line about record {index}, which has no such line");
                self.findings.contradict(Property::Genuine, "line-without-record", what);
            }
        }
        Ok(self.simulated)
    }
}
