//! The requests, one by one.

use super::common::{Card, Session};
use super::scene::{Answer, OTHER_TOKEN, Running, STRICT, TOKEN, config, open, request};
use super::stores::{Server, database, file, stores};
use portcullis_authority::StoreUrl;
use portcullis_core::hex::HexBytes;
use portcullis_core::wire::Life;
use portcullis_evidence::note::CLOCK_SKEW;
use portcullis_evidence::ticket::SessionTicket;
use portcullis_issuer::config::{IssuerConfig, IssuerConfigError};
use portcullis_issuer::wire::{Base64Bytes, CheckpointReport, MAX_BODY, ReportAnswer, TicketRequest};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

fn report(card: &Card, session: &Session) -> CheckpointReport {
    CheckpointReport { public_key: HexBytes(card.public_key), checkpoint: Base64Bytes(card.sign(&session.wire)) }
}

#[track_caller]
fn state(answer: &Answer) -> (u16, u64, String) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let ReportAnswer { seat, serial, state } = serde_json::from_str(&answer.body).unwrap();
    (seat, serial, state)
}

fn code(answer: &Answer) -> String {
    answer.refused().1
}

/// Ticket, opening, closing, next ticket. Each request is repeated, and changes nothing then.
#[test]
fn a_session_from_its_ticket_to_its_end() {
    for store in stores() {
        let (folder, card, other) = (tempfile::tempdir().unwrap(), Card::new(1), Card::new(2));
        let log = folder.path().join("log");
        let running = Running::start(&config(folder.path(), &card, &other, ""), open(&store.url, Some(&log)));
        let mut previous = [0; 32];
        for serial in 1..=2 {
            let ask = request(&card, 2, serial);
            let ticket = running.ticket(&ask);
            let content = SessionTicket::parse(&ticket.ticket.0).unwrap().content;
            assert_eq!(
                (ticket.serial, content.serial, content.seat, content.policy),
                (serial, serial, 2, ask.policy.0)
            );
            assert_eq!((content.previous_close, content.text_lane), (previous, false));
            assert_eq!(content.not_after - content.not_before, 24 * 3600 + CLOCK_SKEW);
            assert_eq!(running.ticket(&ask), ticket);
            let pending = running.post("/v1/tickets", &request(&card, 2, 99));
            assert_eq!(pending.refused(), (409, "seat-pending".into()));
            assert!(pending.body.contains("portcullis ticket abandon"), "{pending:?}");
            // The ticket's event is in the log before the ticket leaves.
            let head = std::fs::read_to_string(log.join("checkpoint")).unwrap();
            assert_eq!(head.lines().nth(1).unwrap(), (serial * 3 - 2).to_string());

            let mut session = Session::open(&ticket.ticket.0, 1);
            let wrong = running.post("/v1/closings", &report(&card, &session));
            assert_eq!(wrong.refused(), (422, "wrong-checkpoint".into()));
            for _ in 0..2 {
                let opened = running.post("/v1/openings", &report(&card, &session));
                assert_eq!(state(&opened), (2, serial, "opened".into()));
            }
            assert_eq!(running.ticket(&ask), ticket, "the answer was lost, and the session has begun");
            let second = running.post("/v1/openings", &report(&card, &Session::open(&ticket.ticket.0, 2)));
            assert_eq!(second.refused(), (409, "ticket-used".into()));
            session.advance(3, 1, Life::Closing);
            for _ in 0..2 {
                let closed = running.post("/v1/closings", &report(&card, &session));
                assert_eq!(state(&closed), (2, serial, "closed".into()));
            }
            assert_eq!(running.post("/v1/tickets", &ask).refused(), (409, "session-over".into()));
            previous = portcullis_evidence::checkpoint::ParsedCheckpoint::parse(
                zerocopy::IntoBytes::as_bytes(&session.wire).try_into().unwrap(),
            )
            .unwrap()
            .digest();
        }
        // A ticket of another issuer, and a checkpoint of another card.
        let foreign = Session::open(&open(&file().url, None).issue(&authority_request(&card)).unwrap(), 1);
        assert_eq!(running.post("/v1/openings", &report(&card, &foreign)).refused(), (404, "unknown-ticket".into()));
        let ticket = running.ticket(&request(&card, 0, 5));
        let session = Session::open(&ticket.ticket.0, 1);
        let signed_by_other = CheckpointReport {
            public_key: HexBytes(card.public_key),
            checkpoint: Base64Bytes(other.sign(&session.wire)),
        };
        assert_eq!(running.post("/v1/openings", &signed_by_other).refused(), (422, "wrong-checkpoint".into()));
    }
}

fn authority_request(card: &Card) -> portcullis_authority::tickets::IssueRequest {
    portcullis_authority::tickets::IssueRequest {
        chain: card.chain(),
        policy: [3; 32],
        contexts: Default::default(),
        profiles: Default::default(),
        text_lane: false,
        heartbeat_records: 0,
        heartbeat_ticks: 0,
        window: portcullis_authority::ca::CertificateValidity { not_before: 10, not_after: 20 },
    }
}

/// Whatever the configuration does not list is refused, with an identifier and a remedy, and no ticket is issued.
#[test]
fn only_what_is_configured_gets_a_ticket() {
    let (folder, card, second, store) = (tempfile::tempdir().unwrap(), Card::new(1), Card::new(2), file());
    let running = Running::start(&config(folder.path(), &card, &second, ""), open(&store.url, None));
    let ask = request(&card, 0, 1);
    let strict = TicketRequest { policy: HexBytes(STRICT), text_lane: true, witness: true, ..ask.clone() };
    let refusals = [
        (TOKEN, request(&Card::new(9), 0, 1), "unknown-card"),
        (OTHER_TOKEN, ask.clone(), "unknown-card"),
        (TOKEN, request(&card, 4, 1), "unknown-seat"),
        (TOKEN, TicketRequest { policy: HexBytes([7; 32]), ..ask.clone() }, "unknown-policy"),
        (TOKEN, request(&second, 7, 1), "unknown-policy"),
        (TOKEN, TicketRequest { profile: HexBytes([7; 32]), ..strict.clone() }, "profile-not-permitted"),
        (TOKEN, TicketRequest { text_lane: false, ..strict.clone() }, "text-lane-required"),
        (TOKEN, TicketRequest { witness: false, ..strict.clone() }, "witness-required"),
    ];
    for (token, request, code) in refusals {
        assert_eq!(running.post_as(token, "/v1/tickets", &request).refused(), (403, code.into()));
    }
    assert!(open(&store.url, None).list().unwrap().is_empty());
    let session = Session::open(&running.ticket(&ask).ticket.0, 1);
    let foreign = running.post_as(OTHER_TOKEN, "/v1/openings", &report(&card, &session));
    assert_eq!(foreign.refused(), (403, "unknown-card".into()));
    // The terms of the policy are in its tickets.
    let strict = TicketRequest { seat: 7, public_key: HexBytes(second.public_key), ..strict };
    let answer = running.post_as(OTHER_TOKEN, "/v1/tickets", &strict);
    let answer: portcullis_issuer::wire::TicketAnswer = serde_json::from_str(&answer.body).unwrap();
    let ticket = SessionTicket::parse(&answer.ticket.0).unwrap().content;
    assert_eq!((ticket.text_lane, ticket.heartbeat_records, ticket.profiles), (true, 100, [[6; 32]].into()));
    assert_eq!((ticket.not_after - ticket.not_before, ticket.seat), (2 * 3600 + CLOCK_SKEW, 7));
}

/// The token comes before everything else: without it, no body is read.
#[test]
fn without_a_token_nothing_is_read() {
    let (folder, card, store) = (tempfile::tempdir().unwrap(), Card::new(1), file());
    let running = Running::start(&config(folder.path(), &card, &Card::new(2), ""), open(&store.url, None));
    let tokens = [
        String::new(),
        "Authorization: Bearer wrong\r\n".into(),
        format!("Authorization: Basic {TOKEN}\r\n"),
        format!("Authorization: {TOKEN}\r\n"),
        format!("Authorization: Bearer {}\r\n", &TOKEN[..TOKEN.len() - 1]),
        format!("Authorization: Bearer {TOKEN}x\r\n"),
        format!("Authorization: Bearer {TOKEN}\r\nAuthorization: Bearer {TOKEN}\r\n"),
        format!("x-api-key: {TOKEN}\r\n"),
    ];
    for token in tokens {
        for path in ["/v1/tickets", "/v1/openings", "/v1/closings"] {
            // The body never comes: who waited for it would answer 408.
            let answer =
                running.send(&format!("POST {path} HTTP/1.1\r\nHost: x\r\n{token}Content-Length: 9999999\r\n\r\n"));
            assert_eq!(answer.refused(), (401, "unauthorized".into()), "{token}");
            assert!(answer.head.contains("www-authenticate: bearer"), "{answer:?}");
        }
    }
}

#[test]
fn other_requests_are_refused() {
    let (folder, card, store) = (tempfile::tempdir().unwrap(), Card::new(1), file());
    let running = Running::start(&config(folder.path(), &card, &Card::new(2), ""), open(&store.url, None));
    let good = serde_json::to_string(&request(&card, 0, 1)).unwrap();
    let send = |first: &str, kind: &str, body: &str| {
        let head = format!("{first} HTTP/1.1\r\nHost: x\r\nAuthorization: bearer {TOKEN}\r\n{kind}");
        running.send(&format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()))
    };
    let (post, json) = ("POST /v1/tickets", "Content-Type: application/json\r\n");
    for kind in ["", "Content-Type: text/plain\r\n", "Content-Type: application/jsonx\r\n", &json.repeat(2)] {
        assert_eq!(send(post, kind, &good).refused(), (415, "wrong-type".into()), "{kind}");
    }
    let latin = "Content-Type: application/json; charset=latin1\r\n";
    assert_eq!(code(&send(post, latin, &good)), "wrong-type");
    for body in ["", "{", "[]", "{}", &good.replace("request", "other"), &good.replace('}', ",\"more\":1}")] {
        assert_eq!(send(post, json, body).refused(), (400, "malformed".into()), "{body}");
    }
    let large = format!("{good}{}", " ".repeat(MAX_BODY));
    assert_eq!(send(post, json, &large).refused(), (413, "too-large".into()));
    let chunk = format!("{:x}\r\n{}\r\n", MAX_BODY + 1, " ".repeat(MAX_BODY + 1));
    let chunked = running.send(&format!(
        "{post} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n{json}Transfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n"
    ));
    assert_eq!(chunked.refused(), (413, "too-large".into()));
    assert_eq!(send("GET /v1/tickets", json, "").refused(), (405, "wrong-method".into()));
    assert_eq!(send("POST /v1/ticket", json, &good).refused(), (404, "not-found".into()));
    let fields = running.send(&format!("GET /livez HTTP/1.1\r\nHost: x\r\n{}\r\n", "x: y\r\n".repeat(70)));
    assert_eq!(fields.status, 431);
    assert_eq!(
        running.send(&format!("GET /livez HTTP/1.1\r\nHost: x\r\nx: {}\r\n\r\n", "y".repeat(20_000))).status,
        431
    );
    assert!(open(&store.url, None).list().unwrap().is_empty());
    let utf8 = "Content-Type: Application/JSON; charset=UTF-8\r\n";
    assert_eq!(send(post, utf8, &good).status, 200);
}

/// A client that sends slowly, or not at all, is cut off. Other clients do not wait for it.
#[test]
fn slow_clients_are_cut_off() {
    let (folder, card, store) = (tempfile::tempdir().unwrap(), Card::new(1), file());
    let config = config(folder.path(), &card, &Card::new(2), "request_ms = 700");
    let running = Running::start(&config, open(&store.url, None));
    let begun = Instant::now();
    let silent = running.connect();
    let mut head = running.connect();
    head.write_all(b"POST /v1/tickets HTTP/1.1\r\nHost:").unwrap();
    let mut body = running.connect();
    let start = format!(
        "POST /v1/tickets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\
         Content-Length: 500\r\n\r\n{{"
    );
    body.write_all(start.as_bytes()).unwrap();
    assert_eq!(running.ticket(&request(&card, 0, 1)).serial, 1, "another client is served meanwhile");
    assert_eq!(Answer::read(body).refused(), (408, "too-slow".into()));
    for stream in [silent, head] {
        let status = Answer::read(stream).status;
        assert!(matches!(status, 0 | 408), "{status}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// Connections above the limit are closed at once. There is room again when the others have ended.
#[test]
fn connections_above_the_limit_are_closed() {
    let (folder, card, store) = (tempfile::tempdir().unwrap(), Card::new(1), file());
    let config = config(folder.path(), &card, &Card::new(2), "request_ms = 60000\nconnections = 4");
    let running = Running::start(&config, open(&store.url, None));
    // They are accepted in this order, before the fifth.
    let held: Vec<_> = (0..4).map(|_| running.connect()).collect();
    assert_eq!(running.get("/livez").status, 0);
    drop(held);
    let begun = Instant::now();
    while running.get("/livez").status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

/// `/readyz` is 200 only while the store answers and has every event of the public log.
#[test]
fn readiness_is_that_of_the_store() {
    let (folder, card, store) = (tempfile::tempdir().unwrap(), Card::new(1), file());
    let config = config(folder.path(), &card, &Card::new(2), "");
    let log = folder.path().join("log");
    let running = Running::start(&config, open(&store.url, Some(&log)));
    let ready = |running: &Running| (running.get("/readyz").status, running.get("/livez").status);
    assert_eq!(ready(&running), (200, 200));
    running.ticket(&request(&card, 0, 1));
    assert_eq!(ready(&running), (200, 200));
    let checkpoint = std::fs::read(log.join("checkpoint")).unwrap();
    std::fs::write(log.join("checkpoint"), b"no checkpoint").unwrap();
    assert_eq!(ready(&running), (503, 200));
    assert_eq!(running.post("/v1/tickets", &request(&card, 1, 2)).refused(), (500, "internal".into()));
    std::fs::write(log.join("checkpoint"), checkpoint).unwrap();
    assert_eq!(ready(&running), (200, 200));
    drop(running);

    let Some(database) = database() else { return };
    let log = folder.path().join("other log");
    let running = Running::start(&config, open(&StoreUrl::Postgres(database.issuer.clone()), Some(&log)));
    running.ticket(&request(&card, 0, 1));
    assert_eq!(ready(&running), (200, 200));
    // An old backup is restored under the running issuer.
    let forget = "ALTER TABLE portcullis.event DISABLE TRIGGER ALL; DELETE FROM portcullis.event;
        DELETE FROM portcullis.head";
    database.owner().batch_execute(forget).unwrap();
    assert_eq!(ready(&running), (503, 200));
    assert_eq!(running.post("/v1/tickets", &request(&card, 0, 2)).refused(), (503, "store-behind".into()));
    drop(running);

    let server = Server::make().unwrap();
    let running = Running::start(&config, open(&StoreUrl::Postgres(server.database().issuer), None));
    assert_eq!(ready(&running), (200, 200));
    server.crash();
    assert_eq!(ready(&running), (503, 200));
    assert_eq!(running.post("/v1/tickets", &request(&card, 0, 1)).refused(), (503, "store-unavailable".into()));
    server.start();
    assert_eq!(ready(&running), (200, 200));
    assert_eq!(running.ticket(&request(&card, 0, 1)).serial, 1);
    drop(running);
    server.crash();
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let good = "[[client]]\nname = \"c\"\ntoken = \"t\"\n[[card]]\nname = \"k\"\npublic_key = \"KEY\"\n\
                [[policy]]\nname = \"p\"\ndigest = \"KEY\"\n"
        .replace("KEY", &"07".repeat(32));
    IssuerConfig::parse(&good).unwrap();
    let wrong = [
        (format!("listen = \"0.0.0.0:8630\"\n{good}"), "not of the loopback interface"),
        (format!("listen = \"192.0.2.1:8630\"\n{good}"), "in the clear"),
        (format!("other = 1\n{good}"), "unknown key"),
        (good.replace("07", "0x"), "hexadecimal"),
        (format!("card = []\npolicy = []\n{}", good.split("[[card]]").next().unwrap()), "no card is configured"),
        (format!("{good}[[client]]\nname = \"c\"\ntoken = \"u\"\n"), "two clients"),
        (format!("{good}[[card]]\nname = \"l\"\npublic_key = \"{}\"\n", "07".repeat(32)), "the key of another card"),
        (format!("{good}[[policy]]\nname = \"q\"\ndigest = \"{}\"\n", "07".repeat(32)), "the digest of another"),
        (good.replace("token = \"t\"", "token = \"t\"\ncards = [\"z\"]"), "the card `z`"),
        (good.replace("name = \"k\"", "name = \"k\"\npolicies = [\"z\"]"), "the policy `z`"),
        (format!("{good}hours = 0\n"), "`hours`"),
        (format!("{good}[limits]\nconnections = 0\n"), "above zero"),
    ];
    for (text, why) in wrong {
        let error = IssuerConfig::parse(&text).unwrap_err();
        assert!(error.to_string().contains(why), "{why}: {error}");
    }
    // Tokens must be there, long enough, and different.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    assert!(matches!(portcullis_issuer::config::token(&path), Err(IssuerConfigError::Token(_))));
    for token in ["", "short\n", "two words of a token\n", "a-token-of-a-client\nanother-line\n"] {
        std::fs::write(&path, token).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(portcullis_issuer::config::token(&path), Err(IssuerConfigError::Token(_))), "{token}");
    }
    std::fs::write(&path, "a-token-of-a-client\r\n").unwrap();
    assert_eq!(portcullis_issuer::config::token(&path).unwrap(), "a-token-of-a-client");
    let twice = format!("{good}[[client]]\nname = \"d\"\ntoken = \"t\"\n").replace("\"t\"", &format!("{path:?}"));
    let config = IssuerConfig { listen: ([127, 0, 0, 1], 0).into(), ..IssuerConfig::parse(&twice).unwrap() };
    let never = || -> Result<_, portcullis_issuer::IssuerServeError> { panic!("the issuer is opened last") };
    let refused = portcullis_issuer::serve(&config, never, async {}, |_| ()).unwrap_err();
    assert!(refused.to_string().contains("the token of another client"), "{refused}");
}
