//! Writes the output of a session as it arrives: records, checkpoints and witness notes.

use crate::issuer::Reporter;
use crate::witness::Poster;
use portcullis_card::driver::{CardSignedCheckpoint, RecordSink, SinkError};
use portcullis_core::wire::{LaneHead, Life, Record};
use portcullis_evidence::bundle::{self, BundleError, BundleWriter, GrowingFile};
use portcullis_evidence::cose;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use zerocopy::IntoBytes;

/// The log of each lane; with several lanes, also the heads under each checkpoint.
pub(crate) struct LaneLogFiles {
    records: Vec<GrowingFile>,
    heads: Option<GrowingFile>,
}

impl LaneLogFiles {
    pub(crate) fn create(writer: &BundleWriter, lanes: u8) -> Result<Self, BundleError> {
        let records = (0..lanes).map(|lane| writer.grow(&bundle::in_lane(bundle::RECORDS, lane)));
        let heads = (lanes > 1).then(|| writer.grow(bundle::HEADS)).transpose()?;
        Ok(Self { records: records.collect::<Result<_, _>>()?, heads })
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.records.iter_mut().chain(&mut self.heads).try_for_each(GrowingFile::flush)
    }

    /// Whether each lane has at least the number of records in `sizes`.
    fn hold(&self, sizes: &[u64]) -> bool {
        self.records.iter().zip(sizes).all(|(log, size)| log.len() / Record::BYTES as u64 >= *size)
    }

    /// Syncs the files, so that they survive a loss of power.
    fn sync(&mut self) -> io::Result<()> {
        self.records.iter_mut().chain(&mut self.heads).try_for_each(GrowingFile::sync)
    }
}

/// A signed checkpoint that arrived before some of its records; the card writes the two into different rings.
struct PendingCheckpoint {
    serial: u64,
    state: Life,
    /// Number of records that the checkpoint covers in each lane.
    sizes: Vec<u64>,
    heads: Vec<LaneHead>,
    message: Vec<u8>,
}

/// The outside parties that receive checkpoints while the session runs.
#[derive(Default)]
pub(crate) struct Parties {
    pub(crate) witness: Option<Poster>,
    pub(crate) issuer: Option<Arc<Reporter>>,
}

/// Writes the session's output to the bundle, and gives checkpoints to the outside parties.
pub(crate) struct BundleSink {
    writer: Arc<BundleWriter>,
    logs: Arc<Mutex<LaneLogFiles>>,
    parties: Parties,
    waiting: VecDeque<PendingCheckpoint>,
}

impl BundleSink {
    pub(crate) const fn new(writer: Arc<BundleWriter>, logs: Arc<Mutex<LaneLogFiles>>, parties: Parties) -> Self {
        Self { writer, logs, parties, waiting: VecDeque::new() }
    }

    /// Writes the checkpoints whose records have all arrived. The records are synced first, so that the disk never has
    /// a checkpoint without them.
    fn write_checkpoints(&mut self) -> Result<(), SinkError> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(next) = self.waiting.pop_front_if(|next| logs.hold(&next.sizes)) {
            if let Some(heads) = &mut logs.heads {
                heads.push(next.heads.as_bytes())?;
            }
            logs.sync()?;
            self.writer.put_synced(&bundle::checkpoint(next.serial), &next.message)?;
            if let Some(issuer) = &self.parties.issuer {
                issuer.checkpoint(next.state, &next.message)?;
            }
            if let Some(witness) = &mut self.parties.witness {
                witness.checkpoint(next.sizes, next.message);
            }
        }
        Ok(())
    }
}

impl RecordSink for BundleSink {
    fn record(&mut self, record: &Record) -> Result<(), SinkError> {
        let lane = usize::from(record.answer.lane);
        if let Some(witness) = &mut self.parties.witness {
            witness.record(lane, record)?;
        }
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let log = logs.records.get_mut(lane).ok_or("a record of a lane that the card does not have")?;
        log.push(record.as_bytes())?;
        drop(logs);
        if self.waiting.is_empty() { Ok(()) } else { self.write_checkpoints() }
    }

    fn checkpoint(&mut self, signed: &CardSignedCheckpoint) -> Result<(), SinkError> {
        let bytes = signed.checkpoint.as_bytes().try_into()?;
        let message = cose::encode(bytes, signed.signature.as_ref().try_into()?);
        let lanes = self.logs.lock().unwrap_or_else(PoisonError::into_inner).records.len();
        // With one lane, the size of the checkpoint is the size of the lane.
        let sizes = match lanes {
            1 => vec![signed.checkpoint.size.get()],
            lanes if signed.heads.len() != lanes => return Err("a checkpoint without the heads of its lanes".into()),
            _ => signed.heads.iter().map(|head| head.size.get()).collect(),
        };
        let (serial, state) = (signed.checkpoint.serial.get(), Life::try_from(signed.checkpoint.state)?);
        self.waiting.push_back(PendingCheckpoint { serial, state, sizes, heads: signed.heads.clone(), message });
        self.write_checkpoints()
    }

    fn nonce(&mut self) -> Result<Option<u64>, SinkError> {
        let Some(witness) = &mut self.parties.witness else { return Ok(None) };
        let mut nonce = None;
        while let Some(noted) = witness.post()? {
            self.writer.put_synced(&bundle::witness(noted.cosigned.serial), noted.note.as_bytes())?;
            nonce = noted.cosigned.nonce;
        }
        Ok(nonce)
    }
}
