//! A bundle that is being written.

use crate::RecorderError;
use crate::lane::LaneWriter;
use crate::sink::Logs;
use portcullis_evidence::bundle::{self, Writer};
use portcullis_evidence::extract;
use portcullis_evidence::hex::Hex;
use portcullis_gate::anchor::Anchors;
use portcullis_gate::engine::{EngineError, Proposal};
use portcullis_gate::replay::Input;
use portcullis_gate::{Event, What};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A bundle that is being written.
pub struct Recorder {
    writer: Arc<Writer>,
    logs: Arc<Mutex<Logs>>,
    serial: u64,
    lanes: Vec<LaneWriter>,
    contexts: BTreeMap<[u8; 32], Vec<u8>>,
    open: BTreeMap<u64, Open>,
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
    /// Sequences that were released before the event of their record: END's.
    early: Vec<u32>,
}

impl Open {
    /// What the stream was given.
    fn given(self) -> Input {
        self.text.map_or(Input::Proposals(self.answers), Input::Text)
    }
}

fn of_lane(lanes: &mut [LaneWriter], lane: usize) -> Result<&mut LaneWriter, RecorderError> {
    let missing = || RecorderError::Event(format!("a record of lane {lane}, which the card does not have"));
    lanes.get_mut(lane).ok_or_else(missing)
}

impl Recorder {
    pub(crate) const fn new(writer: Arc<Writer>, logs: Arc<Mutex<Logs>>, serial: u64, lanes: Vec<LaneWriter>) -> Self {
        Self { writer, logs, serial, lanes, contexts: BTreeMap::new(), open: BTreeMap::new() }
    }

    /// Takes an event, before anything else does: what is released has its record in the bundle.
    ///
    /// # Errors
    /// What prevented it; nothing further may be released.
    pub fn event(&mut self, event: &Event) -> Result<(), RecorderError> {
        match &event.what {
            What::Begun { id, context, text, lane, log_index } => {
                let missing = || RecorderError::Event("a stream began without a record".into());
                let index = log_index.ok_or_else(missing)?;
                let lane = usize::from(*lane);
                of_lane(&mut self.lanes, lane)?.begin(index, id)?;
                self.contexts.entry(context.digest()).or_insert_with(|| context.bytes());
                self.open.insert(event.stream, Open { lane, begin: index, text: text.clone(), ..Open::default() });
            }
            What::Proposed(answer) => {
                self.open.entry(event.stream).or_default().answers.push((**answer).clone());
            }
            What::Determined(judged) => {
                if let Some(index) = judged.log_index {
                    let stream = self.open.entry(event.stream).or_default();
                    let lane = of_lane(&mut self.lanes, stream.lane)?;
                    let salt = lane.span(index, &judged.salt, &judged.inert, &judged.text)?;
                    stream.entries.insert(judged.determination.seq, (index, salt));
                }
            }
            What::Released { seqs, .. } => {
                let stream = self.open.entry(event.stream).or_default();
                for seq in seqs {
                    match stream.entries.get(seq) {
                        Some((index, salt)) => of_lane(&mut self.lanes, stream.lane)?.release(*index, *salt),
                        None => stream.early.push(*seq),
                    }
                }
                self.flush()?;
            }
            What::Ended { closing, .. } => {
                // A stream whose BEGIN was refused has no place in the log.
                let Some(stream) = self.open.remove(&event.stream) else { return Ok(()) };
                let lane = of_lane(&mut self.lanes, stream.lane)?;
                if let Some(closing) = closing
                    && let Some(index) = closing.log_index
                {
                    let salt = lane.span(index, &closing.salt, &closing.inert, "")?;
                    if stream.early.contains(&closing.seq) {
                        lane.release(index, salt);
                    }
                }
                lane.given(stream.begin, stream.given());
                lane.write_inputs()?;
            }
            What::Deferred { .. } | What::Expired { .. } | What::RolledBack { .. } | What::Drift { .. } => {}
        }
        Ok(())
    }

    /// What stands in the logs so far survives this process.
    fn flush(&mut self) -> Result<(), RecorderError> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).flush()?;
        Ok(self.lanes.iter_mut().try_for_each(LaneWriter::flush)?)
    }

    /// The session is over: writes what is left, and the manifest. Gives the bundle's folder.
    ///
    /// # Errors
    /// What could not be written.
    pub fn finish(mut self, anchors: &Anchors) -> Result<PathBuf, RecorderError> {
        self.flush()?;
        // Streams that never ended: what they were given is all that is known of them.
        for (_, stream) in std::mem::take(&mut self.open) {
            if let Some(lane) = self.lanes.get_mut(stream.lane) {
                lane.given(stream.begin, stream.given());
            }
        }
        let Self { writer, serial, lanes, contexts, logs, .. } = self;
        let mut given = Ok(());
        for lane in lanes {
            given = given.and(lane.finish(&writer, serial)?);
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
        let writer = Arc::into_inner(writer).ok_or_else(|| RecorderError::Event("the session still writes".into()))?;
        let folder = writer.folder().to_owned();
        writer.finish()?;
        given.map(|()| folder)
    }
}
