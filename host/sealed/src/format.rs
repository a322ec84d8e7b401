//! The file format: a head, then frames.
//!
//! ```text
//! head     magic 8 | ticket digest 32 | SHA-256 of the public key 32
//! frame    length u32 | lane u8 | log index of BEGIN u64 | rest
//! ```
//!
//! All integers are little-endian. `length` is the number of bytes that follow it. In a stream's first frame, the rest
//! is the encapsulated key. In each later frame, the rest is a sealed message: one byte with the kind of the opening,
//! then its content. An opening is a part of the stream's data that the holder of the key can open.

use hpke::aead::{AeadCtxR, AeadCtxS, ChaCha20Poly1305};
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;

/// Key encapsulation: DHKEM(X25519, HKDF-SHA256).
pub(crate) type Kem = X25519HkdfSha256;
/// Key derivation: HKDF-SHA256.
pub(crate) type Kdf = HkdfSha256;
/// Encryption: ChaCha20-Poly1305.
pub(crate) type Aead = ChaCha20Poly1305;
pub(crate) type Sender = AeadCtxS<Aead, Kdf, Kem>;
pub(crate) type Receiver = AeadCtxR<Aead, Kdf, Kem>;

pub(crate) const MAGIC: [u8; 8] = *b"PTCSEAL1";
pub(crate) const HEAD_BYTES: usize = 72;
/// Number of bytes of a frame between its length field and its rest: lane and log index.
pub(crate) const PLACE_BYTES: usize = 9;
/// Number of bytes of an encapsulated key, and of a public key.
pub(crate) const KEY_BYTES: usize = 32;
/// Greatest length of an opening's content in bytes; no line of a bundle is longer.
pub(crate) const CONTENT_MAX: usize = 64 << 20;
/// Greatest length of a frame in bytes, without its length field: place, kind, content and tag.
pub(crate) const FRAME_MAX: usize = PLACE_BYTES + 1 + CONTENT_MAX + 16;

const DOMAIN: &[u8] = b"portcullis/sealed/1";

/// Identifies a stream: its lane, and the log index of its BEGIN record.
pub(crate) type StreamAt = (u8, u64);

/// The kind of an opening. HPKE binds it to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpeningKind {
    Context = 0,
    Store = 1,
    Span = 2,
    Input = 3,
    Receipt = 4,
}

impl OpeningKind {
    pub(crate) const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Context,
            1 => Self::Store,
            2 => Self::Span,
            3 => Self::Input,
            4 => Self::Receipt,
            _ => return None,
        })
    }
}

/// The `info` of a stream's HPKE context: the session's ticket digest, and the stream's lane and log index.
pub(crate) fn info(ticket: &[u8; 32], (lane, begin): StreamAt) -> Vec<u8> {
    [DOMAIN, ticket.as_slice(), &[lane], &begin.to_le_bytes()].concat()
}

/// A stream's lane and log index, as a frame stores them.
pub(crate) fn place((lane, begin): StreamAt) -> [u8; PLACE_BYTES] {
    let mut bytes = [0; PLACE_BYTES];
    let [first, rest @ ..] = &mut bytes;
    *first = lane;
    *rest = begin.to_le_bytes();
    bytes
}
