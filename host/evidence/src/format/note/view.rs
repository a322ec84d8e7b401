//! What a note proves about the log of its witness: hashes of ranges of its entries.
//!
//! A log only grows, so every range of entries has one hash. Two notes of one log that give two hashes for one range
//! contradict: their witness signed two histories.

use super::proof::WitnessProof;
use crate::format::ticket::ChainId;
use crate::format::tree::{self, Hash};
use portcullis_core::hex::HexBytes;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A note as a statement about the log of its witness.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogView {
    /// Verifier key of the witness. Each witness keeps its own log of a chain, under the same name.
    pub witness: String,
    /// SHA-256 of the card's public key, and seat: the chain that the log is of.
    pub key: HexBytes<32>,
    pub seat: u16,
    /// Index of the note's entry.
    pub index: u64,
    /// Number of entries of the log.
    pub size: u64,
    /// Hash of the entry.
    pub leaf: HexBytes<32>,
    /// Inclusion proof, the leaf's sibling first.
    pub path: Vec<HexBytes<32>>,
}

impl LogView {
    pub(super) fn new(witness: String, chain: ChainId, size: u64, proof: &WitnessProof) -> Self {
        Self {
            witness,
            key: HexBytes(chain.key),
            seat: chain.seat,
            index: proof.index,
            size,
            leaf: HexBytes(tree::leaf(&proof.entry.to_bytes())),
            path: proof.path.iter().map(|hash| HexBytes(*hash)).collect(),
        }
    }

    /// A note about an empty log.
    #[cfg(test)]
    pub(crate) const fn of_nothing() -> Self {
        Self {
            witness: String::new(),
            key: HexBytes([0; 32]),
            seat: 0,
            index: 0,
            size: 0,
            leaf: HexBytes([0; 32]),
            path: Vec::new(),
        }
    }

    #[must_use]
    pub const fn chain(&self) -> ChainId {
        ChainId { key: self.key.0, seat: self.seat }
    }

    /// The ranges of entries whose hash (RFC 9162, 2.1.1) follows from the note: those on the way from the entry to the
    /// root, their siblings, and all entries before this one. A note of a session's first checkpoint so has the root
    /// that the log had at the end of the session before.
    #[must_use]
    pub fn ranges(&self) -> Vec<(Range<u64>, Hash)> {
        // From the root down: each range that contains the entry, and its other half.
        let (mut start, mut end, mut halves) = (0, self.size, Vec::new());
        for sibling in self.path.iter().rev() {
            let Some(half) = (end - start).checked_next_power_of_two().map(|power| power / 2) else { break };
            let (whole, middle) = (start..end, start + half);
            let other = if self.index < middle { middle..end } else { start..middle };
            if self.index < middle {
                end = middle
            } else {
                start = middle
            }
            halves.push((whole, other, sibling.0));
        }
        let mut ranges = vec![(self.index..self.index.saturating_add(1), self.leaf.0)];
        let (mut hash, mut before): (Hash, Option<(u64, Hash)>) = (self.leaf.0, None);
        for (whole, other, sibling) in halves.into_iter().rev() {
            if other.end <= self.index {
                hash = tree::node(&sibling, &hash);
                let all = before.map_or(sibling, |(_, right)| tree::node(&sibling, &right));
                if before.is_some() {
                    ranges.push((other.start..self.index, all));
                }
                before = Some((other.start, all));
            } else {
                hash = tree::node(&hash, &sibling);
            }
            ranges.extend([(other, sibling), (whole, hash)]);
        }
        ranges
    }

    /// A range for which two notes of one log give two hashes; `None` if both can be true, or are of different logs.
    #[must_use]
    pub fn contradiction(&self, other: &Self) -> Option<Range<u64>> {
        if (&self.witness, self.chain()) != (&other.witness, other.chain()) {
            return None;
        }
        let known: std::collections::BTreeMap<(u64, u64), Hash> =
            self.ranges().into_iter().map(|(range, hash)| ((range.start, range.end), hash)).collect();
        let differs = |(range, hash): &(Range<u64>, Hash)| {
            known.get(&(range.start, range.end)).is_some_and(|known| known != hash)
        };
        other.ranges().into_iter().find(differs).map(|(range, _)| range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::note::WitnessEntry;
    use crate::format::tree::{MerkleProver, root};

    fn entry(index: u64, history: u64) -> WitnessEntry {
        WitnessEntry { ticket: 1, serial: index, checkpoint: [history as u8; 32], nonce: Some(history + 1) }
    }

    /// The note about entry `index` in a log of `size` entries, which has another history from entry `from` on.
    fn view(index: u64, size: u64, from: u64) -> LogView {
        let entry = |at: u64| entry(at, u64::from(at >= from));
        let mut prover = MerkleProver::inclusion(index, size).unwrap();
        (0..size).for_each(|at| prover.push(tree::leaf(&entry(at).to_bytes())));
        let path = prover.finish().unwrap();
        let proof = WitnessProof { entry: entry(index), index, path, note: String::new() };
        LogView::new("w".to_owned(), ChainId { key: [7; 32], seat: 0 }, size, &proof)
    }

    #[test]
    fn ranges_are_those_of_the_tree() {
        for size in 1..40 {
            for index in 0..size {
                let ranges = view(index, size, u64::MAX).ranges();
                for (range, hash) in &ranges {
                    let leaves = range.clone().map(|at| tree::leaf(&entry(at, 0).to_bytes()));
                    assert_eq!(*hash, root(leaves), "{range:?} of {size}");
                }
                let has = |wanted: Range<u64>| ranges.iter().any(|(range, _)| *range == wanted);
                assert!(has(0..size) && has(index..index + 1) && (index == 0 || has(0..index)));
            }
        }
    }

    #[test]
    fn two_histories_contradict_and_one_does_not() {
        for size in 1..20 {
            for other in 1..20 {
                let honest = view(size - 1, size, u64::MAX);
                assert_eq!(honest.contradiction(&view(other - 1, other, u64::MAX)), None);
                for from in 0..size.min(other) {
                    let forked = view(other - 1, other, from);
                    // Equal sizes, and notes that follow each other, show every fork.
                    if size == other || size + 1 == other {
                        assert!(honest.contradiction(&forked).is_some(), "{size} {other} {from}");
                    }
                    let elsewhere = LogView { witness: "v".to_owned(), ..forked };
                    assert_eq!(honest.contradiction(&elsewhere), None);
                }
            }
        }
    }
}
