//! The client, also behind a connection that loses answers; and many clients at once.

use super::common::{Card, Session};
use super::scene::{Running, TOKEN, config, open, request};
use super::stores::{file, stores};
use portcullis_core::wire::Life;
use portcullis_evidence::ticket::SessionTicket;
use portcullis_issuer::client::{IssuerClient, IssuerClientError};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

fn client(url: &str) -> IssuerClient {
    IssuerClient::new(url, TOKEN.into(), None, PATIENCE).unwrap()
}

/// A proxy that passes every request on, but only each third answer back: the others are cut before or within the
/// answer.
fn losing_proxy(upstream: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let mut client = client.unwrap();
            let mut server = TcpStream::connect(upstream).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            // Ends when the client does.
            std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
            let mut answer = Vec::new();
            let _ = server.read_to_end(&mut answer);
            let kept = [0, answer.len() / 2, answer.len()][number % 3];
            let _ = client.write_all(&answer[..kept]);
            let _ = client.shutdown(Shutdown::Both);
        }
    });
    address
}

/// The client repeats each request until it has an answer, and no ticket is issued twice.
#[test]
fn lost_answers_double_no_ticket() {
    for store in stores() {
        let (folder, card) = (tempfile::tempdir().unwrap(), Card::new(1));
        let log = folder.path().join("log");
        let running = Running::start(&config(folder.path(), &card, &Card::new(2), ""), open(&store.url, Some(&log)));
        let client = client(&format!("http://{}", losing_proxy(running.address)));
        for serial in 1..=3 {
            let ticket = client.issue(&request(&card, 0, serial)).unwrap();
            assert_eq!(SessionTicket::parse(&ticket).unwrap().content.serial, serial);
            let mut session = Session::open(&ticket, 1);
            let opened = client.opened(card.public_key, &card.sign(&session.wire)).unwrap();
            assert_eq!((opened.serial, opened.state.as_str()), (serial, "opened"));
            session.advance(2, 1, Life::Closing);
            let closed = client.closed(card.public_key, 0, &card.sign(&session.wire)).unwrap();
            assert_eq!((closed.serial, closed.state.as_str()), (serial, "closed"));
        }
        assert_eq!(open(&store.url, None).list().unwrap().len(), 3);
        let head = std::fs::read_to_string(log.join("checkpoint")).unwrap();
        assert_eq!(head.lines().nth(1), Some("9"));
    }
}

/// A refusal is not repeated; an issuer that is not there is, for a limited time. A closing that was not reported is
/// reported before the next ticket.
#[test]
fn what_the_client_repeats() {
    let (folder, card, store) = (tempfile::tempdir().unwrap(), Card::new(1), file());
    let mut config = config(folder.path(), &card, &Card::new(2), "");
    let running = Running::start(&config, open(&store.url, None));
    config.listen = running.address;
    let client = IssuerClient::new(&running.url(), TOKEN.into(), None, Duration::from_secs(1)).unwrap();
    let begun = Instant::now();
    let refused = client.issue(&request(&card, 9, 1)).unwrap_err();
    assert!(matches!(&refused, IssuerClientError::Refused { code, .. } if code == "unknown-seat"), "{refused}");
    assert!(refused.to_string().contains("--seat"), "{refused}");
    let wrong = IssuerClient::new(&running.url(), "another-client's-token".into(), None, PATIENCE).unwrap();
    let refused = wrong.issue(&request(&card, 0, 1)).unwrap_err();
    assert!(matches!(&refused, IssuerClientError::Refused { code, .. } if code == "unauthorized"), "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(10), "a refusal was repeated");
    assert!(!format!("{client:?}").contains(TOKEN));

    let ticket = client.issue(&request(&card, 0, 1)).unwrap();
    let mut session = Session::open(&ticket, 1);
    client.opened(card.public_key, &card.sign(&session.wire)).unwrap();
    session.advance(2, 1, Life::Closing);
    drop(running);
    let begun = Instant::now();
    let lost = client.closed(card.public_key, 0, &card.sign(&session.wire)).unwrap_err();
    assert!(matches!(lost, IssuerClientError::Unreachable { .. }), "{lost}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(matches!(client.issue(&request(&card, 0, 2)), Err(IssuerClientError::Unreachable { .. })));
    let _running = Running::start(&config, open(&store.url, None));
    let next = SessionTicket::parse(&client.issue(&request(&card, 0, 2)).unwrap()).unwrap().content;
    assert_eq!(next.serial, 2);
    assert_ne!(next.previous_close, [0; 32], "the closing was reported first");
}

/// Cards of one gateway share a client. One that asks for its ticket must not take the report of another one, which may
/// ask before the report has arrived.
#[test]
fn each_seat_reports_its_own_closings() {
    let (folder, card, store) = (tempfile::tempdir().unwrap(), Card::new(1), file());
    let mut config = config(folder.path(), &card, &Card::new(2), "");
    let running = Running::start(&config, open(&store.url, None));
    config.listen = running.address;
    let client = IssuerClient::new(&running.url(), TOKEN.into(), None, Duration::from_secs(1)).unwrap();
    let sessions = [0, 1].map(|seat| {
        let ticket = client.issue(&request(&card, seat, u64::from(seat) + 1)).unwrap();
        let mut session = Session::open(&ticket, 1);
        client.opened(card.public_key, &card.sign(&session.wire)).unwrap();
        session.advance(2, 1, Life::Closing);
        (seat, session)
    });
    drop(running);
    for (seat, session) in &sessions {
        client.closed(card.public_key, *seat, &card.sign(&session.wire)).unwrap_err();
    }
    let _running = Running::start(&config, open(&store.url, None));
    let states = || -> Vec<String> {
        let listed = open(&store.url, None).list().unwrap();
        listed.into_iter().map(|event| format!("{event:?}")).collect()
    };
    let before = states();
    client.issue(&request(&card, 1, 3)).unwrap();
    let (after, of_other) = (states(), |state: &String| state.contains("seat: 0"));
    let kept = before.iter().filter(|state| of_other(state)).eq(after.iter().filter(|state| of_other(state)));
    assert!(kept && before != after, "{before:#?} {after:#?}");
    client.issue(&request(&card, 0, 4)).unwrap();
}

#[test]
fn a_token_never_crosses_a_network_in_the_clear() {
    let new = |url: &str| IssuerClient::new(url, TOKEN.into(), None, PATIENCE);
    for good in [
        "https://issuer.example",
        "https://issuer.example:8630/",
        "http://localhost:1",
        "http://127.0.0.2:1",
        "http://[::1]:1",
    ] {
        new(good).unwrap();
    }
    for (wrong, why) in [
        ("http://issuer.example", "in the clear"),
        ("http://192.0.2.1:8630", "in the clear"),
        ("http://localhost.example", "in the clear"),
        ("ftp://localhost", "neither http nor https"),
        ("localhost:8630", "neither http nor https"),
        ("https://issuer.example/path", "give only"),
        ("https://user@issuer.example", "give only"),
        ("https://issuer.example/?a=b", "give only"),
        ("127.0.0.1:8630", "not a URL"),
    ] {
        let refused = new(wrong).unwrap_err().to_string();
        assert!(refused.contains(why), "{wrong}: {refused}");
    }
    assert!(IssuerClient::new("https://a", TOKEN.into(), Some("no certificate"), PATIENCE).is_err());
}

/// Eight clients use four seats through two issuers over one store and one public log: each seat's serials have no gap,
/// and no ticket belongs to two sessions.
#[test]
fn eight_clients_on_four_seats() {
    for store in stores() {
        let (folder, card) = (tempfile::tempdir().unwrap(), Card::new(1));
        let log = folder.path().join("log");
        let config = config(folder.path(), &card, &Card::new(2), "");
        let both = [(); 2].map(|()| Running::start(&config, open(&store.url, Some(&log))));
        let (numbers, tickets) = (AtomicU64::new(0), Mutex::new(BTreeMap::new()));
        let sessions = |number: u16| {
            let (seat, client) = (number % 4, client(&both[usize::from(number) / 4].url()));
            let begun = Instant::now();
            for _ in 0..5 {
                let ask = request(&card, seat, numbers.fetch_add(1, Ordering::Relaxed));
                let ticket = loop {
                    assert!(begun.elapsed() < Duration::from_secs(120), "client {number} waits for ever");
                    match client.issue(&ask) {
                        Ok(ticket) => break ticket,
                        Err(IssuerClientError::Refused { code, .. }) if code == "seat-pending" => {}
                        Err(error) => panic!("{error}"),
                    }
                    std::thread::sleep(Duration::from_millis(10));
                };
                let content = SessionTicket::parse(&ticket).unwrap().content;
                let twice = tickets.lock().unwrap().insert((seat, content.serial), content.nonce);
                assert_eq!((twice, content.seat), (None, seat), "serial {} of seat {seat}", content.serial);
                let mut session = Session::open(&ticket, number as u8);
                client.opened(card.public_key, &card.sign(&session.wire)).unwrap();
                session.advance(1, number as u8, Life::Closing);
                client.closed(card.public_key, 0, &card.sign(&session.wire)).unwrap();
            }
        };
        let sessions = &sessions;
        std::thread::scope(|scope| (0..8).for_each(|number| drop(scope.spawn(move || sessions(number)))));
        let tickets = Arc::new(tickets.into_inner().unwrap());
        assert!(tickets.keys().copied().eq((0..4).flat_map(|seat| (1..=10).map(move |serial| (seat, serial)))));
        let list = open(&store.url, Some(&log)).list().unwrap();
        assert_eq!((list.len(), list.iter().filter(|ticket| ticket.state.name() == "closed").count()), (40, 40));
        let head = std::fs::read_to_string(log.join("checkpoint")).unwrap();
        assert_eq!(head.lines().nth(1), Some("120"));
    }
}
