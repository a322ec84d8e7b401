//! The request to a witness: the body of `add-checkpoint`, with the structure of C2SP `tlog-witness`.
//!
//! ```text
//! ticket <base64 of the ticket's COSE message>
//! key <base64 of the card's public key, 32 bytes>
//! lane <records under the last accepted checkpoint of the session; 0 before the first> <records> <base64 of the root
//! over them> <base64 of one hash of the consistency proof between the two numbers of records, one line per hash>
//!
//! <the checkpoint's COSE message, binary, to the end>
//! ```
//! Each lane of the card has its `lane` line and its proof, lane 0 first. The content differs from C2SP: it is not
//! a log's note but a card's signed checkpoint, together with its ticket.

use base64ct::{Base64, Encoding};
use portcullis_core::wire::LaneHead;
use portcullis_evidence::checkpoint::{self, LANES_MAX};
use portcullis_evidence::note::{decimal, hash};
use portcullis_evidence::{cose, ticket, tree::Hash};

use super::PostRefusal;

/// Largest number of hashes in a proof (C2SP `tlog-witness`).
const MAX_PROOF: usize = 63;
/// Largest length in bytes of a `lane` line without its root: the name, two numbers, and spaces.
const MAX_NUMBERS: usize = 48;
/// Largest body in bytes: the largest ticket, the largest proof of every lane in base64, the fixed lines, and the
/// checkpoint.
pub const MAX_BODY: usize = ticket::MAX_BYTES.div_ceil(3) * 4
    + LANES_MAX as usize * ((MAX_PROOF + 1) * 45 + MAX_NUMBERS)
    + 128
    + cose::MESSAGE_BYTES;

/// A checkpoint with the data that a witness needs to check it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPost {
    /// COSE message of the ticket.
    pub ticket: Vec<u8>,
    /// The card's public key.
    pub public_key: [u8; 32],
    /// The logs under the checkpoint, by lane.
    pub lanes: Vec<LanePost>,
    /// COSE message of the checkpoint.
    pub checkpoint: Vec<u8>,
}

/// A lane's log under the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePost {
    /// Records under the last accepted checkpoint of the session; 0 before the first.
    pub old: u64,
    pub size: u64,
    /// Root over the lane's records under this checkpoint.
    pub root: Hash,
    /// Proof that the log continues its first `old` records (RFC 9162, 2.1.4); empty if `old` is 0.
    pub proof: Vec<Hash>,
}

impl CheckpointPost {
    #[must_use]
    pub fn heads(&self) -> Vec<LaneHead> {
        (0..).zip(&self.lanes).map(|(number, lane)| checkpoint::head(number, lane.size, lane.root)).collect()
    }

    #[must_use]
    pub fn to_body(&self) -> Vec<u8> {
        let mut text = format!("ticket {}\n", Base64::encode_string(&self.ticket));
        text += &format!("key {}\n", Base64::encode_string(&self.public_key));
        for LanePost { old, size, root, proof } in &self.lanes {
            text += &format!("lane {old} {size} {}\n", Base64::encode_string(root));
            text.extend(proof.iter().map(|hash| Base64::encode_string(hash) + "\n"));
        }
        [text.as_bytes(), b"\n", &self.checkpoint].concat()
    }

    /// Parses a body. Errors: [`PostRefusal::Malformed`] for anything that [`CheckpointPost::to_body`] would not write.
    pub fn from_body(body: &[u8]) -> Result<Self, PostRefusal> {
        let split = body.len().checked_sub(cose::MESSAGE_BYTES).ok_or(PostRefusal::Malformed("is too short"))?;
        let (text, checkpoint) = body.split_at_checked(split).ok_or(PostRefusal::Malformed("is too short"))?;
        let text =
            std::str::from_utf8(text).map_err(|_| PostRefusal::Malformed("is not text before the checkpoint"))?;
        let text =
            text.strip_suffix("\n\n").ok_or(PostRefusal::Malformed("has no empty line before the checkpoint"))?;
        let mut lines = text.split('\n');
        let mut field = |name| lines.next().and_then(|line| line.strip_prefix(name));
        let ticket = field("ticket ").and_then(|text| Base64::decode_vec(text).ok());
        let ticket = ticket.ok_or(PostRefusal::Malformed("has no ticket first"))?;
        let public_key = field("key ").and_then(hash).ok_or(PostRefusal::Malformed("has no key second"))?;
        let mut lanes: Vec<LanePost> = Vec::new();
        for line in lines {
            let room = lanes.len() < usize::from(LANES_MAX);
            match (line.strip_prefix("lane "), lanes.last_mut()) {
                (Some(lane), _) if room => {
                    lanes.push(read_lane(lane).ok_or(PostRefusal::Malformed("has a broken line of a lane"))?);
                }
                (None, Some(lane)) if lane.proof.len() < MAX_PROOF => {
                    lane.proof.push(hash(line).ok_or(PostRefusal::Malformed("has a broken proof"))?);
                }
                (Some(_), _) => return Err(PostRefusal::Malformed("has more lanes than a card")),
                (None, Some(_)) => return Err(PostRefusal::Malformed("has a proof that is too long")),
                (None, None) => return Err(PostRefusal::Malformed("has no lane third")),
            }
        }
        Ok(Self { ticket, public_key, lanes, checkpoint: checkpoint.to_vec() })
    }
}

/// Parses the rest of a `lane` line: two numbers and a root.
fn read_lane(text: &str) -> Option<LanePost> {
    let (old, rest) = text.split_once(' ')?;
    let (size, root) = rest.split_once(' ')?;
    Some(LanePost { old: decimal(old)?, size: decimal(size)?, root: hash(root)?, proof: Vec::new() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn post(lanes: usize) -> CheckpointPost {
        let lane = LanePost { old: 12, size: 20, root: [3; 32], proof: vec![[4; 32], [5; 32]] };
        CheckpointPost {
            ticket: vec![1; 100],
            public_key: [2; 32],
            lanes: vec![lane; lanes],
            checkpoint: vec![b'\n'; cose::MESSAGE_BYTES],
        }
    }

    #[test]
    fn the_largest_fits() {
        let lane = LanePost { old: u64::MAX, size: u64::MAX, root: [3; 32], proof: vec![[0; 32]; MAX_PROOF] };
        let large = CheckpointPost { ticket: vec![0; ticket::MAX_BYTES], lanes: vec![lane; 8], ..post(0) };
        let body = large.to_body();
        assert!(body.len() <= MAX_BODY, "{} of {MAX_BODY}", body.len());
        assert_eq!(CheckpointPost::from_body(&body).unwrap(), large);
        let mut more = post(2);
        more.lanes[1].proof = vec![[0; 32]; MAX_PROOF + 1];
        assert!(CheckpointPost::from_body(&more.to_body()).is_err());
        assert!(CheckpointPost::from_body(&post(9).to_body()).is_err());
    }

    #[test]
    fn one_form_only() {
        let body = post(2).to_body();
        let text = body.len() - cose::MESSAGE_BYTES;
        assert_eq!(CheckpointPost::from_body(&body).unwrap(), post(2));
        // A changed text that still parses must be the encoding of another post.
        let check = |changed: &[u8]| {
            if let Ok(read) = CheckpointPost::from_body(changed) {
                assert_ne!(read, post(2));
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
        let whole = String::from_utf8(body).unwrap();
        for number in ["", "-1", "+1", "012", "1 ", "18446744073709551616", "0x1", "1e3"] {
            for place in [format!("lane {number} 20"), format!("lane 12 {number}")] {
                let changed = whole.replacen("lane 12 20", &place, 1);
                assert!(CheckpointPost::from_body(changed.as_bytes()).is_err(), "{place}");
            }
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bodies_never_panic(text in "(ticket [A-Za-z0-9+/=]{0,40}\n)?(key [A-Za-z0-9+/]{43}=\n)?(lane [0-9]{0,21} [0-9]{1,3} [A-Za-z0-9+/]{43}=\n)?\\PC{0,60}\n{0,2}") {
            let _ = CheckpointPost::from_body(text.as_bytes());
            let _ = CheckpointPost::from_body(&[text.as_bytes(), &vec![0; cose::MESSAGE_BYTES]].concat());
        }
    }
}
