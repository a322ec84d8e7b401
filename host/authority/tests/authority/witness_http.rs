//! The witness over HTTP: hostile requests, slow clients, false answers to a client, and a server that is killed.

use super::common::{Card, Session};
use portcullis_authority::StoreUrl;
use portcullis_authority::ca::CertificateValidity;
use portcullis_authority::tickets::{IssueRequest, Issuer};
use portcullis_authority::witness::client::{WitnessClient, WitnessClientError, WitnessReply};
use portcullis_authority::witness::server::{WitnessServer, WitnessServerLimits};
use portcullis_authority::witness::{CheckpointPost, CheckpointWitness};
use portcullis_core::wire::Life;
use portcullis_evidence::note::NoteError;
use portcullis_evidence::ticket::SessionTicket;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::witness::{NAME, NOW, key, post, public, ticket_of, with, witness};

/// Environment variable for a child process: the path of its state.
const CHILD: &str = "PORTCULLIS_TEST_WITNESS";

/// A running witness that checks tickets by the real clock, and a client.
struct Served {
    _dir: tempfile::TempDir,
    witness: Arc<CheckpointWitness>,
    server: WitnessServer,
    client: WitnessClient,
    card: Card,
    ticket: Vec<u8>,
}

impl Served {
    fn new(limits: WitnessServerLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let witness = Arc::new(witness(&dir.path().join("witness")));
        let server = WitnessServer::start(Arc::clone(&witness), 0, limits).unwrap();
        let client = WitnessClient::new(server.address(), public(), Duration::from_secs(10));
        let card = Card::new(1);
        let ticket = valid_now(&card);
        Self { _dir: dir, witness, server, client, card, ticket }
    }

    fn opening(&self) -> CheckpointPost {
        post(&self.card, &self.ticket, &Session::open(&self.ticket, 1), 0)
    }

    /// Sends `bytes` unchanged; returns the first line and the body of the answer.
    fn raw(&self, bytes: &[u8]) -> (String, String) {
        let mut stream = TcpStream::connect(self.server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let _ = stream.write_all(bytes);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        (head.split("\r\n").next().unwrap_or_default().to_owned(), body.to_owned())
    }
}

fn valid_now(card: &Card) -> Vec<u8> {
    SessionTicket { not_before: 0, not_after: u64::MAX, ..ticket_of(card, 1) }.sign(&key(5)).unwrap()
}

fn request(body: &[u8]) -> Vec<u8> {
    let head = format!("POST /add-checkpoint HTTP/1.1\r\nHost: witness\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn refused(result: Result<WitnessReply, WitnessClientError>) -> (u16, String) {
    match result {
        Err(WitnessClientError::Refused { status, reason }) => (status, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn over_http() {
    let served = Served::new(WitnessServerLimits::default());
    let mut session = Session::open(&served.ticket, 1);
    let mut old = 0;
    for serial in 0..5 {
        let noted = served.client.post(&post(&served.card, &served.ticket, &session, old)).unwrap();
        assert_eq!((noted.cosigned.serial, noted.cosigned.index), (serial, serial));
        assert!(noted.cosigned.nonce.is_some());
        assert_eq!(served.witness.notes(served.card.chain()).unwrap().last(), Some(&noted.note));
        old = session.size();
        session.advance(10, 1, Life::Run);
    }
    let good = post(&served.card, &served.ticket, &session, old);
    assert_eq!(refused(served.client.post(&with(&good, |lane| lane.old = 7))), (409, old.to_string()));
    let (first, body) = served.raw(&request(&with(&good, |lane| lane.old = 7).to_body()));
    assert_eq!((first.as_str(), body), ("HTTP/1.1 409 Conflict", format!("{old}\n")));
    let mut fork = Session::open(&served.ticket, 2);
    assert_eq!(refused(served.client.post(&post(&served.card, &served.ticket, &fork, 0))).0, 409);
    fork.advance(1, 1, Life::Run);
    assert_eq!(refused(served.client.post(&post(&served.card, &served.ticket, &fork, 1))).0, 409);
    assert_eq!(refused(served.client.post(&with(&good, |lane| lane.proof.clear()))).0, 422);
    assert_eq!(refused(served.client.post(&CheckpointPost { public_key: [0; 32], ..good.clone() })).0, 403);
    let unknown = ticket_of(&served.card, 1).sign(&key(9)).unwrap();
    assert_eq!(refused(served.client.post(&CheckpointPost { ticket: unknown, ..good.clone() })).0, 404);
    let expired = SessionTicket { not_before: 0, not_after: 1, ..ticket_of(&served.card, 8) }.sign(&key(5)).unwrap();
    let late = post(&served.card, &expired, &Session::open(&expired, 1), 0);
    assert_eq!(refused(served.client.post(&late)).0, 403);
    assert_eq!(refused(served.client.post(&CheckpointPost { ticket: vec![1], ..good.clone() })).0, 400);
    assert!(served.client.post(&good).is_ok());

    let address = served.server.address();
    drop(served);
    assert!(TcpStream::connect(address).is_err(), "the server is still there");
}

/// Issuer, witness and card together: two sessions in succession, with heartbeats from the witness.
#[test]
fn sessions_from_ticket_to_close() {
    let served = Served::new(WitnessServerLimits::default());
    let dir = tempfile::tempdir().unwrap();
    let mut issuer = Issuer::open(&StoreUrl::File(dir.path().join("tickets")), key(5), "registrar.example").unwrap();
    let card = &served.card;
    let request = IssueRequest {
        profiles: BTreeSet::new(),
        chain: card.chain(),
        policy: [3; 32],
        contexts: BTreeSet::new(),
        text_lane: false,
        heartbeat_records: 10,
        heartbeat_ticks: 0,
        window: CertificateValidity { not_before: 0, not_after: u64::MAX },
    };
    let mut previous = [0; 32];
    for serial in 1..=2_u8 {
        let ticket = issuer.issue(&request).unwrap();
        assert_eq!(SessionTicket::parse(&ticket).unwrap().content.previous_close, previous);
        let mut session = Session::open(&ticket, serial);
        let mut noted = served.client.post(&post(card, &ticket, &session, 0)).unwrap();
        issuer.redeem(&card.sign(&session.wire), &card.public_key).unwrap();
        for state in [Life::Run, Life::Run, Life::Closing] {
            let old = session.size();
            session.wire.heartbeat_nonce.set(noted.cosigned.nonce.unwrap());
            session.advance(9, serial, state);
            noted = served.client.post(&post(card, &ticket, &session, old)).unwrap();
        }
        assert_eq!(noted.cosigned.nonce, None);
        issuer.close(&card.sign(&session.wire), &card.public_key).unwrap();
        previous = noted.cosigned.checkpoint;
    }
    assert_eq!(served.witness.notes(card.chain()).unwrap().len(), 8);
}

#[test]
fn hostile_requests_are_answered_and_do_no_harm() {
    let served = Served::new(WitnessServerLimits { request: Duration::from_secs(1), connections: 8 });
    let body = served.opening().to_body();
    let good = request(&body);
    let text = |text: &str| text.as_bytes().to_vec();
    for (bytes, status) in [
        (text("hello\r\n\r\n"), 400),
        (text("POST /add-checkpoint HTTP/1.0\r\n\r\n"), 400),
        (text("POST  /add-checkpoint HTTP/1.1\r\n\r\n"), 400),
        (text("GET /add-checkpoint HTTP/1.1\r\n\r\n"), 405),
        (text("POST / HTTP/1.1\r\n\r\n"), 404),
        (text("POST /add-checkpoint/ HTTP/1.1\r\n\r\n"), 404),
        (text("POST /add-checkpoint HTTP/1.1\r\n\r\n"), 400),
        (text("POST /add-checkpoint HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400),
        (text("POST /add-checkpoint HTTP/1.1\r\nContent-Length: 9223372036854775807\r\n\r\n"), 413),
        (text("POST /add-checkpoint HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n"), 431),
        (text("POST /add-checkpoint HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), 400),
        (text(&format!("POST /add-checkpoint HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000))), 431),
        (text(&format!("POST /add-checkpoint HTTP/1.1\r\n{}\r\n", "X: x\r\n".repeat(65))), 431),
        (vec![b'a'; 100_000], 431),
        (vec![0xff; 20], 400),
        (request(&vec![b'\n'; 200_000]), 413),
        (request(&vec![b'\n'; 30_000]), 400),
        (request(b""), 400),
        // Truncated: the rest is never sent.
        (good[..good.len() - 1].to_vec(), 408),
    ] {
        let (first, _) = served.raw(&bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let found = first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
        assert_eq!(found, Some(status.to_string().as_str()), "{shown:?}: {first}");
    }
    // A head that does not come in time gets no answer.
    for bytes in [&good[..40], b"\r\n\r\n", b""] {
        assert_eq!(served.raw(bytes), (String::new(), String::new()));
    }
    assert!(served.witness.notes(served.card.chain()).unwrap().is_empty());
    assert!(served.client.post(&served.opening()).is_ok());
}

/// Sends the request byte by byte until `over`. Returns whether the server closed the connection.
fn trickle(address: SocketAddr, bytes: &[u8], over: &AtomicBool) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    for byte in bytes {
        if over.load(Ordering::SeqCst) {
            return false;
        }
        if stream.write_all(&[*byte]).is_err() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    panic!("the server reads {} bytes from a slow client", bytes.len());
}

#[test]
fn slow_clients_hold_nobody_up() {
    let served = Served::new(WitnessServerLimits { request: Duration::from_secs(60), connections: 8 });
    let bytes = request(&served.opening().to_body());
    let answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let slow = || trickle(served.server.address(), &bytes, &answered);
        let slow: Vec<_> = (0..4).map(|_| scope.spawn(slow)).collect();
        std::thread::sleep(Duration::from_millis(100));
        assert!(served.client.post(&served.opening()).is_ok());
        answered.store(true, Ordering::SeqCst);
        // A server that had served them first would have cut them off.
        assert!(slow.into_iter().all(|slow| !slow.join().unwrap()));
    });
}

/// The deadline applies to the whole request, so it also stops clients that send a byte now and then.
#[test]
fn slow_clients_are_cut_off() {
    let served = Served::new(WitnessServerLimits { request: Duration::from_millis(500), connections: 8 });
    let bytes = request(&served.opening().to_body());
    assert!(trickle(served.server.address(), &bytes, &AtomicBool::new(false)));
}

#[test]
fn too_many_connections_are_turned_away_until_there_is_room() {
    let served = Served::new(WitnessServerLimits { request: Duration::from_secs(3), connections: 2 });
    let idle: Vec<_> = (0..2).map(|_| TcpStream::connect(served.server.address()).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(100));
    let (first, _) = served.raw(b"");
    assert!(first.starts_with("HTTP/1.1 503 "), "{first}");
    assert!(served.witness.notes(served.card.chain()).unwrap().is_empty());
    drop(idle);
    std::thread::sleep(Duration::from_millis(100));
    assert!(served.client.post(&served.opening()).is_ok());
}

/// While a witness is restarted, connections are refused or break. The client posts again.
#[test]
fn a_witness_that_restarts_is_asked_again() {
    let Served { _dir, witness, server, client, card, ticket } = Served::new(WitnessServerLimits::default());
    let port = server.address().port();
    drop(server);
    let opening = post(&card, &ticket, &Session::open(&ticket, 1), 0);
    std::thread::scope(|scope| {
        let restart = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            let broken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            (0..2).for_each(|_| drop(broken.accept().unwrap()));
            drop(broken);
            WitnessServer::start(Arc::clone(&witness), port, WitnessServerLimits::default()).unwrap()
        });
        client.post(&opening).unwrap();
        drop(restart.join().unwrap());
    });
    // A witness that stays away is an error, after the time of the client.
    let client = WitnessClient::new(client_address(port), public(), Duration::from_millis(400));
    let begun = Instant::now();
    assert!(matches!(client.post(&opening), Err(WitnessClientError::Connect(..))));
    assert!(begun.elapsed() >= Duration::from_millis(200) && begun.elapsed() < Duration::from_secs(60));
}

/// A server in front of the witness says that it is restarting, or the witness that it has too many connections.
#[test]
fn a_witness_that_is_busy_is_asked_again() {
    for answer in ["502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout", "429 Too Many Requests"] {
        let served = Served::new(WitnessServerLimits::default());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = WitnessClient::new(listener.local_addr().unwrap(), public(), Duration::from_secs(10));
        let behind = served.server.address();
        std::thread::spawn(move || {
            let (mut busy, _) = listener.accept().unwrap();
            busy.write_all(format!("HTTP/1.1 {answer}\r\nContent-Length: 4\r\n\r\nbusy").as_bytes()).unwrap();
            drop(busy);
            let (mut front, _) = listener.accept().unwrap();
            let mut back = TcpStream::connect(behind).unwrap();
            let (mut from, mut to) = (front.try_clone().unwrap(), back.try_clone().unwrap());
            std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
            let _ = std::io::copy(&mut back, &mut front);
            let _ = front.shutdown(std::net::Shutdown::Both);
        });
        client.post(&served.opening()).unwrap_or_else(|error| panic!("after {answer}: {error}"));
    }
}

fn client_address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// A client of a server that sends `answer`. With `hold`, the server keeps the connection open until the client closes
/// it.
fn lied_to(answer: &[u8], hold: bool) -> Result<WitnessReply, WitnessClientError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = WitnessClient::new(listener.local_addr().unwrap(), public(), Duration::from_millis(500));
    let card = Card::new(1);
    let ticket = valid_now(&card);
    let opening = post(&card, &ticket, &Session::open(&ticket, 1), 0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut sent = vec![0; request(&opening.to_body()).len()];
            stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let _ = stream.read_exact(&mut sent);
            let _ = stream.write_all(answer);
            if hold {
                stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                assert_ne!(stream.read(&mut sent).map_err(|e| e.kind()), Err(ErrorKind::WouldBlock), "it still waits");
            }
        });
        let card = Card::new(1);
        client.post(&post(&card, &ticket, &Session::open(&ticket, 1), 0))
    })
}

#[test]
fn the_client_believes_only_its_witness() {
    let ok = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
    let card = Card::new(1);
    let ticket = valid_now(&card);
    let note = |path: &Path, seed, boot| {
        let other = CheckpointWitness::open(path, key(seed), NAME, vec![key(5).verifying_key()]).unwrap();
        other.add(&post(&card, &ticket, &Session::open(&ticket, boot), 0), NOW).unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let good = note(&dir.path().join("good"), 6, 1);
    assert_eq!(lied_to(&ok(&good), false).unwrap().note, good);
    // False answers: a note of another witness, a note on another checkpoint, a damaged note, text that is not a note.
    let of_another = note(&dir.path().join("another"), 7, 1);
    assert!(matches!(lied_to(&ok(&of_another), false), Err(WitnessClientError::Note(NoteError::UnknownWitness))));
    let of_other = note(&dir.path().join("other"), 6, 2);
    assert!(matches!(lied_to(&ok(&of_other), false), Err(WitnessClientError::Other)));
    assert!(matches!(lied_to(&ok(&good.replace("index 0", "index 1")), false), Err(WitnessClientError::Note(_))));
    assert!(matches!(lied_to(&ok("hello"), false), Err(WitnessClientError::Note(_))));

    // Invalid HTTP, an incomplete answer, no answer: each gives an error in time.
    for answer in [
        b"hello\r\n\r\n".to_vec(),
        b"HTTP/1.1 ok\r\n\r\n".to_vec(),
        b"".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n".to_vec(),
        vec![b'x'; 100_000],
    ] {
        for hold in [false, true] {
            let result = lied_to(&answer, hold);
            assert!(matches!(result, Err(WitnessClientError::Http(..))), "{result:?}");
        }
    }
    let answer = b"HTTP/1.1 500 Oops\r\nContent-Length: 8\r\n\r\n\x1b[31mred";
    assert_eq!(refused(lied_to(answer, false)), (500, "[31mred".to_owned()));
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let client = WitnessClient::new(nobody, public(), Duration::from_millis(300));
    assert!(matches!(
        client.post(&post(&card, &ticket, &Session::open(&ticket, 1), 0)),
        Err(WitnessClientError::Connect(..))
    ));
}

/// Kills a server after each answer, for the checkpoints of ten sessions. After a restart it still has every checkpoint
/// that it accepted.
#[test]
fn a_killed_server_forgets_nothing_that_it_answered() {
    if let Some(path) = std::env::var_os(CHILD) {
        let server =
            WitnessServer::start(Arc::new(witness(Path::new(&path))), 0, WitnessServerLimits::default()).unwrap();
        println!("\nport {}", server.address().port());
        server.wait();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("witness");
    let card = Card::new(1);
    let ticket = valid_now(&card);
    let mut session = Session::open(&ticket, 1);
    let (mut old, mut notes) = (0, Vec::new());
    for serial in 0..10_u8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["witness_http::a_killed_server_forgets_nothing_that_it_answered", "--exact", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.map(|line| line.unwrap()).find_map(|line| line.strip_prefix("port ")?.parse().ok()).unwrap();
        let client = WitnessClient::new((Ipv4Addr::LOCALHOST, port).into(), public(), Duration::from_secs(10));
        let good = post(&card, &ticket, &session, old);
        notes.push(client.post(&good).unwrap().note);
        child.kill().unwrap();
        child.wait().unwrap();

        let again = witness(&path);
        assert_eq!(again.notes(card.chain()).unwrap(), notes);
        assert_eq!(again.add(&good, NOW).unwrap(), notes[usize::from(serial)]);
        old = session.size();
        session.advance(2, serial, Life::Run);
    }
}
