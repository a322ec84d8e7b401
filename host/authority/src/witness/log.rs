//! A witness's log. Only the right edge of its tree is kept: enough to append an entry and to prove its inclusion.

use portcullis_evidence::ticket::ChainId;
use portcullis_evidence::tree::{self, Hash};
use rusqlite::{OptionalExtension, Transaction, params};

use super::InternalError;
use crate::store::EventStoreError;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WitnessLog {
    pub(super) size: u64,
    /// Unix second of the last entry.
    pub(super) time: u64,
    /// Roots of the complete subtrees, largest first: one root for each bit of the size that is 1.
    peaks: Vec<Hash>,
}

impl WitnessLog {
    /// Appends a leaf hash. Returns the inclusion proof of that leaf, its sibling first, and the new root (RFC 9162,
    /// 2.1).
    pub(super) fn append(&mut self, leaf: Hash) -> (Vec<Hash>, Hash) {
        // The newest leaf is the rightmost node at every level, so each peak is a left sibling on its path to the root.
        let path: Vec<Hash> = self.peaks.iter().rev().copied().collect();
        let climb = |count| path.iter().take(count).fold(leaf, |hash, peak| tree::node(peak, &hash));
        let complete = self.size.trailing_ones() as usize;
        let (peak, root) = (climb(complete), climb(path.len()));
        self.peaks.truncate(self.peaks.len().saturating_sub(complete));
        self.peaks.push(peak);
        self.size += 1;
        (path, root)
    }

    /// Loads the log of a card; a new log is empty.
    pub(super) fn load(work: &Transaction, chain: ChainId) -> Result<Self, InternalError> {
        let query = "SELECT size, time, peaks FROM log WHERE key = ? AND seat = ?";
        let row = work
            .query_row(query, params![chain.key, chain.seat], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((size, time, peaks)) = row else { return Ok(Self::default()) };
        let (size, peaks): (u64, Vec<u8>) = (size, peaks);
        let (hashes, rest) = peaks.as_chunks::<32>();
        if hashes.len() != size.count_ones() as usize || !rest.is_empty() {
            return Err(EventStoreError::Damaged("the peaks of a log are not as many as its size says").into());
        }
        Ok(Self { size, time, peaks: hashes.to_vec() })
    }

    pub(super) fn store(&self, work: &Transaction, chain: ChainId) -> Result<(), InternalError> {
        work.execute(
            "INSERT INTO log (key, seat, size, time, peaks) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (key, seat) DO UPDATE SET size = excluded.size, time = excluded.time, peaks = excluded.peaks",
            params![chain.key, chain.seat, self.size, self.time, self.peaks.as_flattened()],
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use portcullis_evidence::tree::{MerkleFrontier, verify_inclusion};

    use super::*;

    #[test]
    fn grows_as_the_trees_of_the_standard_do() {
        let (mut log, mut tree) = (WitnessLog::default(), MerkleFrontier::new());
        for index in 0..600_u64 {
            let leaf = tree::leaf(&index.to_le_bytes());
            tree.push(leaf);
            let (path, root) = log.append(leaf);
            assert_eq!((log.size, root), (index + 1, tree.root()));
            assert_eq!(log.peaks.len(), log.size.count_ones() as usize);
            assert!(verify_inclusion(&leaf, index, log.size, &path, &root));
        }
    }
}
