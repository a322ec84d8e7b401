//! The texts that a bundle contains.

use portcullis_evidence::bundle::{InputLine, Receipt, SpanLine};
use portcullis_sealed::{CommitmentOpening, TextSealer};
use serde::Deserialize;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

/// Which texts a bundle contains: spans with their salts, receipts, inputs of streams, their context documents, and the
/// anchor stores in inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum TextRetention {
    /// All texts.
    #[default]
    Plain,
    /// The bundle contains no texts; the texts of all streams are withheld.
    None,
    /// The bundle contains no texts. A file beside the bundle contains them, sealed to the X25519 key in the given
    /// file.
    Sealed(PathBuf),
}

impl FromStr for TextRetention {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "plain" => Ok(Self::Plain),
            "none" => Ok(Self::None),
            _ => match text.strip_prefix("sealed:").filter(|file| !file.is_empty()) {
                Some(file) => Ok(Self::Sealed(file.into())),
                None => Err(format!("`{text}` is not `plain`, `none` or `sealed:FILE`")),
            },
        }
    }
}

impl TryFrom<String> for TextRetention {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for TextRetention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::None => f.write_str("none"),
            Self::Sealed(file) => write!(f, "sealed:{}", file.display()),
        }
    }
}

/// The destination of openings. An opening is a text with the data that its commitment needs.
pub(crate) enum OpeningSink {
    /// The bundle.
    Bundle,
    /// The openings are dropped.
    Nowhere,
    /// The file of sealed texts beside the bundle.
    Sealed(Box<TextSealer>),
}

impl OpeningSink {
    /// Whether the bundle contains the openings.
    pub(crate) const fn are_in_bundle(&self) -> bool {
        matches!(self, Self::Bundle)
    }

    /// Adds an opening of the stream whose BEGIN is record `begin` of `lane`, if the bundle does not contain openings.
    fn take(&mut self, lane: usize, begin: u64, opening: CommitmentOpening<'_>) -> io::Result<()> {
        match self {
            Self::Bundle | Self::Nowhere => Ok(()),
            Self::Sealed(sealer) => sealer.seal(lane_number(lane)?, begin, opening),
        }
    }

    pub(crate) fn context(&mut self, lane: usize, begin: u64, document: &[u8]) -> io::Result<()> {
        self.take(lane, begin, CommitmentOpening::Context(document))
    }

    pub(crate) fn store(&mut self, lane: usize, begin: u64, store: &[u8]) -> io::Result<()> {
        self.take(lane, begin, CommitmentOpening::Store(store))
    }

    pub(crate) fn span(&mut self, lane: usize, begin: u64, line: &SpanLine) -> io::Result<()> {
        self.take(lane, begin, CommitmentOpening::Span(line))
    }

    pub(crate) fn input(&mut self, lane: usize, line: &InputLine) -> io::Result<()> {
        self.take(lane, line.index, CommitmentOpening::Input(line))
    }

    pub(crate) fn receipt(&mut self, lane: usize, begin: u64, receipt: &Receipt) -> io::Result<()> {
        self.take(lane, begin, CommitmentOpening::Receipt(receipt))
    }

    /// Ends a stream.
    pub(crate) fn end(&mut self, lane: usize, begin: u64) {
        if let (Self::Sealed(sealer), Ok(lane)) = (self, lane_number(lane)) {
            sealer.end(lane, begin);
        }
    }

    /// Writes buffered openings to the operating system.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Bundle | Self::Nowhere => Ok(()),
            Self::Sealed(sealer) => sealer.flush(),
        }
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Bundle | Self::Nowhere => Ok(()),
            Self::Sealed(sealer) => sealer.finish(),
        }
    }

    /// Removes the file of sealed texts, because the session did not open.
    pub(crate) fn discard(self) -> io::Result<()> {
        match self {
            Self::Bundle | Self::Nowhere => Ok(()),
            Self::Sealed(sealer) => sealer.discard(),
        }
    }
}

fn lane_number(lane: usize) -> io::Result<u8> {
    u8::try_from(lane).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for text in ["plain", "none", "sealed:auditor.pub"] {
            assert_eq!(text.parse::<TextRetention>().unwrap().to_string(), text);
        }
        for wrong in ["", "sealed", "sealed:", "Plain", "open"] {
            assert!(wrong.parse::<TextRetention>().unwrap_err().contains("sealed:FILE"), "{wrong}");
        }
    }
}
