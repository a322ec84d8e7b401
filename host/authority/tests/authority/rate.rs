//! How many sessions a second issuers take on PostgreSQL, and that a database that crashes loses and doubles none.
//! `cargo xtask long tickets` runs these.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::common::{Card, Session};
use super::cosign::Scene;
use super::public_log::{issuer, request};
use super::stores::{database, server};
use portcullis_authority::StoreUrl;
use portcullis_authority::tickets::{IssueError, Issuer, TicketState};
use portcullis_core::wire::Life;
use portcullis_evidence::ticket::SessionTicket;

/// Seats, each with a chain of its own.
const SEATS: u16 = 64;
/// Issuers with a connection of their own, each for the same number of seats.
const ISSUERS: u16 = 8;
const ROUNDS: u32 = 10;
const CRASHES: u32 = 50;

/// Runs `work` for each item, on one thread for each issuer; returns the time and the results in order.
fn timed<T: Sync, R: Send>(
    issuers: &mut [Issuer],
    items: &[T],
    work: impl Fn(&mut Issuer, &T) -> R + Sync,
) -> (Duration, Vec<R>) {
    let share = items.len().div_ceil(issuers.len());
    let begun = Instant::now();
    let results = std::thread::scope(|scope| {
        let shares = issuers.iter_mut().zip(items.chunks(share));
        let running = shares.map(|(issuer, items)| {
            let work = &work;
            scope.spawn(move || items.iter().map(|item| work(issuer, item)).collect::<Vec<_>>())
        });
        let running: Vec<_> = running.collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    (begun.elapsed(), results)
}

/// Sessions are issued, opened and closed, with `fsync` and with every event in the public log before the answer. The
/// time in which the cards sign their checkpoints does not count.
#[test]
#[ignore = "cargo xtask long tickets"]
fn sessions_a_second() {
    let (folder, witnesses) = (tempfile::tempdir().unwrap(), Scene::new());
    let log = folder.path().join("log");
    rate("no witness", |store| issuer(store, &log).unwrap());
    rate("two of three witnesses", |store| witnesses.issuer(store).unwrap());
}

fn rate(cosigned_by: &str, open: impl Fn(&StoreUrl) -> Issuer) {
    let Some(database) = database() else { return };
    let (card, store) = (Card::new(1), StoreUrl::Postgres(database.issuer.clone()));
    let fsync: String = database.owner().query_one("SHOW fsync", &[]).unwrap().get(0);
    assert_eq!(fsync, "on");
    let mut issuers: Vec<_> = (0..ISSUERS).map(|_| open(&store)).collect();
    let seats: Vec<u16> = (0..SEATS).collect();
    let mut spent = Duration::ZERO;
    for round in 0..ROUNDS {
        let (time, tickets) = timed(&mut issuers, &seats, |issuer, seat| issuer.issue(&request(&card, *seat)).unwrap());
        spent += time;
        let mut sessions: Vec<_> = tickets.iter().map(|ticket| Session::open(ticket, round as u8)).collect();
        let sign =
            |sessions: &[Session]| -> Vec<_> { sessions.iter().map(|session| card.sign(&session.wire)).collect() };
        let openings = sign(&sessions);
        let (time, states) =
            timed(&mut issuers, &openings, |issuer, cose| issuer.redeem(cose, &card.public_key).unwrap().state);
        spent += time;
        assert!(states.iter().all(|state| *state == TicketState::Opened));
        sessions.iter_mut().for_each(|session| session.advance(3, 1, Life::Closing));
        let closings = sign(&sessions);
        let (time, states) =
            timed(&mut issuers, &closings, |issuer, cose| issuer.close(cose, &card.public_key).unwrap().state);
        spent += time;
        assert!(states.iter().all(|state| *state == TicketState::Closed));
    }
    let sessions = u32::from(SEATS) * ROUNDS;
    let tenths = u128::from(sessions) * 10_000 / spent.as_millis().max(1);
    println!("{sessions} sessions in {spent:?}: {}.{} a second, cosigned by {cosigned_by}", tenths / 10, tenths % 10);
    check(open(&store), &card, Some(u64::from(ROUNDS)));
}

/// Threads issue and abandon tickets while the database crashes again and again. A call that fails is repeated by a new
/// issuer, as a service does after a restart.
#[test]
#[ignore = "cargo xtask long tickets"]
fn a_crashing_database_loses_and_doubles_nothing() {
    let (Some(server), Some(database)) = (server(), database()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (log, card, store) = (folder.path().join("log"), Card::new(1), StoreUrl::Postgres(database.issuer));
    let (over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for seat in 0..ISSUERS {
            let (store, log, card, over, answered) = (&store, &log, &card, &over, &answered);
            scope.spawn(move || {
                let mut open = None;
                let mut number = 0_u64;
                while !over.load(Ordering::SeqCst) {
                    let Some(mut issuer) = open.take().or_else(|| issuer(store, log).ok()) else {
                        std::thread::sleep(Duration::from_millis(20));
                        continue;
                    };
                    let request = request(card, seat);
                    let asked = [&seat.to_be_bytes()[..], &number.to_be_bytes()].concat();
                    let done = issuer.issue_once(&request, &asked).and_then(|ticket| {
                        let serial = SessionTicket::parse(&ticket)?.content.serial;
                        issuer.abandon(request.chain, serial, "not used")
                    });
                    match done {
                        Ok(_) => open = Some(issuer),
                        // The ticket of this request was given up, and only the answer about it was lost.
                        Err(IssueError::State(_, TicketState::Abandoned)) => open = Some(issuer),
                        Err(_) => continue,
                    }
                    number += 1;
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for crash in 0..CRASHES {
            std::thread::sleep(Duration::from_millis(u64::from(crash) * 7919 % 400));
            server.crash();
            server.start();
        }
        over.store(true, Ordering::SeqCst);
    });
    let answered = answered.into_inner();
    println!("{answered} tickets over {CRASHES} crashes");
    assert!(answered > u64::from(CRASHES), "the test looks at too little");
    check(issuer(&store, &log).unwrap(), &card, None);
}

/// Each chain has the serials 1 to its last one, once each, and no ticket is pending beyond the last. The store has
/// every event of the log.
fn check(mut issuer: Issuer, card: &Card, each: Option<u64>) {
    issuer.check().unwrap();
    let mut serials = BTreeMap::<u16, Vec<u64>>::new();
    for ticket in issuer.list().unwrap() {
        assert_eq!(ticket.chain.key, card.id());
        serials.entry(ticket.chain.seat).or_default().push(ticket.serial);
    }
    for (seat, serials) in serials {
        assert!(serials.iter().copied().eq(1..=serials.len() as u64), "seat {seat}: {serials:?}");
        assert!(each.is_none_or(|each| each == serials.len() as u64), "seat {seat}: {serials:?}");
    }
}
