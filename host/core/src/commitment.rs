//! The commitment to a span: the salted hash that binds a descriptor to bytes without revealing them.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The kind of a span. Each kind has its own form of commitment, so text never counts as an admitted tool call, even
/// with the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    #[default]
    Text,
    /// A tool call, in its canonical text.
    Call,
}

/// Number of hashed bytes before the text: tag, salt, length.
pub const HEAD_BYTES: usize = 38;

impl SpanKind {
    const ALL: [Self; 2] = [Self::Text, Self::Call];

    /// Whether the kind is text, which is the default for documents that do not name a kind.
    #[must_use]
    pub const fn is_text(&self) -> bool {
        matches!(self, Self::Text)
    }

    const fn tag(self) -> &'static [u8] {
        match self {
            Self::Text => b"portcullis/span/1\0",
            Self::Call => b"portcullis/call/1\0",
        }
    }
}

fn length_of(parts: &[&[u8]]) -> u32 {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// SHA-256 over tag, salt, length (u32) and the concatenation of `parts`: held inert bytes first, then the span.
/// The length saturates; texts of 4 GiB or more do not fit any card.
#[must_use]
pub fn commitment(kind: SpanKind, salt: &[u8; 16], parts: &[&[u8]]) -> [u8; 32] {
    let length = length_of(parts).to_le_bytes();
    let head = Sha256::new().chain_update(kind.tag()).chain_update(salt).chain_update(length);
    parts.iter().fold(head, |hash, part| hash.chain_update(part)).finalize().into()
}

/// The bytes that [`commitment`] hashes. For a card with a text lane, the host writes them into the text window.
#[must_use]
pub fn preimage(kind: SpanKind, salt: &[u8; 16], parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = kind.tag().to_vec();
    bytes.extend_from_slice(salt);
    bytes.extend_from_slice(&length_of(parts).to_le_bytes());
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

/// Reads `head`, the first bytes of a [`preimage`]: the kind of the span, and the number of bytes after the head.
/// `None` for an unknown tag.
#[must_use]
pub fn text_length(head: &[u8; HEAD_BYTES]) -> Option<(SpanKind, u32)> {
    let (tag, rest) = head.split_first_chunk::<18>()?;
    let kind = SpanKind::ALL.into_iter().find(|kind| kind.tag() == tag)?;
    rest.last_chunk().map(|length| (kind, u32::from_le_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    #[test]
    fn known_answers() {
        // The expected digest: printf 'portcullis/span/1\0' + 16 zero bytes + 03000000 + 'abc' | sha256sum
        let text = commitment(SpanKind::Text, &[0; 16], &[b"abc"]);
        assert_eq!(hex::encode(&text), "8b5c54a92d839b9dd787dce455386534e1e794fb7326b367ab61d60faa6b86d0");
        assert_eq!(text, commitment(SpanKind::Text, &[0; 16], &[b"a", b"bc"]), "parts are concatenated");
        assert_ne!(text, commitment(SpanKind::Text, &[0; 16], &[b"abd"]));
        for kind in SpanKind::ALL {
            let bytes = preimage(kind, &[9; 16], &[b"a", b"bc"]);
            assert_eq!(Sha256::digest(&bytes)[..], commitment(kind, &[9; 16], &[b"abc"]));
            assert_eq!(text_length(bytes.first_chunk().unwrap()), Some((kind, 3)));
        }
        assert_eq!(text_length(&[b'p'; HEAD_BYTES]), None, "another tag");
        // The expected digest: printf 'portcullis/call/1\0' + 16 zero bytes + 03000000 + 'abc' | sha256sum
        let call = commitment(SpanKind::Call, &[0; 16], &[b"abc"]);
        assert_eq!(hex::encode(&call), "84afe202de93a59b7007f83c3135c5a14e525302337ccd32c3a13e34c5d20932");
    }
}
