//! One lane: fetching, judging, records, completions, doorbells.

use std::collections::VecDeque;

use portcullis_core::wire::{
    self, Answer, Completion, Descriptor, Determination, Fault, ImageHeader, LAYOUT_VERSION, LOG_STRIDE, Opcode,
    ROW_NONE, Record, RecordType, Stage,
};
use portcullis_policy::evaluate::{Evaluator, Verdict};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, IntoBytes};

use super::decode::Register;
use super::entry::{Slot, first_fault, slot_after};
use super::heartbeat::Credit;
use super::{KEY_FLAGS, LOG_LOG2_MAX, MAX_STREAMS, ModelCard, RING_LOG2_MAX};
use crate::session::{LOG_LOG2_MIN, RING_LOG2_MIN};

/// Entries that are fetched ahead.
const FETCH_AHEAD: usize = 64;

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Counters {
    pub(super) verdicts: u32,
    pub(super) admits: u32,
    pub(super) rejects: u32,
    pub(super) decomposes: u32,
    pub(super) refused: u32,
    pub(super) busy_clocks: u64,
}

/// Ring configuration, latched at OPEN.
#[derive(Debug, Default, Clone, Copy)]
struct Rings {
    submissions: u64,
    completions: u64,
    log: u64,
    ring_log2: u8,
    log_log2: u8,
}

#[derive(Debug, Default)]
pub(super) struct Lane {
    rings: Rings,
    header: Option<ImageHeader>,
    evaluator: Option<Evaluator>,
    epoch: u32,
    policy_digest: [u8; 32],
    ticket_digest: [u8; 32],
    pub(super) credit: Credit,
    slots: Vec<Slot>,
    fetched_entries: VecDeque<(u16, Descriptor)>,
    /// Doorbells.
    sq_tail: u16,
    cq_head: u16,
    log_head: u32,
    /// Entries fetched, completions and records written.
    pub(super) fetched: u16,
    pub(super) cq_issued: u16,
    pub(super) log_issued: u32,
    /// Records since OPEN.
    pub(super) records: u64,
    pub(super) open_streams: u32,
    pub(super) counters: Counters,
    /// The bus does not answer any more.
    pub(super) bus_dead: bool,
}

impl Lane {
    fn ring_size(&self) -> u16 {
        1 << self.rings.ring_log2
    }

    fn cq_full(&self) -> bool {
        self.cq_issued.wrapping_sub(self.cq_head) >= self.ring_size()
    }

    pub(super) fn log_full(&self) -> bool {
        self.log_issued.wrapping_sub(self.log_head) >= 1 << self.rings.log_log2
    }

    pub(super) fn policy_digest_word(&self, word: u8) -> u32 {
        let at = usize::from(word) * 4;
        let bytes = self.policy_digest.get(at..at + 4).and_then(|b| b.try_into().ok()).unwrap_or_default();
        u32::from_le_bytes(bytes)
    }

    /// Nothing fetched waits for its answer.
    pub(super) fn idle(&self) -> bool {
        self.fetched_entries.is_empty()
    }

    /// Everything that the tail announces was fetched.
    pub(super) fn nothing_to_fetch(&self) -> bool {
        self.fetched == self.sq_tail
    }

    /// What was fetched is forgotten.
    pub(super) fn drop_fetched(&mut self) {
        self.fetched_entries.clear();
    }

    /// The image header's declarations and depth do not change while a session lasts.
    fn header(&self) -> ImageHeader {
        self.header.unwrap_or(ImageHeader::ZERO)
    }
}

/// A ring of `2^log2` entries starts at a page and ends within the address space.
fn base_fits(base: u64, log2: u8, entry_bytes: u64) -> bool {
    base.is_multiple_of(4096) && base.checked_add((entry_bytes << log2) - 1).is_some()
}

impl ModelCard {
    /// Latches the session and zeroes everything that counts from OPEN; false when the rings are not allowed.
    pub(super) fn open_lane(&mut self, rows: &(Vec<wire::Row>, Vec<wire::Row>), policy_digest: [u8; 32]) -> bool {
        let header = self.tables.header();
        let rings = Rings {
            submissions: self.address(Register::SqLo, Register::SqHi),
            completions: self.address(Register::CqLo, Register::CqHi),
            log: self.address(Register::LogLo, Register::LogHi),
            ring_log2: (self.value(Register::SqSize) & 0xff) as u8,
            log_log2: (self.value(Register::LogSize) & 0xff) as u8,
        };
        let fits = (RING_LOG2_MIN..=RING_LOG2_MAX).contains(&rings.ring_log2)
            && (LOG_LOG2_MIN..=LOG_LOG2_MAX).contains(&rings.log_log2)
            && base_fits(rings.submissions, rings.ring_log2, Descriptor::BYTES as u64)
            && base_fits(rings.completions, rings.ring_log2, Completion::BYTES as u64)
            && base_fits(rings.log, rings.log_log2, LOG_STRIDE as u64);
        self.lane = Lane {
            rings,
            header: Some(header),
            evaluator: fits.then(|| Evaluator::of_rows(&rows.0, &rows.1, header.max_depth)),
            epoch: self.value(Register::Epoch),
            policy_digest,
            ticket_digest: self.digest(Register::TicketDigest),
            credit: Credit::new(
                self.value(Register::HeartbeatRecords),
                self.value(Register::HeartbeatTicks),
                self.tick,
            ),
            slots: vec![None; MAX_STREAMS as usize],
            ..Lane::default()
        };
        fits
    }

    /// A doorbell while its ring is live: false when it is out of range, and nothing moves then.
    pub(super) fn ring_doorbell(&mut self, register: Register, value: u32) -> bool {
        let lane = &mut self.lane;
        let counter = u16::try_from(value).ok();
        match (register, counter) {
            (Register::SqTail, Some(tail)) => {
                // Entries submitted and not completed, before and after.
                let now = lane.sq_tail.wrapping_sub(lane.cq_issued);
                let then = tail.wrapping_sub(lane.cq_issued);
                let fits = then <= lane.ring_size() && then >= now;
                if fits {
                    lane.sq_tail = tail;
                }
                fits
            }
            (Register::CqHead, Some(head)) => {
                let fits = head.wrapping_sub(lane.cq_head) <= lane.cq_issued.wrapping_sub(lane.cq_head);
                if fits {
                    lane.cq_head = head;
                }
                fits
            }
            (Register::LogHead, _) => {
                let fits = value.wrapping_sub(lane.log_head) <= lane.log_issued.wrapping_sub(lane.log_head);
                if fits {
                    lane.log_head = value;
                }
                fits
            }
            _ => false,
        }
    }

    /// Fetches what the tail announces, as far as there is room. `Err` is a bus error.
    pub(super) fn fetch(&mut self) -> Result<(), Fault> {
        while self.lane.fetched != self.lane.sq_tail && self.lane.fetched_entries.len() < FETCH_AHEAD {
            let lane = &mut self.lane;
            let index = lane.fetched;
            let place = u64::from(index) & ((1 << lane.rings.ring_log2) - 1);
            let address = lane.rings.submissions.wrapping_add(place * Descriptor::BYTES as u64);
            let bytes = self.memory.read::<{ Descriptor::BYTES }>(address).ok_or(Fault::ReadResponse)?;
            let entry = Descriptor::read_from_bytes(&bytes).map_err(|_| Fault::ReadResponse)?;
            lane.fetched_entries.push_back((index, entry));
            lane.fetched = index.wrapping_add(1);
        }
        Ok(())
    }

    /// Answers what was fetched, while both rings have room. `Err` is a bus error.
    pub(super) fn answer_fetched(&mut self) -> Result<(), Fault> {
        while !self.lane.log_full() && !self.lane.cq_full() {
            let Some((index, entry)) = self.lane.fetched_entries.pop_front() else { break };
            self.answer(index, &entry)?;
        }
        Ok(())
    }

    fn answer(&mut self, index: u16, entry: &Descriptor) -> Result<(), Fault> {
        let header = self.lane.header();
        let slot = self.lane.slots.get_mut(usize::from(entry.slot.get()));
        let fault = match first_fault(entry, &header, slot.as_deref().copied()) {
            Fault::None if self.lane.credit.spent(self.tick) => Fault::Credit,
            fault => fault,
        };
        let opcode = Opcode::try_from(entry.opcode);
        let none =
            Verdict { determination: Determination::None, stage: Stage::None, policy_row: None, entropy_row: None };
        let (record_type, verdict) = match (fault, opcode, &self.lane.evaluator) {
            (Fault::None, Ok(Opcode::Gate), Some(evaluator)) => (RecordType::Verdict, evaluator.judge(entry)),
            (Fault::None, Ok(Opcode::Begin), _) => (RecordType::Begin, none),
            (Fault::None, Ok(Opcode::End), _) => (RecordType::End, none),
            (Fault::None, Ok(Opcode::Note), _) => (RecordType::Note, none),
            _ => (RecordType::Refused, none),
        };
        if let (Fault::None, Some(slot)) = (fault, slot) {
            let after = slot_after(entry);
            match (slot.is_some(), after.is_some()) {
                (false, true) => self.lane.open_streams += 1,
                (true, false) => self.lane.open_streams -= 1,
                _ => {}
            }
            *slot = after;
            self.lane.credit.accept();
        }
        self.count(record_type, verdict.determination, &header);
        let row = |row: Option<u16>| U16::new(row.unwrap_or(ROW_NONE));
        let answer = Answer {
            record_type: record_type as u8,
            determination: verdict.determination.into(),
            stage: verdict.stage.into(),
            fault: U16::new(fault.into()),
            policy_row: row(verdict.policy_row),
            entropy_row: row(verdict.entropy_row),
            ..self.blank_answer()
        };
        let log_index = self.write_record(entry, answer)?;
        let completion = Completion {
            ring_index: U16::new(index),
            phase: u8::from(self.lane.cq_issued >> self.lane.rings.ring_log2 & 1 == 0),
            determination: answer.determination,
            stage: answer.stage,
            fault: answer.fault,
            policy_row: answer.policy_row,
            entropy_row: answer.entropy_row,
            slot: entry.slot,
            sequence: entry.sequence,
            epoch: answer.epoch,
            log_index: U64::new(log_index),
            ..Completion::ZERO
        };
        let place = u64::from(self.lane.cq_issued & (self.lane.ring_size() - 1));
        let address = self.lane.rings.completions.wrapping_add(place * Completion::BYTES as u64);
        self.memory.write(address, completion.sealed().as_bytes()).ok_or(Fault::WriteResponse)?;
        self.lane.cq_issued = self.lane.cq_issued.wrapping_add(1);
        Ok(())
    }

    fn count(&mut self, record_type: RecordType, determination: Determination, header: &ImageHeader) {
        let counters = &mut self.lane.counters;
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
                // Both banks sweep together, a row a clock.
                counters.busy_clocks += u64::from(header.policy_rows.get().max(header.entropy_rows.get()));
            }
            _ => {}
        }
    }

    fn blank_answer(&self) -> Answer {
        Answer {
            version: LAYOUT_VERSION,
            policy_row: U16::new(ROW_NONE),
            entropy_row: U16::new(ROW_NONE),
            key_flags: KEY_FLAGS,
            epoch: U32::new(self.lane.epoch),
            tick: U64::new(self.tick),
            ..Answer::ZERO
        }
    }

    /// Writes a record to the log ring, which has room; gives its log index.
    fn write_record(&mut self, half: &Descriptor, answer: Answer) -> Result<u64, Fault> {
        self.tick += 1;
        let lane = &mut self.lane;
        let index = lane.records;
        let record = Record { descriptor: *half, answer: Answer { log_index: U64::new(index), ..answer } };
        let place = u64::from(lane.log_issued) & ((1 << lane.rings.log_log2) - 1);
        let address = lane.rings.log.wrapping_add(place * LOG_STRIDE as u64);
        lane.records += 1;
        self.memory.write(address, record.as_bytes()).ok_or(Fault::WriteResponse)?;
        lane.log_issued = lane.log_issued.wrapping_add(1);
        Ok(index)
    }

    /// Writes a record of the session.
    pub(super) fn write_session_record(&mut self, record_type: RecordType, cause: Fault) -> Result<(), Fault> {
        let header = self.lane.header();
        let credit = self.lane.credit;
        let session = wire::Session {
            policy_digest: self.lane.policy_digest,
            package_digest: header.package_digest,
            ticket_digest: self.lane.ticket_digest,
            heartbeat_nonce: U64::new(credit.nonce),
            heartbeat_records: U32::new(credit.records_limit),
            heartbeat_ticks: U32::new(credit.ticks_limit),
            open_streams: U32::new(self.lane.open_streams),
            cause: U16::new(cause.into()),
            ..wire::Session::ZERO
        };
        let half = Descriptor::read_from_bytes(session.as_bytes()).unwrap_or(Descriptor::ZERO);
        let fault = U16::new(cause.into());
        let answer = Answer { record_type: record_type as u8, fault, ..self.blank_answer() };
        self.write_record(&half, answer).map(|_| ())
    }
}
