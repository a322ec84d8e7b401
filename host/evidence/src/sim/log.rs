//! A card's log in software: records and checkpoints as a card would make them of the same entries. For tests.

use crate::checkpoint::root_of_lane;
use crate::tree;
use portcullis_core::wire::{
    Answer, CHECKPOINT_MAGIC, Checkpoint, Descriptor, Determination, Fault, LAYOUT_VERSION, Life, Opcode, ROW_NONE,
    Record, RecordType, Session, Stage, StageOutcome,
};
use zerocopy::{FromBytes, IntoBytes};

/// Clocks from one record to the next.
const CLOCKS: u64 = 400;

/// What every record and checkpoint of a session has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Design of the card.
    pub design_id: [u8; 16],
    /// Kind of key.
    pub key_flags: u8,
    /// Drawn after reset.
    pub boot_nonce: [u8; 16],
    /// Epoch of the session.
    pub epoch: u32,
}

/// A log and its checkpoints, not yet signed.
#[derive(Clone, Debug)]
pub struct Log {
    /// Records of lane 0.
    pub records: Vec<Record>,
    /// Checkpoints, in order.
    pub checkpoints: Vec<Checkpoint>,
    identity: Identity,
    session: Session,
    state: Life,
    /// Clocks more before the next record.
    pause: u64,
}

impl Log {
    /// After OPEN and its checkpoint. `session` holds the digests and the heartbeat limits.
    #[must_use]
    pub fn open(identity: Identity, session: Session) -> Self {
        let mut log =
            Self { records: Vec::new(), checkpoints: Vec::new(), identity, session, state: Life::Opening, pause: 0 };
        log.session_record(RecordType::Open);
        log.checkpoint();
        log.state = Life::Run;
        log
    }

    /// BEGIN on a free slot, in the context of this digest.
    pub fn begin(&mut self, slot: u16, context: [u8; 32]) {
        let open = self.session.open_streams.get();
        self.session.open_streams.set(open + 1);
        self.entry(Opcode::Begin, slot, 0, context, RecordType::Begin);
    }

    /// A judged mutation. Rows are 0 in both banks where the answer names them.
    pub fn gate(&mut self, slot: u16, sequence: u32, commitment: [u8; 32], determination: Determination) {
        self.entry(Opcode::Gate, slot, sequence, commitment, RecordType::Verdict);
        let Some(record) = self.records.last_mut() else { return };
        let pass = u8::from(StageOutcome::Pass);
        (record.descriptor.validation_outcome, record.descriptor.lineage_outcome) = (pass, pass);
        record.descriptor = record.descriptor.sealed();
        record.answer.determination = determination.into();
        record.answer.policy_row.set(0);
        let admit = determination == Determination::Admit;
        record.answer.stage = if admit { Stage::None.into() } else { Stage::Policy.into() };
        record.answer.entropy_row.set(0);
    }

    /// NOTE.
    pub fn note(&mut self, slot: u16, sequence: u32, digest: [u8; 32]) {
        self.entry(Opcode::Note, slot, sequence, digest, RecordType::Note);
    }

    /// END.
    pub fn end(&mut self, slot: u16, sequence: u32, commitment: [u8; 32]) {
        let open = self.session.open_streams.get();
        self.session.open_streams.set(open.saturating_sub(1));
        self.entry(Opcode::End, slot, sequence, commitment, RecordType::End);
    }

    /// An entry that the card refuses.
    pub fn refuse(&mut self, slot: u16, sequence: u32, fault: Fault) {
        self.entry(Opcode::Gate, slot, sequence, [0; 32], RecordType::Refused);
        if let Some(record) = self.records.last_mut() {
            record.answer.fault.set(fault.into());
        }
    }

    /// A heartbeat.
    pub fn heartbeat(&mut self, nonce: u64) {
        self.session.heartbeat_nonce.set(nonce);
        self.session_record(RecordType::Heartbeat);
    }

    /// A sticky fault and its checkpoint.
    pub fn alarm(&mut self, fault: Fault) {
        self.session.cause.set(fault.into());
        self.state = Life::Fault;
        self.session_record(RecordType::Alarm);
        self.checkpoint();
    }

    /// CLOSE and its checkpoint.
    pub fn close(&mut self) {
        self.state = Life::Closing;
        self.session_record(RecordType::Close);
        self.checkpoint();
    }

    /// A checkpoint over the records so far.
    pub fn checkpoint(&mut self) {
        let checkpoint = Checkpoint {
            magic: CHECKPOINT_MAGIC.into(),
            version: LAYOUT_VERSION,
            key_flags: self.identity.key_flags,
            state: self.state.into(),
            lanes: 1,
            serial: (self.checkpoints.len() as u64).into(),
            size: (self.records.len() as u64).into(),
            tick: (self.tick() + CLOCKS).into(),
            root: root(&self.records),
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
    }

    /// Lets clocks pass before the next record.
    pub fn wait(&mut self, clocks: u64) {
        self.pause += clocks;
    }

    fn tick(&self) -> u64 {
        self.records.last().map_or(0, |record| record.answer.tick.get())
    }

    fn entry(&mut self, opcode: Opcode, slot: u16, sequence: u32, commitment: [u8; 32], kind: RecordType) {
        let place = portcullis_core::mutation::Place { slot, sequence };
        self.push(kind, Descriptor::entry(opcode, place, commitment).sealed());
    }

    fn session_record(&mut self, kind: RecordType) {
        let half = Descriptor::read_from_bytes(self.session.as_bytes()).unwrap_or(Descriptor::ZERO);
        self.push(kind, half);
    }

    fn push(&mut self, kind: RecordType, descriptor: Descriptor) {
        let answer = Answer {
            version: LAYOUT_VERSION,
            record_type: kind.into(),
            policy_row: ROW_NONE.into(),
            entropy_row: ROW_NONE.into(),
            key_flags: self.identity.key_flags,
            epoch: self.identity.epoch.into(),
            log_index: (self.records.len() as u64).into(),
            tick: (self.tick() + CLOCKS + std::mem::take(&mut self.pause)).into(),
            ..Answer::ZERO
        };
        self.records.push(Record { descriptor, answer });
    }
}

/// Root that a checkpoint over these records has.
#[must_use]
pub fn root(records: &[Record]) -> [u8; 32] {
    root_of_lane(records.len() as u64, tree::root(records.iter().map(|record| tree::leaf(record.as_bytes()))))
}
