//! `run --bundle`: everything that a session leaves, as a bundle that somebody else can check.

use crate::failure::Failure;
use crate::open;
use anyhow::{Context, anyhow, bail};
use portcullis_card::session::{CheckpointConfig, HeartbeatLimits, RecordSink, Signed, SinkError};
use portcullis_card::{Card, CardInfo, SessionConfig, await_public_key};
use portcullis_core::wire::{Record, key_flags};
use portcullis_evidence::approval::Approval;
use portcullis_evidence::bundle::{self, LineFile, Writer};
use portcullis_evidence::certificate::{Class, key_id};
use portcullis_evidence::hex::{self, Hex};
use portcullis_evidence::note::WitnessKey;
use portcullis_evidence::ticket::Ticket;
use portcullis_evidence::{cose, extract, tree};
use portcullis_gate::anchor::Anchors;
use portcullis_gate::engine::{EngineError, Proposal};
use portcullis_gate::replay::Input;
use portcullis_gate::{Event, What};
use portcullis_registrar::ca::{self, Device};
use portcullis_registrar::tickets::{self, Request};
use portcullis_registrar::witness::client::{Client, Noted};
use portcullis_registrar::witness::{LanePost, Post};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use zerocopy::IntoBytes;

/// How long a self-issued ticket lasts.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Longest wait for a witness.
const WITNESS_TIME: Duration = Duration::from_secs(10);

#[derive(clap::Args, Clone)]
pub(crate) struct BundleArgs {
    /// Write a bundle into this new folder: records, signed checkpoints, policy, texts; what `portcullis-verify` checks.
    #[arg(long, value_name = "DIR", conflicts_with = "gate")]
    bundle: Option<PathBuf>,
    /// The session's ticket, from `portcullis ticket issue`. Without it the session issues one to itself, and says so.
    #[arg(long, value_name = "FILE", requires = "bundle")]
    ticket: Option<PathBuf>,
    /// Approval of the policy, from `portcullis policy approve`.
    #[arg(long, value_name = "FILE", requires = "bundle")]
    approval: Option<PathBuf>,
    /// The card's certificate, PEM. Without it a simulated card is certified by the public root of simulations.
    #[arg(long, value_name = "FILE", requires = "bundle")]
    device_cert: Option<PathBuf>,
    /// Intermediate certificates above it, PEM.
    #[arg(long, value_name = "FILE", requires = "device_cert")]
    device_chain: Option<PathBuf>,
    /// Show every checkpoint to the witness at this address of the loopback interface, and present the heartbeats that it gives.
    #[arg(long, value_name = "ADDRESS", requires = "bundle", requires = "witness_key")]
    witness: Option<SocketAddr>,
    /// The witness's key, from `portcullis witness key`.
    #[arg(long, value_name = "FILE", requires = "witness")]
    witness_key: Option<PathBuf>,
    /// Records after which a checkpoint is due. Default: 4096 on a simulated card, else 32768.
    #[arg(long, value_name = "RECORDS", requires = "bundle", value_parser = clap::value_parser!(u32).range(1..))]
    checkpoint_interval: Option<u32>,
}

/// A bundle that is being written.
pub(crate) struct Recorder {
    writer: Arc<Writer>,
    logs: Arc<Mutex<Logs>>,
    serial: u64,
    /// What is told about the records of each lane.
    lanes: Vec<Told>,
    contexts: BTreeMap<[u8; 32], Vec<u8>>,
    open: BTreeMap<u64, Open>,
}

/// Lines about the records of one lane.
struct Told {
    lane: u8,
    streams: LineFile,
    spans: LineFile,
    inputs: LineFile,
    /// What ended streams were given, until every stream that began before has ended; by the index of BEGIN.
    given: BTreeMap<u64, Option<Input>>,
    /// Salts of released spans, by the index of their record.
    released: BTreeMap<u64, Hex<16>>,
}

/// The log of each lane, and the heads under each checkpoint where there are several.
struct Logs {
    records: Vec<BufWriter<File>>,
    heads: Option<BufWriter<File>>,
}

impl Logs {
    fn create(writer: &Writer, lanes: u8) -> Result<Self, bundle::BundleError> {
        let records = (0..lanes).map(|lane| writer.file(&bundle::in_lane(bundle::RECORDS, lane)));
        let heads = (lanes > 1).then(|| writer.file(bundle::HEADS)).transpose()?;
        Ok(Self { records: records.collect::<Result<_, _>>()?, heads })
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.records.iter_mut().chain(&mut self.heads).try_for_each(Write::flush)
    }
}

/// A stream that has not ended.
#[derive(Default)]
struct Open {
    lane: usize,
    begin: u64,
    text: Option<String>,
    answers: Vec<Result<Proposal, EngineError>>,
    /// Index and salt of the record of each sequence.
    entries: BTreeMap<u32, (u64, Hex<16>)>,
    /// Sequences that were released before their record was told: END's.
    early: Vec<u32>,
}

/// What the session hands over.
struct Kept {
    writer: Arc<Writer>,
    logs: Arc<Mutex<Logs>>,
    watched: Option<Watched>,
}

/// Checkpoints on their way to a witness.
struct Watched {
    client: Client,
    ticket: Vec<u8>,
    public_key: [u8; 32],
    lanes: Vec<WatchedLane>,
    /// Sizes of the lanes and message of those that it has not: their records may still be on the way.
    next: VecDeque<(Vec<u64>, Vec<u8>)>,
}

/// A lane's log on its way to a witness.
#[derive(Clone, Default)]
struct WatchedLane {
    leaves: Vec<tree::Hash>,
    /// Records under the last checkpoint that the witness has.
    old: u64,
}

impl RecordSink for Kept {
    fn record(&mut self, record: &Record) -> Result<(), SinkError> {
        let lane = usize::from(record.answer.lane);
        if let Some(watched) = &mut self.watched {
            let watched = watched.lanes.get_mut(lane).ok_or("a record of a lane that the card does not have")?;
            watched.leaves.push(tree::leaf(record.as_bytes()));
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let log = logs.records.get_mut(lane).ok_or("a record of a lane that the card does not have")?;
        Ok(log.write_all(record.as_bytes())?)
    }

    fn checkpoint(&mut self, signed: &Signed) -> Result<(), SinkError> {
        let bytes = signed.checkpoint.as_bytes().try_into()?;
        let message = cose::encode(bytes, signed.signature.as_ref().try_into()?);
        self.writer.put(&bundle::checkpoint(signed.checkpoint.serial.get()), &message)?;
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let lanes = logs.records.len();
        let sizes = match &mut logs.heads {
            Some(_) if signed.heads.len() != lanes => return Err("a checkpoint without the heads of its lanes".into()),
            Some(heads) => {
                heads.write_all(signed.heads.as_bytes())?;
                signed.heads.iter().map(|head| head.size.get()).collect()
            }
            // One lane: everything is its.
            None => vec![signed.checkpoint.size.get()],
        };
        if let Some(watched) = &mut self.watched {
            watched.next.push_back((sizes, message));
        }
        Ok(())
    }

    fn nonce(&mut self) -> Result<Option<u64>, SinkError> {
        let Some(watched) = &mut self.watched else { return Ok(None) };
        let mut nonce = None;
        while let Some(noted) = watched.post()? {
            self.writer.put(&bundle::witness(noted.cosigned.serial), noted.note.as_bytes())?;
            nonce = noted.cosigned.nonce;
        }
        Ok(nonce)
    }
}

impl Watched {
    /// Posts the next checkpoint whose records are all here.
    fn post(&mut self) -> Result<Option<Noted>, SinkError> {
        let lanes = &self.lanes;
        let here = |(sizes, _): &mut (Vec<u64>, Vec<u8>)| {
            sizes
                .iter()
                .zip(lanes)
                .all(|(size, lane)| usize::try_from(*size).is_ok_and(|size| size <= lane.leaves.len()))
        };
        let Some((sizes, checkpoint)) = self.next.pop_front_if(here) else { return Ok(None) };
        let posted = sizes.iter().zip(lanes).map(|(size, lane)| lane.post(*size));
        let post = Post {
            ticket: self.ticket.clone(),
            public_key: self.public_key,
            lanes: posted.collect::<Result<_, _>>()?,
            checkpoint,
        };
        let noted = self.client.post(&post)?;
        self.lanes.iter_mut().zip(sizes).for_each(|(lane, size)| lane.old = size);
        Ok(Some(noted))
    }
}

impl WatchedLane {
    /// The first `size` records, after those that the witness has.
    fn post(&self, size: u64) -> Result<LanePost, SinkError> {
        let leaves = self.leaves.get(..usize::try_from(size)?).unwrap_or_default();
        let mut prover = tree::Prover::consistency(self.old, size);
        leaves.iter().for_each(|leaf| prover.iter_mut().for_each(|prover| prover.push(*leaf)));
        let proof = prover.and_then(tree::Prover::finish).unwrap_or_default();
        Ok(LanePost { old: self.old, size, root: tree::root(leaves.iter().copied()), proof })
    }
}

impl BundleArgs {
    /// Whether a bundle is to be written.
    pub(crate) const fn is_asked(&self) -> bool {
        self.bundle.is_some()
    }

    /// A recorder and the configuration of the session that it records; without `--bundle` no recorder.
    pub(crate) fn start(
        &self,
        card: &mut dyn Card,
        policy: &open::Policy,
    ) -> Result<(Option<Recorder>, SessionConfig), Failure> {
        let Some(folder) = &self.bundle else { return Ok((None, SessionConfig::default())) };
        let info = CardInfo::read(card)?;
        let key = await_public_key(card)?;
        let simulated = u32::from(info.key_flags) & u32::from(key_flags::SIM) != 0;
        let image = &policy.compiled.image;
        let ticket = self.ticket(&key, image.digest())?;
        let parsed = Ticket::parse(&ticket).map_err(|e| anyhow!("the ticket: {e}"))?;
        let terms = &parsed.content;
        if terms.key != key_id(&key) {
            bail_out("the ticket is for another card's key")?;
        }
        if terms.policy != image.digest() {
            bail_out("the ticket is for another policy; ask the issuer for one of this policy's digest")?;
        }
        if (terms.heartbeat_records != 0 || terms.heartbeat_ticks != 0) && self.witness.is_none() {
            bail_out("the ticket asks for heartbeats, which a witness gives: use `--witness`")?;
        }
        let approval = self.approval(image.digest())?;
        let watched = self.watched(&ticket, key, info.lanes)?;
        let (certificate, chain) = self.certificate(&key, &info, simulated)?;

        let create = || -> Result<Recorder, bundle::BundleError> {
            let writer = Arc::new(Writer::create(folder)?);
            writer.put(bundle::TICKET, &ticket)?;
            writer.put(bundle::CERTIFICATE, certificate.as_bytes())?;
            writer.put(bundle::CHAIN, chain.as_bytes())?;
            writer.put(bundle::IMAGE, image.as_bytes())?;
            if let Some(approval) = &approval {
                writer.put(bundle::APPROVAL, approval)?;
            }
            for (path, content) in policy.package.listed() {
                writer.put(&bundle::package(path), content)?;
            }
            Ok(Recorder {
                logs: Arc::new(Mutex::new(Logs::create(&writer, info.lanes)?)),
                serial: terms.serial,
                lanes: (0..info.lanes).map(|lane| Told::create(&writer, lane)).collect::<Result<_, _>>()?,
                contexts: BTreeMap::new(),
                open: BTreeMap::new(),
                writer,
            })
        };
        let recorder = create().map_err(anyhow::Error::from)?;
        let sink = Kept { writer: Arc::clone(&recorder.writer), logs: Arc::clone(&recorder.logs), watched };
        let interval = self.checkpoint_interval.unwrap_or(if simulated { 4096 } else { 32_768 });
        // A heartbeat follows a checkpoint, so that there must be some while the credit lasts.
        let interval = match terms.heartbeat_records {
            0 => interval,
            records => interval.min((records / 2).max(1)),
        };
        let config = SessionConfig {
            ticket_digest: parsed.digest,
            heartbeat: HeartbeatLimits { records: terms.heartbeat_records, ticks: terms.heartbeat_ticks },
            checkpoints: Some(CheckpointConfig { interval, ..CheckpointConfig::default() }),
            sink: Box::new(sink),
            ..SessionConfig::default()
        };
        Ok((Some(recorder), config))
    }

    fn approval(&self, policy: [u8; 32]) -> anyhow::Result<Option<Vec<u8>>> {
        let Some(path) = &self.approval else { return Ok(None) };
        let cose = std::fs::read(path).with_context(|| format!("cannot read the approval `{}`", path.display()))?;
        let approval = Approval::parse(&cose).ok_or_else(|| anyhow!("`{}` is no approval", path.display()))?;
        if approval.policy != policy {
            bail!("the approval is of another policy; the approver signs this one with `portcullis policy approve`");
        }
        Ok(Some(cose))
    }

    fn watched(&self, ticket: &[u8], public_key: [u8; 32], lanes: u8) -> anyhow::Result<Option<Watched>> {
        let (Some(address), Some(path)) = (self.witness, &self.witness_key) else { return Ok(None) };
        let key = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let client = Client::new(address, WitnessKey::parse(key.trim_end())?, WITNESS_TIME);
        let lanes = vec![WatchedLane::default(); lanes.into()];
        Ok(Some(Watched { client, ticket: ticket.to_vec(), public_key, lanes, next: VecDeque::new() }))
    }

    fn ticket(&self, key: &[u8; 32], policy: [u8; 32]) -> anyhow::Result<Vec<u8>> {
        if let Some(path) = &self.ticket {
            return std::fs::read(path).with_context(|| format!("cannot read the ticket `{}`", path.display()));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = Request {
            key: key_id(key),
            policy,
            contexts: Default::default(),
            profiles: Default::default(),
            heartbeat_records: 0,
            heartbeat_ticks: 0,
            window: ca::Window { not_before: now.as_secs(), not_after: (now + DAY).as_secs() },
        };
        Ok(tickets::self_issued(&request)?)
    }

    fn certificate(&self, key: &[u8; 32], info: &CardInfo, simulated: bool) -> anyhow::Result<(String, String)> {
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).with_context(|| format!("cannot read the certificate `{}`", path.display()))
        };
        match &self.device_cert {
            Some(path) => Ok((read(path)?, self.device_chain.as_ref().map(read).transpose()?.unwrap_or_default())),
            None if simulated => {
                let authority = ca::simulation()?;
                let device = Device {
                    public_key: *key,
                    design_id: info.design_id,
                    class: Class::Sim,
                    supervised: false,
                    subject: "CN=Simulated card".into(),
                    window: ca::SIMULATION,
                };
                Ok((authority.certify(&device)?, String::new()))
            }
            None => bail!("a real card needs its certificate: give `--device-cert`"),
        }
    }
}

fn bail_out(why: &str) -> anyhow::Result<()> {
    Err(anyhow!("{why}"))
}

impl Told {
    fn create(writer: &Writer, lane: u8) -> Result<Self, bundle::BundleError> {
        Ok(Self {
            lane,
            streams: writer.lines(bundle::STREAMS, lane)?,
            spans: writer.lines(bundle::SPANS, lane)?,
            inputs: writer.lines(bundle::INPUTS, lane)?,
            given: BTreeMap::new(),
            released: BTreeMap::new(),
        })
    }

    fn span(&mut self, index: u64, salt: &str, held: &str, text: &str) -> anyhow::Result<Hex<16>> {
        let salt = Hex(hex::decode(salt).ok_or_else(|| anyhow!("record {index} has no salt"))?);
        self.spans.push(&bundle::Span { index, salt, held: held.to_owned(), text: text.to_owned() })?;
        Ok(salt)
    }

    /// Inputs stand in the order in which their streams began. One that cannot be written is left out: it is withheld then.
    fn write_inputs(&mut self) -> anyhow::Result<()> {
        let mut written = Ok(());
        while let Some(entry) = self.given.first_entry()
            && entry.get().is_some()
        {
            let index = *entry.key();
            if let Some(input) = entry.remove() {
                let input = serde_json::value::to_raw_value(&input)?;
                let line = self.inputs.push(&bundle::Input { index, input });
                written = written.and(line.map_err(anyhow::Error::from));
            }
        }
        written
    }

    /// Writes what is left; whether every input could be.
    fn finish(mut self, writer: &Writer, serial: u64) -> anyhow::Result<anyhow::Result<()>> {
        let given = self.write_inputs();
        self.streams.flush()?;
        self.inputs.flush()?;
        let mut receipts = writer.lines(bundle::RECEIPTS, self.lane)?;
        for (index, salt) in self.released {
            receipts.push(&bundle::Receipt { serial, lane: self.lane, index, salt })?;
        }
        receipts.flush()?;
        Ok(given)
    }
}

fn told(lanes: &mut [Told], lane: usize) -> anyhow::Result<&mut Told> {
    lanes.get_mut(lane).ok_or_else(|| anyhow!("a record of lane {lane}, which the card does not have"))
}

impl Open {
    /// What the stream was given.
    fn given(self) -> Input {
        self.text.map_or(Input::Proposals(self.answers), Input::Text)
    }
}

impl Recorder {
    /// Takes an event, before anybody else does: what is released has its record in the bundle.
    pub(crate) fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        match &event.what {
            What::Begun { id, context, text, lane, log_index } => {
                let Some(index) = *log_index else { bail!("a stream began without a record") };
                let lane = usize::from(*lane);
                let told = told(&mut self.lanes, lane)?;
                told.streams.push(&bundle::Stream { index, stream: event.stream, id: id.clone() })?;
                told.given.insert(index, None);
                self.contexts.entry(context.digest()).or_insert_with(|| context.bytes());
                self.open.insert(event.stream, Open { lane, begin: index, text: text.clone(), ..Open::default() });
            }
            What::Proposed(answer) => {
                self.open.entry(event.stream).or_default().answers.push((**answer).clone());
            }
            What::Determined(judged) => {
                if let Some(index) = judged.log_index {
                    let stream = self.open.entry(event.stream).or_default();
                    let salt =
                        told(&mut self.lanes, stream.lane)?.span(index, &judged.salt, &judged.inert, &judged.text)?;
                    stream.entries.insert(judged.determination.seq, (index, salt));
                }
            }
            What::Released { seqs, .. } => {
                let stream = self.open.entry(event.stream).or_default();
                for seq in seqs {
                    match stream.entries.get(seq) {
                        Some((index, salt)) => {
                            told(&mut self.lanes, stream.lane)?.released.insert(*index, *salt);
                        }
                        None => stream.early.push(*seq),
                    }
                }
                self.flush()?;
            }
            What::Ended { closing, .. } => {
                // A stream whose BEGIN was refused has no place in the log.
                let Some(stream) = self.open.remove(&event.stream) else { return Ok(()) };
                let told = told(&mut self.lanes, stream.lane)?;
                if let Some(closing) = closing
                    && let Some(index) = closing.log_index
                {
                    let salt = told.span(index, &closing.salt, &closing.inert, "")?;
                    if stream.early.contains(&closing.seq) {
                        told.released.insert(index, salt);
                    }
                }
                told.given.insert(stream.begin, Some(stream.given()));
                told.write_inputs()?;
            }
            What::Deferred { .. } | What::Expired { .. } | What::RolledBack { .. } | What::Drift { .. } => {}
        }
        Ok(())
    }

    /// What stands in the logs so far survives this process.
    fn flush(&mut self) -> anyhow::Result<()> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).flush()?;
        Ok(self.lanes.iter_mut().try_for_each(|told| told.spans.flush())?)
    }

    /// The session is over: writes what is left, and the manifest.
    pub(crate) fn finish(mut self, anchors: &Anchors) -> anyhow::Result<PathBuf> {
        self.flush()?;
        // Streams that never ended: what they were given is all that can be told.
        for (_, stream) in std::mem::take(&mut self.open) {
            if let Some(told) = self.lanes.get_mut(stream.lane) {
                told.given.insert(stream.begin, Some(stream.given()));
            }
        }
        let Self { writer, serial, lanes, contexts, logs, .. } = self;
        let mut given = Ok(());
        for told in lanes {
            given = given.and(told.finish(&writer, serial)?);
        }
        for (digest, document) in contexts {
            writer.put(&bundle::context(&digest), &document)?;
        }
        for content in anchors.json_lines() {
            let digest: [u8; 32] = Sha256::digest(&content).into();
            writer.put(&bundle::anchor(&digest), &content)?;
        }
        writer.put(bundle::README, extract::BUNDLE_README.as_bytes())?;
        drop(logs);
        let writer = Arc::into_inner(writer).ok_or_else(|| anyhow!("the session still writes"))?;
        let folder = writer.folder().to_owned();
        writer.finish()?;
        given.map(|()| folder)
    }
}
