//! Kills a recorder's process, and checks that its bundle can be completed, that nothing is contradicted, and that
//! every released text has its record.
//!
//! The session runs on a software card, so that many processes can be killed: 1,000 with `PORTCULLIS_LONG=1`, otherwise
//! 100.

use crate::SessionRecorder;
use crate::sink::Parties;
use crate::texts::OpeningSink;
use portcullis_authority::ca::{self, CertificateValidity, DeviceCertificateContent};
use portcullis_authority::tickets::{IssueRequest, self_issued};
use portcullis_card::driver::{CardSignedCheckpoint, RecordSink};
use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, OnRefuse, ReleaseMode, StreamMode};
use portcullis_core::hex::{self, HexBytes};
use portcullis_core::state::{AgentProfile, StreamTask};
use portcullis_core::wire::{
    Determination, EnumerationColumn, Granularity, IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, MAP_DIGEST, RangeColumn,
    Row, RowKind, SessionFields, key_flags,
};
use portcullis_evidence::bundle::{self, DirectoryFiles, FinishError, finish};
use portcullis_evidence::certificate::{CardKeyClass, key_id};
use portcullis_evidence::cose;
use portcullis_evidence::sim::log::{TestCardIdentity, TestCardLog};
use portcullis_evidence::sim::signer::SoftKey;
use portcullis_evidence::sim::{derive, secret};
use portcullis_evidence::ticket::{ChainId, SessionTicket};
use portcullis_evidence::verify::{Code, TrustedParties, VerifyOptions, verify};
use portcullis_gate::{StreamEvent, StreamEventKind};
use portcullis_test_support::random::Random;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use zerocopy::IntoBytes;

/// Environment variable of the process to kill: its folder and number of lanes.
const FOLDER: &str = "PORTCULLIS_KILLED_FOLDER";
const LANES: &str = "PORTCULLIS_KILLED_LANES";
const DESIGN: [u8; 16] = [0x80; 16];

fn image() -> Vec<u8> {
    let mut header = ImageHeader {
        magic: IMAGE_MAGIC.into(),
        version: LAYOUT_VERSION,
        max_depth: 3,
        policy_rows: 1.into(),
        entropy_rows: 1.into(),
        map_digest: MAP_DIGEST,
        package_digest: [7; 32],
        ..ImageHeader::ZERO
    };
    let mut row = Row { kind: RowKind::Permit.into(), ..Row::ZERO };
    for column in EnumerationColumn::ALL {
        column.set_declared(&mut header, 1);
        column.set_allowed(&mut row, column.declared(&header));
    }
    RangeColumn::ALL.iter().for_each(|column| column.set_range(&mut row, column.wire_limits()));
    [header.as_bytes(), row.as_bytes(), row.as_bytes()].concat()
}

fn context(id: &str, mode: StreamMode) -> ContextDocument {
    ContextDocument {
        version: CONTEXT_VERSION,
        mode,
        granularity: Granularity::Span,
        on_refuse: OnRefuse::Skip,
        release: ReleaseMode::Span,
        max_proposals: 10,
        policy: "test 1.0.0".to_owned(),
        package_digest: HexBytes([7; 32]),
        profile: AgentProfile::default(),
        profile_digest: AgentProfile::default().digest(),
        task: StreamTask::default(),
        anchor_digests: Vec::new(),
        predecessor: None,
        id: id.to_owned(),
    }
}

/// A software card, with the recorder of its session.
struct KilledRecording {
    key: SoftKey,
    log: TestCardLog,
    recorder: SessionRecorder,
    sink: Box<dyn RecordSink>,
    /// Number of records per lane, and of checkpoints, that were passed to the sink.
    given: (Vec<usize>, usize),
}

impl KilledRecording {
    fn open(folder: &Path, lanes: u8) -> Self {
        let key = SoftKey::new(&derive(&secret(), &DESIGN));
        let device = DeviceCertificateContent {
            public_key: key.public_key(),
            design_id: DESIGN,
            class: CardKeyClass::Sim,
            supervised: false,
            subject: "CN=Simulated card".into(),
            window: ca::SIMULATION,
        };
        let request = IssueRequest {
            chain: ChainId { key: key_id(&key.public_key()), seat: 0 },
            policy: Sha256::digest(image()).into(),
            contexts: Default::default(),
            profiles: Default::default(),
            text_lane: false,
            heartbeat_records: 0,
            heartbeat_ticks: 0,
            window: CertificateValidity { not_before: 1, not_after: 2 },
        };
        let ticket = self_issued(&request).unwrap();
        let files = [
            (bundle::TICKET, ticket.clone()),
            (bundle::CERTIFICATE, ca::simulation().unwrap().certify(&device).unwrap().into_bytes()),
            (bundle::CHAIN, Vec::new()),
            (bundle::IMAGE, image()),
        ];
        let files = files.map(|(name, content)| (name.to_owned(), content));
        let (recorder, sink) =
            SessionRecorder::create(folder, &files, lanes, 1, Parties::default(), OpeningSink::Bundle).unwrap();
        let session = SessionFields {
            policy_digest: request.policy,
            package_digest: [7; 32],
            ticket_digest: SessionTicket::parse(&ticket).unwrap().digest,
            ..SessionFields::ZERO
        };
        let flags = (key_flags::SIM | key_flags::NO_TRNG) as u8;
        let identity = TestCardIdentity { design_id: DESIGN, key_flags: flags, boot_nonce: [3; 16], epoch: 77 };
        let log = TestCardLog::open(identity, session, lanes);
        let mut run = Self { key, log, recorder, sink, given: (vec![0; lanes.into()], 0) };
        run.hand_over();
        run
    }

    /// Passes the card's new output to the sink: checkpoints before records, since a real card may use this order.
    fn hand_over(&mut self) {
        for (at, checkpoint) in self.log.checkpoints.iter().enumerate().skip(self.given.1) {
            let message = self.key.sign(checkpoint).unwrap();
            let (_, signature) = cose::decode(&message).unwrap();
            let signature = signature.as_slice().into();
            let heads = self.log.heads[at].clone();
            self.sink.checkpoint(&CardSignedCheckpoint { checkpoint: *checkpoint, signature, heads }).unwrap();
        }
        self.given.1 = self.log.checkpoints.len();
        for (lane, given) in self.log.lanes.iter().zip(&mut self.given.0) {
            lane[*given..].iter().for_each(|record| self.sink.record(record).unwrap());
            *given = lane.len();
        }
    }

    /// Lane and index of the slot's last record.
    fn last(&self, slot: u16) -> (usize, u64) {
        let lane = self.log.lane_of(slot);
        (lane, self.log.lanes[lane].len() as u64 - 1)
    }

    fn tell(&mut self, stream: u64, what: StreamEventKind) {
        self.hand_over();
        self.recorder.event(&StreamEvent { stream, what }).unwrap();
    }

    /// Runs a stream with this many spans. Every second stream is driven.
    fn stream(&mut self, number: u64, slot: u16, spans: u32) {
        let (id, mode) =
            (format!("s{number}"), if number.is_multiple_of(2) { StreamMode::Driven } else { StreamMode::Recorded });
        let context = context(&id, mode);
        self.log.begin(slot, context.digest());
        let (lane, index) = self.last(slot);
        let text = (mode == StreamMode::Recorded).then(|| "given ".repeat(40));
        let (lane, log_index) = (lane as u8, Some(index));
        let context = Box::new(context);
        self.tell(number, StreamEventKind::Begun { id: id.clone(), context, text, supplied: None, lane, log_index });
        for seq in 1..=spans {
            let text = format!("Span {seq} of stream {number} is here.");
            let salt: [u8; 16] = Sha256::digest(&text)[..16].try_into().unwrap();
            self.log.gate(slot, seq, commitment(SpanKind::Text, &salt, &[text.as_bytes()]), Determination::Admit);
            self.log.describe(slot, text.len() as u16, false);
            let (lane, index) = self.last(slot);
            let judged = json!({
                "determination": {"id": id, "stream": number, "seq": seq, "parent": null, "depth": 0, "start": 0, "end": text.len(),
                    "category": "assertion", "determination": "admit", "stage": null, "rule": null, "reason": null, "fault": null},
                "inert": "", "text": text, "salt": hex::encode(&salt), "descriptor": "", "fields": [], "distance": 1, "slope": 1,
                "tick": 1, "log_index": index,
            });
            self.tell(number, StreamEventKind::Determined(serde_json::from_value(judged).unwrap()));
            self.tell(number, StreamEventKind::Released { seqs: vec![seq], text, calls: Vec::new() });
            // From this point a reader may have the text.
            println!("released {lane} {index}");
        }
        self.log.end(slot, spans + 1, commitment(SpanKind::Text, &[1; 16], &[]));
        let (_, index) = self.last(slot);
        let summary = json!({"mode": mode, "mutations": spans, "admitted": spans, "rejected": 0, "decomposed": 0, "deferred": 0,
            "rolled_back": 0, "faults": 0, "bytes": 0, "bytes_admitted": 0, "trust_slope": 0, "stopped": null});
        let closing = json!({"seq": spans + 1, "inert": "", "salt": hex::encode(&[1; 16]), "log_index": index});
        let closing = serde_json::from_value(closing).unwrap();
        self.tell(
            number,
            StreamEventKind::Ended { id, summary: serde_json::from_value(summary).unwrap(), closing, state: None },
        );
    }
}

/// Runs one test at a time: a starting child process inherits the locks of open files until its exec.
static ALONE: Mutex<()> = Mutex::new(());

/// The process that the tests kill. It does nothing unless a test started it.
#[test]
fn a_session_without_end() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let lanes = std::env::var(LANES).unwrap().parse().unwrap();
    let mut run = KilledRecording::open(Path::new(&folder), lanes);
    for number in 0.. {
        run.stream(number, (number % 8) as u16, (number % 5) as u32 + 1);
        if number.is_multiple_of(3) {
            run.log.checkpoint();
            run.hand_over();
        }
        std::io::stdout().flush().unwrap();
    }
}

/// Kills a session with this many lanes after this time; returns the released texts.
fn kill(folder: &Path, lanes: u8, after: Duration) -> BTreeSet<(u8, u64)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["killed::a_session_without_end", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .env(LANES, lanes.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    // The time starts at the first release.
    let mut first = String::new();
    while !first.contains("released") && said.read_line(&mut first).unwrap() > 0 {}
    std::thread::sleep(after);
    assert!(child.try_wait().unwrap().is_none(), "the session ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    said.read_to_string(&mut first).unwrap();
    let numbers = |line: &str| -> Option<(u8, u64)> {
        let (lane, index) = line.split_once("released ")?.1.split_once(' ')?;
        Some((lane.parse().ok()?, index.parse().ok()?))
    };
    first.split_inclusive('\n').filter_map(|line| numbers(line.strip_suffix('\n')?)).collect()
}

fn receipts(folder: &Path, lanes: u8) -> BTreeSet<(u8, u64)> {
    let lines = |lane| std::fs::read_to_string(folder.join(bundle::in_lane(bundle::RECEIPTS, lane))).unwrap();
    let index = |line: &str| serde_json::from_str::<bundle::Receipt>(line).unwrap().index;
    (0..lanes).flat_map(|lane| lines(lane).lines().map(|line| (lane, index(line))).collect::<Vec<_>>()).collect()
}

#[test]
fn a_killed_session_is_completed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if std::env::var_os(FOLDER).is_some() {
        return;
    }
    let kills = if std::env::var_os("PORTCULLIS_LONG").is_some() { 1000 } else { 100 };
    let mut trust = TrustedParties::default();
    trust.roots.add_sim_root(ca::simulation().unwrap().certificate_pem().unwrap().as_bytes()).unwrap();
    let scene = tempfile::tempdir().unwrap();
    let mut random = Random::new(1);
    for number in 0..kills {
        let (folder, lanes): (PathBuf, u8) = (scene.path().join(number.to_string()), [1, 2, 4][number % 3]);
        let released = kill(&folder, lanes, Duration::from_micros(random.bits() >> 44) / 20);
        let done = finish(&folder, false).unwrap_or_else(|error| panic!("{number}: {error}"));
        assert!(done.checkpoints > 0 && !done.already, "{done:?}");
        let options = VerifyOptions { allow_sim: true, allow_not_enforced: true, at: None };
        let report = verify(&DirectoryFiles::new(&folder), &trust, options, &mut |_| ()).unwrap();
        assert_eq!(report.exit_code, 10, "{number}: {:#?}", report.properties);
        assert!(report.properties.complete.reasons.iter().any(|reason| reason.code == Code::NotClosed));
        let kept = receipts(&folder, lanes);
        assert!(
            !released.is_empty() && released.is_subset(&kept),
            "{number}: {:?} have no receipt",
            released.difference(&kept)
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// A recorder that is killed before the first checkpoint leaves no evidence, and `bundle finish` reports that.
#[test]
fn nothing_signed_is_nothing_to_complete() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let scene = tempfile::tempdir().unwrap();
    let folder = scene.path().join("b");
    let files = [bundle::TICKET, bundle::CERTIFICATE, bundle::CHAIN, bundle::IMAGE].map(|n| (n.to_owned(), Vec::new()));
    drop(SessionRecorder::create(&folder, &files, 1, 1, Parties::default(), OpeningSink::Bundle).unwrap());
    assert!(matches!(finish(&folder, false), Err(FinishError::NothingSigned(_))));
    // A recorder that ends normally without a checkpoint removes its folder.
    let other = scene.path().join("c");
    let (recorder, sink) =
        SessionRecorder::create(&other, &files, 1, 1, Parties::default(), OpeningSink::Bundle).unwrap();
    drop(sink);
    assert_eq!(recorder.finish().unwrap(), None);
    assert!(!other.exists());
}
