//! The replays of an audit: which bundles one unit of work replays, and what the outcomes mean for their sessions.

use crate::engine::SqlEngine;
use crate::error::FleetError;
use crate::options::AuditOptions;
use crate::run::run;
use crate::units::{AuditUnit, EarlierChainBundle, ReplayTask};
use portcullis_core::hex;
use portcullis_fleet_core::{AuditFinding, AuditedSession, VerifyTaskOutcome};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Replays a sample of each bundle that the verifier could read.
pub(crate) async fn add_replays(
    engine: &SqlEngine,
    options: &AuditOptions,
    identity: &[u8],
    units: &[AuditUnit],
    outcomes: &mut [VerifyTaskOutcome],
    findings: &mut Vec<AuditFinding>,
) -> Result<(), FleetError> {
    let ids = units.iter().fold(Sha256::new(), |all, unit| all.chain_update(&unit.bundle));
    let seed = options.seed.clone().unwrap_or_else(|| hex::encode(&ids.finalize()));
    let sessions: Vec<AuditedSession> = outcomes.iter().map(|outcome| outcome.session.clone()).collect();
    let chosen = chosen(units, &sessions);
    let done = run(engine, options, identity, &ReplayTask { sample: options.sample, seed }, &chosen).await?;
    let mut of_bundles: BTreeMap<String, &mut AuditedSession> =
        outcomes.iter_mut().map(|outcome| (outcome.session.bundle.clone(), &mut outcome.session)).collect();
    for (unit, replayed) in chosen.iter().zip(done) {
        let asked = unit.earlier.iter().filter(|place| place.is_asked).map(|place| &place.bundle);
        for (bundle, replayed) in asked.chain([&unit.bundle]).zip(replayed) {
            let Some(session) = of_bundles.get_mut(bundle) else { continue };
            session.replay = Some(replayed.replayed);
            findings.extend(replayed.findings.into_iter().map(|finding| AuditFinding {
                key: session.key.clone(),
                seat: session.seat,
                serial: session.serial,
                ..finding
            }));
        }
    }
    Ok(())
}

/// The units that replay all these bundles. Streams can continue those of earlier sessions of their chain. One unit
/// replays all sessions of a chain that do so, with every session before them: each bundle is in two units at most,
/// however long the chain is.
fn chosen(units: &[AuditUnit], sessions: &[AuditedSession]) -> Vec<AuditUnit> {
    let of_bundles: BTreeMap<&str, &AuditUnit> = units.iter().map(|unit| (&*unit.bundle, unit)).collect();
    let of = |session: &AuditedSession| of_bundles.get(&*session.bundle).copied();
    let is_asked = |session: &AuditedSession| !session.properties.is_empty();
    let continues = |session: &AuditedSession| is_asked(session) && session.key.is_some() && session.continued > 0;
    let mut chains: BTreeMap<_, Vec<&AuditedSession>> = BTreeMap::new();
    for session in sessions.iter().filter(|session| session.key.is_some()) {
        chains.entry((&session.key, session.seat)).or_default().push(session);
    }
    let mut chosen: Vec<AuditUnit> =
        sessions.iter().filter(|session| is_asked(session) && !continues(session)).filter_map(of).cloned().collect();
    for chain in chains.values_mut() {
        chain.sort_by_key(|session| (session.serial, &session.bundle));
        let Some(last) = chain.iter().rposition(|session| continues(session)) else { continue };
        let mut members = chain.iter().take(last + 1).filter_map(|session| Some((*session, of(session)?)));
        let Some((_, unit)) = members.next_back() else { continue };
        let earlier = members.map(|(session, unit)| EarlierChainBundle {
            bundle: unit.bundle.clone(),
            name: unit.name.clone(),
            uri: unit.uri.clone(),
            is_asked: continues(session),
        });
        chosen.push(AuditUnit { earlier: earlier.collect(), ..unit.clone() });
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_fleet_core::{FleetCode, failed};

    /// A session of a chain, by its serial; `continued` streams of it continue others.
    fn session(seat: u16, serial: u64, continued: u64) -> AuditedSession {
        let properties = BTreeMap::from([("genuine".to_owned(), "affirmed".to_owned())]);
        let (key, bundle) = (Some("aa".to_owned()), format!("{seat}-{serial}"));
        AuditedSession {
            key,
            seat: Some(seat),
            serial: Some(serial),
            name: bundle.clone(),
            bundle,
            continued,
            properties,
            ..failed("", "", FleetCode::Unread, "").session
        }
    }

    #[test]
    fn a_chain_is_one_unit_however_long_it_is() {
        for length in [3, 30, 300] {
            // In the first chain every session continues the one before, in the second only the third does.
            let first = (1..=length).map(|serial| session(0, serial, u64::from(serial > 1)));
            let second = (1..=length).map(|serial| session(1, serial, u64::from(serial == 3)));
            let sessions: Vec<AuditedSession> = second.chain(first).rev().collect();
            let unit = |session: &AuditedSession| AuditUnit {
                bundle: session.bundle.clone(),
                name: session.name.clone(),
                uri: "file:///x".to_owned(),
                earlier: Vec::new(),
                kept: false,
            };
            let units: Vec<AuditUnit> = sessions.iter().map(unit).collect();
            let chosen = chosen(&units, &sessions);
            let read: usize = chosen.iter().map(|unit| 1 + unit.earlier.len()).sum();
            assert!(read <= 4 * length as usize, "{read} bundles are read for {length} of each chain");
            let answered = |unit: &AuditUnit| {
                let asked = unit.earlier.iter().filter(|place| place.is_asked).map(|place| place.bundle.clone());
                asked.chain([unit.bundle.clone()]).collect::<Vec<_>>()
            };
            let mut all: Vec<String> = chosen.iter().flat_map(answered).collect();
            all.sort();
            let mut expected: Vec<String> = sessions.iter().map(|session| session.bundle.clone()).collect();
            expected.sort();
            assert_eq!(all, expected);
            let third = chosen.iter().find(|unit| unit.bundle == "1-3").unwrap();
            let before: Vec<(&str, bool)> =
                third.earlier.iter().map(|place| (&*place.bundle, place.is_asked)).collect();
            assert_eq!(before, [("1-1", false), ("1-2", false)]);
        }
    }
}
