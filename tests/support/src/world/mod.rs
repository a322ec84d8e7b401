//! A card, an issuer and a witness in software; their sessions with an honest operator, and forgeries by a hostile
//! operator.

mod independent;
pub mod lies;
mod public_log;

pub use independent::write;
pub use public_log::{LogEvent, log_policy, write_log};

use ed25519_dalek::SigningKey;
use portcullis_authority::ca::{CertificateAuthority, CertificateValidity, DeviceCertificateContent};
use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_core::context::{CONTEXT_VERSION, ContextDocument, OnRefuse, ReleaseMode, StreamMode};
use portcullis_core::hex::HexBytes;
use portcullis_core::state::{AgentProfile, StreamTask};
use portcullis_core::wire::{
    self, Determination, EnumerationColumn, Fault, Granularity, IMAGE_MAGIC, ImageHeader, ImageText, LAYOUT_VERSION,
    MAP_DIGEST, RangeColumn, Row, RowKind, SessionFields, features, image_parts, key_flags,
};
use portcullis_evidence::bundle::{self, BundleManifest, MemoryFiles};
use portcullis_evidence::certificate::{CardKeyClass, TrustStore, key_id};
use portcullis_evidence::checkpoint::root_of_heads;
use portcullis_evidence::cose;
use portcullis_evidence::hex;
use portcullis_evidence::note::{LogTreeHead, WitnessEntry, WitnessKey, WitnessProof, cosign};
use portcullis_evidence::sim::log::{TestCardIdentity, TestCardLog, heads};
use portcullis_evidence::sim::signer::SoftKey;
use portcullis_evidence::sim::{self, derive};
use portcullis_evidence::ticket::SessionTicket;
use portcullis_evidence::tree::{self, MerkleProver};
use portcullis_evidence::verify::{TrustedKey, TrustedParties, VerifyOptions, VerifyReport, verify};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use zerocopy::IntoBytes;

/// Unix second at which all validity periods begin.
pub const START: u64 = 1_790_000_000;
pub const END: u64 = START + 1_000_000;
/// Number of texts in the honest session: stream 1 has two admitted spans and a split one, stream 2 a refused one.
pub const SPANS: usize = 7;

/// The key of the person who signs withholding statements.
pub fn clerk() -> SigningKey {
    SigningKey::from_bytes(&[0x57; 32])
}

pub fn sha(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A card with its key. Signatures are cached, so that equal checkpoints are signed once.
pub struct Card {
    pub key: SoftKey,
    pub design_id: [u8; 16],
    pub flags: u16,
    pub class: CardKeyClass,
    signatures: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
    grafted: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
}

/// The start of every span that is a tool call.
const CALL: &str = r#"{"arguments":"#;

impl Card {
    pub fn new(secret: &[u8], design_id: [u8; 16], class: CardKeyClass) -> Rc<Self> {
        let flags = match class {
            CardKeyClass::Sim => key_flags::SIM | key_flags::NO_TRNG,
            CardKeyClass::Class => key_flags::CLASS_KEY | key_flags::NO_TRNG,
            CardKeyClass::Device => 0,
        };
        let key = SoftKey::new(&derive(&sha(secret), &design_id));
        Rc::new(Self { key, design_id, flags, class, signatures: RefCell::default(), grafted: RefCell::default() })
    }

    /// The world's card with other key flags.
    pub fn flagged(flags: u16) -> Rc<Self> {
        let card = Rc::into_inner(Self::new(b"one card", [0x11; 16], CardKeyClass::Device)).unwrap();
        Rc::new(Self { flags, ..card })
    }

    /// A card with this card's key and another design id.
    pub fn renamed(self: Rc<Self>, design_id: [u8; 16]) -> Rc<Self> {
        Rc::new(Self { design_id, ..Rc::into_inner(self).unwrap() })
    }

    pub fn simulated() -> Rc<Self> {
        let mut design_id = [0x5a; 16];
        design_id[0] |= 0x80;
        Self::new(sim::SECRET_TEXT, design_id, CardKeyClass::Sim)
    }

    pub fn identity(&self) -> TestCardIdentity {
        TestCardIdentity { design_id: self.design_id, key_flags: self.flags as u8, boot_nonce: [3; 16], epoch: 77 }
    }

    pub fn sign(&self, checkpoint: &wire::Checkpoint) -> Vec<u8> {
        let mut kept = self.signatures.borrow_mut();
        let bytes = checkpoint.as_bytes().to_vec();
        if let Some(message) = self.grafted.borrow().get(&bytes) {
            return message.clone();
        }
        // A long test run makes any number of signatures, so the cache is limited.
        if kept.len() > 1000 {
            kept.clear();
        }
        kept.entry(bytes).or_insert_with(|| self.key.sign(checkpoint).unwrap()).clone()
    }

    /// For each pair, the first checkpoint will get the signature that this card has made over the second.
    pub fn graft<'a>(&self, pairs: impl Iterator<Item = (&'a wire::Checkpoint, &'a wire::Checkpoint)>) {
        let message = |(changed, signed): (&wire::Checkpoint, &wire::Checkpoint)| {
            let message = self.sign(signed);
            let (_, signature) = cose::decode(&message).unwrap();
            let bytes = changed.as_bytes();
            (bytes.to_vec(), cose::encode(bytes.try_into().unwrap(), signature))
        };
        let grafted = pairs.map(message).collect();
        *self.grafted.borrow_mut() = grafted;
    }
}

pub struct World {
    pub root: CertificateAuthority,
    pub sim_root: CertificateAuthority,
    pub subordinate: CertificateAuthority,
    pub issuer: SigningKey,
    pub approver: SigningKey,
    pub witness: SigningKey,
    pub card: Rc<Card>,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    pub fn new() -> Self {
        let window = || CertificateValidity { not_before: START - 1000, not_after: END + 1000 };
        let authority = |seed, simulated| {
            CertificateAuthority::root(SigningKey::from_bytes(&[seed; 32]), "CN=Test root", window(), simulated)
                .unwrap()
        };
        let root = authority(1, false);
        let subordinate = root.subordinate(SigningKey::from_bytes(&[5; 32]), "CN=Test issuing", window()).unwrap();
        Self {
            root,
            subordinate,
            sim_root: authority(2, true),
            issuer: SigningKey::from_bytes(&[3; 32]),
            approver: SigningKey::from_bytes(&[6; 32]),
            witness: SigningKey::from_bytes(&[4; 32]),
            card: Card::new(b"one card", [0x11; 16], CardKeyClass::Device),
        }
    }

    pub fn store(&self, sim: bool) -> TrustStore {
        let mut store = TrustStore::default();
        store.add_root(self.root.certificate_pem().unwrap().as_bytes()).unwrap();
        if sim {
            store.add_sim_root(self.sim_root.certificate_pem().unwrap().as_bytes()).unwrap();
        }
        store
    }

    pub fn trust(&self, sim: bool) -> TrustedParties {
        TrustedParties {
            log_policy: None,
            roots: self.store(sim),
            issuers: vec![TrustedKey { file: "issuers/registrar.pub".to_owned(), key: self.issuer.verifying_key() }],
            approvers: vec![TrustedKey { file: "approvers/board.pub".to_owned(), key: self.approver.verifying_key() }],
            withholders: vec![TrustedKey { file: "withholders/clerk.pub".to_owned(), key: clerk().verifying_key() }],
            witnesses: vec![WitnessKey::new("witness.example/1", self.witness.verifying_key()).unwrap()],
            files: Vec::new(),
        }
    }

    pub fn check(&self, files: &MemoryFiles) -> VerifyReport {
        let report = verify(files, &self.trust(false), VerifyOptions::default(), &mut |_| ()).unwrap();
        independent::compare(self, files, &report, false);
        report
    }

    /// As [`World::check`], with this content of `revoked.txt` in the trust folder.
    pub fn check_revoked(&self, files: &MemoryFiles, revoked: &str) -> VerifyReport {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &self.trust(false), self, files);
        std::fs::write(folder.path().join("trust/revoked.txt"), revoked).unwrap();
        let trust = TrustedParties::load(&folder.path().join("trust"), false).unwrap();
        let report = verify(files, &trust, VerifyOptions::default(), &mut |_| ()).unwrap();
        independent::compare_folder(folder.path(), &report, false);
        report
    }

    pub fn check_sim(&self, files: &MemoryFiles) -> VerifyReport {
        let report = verify(
            files,
            &self.trust(true),
            VerifyOptions { allow_sim: true, ..VerifyOptions::default() },
            &mut |_| (),
        )
        .unwrap();
        independent::compare(self, files, &report, true);
        report
    }

    pub fn certificate(&self, card: &Card) -> String {
        let authority = if card.class == CardKeyClass::Sim { &self.sim_root } else { &self.subordinate };
        certificate(authority, card)
    }

    pub fn chain(&self, card: &Card) -> String {
        if card.class == CardKeyClass::Sim { String::new() } else { self.subordinate.certificate_pem().unwrap() }
    }

    /// The honest session 1 of the card.
    pub fn honest(&self) -> Parts {
        self.session(&self.card, 1, [0; 32])
    }

    /// The honest session 1 on a card with several lanes. Slots 0 and 1 have the streams of [`Self::honest`]; each
    /// other lane has one further stream.
    pub fn honest_in(&self, lanes: u8) -> Parts {
        let mut parts = self.honest();
        parts.count = lanes;
        parts.play();
        parts
    }

    /// The honest session `serial` of a card.
    pub fn session(&self, card: &Rc<Card>, serial: u64, previous_close: [u8; 32]) -> Parts {
        let package = BTreeMap::from([
            ("policy.toml".to_owned(), b"[package]\nname = \"test\"\n".to_vec()),
            ("prelude.cedar".to_owned(), b"// prelude\n".to_vec()),
            ("rules.cedar".to_owned(), b"permit (principal, action, resource);\n".to_vec()),
        ]);
        let image = image(&package);
        let contexts: Vec<Vec<u8>> = ["a", "b"].iter().map(|id| context(id, &package)).collect();
        let ticket = SessionTicket {
            serial,
            nonce: [9; 16],
            key: key_id(&card.key.public_key()),
            policy: sha(&image),
            contexts: contexts.iter().map(|context| sha(context)).collect(),
            heartbeat_records: 8,
            heartbeat_ticks: 2,
            previous_close,
            not_before: START,
            not_after: END,
            issuer: "registrar.example".to_owned(),
            seat: 0,
            profiles: [AgentProfile::default().digest().0].into(),
            text_lane: false,
        };
        let mut parts = Parts {
            certificate: self.certificate(card),
            chain: self.chain(card),
            log: TestCardLog::open(card.identity(), SessionFields::ZERO, 1),
            card: Rc::clone(card),
            count: 1,
            signer: Rc::clone(card),
            ticket,
            issuer: self.issuer.clone(),
            witness: self.witness.clone(),
            witnessed: true,
            witness_log: Vec::new(),
            forked_note: None,
            witness_time: START,
            witness_step: 100,
            package,
            image,
            contexts: contexts.into_iter().map(|context| (sha(&context), context)).collect(),
            anchors: BTreeMap::from([(sha(b"anchors"), b"anchors".to_vec())]),
            spans: Vec::new(),
            streams: Vec::new(),
            receipts: Vec::new(),
            inputs: None,
        };
        parts.play();
        parts
    }
}

pub fn certificate(authority: &CertificateAuthority, card: &Card) -> String {
    let window = CertificateValidity { not_before: START - 500, not_after: END + 500 };
    let device = DeviceCertificateContent {
        public_key: card.key.public_key(),
        design_id: card.design_id,
        class: card.class,
        supervised: false,
        subject: "CN=Gate 17,O=Example".to_owned(),
        window,
    };
    authority.certify(&device).unwrap()
}

pub fn package_digest(package: &BTreeMap<String, Vec<u8>>) -> [u8; 32] {
    let mut listing = format!("portcullis package 1, mapping {}\n", portcullis_core::manifest::MAPPING_VERSION);
    for (path, bytes) in package {
        listing.push_str(&format!("{}  {}  {path}\n", hex::encode(&sha(bytes)), bytes.len()));
    }
    sha(listing.as_bytes())
}

pub fn image(package: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let header = header(package);
    let row = permit(&header);
    [header.as_bytes(), row.as_bytes(), row.as_bytes()].concat()
}

/// A header that declares one value of each enumeration, and every class.
fn header(package: &BTreeMap<String, Vec<u8>>) -> ImageHeader {
    let mut header = ImageHeader {
        magic: IMAGE_MAGIC.into(),
        version: LAYOUT_VERSION,
        max_depth: 3,
        policy_rows: 1.into(),
        entropy_rows: 1.into(),
        classes: u128::MAX.into(),
        map_digest: MAP_DIGEST,
        package_digest: package_digest(package),
        ..ImageHeader::ZERO
    };
    EnumerationColumn::ALL.iter().for_each(|column| column.set_declared(&mut header, 1));
    header
}

/// A row that permits every entry of an image with this header.
fn permit(header: &ImageHeader) -> Row {
    let mut row = Row { kind: RowKind::Permit.into(), ..Row::ZERO };
    EnumerationColumn::ALL.iter().for_each(|column| column.set_allowed(&mut row, column.declared(header)));
    RangeColumn::ALL.iter().for_each(|column| column.set_range(&mut row, column.wire_limits()));
    row
}

/// The image for cards with a text lane; `opening` are the classes that open a gate.
pub fn text_image(package: &BTreeMap<String, Vec<u8>>, opening: u128) -> Vec<u8> {
    let mut image = image(package);
    image[7] = image_parts::TEXT as u8;
    let (all, any) = if opening.count_ones() == 1 { (opening, 0) } else { (0, opening) };
    let row = Row { classes_all: all.into(), classes_any: any.into(), ..permit(&header(package)) };
    let text = ImageText { digest: [5; 32], opening: opening.into(), bytes: 100.into(), ..ImageText::ZERO };
    image.splice(ImageHeader::BYTES..ImageHeader::BYTES + Row::BYTES, [text.as_bytes(), row.as_bytes()].concat());
    image
}

pub fn context(id: &str, package: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    document(id, package).bytes()
}

/// The context document of stream `id`. The stream `a` is driven, all others are recorded.
pub fn document(id: &str, package: &BTreeMap<String, Vec<u8>>) -> ContextDocument {
    ContextDocument {
        version: CONTEXT_VERSION,
        mode: if id.starts_with('a') { StreamMode::Driven } else { StreamMode::Held },
        granularity: Granularity::Span,
        on_refuse: OnRefuse::Skip,
        release: ReleaseMode::Span,
        max_proposals: 10,
        policy: "test 1.0.0".to_owned(),
        package_digest: HexBytes(package_digest(package)),
        profile: AgentProfile::default(),
        profile_digest: AgentProfile::default().digest(),
        task: StreamTask::default(),
        anchor_digests: vec![HexBytes(sha(b"anchors"))],
        predecessor: None,
        id: id.to_owned(),
    }
}

/// The nonce that the witness gives after a checkpoint.
pub fn nonce(serial: u64) -> u64 {
    u64::from_le_bytes(sha(&serial.to_le_bytes())[..8].try_into().unwrap()) | 1
}

/// The parts of a bundle. A test changes the parts, and then makes the files again.
#[derive(Clone)]
pub struct Parts {
    pub card: Rc<Card>,
    pub count: u8,
    /// The signer of the checkpoints. In a forgery, this may be another card.
    pub signer: Rc<Card>,
    pub certificate: String,
    pub chain: String,
    pub ticket: SessionTicket,
    pub issuer: SigningKey,
    pub witness: SigningKey,
    pub witnessed: bool,
    /// Leaves of the witness's log of the chain before this session.
    pub witness_log: Vec<tree::Hash>,
    /// The checkpoint in whose note the first entry of the witness's log is another one.
    pub forked_note: Option<u64>,
    /// Unix second at which the witness saw the first checkpoint.
    pub witness_time: u64,
    /// Seconds between two notes.
    pub witness_step: u64,
    pub package: BTreeMap<String, Vec<u8>>,
    pub image: Vec<u8>,
    pub contexts: BTreeMap<[u8; 32], Vec<u8>>,
    pub anchors: BTreeMap<[u8; 32], Vec<u8>>,
    pub log: TestCardLog,
    /// The lines of all lanes. If the lane is not 0, the key `lane` gives it; only the file of receipts keeps this key.
    pub spans: Vec<Value>,
    pub streams: Vec<Value>,
    pub receipts: Vec<Value>,
    /// The lines of inputs, with `lane`. `None` means that every stream had the same text.
    pub inputs: Option<Vec<Value>>,
}

impl Parts {
    pub fn ticket_bytes(&self) -> Vec<u8> {
        self.ticket.sign(&self.issuer).unwrap()
    }

    /// Begins a new session under the ticket, up to its OPEN.
    pub fn open(&mut self) {
        let session = SessionFields {
            policy_digest: sha(&self.image),
            package_digest: package_digest(&self.package),
            ticket_digest: sha(&self.ticket_bytes()),
            heartbeat_records: self.ticket.heartbeat_records.into(),
            heartbeat_ticks: self.ticket.heartbeat_ticks.into(),
            features: if self.image.get(7) == Some(&1) { features::TEXT_LANE } else { 0 }.into(),
            ..SessionFields::ZERO
        };
        self.log = TestCardLog::open(self.card.identity(), session, self.count);
        (self.spans, self.streams, self.receipts) = (Vec::new(), Vec::new(), Vec::new());
    }

    pub fn play(&mut self) {
        // Each stream of a session has its own id.
        let id = |slot: u16| format!("a{slot}");
        for slot in 2..u16::from(self.count) {
            self.ticket.contexts.insert(sha(&context(&id(slot), &self.package)));
        }
        self.open();
        self.begin(0, "a");
        self.begin(1, "b");
        for slot in 2..u16::from(self.count) {
            self.begin(slot, &id(slot));
            self.gate(slot, 1, "", "Drink water.", Determination::Admit);
        }
        self.gate(0, 1, "", "The dose is 5 mg.", Determination::Admit);
        self.gate(1, 1, "", "Buy now.", Determination::Reject);
        self.log.note(1, 2, [6; 32]);
        self.log.refuse(1, 9, Fault::Sequence);
        self.gate(0, 2, " ", "Take it with milk, or not.", Determination::Decompose);
        self.log.checkpoint();
        self.log.heartbeat(nonce(1));
        self.gate(0, 3, " ", "Take it with milk,", Determination::Admit);
        self.gate(1, 3, "", r#"{"arguments":{"cup":1},"name":"pour"}"#, Determination::Admit);
        self.end(0, 4, "\n");
        self.end(1, 4, "");
        for slot in 2..u16::from(self.count) {
            self.end(slot, 2, " ");
        }
        self.log.close();
    }

    pub fn begin(&mut self, slot: u16, id: &str) {
        self.begin_in(slot, id, context(id, &self.package));
    }

    /// Begins a stream with this context document, which may be malformed.
    pub fn begin_in(&mut self, slot: u16, id: &str, context: Vec<u8>) {
        let (lane, index) = self.next(slot);
        self.log.begin(slot, sha(&context));
        self.contexts.insert(sha(&context), context);
        let number = self.streams.iter().filter(|line| line["lane"] == lane).count();
        self.streams.push(json!({"lane": lane, "index": index, "stream": number, "id": id}));
    }

    /// Lane of a slot, and index of the next record in that lane.
    fn next(&self, slot: u16) -> (usize, usize) {
        let lane = self.log.lane_of(slot);
        (lane, self.log.lanes[lane].len())
    }

    fn disclose(&mut self, slot: u16, sequence: u32, held: &str, text: &str, released: bool) -> [u8; 32] {
        let (lane, index) = self.next(slot);
        let salt: [u8; 16] = sha(&[slot as u8, sequence as u8])[..16].try_into().unwrap();
        let kind = if text.starts_with(CALL) { SpanKind::Call } else { SpanKind::Text };
        let mut span = json!({"lane": lane, "index": index, "salt": hex::encode(&salt), "held": held, "text": text});
        let mut receipt =
            json!({"serial": self.ticket.serial, "lane": lane, "index": index, "salt": hex::encode(&salt)});
        if kind == SpanKind::Call {
            (span["kind"], receipt["kind"]) = (json!(kind), json!(kind));
        }
        self.spans.push(span);
        if released {
            self.receipts.push(receipt);
        }
        commitment(kind, &salt, &[held.as_bytes(), text.as_bytes()])
    }

    pub fn gate(&mut self, slot: u16, sequence: u32, held: &str, text: &str, determination: Determination) {
        let digest = self.disclose(slot, sequence, held, text, determination == Determination::Admit);
        self.log.gate(slot, sequence, digest, determination);
        self.log.describe(slot, text.len() as u16, !held.is_empty());
    }

    pub fn end(&mut self, slot: u16, sequence: u32, held: &str) {
        let digest = self.disclose(slot, sequence, held, "", !held.is_empty());
        self.log.end(slot, sequence, digest);
    }

    /// Recomputes heads and roots of all checkpoints over the current records.
    pub fn reroot(&mut self) {
        let last = self.log.checkpoints.len() - 1;
        for (at, checkpoint) in self.log.checkpoints.iter_mut().enumerate() {
            let sizes = self.log.heads[at].iter().map(|head| head.size.get() as usize);
            let under = |(records, size): (&'_ Vec<wire::Record>, usize)| {
                records[..if at == last { records.len() } else { size.min(records.len()) }].to_vec()
            };
            let found: Vec<_> = self.log.lanes.iter().zip(sizes).map(under).collect();
            let found = heads(&found);
            checkpoint.size = found.iter().map(|head| head.size.get()).sum::<u64>().into();
            checkpoint.root = root_of_heads(&found);
            self.log.heads[at] = found;
        }
    }

    /// The entries of the witness's log about this session.
    fn entries(&self) -> Vec<WitnessEntry> {
        let entry = |(serial, checkpoint): (u64, &wire::Checkpoint)| WitnessEntry {
            ticket: self.ticket.serial,
            serial,
            checkpoint: sha(checkpoint.as_bytes()),
            nonce: Some(nonce(serial)),
        };
        (0..).zip(&self.log.checkpoints).map(entry).collect()
    }

    /// Digest of the last checkpoint, by which the ticket of the next session names this one.
    pub fn closed_by(&self) -> [u8; 32] {
        self.log.checkpoints.last().map_or([0; 32], |checkpoint| sha(checkpoint.as_bytes()))
    }

    /// Leaves of the witness's log up to the end of this session.
    pub fn witness_leaves(&self) -> Vec<tree::Hash> {
        let own = self.entries();
        let own = own.iter().map(|entry| tree::leaf(&entry.to_bytes()));
        self.witness_log.iter().copied().chain(own).collect()
    }

    /// This session, which the witness saw after `before`.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        Self { witness_log: before.witness_leaves(), ..self }
    }

    pub fn notes(&self) -> Vec<Vec<u8>> {
        let (entries, leaves) = (self.entries(), self.witness_leaves());
        let note = |(serial, entry): (u64, &WitnessEntry)| {
            let index = self.witness_log.len() as u64 + serial;
            let size = index + 1;
            let mut leaves = leaves.clone();
            if self.forked_note == Some(serial) {
                leaves[0] = tree::leaf(b"another entry");
            }
            let mut prover = MerkleProver::inclusion(index, size).unwrap();
            leaves[..size as usize].iter().for_each(|leaf| prover.push(*leaf));
            let root = tree::root(leaves[..size as usize].iter().copied());
            let text = LogTreeHead::of_chain(self.ticket.chain(), size, root).text();
            let line =
                cosign(&text, "witness.example/1", &self.witness, self.witness_time + self.witness_step * serial)
                    .unwrap();
            let note = format!("{text}\n{line}");
            WitnessProof { entry: *entry, index, path: prover.finish().unwrap(), note }.text().into_bytes()
        };
        (0..).zip(&entries).map(note).collect()
    }

    pub fn files(&self) -> MemoryFiles {
        let input =
            |stream: &Value| json!({"lane": stream["lane"], "index": stream["index"], "input": {"text": "given"}});
        let inputs = self.inputs.clone().unwrap_or_else(|| self.streams.iter().map(input).collect());
        let lines = |values: &[Value], lane: usize, name: &str| {
            let mut text = String::new();
            for value in values.iter().filter(|value| value["lane"].as_u64().unwrap_or(0) == lane as u64) {
                let mut value = value.clone();
                if name != bundle::RECEIPTS {
                    value.as_object_mut().unwrap().remove("lane");
                }
                text += &format!("{value}\n");
            }
            text.into_bytes()
        };
        let mut files = BTreeMap::from([
            (bundle::TICKET.to_owned(), self.ticket_bytes()),
            (bundle::CERTIFICATE.to_owned(), self.certificate.clone().into_bytes()),
            (bundle::CHAIN.to_owned(), self.chain.clone().into_bytes()),
            (bundle::IMAGE.to_owned(), self.image.clone()),
            (bundle::README.to_owned(), b"How to check this.\n".to_vec()),
        ]);
        for (lane, records) in self.log.lanes.iter().enumerate() {
            let name = |name| bundle::in_lane(name, lane as u8);
            files.insert(name(bundle::RECORDS), records.as_bytes().to_vec());
            for (file, values) in [
                (bundle::STREAMS, &self.streams),
                (bundle::INPUTS, &inputs),
                (bundle::SPANS, &self.spans),
                (bundle::RECEIPTS, &self.receipts),
            ] {
                files.insert(name(file), lines(values, lane, file));
            }
        }
        if self.log.lanes.len() > 1 {
            let heads = self.log.heads.iter().take(self.log.checkpoints.len());
            files.insert(bundle::HEADS.to_owned(), heads.flat_map(|heads| heads.as_bytes().to_vec()).collect());
        }
        files.extend(self.package.iter().map(|(path, bytes)| (bundle::package(path), bytes.clone())));
        files.extend(self.contexts.iter().map(|(digest, bytes)| (bundle::context(digest), bytes.clone())));
        files.extend(self.anchors.iter().map(|(digest, bytes)| (bundle::anchor(digest), bytes.clone())));
        for (serial, checkpoint) in (0..).zip(&self.log.checkpoints) {
            files.insert(bundle::checkpoint(serial), self.signer.sign(checkpoint));
        }
        if self.witnessed {
            let notes = (0..).zip(self.notes());
            files.extend(notes.map(|(serial, note)| (bundle::witness(serial), note)));
        }
        let mut files = MemoryFiles(files);
        remanifest(&mut files);
        files
    }
}

pub fn remanifest(files: &mut MemoryFiles) {
    let manifest = BundleManifest::of(files).unwrap().to_json().unwrap();
    files.0.insert(bundle::MANIFEST.to_owned(), manifest);
}

/// The codes of a report, each with the name of its property.
pub fn codes(report: &VerifyReport) -> BTreeSet<String> {
    use portcullis_evidence::verify::BundleProperty;
    let of = |property: &BundleProperty| {
        let name = property.name();
        report.properties.of(*property).reasons.iter().map(move |reason| format!("{name}/{}", reason.code))
    };
    BundleProperty::ALL.iter().flat_map(of).collect()
}

/// A set of codes in the form of [`codes`].
pub fn set(codes: &[&str]) -> BTreeSet<String> {
    codes.iter().map(|code| (*code).to_owned()).collect()
}

/// Asserts that the report affirms all properties without a warning.
#[track_caller]
pub fn assert_affirmed(report: &VerifyReport) {
    assert_eq!((codes(report), report.exit_code), (BTreeSet::new(), 0), "{:#?}", report.properties);
}

/// Asserts that the report contradicts nothing, and warns with this code.
#[track_caller]
pub fn assert_warned(report: &VerifyReport, code: &str) {
    assert!(codes(report).contains(code), "{code} is not among {:#?}", report.properties);
    assert_eq!(report.exit_code, 5, "{:#?}", report.properties);
}

/// Asserts that the report contradicts a property with this code.
#[track_caller]
pub fn assert_contradicted(report: &VerifyReport, code: &str) {
    assert!(codes(report).contains(code), "{code} is not among {:#?}", report.properties);
    assert_eq!(report.exit_code, 3, "{:#?}", report.properties);
}
