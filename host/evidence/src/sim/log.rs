//! A card's log in software, for tests: the records and checkpoints that a card would make for given entries.

use crate::format::checkpoint::{head, root_of_heads};
use crate::format::tree;
use portcullis_core::wire::{
    Answer, CHECKPOINT_MAGIC, Checkpoint, Descriptor, Determination, Fault, LAYOUT_VERSION, LaneHead, Life, Opcode,
    ROW_NONE, Record, RecordType, SessionFields, Stage, StageOutcome, flags, lane_of,
};
use zerocopy::{FromBytes, IntoBytes};

/// Clocks from one record to the next.
const CLOCKS: u64 = 400;

/// Fields that are the same in every record and checkpoint of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestCardIdentity {
    pub design_id: [u8; 16],
    pub key_flags: u8,
    /// Random bytes drawn after reset.
    pub boot_nonce: [u8; 16],
    pub epoch: u32,
}

/// The logs of all lanes, and the checkpoints before they are signed.
#[derive(Clone, Debug)]
pub struct TestCardLog {
    pub lanes: Vec<Vec<Record>>,
    /// Checkpoints, in order.
    pub checkpoints: Vec<Checkpoint>,
    /// Heads of all lanes under each checkpoint.
    pub heads: Vec<Vec<LaneHead>>,
    identity: TestCardIdentity,
    session: SessionFields,
    open: Vec<u32>,
    state: Life,
    tick: u64,
    /// Extra clocks before the next record.
    pause: u64,
}

impl TestCardLog {
    /// A log after OPEN and its checkpoint, with `lanes` lanes. `session` holds the digests and the heartbeat limits.
    #[must_use]
    pub fn open(identity: TestCardIdentity, session: SessionFields, lanes: u8) -> Self {
        let lanes = usize::from(lanes);
        let mut log = Self {
            lanes: vec![Vec::new(); lanes],
            checkpoints: Vec::new(),
            heads: Vec::new(),
            identity,
            session,
            open: vec![0; lanes],
            state: Life::Opening,
            tick: 0,
            pause: 0,
        };
        log.session_record(RecordType::Open);
        log.checkpoint();
        log.state = Life::Run;
        log
    }

    #[must_use]
    pub fn lane_of(&self, slot: u16) -> usize {
        u8::try_from(self.lanes.len()).ok().and_then(|lanes| lane_of(slot, lanes)).unwrap_or_default().into()
    }

    /// Adds BEGIN on a free slot, with this context digest.
    pub fn begin(&mut self, slot: u16, context: [u8; 32]) {
        self.count_open(slot, 1);
        self.entry(Opcode::Begin, slot, 0, context, RecordType::Begin);
    }

    /// Adds a judged mutation. The answer names row 0 of both banks.
    pub fn gate(&mut self, slot: u16, sequence: u32, commitment: [u8; 32], determination: Determination) {
        self.entry(Opcode::Gate, slot, sequence, commitment, RecordType::Verdict);
        let Some(record) = self.last_mut(slot) else { return };
        let pass = u8::from(StageOutcome::Pass);
        (record.descriptor.validation_outcome, record.descriptor.lineage_outcome) = (pass, pass);
        record.descriptor = record.descriptor.sealed();
        record.answer.determination = determination.into();
        record.answer.policy_row.set(0);
        let admit = determination == Determination::Admit;
        record.answer.stage = if admit { Stage::None.into() } else { Stage::Policy.into() };
        record.answer.entropy_row.set(0);
    }

    /// Sets two fields of the descriptor in the slot's last record: the length of the span, and whether inert text
    /// precedes it.
    pub fn describe(&mut self, slot: u16, length: u16, held: bool) {
        let Some(record) = self.last_mut(slot) else { return };
        record.descriptor.length.set(length);
        record.descriptor.flags = if held { flags::INERT_PREFIX as u8 } else { 0 };
        record.descriptor = record.descriptor.sealed();
    }

    pub fn note(&mut self, slot: u16, sequence: u32, digest: [u8; 32]) {
        self.entry(Opcode::Note, slot, sequence, digest, RecordType::Note);
    }

    pub fn end(&mut self, slot: u16, sequence: u32, commitment: [u8; 32]) {
        self.count_open(slot, -1);
        self.entry(Opcode::End, slot, sequence, commitment, RecordType::End);
    }

    /// Adds an entry that the card refuses.
    pub fn refuse(&mut self, slot: u16, sequence: u32, fault: Fault) {
        self.entry(Opcode::Gate, slot, sequence, [0; 32], RecordType::Refused);
        if let Some(record) = self.last_mut(slot) {
            record.answer.fault.set(fault.into());
        }
    }

    pub fn heartbeat(&mut self, nonce: u64) {
        self.session.heartbeat_nonce.set(nonce);
        self.session_record(RecordType::Heartbeat);
    }

    /// Adds a sticky fault and its checkpoint.
    pub fn alarm(&mut self, fault: Fault) {
        self.session.cause.set(fault.into());
        self.state = Life::Fault;
        self.session_record(RecordType::Alarm);
        self.checkpoint();
    }

    /// Adds CLOSE and its checkpoint.
    pub fn close(&mut self) {
        self.state = Life::Closing;
        self.session_record(RecordType::Close);
        self.checkpoint();
    }

    /// Adds a checkpoint over the records so far.
    pub fn checkpoint(&mut self) {
        let heads = heads(&self.lanes);
        let checkpoint = Checkpoint {
            magic: CHECKPOINT_MAGIC.into(),
            version: LAYOUT_VERSION,
            key_flags: self.identity.key_flags,
            state: self.state.into(),
            lanes: self.lanes.len() as u8,
            serial: (self.checkpoints.len() as u64).into(),
            size: heads.iter().map(|head| head.size.get()).sum::<u64>().into(),
            tick: (self.tick + CLOCKS).into(),
            root: root_of_heads(&heads),
            policy_digest: self.session.policy_digest,
            ticket_digest: self.session.ticket_digest,
            design_id: self.identity.design_id,
            boot_nonce: self.identity.boot_nonce,
            heartbeat_nonce: self.session.heartbeat_nonce,
            epoch: self.identity.epoch.into(),
            fault: self.session.cause,
            ..Checkpoint::ZERO
        };
        self.checkpoints.push(checkpoint);
        self.heads.push(heads);
    }

    /// Lets clocks pass before the next record.
    pub fn wait(&mut self, clocks: u64) {
        self.pause += clocks;
    }

    fn count_open(&mut self, slot: u16, by: i32) {
        let lane = self.lane_of(slot);
        if let Some(open) = self.open.get_mut(lane) {
            *open = open.saturating_add_signed(by);
        }
    }

    fn last_mut(&mut self, slot: u16) -> Option<&mut Record> {
        let lane = self.lane_of(slot);
        self.lanes.get_mut(lane)?.last_mut()
    }

    fn entry(&mut self, opcode: Opcode, slot: u16, sequence: u32, commitment: [u8; 32], kind: RecordType) {
        let place = portcullis_core::mutation::SlotSequence { slot, sequence };
        self.push(kind, self.lane_of(slot), Descriptor::entry(opcode, place, commitment).sealed());
    }

    /// Adds the same record to every lane's log, each with its own count of open streams.
    fn session_record(&mut self, kind: RecordType) {
        for (lane, open) in self.open.clone().into_iter().enumerate() {
            self.session.open_streams.set(open);
            let half = Descriptor::read_from_bytes(self.session.as_bytes()).unwrap_or(Descriptor::ZERO);
            self.push(kind, lane, half);
        }
    }

    fn push(&mut self, kind: RecordType, lane: usize, descriptor: Descriptor) {
        self.tick += CLOCKS + std::mem::take(&mut self.pause);
        let Some(records) = self.lanes.get_mut(lane) else { return };
        let answer = Answer {
            version: LAYOUT_VERSION,
            record_type: kind.into(),
            policy_row: ROW_NONE.into(),
            entropy_row: ROW_NONE.into(),
            lane: lane as u8,
            key_flags: self.identity.key_flags,
            epoch: self.identity.epoch.into(),
            log_index: (records.len() as u64).into(),
            tick: self.tick.into(),
            ..Answer::ZERO
        };
        records.push(Record { descriptor, answer });
    }
}

/// Heads of lanes with these records.
#[must_use]
pub fn heads<R: AsRef<[Record]>>(lanes: &[R]) -> Vec<LaneHead> {
    let root = |records: &[Record]| tree::root(records.iter().map(|record| tree::leaf(record.as_bytes())));
    let head = |(lane, records): (u8, &R)| head(lane, records.as_ref().len() as u64, root(records.as_ref()));
    (0..).zip(lanes).map(head).collect()
}
