//! The rules that the log of a lane follows from its OPEN record to its CLOSE record.
//!
//! Each record is checked against the earlier records: indices without gaps, ticks that never decrease, one epoch, one
//! ticket, and in each stream the order BEGIN, judged entries, END. A log that breaks a rule is not the card's.

use portcullis_core::wire::{
    Answer, Descriptor, Determination, Fault, LAYOUT_VERSION, Opcode, ROW_NONE, Record, RecordType, SessionFields,
    Stage, StageOutcome, features, flags, lane_of,
};
use std::collections::BTreeMap;
use std::io::{self, Read};
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of a record in a log file.
pub const BYTES: usize = Record::BYTES;
/// Clocks in one unit of the heartbeat's tick limit.
pub const HEARTBEAT_CLOCKS: u64 = 1 << 16;

/// A rule that a record breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogViolation {
    #[error("it is not a record of layout version {LAYOUT_VERSION}")]
    Layout,
    #[error("its log index is {0}")]
    Index(u64),
    #[error("its tick {0} is before the tick of the record before it")]
    Tick(u64),
    #[error("epoch, lane or key flags are not those of the session")]
    Session,
    #[error("OPEN is not the first record, or occurs again")]
    Open,
    #[error("a {0} record follows the end of the session")]
    AfterEnd(&'static str),
    #[error("it does not repeat what OPEN latched")]
    Latched,
    #[error("it counts {found} open streams, but {tracked} are")]
    OpenStreams { found: u32, tracked: usize },
    /// An accepted entry whose CRC, version, opcode or reserved bytes are wrong.
    #[error("the card accepts no such entry")]
    Entry,
    #[error("slot {0} is not in the state that the entry needs")]
    Slot(u16),
    /// An accepted entry whose slot belongs to another lane.
    #[error("slot {0} belongs to another lane")]
    Lane(u16),
    #[error("sequence {found} where the stream's next is {next}")]
    Sequence { found: u32, next: u32 },
    /// A judged entry that changes the domain, audience, register or epistemic mode of its stream.
    #[error("the context is not that of the first GATE of the stream in slot {0}")]
    Context(u16),
    /// The classes that the card established are not those of the stream's admitted entries.
    #[error("the card's established classes are not those of the admitted entries of the stream in slot {0}")]
    Established(u16),
    /// Determination, stage, fault and rows do not fit each other or the record, or the card had no cause to refuse an
    /// entry.
    #[error("determination, stage, fault and rows contradict")]
    Answer,
}

/// The event that a record describes, after the record was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEvent {
    Session(RecordType, SessionFields),
    Entry(Opcode, Determination),
    Refusal(Fault),
}

/// Counts of the events in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LogCounts {
    pub records: u64,
    pub streams: u64,
    pub admits: u64,
    pub rejects: u64,
    pub decomposes: u64,
    pub notes: u64,
    pub heartbeats: u64,
    pub alarms: u64,
    #[serde(serialize_with = "as_list")]
    pub refused: BTreeMap<EntryFault, u64>,
    /// Rejects, by the rule or stage that decided.
    #[serde(skip)]
    pub refusals: BTreeMap<DecidingStage, u64>,
    /// Decomposes, by the rule or stage that decided. They are not refusals: the parts of the span are judged.
    #[serde(skip)]
    pub splits: BTreeMap<DecidingStage, u64>,
}

impl LogCounts {
    /// Adds the counts of another lane of the same session. Heartbeats and alarms are in every lane's log and are
    /// counted once.
    pub fn add_lane(&mut self, lane: &Self) {
        self.records += lane.records;
        self.streams += lane.streams;
        self.admits += lane.admits;
        self.rejects += lane.rejects;
        self.decomposes += lane.decomposes;
        self.notes += lane.notes;
        self.heartbeats = self.heartbeats.max(lane.heartbeats);
        self.alarms = self.alarms.max(lane.alarms);
        lane.refused.iter().for_each(|(why, count)| *self.refused.entry(*why).or_default() += count);
        lane.refusals.iter().for_each(|(why, count)| *self.refusals.entry(*why).or_default() += count);
        lane.splits.iter().for_each(|(why, count)| *self.splits.entry(*why).or_default() += count);
    }
}

/// Why an entry was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct EntryFault {
    pub fault: &'static str,
}

/// The rule or stage that decided against a mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DecidingStage {
    pub stage: Stage,
    /// Row that decided, in the bank of that stage. `None` if no row matched or the host decided.
    pub row: Option<u16>,
}

/// Serialises counts as a list of objects, since JSON keys must be text.
fn as_list<K: serde::Serialize, S: serde::Serializer>(counts: &BTreeMap<K, u64>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(serde::Serialize)]
    struct KeyedCount<'a, K> {
        #[serde(flatten)]
        what: &'a K,
        count: u64,
    }
    to.collect_seq(counts.iter().map(|(what, count)| KeyedCount { what, count: *count }))
}

/// The facts about the session that all later records must repeat.
#[derive(Clone, Debug)]
struct OpenRecord {
    session: SessionFields,
    epoch: u32,
    key_flags: u8,
}

/// The fields that may not change within a stream: domain, audience, register, epistemic mode.
type Context = [u8; 4];

const fn context(entry: &Descriptor) -> Context {
    [entry.domain, entry.audience, entry.register, entry.epistemic]
}

#[derive(Clone, Copy, Debug, Default)]
struct LogStreamState {
    next: u32,
    /// Context of the first judged entry.
    context: Option<Context>,
    /// Classes that the text lane found in the stream's admitted entries.
    established: u128,
}

impl LogStreamState {
    /// Whether a GATE has another context than the first judged entry of its stream.
    fn changes_context(&self, entry: &Descriptor) -> bool {
        self.context.is_some_and(|first| first != context(entry))
    }
}

/// Checks the records of one lane in order.
#[derive(Clone, Debug)]
pub struct LogChecker {
    rows: (u16, u16),
    lane: u8,
    lanes: u8,
    opened: Option<OpenRecord>,
    tick: u64,
    streams: BTreeMap<u16, LogStreamState>,
    alarm: bool,
    closed: bool,
    // Number of accepted entries since OPEN or the last heartbeat, and the tick of that record.
    spent: u64,
    heartbeat_tick: u64,
    overdrawn: Option<u64>,
    counts: LogCounts,
}

impl LogChecker {
    /// A checker for a card with one lane, whose image has this many policy and entropy rows.
    #[must_use]
    pub fn new(rows: (u16, u16)) -> Self {
        Self::of_lane(rows, 0, 1)
    }

    /// A checker for `lane` of a card with `lanes` lanes, which has the streams with `slot % lanes == lane`.
    #[must_use]
    pub fn of_lane(rows: (u16, u16), lane: u8, lanes: u8) -> Self {
        Self {
            rows,
            lane,
            lanes,
            opened: None,
            tick: 0,
            streams: BTreeMap::new(),
            alarm: false,
            closed: false,
            spent: 0,
            heartbeat_tick: 0,
            overdrawn: None,
            counts: LogCounts::default(),
        }
    }

    #[must_use]
    pub const fn counts(&self) -> &LogCounts {
        &self.counts
    }

    /// The content of the OPEN record; `None` before it.
    #[must_use]
    pub fn open(&self) -> Option<&SessionFields> {
        self.opened.as_ref().map(|opened| &opened.session)
    }

    /// Epoch and key flags of every record; `None` before OPEN.
    #[must_use]
    pub fn identity(&self) -> Option<(u32, u8)> {
        self.opened.as_ref().map(|opened| (opened.epoch, opened.key_flags))
    }

    /// Whether the last record was CLOSE.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    #[must_use]
    pub const fn is_alarmed(&self) -> bool {
        self.alarm
    }

    /// Log index of the first entry that was accepted after the heartbeat credit was spent.
    #[must_use]
    pub const fn overdrawn(&self) -> Option<u64> {
        self.overdrawn
    }

    /// Tick of the last record.
    #[must_use]
    pub const fn tick(&self) -> u64 {
        self.tick
    }

    /// Checks the next record. Errors: the first rule that it breaks. After an error the checker must not be used.
    pub fn next(&mut self, record: &Record) -> Result<LogEvent, LogViolation> {
        let answer = &record.answer;
        let kind = self.common(answer)?;
        let event = match kind {
            RecordType::Open | RecordType::Heartbeat | RecordType::Close | RecordType::Alarm => {
                self.session_record(kind, record)?
            }
            RecordType::Begin | RecordType::Verdict | RecordType::Note | RecordType::End => self.entry(kind, record)?,
            RecordType::Refused => self.refused(record)?,
        };
        self.tick = answer.tick.get();
        self.counts.records += 1;
        Ok(event)
    }

    fn common(&self, answer: &Answer) -> Result<RecordType, LogViolation> {
        let kind = RecordType::try_from(answer.record_type).map_err(|_| LogViolation::Layout)?;
        let index = answer.log_index.get();
        let opened = self.opened.as_ref();
        let holds = |holds, violation| if holds { Ok(()) } else { Err(violation) };
        holds(answer.version == LAYOUT_VERSION, LogViolation::Layout)?;
        holds(index == self.counts.records, LogViolation::Index(index))?;
        holds((kind == RecordType::Open) == opened.is_none(), LogViolation::Open)?;
        holds(answer.tick.get() >= self.tick, LogViolation::Tick(answer.tick.get()))?;
        let same = opened.is_none_or(|o| o.epoch == answer.epoch.get() && o.key_flags == answer.key_flags);
        holds(same && answer.lane == self.lane, LogViolation::Session)?;
        let over = self.closed || self.alarm && kind != RecordType::Close;
        holds(!over, LogViolation::AfterEnd(kind.name()))?;
        Ok(kind)
    }

    fn session_record(&mut self, kind: RecordType, record: &Record) -> Result<LogEvent, LogViolation> {
        let answer = &record.answer;
        let session = SessionFields::read_from_bytes(record.descriptor.as_bytes()).map_err(|_| LogViolation::Layout)?;
        let cause = Fault::try_from(session.cause.get()).map_err(|_| LogViolation::Layout)?;
        let fault = answer.fault.get();
        let bare = is_bare(answer) && is_textless(answer) && (fault == 0 || fault == session.cause.get());
        let known = session.features.get() & !features::ALL == 0;
        if !session.reserved_is_zero() || !bare || !known {
            return Err(LogViolation::Layout);
        }
        // An ALARM, and a CLOSE after it, must have a cause that ends a session. Other session records must not have a
        // cause.
        let ends = cause.class().ends_session();
        let caused = if kind == RecordType::Alarm || self.alarm { ends } else { cause == Fault::None };
        if !caused {
            return Err(LogViolation::Answer);
        }
        let latched = self.open().is_none_or(|open| {
            open.package_digest == session.package_digest
                && open.ticket_digest == session.ticket_digest
                && open.features == session.features
                && open.heartbeat_records == session.heartbeat_records
                && open.heartbeat_ticks == session.heartbeat_ticks
        });
        if !latched {
            return Err(LogViolation::Latched);
        }
        let found = session.open_streams.get();
        let tracked = self.streams.len();
        if u32::try_from(tracked) != Ok(found) {
            return Err(LogViolation::OpenStreams { found, tracked });
        }
        match kind {
            RecordType::Open => {
                self.opened = Some(OpenRecord { session, epoch: answer.epoch.get(), key_flags: answer.key_flags });
                self.heartbeat_tick = answer.tick.get();
            }
            RecordType::Heartbeat => {
                (self.spent, self.heartbeat_tick) = (0, answer.tick.get());
                self.counts.heartbeats += 1;
            }
            RecordType::Alarm => {
                self.alarm = true;
                self.counts.alarms += 1;
            }
            _ => self.closed = true,
        }
        Ok(LogEvent::Session(kind, session))
    }

    fn entry(&mut self, kind: RecordType, record: &Record) -> Result<LogEvent, LogViolation> {
        let (entry, answer) = (&record.descriptor, &record.answer);
        let opcode = match kind {
            RecordType::Begin => Opcode::Begin,
            RecordType::Verdict => Opcode::Gate,
            RecordType::Note => Opcode::Note,
            _ => Opcode::End,
        };
        let text_lane = self.has_text_lane();
        let well_made = entry.version == LAYOUT_VERSION
            && entry.opcode == u8::from(opcode)
            && (opcode != Opcode::Gate || are_flags(entry.flags, text_lane))
            && entry.reserved_is_zero()
            && entry.crc.get() == entry.computed_crc();
        if !well_made {
            return Err(LogViolation::Entry);
        }
        let before = self.streams.get(&entry.slot.get()).map_or(0, |stream| stream.established);
        self.place(opcode, entry)?;
        let determination = Determination::try_from(answer.determination).map_err(|_| LogViolation::Layout)?;
        let stage = Stage::try_from(answer.stage).map_err(|_| LogViolation::Layout)?;
        let fits =
            if opcode == Opcode::Gate { self.is_verdict(entry, answer, determination, stage) } else { is_bare(answer) };
        let has_text = text_lane && matches!(opcode, Opcode::Gate | Opcode::End);
        if !fits || answer.fault.get() != 0 || !has_text && !is_textless(answer) {
            return Err(LogViolation::Answer);
        }
        if has_text {
            self.established(record, before)?;
        }
        self.spend(answer);
        self.count(opcode, answer, stage, determination);
        Ok(LogEvent::Entry(opcode, determination))
    }

    /// Checks slot, sequence and context of an accepted entry.
    fn place(&mut self, opcode: Opcode, entry: &Descriptor) -> Result<(), LogViolation> {
        let (slot, found) = (entry.slot.get(), entry.sequence.get());
        if lane_of(slot, self.lanes) != Some(self.lane) {
            return Err(LogViolation::Lane(slot));
        }
        let stream = match (opcode, self.streams.get(&slot)) {
            (Opcode::Begin, None) => LogStreamState::default(),
            (Opcode::Begin, Some(_)) | (_, None) => return Err(LogViolation::Slot(slot)),
            (_, Some(stream)) => *stream,
        };
        let next = stream.next;
        if found != next {
            return Err(LogViolation::Sequence { found, next });
        }
        if opcode == Opcode::Gate && stream.changes_context(entry) {
            return Err(LogViolation::Context(slot));
        }
        let judged = (opcode == Opcode::Gate).then(|| context(entry));
        // Only END may have the largest sequence number, because no other entry could follow.
        match (opcode, found.checked_add(1)) {
            (Opcode::End, _) => drop(self.streams.remove(&slot)),
            (_, Some(next)) => {
                self.streams.insert(slot, LogStreamState { next, context: judged.or(stream.context), ..stream });
            }
            (_, None) => return Err(LogViolation::Sequence { found, next }),
        }
        Ok(())
    }

    fn has_text_lane(&self) -> bool {
        self.open().is_some_and(|open| open.features.get() & features::TEXT_LANE != 0)
    }

    /// Checks that the established classes of a record are `before`, those of its stream. If the entry is admitted,
    /// adds the classes of its text to the stream's.
    fn established(&mut self, record: &Record, before: u128) -> Result<(), LogViolation> {
        let (slot, answer) = (record.descriptor.slot.get(), &record.answer);
        if answer.text_established.get() != before {
            return Err(LogViolation::Established(slot));
        }
        let admitted = answer.determination == u8::from(Determination::Admit);
        if let Some(stream) = self.streams.get_mut(&slot).filter(|_| admitted) {
            stream.established = before | answer.text_classes.get();
        }
        Ok(())
    }

    /// Whether the outcomes of the stages, in their order, lead to this determination. If a row of a bank matched, the
    /// record does not show the bank's outcome, so every outcome is possible.
    fn is_verdict(&self, entry: &Descriptor, answer: &Answer, determination: Determination, stage: Stage) -> bool {
        let (policy, entropy) = (answer.policy_row.get(), answer.entropy_row.get());
        let in_image = |row: u16, rows: u16| row == ROW_NONE || row < rows;
        let bank = |row: u16| (row == ROW_NONE).then_some(StageOutcome::Reject);
        let host = |outcome: u8| Some(StageOutcome::try_from(outcome).unwrap_or(StageOutcome::Reject));
        let stages = [
            (Stage::Policy, bank(policy)),
            (Stage::Validation, host(entry.validation_outcome)),
            (Stage::Lineage, host(entry.lineage_outcome)),
            (Stage::Entropy, bank(entropy)),
        ];
        let before = stages.iter().take_while(|(this, _)| *this != stage);
        let passed = before.into_iter().all(|(_, outcome)| outcome.is_none_or(|o| o == StageOutcome::Pass));
        let deciding = stages.iter().find(|(this, _)| *this == stage);
        let decided = match (deciding, determination) {
            // If every stage passed, the determination must be an admit.
            (None, determination) => determination == Determination::Admit,
            // At the greatest depth, the card turns a decompose into a reject.
            (Some((_, outcome)), Determination::Reject) => *outcome != Some(StageOutcome::Pass),
            (Some((_, outcome)), Determination::Decompose) => outcome.is_none_or(|o| o == StageOutcome::Decompose),
            (Some(_), _) => false,
        };
        in_image(policy, self.rows.0) && in_image(entropy, self.rows.1) && passed && decided
    }

    /// Whether the heartbeat credit is spent at this tick, by the card's rule. Both limits count from the record of
    /// OPEN or of the last heartbeat: one counts accepted entries, the other clocks.
    fn is_spent(&self, tick: u64) -> bool {
        self.open().is_some_and(|open| {
            let (records, ticks) = (open.heartbeat_records.get(), open.heartbeat_ticks.get());
            let many = records != 0 && self.spent >= u64::from(records);
            let late = ticks != 0 && tick.saturating_sub(self.heartbeat_tick) >= u64::from(ticks) * HEARTBEAT_CLOCKS;
            many || late
        })
    }

    /// Whether an entry has the next sequence number of its stream, but another context.
    fn is_out_of_context(&self, entry: &Descriptor) -> bool {
        let stream = self.streams.get(&entry.slot.get());
        entry.opcode == u8::from(Opcode::Gate)
            && stream.is_some_and(|stream| stream.next == entry.sequence.get() && stream.changes_context(entry))
    }

    fn spend(&mut self, answer: &Answer) {
        if self.is_spent(answer.tick.get()) {
            self.overdrawn.get_or_insert(answer.log_index.get());
        }
        self.spent += 1;
    }

    fn refused(&mut self, record: &Record) -> Result<LogEvent, LogViolation> {
        let (entry, answer) = (&record.descriptor, &record.answer);
        let fault = Fault::try_from(answer.fault.get()).map_err(|_| LogViolation::Layout)?;
        // Only entry and credit faults refuse an entry; every other fault ends the session.
        let of_an_entry = fault.class().refuses_entry();
        let crc = (fault == Fault::Crc) == (entry.crc.get() != entry.computed_crc());
        let caused = match fault {
            Fault::Credit => self.is_spent(answer.tick.get()),
            Fault::Context => self.is_out_of_context(entry),
            _ => true,
        };
        let opcode = Opcode::try_from(entry.opcode).ok();
        let possible = match fault {
            Fault::TextWindow | Fault::TextForm | Fault::TextCommitment => {
                self.has_text_lane() && matches!(opcode, Some(Opcode::Gate | Opcode::End))
            }
            Fault::TextEnd => self.has_text_lane() && opcode == Some(Opcode::End),
            _ => true,
        };
        let fits = is_bare(answer) && is_textless(answer) && possible;
        if !of_an_entry || !crc || !caused || !fits {
            return Err(LogViolation::Answer);
        }
        *self.counts.refused.entry(EntryFault { fault: fault.name() }).or_default() += 1;
        Ok(LogEvent::Refusal(fault))
    }

    fn count(&mut self, opcode: Opcode, answer: &Answer, stage: Stage, determination: Determination) {
        let counts = &mut self.counts;
        match (opcode, determination) {
            (Opcode::Begin, _) => counts.streams += 1,
            (Opcode::Note, _) => counts.notes += 1,
            (Opcode::Gate, Determination::Admit) => counts.admits += 1,
            (Opcode::Gate, _) => {
                // Only the row of the deciding stage counts.
                let row = match stage {
                    Stage::Policy => answer.policy_row.get(),
                    Stage::Entropy => answer.entropy_row.get(),
                    _ => ROW_NONE,
                };
                let deciding = DecidingStage { stage, row: (row != ROW_NONE).then_some(row) };
                let (total, by_stage) = if determination == Determination::Reject {
                    (&mut counts.rejects, &mut counts.refusals)
                } else {
                    (&mut counts.decomposes, &mut counts.splits)
                };
                *total += 1;
                *by_stage.entry(deciding).or_default() += 1;
            }
            (Opcode::End, _) => {}
        }
    }
}

/// Whether the answer has neither determination nor stage nor rows.
fn is_bare(answer: &Answer) -> bool {
    answer.determination == 0
        && answer.stage == 0
        && answer.policy_row.get() == ROW_NONE
        && answer.entropy_row.get() == ROW_NONE
}

/// Whether a GATE can have these flags. The flag `call` is allowed only in a session with the text lane, and only
/// without held bytes before the span.
fn are_flags(set: u8, text_lane: bool) -> bool {
    let set = u16::from(set);
    let call_fits = set & flags::CALL == 0 || text_lane && set & flags::INERT_PREFIX == 0;
    set & !flags::ALL == 0 && call_fits
}

/// Whether the answer names no classes of a text.
fn is_textless(answer: &Answer) -> bool {
    answer.text_classes == 0 && answer.text_established == 0
}

/// Reads the next record of a log; `None` at its end. Errors: `UnexpectedEof` if the log ends within a record, and
/// those of `from`.
pub fn read(from: &mut impl Read) -> io::Result<Option<Record>> {
    let mut record = Record::ZERO;
    let bytes = record.as_mut_bytes();
    let (first, rest) = bytes.split_at_mut(1);
    loop {
        match from.read(first) {
            Ok(0) => return Ok(None),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    from.read_exact(rest)?;
    Ok(Some(record))
}
