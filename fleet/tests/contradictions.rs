//! Planted contradictions: the audit finds exactly these, and nothing else.

use crate::support::{Scene, found, set, single, verifier_codes};
use ed25519_dalek::SigningKey;
use portcullis_core::wire::Determination;
use portcullis_evidence::bundle::{self, MemoryFiles, StreamChoice, WithholdReason, withhold};
use portcullis_evidence::verify::EvidenceStatus;
use portcullis_evidence::verify::series::{ChainStart, join};
use portcullis_fleet::IngestInput;
use portcullis_test_support::world::{Parts, START, clerk, context, image, remanifest, sha};
use std::collections::BTreeSet;

#[test]
fn honest_sessions_are_affirmed() {
    let scene = Scene::new();
    let answer = scene.answer(&scene.all_but(&[]));
    assert_eq!((found(&answer), answer.exit_code), (set(&[]), 0), "{:#?}", answer.findings);
    assert!(answer.sessions.iter().all(|session| session.tables == Some(true)), "{:#?}", answer.sessions);
    let [chain] = &answer.chains[..] else { panic!("one chain") };
    assert_eq!((chain.first, chain.last, chain.totals.affirmed, chain.days.len()), (1, 4, 4, 4));
    let records: usize = scene.sessions.iter().flat_map(|session| &session.log.lanes).map(Vec::len).sum();
    assert_eq!((answer.totals.records, answer.totals.signed_records), (records as u64, records as u64));
}

/// A second history under the ticket of session 3.
fn twin(scene: &Scene) -> Parts {
    let mut twin = scene.sessions[2].clone();
    twin.open();
    twin.begin(0, "a");
    twin.gate(0, 1, "", "Another text.", Determination::Admit);
    twin.end(0, 2, "");
    twin.log.close();
    twin
}

#[test]
fn a_fork() {
    let scene = Scene::new();
    let mut inputs = scene.all_but(&[]);
    inputs.push(scene.bundle("twin", &twin(&scene).files()));
    let answer = scene.answer(&inputs);
    // The witness has signed both.
    assert_eq!(found(&answer), set(&[("3", "fork"), ("twin", "witness-fork")]), "{:#?}", answer.findings);
    let fork = answer.findings.iter().find(|finding| finding.code == "fork").unwrap();
    assert!(fork.detail.contains("from checkpoint 1 on: 3, twin"), "{:#?}", answer.findings);
    assert_eq!((answer.status, answer.exit_code), (EvidenceStatus::Contradicted, 3));
}

#[test]
fn a_fork_that_only_a_witness_saw() {
    let scene = Scene::new();
    let mut inputs = scene.all_but(&[]);
    inputs.push(IngestInput::Note(scene.file("other.note", &twin(&scene).notes()[1])));
    // Whatever the witness signed over another history of its log is named, also a note that agrees with the bundle.
    inputs.push(IngestInput::Note(scene.file("same.note", &scene.sessions[2].notes()[1])));
    let forks = ["3", "4", "same.note"].map(|name| (name, "witness-fork"));
    assert_eq!(scene.findings(&inputs), set(&[&[("3", "fork")][..], &forks].concat()));
}

#[test]
fn a_gap_in_serials() {
    let scene = Scene::new();
    let answer = scene.answer(&scene.all_but(&[2, 3]));
    assert_eq!(found(&answer), set(&[("-", "serial-missing")]), "{:#?}", answer.findings);
    assert_eq!(answer.findings[0].detail, "sessions 2 to 3 are missing");
    // The first session is missing.
    let scene = Scene::new();
    let answer = scene.answer(&scene.all_but(&[1]));
    assert_eq!(found(&answer), set(&[("-", "serial-missing")]));
    assert_eq!(answer.findings[0].detail, "sessions 1 to 1 are missing");
}

#[test]
fn a_doubled_serial() {
    let scene = Scene::new();
    let mut other = scene.sessions[2].clone();
    other.ticket.nonce = [10; 16];
    other.play();
    let mut inputs = scene.all_but(&[]);
    inputs.push(scene.bundle("other", &other.files()));
    assert_eq!(scene.findings(&inputs), set(&[("3", "serial-twice"), ("other", "witness-fork")]));
    // The other ticket alone, without its session.
    let scene = Scene::new();
    let mut inputs = scene.all_but(&[]);
    inputs.push(IngestInput::Ticket(scene.file("other.cose", &other.ticket_bytes())));
    assert_eq!(scene.findings(&inputs), set(&[("3", "serial-twice"), ("other.cose", "bundle-missing")]));
}

#[test]
fn a_seat_that_is_used_twice_at_one_time() {
    // Session 3 runs from second 200,000 to second 202,000, and session 4 from `begins` on for 200 s.
    let found = |begins: u64| {
        let scene = Scene::with(|serial, session| match serial {
            3 => session.witness_step = 1_000,
            4 => session.witness_time = START + begins,
            _ => {}
        });
        scene.findings(&scene.all_but(&[]))
    };
    assert_eq!(found(201_399), set(&[("4", "seat-overlap")]));
    assert_eq!(found(199_800), set(&[("4", "seat-overlap")]));
    assert_eq!(found(150_000), set(&[("4", "times-reversed")]));
    assert_eq!(found(199_199), set(&[("4", "times-reversed")]));
    // The clocks of two witnesses can differ.
    assert_eq!(found(201_400), set(&[]));
    assert_eq!(found(199_200), set(&[("4", "seat-overlap")]));
}

#[test]
fn a_key_has_one_seat_and_another_seat_is_another_chain() {
    let scene = Scene::new();
    let mut seat = scene.sessions[0].clone();
    seat.ticket.seat = 1;
    seat.play();
    let mut inputs = scene.all_but(&[]);
    inputs.push(scene.bundle("seat 1", &seat.files()));
    let answer = scene.answer(&inputs);
    assert_eq!(found(&answer), set(&[("seat 1", "key-twice")]), "{:#?}", answer.findings);
    assert_eq!(answer.chains.iter().map(|chain| chain.seat).collect::<Vec<_>>(), [0, 1]);
}

/// What the verifier finds in a bundle, and these findings about its tables.
fn with_tables(scene: &Scene, name: &str, tables: &[&str]) -> BTreeSet<(String, String)> {
    let mut expected = verifier_codes(scene, name);
    assert!(!expected.is_empty());
    expected.extend(tables.iter().map(|code| (name.to_owned(), (*code).to_owned())));
    expected
}

#[test]
fn swapped_lanes() {
    let scene = Scene::with(|_, session| {
        session.count = 2;
        session.play();
    });
    let mut files = scene.session(3);
    let lane = |lane| bundle::in_lane(bundle::RECORDS, lane);
    let (first, second) = (files.0.remove(&lane(0)).unwrap(), files.0.remove(&lane(1)).unwrap());
    files.0.extend([(lane(0), second), (lane(1), first)]);
    remanifest(&mut files);
    let mut inputs = scene.all_but(&[3]);
    inputs.push(scene.bundle("3", &files));
    let found = scene.findings(&inputs);
    assert_eq!(found, with_tables(&scene, "3", &["table-missing", "table-root"]));
    assert!(found.contains(&("3".to_owned(), "checkpoint-root".to_owned())), "{found:?}");
}

#[test]
fn a_missing_bundle() {
    let scene = Scene::new();
    let mut inputs = scene.all_but(&[3]);
    for (serial, session) in (1..).zip(&scene.sessions) {
        inputs.push(IngestInput::Ticket(scene.file(&format!("{serial}.cose"), &session.ticket_bytes())));
    }
    assert_eq!(scene.findings(&inputs), set(&[("3.cose", "bundle-missing")]));
    // The last one, which no later serial shows.
    let scene = Scene::new();
    let mut inputs = scene.all_but(&[4]);
    assert_eq!(scene.findings(&inputs), set(&[]));
    inputs.push(IngestInput::Ticket(scene.file("4.cose", &scene.sessions[3].ticket_bytes())));
    assert_eq!(scene.findings(&inputs), set(&[("4.cose", "bundle-missing")]));
    // Only a witness saw it.
    let scene = Scene::new();
    let mut inputs = scene.all_but(&[4]);
    inputs.push(IngestInput::Note(scene.file("4.note", &scene.sessions[3].notes()[0])));
    assert_eq!(scene.findings(&inputs), set(&[("4.note", "bundle-missing")]));
}

/// A session that is not closed, with records after its last checkpoint.
fn unsigned_tail(session: &mut Parts) {
    session.open();
    session.begin(0, "a");
    session.gate(0, 1, "", "The dose is 5 mg.", Determination::Admit);
}

#[test]
fn an_unsigned_tail() {
    let scene = Scene::with(|serial, session| {
        if serial == 4 {
            unsigned_tail(session);
        }
    });
    let answer = scene.answer(&scene.all_but(&[]));
    let mut expected = verifier_codes(&scene, "4");
    assert!(expected.contains(&("4".to_owned(), "unsigned-tail".to_owned())), "{expected:?}");
    expected.extend(set(&[("4", "open")]));
    assert_eq!(found(&answer), expected);
    assert_eq!((answer.status, answer.exit_code), (EvidenceStatus::Warned, 5));
    assert_eq!(answer.totals.records - answer.totals.signed_records, 2);
}

#[test]
fn a_witness_saw_more_than_the_bundle_shows() {
    let scene = Scene::new();
    let whole = scene.sessions[3].notes();
    let mut cut = scene.sessions[3].clone();
    unsigned_tail(&mut cut);
    let mut inputs = scene.all_but(&[4]);
    inputs.push(scene.bundle("4", &cut.files()));
    inputs.push(IngestInput::Note(scene.file("last.note", &whole[2])));
    let mut expected = verifier_codes(&scene, "4");
    expected.extend(set(&[("4", "open"), ("4", "checkpoint-missing")]));
    assert_eq!(scene.findings(&inputs), expected);
}

#[test]
fn a_changed_record() {
    let scene = Scene::new();
    let mut changed = scene.sessions[1].clone();
    changed.log.lanes[0][3].answer.determination ^= 1;
    let mut inputs = scene.all_but(&[2]);
    inputs.push(scene.bundle("2", &changed.files()));
    let found = scene.findings(&inputs);
    assert_eq!(found, with_tables(&scene, "2", &["table-root"]));
    assert!(found.contains(&("2".to_owned(), "checkpoint-root".to_owned())), "{found:?}");
}

#[test]
fn a_foreign_ticket() {
    let scene = Scene::with(|serial, session| {
        if serial == 3 {
            session.issuer = SigningKey::from_bytes(&[9; 32]);
            session.play();
        }
    });
    assert_eq!(scene.findings(&scene.all_but(&[])), set(&[("3", "ticket-issuer")]));
    // A ticket of another card.
    let scene = Scene::with(|serial, session| {
        if serial == 3 {
            session.ticket.key = [7; 32];
            session.play();
        }
    });
    let inputs = scene.all_but(&[]);
    let found = scene.findings(&inputs);
    assert!(found.contains(&("3".to_owned(), "ticket-key".to_owned())), "{found:?}");
    assert_eq!(found, verifier_codes(&scene, "3"));
    // Statements by themselves that no trusted key signed, or that are none.
    let scene = Scene::new();
    let mut inputs = scene.all_but(&[]);
    let mut foreign = scene.sessions[3].clone();
    (foreign.issuer, foreign.witness) = (SigningKey::from_bytes(&[9; 32]), SigningKey::from_bytes(&[9; 32]));
    inputs.push(IngestInput::Ticket(scene.file("foreign.cose", &foreign.ticket_bytes())));
    inputs.push(IngestInput::Ticket(scene.file("broken.cose", b"no ticket")));
    inputs.push(IngestInput::Note(scene.file("foreign.note", &foreign.notes()[0])));
    inputs.push(IngestInput::Note(scene.file("broken.note", b"no note")));
    let expected = set(&[
        ("foreign.cose", "ticket-untrusted"),
        ("broken.cose", "ticket-untrusted"),
        ("foreign.note", "note-untrusted"),
        ("broken.note", "note-untrusted"),
    ]);
    assert_eq!(scene.findings(&inputs), expected);
}

/// Gives a session another policy.
fn other_policy(session: &mut Parts) {
    session.package.insert("rules.cedar".to_owned(), b"forbid (principal, action, resource);\n".to_vec());
    session.image = image(&session.package);
    session.ticket.policy = sha(&session.image);
    let contexts = ["a", "b"].map(|id| context(id, &session.package));
    session.contexts = contexts.into_iter().map(|context| (sha(&context), context)).collect();
    session.ticket.contexts = session.contexts.keys().copied().collect();
    session.play();
}

#[test]
fn an_older_and_an_unknown_policy() {
    // Another policy from session 2 on does not give a finding; the older one in session 4 does.
    let scene = Scene::with(|serial, session| {
        if (2..=3).contains(&serial) {
            other_policy(session);
        }
    });
    let answer = scene.answer(&scene.all_but(&[]));
    assert_eq!((found(&answer), answer.exit_code), (set(&[("4", "policy-reverted")]), 5), "{:#?}", answer.findings);
    // A policy for which there is no ticket.
    let scene = Scene::with(|serial, session| {
        if serial == 3 {
            other_policy(session);
            session.ticket.policy = [7; 32];
            session.play();
        }
    });
    let found = scene.findings(&scene.all_but(&[]));
    let mut expected = verifier_codes(&scene, "3");
    assert!(expected.contains(&("3".to_owned(), "ticket-policy".to_owned())), "{expected:?}");
    expected.extend(set(&[("4", "policy-reverted")]));
    assert_eq!(found, expected);
}

#[test]
fn withheld_texts() {
    let scene = Scene::new();
    let inputs = scene.all_but(&[]);
    let reason = WithholdReason { name: "clerk", reason: "erased on request", key: &clerk(), names: false };
    let choice = StreamChoice::Streams(BTreeSet::from(["b".to_owned()]));
    withhold(&scene.path("2"), &scene.path("withheld"), &choice, reason, &mut |_| ()).unwrap();
    let mut given = inputs.clone();
    given.remove(1);
    given.push(IngestInput::Bundle(scene.path("withheld")));
    let found = scene.findings(&given);
    assert_eq!(found, verifier_codes(&scene, "withheld"));
    assert!(found.contains(&("withheld".to_owned(), "withheld".to_owned())), "{found:?}");
    // Both bundles of one session.
    let scene_of_both = Scene::new();
    given.push(inputs[1].clone());
    let both = scene_of_both.findings(&given);
    let mut expected = found;
    expected.extend(set(&[("2", "doubled")]));
    assert_eq!(both, expected);
}

#[test]
fn the_end_of_the_session_before() {
    let scene = Scene::with(|serial, session| {
        if serial == 3 {
            session.ticket.previous_close = [7; 32];
            session.play();
        }
    });
    assert_eq!(scene.findings(&scene.all_but(&[])), set(&[("3", "previous-close")]));
    // A session that was abandoned, and a ticket that says so.
    let scene = Scene::with(|serial, session| match serial {
        2 => unsigned_tail(session),
        3 => {
            session.ticket.previous_close = [0; 32];
            session.play();
        }
        _ => {}
    });
    let mut expected = verifier_codes_of_all(&scene);
    expected.extend(set(&[("3", "abandoned")]));
    assert_eq!(scene.findings(&scene.all_but(&[])), expected);
}

fn verifier_codes_of_all(scene: &Scene) -> BTreeSet<(String, String)> {
    scene.all_but(&[]);
    (1..=scene.sessions.len()).flat_map(|serial| verifier_codes(scene, &serial.to_string())).collect()
}

#[test]
fn a_broken_bundle_and_one_that_is_gone() {
    let scene = Scene::new();
    let mut files = scene.session(3);
    files.0.remove(bundle::IMAGE);
    let mut inputs = scene.all_but(&[3]);
    inputs.push(scene.bundle("3", &files));
    // A folder with a name that no bundle has.
    inputs.push(scene.bundle("litter", &MemoryFiles([("x/y.txt".to_owned(), Vec::new())].into())));
    // Regression: these ended the ingest, so that the bundles after them were in no table.
    std::fs::create_dir(scene.path("empty")).unwrap();
    inputs.insert(0, IngestInput::Bundle(scene.path("empty")));
    inputs.insert(0, IngestInput::Bundle(scene.file("notes.txt", b"no bundle")));
    let mut littered = scene.session(1);
    littered.0.insert(".DS_Store".to_owned(), Vec::new());
    inputs.insert(0, scene.bundle("littered", &littered));
    let none = ["3", "litter", "empty", "notes.txt", "littered"].map(|name| (name, "no-bundle"));
    let mut expected = set(&none);
    expected.extend(set(&[("-", "serial-missing")]));
    assert_eq!(scene.findings(&inputs), expected);

    let scene = Scene::new();
    let place = scene.ingest(&scene.all_but(&[]));
    std::fs::remove_dir_all(scene.path("2")).unwrap();
    std::fs::write(scene.path("3/README.md"), "another text\n").unwrap();
    let answer = scene.audit(&place, &scene.options());
    let expected = set(&[("2", "unread"), ("3", "bundle-changed"), ("-", "serial-missing")]);
    assert_eq!(found(&answer), expected, "{:#?}", answer.findings);
}

/// Several contradictions at once: each is found, and none hides another.
#[test]
fn all_at_once() {
    let scene = Scene::with(|serial, session| {
        if serial == 4 {
            session.witness_time = START + 200_100;
        }
    });
    let mut changed = scene.sessions[1].clone();
    changed.log.lanes[0][3].answer.determination ^= 1;
    let mut inputs = scene.all_but(&[1, 2]);
    inputs.push(scene.bundle("2", &changed.files()));
    inputs.push(scene.bundle("twin", &twin(&scene).files()));
    inputs.push(IngestInput::Ticket(scene.file("1.cose", &scene.sessions[0].ticket_bytes())));
    let mut expected = with_tables(&scene, "2", &["table-root"]);
    expected.extend(set(&[("3", "fork"), ("twin", "witness-fork"), ("1.cose", "bundle-missing")]));
    // Session 3 has two bundles, so its time is not compared with that of session 4.
    assert_eq!(scene.findings(&inputs), expected);
}

/// The answers equal those of the single verifier, and those of `verify-series` for the codes that both have.
#[test]
fn answers_equal_the_verifiers() {
    let changed = Scene::with(|serial, session| match serial {
        2 => unsigned_tail(session),
        3 => session.witnessed = false,
        4 => {
            session.ticket.policy = [7; 32];
            session.play();
        }
        _ => {}
    });
    for (scene, left_out) in [(Scene::new(), 3), (changed, 0), (Scene::new(), 1)] {
        let answer = scene.answer(&scene.all_but(&[left_out]));
        let mut reports = Vec::new();
        for session in &answer.sessions {
            let report = single(&scene, &scene.path(&session.name));
            assert_eq!(session.status, report.status, "{}", session.name);
            let codes: BTreeSet<_> = verifier_codes(&scene, &session.name);
            let own = answer.findings.iter().filter(|finding| finding.property.is_some());
            let own = own.filter(|finding| finding.bundle.as_deref() == Some(&session.name));
            let own: BTreeSet<_> = own.map(|finding| (session.name.clone(), finding.code.to_string())).collect();
            assert_eq!(own, codes, "{}", session.name);
            reports.push((session.name.clone(), report));
        }
        let series = join(reports, ChainStart::First, None);
        let of_series: BTreeSet<String> = series.findings.iter().map(|finding| finding.code.to_string()).collect();
        let of_fleet = answer.findings.iter().filter(|finding| finding.property.is_none());
        let of_fleet: BTreeSet<String> = of_fleet.map(|finding| finding.code.to_string()).collect();
        assert_eq!(of_fleet, of_series);
        assert_eq!((answer.status, answer.exit_code), (series.status, series.exit_code));
    }
}
