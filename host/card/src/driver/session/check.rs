//! The checks of completions and records that the card writes.

use portcullis_core::wire::{
    self, Answer, Completion, Descriptor, Determination, Fault, LAYOUT_VERSION, Opcode, ROW_NONE, Record, RecordType,
    Stage, StageOutcome, features, lane_of,
};
use portcullis_image::EntryVerdict;
use zerocopy::{FromBytes, IntoBytes};

use super::CardSession;
use crate::card::CardTransport;
use crate::driver::error::{LossCause, SessionError};
use crate::driver::lane::{LaneDriver, UnansweredEntry};
use crate::driver::outcome::EntryOutcome;

/// Compares a completion of `lane` with the entry that it must answer. The outcome counts only once the record agrees
/// with it.
pub(super) fn completion<C: CardTransport>(
    completion: &Completion,
    lane: &LaneDriver,
    pending: &UnansweredEntry,
    session: &CardSession<C>,
) -> Result<EntryOutcome, SessionError> {
    let UnansweredEntry { ticket, index, ref entry, .. } = *pending;
    let check = |holds: bool, what| if holds { Ok(()) } else { Err(LossCause::Completion { ticket, what }) };
    check(completion.phase <= 1 && completion.reserved_is_zero(), "a reserved bit is set")?;
    check(u64::from(completion.ring_index.get()) == index & 0xffff, "it answers another submission")?;
    check(completion.slot == entry.slot, "slot of another entry")?;
    check(completion.sequence == entry.sequence, "sequence of another entry")?;
    check(completion.epoch.get() == session.epoch, "epoch of another session")?;
    let determination = Determination::try_from(completion.determination)?;
    let stage = Stage::try_from(completion.stage)?;
    let fault = Fault::try_from(completion.fault.get())?;
    let row = |row: u16, rows: u16| -> Result<Option<u16>, LossCause> {
        check(row == ROW_NONE || row < rows, "it names a row that the image does not have")?;
        Ok((row != ROW_NONE).then_some(row))
    };
    let policy_row = row(completion.policy_row.get(), session.rows.0)?;
    let entropy_row = row(completion.entropy_row.get(), session.rows.1)?;
    let pinned = lane_of(entry.slot.get(), session.info.lanes) == Some(lane.number);
    check(fault != Fault::None || pinned, "a slot of another lane")?;
    if fault != Fault::None || entry.opcode != u8::from(Opcode::Gate) {
        let bare = determination == Determination::None && stage == Stage::None;
        check(bare && policy_row.is_none() && entropy_row.is_none(), "a verdict on what is not judged")?;
        check(fault == Fault::None || fault.class().refuses_entry(), "a fault that no entry can have")?;
        return Ok(if fault == Fault::None { EntryOutcome::Accepted } else { EntryOutcome::Fault(fault) });
    }
    check(determination != Determination::None, "no verdict on a GATE")?;
    check((determination == Determination::Admit) == (stage == Stage::None), "determination and stage contradict")?;
    if determination == Determination::Admit {
        let pass = u8::from(StageOutcome::Pass);
        check(entry.validation_outcome == pass && entry.lineage_outcome == pass, "an admit of what the host refused")?;
        check(policy_row.is_some() && entropy_row.is_some(), "an admit without a permit in both banks")?;
    }
    Ok(EntryOutcome::Judged(EntryVerdict { determination, stage, policy_row, entropy_row }))
}

/// Checks the fields that all records of this session have in common.
fn common<C: CardTransport>(
    answer: &Answer,
    index: u64,
    lane: &LaneDriver,
    session: &CardSession<C>,
) -> Result<RecordType, SessionError> {
    let check = |holds: bool, what| if holds { Ok(()) } else { Err(lane.lost(index, what)) };
    check(answer.log_index.get() == index, "log index of another record")?;
    check(answer.version == LAYOUT_VERSION, "unknown version")?;
    check(answer.epoch.get() == session.epoch, "epoch of another session")?;
    check(answer.lane == lane.number, "another lane")?;
    check(answer.key_flags == session.info.key_flags, "key flags of another card")?;
    Ok(RecordType::try_from(answer.record_type)?)
}

/// Compares the last record of `lane` with its entry, byte for byte, and with the answer of its completion if there is
/// one. Only an entry that was refused for its CRC may differ: it was damaged in transit, and the record shows the
/// bytes that the card received.
pub(super) fn entry_record<C: CardTransport>(
    record: &Record,
    lane: &LaneDriver,
    entry: &Descriptor,
    completion: Option<&Completion>,
    session: &CardSession<C>,
) -> Result<(), SessionError> {
    let index = lane.rings.logged.saturating_sub(1);
    let check = |holds: bool, what| if holds { Ok(()) } else { Err(lane.lost(index, what)) };
    let answer = &record.answer;
    let kind = common(answer, index, lane, session)?;
    let damaged = answer.fault.get() == u16::from(Fault::Crc);
    let same = record.descriptor.as_bytes() == entry.as_bytes();
    check(same || damaged, "it holds another entry than was submitted")?;
    let expected = if answer.fault.get() != 0 {
        RecordType::Refused
    } else {
        match Opcode::try_from(entry.opcode)? {
            Opcode::Gate => RecordType::Verdict,
            Opcode::Begin => RecordType::Begin,
            Opcode::End => RecordType::End,
            Opcode::Note => RecordType::Note,
        }
    };
    check(kind == expected, "record type of another answer")?;
    let pinned = lane_of(entry.slot.get(), session.info.lanes) == Some(lane.number);
    check(kind == RecordType::Refused || pinned, "a slot of another lane")?;
    // Only an answer about a text that the card read can contain classes.
    let text = matches!(kind, RecordType::Verdict | RecordType::End) && session.reads_texts();
    check(text || answer.text_classes == 0 && answer.text_established == 0, "classes without a text")?;
    if let Some(c) = completion {
        let same = answer.determination == c.determination
            && answer.stage == c.stage
            && answer.fault == c.fault
            && answer.policy_row == c.policy_row
            && answer.entropy_row == c.entropy_row
            && answer.text_classes == c.text_classes;
        check(same, "record and completion contradict")?;
        check(c.log_index.get() == index, "its completion names another record")?;
    }
    Ok(())
}

/// Checks that the last record of `lane` is a session record of type `kind`. Returns the sticky fault that it names.
pub(super) fn session_record<C: CardTransport>(
    record: &Record,
    lane: &LaneDriver,
    kind: RecordType,
    session: &CardSession<C>,
) -> Result<Fault, SessionError> {
    let index = record.answer.log_index.get();
    let check = |holds: bool, what| if holds { Ok(()) } else { Err(lane.lost(index, what)) };
    let answer = &record.answer;
    let found = common(answer, lane.rings.logged.saturating_sub(1), lane, session)?;
    check(found == kind, "another record type than expected")?;
    let blank = answer.determination == 0
        && answer.stage == 0
        && answer.policy_row.get() == ROW_NONE
        && answer.entropy_row.get() == ROW_NONE
        && answer.text_classes == 0
        && answer.text_established == 0;
    check(blank, "a verdict on what is not judged")?;
    let fields =
        wire::SessionFields::read_from_bytes(record.descriptor.as_bytes()).unwrap_or(wire::SessionFields::ZERO);
    check(fields.reserved_is_zero(), "a reserved byte is set")?;
    let lane_in_use = if session.reads_texts() { features::TEXT_LANE } else { 0 };
    check(fields.features.get() == lane_in_use, "it uses other parts of the card")?;
    check(fields.policy_digest == session.policy_digest, "digest of other tables")?;
    check(fields.package_digest == session.package_digest, "another policy package")?;
    check(fields.ticket_digest == session.ticket_digest, "another ticket")?;
    let limits = (fields.heartbeat_records.get(), fields.heartbeat_ticks.get());
    check(limits == (session.heartbeat.records, session.heartbeat.ticks), "other heartbeat limits")?;
    check(fields.heartbeat_nonce.get() == lane.heartbeat.nonce, "another heartbeat nonce")?;
    // An ALARM must have a cause, a CLOSE may have one, and other records must not have one.
    let cause = Fault::try_from(fields.cause.get())?;
    let caused = match kind {
        RecordType::Alarm => cause != Fault::None,
        RecordType::Close => true,
        _ => cause == Fault::None,
    };
    check(caused, "a cause that does not fit its type")?;
    let fault = answer.fault.get();
    check(fault == 0 || fault == u16::from(cause), "a fault that is not its cause")?;
    Ok(cause)
}
