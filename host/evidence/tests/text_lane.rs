//! Sessions whose card reads the texts: the records alone show the classes that the host did not describe.

use portcullis_core::context::{ContextDocument, ReleaseMode, StreamMode};
use portcullis_core::wire::{Descriptor, Determination, Fault, ImageHeader, Record, RecordType, features};
use portcullis_report::evidence::{EvidencePageInputs, ReportText, page};
use portcullis_test_support::world::*;

/// A class that opens a gate, and one that closes a gate.
const OPENING: u128 = 1;
const CLOSING: u128 = 2;

/// The honest session of `world`, on a card with a text lane.
fn session(world: &World) -> Parts {
    let mut parts = world.honest();
    parts.image = text_image(&parts.package, OPENING);
    parts.ticket.policy = sha(&parts.image);
    parts.play();
    parts
}

/// Verifies the honest session with a changed record `index`. Record 3 is an admit of stream 0, record 4 a reject of
/// stream 1; records 7 and 9 are later verdicts on stream 0.
fn edited(index: usize, change: &dyn Fn(&mut Record)) -> portcullis_evidence::verify::VerifyReport {
    let world = World::new();
    let mut parts = session(&world);
    let records = &mut parts.log.lanes[0];
    change(&mut records[index]);
    records[index].descriptor = records[index].descriptor.sealed();
    parts.reroot();
    world.check(&parts.files())
}

fn found(record: &mut Record, card: u128, host: u128) {
    record.answer.text_classes.set(card);
    record.descriptor.classes.set(host);
}

#[test]
fn an_honest_session_is_affirmed() {
    let world = World::new();
    assert_affirmed(&world.check(&session(&world).files()));
    // Honest are: a closing class that both find, an opening class that only the card finds, classes of the host alone.
    assert_affirmed(&edited(4, &|r| found(r, CLOSING, CLOSING)));
    assert_affirmed(&edited(4, &|r| found(r, OPENING, 0)));
    assert_affirmed(&edited(4, &|r| found(r, 0, CLOSING | OPENING | 8)));
}

/// A report says whether false descriptions were prevented.
#[test]
fn the_report_says_what_was_prevented() {
    let world = World::new();
    let plain = world.check(&world.honest().files());
    let lane = world.check(&session(&world).files());
    for (report, said) in [(&plain, "nothing prevented them"), (&lane, "could not hide the classes")] {
        assert!(ReportText::new(report).to_string().contains(said), "{}", ReportText::new(report));
        let page = page(report, &EvidencePageInputs::default());
        assert!(page.contains(said), "{page}");
    }
}

/// The set `opening` must fit the rows: a host could omit each class in it without a finding.
#[test]
fn opening_classes_follow_from_the_rows() {
    let world = World::new();
    let mut parts = session(&world);
    let at = ImageHeader::BYTES + 32;
    for opening in [OPENING | CLOSING, CLOSING, u128::MAX] {
        parts.image[at..at + 16].copy_from_slice(&opening.to_le_bytes());
        parts.ticket.policy = sha(&parts.image);
        parts.play();
        assert_contradicted(&world.check(&parts.files()), "policy/image-malformed");
    }
}

#[test]
fn an_omission_is_found_without_a_text() {
    assert_contradicted(&edited(4, &|r| found(r, CLOSING, 0)), "policy/class-omitted");
    assert_contradicted(&edited(4, &|r| found(r, CLOSING | OPENING, OPENING)), "policy/class-omitted");
}

#[test]
fn established_classes_follow_from_the_admitted_entries() {
    let world = World::new();
    let with = |classes: u128, established: u128| {
        let mut parts = session(&world);
        let records = &mut parts.log.lanes[0];
        let slot = records[3].descriptor.slot;
        found(&mut records[3], classes, classes);
        let later = |record: &&mut Record| record.descriptor.slot == slot && is_text(record);
        for record in records.iter_mut().skip(4).filter(later) {
            record.answer.text_established.set(established);
            if record.descriptor.opcode == 1 {
                record.descriptor.established.set(established);
                record.descriptor = record.descriptor.sealed();
            }
        }
        records[3].descriptor = records[3].descriptor.sealed();
        parts.reroot();
        world.check(&parts.files())
    };
    assert_affirmed(&with(OPENING | CLOSING, OPENING | CLOSING));
    for (classes, established) in [(OPENING, 0), (0, OPENING), (OPENING, OPENING | CLOSING)] {
        assert_contradicted(&with(classes, established), "complete/text-established");
    }
    // A refused entry establishes nothing.
    assert_contradicted(&edited(9, &|r| r.answer.text_established.set(CLOSING)), "complete/text-established");
}

fn is_text(record: &Record) -> bool {
    [RecordType::Verdict, RecordType::End].iter().any(|kind| record.answer.record_type == u8::from(*kind))
}

/// The streams of `world` release each span, so the host must describe all established classes.
#[test]
fn a_forgotten_class_is_found() {
    let world = World::new();
    let with = |class: u128, described: u128| {
        let mut parts = session(&world);
        let records = &mut parts.log.lanes[0];
        let slot = records[3].descriptor.slot;
        found(&mut records[3], class, class);
        records[3].descriptor = records[3].descriptor.sealed();
        for record in records.iter_mut().skip(4).filter(|record| record.descriptor.slot == slot && is_text(record)) {
            record.answer.text_established.set(class);
            if record.descriptor.opcode == 1 {
                record.descriptor.established.set(described);
                record.descriptor = record.descriptor.sealed();
            }
        }
        parts.reroot();
        world.check(&parts.files())
    };
    assert_affirmed(&with(CLOSING, CLOSING));
    assert_affirmed(&with(OPENING, 0));
    assert_contradicted(&with(CLOSING, 0), "policy/class-omitted");
}

/// Only the gate's own loop can go back, and only to text that is not released.
#[test]
fn a_forgotten_class_is_found_where_nothing_can_be_taken_back() {
    let world = World::new();
    let forgotten = |mode: StreamMode, release: ReleaseMode| {
        let mut parts = session(&world);
        let context = ContextDocument { mode, release, ..document("a", &parts.package) }.bytes();
        parts.ticket.contexts.insert(sha(&context));
        parts.open();
        parts.begin_in(0, "a", context);
        parts.gate(0, 1, "", "The first span.", Determination::Admit);
        parts.gate(0, 2, " ", "The second span.", Determination::Admit);
        parts.end(0, 3, "\n");
        parts.log.close();
        let records = &mut parts.log.lanes[0];
        let mut texts = records.iter_mut().filter(|record| is_text(record));
        let first = texts.next().unwrap();
        found(first, CLOSING, CLOSING);
        first.descriptor = first.descriptor.sealed();
        texts.for_each(|later| later.answer.text_established.set(CLOSING));
        parts.reroot();
        world.check(&parts.files())
    };
    for mode in StreamMode::ALL {
        for release in [ReleaseMode::Span, ReleaseMode::Checkpoint, ReleaseMode::End] {
            let report = forgotten(mode, release);
            let can_go_back =
                matches!(mode, StreamMode::Driven | StreamMode::DrivenConversation) && release != ReleaseMode::Span;
            if can_go_back {
                assert_affirmed(&report);
            } else {
                assert_contradicted(&report, "policy/class-omitted");
            }
        }
    }
}

#[test]
fn the_lane_is_in_use_exactly_if_the_image_says_so() {
    let world = World::new();
    for (image, bits) in [(true, 0), (false, features::TEXT_LANE)] {
        let mut parts = if image { session(&world) } else { world.honest() };
        for record in parts.log.lanes[0].iter_mut() {
            if [RecordType::Open, RecordType::Heartbeat, RecordType::Close]
                .map(u8::from)
                .contains(&record.answer.record_type)
            {
                set_features(record, bits);
            }
        }
        parts.reroot();
        assert_contradicted(&world.check(&parts.files()), "policy/open-features");
    }
    // The use of the text lane is latched at OPEN, so the last record must have the same bit.
    let mut parts = session(&world);
    let last = parts.log.lanes[0].last_mut().unwrap();
    set_features(last, 0);
    parts.reroot();
    assert_contradicted(&world.check(&parts.files()), "complete/record-latched");
    // An unknown feature bit is an error.
    let mut parts = session(&world);
    set_features(&mut parts.log.lanes[0][0], features::TEXT_LANE | 2);
    parts.reroot();
    assert_contradicted(&world.check(&parts.files()), "complete/record-layout");
}

fn set_features(record: &mut Record, bits: u16) {
    use zerocopy::{FromBytes, IntoBytes};
    let mut bytes: [u8; Descriptor::BYTES] = record.descriptor.as_bytes().try_into().unwrap();
    bytes[118..120].copy_from_slice(&bits.to_le_bytes());
    record.descriptor = Descriptor::read_from_bytes(&bytes).unwrap();
}

#[test]
fn only_texts_have_classes() {
    let world = World::new();
    for (index, record) in session(&world).log.lanes[0].iter().enumerate() {
        if !is_text(record) {
            let set = |of: fn(&mut Record)| {
                let mut parts = session(&world);
                of(&mut parts.log.lanes[0][index]);
                parts.reroot();
                let report = world.check(&parts.files());
                assert_eq!(report.exit_code, 3, "record {index}: {:#?}", report.properties);
            };
            set(|r| r.answer.text_classes.set(1));
            set(|r| r.answer.text_established.set(1));
        }
    }
    // A card refuses an END whose held bytes complete a class that closes a gate.
    let end = session(&world).log.lanes[0].iter().position(|r| r.descriptor.opcode == 3).unwrap();
    assert_contradicted(&edited(end, &|r| r.answer.text_classes.set(CLOSING)), "complete/record-answer");
}

#[test]
fn faults_of_a_text_need_the_lane() {
    let world = World::new();
    let refused = |parts: &Parts| parts.log.lanes[0].iter().position(|r| r.answer.fault.get() != 0).unwrap();
    for fault in [Fault::TextWindow, Fault::TextForm, Fault::TextCommitment, Fault::TextEnd] {
        let mut parts = session(&world);
        let at = refused(&parts);
        parts.log.lanes[0][at].answer.fault.set(fault.into());
        parts.reroot();
        let report = world.check(&parts.files());
        match fault {
            // The refused entry of the session is a GATE, so `text_end` cannot be its fault.
            Fault::TextEnd => assert_contradicted(&report, "complete/record-answer"),
            // The bus alone can cause this one.
            Fault::TextWindow => assert_affirmed(&report),
            _ => assert_warned(&report, "policy/text-refused"),
        }
        let mut parts = world.honest();
        parts.log.lanes[0][at].answer.fault.set(fault.into());
        parts.reroot();
        assert_contradicted(&world.check(&parts.files()), "complete/record-answer");
    }
}

/// A false text is named although it got no verdict: the last entry of a stream, too.
#[test]
fn a_false_text_is_named() {
    let world = World::new();
    let mut parts = session(&world);
    let records = &mut parts.log.lanes[0];
    let refused = *records.iter().find(|record| record.answer.fault.get() != 0).unwrap();
    let end = records.iter_mut().find(|record| record.descriptor.opcode == 3).unwrap();
    // The answer of a refused END; the stream then stays open.
    let mut answer = refused.answer;
    answer.log_index = end.answer.log_index;
    answer.tick = end.answer.tick;
    answer.fault.set(Fault::TextEnd.into());
    end.answer = answer;
    parts.reroot();
    let report = world.check(&parts.files());
    let reasons = &report.properties.policy.reasons;
    assert!(reasons.iter().any(|reason| reason.code.id() == "text-refused"), "{reasons:#?}");
}
