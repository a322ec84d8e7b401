//! A lane: fetching, judging, records, completions, doorbells.

use std::collections::VecDeque;
use std::sync::Arc;

use portcullis_core::class::ClassSet;
use portcullis_core::wire::{
    self, Answer, Completion, Descriptor, Determination, Fault, ImageHeader, LAYOUT_VERSION, LOG_STRIDE, Opcode,
    ROW_NONE, Record, RecordType, Stage, features,
};
use portcullis_image::{EntryVerdict, ImageEvaluator};
use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, IntoBytes};

use super::capacity::{KEY_FLAGS, LOG_LOG2_MAX, MAX_STREAMS, RING_LOG2_MAX};
use super::credit::HeartbeatCredit;
use super::decode::Queue;
use super::entry::{Slot, first_fault, slot_after};
use super::host_memory::HostMemory;
use super::text::{CardModelScan, TextLaneModel, TextState};
use crate::limits::{LOG_LOG2_MIN, RING_LOG2_MIN};
use crate::registers;

const FETCH_AHEAD: usize = 64;

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LaneModelCounters {
    pub(super) verdicts: u32,
    pub(super) admits: u32,
    pub(super) rejects: u32,
    pub(super) decomposes: u32,
    pub(super) refused: u32,
    pub(super) busy_clocks: u64,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct RingRegisters {
    pub(super) submissions: u64,
    pub(super) completions: u64,
    pub(super) log: u64,
    pub(super) ring_log2: u8,
    pub(super) log_log2: u8,
}

/// Host memory, and the card's clock.
#[derive(Debug, Default)]
pub(super) struct HostBus {
    pub(super) memory: HostMemory,
    pub(super) tick: u64,
}

/// Fields that all lanes of a session share, latched at OPEN.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLatch {
    pub(super) header: ImageHeader,
    pub(super) epoch: u32,
    pub(super) policy_digest: [u8; 32],
    pub(super) ticket_digest: [u8; 32],
    pub(super) lanes: u8,
}

impl Default for SessionLatch {
    fn default() -> Self {
        Self { header: ImageHeader::ZERO, epoch: 0, policy_digest: [0; 32], ticket_digest: [0; 32], lanes: 1 }
    }
}

impl SessionLatch {
    pub(super) fn policy_digest_word(&self, word: u8) -> u32 {
        let words = registers::words_of::<32, 8>(self.policy_digest);
        words.get(usize::from(word)).copied().unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub(super) struct LaneModel {
    number: u8,
    pub(super) rings: RingRegisters,
    evaluator: Option<ImageEvaluator>,
    /// The text lane, if this session uses it.
    text: Option<Arc<TextLaneModel>>,
    /// The text lane's state of each slot.
    texts: Vec<TextState>,
    pub(super) credit: HeartbeatCredit,
    /// Indexed by slot; slots of other lanes are never open.
    slots: Vec<Slot>,
    fetched_entries: VecDeque<(u16, Descriptor)>,
    /// The last doorbell values.
    sq_tail: u16,
    cq_head: u16,
    log_head: u32,
    pub(super) fetched: u16,
    pub(super) cq_issued: u16,
    pub(super) log_issued: u32,
    /// Records since OPEN.
    pub(super) records: u64,
    pub(super) open_streams: u32,
    pub(super) counters: LaneModelCounters,
    /// True from the OPEN record to the CLOSE record.
    pub(super) log_open: bool,
    /// Records that are still to be written in FAULT.
    pub(super) alarm_due: bool,
    pub(super) close_due: bool,
    /// Whether a heartbeat waits for room in the log.
    pub(super) heartbeat_due: bool,
}

impl LaneModel {
    pub(super) fn new(number: u8) -> Self {
        Self { number, ..Self::default() }
    }

    pub(super) fn open(
        number: u8,
        rings: RingRegisters,
        evaluator: ImageEvaluator,
        credit: HeartbeatCredit,
        text: Option<Arc<TextLaneModel>>,
    ) -> Self {
        let slots = vec![None; MAX_STREAMS as usize];
        let texts = vec![TextState::NEW; if text.is_some() { slots.len() } else { 0 }];
        Self { rings, evaluator: Some(evaluator), text, texts, credit, slots, ..Self::new(number) }
    }

    /// Reads and judges the text of an entry that has no other fault; `None` for an entry without a text.
    fn text(&self, bus: &HostBus, entry: &Descriptor) -> Result<Option<CardModelScan>, Fault> {
        let opcode = Opcode::try_from(entry.opcode).ok().filter(|code| matches!(code, Opcode::Gate | Opcode::End));
        let (Some(lane), Some(opcode)) = (&self.text, opcode) else { return Ok(None) };
        let state = self.texts.get(usize::from(entry.slot.get())).ok_or(Fault::Slot)?;
        lane.read(&bus.memory, entry, opcode, state).map(Some)
    }

    /// The entry with the classes that the banks compare: those of host and card, combined.
    fn compared(&self, entry: &Descriptor, text: Option<&CardModelScan>) -> Descriptor {
        let (Some(text), Some(lane)) = (text, &self.text) else { return *entry };
        let joined = |host: U128, found| U128::new(ClassSet(host.get()).joined(found, lane.opening).0);
        Descriptor {
            classes: joined(entry.classes, text.classes),
            established: joined(entry.established, text.established),
            ..*entry
        }
    }

    fn ring_size(&self) -> u16 {
        1 << self.rings.ring_log2
    }

    fn cq_full(&self) -> bool {
        self.cq_issued.wrapping_sub(self.cq_head) >= self.ring_size()
    }

    pub(super) fn log_full(&self) -> bool {
        self.log_issued.wrapping_sub(self.log_head) >= 1 << self.rings.log_log2
    }

    /// Whether every fetched entry has its answer.
    pub(super) fn is_idle(&self) -> bool {
        self.fetched_entries.is_empty()
    }

    pub(super) fn drop_fetched(&mut self) {
        self.fetched_entries.clear();
    }

    /// Ends the session in any state of the lane.
    pub(super) fn end(&mut self) {
        self.drop_fetched();
        (self.log_open, self.alarm_due, self.close_due, self.heartbeat_due) = (false, false, false, false);
    }
}

/// Whether a ring of `2^log2` entries starts at a page border and ends within the address space.
fn base_fits(base: u64, log2: u8, entry_bytes: u64) -> bool {
    base.is_multiple_of(4096) && base.checked_add((entry_bytes << log2) - 1).is_some()
}

impl RingRegisters {
    pub(super) fn fit(&self) -> bool {
        (RING_LOG2_MIN..=RING_LOG2_MAX).contains(&self.ring_log2)
            && (LOG_LOG2_MIN..=LOG_LOG2_MAX).contains(&self.log_log2)
            && base_fits(self.submissions, self.ring_log2, Descriptor::BYTES as u64)
            && base_fits(self.completions, self.ring_log2, Completion::BYTES as u64)
            && base_fits(self.log, self.log_log2, LOG_STRIDE as u64)
    }
}

impl LaneModel {
    /// Applies a doorbell of a live ring. False if the value is out of range; the ring then does not move.
    pub(super) fn doorbell(&mut self, queue: Queue, value: u32) -> bool {
        let counter = u16::try_from(value).ok();
        match (queue, counter) {
            (Queue::SqTail, Some(tail)) => {
                // Entries submitted but not completed, before and after the doorbell.
                let now = self.sq_tail.wrapping_sub(self.cq_issued);
                let then = tail.wrapping_sub(self.cq_issued);
                let fits = then <= self.ring_size() && then >= now;
                if fits {
                    self.sq_tail = tail;
                }
                fits
            }
            (Queue::CqHead, Some(head)) => {
                let fits = head.wrapping_sub(self.cq_head) <= self.cq_issued.wrapping_sub(self.cq_head);
                if fits {
                    self.cq_head = head;
                }
                fits
            }
            (Queue::LogHead, _) => {
                let fits = value.wrapping_sub(self.log_head) <= self.log_issued.wrapping_sub(self.log_head);
                if fits {
                    self.log_head = value;
                }
                fits
            }
            _ => false,
        }
    }

    /// Does all work that the lane can do in RUN now. `nonce` is the nonce of the last presented heartbeat. `Err` is a
    /// bus error.
    pub(super) fn run(&mut self, bus: &mut HostBus, opened: &SessionLatch, nonce: u64) -> Result<(), Fault> {
        loop {
            if self.heartbeat_due && self.is_idle() && !self.log_full() {
                self.heartbeat_due = false;
                self.credit.renew(nonce, bus.tick);
                self.write_session_record(bus, opened, RecordType::Heartbeat, Fault::None)?;
            }
            self.fetch(bus)?;
            self.answer_fetched(bus, opened)?;
            // Nothing more can be done: a ring is full, or all entries are fetched and answered.
            if !self.is_idle() || self.fetched == self.sq_tail {
                return Ok(());
            }
        }
    }

    /// Fetches the entries up to the tail while there is room. `Err` is a bus error.
    fn fetch(&mut self, bus: &HostBus) -> Result<(), Fault> {
        while self.fetched != self.sq_tail && self.fetched_entries.len() < FETCH_AHEAD {
            let index = self.fetched;
            let place = u64::from(index) & ((1 << self.rings.ring_log2) - 1);
            let address = self.rings.submissions.wrapping_add(place * Descriptor::BYTES as u64);
            let bytes = bus.memory.read::<{ Descriptor::BYTES }>(address).ok_or(Fault::ReadResponse)?;
            let entry = Descriptor::read_from_bytes(&bytes).map_err(|_| Fault::ReadResponse)?;
            self.fetched_entries.push_back((index, entry));
            self.fetched = index.wrapping_add(1);
        }
        Ok(())
    }

    /// Answers the fetched entries while both rings have room. `Err` is a bus error.
    pub(super) fn answer_fetched(&mut self, bus: &mut HostBus, opened: &SessionLatch) -> Result<(), Fault> {
        while !self.log_full() && !self.cq_full() {
            let Some((index, entry)) = self.fetched_entries.pop_front() else { break };
            self.answer(bus, opened, index, &entry)?;
        }
        Ok(())
    }

    fn answer(
        &mut self,
        bus: &mut HostBus,
        opened: &SessionLatch,
        index: u16,
        entry: &Descriptor,
    ) -> Result<(), Fault> {
        let header = &opened.header;
        let own = wire::lane_of(entry.slot.get(), opened.lanes) == Some(self.number);
        let place = usize::from(entry.slot.get());
        let slot = self.slots.get(place).filter(|_| own).copied();
        let (fault, text) = match first_fault(entry, header, slot) {
            Fault::None => match self.text(bus, entry) {
                Ok(_) if self.credit.is_spent(bus.tick) => (Fault::Credit, None),
                Ok(text) => (Fault::None, text),
                Err(fault) => (fault, None),
            },
            fault => (fault, None),
        };
        let opcode = Opcode::try_from(entry.opcode);
        let none = EntryVerdict {
            determination: Determination::None,
            stage: Stage::None,
            policy_row: None,
            entropy_row: None,
        };
        let (record_type, verdict) = match (fault, opcode, &self.evaluator) {
            (Fault::None, Ok(Opcode::Gate), Some(evaluator)) => {
                (RecordType::Verdict, evaluator.judge(&self.compared(entry, text.as_ref())))
            }
            (Fault::None, Ok(Opcode::Begin), _) => (RecordType::Begin, none),
            (Fault::None, Ok(Opcode::End), _) => (RecordType::End, none),
            (Fault::None, Ok(Opcode::Note), _) => (RecordType::Note, none),
            _ => (RecordType::Refused, none),
        };
        if let (Fault::None, Some(slot)) = (fault, self.slots.get_mut(place)) {
            let after = slot_after(entry, *slot);
            match (slot.is_some(), after.is_some()) {
                (false, true) => self.open_streams += 1,
                (true, false) => self.open_streams -= 1,
                _ => {}
            }
            *slot = after;
            self.credit.accept();
        }
        if let Some(state) = self.texts.get_mut(place) {
            match (record_type, text) {
                (RecordType::Begin, _) => *state = TextState::NEW,
                (RecordType::Verdict, Some(text)) if verdict.determination == Determination::Admit => {
                    *state = text.admitted();
                }
                _ => {}
            }
        }
        self.count(record_type, verdict.determination, header);
        let row = |row: Option<u16>| U16::new(row.unwrap_or(ROW_NONE));
        let answer = Answer {
            record_type: record_type as u8,
            determination: verdict.determination.into(),
            stage: verdict.stage.into(),
            fault: U16::new(fault.into()),
            policy_row: row(verdict.policy_row),
            entropy_row: row(verdict.entropy_row),
            text_classes: U128::new(text.map_or(0, |text| text.classes.0)),
            text_established: U128::new(text.map_or(0, |text| text.established.0)),
            ..self.blank_answer(bus, opened)
        };
        let log_index = self.write_record(bus, entry, answer)?;
        let completion = Completion {
            ring_index: U16::new(index),
            phase: u8::from(self.cq_issued >> self.rings.ring_log2 & 1 == 0),
            determination: answer.determination,
            stage: answer.stage,
            fault: answer.fault,
            policy_row: answer.policy_row,
            entropy_row: answer.entropy_row,
            slot: entry.slot,
            sequence: entry.sequence,
            epoch: answer.epoch,
            log_index: U64::new(log_index),
            text_classes: answer.text_classes,
            ..Completion::ZERO
        };
        let place = u64::from(self.cq_issued & (self.ring_size() - 1));
        let address = self.rings.completions.wrapping_add(place * Completion::BYTES as u64);
        bus.memory.write(address, completion.sealed().as_bytes()).ok_or(Fault::WriteResponse)?;
        self.cq_issued = self.cq_issued.wrapping_add(1);
        Ok(())
    }

    fn count(&mut self, record_type: RecordType, determination: Determination, header: &ImageHeader) {
        let counters = &mut self.counters;
        let add = |counter: &mut u32| *counter = counter.wrapping_add(1);
        match record_type {
            RecordType::Refused => add(&mut counters.refused),
            RecordType::Verdict => {
                add(&mut counters.verdicts);
                match determination {
                    Determination::Admit => add(&mut counters.admits),
                    Determination::Decompose => add(&mut counters.decomposes),
                    Determination::Reject | Determination::None => add(&mut counters.rejects),
                }
                // Both banks sweep at once, at one row per clock.
                counters.busy_clocks += u64::from(header.policy_rows.get().max(header.entropy_rows.get()));
            }
            _ => {}
        }
    }

    fn blank_answer(&self, bus: &HostBus, opened: &SessionLatch) -> Answer {
        Answer {
            version: LAYOUT_VERSION,
            policy_row: U16::new(ROW_NONE),
            entropy_row: U16::new(ROW_NONE),
            key_flags: KEY_FLAGS,
            epoch: U32::new(opened.epoch),
            lane: self.number,
            tick: U64::new(bus.tick),
            ..Answer::ZERO
        }
    }

    /// Writes a record to the log ring, which must have room; returns its log index.
    fn write_record(&mut self, bus: &mut HostBus, half: &Descriptor, answer: Answer) -> Result<u64, Fault> {
        bus.tick += 1;
        let index = self.records;
        let record = Record { descriptor: *half, answer: Answer { log_index: U64::new(index), ..answer } };
        let place = u64::from(self.log_issued) & ((1 << self.rings.log_log2) - 1);
        let address = self.rings.log.wrapping_add(place * LOG_STRIDE as u64);
        self.records += 1;
        bus.memory.write(address, record.as_bytes()).ok_or(Fault::WriteResponse)?;
        self.log_issued = self.log_issued.wrapping_add(1);
        Ok(index)
    }

    pub(super) fn write_session_record(
        &mut self,
        bus: &mut HostBus,
        opened: &SessionLatch,
        record_type: RecordType,
        cause: Fault,
    ) -> Result<(), Fault> {
        let session = wire::SessionFields {
            policy_digest: opened.policy_digest,
            package_digest: opened.header.package_digest,
            ticket_digest: opened.ticket_digest,
            heartbeat_nonce: U64::new(self.credit.nonce),
            heartbeat_records: U32::new(self.credit.records_limit),
            heartbeat_ticks: U32::new(self.credit.ticks_limit),
            open_streams: U32::new(self.open_streams),
            cause: U16::new(cause.into()),
            features: U16::new(if self.text.is_some() { features::TEXT_LANE } else { 0 }),
            ..wire::SessionFields::ZERO
        };
        let half = Descriptor::read_from_bytes(session.as_bytes()).unwrap_or(Descriptor::ZERO);
        let fault = U16::new(cause.into());
        let answer = Answer { record_type: record_type as u8, fault, ..self.blank_answer(bus, opened) };
        self.write_record(bus, &half, answer).map(|_| ())
    }
}
