//! The listener: host names in requests, TLS on both sides, other protocols, and stalled clients.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_gateway::config::GatewayConfig;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Gateway, Upstream, ask, chat, end, event_head, finish, policy, said, text};

fn birds() -> Upstream {
    Upstream::new(Arc::new(|_, _: &Value| chat([text("Birds sing. "), text("Ships sail.")], "stop")))
}

/// A web page can give its own name the address 127.0.0.1, and then read the gateway's answers in a browser. If no
/// keys are configured, only this check stops such a page.
#[test]
fn without_keys_a_request_for_another_host_is_refused() {
    let upstream = birds();
    let gateway = Gateway::new(&policy("stop"), &upstream, "");
    let own = gateway.address.to_string();
    let send = |head: &str| gateway.raw(format!("{head}connection: close\r\n\r\n").as_bytes());
    let hosts = ["localhost", "LOCALHOST:9", "127.0.0.1", "127.9.9.9:80", "[::1]:8080", &own];
    for host in hosts {
        assert_eq!(send(&format!("GET /v1/models HTTP/1.1\r\nhost: {host}\r\n")).status, 200, "{host}");
    }
    let others = [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example@127.0.0.1",
        "10.0.0.1",
        "0.0.0.0:8080",
        "[::]",
        "gate.local",
        "",
    ];
    for host in others {
        for path in ["/v1/models", "/readyz", "/v1/nothing"] {
            let answer = send(&format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n"));
            assert_eq!((answer.status, &answer.json()["error"]["code"]), (403, &"wrong_host".into()), "{host} {path}");
            assert!(host.is_empty() || !answer.body.contains(host), "{}", answer.body);
        }
    }
    let refused = [
        "GET /v1/models HTTP/1.1\r\n",
        "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n",
        "GET http://evil.example/v1/models HTTP/1.1\r\nhost: localhost\r\n",
        "GET http://localhost/v1/models HTTP/1.1\r\nhost: evil.example\r\n",
    ];
    for head in refused {
        assert!([400, 403].contains(&send(head).status), "{head}");
    }
    // Each dialect has its own form of an error.
    let body = "{}";
    let answer =
        send(&format!("POST /v1/messages HTTP/1.1\r\nhost: evil.example\r\ncontent-length: {}\r\n", body.len()));
    assert_eq!((answer.status, &answer.json()["error"]["type"]), (403, &"permission_error".into()), "{}", answer.body);
    assert_eq!(answer.json()["type"], "error");
    assert!(upstream.asked.lock().unwrap().is_empty());
    // With keys, the host name does not matter: the page of another site has no key.
    let folder = tempfile::tempdir().unwrap();
    support::write_secret(&folder.path().join("key"), "sk-one-0123456789");
    let key = format!("[[key]]\nname = \"k\"\nsecret = {{ file = \"{}\" }}\n", folder.path().join("key").display());
    let keyed = Gateway::new(&policy("stop"), &upstream, &key);
    let head = "GET /v1/models HTTP/1.1\r\nhost: gate.example\r\nauthorization: Bearer sk-one-0123456789\r\nconnection: close\r\n\r\n";
    assert_eq!(keyed.raw(head.as_bytes()).status, 200);
}

/// Makes a certificate for `localhost` and its key, as `NAME.pem` and `NAME.key`. Returns false if `openssl` is missing
/// or fails.
fn make_certificate(folder: &Path, name: &str) -> bool {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(folder.join(format!("{name}.key")))
        .arg("-out")
        .arg(folder.join(format!("{name}.pem")))
        .output();
    made.is_ok_and(|made| made.status.success())
}

/// Two gateways: the second one uses the first one as its model server, over TLS.
#[test]
fn tls_holds_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    if !["server", "other"].iter().all(|name| make_certificate(folder.path(), name)) {
        std::io::stdout().write_all(b"\nSKIPPED no openssl to make a certificate with\n").unwrap();
        return;
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    let tls = |certificate: &str, key: &str| {
        format!("[tls]\ncertificate = \"{}\"\nkey = \"{}\"\n", path(certificate), path(key))
    };
    let upstream = birds();
    let inner = Gateway::new(&policy("stop"), &upstream, &tls("server.pem", "server.key"));
    let outer = |authority: &str| {
        let port = inner.address.port();
        Gateway::with(
            &policy("stop"),
            &format!(
                "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[[model]]\nname = \"m\"\n\
                 upstream = \"https://localhost:{port}/v1\"\n{authority}"
            ),
        )
    };
    let trusted = outer(&format!("upstream_ca = \"{}\"\n", path("server.pem")));
    for stream in [false, true] {
        let answer = trusted.post("/v1/chat/completions", &ask("go", stream));
        assert_eq!((answer.status, said(&answer, "content").as_str()), (200, "Birds sing. Ships sail."));
        assert_eq!(finish(&answer), "stop");
    }
    let asked = upstream.asked.lock().unwrap().len();
    // The server's certificate is refused under another CA, and under the system's CAs.
    for authority in [format!("upstream_ca = \"{}\"\n", path("other.pem")), String::new()] {
        let answer = outer(&authority).post("/v1/chat/completions", &ask("go", false));
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (502, &"upstream_error".into()), "{authority}");
    }
    assert_eq!(upstream.asked.lock().unwrap().len(), asked, "a server that is not trusted was asked");
    // A client without TLS gets no plain-text answer.
    let mut client = TcpStream::connect(inner.address).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{answer:?}");
    // A key that does not match the certificate is refused before the listener starts.
    let wrong = format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{}", tls("server.pem", "other.key"));
    let wrong = format!("{wrong}[[model]]\nname = \"m\"\nupstream = \"http://127.0.0.1:9/v1\"\n");
    let error = Gateway::refused(&policy("stop"), GatewayConfig::parse(&wrong).unwrap());
    assert!(error.to_string().starts_with("TLS: "), "{error}");
}

/// The gateway supports only HTTP/1.1, so a flood of stream resets, or an endless head, cannot be sent.
#[test]
fn http_2_is_not_spoken() {
    let upstream = birds();
    let gateway = Gateway::new(&policy("stop"), &upstream, "");
    // The preface, empty settings, then a thousand HEADERS frames with RST_STREAM, or one HEADERS with endless
    // CONTINUATION frames.
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes()[..], payload].concat()
    };
    let preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, &[])].concat();
    // `:method: GET`, `:scheme: http`, `:path: /` from HPACK's static table.
    let head = [0x82, 0x86, 0x84];
    let resets =
        (0..1_000).flat_map(|n| [frame(1, 5, 2 * n + 1, &head), frame(3, 0, 2 * n + 1, &[0, 0, 0, 8])].concat());
    let endless = [frame(1, 1, 1, &head), frame(9, 0, 1, &[0; 1000]).repeat(1_000)].concat();
    for flood in [resets.collect::<Vec<u8>>(), endless] {
        let mut client = TcpStream::connect(gateway.address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = client.write_all(&[&preface[..], &flood].concat());
        let mut answer = Vec::new();
        // The connection ends; an HTTP/2 server would keep it open.
        if let Err(error) = client.read_to_end(&mut answer) {
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
        }
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&answer));
    }
    // The head of an HTTP/1.1 request is limited too.
    let many = "a: b\r\n".repeat(200);
    let long = format!("a: {}\r\n", "b".repeat(1 << 20));
    for lines in [many, long] {
        let answer = gateway.raw(format!("GET /livez HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n").as_bytes());
        assert_eq!(answer.status, 431, "{}", answer.body);
    }
    assert_eq!(gateway.get("/livez").status, 200);
}

/// A client that never reads is disconnected, so that it does not occupy a connection forever.
#[test]
fn a_client_that_never_reads_is_let_go() {
    let upstream = Upstream::new(Arc::new(|_, _: &Value| {
        let long = text(&"Birds sing in spring. ".repeat(200));
        [event_head()].into_iter().chain((0..2_000).map(|_| long.clone())).chain(end("stop")).collect()
    }));
    let gateway = Gateway::new(&policy("stop"), &upstream, "[limits]\nclient_ms = 300\nconnections = 1\n");
    let body = ask("go", true).to_string();
    let length = body.len();
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n");
    let mut client = TcpStream::connect(gateway.address).unwrap();
    client.write_all(format!("{head}{body}").as_bytes()).unwrap();
    // The only permitted connection is in use until the gateway disconnects the client.
    let since = Instant::now();
    loop {
        let mut other = TcpStream::connect(gateway.address).unwrap();
        other.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = other.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let mut answer = String::new();
        let _ = other.read_to_string(&mut answer);
        if answer.starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "the connection is still open");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The answer is cut off in a way that every client detects.
    let mut got = Vec::new();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = client.read_to_end(&mut got);
    assert!(!String::from_utf8_lossy(&got).contains("[DONE]"));
}
