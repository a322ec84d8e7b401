//! The live page: access to it, its content, and that foreign text never becomes markup. `host/xtask/src/look/live.rs`
//! tests how it looks in a browser.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Gateway, Step, Upstream, admin, ask, chat, policy, text};

/// Head and body of a request with this header.
fn request(address: SocketAddr, method: &str, path: &str, header: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\ncontent-length: 0\r\n");
    stream.write_all(format!("{head}{header}\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, head.to_owned(), body.to_owned())
}

fn basic(user: &str, password: &str) -> String {
    format!("authorization: Basic {}\r\n", Base64::encode_string(format!("{user}:{password}").as_bytes()))
}

fn state(address: SocketAddr) -> Value {
    let (status, _, body) = request(address, "GET", "/ui/state", &basic("", "the-admin-secret"));
    assert_eq!(status, 200);
    serde_json::from_str(&body).unwrap()
}

/// The value beside a name on the page.
fn figure(state: &Value, name: &str) -> String {
    let cells = state.as_object().unwrap();
    let (id, _) =
        cells.iter().find(|(id, text)| id.ends_with("-0") && *text == name).unwrap_or_else(|| panic!("{name}"));
    cells[&format!("{}-1", id.strip_suffix("-0").unwrap())].as_str().unwrap().to_owned()
}

#[test]
fn the_page_wants_the_key_and_a_password_opens_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (address, lines) = admin(&folder);
    let upstream = Upstream::new(Arc::new(|_, _| chat([text("Birds sing.")], "stop")));
    let gateway = Gateway::new(&policy("redact"), &upstream, &lines);
    let bearer = "authorization: Bearer the-admin-secret\r\n".to_owned();
    for path in ["/ui", "/ui/state"] {
        for wrong in [
            String::new(),
            basic("admin", "other"),
            basic("the-admin-secret", ""),
            "authorization: Basic the-admin-secret\r\n".into(),
            "authorization: Basic ====\r\n".into(),
        ] {
            let (status, head, body) = request(address, "GET", path, &wrong);
            assert_eq!(status, 401, "{path} {wrong}");
            assert!(head.to_lowercase().contains("www-authenticate: basic realm="), "{head}");
            assert!(!body.contains("Streams"));
        }
        for right in [&bearer, &basic("anybody", "the-admin-secret"), &"x-api-key: the-admin-secret\r\n".to_owned()] {
            let (status, head, _) = request(address, "GET", path, right);
            let head = head.to_lowercase();
            assert_eq!(status, 200, "{path} {right}");
            for line in ["cache-control: no-store", "x-content-type-options: nosniff", "referrer-policy: no-referrer"] {
                assert!(head.contains(line), "{head}");
            }
        }
    }
    let policy = request(address, "GET", "/ui", &bearer).1;
    for part in ["content-security-policy: default-src 'none'", "frame-ancestors 'none'", "script-src 'sha256-"] {
        assert!(policy.contains(part) && !policy.contains("unsafe-inline"), "{policy}");
    }
    // A page of another site can make the browser send the password, but cannot change anything.
    for (method, path) in [("POST", "/drain"), ("GET", "/metrics")] {
        assert_eq!(request(address, method, path, &basic("admin", "the-admin-secret")).0, 401, "{path}");
    }
    assert_eq!(request(address, "POST", "/ui", &bearer).0, 405);
    assert_eq!(gateway.get("/ui").status, 404, "clients do not reach the page");
}

#[test]
fn figures_of_what_happens() {
    let folder = tempfile::tempdir().unwrap();
    let (address, lines) = admin(&folder);
    let upstream = Upstream::new(Arc::new(|_, body: &Value| {
        let said = body["messages"][0]["content"].as_str().unwrap().to_owned();
        let pause = Step::Wait(Duration::from_secs(if said.contains("slow") { 6 } else { 0 }));
        chat([text("Birds sing. A badword stands here. Ships "), pause, text("sail.")], "stop")
    }));
    let gateway = Gateway::new(&policy("redact"), &upstream, &lines);
    gateway.post("/v1/chat/completions", &ask("now", true));
    let nonce = json!({"nonce": "of-a-client"});
    let mut slow = ask("slow", true);
    slow.as_object_mut().unwrap().insert("portcullis".into(), nonce);
    std::thread::scope(|scope| {
        scope.spawn(|| gateway.post("/v1/chat/completions", &slow));
        let until = Instant::now() + Duration::from_secs(20);
        let shown = loop {
            let shown = state(address);
            if figure(&shown, "Open streams") == "1" && shown["stream-0-3"] == "1" {
                break shown;
            }
            assert!(Instant::now() < until, "{shown:#}");
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(figure(&shown, "Streams").ends_with(" per second, 2 in all"), "{shown:#}");
        assert!(figure(&shown, "Refused").ends_with(", 2 in all"), "{shown:#}");
        assert_eq!((&shown["rule-0-0"], &shown["rule-0-1"]), (&json!("NO-BAD"), &json!("2")));
        assert_eq!(figure(&shown, "State"), "open: it takes streams");
        assert_eq!(figure(&shown, "Session"), "session-1");
        assert_eq!(figure(&shown, "Card"), "simulated");
        assert!(figure(&shown, "Last checkpoint").contains("no bundle is written"), "{shown:#}");
        let bytes: u64 = shown["stream-0-4"].as_str().unwrap().parse().unwrap();
        assert_eq!(bytes, "Birds sing.".len() as u64);
        let held: u64 =
            (0..15).map(|row| shown[format!("hold-{row}-1")].as_str().unwrap().parse::<u64>().unwrap()).sum();
        assert!(held > 0, "the released pieces were timed");
        // The HTML page shows the values of the JSON state.
        let (_, _, page) = request(address, "GET", "/ui", &basic("", "the-admin-secret"));
        assert!(page.contains("id=\"rule-0-0\">NO-BAD<"), "{page}");
        assert_eq!(page.matches("<script").count(), 1);
        // The page contains no text of a request or an answer.
        for said in ["Birds", "badword", "slow"] {
            assert!(!page.contains(said) && !shown.to_string().contains(said), "{said}");
        }
    });
    let after = state(address);
    assert_eq!(figure(&after, "Open streams"), "0");
    assert_eq!(after["stream-0-0"], "");
    gateway.stop();
}
