//! Evidence of an unknown version: a warning names the version, nothing is affirmed, and unreadable data is not
//! contradicted. Also: two streams with one id give a warning, because only their records distinguish them.

use portcullis_test_support::world;

use portcullis_evidence::bundle::MemoryFiles;
use portcullis_evidence::verify::series::{ChainStart, join};
use portcullis_evidence::verify::{
    BundleProperty, Code, EvidenceStatus, SeriesCode, VerifyOptions, VerifyReport, verify,
};
use world::{Card, Parts, World, assert_contradicted, codes, context, sha};

fn permit(parts: &mut Parts) {
    parts.ticket.policy = sha(&parts.image);
    parts.play();
}

/// A whole signed session of the next layout version: image, records and checkpoints contain that version.
fn next_layout(world: &World, card: &std::rc::Rc<Card>) -> Parts {
    let mut parts = world.session(card, 1, [0; 32]);
    parts.image[4] += 1;
    permit(&mut parts);
    for record in parts.log.lanes.iter_mut().flatten() {
        record.answer.version += 1;
        // The record has a value in a field that is reserved in this layout version.
        record.answer.text_classes.set(7);
    }
    parts.reroot();
    parts.log.checkpoints.iter_mut().for_each(|checkpoint| checkpoint.version += 1);
    parts
}

/// Asserts that nothing is affirmed or contradicted, and that each property names the reason.
#[track_caller]
fn assert_unknown(report: &VerifyReport, exit_code: u8) {
    for property in BundleProperty::ALL {
        let conclusion = report.properties.of(property);
        assert_eq!(conclusion.status, EvidenceStatus::Warned, "{report:#?}");
        assert!(conclusion.reasons.iter().any(|reason| reason.code == Code::UnknownVersion), "{report:#?}");
    }
    assert_eq!(
        (report.status, report.exit_code, report.assurance),
        (EvidenceStatus::Warned, exit_code, None),
        "{report:#?}"
    );
}

#[test]
fn what_cannot_be_read_is_neither_affirmed_nor_contradicted() {
    let world = World::new();
    // Another layout, and another register map under the same layout.
    assert_unknown(&world.check(&next_layout(&world, &world.card).files()), 5);
    let mut parts = world.honest();
    parts.image[64] ^= 1;
    permit(&mut parts);
    assert_unknown(&world.check(&parts.files()), 5);
    // The image is shorter than any image of this version.
    let mut parts = next_layout(&world, &world.card);
    parts.image.truncate(40);
    permit(&mut parts);
    assert_unknown(&world.check(&parts.files()), 5);
    // Readable parts are still checked: the ticket, the certificate, the manifest.
    let mut parts = next_layout(&world, &world.card);
    parts.image[130] ^= 1;
    assert_contradicted(&world.check(&parts.files()), "policy/ticket-policy");
    let mut parts = next_layout(&world, &world.card);
    parts.chain.clear();
    assert_contradicted(&world.check(&parts.files()), "genuine/certificate");
    let mut files = next_layout(&world, &world.card).files();
    files.0.get_mut("README.md").unwrap().push(b'!');
    assert_contradicted(&world.check(&files), "complete/manifest");
    // Bytes with another magic, or with version 0, are not an image of any version.
    for at in [0, 4] {
        let mut parts = world.honest();
        parts.image[at] = 0;
        permit(&mut parts);
        assert_contradicted(&world.check(&parts.files()), "policy/image-malformed");
    }
}

/// Evidence is marked as simulated even if only files other than the checkpoints show it.
#[test]
fn simulated_evidence_of_an_unknown_version_is_marked() {
    let world = World::new();
    let files = next_layout(&world, &Card::simulated()).files();
    let report = world.check_sim(&files);
    assert_eq!((report.simulated, report.exit_code), (true, 10), "{report:#?}");
    assert!(codes(&report).contains("genuine/sim-root"), "{report:#?}");
    assert_eq!(world.check(&files).exit_code, 3);
}

/// A session that cannot be read neither breaks a chain nor closes it.
#[test]
fn a_series_with_a_session_of_an_unknown_version() {
    let world = World::new();
    let report =
        |files: &MemoryFiles| verify(files, &world.trust(false), VerifyOptions::default(), &mut |_| ()).unwrap();
    let first = next_layout(&world, &world.card);
    let previous = sha(zerocopy::IntoBytes::as_bytes(first.log.checkpoints.last().unwrap()));
    let mut second = world.session(&world.card, 2, previous);
    second.witness_log = first.witness_leaves();
    let second = report(&second.files());
    assert_eq!(second.exit_code, 0, "{second:#?}");
    let both = vec![("1".to_owned(), report(&first.files())), ("2".to_owned(), second)];
    let series = join(both, ChainStart::First, None);
    let found: Vec<_> = series.findings.iter().map(|finding| (finding.code, finding.status)).collect();
    assert_eq!((found, series.exit_code), (vec![(SeriesCode::UnknownVersion, EvidenceStatus::Warned)], 5));
}

/// The id is the caller's name for a text and need not be unique. A reader who knows only the id cannot distinguish
/// two streams.
#[test]
fn two_streams_of_one_id() {
    let world = World::new();
    let play = |predecessor: bool, id: &str| {
        let mut parts = world.honest();
        let mut document = world::document("b", &parts.package);
        id.clone_into(&mut document.id);
        document.predecessor = predecessor.then_some(portcullis_core::hex::HexBytes([1; 32]));
        let bytes = document.bytes();
        parts.ticket.contexts.insert(sha(&bytes));
        (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
        parts.open();
        parts.begin(0, "a");
        parts.begin_in(1, id, bytes);
        parts.end(0, 1, "");
        parts.end(1, 1, "");
        parts.log.close();
        parts.contexts.remove(&sha(&context("b", &parts.package)));
        world.check(&parts.files())
    };
    let report = play(false, "a");
    assert_eq!((codes(&report), report.exit_code), ([String::from("replayable/id-twice")].into(), 5), "{report:#?}");
    // A stream that continues another one has the same id; a stream with another id is separate.
    assert_eq!(play(true, "a").exit_code, 0);
    assert_eq!(play(false, "A").exit_code, 0);
    // Two streams have the same context document.
    let mut parts = world.honest();
    (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
    parts.open();
    (0..2).for_each(|slot| parts.begin(slot, "a"));
    (0..2).for_each(|slot| parts.end(slot, 1, ""));
    parts.log.close();
    assert!(codes(&world.check(&parts.files())).contains("replayable/id-twice"));
}
