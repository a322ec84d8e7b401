//! Sessions under tickets of an issuer, with a witness.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use crate::support;

use portcullis_audit::replay;
use portcullis_authority::StoreUrl;
use portcullis_authority::ca::CertificateValidity;
use portcullis_authority::keys;
use portcullis_authority::tickets::{IssueRequest, Issuer};
use portcullis_authority::witness::CheckpointWitness;
use portcullis_authority::witness::server::{WitnessServer, WitnessServerLimits};
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardTransport, await_public_key};
use portcullis_evidence::bundle::{self, SnapshotFiles};
use portcullis_evidence::certificate::key_id;
use portcullis_evidence::ticket::{ChainId, SessionTicket};
use portcullis_gate::anchor::AnchorSet;
use portcullis_gate::{GatePolicy, GateSettings, SaltKey, StreamGovernor};
use portcullis_gateway::config::{EvidenceSettings, GatewayConfig, SessionRotation};
use portcullis_gateway::session::{self, Opener, SessionParts};
use portcullis_recorder::{RecorderOptions, TicketFolder, TicketSource};
use portcullis_sim::SimConfig;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Gateway, Upstream, ask, chat, policy, said, text};

/// An issuer, a witness, and the folders of a gateway.
struct Office {
    folder: tempfile::TempDir,
    issuer: Issuer,
    card: [u8; 32],
    policy: Arc<GatePolicy>,
    witness: Option<WitnessServer>,
}

fn card() -> Box<dyn CardTransport> {
    Box::new(SimCard::new(SimConfig::default()).unwrap())
}

impl Office {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = keys::generate(&folder.path().join("issuer.key")).unwrap();
        let believed = vec![key.verifying_key()];
        let issuer = Issuer::open(&StoreUrl::File(folder.path().join("issuer.db")), key, "registrar.example").unwrap();
        let key = keys::generate(&folder.path().join("witness.key")).unwrap();
        let store = folder.path().join("witness.db");
        let witness = CheckpointWitness::open(&store, key, "witness.example/w1", believed).unwrap();
        std::fs::write(folder.path().join("witness.pub"), witness.public().to_string()).unwrap();
        let witness = Some(WitnessServer::start(Arc::new(witness), 0, WitnessServerLimits::default()).unwrap());
        std::fs::create_dir(folder.path().join("tickets")).unwrap();
        let card = await_public_key(card().as_mut()).unwrap();
        Self { folder, issuer, card, policy: policy("stop"), witness }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Issues the card's next ticket and puts it into the folder.
    fn issue(&mut self, name: &str) {
        self.issue_until(name, 1 << 40);
    }

    /// As [`Office::issue`], valid until this Unix second.
    fn issue_until(&mut self, name: &str, not_after: u64) {
        let request = IssueRequest {
            chain: ChainId { key: key_id(&self.card), seat: 0 },
            policy: self.policy.compiled.image.digest(),
            contexts: Default::default(),
            profiles: Default::default(),
            text_lane: false,
            heartbeat_records: 50,
            heartbeat_ticks: 0,
            window: CertificateValidity { not_before: 0, not_after },
        };
        let ticket = self.issuer.issue(&request).unwrap();
        // The file is written under another name first, so that a reader never finds a partial ticket.
        std::fs::write(self.path("new"), ticket).unwrap();
        std::fs::rename(self.path("new"), self.path("tickets").join(name)).unwrap();
    }

    /// Reports to the issuer how a session began and ended.
    fn settle(&mut self, session: &str) {
        let folder = self.path(session).join("checkpoints");
        let mut checkpoints: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        checkpoints.sort();
        let read = |path: &PathBuf| std::fs::read(path).unwrap();
        self.issuer.redeem(&read(checkpoints.first().unwrap()), &self.card).unwrap();
        self.issuer.close(&read(checkpoints.last().unwrap()), &self.card).unwrap();
    }

    fn opener(&self, within: Duration) -> Opener {
        let (policy, tickets, key) = (Arc::clone(&self.policy), self.path("tickets"), self.path("witness.pub"));
        let (folder, address) = (self.folder.path().to_owned(), self.witness.as_ref().unwrap().address());
        let mut sessions = 0;
        Box::new(move |salt: SaltKey| {
            sessions += 1;
            let name = format!("session-{sessions}");
            let mut card = card();
            let tickets = TicketFolder {
                path: tickets.clone(),
                within,
                lasting: session::needed_validity(&SessionRotation { drain_ms: 10_000, ..SessionRotation::default() }),
                stop: Arc::default(),
            };
            let options = RecorderOptions {
                folder: folder.join(&name),
                ticket: TicketSource::Folder(tickets),
                approval: None,
                device_cert: None,
                device_chain: None,
                witness: Some((address, key.clone())),
                profile: portcullis_core::state::AgentProfile::default(),
                checkpoint_interval: None,
                texts: Default::default(),
            };
            let anchors = AnchorSet::new(Vec::new(), &policy.mapper);
            let (recorder, config) = options.start(card.as_mut(), &policy.package, &policy.compiled, &anchors)?;
            let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), GateSettings::new(salt)).unwrap());
            Ok(SessionParts { card, config, recorder: Some(recorder), name, governors: vec![governor] })
        })
    }
}

fn config(upstream: &Upstream, records: u32) -> GatewayConfig {
    let config = format!(
        "listen = \"127.0.0.1:0\"\npolicy = \"unused\"\n[rotation]\nrecords = {records}\ndrain_ms = 10000\n\
         [[model]]\nname = \"m\"\nupstream = \"http://{}/v1\"\n",
        upstream.address
    );
    GatewayConfig::parse(&config).unwrap()
}

fn echo() -> Upstream {
    Upstream::new(Arc::new(|_, body: &Value| {
        let asked = body["messages"][0]["content"].as_str().unwrap().to_owned();
        chat(asked.split_inclusive(' ').map(text), "stop")
    }))
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(90), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The ticket of a bundle, its number of checkpoints, and how many of them the witness saw.
fn held(session: &Path) -> (SessionTicket, usize, usize) {
    let count = |folder: &str| std::fs::read_dir(session.join(folder)).map_or(0, Iterator::count);
    let ticket = SessionTicket::parse(&std::fs::read(session.join("ticket.cose")).unwrap()).unwrap().content;
    let files = bundle::at(session).unwrap();
    let report = replay(&SnapshotFiles::new(&*files), None, &mut || ()).unwrap();
    assert_eq!((report.replayed, report.reasons.len()), (report.streams, 0), "{:?}", report.reasons);
    (ticket, count("checkpoints"), count("witness"))
}

/// Each session uses the next ticket. Without a ticket, requests wait and none is lost. If no ticket arrives in
/// time, the gateway ends with that reason.
#[test]
fn each_session_has_the_next_ticket() {
    let (mut office, upstream) = (Office::new(), echo());
    office.issue("1.ticket");
    std::fs::write(office.path("tickets").join("0.note"), "no ticket").unwrap();
    let gateway = Gateway::over(config(&upstream, 3), office.opener(Duration::from_secs(60)));
    let answer = gateway.post("/v1/chat/completions", &ask("Birds sing. Ships sail. Bells ring.", true));
    assert_eq!(said(&answer, "content"), "Birds sing. Ships sail. Bells ring.", "{}", answer.body);
    let first = office.path("session-1");
    wait_for("the first bundle is finished", || first.join("manifest.json").exists());
    assert_eq!(gateway.get("/readyz").status, 503, "there is no ticket yet");
    assert!(office.path("tickets/1.ticket.used").exists());
    office.settle("session-1");
    office.issue("2.ticket");
    let answer = gateway.post("/v1/chat/completions", &ask("Winds blow.", true));
    assert_eq!(said(&answer, "content"), "Winds blow.", "{}", answer.body);
    assert_eq!(answer.provenance()["session"], "session-2");
    gateway.stop();
    let (one, two) = (held(&first), held(&office.path("session-2")));
    assert_eq!((one.0.serial, two.0.serial), (1, 2));
    assert_eq!(one.0.issuer, "registrar.example");
    assert_ne!(two.0.previous_close, [0; 32], "the second follows the first");
    for (_, checkpoints, notes) in [one, two] {
        assert_eq!(checkpoints, notes, "the witness saw every checkpoint");
    }
    // A ticket is for one session only, so a gateway without a new ticket ends.
    office.settle("session-2");
    std::fs::remove_dir_all(office.path("session-1")).unwrap();
    let mut sessions = session::GatewaySessions::new(
        vec![office.opener(Duration::from_millis(300))],
        &SessionRotation::default(),
        &EvidenceSettings::default(),
    );
    let since = Instant::now();
    sessions.start().unwrap();
    let states = sessions.states();
    wait_for("the sessions end", || states.borrow().is_over());
    let why = sessions.stop(Duration::from_millis(100)).unwrap_err();
    assert!(why.to_string().contains("no ticket for this policy"), "{why}");
    assert!(since.elapsed() < Duration::from_secs(20));
}

/// A session without traffic is over before its ticket ends, so that the witness sees its end in time.
#[test]
fn a_session_ends_before_its_ticket() {
    let (mut office, upstream) = (Office::new(), echo());
    // The configuration gives open streams 10 s, and a session has to be over ten minutes before.
    let soon = |more: u64| std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() + 610 + more;
    office.issue_until("1.ticket", soon(15));
    let gateway = Gateway::over(config(&upstream, 1_000_000), office.opener(Duration::from_secs(60)));
    let first = office.path("session-1");
    wait_for("the first bundle is finished", || first.join("manifest.json").exists());
    office.settle("session-1");
    let (ticket, checkpoints, notes) = held(&first);
    assert_eq!(checkpoints, notes);
    assert!(ticket.not_after > soon(0) - 610, "the session outlived its ticket");
    // With a ticket that ends too soon, no session begins: it could not be finished in time.
    office.issue_until("2.ticket", soon(0));
    let why = gateway.wait().unwrap_err().to_string();
    assert!(why.contains("ticket 2 ends in") && why.contains("ticket abandon --serial 2"), "{why}");
    assert!(!office.path("session-2").exists(), "an empty bundle is left");
    assert!(office.path("tickets/2.ticket").exists(), "the ticket was used");
}

/// The witness becomes unreachable: no text is sent without its record, and the session ends with a reason.
#[test]
fn a_witness_that_is_gone_ends_the_session() {
    let (mut office, upstream) = (Office::new(), echo());
    office.issue("1.ticket");
    let gateway = Gateway::over(config(&upstream, 1_000_000), office.opener(Duration::from_secs(10)));
    let answer = gateway.post("/v1/chat/completions", &ask("Birds sing.", true));
    assert_eq!(said(&answer, "content"), "Birds sing.");
    drop(office.witness.take());
    let (since, mut texts) = (Instant::now(), Vec::new());
    let last = loop {
        assert!(since.elapsed() < Duration::from_secs(90), "the session outlives its witness");
        let number = texts.len();
        let answer =
            gateway.post("/v1/chat/completions", &ask(&format!("Bird {number} sings. Ship {number} sails."), true));
        texts.push(said(&answer, "content"));
        if answer.status != 200 || !answer.body.contains("\"stop\"") {
            break answer;
        }
    };
    let is_stated = last.body.contains("gate_failed") || last.status == 503 || last.status == 500;
    assert!(is_stated, "{}: {}", last.status, last.body);
    let why = gateway.wait().unwrap_err();
    assert!(matches!(why, portcullis_gateway::ServeError::Session(_)), "{why}");
    // All released text is in the bundle.
    let spans = std::fs::read_to_string(office.path("session-1").join("spans.jsonl")).unwrap();
    for text in texts.iter().flat_map(|text| text.split_inclusive(". ")).filter(|text| !text.trim().is_empty()) {
        assert!(spans.contains(text.trim()), "{text}");
    }
}
