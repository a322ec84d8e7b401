//! Profiles, modes and predecessors of streams, and the limits that a ticket sets for them.

use portcullis_test_support::world;

use portcullis_core::context::{ContextDocument, StreamMode};
use portcullis_core::hex::HexBytes;
use portcullis_core::state::AgentProfile;
use portcullis_core::wire::Determination;
use portcullis_evidence::bundle;
use portcullis_evidence::verify::{EvidenceStatus, StreamModeCounts, VerifyOptions, verify};
use portcullis_report::evidence::{EvidencePageInputs, ReportText, page};
use serde_json::json;
use std::collections::BTreeSet;
use world::{Parts, World, assert_affirmed, assert_contradicted, codes, document, remanifest, sha, text_image};

/// A session whose ticket names no contexts, with one stream in each of `contexts`.
fn session(world: &World, contexts: &[Vec<u8>]) -> Parts {
    let mut parts = world.honest();
    parts.ticket.contexts.clear();
    parts.ticket.heartbeat_records = 0;
    parts.ticket.heartbeat_ticks = 0;
    play(&mut parts, contexts);
    parts
}

fn play(parts: &mut Parts, contexts: &[Vec<u8>]) {
    parts.open();
    parts.contexts.clear();
    for (slot, context) in (0..).zip(contexts) {
        parts.begin_in(slot, "a", context.clone());
        parts.gate(slot, 1, "", "Drink water.", Determination::Admit);
        parts.end(slot, 2, "\n");
    }
    parts.log.close();
}

fn counsel() -> AgentProfile {
    AgentProfile { audience: Some("counsel".to_owned()), ..AgentProfile::default() }
}

/// The context document of stream `a`, with a change.
fn context(world: &World, change: impl FnOnce(&mut ContextDocument)) -> Vec<u8> {
    let mut document = document("a", &world.honest().package);
    change(&mut document);
    document.bytes()
}

fn of_profile(world: &World, profile: AgentProfile) -> Vec<u8> {
    context(world, |c| (c.profile_digest, c.profile) = (profile.digest(), profile))
}

/// A text can be rejected for the public and admitted for counsel, so the report must show the chosen audience.
#[test]
fn a_profile_that_the_ticket_does_not_permit_is_contradicted() {
    let world = World::new();
    let contexts = [of_profile(&world, AgentProfile::default()), of_profile(&world, counsel())];
    let mut parts = session(&world, &contexts);
    assert_contradicted(&world.check(&parts.files()), "policy/profile-not-permitted");
    parts.ticket.profiles.insert(counsel().digest().0);
    play(&mut parts, &contexts);
    let report = world.check(&parts.files());
    // Both streams have the same id.
    let expected = BTreeSet::from(["replayable/id-twice".to_owned()]);
    assert_eq!((codes(&report), report.session.profiles_pinned), (expected, Some(true)));
}

#[test]
fn reports_show_profiles_with_their_streams() {
    let world = World::new();
    let mut parts = world.honest();
    (parts.ticket.contexts, parts.ticket.profiles) = (BTreeSet::new(), BTreeSet::new());
    (parts.ticket.heartbeat_records, parts.ticket.heartbeat_ticks) = (0, 0);
    let (public, secret) = (of_profile(&world, AgentProfile::default()), of_profile(&world, counsel()));
    play(&mut parts, &[secret.clone(), public, secret]);
    let report = world.check(&parts.files());
    let streams = |profile: &AgentProfile| report.session.profiles[&profile.digest()].streams;
    assert_eq!((streams(&AgentProfile::default()), streams(&counsel())), (1, 2));
    let digest = counsel().digest();
    let text = ReportText::new(&report).to_string();
    assert!(text.contains(&format!("{digest}: 2 streams, audience counsel")), "{text}");
    assert!(text.contains("the operator chose"), "{text}");
    let page = page(&report, &EvidencePageInputs::default());
    assert!(page.contains(&digest.to_string()) && page.contains("audience counsel"), "{page}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["session"]["profiles"][digest.to_string()]["streams"], 2);
    assert_eq!(json["session"]["profiles_pinned"], false);
}

/// If the ticket permits only certain profiles, an unknown profile is not affirmed.
#[test]
fn withheld_and_unknown_contexts_leave_a_pinned_profile_open() {
    let world = World::new();
    let later = br#"{"version":9,"mode":"dreamt"}"#.to_vec();
    let parts = session(&world, &[context(&world, |_| ()), later]);
    let report = world.check(&parts.files());
    assert!(
        codes(&report).is_superset(&["policy/profile-unknown", "replayable/context-version"].map(str::to_owned).into())
    );
    assert_eq!(
        (report.status, report.session.profile_unknown),
        (EvidenceStatus::Warned, 1),
        "{:#?}",
        report.properties
    );
    let mut files = session(&world, &[context(&world, |_| ())]).files();
    files.0.retain(|name, _| !name.starts_with("contexts/"));
    remanifest(&mut files);
    let report = world.check(&files);
    assert!(codes(&report).contains("policy/profile-unknown"), "{:#?}", report.properties);
    assert_eq!(report.exit_code, 5);
    // A stream without a name is reported even if its context is missing.
    files.0.remove("streams.jsonl").unwrap();
    remanifest(&mut files);
    let found = codes(&world.check(&files));
    assert!(found.is_superset(&["replayable/context-withheld", "replayable/stream-unnamed"].map(str::to_owned).into()));
}

#[test]
fn contexts_are_read_strictly() {
    let world = World::new();
    let good = String::from_utf8(context(&world, |_| ())).unwrap();
    let profile = serde_json::to_string(&AgentProfile::default()).unwrap();
    for (from, to) in [
        (r#""id":"a"}"#, r#""id":"a","x":1}"#.to_owned()),
        (r#""predecessor":null,"#, String::new()),
        (r#""mode":"driven""#, r#""mode":"free""#.to_owned()),
        ("{\"version\"", "{ \"version\"".to_owned()),
        // The permitted digest, with another profile in the document.
        (&profile, serde_json::to_string(&counsel()).unwrap()),
    ] {
        let wrong = good.replace(from, &to);
        assert_ne!(wrong, good);
        let parts = session(&world, &[wrong.into_bytes()]);
        assert_contradicted(&world.check(&parts.files()), "replayable/context-malformed");
    }
}

#[test]
fn modes_and_predecessors_are_counted() {
    let world = World::new();
    let mut contexts: Vec<_> = StreamMode::ALL.map(|mode| context(&world, |c| c.mode = mode)).into();
    contexts.push(context(&world, |c| c.predecessor = Some(HexBytes([5; 32]))));
    let report = world.check(&session(&world, &contexts).files());
    assert_eq!(
        report.session.modes,
        StreamModeCounts { driven: 2, driven_conversation: 1, held: 1, recorded: 1, observed: 1 }
    );
    assert_eq!((report.session.continued, report.exit_code), (1, 10), "{:#?}", report.properties);
    let text = ReportText::new(&report).to_string();
    assert!(
        text.contains("2 driven, 1 driven in a conversation, 1 held, 1 recorded, 1 observed; 1 continue another"),
        "{text}"
    );
}

/// A session that prevented nothing is never affirmed without a word, and its report says so first.
#[test]
fn streams_in_which_nothing_was_prevented_are_named() {
    let world = World::new();
    let files = |modes: &[StreamMode]| {
        let ids = ["a", "b", "c"].iter().zip(modes);
        let of = |(id, mode): (&&str, &StreamMode)| context(&world, |c| (c.id, c.mode) = ((*id).to_owned(), *mode));
        let mut parts = session(&world, &ids.map(of).collect::<Vec<_>>());
        parts.streams.iter_mut().zip(["a", "b", "c"]).for_each(|(line, id)| line["id"] = json!(id));
        parts.files()
    };
    let warned = BTreeSet::from(["policy/not-enforced".to_owned()]);
    let allowed = VerifyOptions { allow_not_enforced: true, ..VerifyOptions::default() };
    for mode in StreamMode::ALL {
        let prevents = !matches!(mode, StreamMode::Recorded | StreamMode::Observed);
        let files = files(&[mode]);
        let report = world.check(&files);
        let expected = if prevents { (BTreeSet::new(), 0) } else { (warned.clone(), 10) };
        assert_eq!((codes(&report), report.exit_code), expected, "{mode:?}");
        let accepted = verify(&files, &world.trust(false), allowed, &mut |_| ()).unwrap();
        assert_affirmed(&accepted);
        // The first lines say it, whether it is accepted or not.
        let words =
            if prevents { "1 streams kept refused text from readers" } else { "Nothing was prevented: 1 streams" };
        for report in [&report, &accepted] {
            let text = ReportText::new(report).to_string();
            let head: Vec<_> = text.lines().take(3).collect();
            assert!(head[2].starts_with("prevented    ") && head[2].contains(words), "{text}");
            assert!(page(report, &EvidencePageInputs::default()).contains(words));
        }
    }
    let report = world.check(&files(&[StreamMode::Driven, StreamMode::Observed, StreamMode::Held]));
    assert_eq!((codes(&report), report.exit_code), (warned, 10));
    let detail = &report.properties.policy.reasons[0].detail;
    assert!(detail.starts_with("1 of 3 streams"), "{detail}");
    assert!(
        ReportText::new(&report).to_string().contains("2 streams kept refused text from readers; 1 streams were only")
    );
    // What is false stays false, and no mode of it counts.
    let mut files = files(&[StreamMode::Observed]);
    files.0.get_mut(bundle::RECORDS).unwrap()[100] ^= 1;
    remanifest(&mut files);
    for report in [world.check(&files), verify(&files, &world.trust(false), allowed, &mut |_| ()).unwrap()] {
        assert_eq!(report.exit_code, 3);
        assert!(!ReportText::new(&report).to_string().contains("prevented    "));
    }
}

#[test]
fn a_ticket_can_require_the_text_lane() {
    let world = World::new();
    let mut parts = world.honest();
    parts.ticket.text_lane = true;
    parts.play();
    assert_contradicted(&world.check(&parts.files()), "policy/text-lane");
    parts.image = text_image(&parts.package, 0);
    parts.ticket.policy = sha(&parts.image);
    parts.play();
    assert_affirmed(&world.check(&parts.files()));
}

#[test]
fn reports_show_the_seat() {
    let world = World::new();
    let mut parts = world.honest();
    parts.ticket.seat = 7;
    parts.play();
    let report = world.check(&parts.files());
    assert_eq!((report.session.seat, report.exit_code), (Some(7), 0));
    assert!(ReportText::new(&report).to_string().contains("seat 7"), "{report:?}");
    assert_eq!(serde_json::to_value(&report).unwrap()["session"]["seat"], json!(7));
    assert!(parts.files().0.contains_key(bundle::TICKET));
}
