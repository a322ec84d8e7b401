//! A bundle whose streams were judged under two members of a composition, in one session.
#![cfg(test)]

use portcullis_audit::check;
use portcullis_core::context::ContextDocument;
use portcullis_evidence::verify::{EvidenceStatus, ReplayCode, VerifyOptions, verify};
use portcullis_test_sessions as real;
use portcullis_test_support::world::World;
use std::collections::BTreeMap;

/// The sessions are of texts that were complete before they were judged.
const ACCEPTING: VerifyOptions = VerifyOptions { allow_sim: false, allow_not_enforced: true, at: None };

#[test]
fn streams_of_two_members_verify_and_replay_from_one_bundle() {
    for lanes in [1, 4] {
        let world = World::new();
        let parts = real::composed_session(&world, &world.card, lanes, None);
        let mut named: BTreeMap<String, u32> = BTreeMap::new();
        for context in parts.contexts.values() {
            *named.entry(ContextDocument::parse(context).unwrap().policy).or_default() += 1;
        }
        assert_eq!(named, BTreeMap::from([("two 1.0.0/a".to_owned(), 4), ("two 1.0.0/b".to_owned(), 4)]));
        let domains: BTreeMap<u8, u32> = parts.log.lanes.iter().flatten().filter(|r| r.descriptor.opcode == 1).fold(
            BTreeMap::new(),
            |mut domains, record| {
                *domains.entry(record.descriptor.domain).or_default() += 1;
                domains
            },
        );
        assert_eq!(domains.keys().copied().collect::<Vec<_>>(), [0, 1], "each member has a domain of its own");
        // Verification and replay affirm the bundle; the verifier does not know that the package is a composition.
        let files = parts.files();
        assert_eq!(world.check(&files).status, EvidenceStatus::Warned, "recorded streams prevented nothing");
        let report = verify(&files, &world.trust(false), ACCEPTING, &mut |_| ()).unwrap();
        assert_eq!(report.status, EvidenceStatus::Affirmed, "{report:#?}");
        let checked = check(&files, &world.trust(false), ACCEPTING, &mut |_| (), &mut || ()).unwrap();
        let replayed = checked.replay.unwrap();
        assert_eq!((checked.exit_code, replayed.streams, replayed.replayed), (0, 8, 8), "{:#?}", replayed.reasons);
    }
}

#[test]
fn a_stream_that_names_another_member_does_not_replay() {
    for (name, detail) in [("two 1.0.0/b", "is not what the replay gives"), ("two 1.0.0/c", "does not hold")] {
        let world = World::new();
        let files = real::composed_session(&world, &world.card, 1, Some(name)).files();
        let report = verify(&files, &world.trust(false), ACCEPTING, &mut |_| ()).unwrap();
        assert_eq!(report.status, EvidenceStatus::Affirmed, "the verifier judges no text");
        let checked = check(&files, &world.trust(false), ACCEPTING, &mut |_| (), &mut || ()).unwrap();
        let replayed = checked.replay.unwrap();
        assert_eq!((checked.status, replayed.replayed), (EvidenceStatus::Contradicted, 7));
        let [reason] = replayed.reasons.as_slice() else { panic!("{:#?}", replayed.reasons) };
        assert_eq!(reason.code, ReplayCode::ReplayDiffers);
        assert!(reason.detail.contains(detail), "{}", reason.detail);
    }
}
