//! Lies that only several bundles show together. `verify-series`, the statement about a period and the audit of a fleet
//! must all find each of them.

use super::{END, LogEvent, Parts, START, World, sha};
use portcullis_evidence::public_log::PublicLogEventKind::{Abandoned, Closed, Issued, Opened};
use portcullis_evidence::tree;
use std::collections::BTreeSet;

/// Name of a bundle, and code.
pub type Found = (&'static str, &'static str);

/// Bundles with a lie, and what has to be found.
pub struct Lie {
    pub what: &'static str,
    pub bundles: Vec<(String, Parts)>,
    /// The issuer's public log, if it is given.
    pub log: Option<LieLog>,
    /// What `verify-series` finds, and the statement about a period.
    pub found: BTreeSet<Found>,
    /// What the statement does not find: it does not ask for sessions behind the last one.
    pub not_of_period: BTreeSet<Found>,
    /// The codes of the audit, if they are others: it distinguishes more.
    pub audit: Option<BTreeSet<&'static str>>,
}

impl Lie {
    /// The codes that the audit has to find.
    pub fn by_audit(&self) -> BTreeSet<&'static str> {
        self.audit.clone().unwrap_or_else(|| self.found.iter().map(|(_, code)| *code).collect())
    }

    fn audited(self, codes: &[&'static str]) -> Self {
        Self { audit: Some(codes.iter().copied().collect()), ..self }
    }

    fn beside(self, events: Vec<LogEvent>, seen: u64) -> Self {
        Self { log: Some(LieLog { events, seen }), ..self }
    }
}

/// A public log: its events, and the second at which its witness saw it.
pub struct LieLog {
    pub events: Vec<LogEvent>,
    pub seen: u64,
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

/// A session that is not closed.
fn cut(session: &mut Parts) {
    session.log.checkpoints.pop();
}

/// A second history under the ticket of a session, which no witness saw.
fn twin(session: &Parts) -> Parts {
    let mut twin = session.clone();
    twin.witnessed = false;
    twin.open();
    twin.begin(0, "a");
    twin.end(0, 1, "");
    twin.log.close();
    twin
}

/// A session of the next layout version.
fn next_layout(session: &mut Parts) {
    session.image[4] += 1;
    session.ticket.policy = sha(&session.image);
    session.play();
    session.log.lanes.iter_mut().flatten().for_each(|record| record.answer.version += 1);
    session.reroot();
    session.log.checkpoints.iter_mut().for_each(|checkpoint| checkpoint.version += 1);
}

/// Session 4, with the serial 5 and this end of the session before.
fn fifth(sessions: &mut [Parts], close: [u8; 32]) {
    let last = &mut sessions[3];
    (last.ticket.serial, last.ticket.previous_close) = (5, close);
    last.play();
}

/// Every lie, and honest bundles first. Each rule over several sessions has at least one.
pub fn lies(world: &World) -> Vec<Lie> {
    let honest = sessions(world);
    let chain = honest[0].ticket.chain();
    let ticket = |serial: u64| honest.get(serial as usize - 1).map_or([5; 32], |session| sha(&session.ticket_bytes()));
    let lie = |what, change: &dyn Fn(&mut Vec<Parts>), found: &[Found]| {
        let mut sessions = honest.clone();
        change(&mut sessions);
        let names = ["1", "2", "3", "4", "5"].map(str::to_owned);
        let bundles = names.into_iter().zip(sessions).collect();
        let found = found.iter().copied().collect();
        Lie { what, bundles, log: None, found, not_of_period: BTreeSet::new(), audit: None }
    };
    // The log has other events of one serial.
    let logged = |what, serial: u64, kinds: &[_], found: &[Found]| {
        let mut log = events(&honest);
        log.retain(|event| event.1 != serial);
        log.extend(kinds.iter().map(|kind| (chain, serial, *kind, ticket(serial))));
        lie(what, &|_| (), found).beside(log, END)
    };
    // The log has events of serial 4, and then those of the session with serial 5.
    let skipped = |what, close, kinds: &[_], found: &[Found]| {
        let skipped = lie(what, &|all| fifth(all, close), found);
        let mut log = events(&honest[..3]);
        log.extend(kinds.iter().map(|kind| (chain, 4, *kind, [4; 32])));
        log.extend(events(&[skipped.bundles[3].1.clone()]));
        skipped.beside(log, END)
    };
    let behind = logged("a session behind the last bundle", 5, &[Issued, Opened, Closed], &[("4", "serial-missing")]);
    let three = events(&honest[..3]);
    let other_ticket =
        events(&honest).into_iter().map(|event| if event.1 == 2 { (event.0, 2, event.2, [8; 32]) } else { event });
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
        lie(
            "session 2 is given twice, once without one of its texts",
            &|all| {
                let mut copy = all[1].clone();
                copy.spans.pop();
                all.push(copy);
            },
            &[("5", "doubled")],
        ),
        logged("a ticket behind the last bundle", 5, &[Issued], &[("4", "pending")]),
        logged("a ticket behind the last bundle was given up", 5, &[Issued, Abandoned], &[("4", "abandoned")]),
        logged("a session behind the last bundle runs", 5, &[Issued, Opened], &[("4", "open")]),
        logged("a closed session was abandoned", 4, &[Issued, Abandoned], &[("4", "log-abandoned")]),
        logged("a closed session was abandoned late", 4, &[Issued, Opened, Abandoned], &[("4", "log-abandoned")]),
        Lie { not_of_period: behind.found.clone(), ..behind }.audited(&["bundle-missing"]),
        lie("session 3 is not given", &|all| drop(all.remove(2)), &[("3", "serial-missing")]),
        lie(
            "no root certified the card of a bundle",
            &|all| {
                let mut unknown = all[3].clone();
                unknown.chain.clear();
                unknown.ticket.nonce = [7; 16];
                unknown.play();
                all.push(unknown);
            },
            &[("5", "unplaced")],
        ),
        lie(
            "the operator issued a ticket",
            &|all| {
                let mut own = all[3].clone();
                own.ticket.issuer = "self".to_owned();
                (own.ticket.heartbeat_records, own.ticket.heartbeat_ticks) = (0, 0);
                own.play();
                all.push(own);
            },
            &[("5", "self-issued")],
        ),
        lie("session 3 has two histories", &|all| all.push(twin(&all[2])), &[("5", "serial-twice")]).audited(&["fork"]),
        lie(
            "two tickets have serial 3",
            &|all| {
                let mut other = all[2].clone();
                (other.ticket.nonce, other.witnessed) = ([7; 16], false);
                other.play();
                all.push(other);
            },
            &[("5", "serial-twice")],
        ),
        lie(
            "session 4 names an end that no session has",
            &|all| {
                all[3].ticket.previous_close = [7; 32];
                all[3].play();
            },
            &[("4", "previous-close")],
        ),
        lie(
            "session 4 says that session 3 was abandoned",
            &|all| {
                all[3].ticket.previous_close = [0; 32];
                all[3].play();
            },
            &[("4", "previous-close")],
        ),
        lie("the end of session 3 is cut off", &|all| cut(&mut all[2]), &[("4", "previous-close")]),
        lie(
            "session 3 was abandoned",
            &|all| {
                cut(&mut all[2]);
                all[3].ticket.previous_close = [0; 32];
                all[3].play();
            },
            &[("4", "abandoned")],
        ),
        lie("the end of the last session is cut off", &|all| cut(&mut all[3]), &[("4", "open")]),
        lie(
            "session 1 is of an unknown version",
            &|all| {
                next_layout(&mut all[0]);
                for at in 1..4 {
                    all[at].witness_log = all[at - 1].witness_leaves();
                }
            },
            &[("2", "unknown-version")],
        ),
        lie("the log has another ticket of session 2", &|_| (), &[("2", "log-ticket")])
            .beside(other_ticket.collect(), END),
        lie("the log never had session 4", &|_| (), &[("4", "log-ticket")]).beside(three.clone(), END),
        lie("the log ends before session 4", &|_| (), &[("4", "log-behind")]).beside(three, honest[3].witness_time),
        lie(
            "the log has the end of the last session, and its bundle has not",
            &|all| cut(&mut all[3]),
            &[("4", "log-closed"), ("4", "open")],
        )
        .beside(events(&honest), END),
        skipped("a ticket between two sessions was given up", [0; 32], &[Issued, Abandoned], &[("4", "abandoned")]),
        skipped(
            "session 5 names an end of the session that was given up",
            [7; 32],
            &[Issued, Abandoned],
            &[("4", "abandoned"), ("4", "previous-close")],
        ),
        skipped(
            "a session that was opened and abandoned is not given",
            [0; 32],
            &[Issued, Opened, Abandoned],
            &[("4", "serial-missing")],
        )
        .audited(&["serial-missing", "bundle-missing"]),
    ]
}
