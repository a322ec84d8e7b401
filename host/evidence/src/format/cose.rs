//! COSE_Sign1 (RFC 9052, 4.2) of a checkpoint, in the only encoding that cards and this project use.
//!
//! ```text
//! message  d2 84 47 a1013a00011170 a0 58c0 <checkpoint 192> 5942c0 <signature 17088>           17,296 bytes
//! signed 84 6a "Signature1" 47 a1013a00011170 40 58c0 <checkpoint 192> 215 bytes (RFC 9052, 4.4)
//! ```
//! The protected header is `{1: -70001}`. COSE has no algorithm number for SLH-DSA yet, so -70001 is from the range for
//! private use.

use portcullis_core::wire::{Checkpoint, SIGNATURE_BYTES};

pub const MESSAGE_BYTES: usize = HEAD.len() + Checkpoint::BYTES + MIDDLE.len() + SIGNATURE_BYTES;
/// Bytes that the card signs.
pub const SIGNED_BYTES: usize = SIGNED_HEAD.len() + Checkpoint::BYTES;

const HEAD: [u8; 13] = [0xd2, 0x84, 0x47, 0xa1, 0x01, 0x3a, 0x00, 0x01, 0x11, 0x70, 0xa0, 0x58, 0xc0];
const MIDDLE: [u8; 3] = [0x59, 0x42, 0xc0];
const SIGNED_HEAD: [u8; 23] = *b"\x84\x6aSignature1\x47\xa1\x01\x3a\x00\x01\x11\x70\x40\x58\xc0";

/// The bytes that the card signs: the `Sig_structure` over `checkpoint`.
#[must_use]
pub fn to_be_signed(checkpoint: &[u8; Checkpoint::BYTES]) -> Vec<u8> {
    [&SIGNED_HEAD[..], checkpoint].concat()
}

/// Encodes the message of a checkpoint and its signature.
#[must_use]
pub fn encode(checkpoint: &[u8; Checkpoint::BYTES], signature: &[u8; SIGNATURE_BYTES]) -> Vec<u8> {
    [&HEAD[..], checkpoint, &MIDDLE, signature].concat()
}

/// Decodes a message into checkpoint and signature; `None` for any other encoding.
#[must_use]
pub fn decode(message: &[u8]) -> Option<(&[u8; Checkpoint::BYTES], &[u8; SIGNATURE_BYTES])> {
    let rest = message.strip_prefix(&HEAD)?;
    let (checkpoint, rest) = rest.split_first_chunk()?;
    let signature = rest.strip_prefix(&MIDDLE)?.try_into().ok()?;
    Some((checkpoint, signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_encoding_only() {
        let (checkpoint, signature) = ([7; 192], [9; SIGNATURE_BYTES]);
        let message = encode(&checkpoint, &signature);
        assert_eq!((message.len(), to_be_signed(&checkpoint).len()), (17296, 215));
        assert_eq!((MESSAGE_BYTES, SIGNED_BYTES), (17296, 215));
        assert_eq!(decode(&message), Some((&checkpoint, &signature)));
        let framing = (0..HEAD.len()).chain(205..208);
        for bit in framing.flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let mut wrong = message.clone();
            wrong[bit.0] ^= 1 << bit.1;
            assert_eq!(decode(&wrong), None, "{bit:?}");
        }
        assert_eq!(decode(&[&message[..], &[0]].concat()), None);
        assert!((0..message.len()).all(|length| decode(&message[..length]).is_none()));
    }
}
