//! Proofs for clients: as part of the answer, and on request.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_authority::ca;
use portcullis_core::hex;
use portcullis_evidence::bundle;
use portcullis_evidence::checkpoint::CoseCheckpoint;
use portcullis_evidence::stream_proof::{ReleasedPiece, StreamFacts, StreamProof, prove_stream};
use portcullis_evidence::verify::{TrustedParties, VerifyOptions};
use portcullis_gateway::config::GatewayConfig;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;
use support::{Answer, Gateway, REFUSAL, Upstream, chat, opener, policy, text};

const SAID: &str = "Birds sing in spring. A badword stands here. Ships sail.\n";

fn gateway(upstream: &Upstream, folder: &Path, on_refuse: &str, settings: &str) -> Gateway {
    let config = format!(
        "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\nbundles = \"unused\"\n{settings}\n[[model]]\nname = \"m\"\n\
         upstream = \"http://{}/v1\"\n",
        upstream.address
    );
    Gateway::over(GatewayConfig::parse(&config).unwrap(), opener(&policy(on_refuse), folder))
}

fn upstream() -> Upstream {
    Upstream::new(std::sync::Arc::new(|_, _: &Value| chat(SAID.split_inclusive(' ').map(text), "stop")))
}

fn ask(stream: bool, nonce: &str) -> Value {
    let messages = json!([{"role": "user", "content": "Say something."}]);
    json!({"model": "m", "stream": stream, "messages": messages, "portcullis": {"nonce": nonce, "receipt": true}})
}

/// Checks proofs under the public root of simulated cards.
fn check(proofs: &Value) -> Vec<StreamFacts> {
    let mut trust = TrustedParties::default();
    trust.roots.add_sim_root(ca::simulation().unwrap().certificate_pem().unwrap().as_bytes()).unwrap();
    let check = |proof: &Value| {
        let proof = StreamProof::parse(proof.to_string().as_bytes()).unwrap();
        let strict = proof.check(&trust, VerifyOptions { allow_sim: false, allow_not_enforced: true, at: None });
        assert!(strict.is_err(), "a simulated card was believed");
        let facts = proof.check(&trust, VerifyOptions { allow_sim: true, allow_not_enforced: true, at: None }).unwrap();
        assert!(facts.simulated);
        facts
    };
    proofs.as_array().unwrap().iter().map(check).collect()
}

fn said(answer: &Answer, stream: bool) -> String {
    let values = if stream { answer.events() } else { vec![answer.json()] };
    let part = if stream { "delta" } else { "message" };
    values.iter().filter_map(|value| value["choices"][0][part]["content"].as_str()).collect()
}

#[test]
fn an_answer_holds_its_proofs_and_they_can_be_asked_for() {
    let (upstream, folder) = (upstream(), tempfile::tempdir().unwrap());
    let secret = folder.path().join("key");
    let other = folder.path().join("other");
    support::write_secret(&secret, "one-key-of-a-client\n");
    support::write_secret(&other, "other-key-of-a-client\n");
    let key = |name: &str, path: &Path| format!("[[key]]\nname = \"{name}\"\nsecret = {{ file = {path:?} }}\n");
    let keys = key("one", &secret) + &key("other", &other);
    let bundles = tempfile::tempdir().unwrap();
    let gateway = gateway(&upstream, bundles.path(), "redact", &keys);
    let mut shown = Vec::new();
    for stream in [true, false] {
        let body = ask(stream, "n-1");
        let answer = gateway.post_with("/v1/chat/completions", &body, "authorization: Bearer one-key-of-a-client\r\n");
        let provenance = answer.provenance();
        let facts = check(&provenance["proofs"]);
        assert_eq!((facts.len(), facts[0].refused), (1, 1));
        let id = provenance["streams"][0]["id"].as_str().unwrap();
        assert_eq!(facts[0].context.id, id);
        let digest = hex::encode(&<[u8; 32]>::from(Sha256::digest(body.to_string())));
        assert!(id.ends_with(&format!("/0/0/content request={digest} nonce=n-1")), "{id}");
        // The text without the constants is the text that the card admitted.
        let (mut text, constants) = (said(&answer, stream), &provenance["streams"][0]["constants"]);
        for constant in constants.as_array().unwrap().iter().rev() {
            let (at, length) = (constant[0].as_u64().unwrap() as usize, constant[1].as_u64().unwrap() as usize);
            text.replace_range(at..at + length, "");
        }
        assert_eq!(facts[0].released, [ReleasedPiece::Text(text)]);

        let path = format!("/v1/portcullis/receipts/{}", provenance["answer"].as_str().unwrap());
        let get = |path: &str, key: &str| {
            let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n");
            gateway.raw(format!("{head}connection: close\r\n\r\n").as_bytes())
        };
        let again = get(&path, "one-key-of-a-client");
        assert_eq!((again.status, check(&again.json()["proofs"])), (200, facts.clone()));
        assert_eq!((get(&path, "other-key-of-a-client").status, get(&path, "wrong").status), (404, 401));
        assert_eq!(get("/v1/portcullis/receipts/none", "one-key-of-a-client").status, 404);
        shown.push((again.json()["proofs"][0].clone(), facts));
    }
    gateway.stop();
    // The finished bundle gives the same proofs.
    let session = std::fs::read_dir(bundles.path()).unwrap().next().unwrap().unwrap().path();
    let files = bundle::at(&session).unwrap();
    for (proof, facts) in shown {
        let proof = StreamProof::parse(proof.to_string().as_bytes()).unwrap();
        let lane_and_begin = |record: &[u8]| {
            let record = <portcullis_core::wire::Record as zerocopy::FromBytes>::read_from_bytes(record).unwrap();
            (record.answer.lane, record.answer.log_index.get())
        };
        let (lane, begin) = lane_and_begin(&proof.records[0].record.0);
        let offline = prove_stream(&*files, lane, begin).unwrap();
        assert_eq!((&offline.context, &offline.spans), (&proof.context, &proof.spans));
        assert_eq!(check(&json!([offline])), facts);
    }
}

/// With signed release, the native API also releases text only after it is signed and provable.
#[test]
fn the_native_api_releases_what_is_signed() {
    let (upstream, bundles) = (upstream(), tempfile::tempdir().unwrap());
    let gateway = gateway(&upstream, bundles.path(), "redact", "[evidence]\nrelease = \"signed\"\n");
    let streams = "/v1/portcullis/streams";
    let opened = gateway.post(streams, &json!({"model": "m", "task": "Say something."})).json();
    let name = opened["stream"].as_str().unwrap();
    let mut released = String::new();
    let mut last = 0;
    let requests =
        [("candidates", json!({"text": "Birds sing. Ships sail. "})), ("candidates", json!({"text": "Bells"}))];
    for (what, body) in requests.into_iter().chain([("close", json!({}))]) {
        let answer = gateway.post(&format!("{streams}/{name}/{what}"), &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer = answer.json();
        let determinations = answer["determinations"].as_array().unwrap();
        last = determinations.iter().filter_map(|d| d["record"]["index"].as_u64()).max().unwrap_or(last);
        let signed = signed(&bundles.path().join("session-1"));
        assert!(signed > last, "record {last} left with {signed} records signed");
        released.extend(answer["released"].as_array().unwrap().iter().filter_map(|piece| piece["text"].as_str()));
    }
    assert_eq!(released, "Birds sing. Ships sail. Bells");
    let head = format!("GET /v1/portcullis/receipts/{name} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let receipt = gateway.raw(head.as_bytes());
    assert_eq!(receipt.status, 200, "{}", receipt.body);
    assert_eq!(check(&receipt.json()["proofs"])[0].released, [ReleasedPiece::Text(released)]);
}

/// Number of signed records in a session's folder.
fn signed(session: &Path) -> u64 {
    let message = |serial| std::fs::read(session.join(bundle::checkpoint(serial))).ok();
    let sizes = (0..).map_while(message).map(|m| CoseCheckpoint::parse(&m).unwrap().checkpoint.wire.size.get());
    sizes.max().unwrap_or(0)
}

/// Text is sent after its record is signed, not before.
#[test]
fn signed_release_waits_for_the_checkpoint() {
    let (upstream, bundles) = (upstream(), tempfile::tempdir().unwrap());
    let gateway = gateway(&upstream, bundles.path(), "stop", "[evidence]\nrelease = \"signed\"\n");
    let body = ask(true, "n").to_string();
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let session = bundles.path().join("session-1");
    let (mut heard, mut piece) = (Vec::new(), [0; 1024]);
    let mut first = None;
    loop {
        let read = stream.read(&mut piece).unwrap();
        if read == 0 {
            break;
        }
        heard.extend(&piece[..read]);
        if first.is_none() && String::from_utf8_lossy(&heard).contains("Birds") {
            first = Some(signed(&session));
        }
    }
    // The signed records are OPEN, BEGIN, and the verdict on the first sentence.
    assert!(first.unwrap() >= 3, "{first:?}");
    let answer = Answer::parse(&heard);
    assert_eq!(said(&answer, true), format!("Birds sing in spring.{REFUSAL}"));
    assert_eq!(check(&answer.provenance()["proofs"])[0].admitted, 1);
    gateway.stop();
}

/// Without a bundle there are no proofs, and the answer reports that.
#[test]
fn what_is_not_recorded_has_no_proof() {
    let upstream = upstream();
    let gateway = Gateway::new(&policy("stop"), &upstream, "");
    let answer = gateway.post("/v1/chat/completions", &ask(false, "n"));
    assert_eq!((&answer.provenance()["proofs"], &answer.provenance()["unproven"]), (&Value::Null, &json!("never")));
    let path = format!("/v1/portcullis/receipts/{}", answer.provenance()["answer"].as_str().unwrap());
    assert_eq!(gateway.get(&path).status, 404);
}
