//! Replays of streams with NOTE entries, and of records of another version.

use crate::support;

use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Answer, Descriptor, Opcode, Record, RecordType};
use portcullis_gate::replay::{ReplayError, ReplayInput, StreamReplay, StreamReplayer};
use portcullis_gate::{CONTEXT_VERSION, GateSettings, SaltKey, StreamEventKind};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

const MANIFEST: &str = "[package]\nname = \"s\"\nversion = \"1.0.0\"\ndescription = \"d\"\n[enumerations]\ndomain = [\"g\"]\n\
    audience = [\"p\"]\ntemporal = [\"n\"]\nregister = [\"r\"]\n[[class]]\nname = \"bad\"\npattern = [{ regex = 'bad' }]\n";
const RULES: &str = "@id(\"ALLOW\") permit (principal, action, resource);\n\
    @id(\"NO-BAD\") forbid (principal, action, resource) when { context.classes.contains(\"bad\") };\n";
const TEXT: &str = "The first sentence stands. A bad one does not. The third stands again.  ";

/// A recorded stream: its context document, its records, its salts.
struct Trail {
    context: Vec<u8>,
    records: Vec<Record>,
    salts: BTreeMap<u32, [u8; 16]>,
}

/// Governs [`TEXT`] and passes a replayer and the records to `check`.
fn with_trail(check: impl FnOnce(&mut StreamReplayer, Trail)) {
    let policy = support::policy(MANIFEST, RULES);
    let key = SaltKey::from_bytes([3; 32]);
    let governor = support::governor(&policy, GateSettings::new(key.clone()));
    let (events, records) = support::recorded(governor, &policy, support::text("t", TEXT));
    let context = events.iter().find_map(|event| match &event.what {
        StreamEventKind::Begun { context, .. } => Some(context.bytes()),
        _ => None,
    });
    let context = context.unwrap();
    let salts = (0..records.len() as u32).map(|sequence| (sequence, key.salt(0, sequence))).collect();
    let mut replayer = StreamReplayer::new(&policy.compiled.image, [Arc::clone(&policy)], Vec::new()).unwrap();
    check(&mut replayer, Trail { context, records, salts });
}

impl Trail {
    /// The records as if the stream had had a NOTE at this sequence: later records and their salts move by one.
    fn noted(&self, at: usize) -> (Vec<Record>, BTreeMap<u32, [u8; 16]>) {
        let mut records = self.records.clone();
        let begin = records[0];
        for record in &mut records[at..] {
            record.descriptor.sequence += 1;
            record.descriptor = record.descriptor.sealed();
        }
        let place = SlotSequence { slot: begin.descriptor.slot.get(), sequence: at as u32 };
        let descriptor = Descriptor::entry(Opcode::Note, place, [7; 32]).sealed();
        let answer = Answer { record_type: RecordType::Note.into(), ..begin.answer };
        records.insert(at, Record { descriptor, answer });
        let moved = |sequence: u32| if sequence as usize >= at { sequence + 1 } else { sequence };
        (records, self.salts.iter().map(|(sequence, salt)| (moved(*sequence), *salt)).collect())
    }
}

#[test]
fn notes_move_what_follows_and_change_nothing() {
    with_trail(|replayer, trail| {
        let mut replay = |records: &[Record], salts: &BTreeMap<u32, [u8; 16]>| {
            replayer
                .stream(&trail.context, ReplayInput::Text(TEXT.into()), salts.clone(), records)
                .map(|(replay, _)| replay)
        };
        let all = trail.records.len();
        assert!(all >= 5, "BEGIN, three spans, END");
        assert_eq!(
            replay(&trail.records, &trail.salts).unwrap(),
            StreamReplay { records: all as u64, fault: None, consumed: true }
        );
        // The NOTE is after BEGIN, between spans, or before END.
        for at in 1..all {
            let (records, salts) = trail.noted(at);
            let replayed = replay(&records, &salts).unwrap();
            assert_eq!(replayed, StreamReplay { records: all as u64 + 1, fault: None, consumed: true }, "NOTE at {at}");
            // A changed record after the NOTE is still found.
            let mut lie = records.clone();
            lie[all].descriptor.commitment[0] ^= 1;
            lie[all].descriptor = lie[all].descriptor.sealed();
            assert!(matches!(replay(&lie, &salts), Err(ReplayError::Differs { .. })), "NOTE at {at}");
        }
    });
}

/// The input of an interrupted stream counts as consumed if nothing but END is missing.
#[test]
fn a_stream_that_broke_off_has_not_consumed_its_text() {
    with_trail(|replayer, trail| {
        let all = trail.records.len();
        for left in 1..=all {
            let salts = trail.salts.clone();
            let replayed =
                replayer.stream(&trail.context, ReplayInput::Text(TEXT.into()), salts, &trail.records[..left]);
            let replayed = replayed.map(|(replay, _)| replay);
            let expected = StreamReplay { records: left as u64, fault: None, consumed: left + 1 >= all };
            assert_eq!(replayed.unwrap(), expected, "{left} of {all} records");
        }
    });
}

#[test]
fn a_context_of_another_version_is_no_difference() {
    with_trail(|replayer, trail| {
        let now = format!("\"version\":{CONTEXT_VERSION}");
        let other = format!("\"version\":{}", CONTEXT_VERSION + 1);
        let context = String::from_utf8(trail.context.clone()).unwrap().replacen(&now, &other, 1).into_bytes();
        let mut records = trail.records.clone();
        let replayed = replayer.stream(&context, ReplayInput::Text(TEXT.into()), trail.salts.clone(), &records);
        assert!(matches!(replayed, Err(ReplayError::Context(_))), "BEGIN bound another");
        records[0].descriptor.commitment = Sha256::digest(&context).into();
        records[0].descriptor = records[0].descriptor.sealed();
        let replayed = replayer.stream(&context, ReplayInput::Text(TEXT.into()), trail.salts, &records);
        assert!(matches!(replayed, Err(ReplayError::Version { found }) if found == CONTEXT_VERSION + 1));
    });
}
