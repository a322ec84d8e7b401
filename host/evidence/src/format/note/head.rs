//! C2SP `tlog-checkpoint`: the note's text about a log, without extension lines, as the specification recommends.

use base64ct::{Base64, Encoding};

use super::error::NoteError;
use crate::format::ticket::ChainId;
use crate::format::tree::Hash;
use portcullis_core::hex;

/// Beginning of the names of the logs that witnesses keep of cards.
pub const ORIGIN: &str = "portcullis/";

/// State of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTreeHead {
    pub origin: String,
    /// Number of entries.
    pub size: u64,
    /// Root of the tree over the entries (RFC 9162, 2.1.1).
    pub root: Hash,
}

impl LogTreeHead {
    /// State of a witness's log for a chain of sessions. The origin names the seat only if the seat is not 0.
    #[must_use]
    pub fn of_chain(chain: ChainId, size: u64, root: Hash) -> Self {
        let key = hex::encode(&chain.key);
        let origin = if chain.seat == 0 { format!("{ORIGIN}{key}") } else { format!("{ORIGIN}{key}/{}", chain.seat) };
        Self { origin, size, root }
    }

    /// The chain of sessions that the log is for. Errors: [`NoteError::Origin`].
    pub fn chain(&self) -> Result<ChainId, NoteError> {
        let name = self.origin.strip_prefix(ORIGIN).ok_or(NoteError::Origin)?;
        let (key, seat) = match name.split_once('/') {
            None => (name, Some(0)),
            Some((key, seat)) => {
                (key, decimal(seat).and_then(|seat| u16::try_from(seat).ok()).filter(|seat| *seat != 0))
            }
        };
        hex::decode(key).zip(seat).map(|(key, seat)| ChainId { key, seat }).ok_or(NoteError::Origin)
    }

    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, Base64::encode_string(&self.root))
    }

    /// Parses a note's text. Errors: [`NoteError::Format`] for anything that [`LogTreeHead::text`] would not write.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let wrong = NoteError::Format("checkpoint of a log (C2SP tlog-checkpoint)");
        let mut lines = text.strip_suffix('\n').ok_or(wrong.clone())?.split('\n');
        let (Some(origin), Some(size), Some(root), None) = (lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(wrong);
        };
        let root = hash(root).filter(|_| !origin.is_empty()).ok_or(wrong.clone())?;
        Ok(Self { origin: origin.to_owned(), size: decimal(size).ok_or(wrong)?, root })
    }
}

/// Parses a decimal number: digits only, without a leading zero except in `0`.
#[must_use]
pub fn decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

/// Parses a hash in base64 (RFC 4648, section 4).
#[must_use]
pub fn hash(text: &str) -> Option<Hash> {
    let mut out = [0; 32];
    (Base64::decode(text, &mut out).ok()?.len() == out.len()).then_some(out)
}
