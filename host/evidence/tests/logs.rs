//! Random honest logs follow the rules. A log in which one record is left out, doubled or moved does not.

use portcullis_core::wire::{Determination, Fault, Record, SessionFields};
use portcullis_evidence::checkpoint::root_of_lane;
use portcullis_evidence::log::{LogChecker, LogViolation, read};
use portcullis_evidence::sim::log::{TestCardIdentity, TestCardLog};
use portcullis_evidence::tree::{MerkleFrontier, leaf};
use proptest::prelude::*;
use std::collections::BTreeMap;
use zerocopy::IntoBytes;

const IDENTITY: TestCardIdentity = TestCardIdentity { design_id: [1; 16], key_flags: 0, boot_nonce: [2; 16], epoch: 3 };

/// Turns numbers into entries of a session. An entry that is not allowed at its place becomes an allowed one.
fn play(steps: &[(u8, u16)], alarm: bool) -> TestCardLog {
    let mut log = TestCardLog::open(IDENTITY, SessionFields::ZERO, 1);
    let mut next = BTreeMap::<u16, u32>::new();
    for (what, slot) in steps {
        let sequence = next.get(slot).copied();
        match (what % 9, sequence) {
            (0, _) => log.checkpoint(),
            (1, _) => log.heartbeat(u64::from(*slot) + 1),
            (2, _) => log.refuse(*slot, 7, Fault::Sequence),
            (3, Some(at)) => {
                log.end(*slot, at, [9; 32]);
                next.remove(slot);
            }
            (_, None) => {
                log.begin(*slot, [4; 32]);
                next.insert(*slot, 1);
            }
            (4, Some(at)) => {
                log.note(*slot, at, [5; 32]);
                next.insert(*slot, at + 1);
            }
            (kind, Some(at)) => {
                let determination = match kind {
                    5 => Determination::Reject,
                    6 => Determination::Decompose,
                    _ => Determination::Admit,
                };
                log.gate(*slot, at, [6; 32], determination);
                next.insert(*slot, at + 1);
            }
        }
    }
    if alarm {
        log.alarm(Fault::LockStep);
    }
    log.close();
    log
}

fn check(records: &[Record]) -> Result<LogChecker, (usize, LogViolation)> {
    let mut rules = LogChecker::new((1, 1));
    for (index, record) in records.iter().enumerate() {
        rules.next(record).map_err(|violation| (index, violation))?;
    }
    Ok(rules)
}

proptest! {
    #[test]
    fn honest_logs(steps in proptest::collection::vec((any::<u8>(), 0u16..5), 0..120), alarm: bool) {
        let log = play(&steps, alarm);
        let rules = check(&log.lanes[0]).unwrap();
        prop_assert!(rules.is_closed());
        prop_assert_eq!(rules.is_alarmed(), alarm);
        prop_assert_eq!(rules.counts().records, log.lanes[0].len() as u64);
        // The roots of the checkpoints are the roots of the tree over the bytes of the log file.
        let (mut bytes, mut tree, mut due) = (log.lanes[0].as_bytes(), MerkleFrontier::new(), log.checkpoints.iter().peekable());
        while let Some(record) = read(&mut bytes).unwrap() {
            tree.push(leaf(record.as_bytes()));
            while let Some(checkpoint) = due.next_if(|next| next.size.get() == tree.size()) {
                prop_assert_eq!(checkpoint.root, root_of_lane(tree.size(), tree.root()));
            }
        }
        prop_assert!(due.next().is_none());
    }

    #[test]
    fn one_record_out_of_place(steps in proptest::collection::vec((any::<u8>(), 0u16..5), 1..60), at: usize, to: usize) {
        let log = play(&steps, false);
        let count = log.lanes[0].len();
        let (at, to) = (at % count, to % count);
        let edited = |edit: &dyn Fn(&mut Vec<Record>)| {
            let mut records = log.lanes[0].clone();
            edit(&mut records);
            records
        };
        let left_out = edited(&|r| { r.remove(at); });
        // A log without its last record still follows the rules; only the checkpoint shows that the record is missing.
        prop_assert!(check(&left_out).is_err() || at == count - 1);
        let doubled = edited(&|r| r.insert(at, log.lanes[0][at]));
        prop_assert!(check(&doubled).is_err());
        let moved = edited(&|r| { let record = r.remove(at); r.insert(to, record); });
        prop_assert!(check(&moved).is_err() || at == to);
    }

    /// Even if indices are recomputed, the sequence numbers show that an entry of a stream is missing.
    #[test]
    fn streams_have_no_gaps(steps in proptest::collection::vec((any::<u8>(), 0u16..3), 5..60), at: usize) {
        let log = play(&steps, false);
        let mut records = log.lanes[0].clone();
        let removed = records.remove(at % records.len());
        let followed = log.lanes[0].iter().any(|r| {
            r.descriptor.slot == removed.descriptor.slot && r.answer.log_index > removed.answer.log_index
                && (2..=5).contains(&r.answer.record_type)
        });
        (0..).zip(&mut records).for_each(|(index, record)| record.answer.log_index.set(index));
        let of_a_stream = (2..=5).contains(&removed.answer.record_type);
        let ends = removed.answer.record_type == 5;
        if of_a_stream && (followed || ends) {
            prop_assert!(check(&records).is_err());
        }
    }
}

#[test]
fn a_log_cut_within_a_record() {
    let log = play(&[(0, 0)], false);
    let bytes = log.lanes[0].as_bytes();
    for length in 0..bytes.len() {
        let mut from = &bytes[..length];
        let whole = std::iter::from_fn(|| read(&mut from).transpose()).take_while(Result::is_ok).count();
        assert_eq!(whole, length / 192);
        let error = (length % 192 != 0).then_some(std::io::ErrorKind::UnexpectedEof);
        let mut from = &bytes[whole * 192..length];
        assert_eq!(read(&mut from).err().map(|error| error.kind()), error, "{length}");
    }
}
