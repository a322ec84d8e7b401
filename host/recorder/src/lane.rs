//! Lines about the records of one lane.

use crate::RecorderError;
use portcullis_core::commitment::SpanKind;
use portcullis_evidence::bundle::{self, BundleError, LineFile, Receipt, Writer};
use portcullis_evidence::hex::{self, Hex};
use portcullis_gate::replay::Input;
use std::collections::BTreeMap;

/// Writes the lines about the records of one lane.
pub(crate) struct LaneWriter {
    lane: u8,
    serial: u64,
    begun: u64,
    streams: LineFile,
    spans: LineFile,
    inputs: LineFile,
    /// Inputs of ended streams by the index of BEGIN, kept until every stream that began earlier has ended.
    given: BTreeMap<u64, Option<Input>>,
    /// In the order of release, until the end.
    receipts: LineFile,
}

impl LaneWriter {
    pub(crate) fn create(writer: &Writer, lane: u8, serial: u64) -> Result<Self, BundleError> {
        Ok(Self {
            lane,
            serial,
            begun: 0,
            streams: writer.lines(bundle::STREAMS, lane)?,
            spans: writer.lines(bundle::SPANS, lane)?,
            inputs: writer.lines(bundle::INPUTS, lane)?,
            given: BTreeMap::new(),
            receipts: writer.lines(bundle::RECEIPTS, lane)?,
        })
    }

    /// A stream began with record `index`.
    pub(crate) fn begin(&mut self, index: u64, id: &str) -> Result<(), BundleError> {
        self.streams.push(&bundle::StreamLine { index, stream: self.begun, id: id.to_owned() })?;
        self.begun += 1;
        self.given.insert(index, None);
        Ok(())
    }

    pub(crate) fn span(
        &mut self,
        index: u64,
        salt: &str,
        kind: SpanKind,
        held: &str,
        text: &str,
    ) -> Result<Receipt, RecorderError> {
        let salt = hex::decode(salt).ok_or_else(|| RecorderError::Event(format!("record {index} has no salt")))?;
        let salt = Hex(salt);
        self.spans.push(&bundle::SpanLine { index, salt, kind, held: held.to_owned(), text: text.to_owned() })?;
        Ok(Receipt { serial: self.serial, lane: self.lane, index, salt, kind })
    }

    /// The span of that receipt is released.
    pub(crate) fn release(&mut self, receipt: &Receipt) -> Result<(), BundleError> {
        self.receipts.push(receipt)
    }

    pub(crate) fn receipts(&self) -> u64 {
        self.receipts.len()
    }

    /// The stream that began with record `begin` was given `input`, and is over.
    pub(crate) fn given(&mut self, begin: u64, input: Input) {
        self.given.insert(begin, Some(input));
    }

    /// Inputs are in the order in which their streams began. One that cannot be written is left out: it is withheld
    /// then.
    pub(crate) fn write_inputs(&mut self) -> Result<(), RecorderError> {
        let mut written = Ok(());
        while let Some(entry) = self.given.first_entry()
            && entry.get().is_some()
        {
            let index = *entry.key();
            if let Some(input) = entry.remove() {
                let input = serde_json::value::to_raw_value(&input)?;
                let line = self.inputs.push(&bundle::InputLine { index, input });
                written = written.and(line.map_err(RecorderError::from));
            }
        }
        written
    }

    pub(crate) fn flush(&mut self) -> Result<(), BundleError> {
        [&mut self.streams, &mut self.inputs, &mut self.spans, &mut self.receipts]
            .into_iter()
            .try_for_each(LineFile::flush)
    }

    /// Writes what is left. Gives the first problem, after everything else was tried.
    pub(crate) fn finish(mut self, writer: &Writer) -> Result<(), RecorderError> {
        let given = self.write_inputs();
        self.flush()?;
        writer.sort_receipts(self.lane)?;
        given
    }
}
