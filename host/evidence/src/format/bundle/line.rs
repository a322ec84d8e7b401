//! The JSON lines of a bundle, read one at a time.

use super::error::BundleError;
use super::name::line_max;
use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_core::hex::HexBytes;
use portcullis_core::json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io::{BufRead, Read};
use std::marker::PhantomData;

/// A line that belongs to one record.
pub trait IndexedLine {
    fn index(&self) -> u64;
}

/// A line of `streams.jsonl`: the caller's name for a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamLine {
    /// Log index of the BEGIN record.
    pub index: u64,
    /// Number of the stream: the count of earlier streams in its lane.
    pub stream: u64,
    /// Id of the text in the input.
    pub id: String,
}

/// A line of `inputs.jsonl`: the input of a stream. For a replay, policy, context document, anchor stores and salts are
/// needed, too.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputLine {
    /// Log index of the BEGIN record.
    pub index: u64,
    /// The input, kept byte for byte for the replay.
    pub input: Box<RawValue>,
}

/// A line of `spans.jsonl`: the text that a record commits to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanLine {
    /// Log index of the record.
    pub index: u64,
    pub salt: HexBytes<16>,
    #[serde(default, skip_serializing_if = "SpanKind::is_text")]
    pub kind: SpanKind,
    /// Inert text before the span; for END, the inert text at the end of the stream.
    pub held: String,
    pub text: String,
}

/// A line of `receipts.jsonl`: the data that the reader of a released span received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Serial of the session's ticket.
    pub serial: u64,
    pub lane: u8,
    /// Log index of the record.
    pub index: u64,
    pub salt: HexBytes<16>,
    #[serde(default, skip_serializing_if = "SpanKind::is_text")]
    pub kind: SpanKind,
}

impl IndexedLine for StreamLine {
    fn index(&self) -> u64 {
        self.index
    }
}

impl IndexedLine for InputLine {
    fn index(&self) -> u64 {
        self.index
    }
}

impl IndexedLine for SpanLine {
    fn index(&self) -> u64 {
        self.index
    }
}

impl IndexedLine for Receipt {
    fn index(&self) -> u64 {
        self.index
    }
}

impl Receipt {
    /// Parses a receipt. Errors: any other JSON text.
    pub fn parse(text: &[u8]) -> serde_json::Result<Self> {
        json::from_slice(text)
    }
}

impl SpanLine {
    #[must_use]
    pub fn commitment(&self) -> [u8; 32] {
        commitment(self.kind, &self.salt.0, &[self.held.as_bytes(), self.text.as_bytes()])
    }
}

/// Reads the lines of one lane's file. Their indices ascend strictly, and the caller requests them in ascending order.
pub struct IndexedLineReader<'a, T> {
    name: String,
    from: Option<Box<dyn BufRead + 'a>>,
    next: Option<T>,
    last: Option<u64>,
    started: bool,
    line: PhantomData<T>,
}

impl<'a, T: IndexedLine + DeserializeOwned> IndexedLineReader<'a, T> {
    /// Lines from `from`. A missing file has no lines.
    pub(super) fn new(name: String, from: Option<Box<dyn BufRead + 'a>>) -> Self {
        Self { name, from, next: None, last: None, started: false, line: PhantomData }
    }

    /// The line about record `index`; `None` if the next line is about another record. Errors: a line that is
    /// malformed, out of order or too long.
    pub fn about(&mut self, index: u64) -> Result<Option<T>, BundleError> {
        self.start()?;
        match &self.next {
            Some(line) if line.index() == index => {
                let line = self.next.take();
                self.next = self.read()?;
                Ok(line)
            }
            _ => Ok(None),
        }
    }

    /// Index of the next line that [`IndexedLineReader::about`] has not returned; `None` after the last line. Errors:
    /// as [`IndexedLineReader::about`].
    pub fn rest(&mut self) -> Result<Option<u64>, BundleError> {
        self.start()?;
        Ok(self.next.as_ref().map(IndexedLine::index))
    }

    fn start(&mut self) -> Result<(), BundleError> {
        if !self.started {
            self.started = true;
            self.next = self.read()?;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Option<T>, BundleError> {
        let Some(from) = self.from.as_mut() else { return Ok(None) };
        let mut line = Vec::new();
        from.take(line_max(&self.name)).read_until(b'\n', &mut line).map_err(BundleError::io(&self.name))?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            return Err(BundleError::content(&self.name, "a line that is too long, or without its end"));
        }
        let line: T = json::from_slice(&line).map_err(|error| BundleError::content(&self.name, error))?;
        if self.last.is_some_and(|last| last >= line.index()) {
            return Err(BundleError::content(&self.name, format!("line {} is out of order", line.index())));
        }
        self.last = Some(line.index());
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> IndexedLineReader<'_, StreamLine> {
        IndexedLineReader::new("streams.jsonl".to_owned(), Some(Box::new(text.as_bytes())))
    }

    #[test]
    fn in_order_and_asked_for() {
        let text = "{\"index\":1,\"stream\":0,\"id\":\"a\"}\n{\"index\":4,\"stream\":1,\"id\":\"b\"}\n";
        let mut all = lines(text);
        assert!(all.about(0).unwrap().is_none());
        assert_eq!(all.about(1).unwrap().unwrap().id, "a");
        assert!(all.about(2).unwrap().is_none());
        assert_eq!(all.rest().unwrap(), Some(4));
        assert_eq!(all.about(4).unwrap().unwrap().id, "b");
        assert_eq!(all.rest().unwrap(), None);
    }

    #[test]
    fn strict() {
        let good = "{\"index\":1,\"stream\":0,\"id\":\"a\"}\n";
        let twice = good.repeat(2);
        let long = format!("{{\"index\":1,\"stream\":0,\"id\":\"{}\"}}\n", "a".repeat(1 << 20));
        for (wrong, at) in [
            ("{\"index\":1,\"stream\":0,\"id\":\"a\"}", 0),
            ("\n", 0),
            ("{\"index\":1,\"stream\":0,\"id\":\"a\",\"x\":1}\n", 0),
            ("{\"index\":1,\"index\":1,\"stream\":0,\"id\":\"a\"}\n", 0),
            ("{\"index\":1.0,\"stream\":0,\"id\":\"a\"}\n", 0),
            ("{\"index\":1,\"stream\":0,\"id\":\"a\"} {}\n", 0),
            ("{\"index\":-1,\"stream\":0,\"id\":\"a\"}\n", 0),
            ("[1,0,\"a\"]\n", 0),
            (&twice, 1),
            (&long, 0),
        ] {
            assert!(lines(wrong).about(at).is_err(), "{}", &wrong[..40.min(wrong.len())]);
        }
    }
}
