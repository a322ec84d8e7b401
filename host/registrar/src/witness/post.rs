//! What is posted to a witness: the body of `add-checkpoint`, shaped as in C2SP `tlog-witness`.
//!
//! ```text
//! old <records under the last accepted checkpoint of the session; 0 before the first>
//! ticket <base64 of the ticket's COSE message>
//! key <base64 of the card's public key, 32 bytes>
//! root <base64 of the root over the lane's records, 32 bytes>
//! <base64 of one hash of the consistency proof from the old size to the checkpoint's, a line each>
//!
//! <the checkpoint's COSE message, binary, to the end>
//! ```
//! It differs from that page in what is posted: not a log's note but a card's signed checkpoint, which needs the ticket that it is under.

use base64ct::{Base64, Encoding};
use portcullis_evidence::note::{decimal, hash};
use portcullis_evidence::{cose, ticket, tree::Hash};

use super::Refusal;

/// Most hashes of a proof (C2SP `tlog-witness`).
const MAX_PROOF: usize = 63;
/// Largest body in bytes: the largest ticket and proof in base64, the fixed lines, and the checkpoint.
pub const MAX_BODY: usize = ticket::MAX_BYTES.div_ceil(3) * 4 + (MAX_PROOF + 2) * 45 + 64 + cose::MESSAGE_BYTES;

/// A checkpoint, and what a witness needs to judge it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Records under the last accepted checkpoint of the session; 0 before the first.
    pub old: u64,
    /// COSE message of the ticket.
    pub ticket: Vec<u8>,
    /// The card's public key.
    pub public_key: [u8; 32],
    /// Root of the tree over the lane's records.
    pub root: Hash,
    /// That the log goes on from its first `old` records (RFC 9162, 2.1.4); empty when `old` is 0.
    pub proof: Vec<Hash>,
    /// COSE message of the checkpoint.
    pub checkpoint: Vec<u8>,
}

impl Post {
    /// The body.
    #[must_use]
    pub fn to_body(&self) -> Vec<u8> {
        let line = |name: &str, bytes: &[u8]| format!("{name} {}\n", Base64::encode_string(bytes));
        let mut text = format!("old {}\n", self.old);
        text += &line("ticket", &self.ticket);
        text += &line("key", &self.public_key);
        text += &line("root", &self.root);
        text.extend(self.proof.iter().map(|hash| Base64::encode_string(hash) + "\n"));
        [text.as_bytes(), b"\n", &self.checkpoint].concat()
    }

    /// Reads a body.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] for anything that [`Post::to_body`] would not write.
    pub fn from_body(body: &[u8]) -> Result<Self, Refusal> {
        let split = body.len().checked_sub(cose::MESSAGE_BYTES).ok_or(Refusal::Malformed("is too short"))?;
        let (text, checkpoint) = body.split_at_checked(split).ok_or(Refusal::Malformed("is too short"))?;
        let text = std::str::from_utf8(text).map_err(|_| Refusal::Malformed("is not text before the checkpoint"))?;
        let text = text.strip_suffix("\n\n").ok_or(Refusal::Malformed("has no empty line before the checkpoint"))?;
        let mut lines = text.split('\n');
        let mut field =
            |name| lines.next().and_then(|line| line.strip_prefix(name)).and_then(|line| line.strip_prefix(' '));
        let old = field("old").and_then(decimal).ok_or(Refusal::Malformed("has no old size first"))?;
        let ticket = field("ticket").and_then(|text| Base64::decode_vec(text).ok());
        let ticket = ticket.ok_or(Refusal::Malformed("has no ticket second"))?;
        let public_key = field("key").and_then(hash).ok_or(Refusal::Malformed("has no key third"))?;
        let root = field("root").and_then(hash).ok_or(Refusal::Malformed("has no root fourth"))?;
        let proof: Option<Vec<Hash>> = lines.map(hash).collect();
        let proof = proof.filter(|proof| proof.len() <= MAX_PROOF).ok_or(Refusal::Malformed("has a broken proof"))?;
        Ok(Self { old, ticket, public_key, root, proof, checkpoint: checkpoint.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn post() -> Post {
        Post {
            old: 12,
            ticket: vec![1; 100],
            public_key: [2; 32],
            root: [3; 32],
            proof: vec![[4; 32], [5; 32]],
            checkpoint: vec![b'\n'; cose::MESSAGE_BYTES],
        }
    }

    #[test]
    fn the_largest_fits() {
        let large =
            Post { old: u64::MAX, ticket: vec![0; ticket::MAX_BYTES], proof: vec![[0; 32]; MAX_PROOF], ..post() };
        let body = large.to_body();
        assert!(body.len() <= MAX_BODY, "{} of {MAX_BODY}", body.len());
        assert_eq!(Post::from_body(&body).unwrap(), large);
        let more = Post { proof: vec![[0; 32]; MAX_PROOF + 1], ..post() };
        assert!(Post::from_body(&more.to_body()).is_err());
    }

    #[test]
    fn one_form_only() {
        let body = post().to_body();
        let text = body.len() - cose::MESSAGE_BYTES;
        assert_eq!(Post::from_body(&body).unwrap(), post());
        // What is read of changed text is another post, and is written as that text.
        let check = |changed: &[u8]| {
            if let Ok(read) = Post::from_body(changed) {
                assert_ne!(read, post());
                assert_eq!(read.to_body(), changed);
            }
        };
        for at in 0..text {
            for bit in 0..8 {
                let mut changed = body.clone();
                changed[at] ^= 1 << bit;
                check(&changed);
            }
            check(&[&body[..at], &body[at + 1..]].concat());
            check(&[&body[..at], b"0", &body[at..]].concat());
            check(&[&body[..at], b"\n", &body[at..]].concat());
        }
        for old in ["", "-1", "+1", "012", "1 ", "18446744073709551616", "0x1", "1e3"] {
            let changed = [format!("old {old}").as_bytes(), &body[6..]].concat();
            assert!(Post::from_body(&changed).is_err(), "{old}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bodies_never_panic(text in "(old [0-9]{0,21}\n)?(ticket [A-Za-z0-9+/=]{0,40}\n)?(key [A-Za-z0-9+/]{43}=\n)?\\PC{0,60}\n{0,2}") {
            let _ = Post::from_body(text.as_bytes());
            let _ = Post::from_body(&[text.as_bytes(), &vec![0; cose::MESSAGE_BYTES]].concat());
        }
    }
}
