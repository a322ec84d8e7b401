//! What the judge of chains finds, as findings of an audit.

use crate::finding::{AuditFinding, AuditFindingSource, FleetCode};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::verify::judge::{ChainFault, ChainFinding, SerialGap};

impl AuditFinding {
    /// A finding of the judge as findings of an audit. Each range of missing serials is a finding by itself, and what
    /// only the public log shows is in no bundle.
    #[must_use]
    pub fn of_chain(found: &ChainFinding) -> Vec<Self> {
        let one = |found: &ChainFinding| Self {
            key: found.key.as_ref().map(HexBytes::to_string),
            seat: found.seat,
            serial: found.serial,
            ..Self::of_fleet(AuditFindingSource::Fleet, code(&found.fault), found.name.as_deref(), found)
        };
        match &found.fault {
            ChainFault::Gap(gap) => {
                let range = |(first, last): &(u64, u64)| {
                    let fault = ChainFault::Gap(SerialGap { first: *first, last: *last, ..SerialGap::default() });
                    one(&ChainFinding { fault, serial: last.checked_add(1), name: None, ..found.clone() })
                };
                gap.missing.iter().map(range).collect()
            }
            ChainFault::GivenUp | ChainFault::Pending | ChainFault::OpenInLog | ChainFault::Unshown => {
                vec![Self { bundle: None, ..one(found) }]
            }
            _ => vec![one(found)],
        }
    }
}

/// The code of an audit. Where it has bundles, tickets, notes and a log, it distinguishes more than a series does.
const fn code(fault: &ChainFault) -> FleetCode {
    match fault {
        ChainFault::Fork { .. } | ChainFault::SeenOther(_) => FleetCode::Fork,
        ChainFault::Unshown | ChainFault::TicketUnused | ChainFault::SeenNowhere => FleetCode::BundleMissing,
        ChainFault::SeenLater(_) => FleetCode::CheckpointMissing,
        ChainFault::ChainMissing(_) => FleetCode::ChainMissing,
        ChainFault::PolicyReverted(_) => FleetCode::PolicyReverted,
        ChainFault::NoteUntrusted => FleetCode::NoteUntrusted,
        ChainFault::TicketUntrusted => FleetCode::TicketUntrusted,
        fault => match fault.code() {
            Some(code) => FleetCode::Series(code),
            None => FleetCode::BundleMissing,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{BundleVerifySettings, VerifyTaskOutcome, verify};
    use portcullis_evidence::public_log::{LogPolicy, TrustedPublicLog};
    use portcullis_evidence::verify::VerifyOptions;
    use portcullis_evidence::verify::judge::{
        ChainFacts, ChainJudge, ChainStart, NoteFacts, PublicLogHead, SeenCheckpoint,
    };
    use portcullis_test_support::world::lies::{lies, sessions};
    use portcullis_test_support::world::{Parts, World, log_policy, write_log};
    use std::collections::BTreeSet;

    fn findings(facts: ChainFacts, log: Option<&TrustedPublicLog>) -> Vec<AuditFinding> {
        let judge = ChainJudge { start: ChainStart::First, log: log.map(PublicLogHead::new) };
        judge.judge(facts).iter().flat_map(AuditFinding::of_chain).collect()
    }

    /// The same lies as in `verify-series`.
    #[test]
    fn what_several_bundles_show_is_found() {
        let world = World::new();
        let trust = world.trust(false);
        let question = BundleVerifySettings { trust: &trust, options: VerifyOptions::default() };
        let policy = LogPolicy::parse(&log_policy(&world)).unwrap();
        for lie in lies(&world) {
            let outcomes: Vec<VerifyTaskOutcome> =
                lie.bundles.iter().map(|(name, parts)| verify(name, name, &parts.files(), question).unwrap()).collect();
            let sessions = outcomes.into_iter().filter_map(|outcome| outcome.facts).collect();
            let mut facts = ChainFacts { sessions, ..ChainFacts::default() };
            let folder = tempfile::tempdir().unwrap();
            let log = lie.log.as_ref().map(|log| {
                write_log(folder.path(), &world, &log.events, log.seen);
                TrustedPublicLog::read(folder.path(), &policy).unwrap()
            });
            for (chain, _) in log.iter().flat_map(TrustedPublicLog::chains) {
                log.iter().for_each(|log| facts.add_logged(*chain, log));
            }
            let found = findings(facts, log.as_ref());
            let found: BTreeSet<_> = found.iter().map(|found| &*found.code).collect();
            assert_eq!(found, lie.by_audit(), "{}", lie.what);
        }
    }

    /// A note of a fork that was given by itself.
    #[test]
    fn a_note_by_itself_is_compared() {
        let world = World::new();
        let trust = world.trust(false);
        let question = BundleVerifySettings { trust: &trust, options: VerifyOptions::default() };
        let sessions = sessions(&world);
        let outcome = verify("4", "4", &sessions[3].files(), question).unwrap();
        let mut forked = sessions[3].clone();
        forked.witness_log[1] = [7; 32];
        let found = |parts: &Parts| {
            let note = portcullis_evidence::note::verify(&parts.notes()[2], &trust.witnesses).unwrap();
            let (key, seat) = (Some(HexBytes(note.chain.key)), Some(note.chain.seat));
            let (digest, name) = (HexBytes(note.checkpoint), "a.note".to_owned());
            let seen = Some(SeenCheckpoint { serial: note.serial, digest, view: note.view });
            let notes = vec![NoteFacts { key, seat, serial: Some(note.ticket), name, seen }];
            let sessions = outcome.facts.clone().into_iter().collect();
            let found = findings(ChainFacts { sessions, notes, ..ChainFacts::default() }, None);
            found.iter().map(|found| found.code.to_string()).collect::<Vec<_>>()
        };
        // The sessions before are not given.
        assert_eq!(found(&sessions[3]), ["serial-missing"]);
        assert_eq!(found(&forked), ["serial-missing", "witness-fork"]);
    }
}
