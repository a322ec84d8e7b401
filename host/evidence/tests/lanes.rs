//! Cards of several lanes: honest sessions verify, and a lane cannot be dropped, exchanged, truncated, renumbered or
//! replaced.

use portcullis_test_support::world;

use portcullis_core::wire::{Fault, LaneHead, RecordType};
use portcullis_evidence::bundle::{self, BundleError, MemoryFiles, Receipt};
use portcullis_evidence::checkpoint::root_of_heads;
use portcullis_evidence::hex::HexBytes;
use portcullis_evidence::receipt::{HeadProof, ReceiptError, ReceiptProof, prove};
use portcullis_evidence::sim::log::heads;
use portcullis_evidence::verify::{VerifyOptions, verify};
use std::collections::BTreeSet;
use world::{Parts, START, World, assert_contradicted, codes, nonce, remanifest};
use zerocopy::IntoBytes;

const LANES: u8 = 4;
const HEARTBEAT: u8 = RecordType::Heartbeat as u8;

type Edit = fn(&mut Parts);

fn none() -> BTreeSet<String> {
    BTreeSet::new()
}

/// Recomputes indices and signatures: only a dishonest card could make this evidence.
fn renumber(parts: &mut Parts) {
    for records in &mut parts.log.lanes {
        (0..).zip(records).for_each(|(index, record)| record.answer.log_index.set(index));
    }
    parts.reroot();
}

/// Replaces the heads under checkpoint `serial`, and recomputes the checkpoint's root and size.
fn put_heads(parts: &mut Parts, serial: usize, heads: Vec<LaneHead>) {
    let checkpoint = &mut parts.log.checkpoints[serial];
    checkpoint.size = heads.iter().map(|head| head.size.get()).sum::<u64>().into();
    checkpoint.root = root_of_heads(&heads);
    parts.log.heads[serial] = heads;
}

#[test]
fn honest() {
    let world = World::new();
    for lanes in [1, 2, 4, 8] {
        let parts = world.honest_in(lanes);
        let files = parts.files();
        let report = world.check(&files);
        assert_eq!((codes(&report), report.exit_code), (none(), 0), "{lanes}: {:#?}", report.properties);
        let (session, extra) = (&report.session, u64::from(lanes).saturating_sub(2));
        assert_eq!((session.lanes, session.counts.heartbeats), (lanes, 1));
        assert_eq!((session.counts.streams, session.counts.admits), (2 + extra, 3 + extra));
        // OPEN, HEARTBEAT and CLOSE are in every lane.
        let records = 3 * u64::from(lanes) + 11 + 3 * extra;
        assert_eq!((session.records, session.signed_records, session.counts.records), (records, records, records));
        assert_eq!(files.0.contains_key(bundle::HEADS), lanes > 1);
        assert_eq!(session.ticks.map(|(first, _)| first), Some(400));
    }
}

/// Exchanges the files of lanes `a` and `b` that are in `names`.
fn exchange(files: &mut MemoryFiles, a: u8, b: u8, names: &[&str]) {
    for name in names {
        let (a, b) = (bundle::in_lane(name, a), bundle::in_lane(name, b));
        let (x, y) = (files.0[&a].clone(), files.0[&b].clone());
        files.0.extend([(a, y), (b, x)]);
    }
    remanifest(files);
}

#[test]
fn two_lanes_exchanged() {
    let world = World::new();
    let parts = world.honest_in(LANES);
    let all = [bundle::RECORDS, bundle::STREAMS, bundle::INPUTS, bundle::SPANS, bundle::RECEIPTS];
    for names in [&all[..1], &all] {
        let mut files = parts.files();
        exchange(&mut files, 1, 3, names);
        let report = world.check(&files);
        assert_contradicted(&report, "complete/record-session");
        assert_contradicted(&report, "complete/checkpoint-root");
    }
    // The lane numbers in the records, and the heads, are recomputed.
    let mut other = parts.clone();
    other.log.lanes.swap(1, 3);
    for (lane, records) in (0..).zip(&mut other.log.lanes) {
        records.iter_mut().for_each(|record| record.answer.lane = lane);
    }
    other.log.heads = (0..3)
        .map(|at| {
            let sizes = parts.log.heads[at].iter().map(|head| head.size.get() as usize).collect::<Vec<_>>();
            let under = [0, 3, 2, 1].map(|from| sizes[from]);
            heads(&other.log.lanes.iter().zip(under).map(|(records, size)| &records[..size]).collect::<Vec<_>>())
        })
        .collect();
    let report = world.check(&other.files());
    assert_contradicted(&report, "complete/checkpoint-root");
    assert_contradicted(&report, "complete/checkpoint-heads");
    assert_contradicted(&report, "complete/stream-lane");
}

#[test]
fn a_lane_left_out() {
    let world = World::new();
    let parts = world.honest_in(LANES);
    let refused =
        |files: &MemoryFiles| verify(files, &world.trust(false), VerifyOptions::default(), &mut |_| ()).unwrap_err();
    for lane in 0..LANES {
        let mut files = parts.files();
        files.0.remove(&bundle::in_lane(bundle::RECORDS, lane));
        remanifest(&mut files);
        let error = refused(&files);
        assert!(matches!(&error, BundleError::Missing(name) if name.starts_with("records/lane-")), "{lane}: {error}");
    }
    // Half of the lanes, and all data about the others, are removed.
    let mut less = parts.clone();
    less.log.lanes.truncate(2);
    less.log.heads.iter_mut().for_each(|heads| heads.truncate(2));
    assert_contradicted(&world.check(&less.files()), "complete/checkpoint-lanes");
    less.log.lanes.truncate(1);
    assert_contradicted(&world.check(&less.files()), "complete/checkpoint-lanes");
    // More lanes than the card has; the extra ones are copies.
    let mut more = parts.clone();
    more.log.lanes.extend(parts.log.lanes.clone());
    more.log.heads.iter_mut().for_each(|heads| heads.extend(heads.clone()));
    assert_contradicted(&world.check(&more.files()), "complete/checkpoint-lanes");
    // A lane that has no log may not have records or lines, and a log may not be empty.
    for name in [bundle::in_lane(bundle::RECORDS, 5), bundle::in_lane(bundle::SPANS, 4)] {
        let mut files = parts.files();
        files.0.insert(name, Vec::new());
        assert!(matches!(refused(&files), BundleError::Missing(_) | BundleError::Name(_)));
    }
    let mut empty = parts;
    empty.log.lanes[2].clear();
    assert_contradicted(&world.check(&empty.files()), "complete/records-missing");
}

#[test]
fn the_number_of_lanes_changed() {
    let world = World::new();
    for lanes in [1, 2, 8] {
        let mut parts = world.honest_in(LANES);
        parts.log.checkpoints[1].lanes = lanes;
        assert_contradicted(&world.check(&parts.files()), "complete/checkpoint-lanes");
    }
    for lanes in [0, 3, 16, 255] {
        let mut parts = world.honest_in(LANES);
        parts.log.checkpoints[1].lanes = lanes;
        assert_contradicted(&world.check(&parts.files()), "genuine/checkpoint-malformed");
    }
}

#[test]
fn heads_that_are_not_the_signed_ones() {
    let world = World::new();
    let honest = world.honest_in(LANES);
    let edits: [(&str, Edit); 6] = [
        ("exchanged", |p| p.log.heads[1].swap(0, 1)),
        ("the same sum, differently shared", |p| {
            p.log.heads[1][0].size += 1;
            p.log.heads[1][1].size -= 1;
        }),
        ("another root", |p| p.log.heads[1][2].root[7] ^= 1),
        ("another number", |p| p.log.heads[1][2].lane = 1),
        ("a reserved byte", |p| p.log.heads[1][2].reserved_1[0] = 1),
        ("larger than every log", |p| p.log.heads[1].iter_mut().for_each(|head| head.size.set(u64::MAX))),
    ];
    for (what, edit) in edits {
        let mut parts = honest.clone();
        edit(&mut parts);
        let report = world.check(&parts.files());
        assert!(codes(&report).contains("complete/checkpoint-heads"), "{what}: {:?}", codes(&report));
        assert_eq!(report.exit_code, 3, "{what}");
    }
    // Refused: heads in another order, more or fewer heads than checkpoints, and heads in a bundle of one lane.
    let mut parts = honest.clone();
    parts.log.heads.swap(1, 2);
    assert_contradicted(&world.check(&parts.files()), "complete/checkpoint-heads");
    let refused =
        |files: &MemoryFiles| verify(files, &world.trust(false), VerifyOptions::default(), &mut |_| ()).unwrap_err();
    for change in [
        |bytes: &mut Vec<u8>| bytes.push(0),
        |bytes: &mut Vec<u8>| _ = bytes.pop(),
        |bytes: &mut Vec<u8>| bytes.clear(),
    ] {
        let mut files = honest.files();
        change(files.0.get_mut(bundle::HEADS).unwrap());
        remanifest(&mut files);
        assert!(matches!(refused(&files), BundleError::Content { .. }));
    }
    let one = world.honest();
    let mut files = one.files();
    files
        .0
        .insert(bundle::HEADS.to_owned(), one.log.heads.iter().flat_map(|heads| heads.as_bytes().to_vec()).collect());
    remanifest(&mut files);
    assert!(matches!(refused(&files), BundleError::Name(_)));
}

#[test]
fn a_lane_that_shrinks() {
    let world = World::new();
    let mut parts = world.honest_in(LANES);
    // The session as a whole grows; only lane 1 shrinks.
    let mut under: Vec<_> = parts.log.lanes.clone();
    under[1].truncate(parts.log.heads[1][1].size.get() as usize - 1);
    let last = heads(&under);
    put_heads(&mut parts, 2, last);
    assert!(parts.log.checkpoints[2].size > parts.log.checkpoints[1].size);
    let report = world.check(&parts.files());
    assert_contradicted(&report, "complete/checkpoint-order");
    // A log is too short for one checkpoint, but not for the last one.
    parts.log.lanes = under;
    let report = world.check(&parts.files());
    assert_contradicted(&report, "complete/records-missing");
}

#[test]
fn heads_before_every_lane_was_opened() {
    let world = World::new();
    let mut parts = world.honest_in(LANES);
    let under: Vec<_> = (0..4).map(|lane| &parts.log.lanes[lane][..[1, 1, 0, 1][lane]]).collect();
    let opening = heads(&under);
    put_heads(&mut parts, 0, opening);
    assert_contradicted(&world.check(&parts.files()), "complete/checkpoint-state");
}

#[test]
fn records_of_other_lanes_and_sessions() {
    let world = World::new();
    let honest = world.honest_in(LANES);
    let edits: [(&str, Edit, &str); 7] = [
        ("a record with another lane's number", |p| p.log.lanes[1][2].answer.lane = 2, "record-session"),
        ("a record with no lane's number", |p| p.log.lanes[1][2].answer.lane = 9, "record-session"),
        (
            "a stream in a lane that is not its own",
            |p| {
                for record in p.log.lanes[1].iter_mut().filter(|r| (2..=5).contains(&r.answer.record_type)) {
                    record.descriptor.slot.set(6);
                    record.descriptor = record.descriptor.sealed();
                }
            },
            "stream-lane",
        ),
        (
            "a lane of another session",
            |p| p.log.lanes[2].iter_mut().for_each(|record| record.answer.epoch.set(78)),
            "lane-session",
        ),
        (
            "CLOSE over other tables in one lane",
            |p| p.log.lanes[2].last_mut().unwrap().descriptor.as_mut_bytes()[0] ^= 1,
            "lane-session",
        ),
        ("CLOSE missing in one lane", |p| _ = p.log.lanes[2].pop(), "checkpoint-state"),
        (
            "a record that is later than the checkpoint over it",
            |p| {
                let tick = p.log.checkpoints[1].tick.get() + 1;
                let size = p.log.heads[1][3].size.get() as usize;
                p.log.lanes[3][size - 1..].iter_mut().for_each(|r| r.answer.tick.set(r.answer.tick.get().max(tick)));
            },
            "checkpoint-records",
        ),
    ];
    for (what, edit, code) in edits {
        let mut parts = honest.clone();
        edit(&mut parts);
        // The finding stays if the card itself signs the checkpoints.
        parts.reroot();
        let report = world.check(&parts.files());
        assert!(codes(&report).contains(&format!("complete/{code}")), "{what}: {:?}", codes(&report));
        assert_eq!(report.exit_code, 3, "{what}");
    }
}

#[test]
fn heartbeats_stand_in_every_lane() {
    let world = World::new();
    let mut honest = world.honest_in(LANES);
    honest.open();
    for serial in 0..3 {
        honest.log.heartbeat(nonce(serial));
        honest.log.checkpoint();
    }
    honest.log.close();
    assert_eq!(codes(&world.check(&honest.files())), none());
    let at = |parts: &Parts, lane: usize, number: usize| {
        let mut beats = (0..).zip(&parts.log.lanes[lane]).filter(|(_, record)| record.answer.record_type == HEARTBEAT);
        beats.nth(number).unwrap().0
    };
    // The end of a session may cut off the last heartbeat of some lanes. An earlier heartbeat may not be missing.
    for (number, lanes, holds) in [(2, &[1][..], true), (2, &[0, 2], true), (0, &[1], false), (1, &[3], false)] {
        let mut parts = honest.clone();
        for lane in lanes {
            let index = at(&parts, *lane, number);
            parts.log.lanes[*lane].remove(index);
        }
        renumber(&mut parts);
        // The roots of the checkpoints do not match either; that is a separate finding.
        let found = codes(&world.check(&parts.files()));
        assert_eq!(!found.contains("complete/lane-heartbeats"), holds, "heartbeat {number} in {lanes:?}: {found:?}");
    }
    // Refused: two heartbeats missing in a lane, another nonce, and two nonces exchanged.
    let mut parts = honest.clone();
    for number in [2, 1] {
        let index = at(&parts, 2, number);
        parts.log.lanes[2].remove(index);
    }
    renumber(&mut parts);
    assert_contradicted(&world.check(&parts.files()), "complete/lane-heartbeats");
    let mut parts = honest.clone();
    let (first, second) = (at(&parts, 1, 0), at(&parts, 1, 1));
    let records = &mut parts.log.lanes[1];
    let kept = records[first].descriptor;
    records[first].descriptor = records[second].descriptor;
    parts.reroot();
    assert_contradicted(&world.check(&parts.files()), "complete/lane-heartbeats");
    let records = &mut parts.log.lanes[1];
    records[second].descriptor = kept;
    parts.reroot();
    let report = world.check(&parts.files());
    assert_contradicted(&report, "complete/lane-heartbeats");
    assert_contradicted(&report, "no_gaps/heartbeat-nonce");
}

#[test]
fn credit_is_each_lanes_own() {
    let world = World::new();
    let mut parts = world.honest_in(LANES);
    parts.open();
    // Each lane reaches its limit, so all lanes together reach four times the limit.
    for slot in 0..32 {
        parts.begin(slot, "a");
    }
    let mut over = parts.clone();
    parts.log.close();
    assert_eq!(codes(&world.check(&parts.files())), ["replayable/id-twice".to_owned()].into());
    over.begin(34, "a");
    over.log.close();
    assert_contradicted(&world.check(&over.files()), "no_gaps/heartbeat-gap");
}

#[test]
fn alarms() {
    let world = World::new();
    let mut parts = world.honest_in(LANES);
    parts.open();
    let mut closing = parts.clone();
    parts.begin(1, "b");
    parts.log.alarm(Fault::Watchdog);
    parts.log.close();
    assert_eq!(codes(&world.check(&parts.files())), ["policy/alarm".to_owned()].into());
    // Lanes that were closed before the fault have no ALARM.
    closing.log.close();
    closing.log.checkpoints.pop();
    closing.log.heads.pop();
    let closed = closing.log.lanes.clone();
    for records in &mut closing.log.lanes {
        records.pop();
    }
    closing.log.alarm(Fault::TableChanged);
    (closing.log.lanes[0], closing.log.lanes[2]) = (closed[0].clone(), closed[2].clone());
    closing.reroot();
    assert_eq!(
        codes(&world.check(&closing.files())),
        ["complete/not-closed".to_owned(), "policy/alarm".to_owned()].into()
    );
    // First the checkpoint has a fault and a lane has neither ALARM nor CLOSE; then a lane's ALARM has another cause
    // than the others.
    let mut parts = closing.clone();
    parts.log.lanes[3].pop();
    parts.reroot();
    assert_contradicted(&world.check(&parts.files()), "complete/checkpoint-state");
    let mut parts = closing;
    let cause = parts.log.lanes[1].last().unwrap().descriptor;
    let at = (0..128).find(|at| parts.log.lanes[1][0].descriptor.as_bytes()[*at] != cause.as_bytes()[*at]).unwrap();
    parts.log.lanes[3].last_mut().unwrap().descriptor.as_mut_bytes()[at] ^= 1;
    parts.reroot();
    assert_contradicted(&world.check(&parts.files()), "complete/lane-session");
}

#[test]
fn receipts_name_their_lane() {
    let world = World::new();
    for lanes in [2, 4, 8] {
        let parts = world.honest_in(lanes);
        let files = parts.files();
        let (trust, options) =
            (world.trust(false), VerifyOptions { allow_sim: false, allow_not_enforced: true, at: Some(START) });
        for (number, receipt) in parts.receipts.iter().enumerate() {
            let receipt: Receipt = serde_json::from_value(receipt.clone()).unwrap();
            let proof = prove(&files, receipt.lane, receipt.index).unwrap();
            let proof = ReceiptProof::parse(&serde_json::to_vec(&proof).unwrap()).unwrap();
            let span = parts.spans.iter().find(|span| span["salt"] == parts.receipts[number]["salt"]).unwrap();
            let text = format!("{}{}", span["held"].as_str().unwrap(), span["text"].as_str().unwrap());
            let check =
                |proof: &ReceiptProof, receipt: &Receipt| proof.check(receipt, text.as_bytes(), &trust, options);
            check(&proof, &receipt).unwrap();
            let head = proof.head.clone().unwrap();
            assert_eq!(head.path.len() as u32, lanes.ilog2());
            let other = Receipt { lane: receipt.lane ^ 1, ..receipt.clone() };
            assert!(matches!(check(&proof, &other), Err(ReceiptError::OtherRecord { .. })));
            // Refused: a missing head, a wrong size, a wrong path, and an empty path.
            let mut path = head.path.clone();
            path[0] = HexBytes([0; 32]);
            for wrong in [
                None,
                Some(HeadProof { size: head.size + 1, ..head.clone() }),
                Some(HeadProof { path, ..head.clone() }),
                Some(HeadProof { path: Vec::new(), ..head.clone() }),
            ] {
                let wrong = ReceiptProof { head: wrong, ..proof.clone() };
                assert_eq!(check(&wrong, &receipt), Err(ReceiptError::NotIncluded));
            }
        }
        assert!(prove(&files, lanes, 0).is_err() && prove(&files, 1, 1000).is_err());
    }
    // With one lane there is no head to prove.
    let one = world.honest();
    let receipt: Receipt = serde_json::from_value(one.receipts[0].clone()).unwrap();
    let proof = prove(&one.files(), 0, receipt.index).unwrap();
    assert_eq!(proof.head, None);
    let wrong = ReceiptProof { head: Some(HeadProof { size: 8, path: Vec::new() }), ..proof };
    let checked = wrong.check(&receipt, b"The dose is 5 mg.", &world.trust(false), VerifyOptions::default());
    assert_eq!(checked, Err(ReceiptError::NotIncluded));
}
