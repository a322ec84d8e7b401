//! Lies that only several bundles show together. `verify-series`, the statement about a period and the audit of a fleet
//! must all find each of them.

use super::{LogEvent, Parts, START, World, sha};
use portcullis_evidence::public_log::EventKind::{Abandoned, Closed, Issued, Opened};
use portcullis_evidence::tree;
use std::collections::BTreeSet;

/// Bundles with a lie, and what has to be found: names of bundles, with codes.
pub struct Lie {
    pub what: &'static str,
    pub bundles: Vec<(String, Parts)>,
    /// The events of the issuer's public log, if it is given.
    pub log: Option<Vec<LogEvent>>,
    pub found: BTreeSet<(&'static str, &'static str)>,
}

/// Sessions 1 to 4 of the world's card, 100,000 seconds apart.
pub fn sessions(world: &World) -> Vec<Parts> {
    let mut sessions: Vec<Parts> = Vec::new();
    for serial in 1..=4 {
        let close = sessions.last().map_or([0; 32], Parts::closed_by);
        let mut session = world.session(&world.card, serial, close);
        session.witness_log = sessions.last().map(Parts::witness_leaves).unwrap_or_default();
        session.witness_time = START + (serial - 1) * 100_000;
        sessions.push(session);
    }
    sessions
}

/// The events of sessions that were issued, opened and closed.
pub fn events(sessions: &[Parts]) -> Vec<LogEvent> {
    let of = |session: &Parts| {
        let ticket = sha(&session.ticket_bytes());
        [Issued, Opened, Closed].map(|kind| (session.ticket.chain(), session.ticket.serial, kind, ticket))
    };
    sessions.iter().flat_map(of).collect()
}

/// A session of another seat of the card, at the time of session 2.
fn other_seat(honest: &[Parts], begins: u64) -> Parts {
    let mut other = honest[0].clone();
    other.ticket.seat = 1;
    other.play();
    other.witness_time = honest[1].witness_time + begins;
    other
}

/// Every lie, and honest bundles first.
pub fn lies(world: &World) -> Vec<Lie> {
    let honest = sessions(world);
    let chain = honest[0].ticket.chain();
    let lie = |what, change: &dyn Fn(&mut Vec<Parts>), found: &[(&'static str, &'static str)]| {
        let mut sessions = honest.clone();
        change(&mut sessions);
        let names = ["1", "2", "3", "4", "5"].map(str::to_owned);
        let bundles = names.into_iter().zip(sessions).collect();
        Lie { what, bundles, log: None, found: found.iter().copied().collect() }
    };
    let logged = |what, serial: u64, kinds: &[_], found: &[(&'static str, &'static str)]| {
        let mut log = events(&honest);
        let ticket = honest.get(serial as usize - 1).map_or([5; 32], |session| sha(&session.ticket_bytes()));
        log.retain(|event| event.1 != serial);
        log.extend(kinds.iter().map(|kind| (chain, serial, *kind, ticket)));
        Lie { log: Some(log), ..lie(what, &|_| (), found) }
    };
    vec![
        lie("honest", &|_| (), &[]),
        logged("honest, with a log", 4, &[Issued, Opened, Closed], &[]),
        lie(
            "the witness was restored from a copy of before session 3",
            &|all| all[3].witness_log = all[1].witness_leaves(),
            &[("4", "witness-fork")],
        ),
        lie(
            "the witness has other entries below those of session 4",
            &|all| all[3].witness_log[0] = tree::leaf(b"another entry"),
            &[("4", "witness-fork")],
        ),
        lie(
            "the witness has other entries below a note in the middle of session 3",
            &|all| all[2].forked_note = Some(1),
            // The notes of session 4 contradict that note, too.
            &[("3", "witness-fork"), ("4", "witness-fork")],
        ),
        lie(
            "session 3 is before session 2 in the log of the witness",
            &|all| {
                all[2].witness_log = all[0].witness_leaves();
                all[1].witness_log = all[2].witness_leaves();
                all[3].witness_log = all[1].witness_leaves();
            },
            &[("3", "witness-order")],
        ),
        lie(
            "session 4 began while session 3 ran",
            &|all| {
                all[2].witness_step = 1_000;
                all[3].witness_time = all[2].witness_time + 1_000;
            },
            &[("4", "seat-overlap")],
        ),
        lie(
            "session 4 ran before session 3",
            &|all| all[3].witness_time = all[1].witness_time + 50_000,
            &[("4", "times-reversed")],
        ),
        lie(
            "the key of one card ran on two seats at one time",
            &|all| all.push(other_seat(all, 50)),
            &[("5", "key-twice")],
        ),
        lie("the card changed its seat", &|all| all.push(other_seat(all, 200)), &[]),
        lie("session 2 is given twice", &|all| all.push(all[1].clone()), &[("5", "doubled")]),
        logged("a ticket behind the last bundle", 5, &[Issued], &[("4", "pending")]),
        logged("a ticket behind the last bundle was given up", 5, &[Issued, Abandoned], &[("4", "abandoned")]),
        logged("a session behind the last bundle runs", 5, &[Issued, Opened], &[("4", "open")]),
        logged("a closed session was abandoned", 4, &[Issued, Abandoned], &[("4", "log-abandoned")]),
        logged("a closed session was abandoned late", 4, &[Issued, Opened, Abandoned], &[("4", "log-abandoned")]),
    ]
}
