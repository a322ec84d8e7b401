//! Writes a bundle.

use crate::RecorderError;
use crate::issuer::Reporter;
use crate::lane::{LaneWriter, input_line};
use crate::sink::{BundleSink, LaneLogFiles, Parties};
use crate::texts::OpeningSink;
use portcullis_card::driver::RecordSink;
use portcullis_core::commitment::SpanKind;
use portcullis_core::context::ContextDocument;
use portcullis_evidence::bundle::{self, BundleError, BundleWriter, Receipt};
use portcullis_evidence::stream_proof::SessionFiles;
use portcullis_gate::engine::{EngineError, EngineProposal};
use portcullis_gate::replay::ReplayInput;
use portcullis_gate::{StreamEvent, StreamEventKind};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes reserved for the end of a session: its last checkpoints, and the inputs of streams.
const CLOSING: u64 = 1 << 16;
/// Bytes reserved in addition for each lane: the records in flight, and their texts.
const CLOSING_LANE: u64 = 1 << 16;

pub struct SessionRecorder {
    writer: Arc<BundleWriter>,
    logs: Arc<Mutex<LaneLogFiles>>,
    lanes: Vec<LaneWriter>,
    contexts: BTreeSet<[u8; 32]>,
    /// Names of the files written at the start, and of the anchor stores in streams' inputs.
    files: BTreeSet<String>,
    open: BTreeMap<u64, OpenBundleStream>,
    session: SessionFiles,
    openings: OpeningSink,
    issuer: Option<Arc<Reporter>>,
}

/// A bundle after the end of its session.
#[derive(Debug, PartialEq, Eq)]
pub struct FinishedBundle {
    pub folder: PathBuf,
    /// What a running issuer does not know about the end of the session, and how to report it later.
    pub unreported: Option<String>,
}

#[derive(Default)]
struct OpenBundleStream {
    lane: usize,
    begin: u64,
    /// Whether the whole text was known at the start, so that the input is already written.
    recorded: bool,
    answers: Vec<Result<EngineProposal, EngineError>>,
    /// Receipts of spans, by sequence.
    entries: BTreeMap<u32, Receipt>,
    /// Sequences released before the event of their record; this happens for END.
    early: Vec<u32>,
}

fn of_lane(lanes: &mut [LaneWriter], lane: usize) -> Result<&mut LaneWriter, RecorderError> {
    let missing = || RecorderError::Event(format!("a record of lane {lane}, which the card does not have"));
    lanes.get_mut(lane).ok_or_else(missing)
}

/// Writes the files known before the session, and reserves space for its end.
fn begin(
    writer: &BundleWriter,
    files: &[(String, Vec<u8>)],
    lanes: u8,
    serial: u64,
    with_texts: bool,
) -> Result<(LaneLogFiles, Vec<LaneWriter>), RecorderError> {
    let room = CLOSING.saturating_add(CLOSING_LANE.saturating_mul(lanes.into()));
    let started = || -> Result<_, BundleError> {
        files.iter().try_for_each(|(name, content)| writer.put(name, content))?;
        let logs = LaneLogFiles::create(writer, lanes)?;
        let lines = (0..lanes).map(|lane| LaneWriter::create(writer, lane, serial, with_texts));
        let lines = lines.collect::<Result<_, _>>()?;
        writer.sync()?;
        writer.reserve(room)?;
        Ok((logs, lines))
    };
    started().map_err(|error| match error {
        BundleError::Io { ref source, .. } if source.kind() == ErrorKind::StorageFull => {
            RecorderError::NoRoom { folder: writer.folder().to_owned(), bytes: room, source: error }
        }
        error => error.into(),
    })
}

/// The files of a session that every proof includes.
fn session_files(files: &[(String, Vec<u8>)]) -> SessionFiles {
    let file = |name: &str| files.iter().find(|(other, _)| other == name).map(|(_, file)| file.clone());
    let text = |name: &str| String::from_utf8(file(name).unwrap_or_default()).unwrap_or_default();
    SessionFiles {
        ticket: file(bundle::TICKET).unwrap_or_default(),
        certificate: text(bundle::CERTIFICATE),
        chain: text(bundle::CHAIN),
    }
}

impl SessionRecorder {
    /// Creates a bundle in a new folder, with the given files, for a card with `lanes` lanes. Also returns the sink for
    /// the session's records. Errors: writing failed; the folder is removed then.
    pub(crate) fn create(
        folder: &Path,
        files: &[(String, Vec<u8>)],
        lanes: u8,
        serial: u64,
        parties: Parties,
        openings: OpeningSink,
    ) -> Result<(Self, Box<dyn RecordSink>), RecorderError> {
        let writer = match BundleWriter::create(folder) {
            Ok(writer) => writer,
            Err(error) => {
                openings.discard()?;
                return Err(error.into());
            }
        };
        match begin(&writer, files, lanes, serial, openings.are_in_bundle()) {
            Ok((logs, lanes)) => {
                let (writer, logs) = (Arc::new(writer), Arc::new(Mutex::new(logs)));
                let issuer = parties.issuer.clone();
                let sink = BundleSink::new(Arc::clone(&writer), Arc::clone(&logs), parties);
                let (contexts, open) = (BTreeSet::new(), BTreeMap::new());
                let session = session_files(files);
                let files = files.iter().map(|(name, _)| name.clone()).collect();
                let recorder = Self { writer, logs, lanes, contexts, files, open, session, openings, issuer };
                Ok((recorder, Box::new(sink)))
            }
            Err(error) => {
                openings.discard()?;
                writer.discard()?;
                Err(error)
            }
        }
    }

    /// The files of the session that every proof includes.
    #[must_use]
    pub const fn session_files(&self) -> &SessionFiles {
        &self.session
    }

    /// Records an event. Must be called before any other use of the event, so that every released text has its record
    /// in the bundle. Errors: writing failed; no more text may be released then.
    pub fn event(&mut self, event: &StreamEvent) -> Result<(), RecorderError> {
        self.keep(event)?;
        if self.writer.is_full() {
            return Err(RecorderError::Full(self.writer.folder().to_owned()));
        }
        Ok(())
    }

    fn keep(&mut self, event: &StreamEvent) -> Result<(), RecorderError> {
        match &event.what {
            StreamEventKind::Begun { id, context, text, supplied, lane, log_index } => {
                let missing = || RecorderError::Event("a stream began without a record".into());
                let index = log_index.ok_or_else(missing)?;
                let lane = usize::from(*lane);
                self.context(lane, index, context)?;
                if let Some(store) = supplied {
                    self.supplied(lane, index, store)?;
                }
                let writer = of_lane(&mut self.lanes, lane)?;
                writer.begin(index, id)?;
                if let Some(text) = text {
                    self.given(lane, index, ReplayInput::Text(text.clone()))?;
                }
                let recorded = text.is_some();
                self.open.insert(
                    event.stream,
                    OpenBundleStream { lane, begin: index, recorded, ..OpenBundleStream::default() },
                );
            }
            StreamEventKind::Proposed(answer) => {
                self.open.entry(event.stream).or_default().answers.push((**answer).clone());
            }
            StreamEventKind::Determined(judged) => {
                if let Some(index) = judged.log_index {
                    let stream = self.open.entry(event.stream).or_default();
                    let lane = of_lane(&mut self.lanes, stream.lane)?;
                    let kind = judged.determination.kind;
                    let (line, receipt) = lane.span(index, &judged.salt, kind, &judged.inert, &judged.text)?;
                    self.openings.span(stream.lane, stream.begin, &line)?;
                    stream.entries.insert(judged.determination.seq, receipt);
                }
            }
            StreamEventKind::Released { seqs, .. } => {
                let stream = self.open.entry(event.stream).or_default();
                for seq in seqs {
                    match stream.entries.get(seq) {
                        Some(receipt) => {
                            of_lane(&mut self.lanes, stream.lane)?.release(receipt)?;
                            self.openings.receipt(stream.lane, stream.begin, receipt)?;
                        }
                        None => stream.early.push(*seq),
                    }
                }
                self.flush()?;
            }
            StreamEventKind::Ended { closing, .. } => {
                // A stream whose BEGIN was refused is not in the log.
                let Some(stream) = self.open.remove(&event.stream) else { return Ok(()) };
                let lane = of_lane(&mut self.lanes, stream.lane)?;
                if let Some(closing) = closing
                    && let Some(index) = closing.log_index
                {
                    let (line, receipt) = lane.span(index, &closing.salt, SpanKind::Text, &closing.inert, "")?;
                    self.openings.span(stream.lane, stream.begin, &line)?;
                    if stream.early.contains(&closing.seq) {
                        lane.release(&receipt)?;
                        self.openings.receipt(stream.lane, stream.begin, &receipt)?;
                    }
                }
                if stream.recorded {
                    lane.write_inputs()?;
                } else {
                    self.given(stream.lane, stream.begin, ReplayInput::Proposals(stream.answers))?;
                }
                self.openings.end(stream.lane, stream.begin);
            }
            StreamEventKind::Deferred { .. }
            | StreamEventKind::Expired { .. }
            | StreamEventKind::RolledBack { .. }
            | StreamEventKind::Drift { .. } => {}
        }
        Ok(())
    }

    /// Writes the context document of the stream whose BEGIN is record `begin`.
    fn context(&mut self, lane: usize, begin: u64, context: &ContextDocument) -> Result<(), RecorderError> {
        let digest = context.digest();
        if self.openings.are_in_bundle() {
            if self.contexts.insert(digest) {
                self.writer.put(&bundle::context(&digest), &context.bytes())?;
            }
            return Ok(());
        }
        Ok(self.openings.context(lane, begin, &context.bytes())?)
    }

    /// Writes the anchor store that a stream's input contains.
    fn supplied(&mut self, lane: usize, begin: u64, store: &str) -> Result<(), RecorderError> {
        let name = bundle::anchor(&Sha256::digest(store).into());
        if self.files.contains(&name) {
            return Ok(());
        }
        if self.openings.are_in_bundle() {
            self.writer.put(&name, store.as_bytes())?;
            self.files.insert(name);
            return Ok(());
        }
        Ok(self.openings.store(lane, begin, store.as_bytes())?)
    }

    /// Writes the complete input of the stream whose BEGIN is record `begin`.
    fn given(&mut self, lane: usize, begin: u64, input: ReplayInput) -> Result<(), RecorderError> {
        if !self.openings.are_in_bundle() {
            return Ok(self.openings.input(lane, &input_line(begin, &input)?)?);
        }
        let lane = of_lane(&mut self.lanes, lane)?;
        lane.given(begin, input);
        lane.write_inputs()
    }

    /// Writes buffered data to the operating system, so that it survives a crash of this process.
    fn flush(&mut self) -> Result<(), RecorderError> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).flush()?;
        self.lanes.iter_mut().try_for_each(LaneWriter::flush)?;
        self.openings.flush()?;
        // Receipts are sorted at the end, which needs space for a copy.
        self.writer.keep(self.lanes.iter().map(LaneWriter::receipts).sum());
        Ok(())
    }

    /// Ends the session: writes the remaining data, and the manifest, and reports the end to a running issuer. Returns
    /// `None` if the card signed nothing, and the folder was removed. Errors: writing failed. The written part is still
    /// a bundle, unless there was no space for the manifest.
    pub fn finish(mut self) -> Result<Option<FinishedBundle>, RecorderError> {
        let rest = self.flush().and_then(|()| self.write_rest());
        let Self { writer, logs, openings, issuer, .. } = self;
        drop(logs);
        let writer = Arc::into_inner(writer).ok_or_else(|| RecorderError::Event("the session still writes".into()))?;
        let folder = writer.folder().to_owned();
        if !folder.join(bundle::checkpoint(0)).exists() {
            writer.discard()?;
            openings.discard()?;
            return rest.map(|()| None);
        }
        let rest = openings.finish().map_err(RecorderError::from).and(rest);
        let written = match rest {
            Ok(()) => writer.finish().map_err(RecorderError::from),
            // The disk is full, so files may be incomplete.
            Err(error) => writer.mend().map_err(RecorderError::from).and(Err(error)),
        };
        // The issuer gets the card's closing checkpoint in any case.
        let unreported = issuer.and_then(|issuer| issuer.end());
        written.map(|()| Some(FinishedBundle { folder, unreported }))
    }

    /// Writes the inputs of streams that never ended.
    fn write_rest(&mut self) -> Result<(), RecorderError> {
        for (_, stream) in std::mem::take(&mut self.open) {
            if !stream.recorded && stream.lane < self.lanes.len() {
                self.given(stream.lane, stream.begin, ReplayInput::Proposals(stream.answers))?;
            }
        }
        let lanes = std::mem::take(&mut self.lanes).into_iter();
        let written: Vec<_> = lanes.map(|lane| lane.finish(&self.writer)).collect();
        written.into_iter().collect()
    }
}
