//! Answers during a change of sessions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_card::{CardChoice, SessionConfig};
use portcullis_core::hex;
use portcullis_gate::{GateSettings, SaltKey, StreamGovernor};
use portcullis_gateway::config::GatewayConfig;
use portcullis_gateway::session::SessionParts;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Gateway, REFUSAL, Step, Upstream, ask, chat, finish, lenient_policy, policy, said, text};

/// Sessions end at their time limit, with and without requests. No request is lost.
#[test]
fn sessions_rotate_by_time() {
    let upstream = Upstream::new(Arc::new(|_, _: &Value| chat([text("Birds sing.")], "stop")));
    let gateway = Gateway::new(&policy("stop"), &upstream, "[rotation]\nseconds = 1\ndrain_ms = 20000\n");
    let (since, mut names) = (Instant::now(), BTreeSet::new());
    while names.len() < 3 {
        assert!(since.elapsed() < Duration::from_secs(60), "{names:?}");
        let answer = gateway.post("/v1/chat/completions", &ask("Go.", false));
        assert_eq!((answer.status, said(&answer, "content").as_str()), (200, "Birds sing."), "{}", answer.body);
        names.insert(answer.provenance()["session"].as_str().unwrap().to_owned());
    }
    assert!(since.elapsed() > Duration::from_millis(1_500), "three sessions in {:?}", since.elapsed());
    // Sessions end on time even if no request comes.
    std::thread::sleep(Duration::from_millis(2_500));
    let answer = gateway.post("/v1/chat/completions", &ask("Go.", false));
    let last: u32 = answer.provenance()["session"].as_str().unwrap().trim_start_matches("session-").parse().unwrap();
    assert!(last >= 4, "{last}");
}

/// The policy changes during a stream. The stream keeps its policy until its end; a stream that begins meanwhile waits,
/// and uses the new policy. The old policy refuses a word that the new one admits.
#[test]
fn a_stream_keeps_its_policy_to_its_end() {
    let bad = "A badword stands here. Cats sleep.";
    for mode in ["", "kind = \"vllm\"\nmode = \"driven\"\n"] {
        let upstream = Upstream::new(Arc::new(move |_, body: &Value| {
            // After a refusal, a driven answer has no alternative.
            if body["seed"].is_i64() {
                return chat([], "stop");
            }
            if body["messages"][0]["content"] == "short" {
                return chat([text("Birds sing. "), text(bad)], "stop");
            }
            let first = (0..4).map(|n| text(&format!("Bird {n} sings. ")));
            chat(first.chain([Step::Wait(Duration::from_secs(2)), text(bad)]), "stop")
        }));
        let policies = [policy("stop"), lenient_policy()];
        let digests = policies.each_ref().map(|policy| hex::encode(&policy.package.digest()));
        assert_ne!(digests[0], digests[1]);
        let config = format!(
            "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[rotation]\nrecords = 3\ndrain_ms = 30000\n\
             [[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n{mode}",
            upstream.address
        );
        let mut sessions = 0;
        let open = move |salt: SaltKey| {
            // The first session has the first policy, later ones the second.
            let policy = &policies[usize::min(sessions, 1)];
            sessions += 1;
            Ok(SessionParts {
                card: CardChoice::Model.open().unwrap(),
                config: SessionConfig::default(),
                recorder: None,
                name: format!("session-{sessions}"),
                governors: vec![Arc::new(StreamGovernor::new(Arc::clone(policy), GateSettings::new(salt)).unwrap())],
            })
        };
        let gateway = Gateway::over(GatewayConfig::parse(&config).unwrap(), Box::new(open));
        let (old, new) = std::thread::scope(|scope| {
            let old = scope.spawn(|| gateway.post("/v1/chat/completions", &ask("long", true)));
            // The first sentences of the stream have requested the rotation.
            let since = Instant::now();
            while gateway.get("/readyz").status == 200 {
                assert!(since.elapsed() < Duration::from_secs(60), "the session does not end");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(!old.is_finished(), "the answer ended before the rotation");
            let new = gateway.post("/v1/chat/completions", &ask("short", true));
            (old.join().unwrap(), new)
        });
        let whole: String = (0..4).map(|n| format!("Bird {n} sings. ")).collect();
        let left = said(&old, "content");
        assert_eq!(left.replace(' ', ""), format!("{whole}{REFUSAL}").replace(' ', ""), "{mode}: {}", old.body);
        assert_eq!(finish(&old), "content_filter");
        assert_eq!(said(&new, "content"), format!("Birds sing. {bad}"), "{mode}: {}", new.body);
        for (answer, session, digest) in [(&old, "session-1", &digests[0]), (&new, "session-2", &digests[1])] {
            let provenance = answer.provenance();
            assert_eq!(provenance["session"], session);
            assert_eq!(provenance["package_digest"].as_str().unwrap(), digest, "{session}");
        }
    }
}
