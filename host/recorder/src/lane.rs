//! Lines about the records of one lane.

use crate::RecorderError;
use portcullis_core::commitment::SpanKind;
use portcullis_evidence::bundle::{self, BundleError, InputLine, LineFile, Receipt, SpanLine, Writer};
use portcullis_evidence::hex::{self, Hex};
use portcullis_gate::replay::Input;
use std::collections::BTreeMap;

/// Files of lines that hold texts, or show what they are.
struct TextLines {
    spans: LineFile,
    inputs: LineFile,
    /// In the order of release, until the end.
    receipts: LineFile,
}

/// Writes the lines about the records of one lane.
pub(crate) struct LaneWriter {
    lane: u8,
    serial: u64,
    begun: u64,
    streams: LineFile,
    /// Absent: the bundle holds no texts.
    texts: Option<TextLines>,
    /// What ended streams were given, until every stream that began before has ended; by the index of BEGIN.
    given: BTreeMap<u64, Option<Input>>,
}

impl LaneWriter {
    /// The files of `lane`; with texts, or without.
    pub(crate) fn create(writer: &Writer, lane: u8, serial: u64, with_texts: bool) -> Result<Self, BundleError> {
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

    /// A stream began with record `index`.
    pub(crate) fn begin(&mut self, index: u64, id: &str) -> Result<(), BundleError> {
        self.streams.push(&bundle::StreamLine { index, stream: self.begun, id: id.to_owned() })?;
        self.begun += 1;
        if self.texts.is_some() {
            self.given.insert(index, None);
        }
        Ok(())
    }

    /// The line about a span, and the receipt of whoever reads it.
    pub(crate) fn span(
        &mut self,
        index: u64,
        salt: &str,
        kind: SpanKind,
        held: &str,
        text: &str,
    ) -> Result<(SpanLine, Receipt), RecorderError> {
        let salt = hex::decode(salt).ok_or_else(|| RecorderError::Event(format!("record {index} has no salt")))?;
        let salt = Hex(salt);
        let line = SpanLine { index, salt, kind, held: held.to_owned(), text: text.to_owned() };
        if let Some(texts) = &mut self.texts {
            texts.spans.push(&line)?;
        }
        Ok((line, Receipt { serial: self.serial, lane: self.lane, index, salt, kind }))
    }

    /// The span of that receipt is released.
    pub(crate) fn release(&mut self, receipt: &Receipt) -> Result<(), BundleError> {
        self.texts.as_mut().map_or(Ok(()), |texts| texts.receipts.push(receipt))
    }

    pub(crate) fn receipts(&self) -> u64 {
        self.texts.as_ref().map_or(0, |texts| texts.receipts.len())
    }

    /// The stream that began with record `begin` was given `input`, and is over.
    pub(crate) fn given(&mut self, begin: u64, input: Input) {
        if self.texts.is_some() {
            self.given.insert(begin, Some(input));
        }
    }

    /// Inputs are in the order in which their streams began. One that cannot be written is left out: it is withheld
    /// then.
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

    /// Writes what is left. Gives the first problem, after everything else was tried.
    pub(crate) fn finish(mut self, writer: &Writer) -> Result<(), RecorderError> {
        let given = self.write_inputs();
        self.flush()?;
        if self.texts.is_some() {
            writer.sort_receipts(self.lane)?;
        }
        given
    }
}

/// The line about what the stream was given that began with record `index`.
pub(crate) fn input_line(index: u64, input: &Input) -> Result<InputLine, RecorderError> {
    Ok(InputLine { index, input: serde_json::value::to_raw_value(input)? })
}
