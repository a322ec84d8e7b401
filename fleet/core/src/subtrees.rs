//! A Merkle tree (RFC 9162, 2.1) as a commutative aggregate: the state is a set of complete, aligned subtrees, and two
//! siblings merge when both are in the set. The order in which leaves and states arrive does not matter.

use portcullis_evidence::tree::{self, Hash};
use std::collections::BTreeMap;

/// Bytes of one encoded subtree: start u64, level u8, hash.
const PART_BYTES: usize = 8 + 1 + 32;
/// The largest level. A subtree of level 63 has 2^63 leaves.
const LEVEL_MAX: u8 = 63;

/// A complete subtree of 2^level leaves. Its start is a multiple of that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AlignedSubtree {
    level: u8,
    hash: Hash,
}

/// A set of leaves, as the largest aligned subtrees that they fill.
///
/// [`SubtreeSet::merge`] is commutative and associative. A leaf that is added twice puts the set into an absorbing
/// state, in which it has no root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubtreeSet {
    doubled: bool,
    /// The subtrees, by their first leaf. They do not overlap.
    parts: BTreeMap<u64, AlignedSubtree>,
}

/// Why a set of leaves is not a tree over the indices 0 to n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TilingError {
    #[error("an index occurs more than once")]
    Doubled,
    #[error("indices {from} to {to} are missing")]
    Missing { from: u64, to: u64 },
}

/// Bytes that are not an encoded set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an encoded set of subtrees")]
pub struct DecodeError;

impl SubtreeSet {
    #[must_use]
    pub const fn new() -> Self {
        Self { doubled: false, parts: BTreeMap::new() }
    }

    /// Adds the leaf hash with this index.
    pub fn push(&mut self, index: u64, leaf: Hash) {
        self.insert(index, AlignedSubtree { level: 0, hash: leaf });
    }

    /// Adds all leaves of another set.
    pub fn merge(&mut self, other: &Self) {
        if other.doubled {
            self.absorb();
        }
        other.parts.iter().for_each(|(start, part)| self.insert(*start, *part));
    }

    /// Number of leaves and root, if the leaves have the indices 0 to n - 1. The empty set has the root of the empty
    /// tree. Errors: [`TilingError`].
    pub fn root(&self) -> Result<(u64, Hash), TilingError> {
        if self.doubled {
            return Err(TilingError::Doubled);
        }
        let mut size = 0;
        for (start, part) in &self.parts {
            if *start != size {
                return Err(TilingError::Missing { from: size, to: start - 1 });
            }
            size = last(*start, part.level).saturating_add(1);
        }
        // Siblings have merged, so the subtrees become smaller from left to right.
        let mut hashes = self.parts.values().rev().map(|part| part.hash);
        let root = match hashes.next() {
            Some(smallest) => hashes.fold(smallest, |right, left| tree::node(&left, &right)),
            None => tree::root([]),
        };
        Ok((size, root))
    }

    /// Bytes of memory, approximately.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.parts.len() * 2 * PART_BYTES
    }

    /// Encodes the set: one byte, 1 if an index was doubled, then for each subtree its start (u64, little-endian), its
    /// level (u8) and its hash, ascending. Equal sets have equal bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1 + self.parts.len() * PART_BYTES);
        out.push(self.doubled.into());
        for (start, part) in &self.parts {
            out.extend_from_slice(&start.to_le_bytes());
            out.push(part.level);
            out.extend_from_slice(&part.hash);
        }
        out
    }

    /// Decodes a set. Errors: any bytes that [`SubtreeSet::to_bytes`] would not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (doubled, mut rest) = bytes.split_first().ok_or(DecodeError)?;
        let mut set = Self { doubled: *doubled == 1, parts: BTreeMap::new() };
        while let Some((start, after)) = rest.split_first_chunk() {
            let (level, after) = after.split_first().ok_or(DecodeError)?;
            let (hash, after) = after.split_first_chunk().ok_or(DecodeError)?;
            let start = u64::from_le_bytes(*start);
            if *level > LEVEL_MAX || start & mask(*level) != 0 || set.doubled {
                return Err(DecodeError);
            }
            set.insert(start, AlignedSubtree { level: *level, hash: *hash });
            rest = after;
        }
        if set.to_bytes() == bytes { Ok(set) } else { Err(DecodeError) }
    }

    fn absorb(&mut self) {
        self.doubled = true;
        self.parts.clear();
    }

    fn insert(&mut self, mut start: u64, mut part: AlignedSubtree) {
        if self.doubled {
            return;
        }
        // The subtrees do not overlap, so only the one that starts last can reach into the new one.
        let before = self.parts.range(..=last(start, part.level)).next_back();
        if before.is_some_and(|(first, before)| last(*first, before.level) >= start) {
            return self.absorb();
        }
        while part.level < LEVEL_MAX {
            let sibling = start ^ (1 << part.level);
            let Some(other) = self.parts.get(&sibling).copied().filter(|other| other.level == part.level) else {
                break;
            };
            self.parts.remove(&sibling);
            let hash =
                if sibling < start { tree::node(&other.hash, &part.hash) } else { tree::node(&part.hash, &other.hash) };
            part = AlignedSubtree { level: part.level + 1, hash };
            start = start.min(sibling);
        }
        self.parts.insert(start, part);
    }
}

const fn mask(level: u8) -> u64 {
    (1 << level) - 1
}

/// Index of the last leaf of an aligned subtree.
const fn last(start: u64, level: u8) -> u64 {
    start | mask(level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaf(index: u64) -> Hash {
        tree::leaf(&index.to_le_bytes())
    }

    fn of(indices: impl IntoIterator<Item = u64>) -> SubtreeSet {
        let mut set = SubtreeSet::new();
        indices.into_iter().for_each(|index| set.push(index, leaf(index)));
        set
    }

    fn folded(size: u64) -> Hash {
        tree::root((0..size).map(leaf))
    }

    proptest! {
        /// Any order, any split into states, and any order of merging give the root of the plain fold.
        #[test]
        fn any_split_and_order_gives_the_root_of_the_fold(
            order in (0..200_u64).prop_flat_map(|size| Just((0..size).collect::<Vec<_>>()).prop_shuffle()),
            cuts in prop::collection::vec(0..200_usize, 0..8),
            turns in prop::collection::vec(any::<bool>(), 9),
        ) {
            let size = order.len() as u64;
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(order.len())).collect();
            cuts.push(order.len());
            cuts.sort_unstable();
            let (mut all, mut from) = (SubtreeSet::new(), 0);
            for (cut, turn) in cuts.into_iter().zip(turns) {
                let part = of(order[from..cut].iter().copied());
                let part = SubtreeSet::from_bytes(&part.to_bytes()).unwrap();
                if turn {
                    all.merge(&part);
                } else {
                    let mut other = part;
                    other.merge(&all);
                    all = other;
                }
                from = cut;
            }
            prop_assert_eq!(all.root(), Ok((size, folded(size))));
            prop_assert_eq!(all, of(0..size));
        }

        /// A doubled index is found in every order and split, and so is a missing one.
        #[test]
        fn a_doubled_and_a_missing_index_are_found(
            (order, at) in (1..100_u64).prop_flat_map(|size| {
                (Just((0..size).collect::<Vec<_>>()).prop_shuffle(), 0..size)
            }),
            cut in 0..100_usize,
            last_part in any::<bool>(),
        ) {
            let cut = cut.min(order.len());
            let (mut left, mut right) = (of(order[..cut].iter().copied()), of(order[cut..].iter().copied()));
            // The second leaf with this index has other content, which must not matter.
            if last_part { &mut right } else { &mut left }.push(at, leaf(9999));
            left.merge(&right);
            prop_assert_eq!(left.root(), Err(TilingError::Doubled));
            let size = order.len() as u64;
            let missing = of(order.into_iter().filter(|index| *index != at));
            if at + 1 == size {
                prop_assert_eq!(missing.root(), Ok((at, folded(at))));
            } else {
                prop_assert_eq!(missing.root(), Err(TilingError::Missing { from: at, to: at }));
            }
        }

        #[test]
        fn hostile_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(set) = SubtreeSet::from_bytes(&bytes) {
                prop_assert_eq!(set.to_bytes(), bytes);
            }
        }
    }

    #[test]
    fn the_state_stays_small() {
        assert_eq!(of(0..1024).parts.len(), 1);
        assert_eq!(of(0..1023).parts.len(), 10);
        // The odd indices alone cannot merge.
        assert_eq!(of((0..100).filter(|index| index % 2 == 1)).parts.len(), 50);
        assert_eq!(of([]).root(), Ok((0, folded(0))));
    }

    #[test]
    fn one_encoding_only() {
        let set = of([0, 1, 2, 7]);
        let bytes = set.to_bytes();
        assert_eq!(bytes.len(), 1 + 3 * PART_BYTES);
        assert_eq!(SubtreeSet::from_bytes(&bytes), Ok(set));
        for length in 0..bytes.len() {
            let whole = length % PART_BYTES == 1;
            assert_eq!(SubtreeSet::from_bytes(&bytes[..length]).is_ok(), whole, "{length}");
        }
        let changed = |at: usize, to: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = to;
            SubtreeSet::from_bytes(&bytes)
        };
        // No flag; a level that is too large; a start that is not aligned; a doubled set with parts.
        for (at, to) in [(0, 2), (9, 64), (1, 1), (0, 1)] {
            assert_eq!(changed(at, to), Err(DecodeError), "{at}");
        }
        // Siblings that have not merged are not the set's own encoding.
        let (left, right) = (of([0]).to_bytes(), of([1]).to_bytes());
        assert_eq!(SubtreeSet::from_bytes(&[&left[..], &right[1..]].concat()), Err(DecodeError));
    }

    #[test]
    fn the_largest_index_does_not_overflow() {
        let set = of([u64::MAX, u64::MAX - 1]);
        assert_eq!(set.root(), Err(TilingError::Missing { from: 0, to: u64::MAX - 2 }));
        assert_eq!(SubtreeSet::from_bytes(&set.to_bytes()), Ok(set));
    }
}
