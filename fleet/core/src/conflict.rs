//! Findings about several sessions that cannot all be true.

use crate::finding::{Finding, FleetCode, Source};
use crate::unit::Outcome;
use portcullis_core::hex;
use portcullis_evidence::note::WitnessedCheckpoint;
use portcullis_evidence::ticket::Chain;
use portcullis_evidence::verify::sessions::{SessionFacts, conflicts};

/// Levels of assurance at which a key is that of one card.
const OWN_KEY: [&str; 2] = ["L2", "L3"];

impl Finding {
    /// What the rules over many sessions find, which `verify-series` has, too.
    #[must_use]
    pub fn between(outcomes: &[Outcome], notes: &[(String, WitnessedCheckpoint)]) -> Vec<Self> {
        let hash = |text: &Option<String>| text.as_deref().and_then(hex::decode);
        let of_bundles = outcomes.iter().filter(|outcome| !outcome.session.self_issued).filter_map(|outcome| {
            let session = &outcome.session;
            Some(SessionFacts {
                name: &session.name,
                chain: Chain { key: hash(&session.key)?, seat: session.seat.unwrap_or_default() },
                serial: session.serial?,
                history: (hash(&session.ticket), hash(&session.last_checkpoint)),
                is_own_key: session.assurance.as_deref().is_some_and(|level| OWN_KEY.contains(&level)),
                witnessed: session.witnessed,
                notes: &outcome.notes,
                is_note: false,
            })
        });
        let of_notes = notes.iter().map(|(name, note)| SessionFacts {
            name,
            chain: note.chain,
            serial: note.ticket,
            history: (None, None),
            is_own_key: false,
            witnessed: None,
            notes: std::slice::from_ref(&note.view),
            is_note: true,
        });
        let facts: Vec<_> = of_bundles.chain(of_notes).collect();
        let found = conflicts(&facts).into_iter().filter_map(|conflict| {
            let session = facts.get(conflict.session)?;
            let code = FleetCode::ALL.into_iter().find(|code| code.id() == conflict.code.id())?;
            Some(Self {
                key: Some(hex::encode(&session.chain.key)),
                seat: Some(session.chain.seat),
                serial: Some(session.serial),
                ..Self::of_fleet(Source::Fleet, code, Some(session.name), conflict.detail)
            })
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{Question, verify};
    use portcullis_evidence::verify::Options;
    use portcullis_test_support::world::lies::{lies, sessions};
    use portcullis_test_support::world::{Parts, World};
    use std::collections::BTreeSet;

    /// The same lies as in `verify-series`; what only the tables and the public log show is the engine's to find.
    #[test]
    fn what_several_bundles_show_is_found() {
        let world = World::new();
        let trust = world.trust(false);
        let question = Question { trust: &trust, options: Options::default() };
        for lie in lies(&world) {
            let outcomes: Vec<Outcome> =
                lie.bundles.iter().map(|(name, parts)| verify(name, name, &parts.files(), question).unwrap()).collect();
            let found = Finding::between(&outcomes, &[]);
            let found: BTreeSet<_> = found.iter().map(|f| (f.bundle.as_deref().unwrap(), &*f.code)).collect();
            let of_engine = ["doubled", "pending", "abandoned", "open", "log-abandoned"];
            let expected = lie.found.iter().copied().filter(|(_, code)| !of_engine.contains(code)).collect();
            assert_eq!(found, expected, "{}", lie.what);
        }
        // A note of a fork that was given by itself.
        let sessions = sessions(&world);
        let outcome = verify("4", "4", &sessions[3].files(), question).unwrap();
        let mut forked = sessions[3].clone();
        forked.witness_log[1] = [7; 32];
        let note = |parts: &Parts| portcullis_evidence::note::verify(&parts.notes()[2], &trust.witnesses).unwrap();
        let between = |note| Finding::between(std::slice::from_ref(&outcome), &[("a.note".to_owned(), note)]);
        assert_eq!(between(note(&sessions[3])), []);
        assert_eq!(between(note(&forked)).iter().map(|f| &*f.code).collect::<Vec<_>>(), ["witness-fork"]);
    }
}
