//! Gateways with several cards: placement, a card that changes its session, a lost card, little credit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_card::transport::model::{MAX_STREAMS, ModelCard};
use portcullis_card::{CardTransport, SessionConfig};
use portcullis_gate::{GateSettings, SaltKey, StreamGovernor};
use portcullis_gateway::config::GatewayConfig;
use portcullis_gateway::session::{Opener, SessionParts};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::sleep;
use std::time::{Duration, Instant};
use support::{Answer, Gateway, MortalCard, Step, Upstream, ask, chat, event, event_head, policy, said, text};

/// A card with this name, whose sessions `open` prepares.
fn card(name: &'static str, mut open: impl FnMut(u32) -> Box<dyn CardTransport> + Send + 'static) -> Opener {
    let policy = policy("stop");
    let mut sessions = 0;
    Box::new(move |salt: SaltKey| {
        sessions += 1;
        let card = open(sessions);
        let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), GateSettings::new(salt)).unwrap());
        let name = format!("{name}/{sessions}");
        Ok(SessionParts { card, config: SessionConfig::default(), recorder: None, name, governors: vec![governor] })
    })
}

fn model_card(_: u32) -> Box<dyn CardTransport> {
    Box::new(ModelCard::new())
}

fn config(upstream: &Upstream, settings: &str) -> GatewayConfig {
    let model = format!("[[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n", upstream.address);
    GatewayConfig::parse(&format!("listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n{settings}\n{model}")).unwrap()
}

fn birds() -> Upstream {
    Upstream::new(Arc::new(|_, _: &Value| chat([text("Birds sing.")], "stop")))
}

fn session(answer: &Answer) -> String {
    answer.provenance()["session"].as_str().unwrap().to_owned()
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(5));
    }
}

/// The requests spread over the cards, and each answer names the session of its card. Every card has its own stream
/// numbers; no figure of one card replaces one of another.
#[test]
fn requests_spread_over_the_cards() {
    let folder = tempfile::tempdir().unwrap();
    let (address, admin) = support::admin(&folder);
    let cards = vec![card("a", model_card), card("b", model_card), card("c", model_card)];
    let gateway = Gateway::over_cards(config(&birds(), &admin), cards);
    wait_for("three sessions", || metrics(address).contains("portcullis_cards{state=\"open\"} 3"));
    let mut counts = BTreeMap::new();
    for turn in 0..60 {
        let answer = gateway.post("/v1/chat/completions", &ask("Go.", turn % 2 == 0));
        assert_eq!((answer.status, said(&answer, "content").as_str()), (200, "Birds sing."), "{}", answer.body);
        *counts.entry(session(&answer)).or_insert(0) += 1;
    }
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["a/1", "b/1", "c/1"]);
    assert!(counts.values().all(|count| *count >= 5), "{counts:?}");
    wait_for("no open stream", || metrics(address).contains("\nportcullis_streams 0\n"));
    assert!(metrics(address).contains("portcullis_determinations_total{verdict=\"admit\"} 60"), "{}", metrics(address));
    gateway.stop();
}

fn metrics(address: std::net::SocketAddr) -> String {
    support::request(address, "GET", "/metrics", "authorization: Bearer the-admin-secret\r\n").1
}

/// A card is lost during an answer. That answer ends with a reason, and all later ones come from the other card. The
/// gateway stays ready, and says at its end which failure there was.
#[test]
fn a_lost_card_ends_its_streams_only() {
    let upstream = birds();
    let folder = tempfile::tempdir().unwrap();
    let (address, admin) = support::admin(&folder);
    let mortal = card("mortal", |_| Box::new(MortalCard::new(9)));
    let gateway = Gateway::over_cards(config(&upstream, &admin), vec![mortal, card("sound", model_card)]);
    let mut broken = 0;
    wait_for("the card is lost", || {
        let answer = gateway.post("/v1/chat/completions", &ask("Go.", false));
        if answer.status == 200 {
            assert_eq!(said(&answer, "content"), "Birds sing.");
        } else {
            assert!(answer.body.contains("gate_failed") || answer.status == 503, "{}", answer.body);
            broken += 1;
        }
        metrics(address).contains("portcullis_cards{state=\"over\"} 1")
    });
    assert!(broken <= 1, "{broken} answers were broken");
    for _ in 0..20 {
        assert_eq!(gateway.get("/readyz").status, 200);
        let answer = gateway.post("/v1/chat/completions", &ask("Go.", true));
        assert_eq!((answer.status, session(&answer).as_str()), (200, "sound/1"), "{}", answer.body);
    }
    let ended = gateway.stopped().unwrap_err();
    assert!(matches!(ended, portcullis_gateway::ServeError::Session(_)), "{ended}");
}

/// All cards are lost: the gateway ends by itself.
#[test]
fn the_last_lost_card_ends_the_gateway() {
    let upstream = birds();
    let mortal = |name| card(name, |_| Box::new(MortalCard::new(5)));
    let gateway = Gateway::over_cards(config(&upstream, ""), vec![mortal("a"), mortal("b")]);
    let (mut whole, since) = (0, Instant::now());
    while gateway.is_serving() {
        assert!(since.elapsed() < Duration::from_secs(60));
        let answer = gateway.try_post_with("/v1/chat/completions", &ask("Go.", false), "");
        whole += u32::from(answer.is_some_and(|answer| answer.status == 200));
    }
    assert!(whole >= 2, "{whole}");
    let ended = gateway.wait().unwrap_err();
    assert!(matches!(ended, portcullis_gateway::ServeError::Session(_)), "{ended}");
}

/// While one card waits for its next session, requests go to the other card without a wait.
#[test]
fn a_card_between_two_sessions_holds_up_no_request() {
    let (tell, told) = mpsc::channel::<()>();
    let told = Mutex::new(told);
    let slow = card("slow", move |session| {
        if session > 1 {
            let _ = told.lock().unwrap().recv_timeout(Duration::from_secs(60));
        }
        Box::new(ModelCard::new())
    });
    let gateway =
        Gateway::over_cards(config(&birds(), "[rotation]\nrecords = 3\n"), vec![slow, card("quick", model_card)]);
    let mut names = Vec::new();
    wait_for("the slow card is between two sessions", || {
        names.push(session(&gateway.post("/v1/chat/completions", &ask("Go.", false))));
        names.iter().filter(|name| *name == "slow/1").count() == 3
    });
    let since = Instant::now();
    for _ in 0..20 {
        assert!(session(&gateway.post("/v1/chat/completions", &ask("Go.", false))).starts_with("quick/"));
    }
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
    wait_for("the quick card makes the gateway ready", || gateway.get("/readyz").status == 200);
    tell.send(()).unwrap();
    wait_for("the slow card is back", || {
        session(&gateway.post("/v1/chat/completions", &ask("Go.", false))) == "slow/2"
    });
    gateway.stop();
}

/// A policy changes while a card opens its session under the old one. That session ends at once, and gets no stream.
#[test]
fn a_session_that_is_being_opened_ends_if_a_change_comes_meanwhile() {
    let (tell, told) = mpsc::channel::<()>();
    let (opens, opened) = mpsc::channel::<()>();
    let told = Mutex::new(told);
    let slow = card("slow", move |session| {
        if session == 1 {
            opens.send(()).unwrap();
            let _ = told.lock().unwrap().recv_timeout(Duration::from_secs(60));
        }
        Box::new(ModelCard::new())
    });
    let gateway = Gateway::over_cards(config(&birds(), ""), vec![slow, card("quick", model_card)]);
    opened.recv_timeout(Duration::from_secs(60)).unwrap();
    gateway.rotation.ask_for_policy_change();
    tell.send(()).unwrap();
    wait_for("the next session of the slow card", || {
        let name = session(&gateway.post("/v1/chat/completions", &ask("Go.", false)));
        assert_ne!(name, "slow/1");
        name == "slow/2"
    });
    gateway.stop();
}

/// The turns of a conversation stay on one card while that has the same session.
#[test]
fn a_conversation_stays_on_its_card() {
    let cards = ["a", "b", "c", "d"].map(|name| card(name, model_card)).into();
    let gateway = Gateway::over_cards(config(&birds(), ""), cards);
    for _ in 0..8 {
        let mut messages = vec![json!({"role": "user", "content": "Go."})];
        let mut sessions = Vec::new();
        for _ in 0..4 {
            let answer = gateway.post("/v1/chat/completions", &json!({"model": "m", "messages": messages}));
            assert_eq!(answer.status, 200, "{}", answer.body);
            sessions.push(session(&answer));
            messages.push(json!({"role": "assistant", "content": said(&answer, "content")}));
            messages.push(json!({"role": "user", "content": "Go on."}));
        }
        assert!(sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
    }
    gateway.stop();
}

/// When every slot of both cards is taken and streams wait, the gateway is not ready. Until then it is, although some
/// streams may already wait for one of the cards. When the streams have ended, it is ready again.
#[test]
fn a_gateway_with_little_credit_is_not_ready() {
    /// Choices of each request: as many as possible, so that few connections fill the slots.
    const CHOICES: usize = 8;
    let is_released = Arc::new(AtomicBool::new(false));
    let released = Arc::clone(&is_released);
    let upstream = Upstream::new(Arc::new(move |_, _: &Value| {
        while !released.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(5));
        }
        let choice = |index| {
            event(&json!({"choices": [{"index": index, "delta": {"content": "Birds sing."}, "finish_reason": "stop"}]}))
        };
        [event_head()]
            .into_iter()
            .chain((0..CHOICES).map(choice))
            .chain([Step::Write(b"data: [DONE]\n\n".to_vec())])
            .collect()
    }));
    let folder = tempfile::tempdir().unwrap();
    let (address, admin) = support::admin(&folder);
    let cards = vec![card("a", model_card), card("b", model_card)];
    let gateway = Gateway::over_cards(config(&upstream, &admin), cards);
    assert_eq!(gateway.get("/readyz").status, 200);
    let slots = MAX_STREAMS as usize;
    let asked = json!({"model": "m", "n": CHOICES, "messages": [{"role": "user", "content": "Go."}]});
    std::thread::scope(|scope| {
        let ask = |count| (0..count).map(|_| scope.spawn(|| gateway.post("/v1/chat/completions", &asked)));
        let mut requests: Vec<_> = ask(slots / CHOICES).collect();
        let begun = format!("\nportcullis_streams {slots}\n");
        wait_for("half of the slots are taken", || metrics(address).contains(&begun));
        assert_eq!(gateway.get("/readyz").status, 200);
        requests.extend(ask(slots / CHOICES + 16));
        wait_for("the gateway is not ready", || gateway.get("/readyz").status == 503);
        is_released.store(true, Ordering::SeqCst);
        let statuses: Vec<_> = requests.into_iter().map(|request| request.join().unwrap().status).collect();
        assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    });
    wait_for("the gateway is ready again", || gateway.get("/readyz").status == 200);
    gateway.stop();
}
