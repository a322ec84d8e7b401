//! The cost of evidence grows with its files and records, and not faster: twice the streams, twice the work.

use portcullis_core::hex::HexBytes;
use portcullis_core::wire::Determination;
use portcullis_evidence::bundle::{self, MemoryFiles, StreamChoice, WithholdReason};
use portcullis_evidence::public_log::LoggedSessionState;
use portcullis_evidence::verify::judge::{
    ChainFacts, ChainJudge, ChainStart, LoggedFacts, PublicLogHead, SessionFacts, ShownCheckpoint, TicketFacts,
};
use portcullis_evidence::verify::{VerifyOptions, verify};
use portcullis_evidence::{extract, receipt, stream_proof};
use portcullis_report::evidence::{EvidencePageInputs, ReportText, page};
use portcullis_test_support::cost::{Counting, assert_linear};
use portcullis_test_support::world::{World, assert_affirmed, clerk, remanifest, sha};
use std::fs;

/// Two numbers of a session, from its position.
type SerialsOf = fn(u64) -> (u64, u64);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SIZES: [usize; 3] = [128, 256, 512];

/// Sessions of that many streams, each with its own context document.
fn sessions(world: &World) -> [MemoryFiles; 3] {
    SIZES.map(|streams| {
        let mut parts = world.honest();
        (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
        parts.ticket.contexts.clear();
        parts.open();
        for stream in 0..streams {
            parts.begin(0, &format!("a{stream}"));
            parts.gate(0, 1, "", "The line is closed.", Determination::Admit);
            parts.end(0, 2, "");
        }
        parts.log.close();
        parts.files()
    })
}

#[test]
fn each_reader_of_a_bundle_is_linear_in_its_streams() {
    let world = World::new();
    let (made, trust) = (sessions(&world), world.trust(false));
    let report = |files: &MemoryFiles| verify(files, &trust, VerifyOptions::default(), &mut |_| ()).unwrap();
    assert_affirmed(&report(&made[0]));
    assert_linear("verify", &made, |files| drop(report(files)));
    assert_linear("report", &made, |files| {
        let report = report(files);
        assert!(
            ReportText::new(&report).to_string().contains("verdict")
                && !page(&report, &EvidencePageInputs::default()).is_empty()
        );
    });
    assert_linear("prove", &made, |files| drop(receipt::prove(files, 0, 2).unwrap()));
    assert_linear("prove-stream", &made, |files| drop(stream_proof::prove_stream(files, 0, 1).unwrap()));
    assert_linear("extract", &made, |files| {
        let folder = tempfile::tempdir().unwrap();
        extract::extract(files, &folder.path().join("parts")).unwrap();
    });
}

#[test]
fn files_that_nothing_uses_cost_no_more_than_their_number() {
    let world = World::new();
    let honest = world.honest().files();
    let trust = world.trust(false);
    let more = |name: fn(usize) -> String, content: fn(usize) -> Vec<u8>| {
        SIZES.map(|count| {
            let mut files = honest.clone();
            files.0.extend((100..100 + 8 * count).map(|number| (name(number), content(number))));
            remanifest(&mut files);
            files
        })
    };
    let witness = more(|number| bundle::witness(number as u64), |_| Vec::new());
    let contexts =
        more(|number| bundle::context(&sha(number.to_string().as_bytes())), |number| number.to_string().into_bytes());
    for (what, made) in [("witness notes", witness), ("contexts", contexts)] {
        assert_linear(what, &made, |files| {
            let report = verify(files, &trust, VerifyOptions::default(), &mut |_| ()).unwrap();
            assert!(report.session.records > 0);
        });
    }
}

#[test]
fn withhold_and_finish_are_linear_in_the_streams() {
    let made = sessions(&World::new());
    let folder = tempfile::tempdir().unwrap();
    let place = |number: usize| folder.path().join(number.to_string());
    let folders = [0, 1, 2].map(|at: usize| {
        for (name, content) in &made[at].0 {
            let path = place(at).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        place(at)
    });
    assert_linear("finish", &folders, |folder| {
        // Without its manifest, a bundle counts as unfinished.
        fs::remove_file(folder.join(bundle::MANIFEST)).unwrap();
        assert!(!bundle::finish(folder, false).unwrap().already);
    });
    assert_linear("withhold", &folders, |folder| {
        let key = clerk();
        let reason = WithholdReason { name: "clerk", reason: "erased on request", key: &key, names: true };
        // Each stream is named, as in a request to erase many of them.
        let lines = fs::read_to_string(folder.join(bundle::STREAMS)).unwrap().lines().count();
        let choice = StreamChoice::Streams((0..lines).map(|number| format!("a{number}")).collect());
        bundle::withhold_in_place(folder, &choice, reason, &mut |_| ()).unwrap();
    });
}

/// Many sessions: of one chain, of one serial, and of one ticket; with tickets, and beside a log that has other ones.
#[test]
fn the_judge_of_chains_is_linear_in_the_sessions() {
    let digest = |number: u64| HexBytes(sha(&number.to_le_bytes()));
    let session = |number: u64, serial: u64, ticket: u64| SessionFacts {
        key: Some(digest(0)),
        seat: Some(0),
        serial: Some(serial),
        name: format!("{number:04}"),
        ticket: Some(digest(ticket)),
        last_checkpoint: Some(digest(number)),
        digests: Some(vec![ShownCheckpoint { serial: 0, digest: digest(number) }]),
        policy: Some(digest(number % 2)),
        is_known: true,
        is_genuine: true,
        is_own_key: true,
        witnessed: Some((number, number + 1)),
        ..SessionFacts::default()
    };
    let ticket = |number: u64| TicketFacts {
        key: Some(digest(0)),
        seat: Some(0),
        serial: Some(3 * number),
        ticket: Some(digest(number)),
        name: format!("{number:04}.cose"),
        is_trusted: true,
    };
    let logged = |number: u64| LoggedFacts {
        key: digest(0),
        seat: 0,
        serial: number,
        ticket: digest(number),
        state: LoggedSessionState::Abandoned,
        is_opened: number.is_multiple_of(3),
    };
    let judge = ChainJudge { start: ChainStart::First, log: Some(PublicLogHead { issuer: digest(0), seen: Some(9) }) };
    let forms: [(&str, SerialsOf); 3] = [
        ("sessions of one chain", |number| (2 * number, number)),
        ("bundles of one serial", |number| (7 + number % 2, number)),
        ("bundles of one ticket", |_| (7, 7)),
    ];
    for (what, form) in forms {
        let made = SIZES.map(|count| {
            let numbers = 1..=count as u64;
            let session = |number| session(number, form(number).0, form(number).1);
            ChainFacts {
                sessions: numbers.clone().map(session).collect(),
                tickets: numbers.clone().map(ticket).collect(),
                notes: Vec::new(),
                logged: numbers.map(logged).collect(),
            }
        });
        assert_linear(what, &made, |facts| assert!(judge.judge(facts.clone()).len() >= facts.sessions.len()));
    }
}
