//! The issuer: serials without gaps, single use, and a durable store.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::common::{Card, Session};
use super::stores::{Server, database, file, stores};
use ed25519_dalek::SigningKey;
use portcullis_authority::ca::CertificateValidity;
use portcullis_authority::tickets::{IssueError, IssueRequest, Issuer, TicketState, make_store, self_issued};
use portcullis_authority::{EventStoreError, ShownError, StoreUrl};
use portcullis_core::wire::Life;
use portcullis_evidence::checkpoint::{CheckpointError, ParsedCheckpoint};
use portcullis_evidence::ticket::{ChainId, SessionTicket, TicketIssuer};
use postgres::{Client, NoTls};
use rusqlite::Connection;
use zerocopy::IntoBytes;

const NAME: &str = "registrar.example";
/// Environment variable for child processes: the address of their store.
const CHILD: &str = "PORTCULLIS_TEST_STORE";

fn issuer(store: &StoreUrl) -> Issuer {
    Issuer::open(store, SigningKey::from_bytes(&[5; 32]), NAME).unwrap()
}

fn request(card: &Card) -> IssueRequest {
    IssueRequest {
        profiles: [[6; 32]].into(),
        chain: card.chain(),
        policy: [3; 32],
        contexts: [[4; 32]].into(),
        text_lane: true,
        heartbeat_records: 100,
        heartbeat_ticks: 200,
        window: CertificateValidity { not_before: 10, not_after: 20 },
    }
}

/// Issues a ticket and runs one session; returns the ticket and the closed session.
fn hold(issuer: &mut Issuer, card: &Card) -> (Vec<u8>, Session) {
    let ticket = issuer.issue(&request(card)).unwrap();
    let mut session = Session::open(&ticket, 1);
    issuer.redeem(&card.sign(&session.wire), &card.public_key).unwrap();
    session.advance(3, 1, Life::Closing);
    issuer.close(&card.sign(&session.wire), &card.public_key).unwrap();
    (ticket, session)
}

/// Eight cards share a key: each seat has one session at a time, and its own serials.
#[test]
fn each_seat_has_its_own_sessions() {
    for store in stores() {
        let (mut issuer, card) = (issuer(&store.url), Card::new(1));
        let seat = |seat| IssueRequest { chain: ChainId { seat, ..card.chain() }, ..request(&card) };
        let mut sessions = Vec::new();
        for serial in 1..=2 {
            let open: Vec<_> = [0, 1, 2, 3, 4, 5, 6, u16::MAX].map(|n| (n, issuer.issue(&seat(n)).unwrap())).into();
            for (n, cose) in &open {
                let ticket = SessionTicket::parse(cose).unwrap().content;
                assert_eq!((ticket.seat, ticket.serial), (*n, serial));
                assert!(matches!(issuer.issue(&seat(*n)), Err(IssueError::Pending(pending)) if pending == serial));
                assert_eq!(issuer.ticket(seat(*n).chain, serial).unwrap(), *cose);
            }
            for (n, cose) in open {
                let mut session = Session::open(&cose, 1);
                issuer.redeem(&card.sign(&session.wire), &card.public_key).unwrap();
                if n == 5 {
                    issuer.abandon(seat(n).chain, serial, "lost").unwrap();
                    continue;
                }
                session.advance(3, n as u8, Life::Closing);
                issuer.close(&card.sign(&session.wire), &card.public_key).unwrap();
                sessions.push((n, serial, session));
            }
        }
        assert!(matches!(issuer.abandon(seat(7).chain, 1, "unknown"), Err(IssueError::Unknown)));
        // Each ticket contains the digest of the last closing checkpoint of its own seat.
        for (n, serial, session) in sessions.iter().filter(|(_, serial, _)| *serial == 1) {
            let next = SessionTicket::parse(&issuer.ticket(seat(*n).chain, serial + 1).unwrap()).unwrap().content;
            assert_eq!(next.previous_close, parse(session).digest());
        }
        let list = issuer.list().unwrap();
        assert_eq!(list.len(), 16);
        assert!(list.is_sorted_by_key(|ticket| (ticket.chain, ticket.serial)));
    }
}

/// A repeated request gets the same ticket, whatever has happened to the seat meanwhile, and never a second one.
#[test]
fn a_repeated_request_gets_the_same_ticket() {
    for store in stores() {
        let (mut first, mut second, card) = (issuer(&store.url), issuer(&store.url), Card::new(1));
        let ask = request(&card);
        let ticket = first.issue_once(&ask, b"a").unwrap();
        // The terms of a repeated request do not matter: the ticket has been issued.
        let later = IssueRequest { window: CertificateValidity { not_before: 30, not_after: 40 }, ..ask.clone() };
        for _ in 0..2 {
            assert_eq!(second.issue_once(&later, b"a").unwrap(), ticket);
            assert_eq!(first.issue_once(&later, b"a").unwrap(), ticket);
            assert!(matches!(second.issue_once(&ask, b"b"), Err(IssueError::Pending(1))));
        }
        let mut session = Session::open(&ticket, 1);
        first.redeem(&card.sign(&session.wire), &card.public_key).unwrap();
        assert_eq!(second.issue_once(&ask, b"a").unwrap(), ticket, "the session is open");
        session.advance(3, 1, Life::Closing);
        second.close(&card.sign(&session.wire), &card.public_key).unwrap();
        let refused = |issuer: &mut Issuer, serial, state| {
            let again = issuer.issue_once(&ask, b"a").unwrap_err();
            assert!(matches!(again, IssueError::State(s, found) if (s, found) == (serial, state)), "{again}");
        };
        refused(&mut first, 1, TicketState::Closed);
        let next = second.issue_once(&ask, b"b").unwrap();
        assert_eq!(SessionTicket::parse(&next).unwrap().content.serial, 2);
        refused(&mut first, 1, TicketState::Closed);
        assert_eq!(first.issue_once(&ask, b"b").unwrap(), next);
        first.abandon(card.chain(), 2, "lost").unwrap();
        assert!(matches!(second.issue_once(&ask, b"b"), Err(IssueError::State(2, TicketState::Abandoned))));
        // The same request for another seat is another request.
        let seat = IssueRequest { chain: ChainId { seat: 1, ..card.chain() }, ..ask.clone() };
        assert_eq!(SessionTicket::parse(&second.issue_once(&seat, b"b").unwrap()).unwrap().content.serial, 1);
        assert_eq!(issuer(&store.url).list().unwrap().len(), 3);
        // A new process gives the same answers.
        refused(&mut issuer(&store.url), 1, TicketState::Closed);
        // Another key is another issuer, whose requests are others.
        let mut other = Issuer::open(&store.url, SigningKey::from_bytes(&[6; 32]), NAME).unwrap();
        assert_eq!(SessionTicket::parse(&other.issue_once(&ask, b"a").unwrap()).unwrap().content.serial, 3);
    }
}

/// A store of version 1, with one row per ticket and one card per key, is converted: its cards get seat 0.
#[test]
fn an_older_store_is_read() {
    let (made, old, card) = (file(), file(), Card::new(1));
    let (closed, session) = hold(&mut issuer(&made.url), &card);
    let abandoned = issuer(&made.url).issue(&request(&card)).unwrap();
    issuer(&made.url).abandon(card.chain(), 2, "lost").unwrap();
    let open = issuer(&made.url).issue(&request(&card)).unwrap();
    let mut opened = Session::open(&open, 1);
    issuer(&made.url).redeem(&card.sign(&opened.wire), &card.public_key).unwrap();
    let StoreUrl::File(path) = &old.url else { panic!() };
    let store = Connection::open(path).unwrap();
    store
        .execute_batch(
            "CREATE TABLE ticket (
               key BLOB NOT NULL, serial INTEGER NOT NULL, digest BLOB NOT NULL UNIQUE, cose BLOB NOT NULL,
               state TEXT NOT NULL, opening BLOB, closing BLOB, remark TEXT, PRIMARY KEY (key, serial)
             ) STRICT;
             CREATE UNIQUE INDEX pending ON ticket (key) WHERE state IN ('issued', 'opened');
             PRAGMA application_id = 0x50544354;",
        )
        .unwrap();
    let row = |serial: u64, cose: &[u8], state: &str, opening: Option<&[u8]>, closing: Option<&[u8]>, remark| {
        let digest = SessionTicket::parse(cose).unwrap().digest;
        let row = rusqlite::params![card.id(), serial, digest, cose, state, opening, closing, remark];
        store.execute("INSERT INTO ticket VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row).unwrap();
    };
    let first = Session::open(&closed, 1);
    row(1, &closed, "closed", Some(first.wire.as_bytes()), Some(session.wire.as_bytes()), None::<&str>);
    row(2, &abandoned, "abandoned", None, None, Some("lost"));
    row(3, &open, "opened", Some(opened.wire.as_bytes()), None, None);
    drop(store);
    let mut moved = issuer(&old.url);
    assert_eq!(moved.list().unwrap(), issuer(&made.url).list().unwrap());
    let tickets = (1..=3).map(|serial| moved.ticket(card.chain(), serial).unwrap());
    assert!(tickets.eq([closed, abandoned, open]));
    assert!(matches!(moved.issue(&request(&card)), Err(IssueError::Pending(3))));
    opened.advance(3, 1, Life::Closing);
    moved.close(&card.sign(&opened.wire), &card.public_key).unwrap();
    assert_eq!(SessionTicket::parse(&moved.issue(&request(&card)).unwrap()).unwrap().content.serial, 4);
    Connection::open(path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let newer = Issuer::open(&old.url, SigningKey::from_bytes(&[5; 32]), NAME).err().unwrap();
    assert!(newer.to_string().contains("newer version"), "{newer}");
}

/// An event that is changed, removed or added in the file itself is found.
#[test]
fn a_changed_event_shows() {
    let damages = [
        "DROP TRIGGER unchanged; UPDATE event SET body = x'00' WHERE place = 1",
        "DROP TRIGGER unchanged; UPDATE event SET kind = 3, body = x'00' WHERE place = 2",
        "DROP TRIGGER kept; DELETE FROM event WHERE place = 2",
        "DROP TRIGGER kept; DELETE FROM event",
        "DELETE FROM head",
        "UPDATE head SET size = 2",
        "INSERT INTO event SELECT key, 9, 0, serial, kind, ticket, body, hash FROM event WHERE place = 0",
    ];
    for damage in damages {
        let store = file();
        hold(&mut issuer(&store.url), &Card::new(1));
        let StoreUrl::File(path) = &store.url else { panic!() };
        let other = Connection::open(path).unwrap();
        other.pragma_update(None, "foreign_keys", false).unwrap();
        other.execute_batch(damage).unwrap();
        let found = issuer(&store.url).list();
        assert!(matches!(found, Err(IssueError::Store(EventStoreError::Damaged(_)))), "{damage}: {found:?}");
    }
    let store = file();
    hold(&mut issuer(&store.url), &Card::new(1));
    let StoreUrl::File(path) = &store.url else { panic!() };
    for refused in ["UPDATE event SET body = x'00'", "DELETE FROM event"] {
        assert!(Connection::open(path).unwrap().execute_batch(refused).is_err(), "{refused}");
    }
}

/// The issuer's role can only read, and append events through one function; triggers stop the owner's mistakes.
#[test]
fn a_role_of_the_database_changes_no_event() {
    let Some(database) = database() else { return };
    let store = StoreUrl::Postgres(database.issuer.clone());
    hold(&mut issuer(&store), &Card::new(1));
    let mut role = Client::connect(&database.issuer, NoTls).unwrap();
    for refused in [
        "INSERT INTO portcullis.event SELECT * FROM portcullis.event",
        "UPDATE portcullis.event SET body = ''",
        "DELETE FROM portcullis.event",
        "TRUNCATE portcullis.event",
        "UPDATE portcullis.head SET size = 0",
        "DELETE FROM portcullis.head",
        "UPDATE portcullis.version SET version = 2",
        "DROP SCHEMA portcullis CASCADE",
        "ALTER TABLE portcullis.event DISABLE TRIGGER ALL",
        "CREATE OR REPLACE FUNCTION portcullis.refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    ] {
        assert!(role.batch_execute(refused).is_err(), "{refused}");
    }
    let mut owner = database.owner();
    for refused in
        ["UPDATE portcullis.event SET body = ''", "DELETE FROM portcullis.event", "TRUNCATE portcullis.event"]
    {
        assert!(owner.batch_execute(refused).is_err(), "{refused}");
    }
    assert_eq!(issuer(&store).list().unwrap().len(), 1);
    // The role cannot append an event whose serial does not fit the chain.
    let skip = "SELECT portcullis.append(key, seat, size, hash, $1, $2, hash, '') FROM portcullis.head";
    for (serial, kind) in [(3_i64, 0_i32), (1, 0), (0, 1), (2, 1), (1 << 40, 1)] {
        assert!(role.execute(skip, &[&serial, &kind]).is_err(), "{serial} {kind}");
    }
    // A role without permission cannot open the store.
    owner.batch_execute("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN").unwrap();
    let stranger = StoreUrl::Postgres(database.issuer.replace("//issuer@", "//stranger@"));
    let refused = Issuer::open(&stranger, SigningKey::from_bytes(&[5; 32]), NAME).err().unwrap();
    assert!(refused.to_string().contains("ticket store"), "{refused}");
    // A change that the owner makes without the triggers is found.
    owner.batch_execute("ALTER TABLE portcullis.event DISABLE TRIGGER ALL").unwrap();
    owner.batch_execute("UPDATE portcullis.event SET body = 'x' WHERE place = 0").unwrap();
    assert!(matches!(issuer(&store).list(), Err(IssueError::Store(EventStoreError::Damaged(_)))));
    assert!(make_store(&database.owner, "issuer").is_err(), "a second store in the schema");
}

/// Eight issuers use four seats at once: the serials of each seat have no gaps, and no ticket is issued twice.
#[test]
fn issuers_on_one_database_share_the_chains() {
    let Some(database) = database() else { return };
    let store = StoreUrl::Postgres(database.issuer.clone());
    let card = Card::new(1);
    std::thread::scope(|scope| {
        for thread in 0..8_u16 {
            let (store, card) = (&store, &card);
            scope.spawn(move || {
                let mut issuer = issuer(store);
                let chain = ChainId { seat: thread % 4, ..card.chain() };
                for round in 0..20_u8 {
                    match issuer.issue(&IssueRequest { chain, ..request(card) }) {
                        Ok(ticket) => {
                            let mut session = Session::open(&ticket, 1);
                            issuer.redeem(&card.sign(&session.wire), &card.public_key).unwrap();
                            session.advance(3, round, Life::Closing);
                            issuer.close(&card.sign(&session.wire), &card.public_key).unwrap();
                        }
                        Err(IssueError::Pending(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let list = issuer(&store).list().unwrap();
    assert!(list.len() >= 20, "{}", list.len());
    for seat in 0..4 {
        let serials = list.iter().filter(|ticket| ticket.chain.seat == seat).map(|ticket| ticket.serial);
        let count = serials.clone().count() as u64;
        assert!(serials.eq(1..=count), "seat {seat}");
    }
    let digests: BTreeSet<_> = list.iter().map(|ticket| ticket.digest).collect();
    assert_eq!(digests.len(), list.len());
}

/// The issuer makes a lost connection again, and no event is lost.
#[test]
fn a_lost_database_is_found_again() {
    let Some(database) = database() else { return };
    let store = StoreUrl::Postgres(database.issuer.clone());
    let (mut issuer, card) = (issuer(&store), Card::new(1));
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portcullis'
               AND datname = current_database()";
    for serial in 1..=5 {
        let ticket = SessionTicket::parse(&issuer.issue(&request(&card)).unwrap()).unwrap().content;
        assert_eq!(ticket.serial, serial);
        database.owner().batch_execute(end).unwrap();
        issuer.abandon(card.chain(), serial, "the connection is cut between two calls").unwrap();
        database.owner().batch_execute(end).unwrap();
    }
    assert_eq!(issuer.list().unwrap().len(), 5);
}

/// A server that crashes keeps exactly the events whose calls returned. Until it runs again, each call fails.
#[test]
fn a_database_that_crashes_forgets_nothing() {
    let Ok(server) = Server::make() else { return };
    let store = StoreUrl::Postgres(server.database().issuer);
    let (mut issuer, card) = (issuer(&store), Card::new(1));
    let mut returned = Vec::new();
    for round in 0..3 {
        for _ in 0..4 {
            returned.push(hold(&mut issuer, &card).0);
        }
        server.crash();
        assert!(matches!(issuer.issue(&request(&card)), Err(IssueError::Store(EventStoreError::Postgres(_)))));
        assert!(Issuer::open(&store, SigningKey::from_bytes(&[5; 32]), NAME).is_err());
        server.start();
        let list = issuer.list().unwrap();
        assert_eq!(list.len(), 4 * (round + 1));
        assert!(list.iter().all(|ticket| ticket.state == TicketState::Closed));
        for (serial, ticket) in (1..).zip(&returned) {
            assert_eq!(issuer.ticket(card.chain(), serial).unwrap(), *ticket);
        }
    }
}

#[test]
fn sessions_are_dense_and_chained() {
    for store in stores() {
        let (mut issuer, card) = (issuer(&store.url), Card::new(1));
        let mut previous = [0; 32];
        for serial in 1..=3 {
            let (cose, session) = hold(&mut issuer, &card);
            let signed = SessionTicket::parse(&cose).unwrap();
            let by = signed.verify(&[SigningKey::from_bytes(&[5; 32]).verifying_key()]).unwrap();
            assert!(matches!(by, TicketIssuer::Issuer { name, .. } if name == NAME));
            let ticket = signed.content;
            assert_eq!((ticket.serial, ticket.previous_close, ticket.key), (serial, previous, card.id()));
            assert_eq!((ticket.policy, ticket.contexts), (request(&card).policy, request(&card).contexts));
            assert_eq!((ticket.heartbeat_records, ticket.heartbeat_ticks, ticket.text_lane), (100, 200, true));
            assert_eq!((ticket.not_before, ticket.not_after), (10, 20));
            assert_eq!(issuer.ticket(card.chain(), serial).unwrap(), cose);
            previous = parse(&session).digest();
        }
        // Serials count per key.
        let other = SessionTicket::parse(&issuer.issue(&request(&Card::new(2))).unwrap()).unwrap().content;
        assert_eq!((other.serial, other.previous_close), (1, [0; 32]));
        let states: Vec<_> = issuer.list().unwrap().into_iter().map(|t| (t.serial, t.state)).collect();
        assert_eq!(states.iter().filter(|s| s.1 == TicketState::Closed).count(), 3);
        assert!(states.contains(&(1, TicketState::Issued)));
        // No two tickets share a nonce.
        let nonces: BTreeMap<_, _> = (1..=3)
            .map(|n| (SessionTicket::parse(&issuer.ticket(card.chain(), n).unwrap()).unwrap().content.nonce, n))
            .collect();
        assert_eq!(nonces.len(), 3);
    }
}

fn parse(session: &Session) -> ParsedCheckpoint {
    ParsedCheckpoint::parse(session.wire.as_bytes().try_into().unwrap()).unwrap()
}

#[test]
fn the_next_ticket_waits_for_the_end_of_the_last() {
    for store in stores() {
        let (mut issuer, card) = (issuer(&store.url), Card::new(1));
        let ticket = issuer.issue(&request(&card)).unwrap();
        assert!(matches!(issuer.issue(&request(&card)), Err(IssueError::Pending(1))));
        let session = Session::open(&ticket, 1);
        issuer.redeem(&card.sign(&session.wire), &card.public_key).unwrap();
        assert!(matches!(issuer.issue(&request(&card)), Err(IssueError::Pending(1))));

        // The ticket after an abandoned ticket names zeros as previous close. The abandoned session cannot be closed.
        let abandoned = issuer.abandon(card.chain(), 1, "the card burnt").unwrap();
        assert_eq!((abandoned.state, abandoned.remark.as_deref()), (TicketState::Abandoned, Some("the card burnt")));
        assert!(matches!(issuer.abandon(card.chain(), 1, "again"), Err(IssueError::State(1, TicketState::Abandoned))));
        let mut closed = session.clone();
        closed.advance(1, 1, Life::Closing);
        let message = card.sign(&closed.wire);
        assert!(matches!(issuer.close(&message, &card.public_key), Err(IssueError::State(1, TicketState::Abandoned))));
        let message = card.sign(&session.wire);
        assert!(matches!(issuer.redeem(&message, &card.public_key), Err(IssueError::State(1, TicketState::Abandoned))));
        let next = SessionTicket::parse(&issuer.issue(&request(&card)).unwrap()).unwrap().content;
        assert_eq!((next.serial, next.previous_close), (2, [0; 32]));
        // Unused tickets can be abandoned too; closed ones cannot.
        issuer.abandon(card.chain(), 2, "not needed").unwrap();
        hold(&mut issuer, &card);
        assert!(matches!(issuer.abandon(card.chain(), 3, "late"), Err(IssueError::State(3, TicketState::Closed))));
        assert!(matches!(issuer.abandon(card.chain(), 4, "early"), Err(IssueError::Unknown)));
    }
}

#[test]
fn a_ticket_is_used_once() {
    for store in stores() {
        let (mut issuer, card) = (issuer(&store.url), Card::new(1));
        let ticket = issuer.issue(&request(&card)).unwrap();
        let (mut first, mut second) = (Session::open(&ticket, 1), Session::open(&ticket, 2));
        let opening = card.sign(&first.wire);
        assert_eq!(issuer.redeem(&opening, &card.public_key).unwrap().state, TicketState::Opened);
        assert_eq!(issuer.redeem(&opening, &card.public_key).unwrap().state, TicketState::Opened);
        let message = card.sign(&second.wire);
        assert!(matches!(issuer.redeem(&message, &card.public_key), Err(IssueError::Used(1))));

        // The second run of the card, which could not open the ticket, cannot close it.
        second.advance(3, 2, Life::Closing);
        let message = card.sign(&second.wire);
        assert!(matches!(issuer.close(&message, &card.public_key), Err(IssueError::Used(1))));
        first.advance(3, 1, Life::Closing);
        let closing = card.sign(&first.wire);
        assert_eq!(issuer.close(&closing, &card.public_key).unwrap().closing.unwrap(), first.wire.as_bytes());
        assert_eq!(issuer.close(&closing, &card.public_key).unwrap().state, TicketState::Closed);
        first.advance(1, 1, Life::Closing);
        let message = card.sign(&first.wire);
        assert!(matches!(issuer.close(&message, &card.public_key), Err(IssueError::Used(1))));
        let message = card.sign(&second.wire);
        assert!(matches!(issuer.close(&message, &card.public_key), Err(IssueError::Used(1))));
        // The opening checkpoint is still accepted as a repetition.
        assert_eq!(issuer.redeem(&opening, &card.public_key).unwrap().state, TicketState::Closed);
    }
}

#[test]
fn only_the_cards_own_checkpoints_count() {
    for store in stores() {
        let (mut issuer, card, other) = (issuer(&store.url), Card::new(1), Card::new(2));
        let ticket = issuer.issue(&request(&card)).unwrap();
        let session = Session::open(&ticket, 1);
        let good = card.sign(&session.wire);
        let shown = |issuer: &mut Issuer, message: &[u8], key| match issuer.redeem(message, key) {
            Err(IssueError::Shown(error)) => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(shown(&mut issuer, &good, &other.public_key), ShownError::Key);
        assert_eq!(shown(&mut issuer, &other.sign(&session.wire), &card.public_key), ShownError::Signature);
        let mut changed = good.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(shown(&mut issuer, &changed, &card.public_key), ShownError::Signature);
        let cut = ShownError::Checkpoint(CheckpointError::Message);
        assert_eq!(shown(&mut issuer, &good[..good.len() - 1], &card.public_key), cut);
        assert_eq!(shown(&mut issuer, b"", &card.public_key), cut);

        // Refused: the checkpoint of an unknown ticket, and a checkpoint from the wrong point of a session.
        let mut unknown = session.clone();
        unknown.wire.ticket_digest = [9; 32];
        let message = card.sign(&unknown.wire);
        assert!(matches!(issuer.redeem(&message, &card.public_key), Err(IssueError::Unknown)));
        let mut run = session.clone();
        run.advance(1, 1, Life::Run);
        let message = card.sign(&run.wire);
        assert!(matches!(issuer.redeem(&message, &card.public_key), Err(IssueError::Stage("opening"))));
        assert!(matches!(issuer.close(&message, &card.public_key), Err(IssueError::Stage("closing"))));
        let mut first = run.clone();
        first.wire.serial.set(0);
        let message = card.sign(&first.wire);
        assert!(matches!(issuer.redeem(&message, &card.public_key), Err(IssueError::Stage("opening"))));
        let mut later = session.clone();
        later.wire.serial.set(1);
        let message = card.sign(&later.wire);
        assert!(matches!(issuer.redeem(&message, &card.public_key), Err(IssueError::Stage("opening"))));
        run.advance(1, 1, Life::Closing);
        let message = card.sign(&run.wire);
        assert!(matches!(issuer.close(&message, &card.public_key), Err(IssueError::State(1, TicketState::Issued))));
        assert_eq!(issuer.list().unwrap()[0].state, TicketState::Issued);
    }
}

#[test]
fn requests_that_no_ticket_can_say() {
    let dir = tempfile::tempdir().unwrap();
    let path = StoreUrl::File(dir.path().join("tickets"));
    let (mut issuer, card) = (issuer(&path), Card::new(1));
    let backwards = IssueRequest { window: CertificateValidity { not_before: 2, not_after: 1 }, ..request(&card) };
    assert!(matches!(issuer.issue(&backwards), Err(IssueError::Ticket(_))));
    assert!(issuer.list().unwrap().is_empty());
    assert!(matches!(Issuer::open(&path, SigningKey::from_bytes(&[5; 32]), "self"), Err(IssueError::Name)));

    let other = dir.path().join("other");
    let other_url = StoreUrl::File(other.clone());
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE ticket (x)").unwrap();
    let opened = Issuer::open(&other_url, SigningKey::from_bytes(&[5; 32]), NAME);
    assert!(matches!(opened, Err(IssueError::Store(EventStoreError::Kind(_)))));
    std::fs::write(&other, "hello, I am a text file, long enough to have no header of SQLite's").unwrap();
    assert!(Issuer::open(&other_url, SigningKey::from_bytes(&[5; 32]), NAME).is_err());
    // These hosts are not this machine; they are refused because the connection is not encrypted.
    for url in [
        "postgres://u@db.example/x",
        "postgres://u@10.0.0.1/x",
        "postgres://u@localhost,db.example/x",
        "postgres://u@localhost/x?hostaddr=203.0.113.5",
        "postgres:///x",
    ] {
        let refused = Issuer::open(&url.parse().unwrap(), SigningKey::from_bytes(&[5; 32]), NAME);
        assert!(matches!(refused, Err(IssueError::Store(EventStoreError::NotHere))), "{url}");
    }
}

#[test]
fn a_ticket_that_nobody_issued_says_so() {
    let request = IssueRequest { heartbeat_records: 0, heartbeat_ticks: 0, ..request(&Card::new(1)) };
    let made: Vec<_> = (0..2).map(|_| SessionTicket::parse(&self_issued(&request).unwrap()).unwrap()).collect();
    assert_eq!(made[0].verify(&[SigningKey::from_bytes(&[5; 32]).verifying_key()]), Ok(TicketIssuer::SelfIssued));
    assert_eq!((made[0].content.serial, made[0].content.previous_close), (1, [0; 32]));
    assert_eq!((made[0].content.key, made[0].content.policy), (request.chain.key, request.policy));
    assert!(made[0].content.nonce != made[1].content.nonce && made[0].kid != made[1].kid);
    let with_heartbeats = IssueRequest { heartbeat_ticks: 1, ..request };
    assert!(matches!(self_issued(&with_heartbeats), Err(IssueError::Ticket(_))));
}

#[test]
fn two_issuers_on_one_store_never_issue_the_same_serial() {
    for store in stores() {
        issuer(&store.url);
        let issued: Vec<bool> = std::thread::scope(|scope| {
            let issue = || issuer(&store.url).issue(&request(&Card::new(1))).is_ok();
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(issue)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(issued.iter().filter(|ok| **ok).count(), 1, "{issued:?}");
        assert_eq!(issuer(&store.url).list().unwrap().len(), 1);
    }
}

#[test]
fn only_the_user_reads_a_store() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tickets");
    let _issuer = issuer(&StoreUrl::File(path.clone()));
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.file_name());
    }
}

/// Runs this test again in a child process, on this store.
fn child(test: &str, store: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, store)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_process_killed_in_mid_transaction_leaves_no_trace() {
    if let Some(path) = std::env::var_os(CHILD) {
        let database = Connection::open(path).unwrap();
        let head = "INSERT INTO head VALUES (zeroblob(32), 0, 1, zeroblob(32))";
        let event = "INSERT INTO event VALUES (zeroblob(32), 0, 0, 1, 0, zeroblob(32), x'00', zeroblob(32))";
        database.execute_batch(&format!("BEGIN IMMEDIATE; {head}; {event}")).unwrap();
        // With a tiny page cache, uncommitted data is in the file when the process is killed.
        database.execute_batch("PRAGMA cache_spill = 1; PRAGMA cache_size = 1").unwrap();
        println!("\ninserted");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tickets");
    let store = StoreUrl::File(path.clone());
    issuer(&store);
    let mut child = child("tickets::a_process_killed_in_mid_transaction_leaves_no_trace", &store.to_string());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "inserted"));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut issuer = issuer(&store);
    assert!(issuer.list().unwrap().is_empty());
    let ticket = SessionTicket::parse(&issuer.issue(&request(&Card::new(1))).unwrap()).unwrap();
    assert_eq!(ticket.content.serial, 1);
}

/// Kills a process that runs sessions, at twenty different moments. Everything that it reported as done is in the
/// store.
#[test]
fn a_killed_process_loses_nothing_that_it_returned() {
    let card = Card::new(1);
    if let Some(path) = std::env::var_os(CHILD) {
        let mut issuer = issuer(&path.into_string().unwrap().parse().unwrap());
        println!();
        loop {
            // Continue where the killed process stopped.
            let last = issuer.list().unwrap().pop();
            let (serial, done) = match last {
                Some(last) if last.state == TicketState::Issued => {
                    let ticket = issuer.ticket(card.chain(), last.serial).unwrap();
                    let opening = card.sign(&Session::open(&ticket, 1).wire);
                    (last.serial, issuer.redeem(&opening, &card.public_key).unwrap().state)
                }
                Some(last) if last.state == TicketState::Opened => {
                    let ticket = issuer.ticket(card.chain(), last.serial).unwrap();
                    let mut session = Session::open(&ticket, 1);
                    session.advance(2, 1, Life::Closing);
                    (last.serial, issuer.close(&card.sign(&session.wire), &card.public_key).unwrap().state)
                }
                _ => match issuer.issue(&request(&card)) {
                    Ok(ticket) => (SessionTicket::parse(&ticket).unwrap().content.serial, TicketState::Issued),
                    // The database may execute the request of the killed process after the list was read.
                    Err(IssueError::Pending(_)) => continue,
                    Err(error) => panic!("{error}"),
                },
            };
            println!("{serial} {done}");
            std::io::stdout().flush().unwrap();
        }
    }
    for store in stores() {
        let rank = |name: &str| ["issued", "opened", "closed"].iter().position(|known| *known == name).unwrap();
        let mut said: BTreeMap<u64, usize> = BTreeMap::new();
        for round in 0..20_u64 {
            let mut child = child("tickets::a_killed_process_loses_nothing_that_it_returned", &store.url.to_string());
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
            let mut take = |line: &str| {
                // Ignore the output of the test harness.
                if let Some((serial, state)) = line.split_once(' ')
                    && let Ok(serial) = serial.parse()
                {
                    said.insert(serial, rank(state));
                    return true;
                }
                false
            };
            while !take(&lines.next().expect("the child works")) {}
            std::thread::sleep(Duration::from_millis(round * 7 % 50));
            child.kill().unwrap();
            lines.for_each(|line| {
                take(&line);
            });
            child.wait().unwrap();

            let tickets = issuer(&store.url).list().unwrap();
            let stored: BTreeMap<u64, usize> = tickets.iter().map(|t| (t.serial, rank(t.state.name()))).collect();
            assert!(stored.keys().copied().eq(1..=stored.len() as u64), "{stored:?}");
            for (serial, state) in &said {
                assert!(
                    stored.get(serial).is_some_and(|found| found >= state),
                    "round {round}: {serial} of {stored:?}"
                );
            }
        }
        assert!(said.len() > 3, "{said:?}");
    }
}
