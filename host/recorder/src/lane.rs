//! Writes the lines about the records of one lane.

use crate::RecorderError;
use portcullis_core::commitment::SpanKind;
use portcullis_evidence::bundle::{self, BundleError, BundleWriter, InputLine, LineFile, Receipt, SpanLine};
use portcullis_evidence::hex::{self, HexBytes};
use portcullis_gate::replay::ReplayInput;
use std::collections::BTreeMap;

/// Files whose lines contain texts or data about texts.
struct TextLines {
    spans: LineFile,
    inputs: LineFile,
    /// Receipts in the order of release; the file is sorted at the end.
    receipts: LineFile,
}

pub(crate) struct LaneWriter {
    lane: u8,
    serial: u64,
    begun: u64,
    streams: LineFile,
    /// `None` if the bundle contains no texts.
    texts: Option<TextLines>,
    /// Inputs by index of BEGIN. An input waits until every stream that began earlier has ended.
    given: BTreeMap<u64, Option<ReplayInput>>,
}

impl LaneWriter {
    /// Creates the files of `lane`, with or without those for texts.
    pub(crate) fn create(writer: &BundleWriter, lane: u8, serial: u64, with_texts: bool) -> Result<Self, BundleError> {
        let streams = writer.lines(bundle::STREAMS, lane)?;
        let texts = || {
            Ok(TextLines {
                spans: writer.lines(bundle::SPANS, lane)?,
                inputs: writer.lines(bundle::INPUTS, lane)?,
                receipts: writer.lines(bundle::RECEIPTS, lane)?,
            })
        };
        let texts = with_texts.then(texts).transpose()?;
        Ok(Self { lane, serial, begun: 0, streams, texts, given: BTreeMap::new() })
    }

    /// Writes the line for a stream whose BEGIN is record `index`.
    pub(crate) fn begin(&mut self, index: u64, id: &str) -> Result<(), BundleError> {
        self.streams.push(&bundle::StreamLine { index, stream: self.begun, id: id.to_owned() })?;
        self.begun += 1;
        if self.texts.is_some() {
            self.given.insert(index, None);
        }
        Ok(())
    }

    /// Writes the line for a span; returns it with the receipt.
    pub(crate) fn span(
        &mut self,
        index: u64,
        salt: &str,
        kind: SpanKind,
        held: &str,
        text: &str,
    ) -> Result<(SpanLine, Receipt), RecorderError> {
        let salt = hex::decode(salt).ok_or_else(|| RecorderError::Event(format!("record {index} has no salt")))?;
        let salt = HexBytes(salt);
        let line = SpanLine { index, salt, kind, held: held.to_owned(), text: text.to_owned() };
        if let Some(texts) = &mut self.texts {
            texts.spans.push(&line)?;
        }
        Ok((line, Receipt { serial: self.serial, lane: self.lane, index, salt, kind }))
    }

    /// Writes the receipt of a released span.
    pub(crate) fn release(&mut self, receipt: &Receipt) -> Result<(), BundleError> {
        self.texts.as_mut().map_or(Ok(()), |texts| texts.receipts.push(receipt))
    }

    pub(crate) fn receipts(&self) -> u64 {
        self.texts.as_ref().map_or(0, |texts| texts.receipts.len())
    }

    /// Sets the input of the stream whose BEGIN is record `begin`. The caller ensures that the stream has ended.
    pub(crate) fn given(&mut self, begin: u64, input: ReplayInput) {
        if self.texts.is_some() {
            self.given.insert(begin, Some(input));
        }
    }

    /// Writes inputs in the order of the BEGIN records. An input that is too long is left out, and then counts as
    /// withheld.
    pub(crate) fn write_inputs(&mut self) -> Result<(), RecorderError> {
        let mut written = Ok(());
        while let Some(entry) = self.given.first_entry()
            && entry.get().is_some()
        {
            let index = *entry.key();
            if let (Some(input), Some(texts)) = (entry.remove(), &mut self.texts) {
                let line = texts.inputs.push(&input_line(index, &input)?);
                written = written.and(line.map_err(RecorderError::from));
            }
        }
        written
    }

    pub(crate) fn flush(&mut self) -> Result<(), BundleError> {
        self.streams.flush()?;
        let Some(TextLines { spans, inputs, receipts }) = &mut self.texts else { return Ok(()) };
        [inputs, spans, receipts].into_iter().try_for_each(LineFile::flush)
    }

    /// Writes the remaining lines. An error of the inputs is returned only after the other files are written.
    pub(crate) fn finish(mut self, writer: &BundleWriter) -> Result<(), RecorderError> {
        let given = self.write_inputs();
        self.flush()?;
        if self.texts.is_some() {
            writer.sort_receipts(self.lane)?;
        }
        given
    }
}

/// The line with the input of the stream whose BEGIN is record `index`.
pub(crate) fn input_line(index: u64, input: &ReplayInput) -> Result<InputLine, RecorderError> {
    Ok(InputLine { index, input: serde_json::value::to_raw_value(input)? })
}
