//! The decoded columns of a record. They are an index for queries and prove nothing: an audit computes them again from
//! the record's 192 bytes.

use portcullis_core::wire::{Determination, Record, RecordType, Stage};
use zerocopy::FromBytes;

/// Name of a value that its enumeration does not define.
const UNKNOWN: &str = "unknown";

/// What a query can ask about a record without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordColumns {
    /// Index in the lane's log.
    pub index: u64,
    /// Clocks since reset.
    pub tick: u64,
    pub kind: &'static str,
    /// Slot of the stream; absent in a record about the session.
    pub slot: Option<u16>,
    /// Sequence number in the stream; absent in a record about the session.
    pub sequence: Option<u32>,
    /// Absent in a record that judges nothing.
    pub determination: Option<&'static str>,
    /// The stage that decided; absent in a record that judges nothing.
    pub stage: Option<&'static str>,
    /// Number of the fault; 0 for none.
    pub fault: u16,
}

impl RecordColumns {
    /// Decodes the bytes of a record. Any bytes have columns; whether they are a record is the verifier's question.
    #[must_use]
    pub fn of(bytes: &[u8; Record::BYTES]) -> Self {
        let record = Record::read_from_bytes(bytes).unwrap_or(Record::ZERO);
        let (entry, answer) = (&record.descriptor, &record.answer);
        let kind = RecordType::try_from(answer.record_type).ok();
        let about_session =
            matches!(kind, Some(RecordType::Open | RecordType::Heartbeat | RecordType::Close | RecordType::Alarm));
        let judged = kind == Some(RecordType::Verdict);
        let determination = || Determination::try_from(answer.determination).map_or(UNKNOWN, Determination::name);
        let stage = || Stage::try_from(answer.stage).map_or(UNKNOWN, Stage::name);
        Self {
            index: answer.log_index.get(),
            tick: answer.tick.get(),
            kind: kind.map_or(UNKNOWN, RecordType::name),
            slot: (!about_session).then(|| entry.slot.get()),
            sequence: (!about_session).then(|| entry.sequence.get()),
            determination: judged.then(determination),
            stage: judged.then(stage),
            fault: answer.fault.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_test_support::world::World;
    use zerocopy::IntoBytes;

    #[test]
    fn of_a_session() {
        let parts = World::new().honest();
        let columns: Vec<RecordColumns> =
            parts.log.lanes[0].iter().map(|record| RecordColumns::of(record.as_bytes().try_into().unwrap())).collect();
        assert!(columns.iter().zip(0..).all(|(columns, index)| columns.index == index));
        assert_eq!((columns[0].kind, columns[0].slot, columns[0].determination), (RecordType::Open.name(), None, None));
        assert_eq!((columns[1].kind, columns[1].slot), (RecordType::Begin.name(), Some(0)));
        let verdict = columns.iter().find(|columns| columns.kind == RecordType::Verdict.name()).unwrap();
        assert_eq!(verdict.determination, Some(Determination::Admit.name()));
    }

    #[test]
    fn bytes_of_no_record() {
        let columns = RecordColumns::of(&[0xff; Record::BYTES]);
        assert_eq!((columns.kind, columns.index, columns.determination), (UNKNOWN, u64::MAX, None));
    }
}
