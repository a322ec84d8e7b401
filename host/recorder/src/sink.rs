//! What the session hands over: records, checkpoints and the notes of a witness, written as they come.

use crate::witness::Poster;
use portcullis_card::session::{RecordSink, Signed, SinkError};
use portcullis_core::wire::Record;
use portcullis_evidence::bundle::{self, BundleError, Writer};
use portcullis_evidence::cose;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};
use zerocopy::IntoBytes;

/// The log of each lane, and the heads under each checkpoint where there are several.
pub(crate) struct Logs {
    records: Vec<BufWriter<File>>,
    heads: Option<BufWriter<File>>,
}

impl Logs {
    pub(crate) fn create(writer: &Writer, lanes: u8) -> Result<Self, BundleError> {
        let records = (0..lanes).map(|lane| writer.file(&bundle::in_lane(bundle::RECORDS, lane)));
        let heads = (lanes > 1).then(|| writer.file(bundle::HEADS)).transpose()?;
        Ok(Self { records: records.collect::<Result<_, _>>()?, heads })
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.records.iter_mut().chain(&mut self.heads).try_for_each(Write::flush)
    }
}

/// Writes what the session hands over into the bundle, and shows it to the witness.
pub(crate) struct BundleSink {
    writer: Arc<Writer>,
    logs: Arc<Mutex<Logs>>,
    witness: Option<Poster>,
}

impl BundleSink {
    pub(crate) const fn new(writer: Arc<Writer>, logs: Arc<Mutex<Logs>>, witness: Option<Poster>) -> Self {
        Self { writer, logs, witness }
    }
}

impl RecordSink for BundleSink {
    fn record(&mut self, record: &Record) -> Result<(), SinkError> {
        let lane = usize::from(record.answer.lane);
        if let Some(witness) = &mut self.witness {
            witness.record(lane, record)?;
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
            // With one lane, every record is of that lane.
            None => vec![signed.checkpoint.size.get()],
        };
        if let Some(witness) = &mut self.witness {
            witness.checkpoint(sizes, message);
        }
        Ok(())
    }

    fn nonce(&mut self) -> Result<Option<u64>, SinkError> {
        let Some(witness) = &mut self.witness else { return Ok(None) };
        let mut nonce = None;
        while let Some(noted) = witness.post()? {
            self.writer.put(&bundle::witness(noted.cosigned.serial), noted.note.as_bytes())?;
            nonce = noted.cosigned.nonce;
        }
        Ok(nonce)
    }
}
