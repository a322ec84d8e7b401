//! Merkle trees of RFC 9162 (Certificate Transparency 2.0), section 2.1, with SHA-256: roots, proofs, and their
//! verification.
//!
//! [`MerkleFrontier`] and [`MerkleProver`] read the leaves in order; their memory grows with the logarithm of the
//! number of leaves. A [`MerkleTree`] keeps all nodes and gives any proof at once.

use sha2::{Digest, Sha256};
use std::ops::Range;

/// A SHA-256 digest.
pub type Hash = [u8; 32];

/// Longest proof: a tree of 2^64 - 1 leaves has 64 levels, and a consistency proof one hash more (RFC 9162, 2.1.4).
pub const PROOF_MAX: usize = 65;

/// Hash of a leaf: SHA-256(0x00 || data) (RFC 9162, 2.1.1).
#[must_use]
pub fn leaf(data: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(data).finalize().into()
}

/// Hash of a node over its children: SHA-256(0x01 || left || right) (RFC 9162, 2.1.1).
#[must_use]
pub fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// A tree that grows leaf by leaf: the roots of its complete subtrees, largest first.
#[derive(Clone, Debug, Default)]
pub struct MerkleFrontier {
    size: u64,
    peaks: Vec<Hash>,
}

impl MerkleFrontier {
    #[must_use]
    pub const fn new() -> Self {
        Self { size: 0, peaks: Vec::new() }
    }

    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf hash.
    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // Joins the newest subtree with the earlier subtree of equal size, once for each trailing 1 bit of the size.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                hash = node(&left, &hash);
            }
        }
        self.peaks.push(hash);
        self.size = self.size.saturating_add(1);
    }

    /// Root of the leaves so far; the root of the empty tree is SHA-256 of nothing (RFC 9162, 2.1.1).
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev().copied();
        match peaks.next() {
            Some(smallest) => peaks.fold(smallest, |right, left| node(&left, &right)),
            None => Sha256::digest([]).into(),
        }
    }
}

/// Root over leaf hashes.
#[must_use]
pub fn root(leaves: impl IntoIterator<Item = Hash>) -> Hash {
    let mut tree = MerkleFrontier::new();
    leaves.into_iter().for_each(|leaf| tree.push(leaf));
    tree.root()
}

/// Makes one proof from the leaves in order. A proof consists of the roots of certain ranges of leaves.
#[derive(Clone, Debug)]
pub struct MerkleProver {
    next: u64,
    parts: Vec<(Range<u64>, MerkleFrontier)>,
}

impl MerkleProver {
    fn new(ranges: Vec<Range<u64>>) -> Self {
        Self { next: 0, parts: ranges.into_iter().map(|range| (range, MerkleFrontier::new())).collect() }
    }

    /// A prover that leaf `index` is in the tree of `size` leaves (RFC 9162, 2.1.3.1); `None` unless `index < size`.
    #[must_use]
    pub fn inclusion(index: u64, size: u64) -> Option<Self> {
        let mut ranges = Vec::new();
        let mut within = 0..size;
        if index >= size {
            return None;
        }
        while within.end - within.start > 1 {
            let middle = middle(&within);
            let (inner, sibling) = halves(&within, middle, index < middle);
            ranges.push(sibling);
            within = inner;
        }
        ranges.reverse();
        Some(Self::new(ranges))
    }

    /// A prover that the tree of `old` leaves is the start of the tree of `size` leaves (RFC 9162, 2.1.4.1); `None`
    /// unless 0 < old <= size.
    #[must_use]
    pub fn consistency(old: u64, size: u64) -> Option<Self> {
        let mut ranges = Vec::new();
        let mut within = 0..size;
        if old == 0 || old > size {
            return None;
        }
        while within.end != old {
            let middle = middle(&within);
            let (inner, sibling) = halves(&within, middle, old <= middle);
            ranges.push(sibling);
            within = inner;
        }
        // If this range is the whole old tree, the verifier knows its root. Otherwise the proof must contain the root.
        if within.start != 0 {
            ranges.push(within);
        }
        ranges.reverse();
        Some(Self::new(ranges))
    }

    /// Adds the next leaf hash.
    pub fn push(&mut self, leaf: Hash) {
        if let Some((_, tree)) = self.parts.iter_mut().find(|(range, _)| range.contains(&self.next)) {
            tree.push(leaf);
        }
        self.next = self.next.saturating_add(1);
    }

    /// The proof; `None` if it needs more leaves than were added.
    #[must_use]
    pub fn finish(self) -> Option<Vec<Hash>> {
        self.parts
            .into_iter()
            .map(|(range, tree)| (tree.size() == range.end - range.start).then(|| tree.root()))
            .collect()
    }
}

/// A tree that keeps the roots of its complete subtrees: 64 bytes for each leaf.
#[derive(Clone, Debug, Default)]
pub struct MerkleTree {
    /// Roots of the complete subtrees of 2^level leaves, by level.
    levels: Vec<Vec<Hash>>,
}

impl MerkleTree {
    #[must_use]
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let Some(nodes) = self.levels.get_mut(level) else { return };
            nodes.push(hash);
            match nodes.as_slice() {
                [.., left, right] if nodes.len().is_multiple_of(2) => hash = node(left, right),
                _ => return,
            }
        }
    }

    /// Removes all leaves but the first `size`.
    pub fn truncate(&mut self, size: u64) {
        for (level, nodes) in (0..u64::BITS).zip(&mut self.levels) {
            nodes.truncate(usize::try_from(size >> level).unwrap_or(usize::MAX));
        }
    }

    /// The roots of the complete subtrees of 2^level leaves each, in order.
    #[must_use]
    pub fn level(&self, level: usize) -> &[Hash] {
        self.levels.get(level).map_or(&[], Vec::as_slice)
    }

    /// Root of the tree of the first `size` leaves; `None` if the tree has fewer.
    #[must_use]
    pub fn root(&self, size: u64) -> Option<Hash> {
        if size == 0 { Some(MerkleFrontier::new().root()) } else { self.part(&(0..size)) }
    }

    /// The proof that leaf `index` is in the tree of the first `size` leaves (RFC 9162, 2.1.3.1); `None` if it is not.
    #[must_use]
    pub fn inclusion(&self, index: u64, size: u64) -> Option<Vec<Hash>> {
        self.prove(MerkleProver::inclusion(index, size)?, size)
    }

    /// The proof that the tree of the first `old` leaves is the start of the tree of the first `size` leaves (RFC 9162,
    /// 2.1.4.1); `None` unless 0 < old <= size, or if the tree has fewer leaves.
    #[must_use]
    pub fn consistency(&self, old: u64, size: u64) -> Option<Vec<Hash>> {
        self.prove(MerkleProver::consistency(old, size)?, size)
    }

    fn prove(&self, needed: MerkleProver, size: u64) -> Option<Vec<Hash>> {
        if size > self.size() {
            return None;
        }
        needed.parts.into_iter().map(|(range, _)| self.part(&range)).collect()
    }

    /// Root over a range of leaves that a proof needs: a complete subtree, or a subtree at the right edge.
    fn part(&self, range: &Range<u64>) -> Option<Hash> {
        let size = range.end.checked_sub(range.start).filter(|size| *size > 0)?;
        if size.is_power_of_two() {
            let nodes = self.levels.get(usize::try_from(size.ilog2()).ok()?)?;
            return nodes.get(usize::try_from(range.start / size).ok()?).copied();
        }
        let middle = middle(range);
        Some(node(&self.part(&(range.start..middle))?, &self.part(&(middle..range.end))?))
    }
}

/// Where a tree of two or more leaves is split: after the largest power of two smaller than its size.
const fn middle(within: &Range<u64>) -> u64 {
    let size = within.end - within.start;
    within.start + (1 << (u64::BITS - 1 - (size - 1).leading_zeros()))
}

/// The half of a range in which the search continues, and the other half.
const fn halves(within: &Range<u64>, middle: u64, left: bool) -> (Range<u64>, Range<u64>) {
    let (low, high) = (within.start..middle, middle..within.end);
    if left { (low, high) } else { (high, low) }
}

/// Whether `proof` shows that `leaf` (a leaf hash) is leaf `index` of the tree of `size` leaves with `root` (RFC 9162,
/// 2.1.3.2).
#[must_use]
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, proof: &[Hash], root: &Hash) -> bool {
    root_from_inclusion(leaf, index, size, proof).as_ref() == Some(root)
}

/// The root of the tree of `size` leaves in which `proof` includes `leaf` (a leaf hash) as leaf `index`; `None` if the
/// proof has the wrong length.
#[must_use]
pub fn root_from_inclusion(leaf: &Hash, index: u64, size: u64, proof: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut climb, mut hash) = (Climb { at: index, last: size - 1 }, *leaf);
    for sibling in proof {
        hash = match climb.step()? {
            SiblingSide::Left => node(sibling, &hash),
            SiblingSide::Right => node(&hash, sibling),
        };
    }
    climb.is_root().then_some(hash)
}

/// The side of the next hash of a proof: left or right of the current node.
enum SiblingSide {
    Left,
    Right,
}

/// The path from a node up to the root, for both kinds of proof.
struct Climb {
    at: u64,
    last: u64,
}

impl Climb {
    /// Goes up by one hash of the proof; `None` at the root.
    fn step(&mut self) -> Option<SiblingSide> {
        if self.is_root() {
            return None;
        }
        let side = if self.at & 1 == 1 || self.at == self.last { SiblingSide::Left } else { SiblingSide::Right };
        if matches!(side, SiblingSide::Left) {
            // A node at the right edge without a sibling moves up unchanged.
            let up = self.at.trailing_zeros();
            self.at = self.at.checked_shr(up).unwrap_or(0);
            self.last = self.last.checked_shr(up).unwrap_or(0);
        }
        self.at >>= 1;
        self.last >>= 1;
        Some(side)
    }

    const fn is_root(&self) -> bool {
        self.last == 0
    }
}

/// Whether `proof` shows that the tree of `old` leaves with `old_root` is the start of the tree of `size` leaves with
/// `root` (RFC 9162, 2.1.4.2). Equal sizes need equal roots and no proof; an empty old tree is the start of every tree.
#[must_use]
pub fn verify_consistency(old: u64, size: u64, proof: &[Hash], old_root: &Hash, root: &Hash) -> bool {
    if old == 0 || old >= size {
        let empty = old == 0 && *old_root == MerkleFrontier::new().root();
        let same = old == size && old_root == root;
        return (empty || same) && proof.is_empty();
    }
    // The largest subtree that ends at the old size. If it is the whole old tree, the proof does not contain its root.
    let up = old.trailing_zeros();
    let mut climb = Climb { at: (old - 1) >> up, last: (size - 1) >> up };
    let mut rest = proof.iter();
    let first = if old.is_power_of_two() { Some(old_root) } else { rest.next() };
    let Some(first) = first else { return false };
    let (mut old_hash, mut hash) = (*first, *first);
    for sibling in rest {
        match climb.step() {
            Some(SiblingSide::Left) => {
                old_hash = node(sibling, &old_hash);
                hash = node(sibling, &hash);
            }
            Some(SiblingSide::Right) => hash = node(&hash, sibling),
            None => return false,
        }
    }
    climb.is_root() && old_hash == *old_root && hash == *root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaves(count: u64) -> Vec<Hash> {
        (0..count).map(|i| leaf(&i.to_le_bytes())).collect()
    }

    /// The recursive definition of RFC 9162, 2.1.1.
    fn by_definition(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [one] => *one,
            _ => {
                let k = leaves.len().next_power_of_two() / 2;
                node(&by_definition(&leaves[..k]), &by_definition(&leaves[k..]))
            }
        }
    }

    fn prove(prover: Option<MerkleProver>, leaves: &[Hash]) -> Vec<Hash> {
        let mut prover = prover.unwrap();
        leaves.iter().for_each(|leaf| prover.push(*leaf));
        prover.finish().unwrap()
    }

    #[test]
    fn every_small_tree() {
        let mut kept = MerkleTree::default();
        leaves(75).into_iter().for_each(|leaf| kept.push(leaf));
        assert!(kept.inclusion(70, 76).is_none() && kept.inclusion(3, 3).is_none());
        assert!(kept.consistency(70, 76).is_none() && kept.consistency(0, 3).is_none() && kept.root(76).is_none());
        for size in 0..=70u64 {
            let leaves = leaves(size);
            let all = root(leaves.iter().copied());
            assert_eq!(all, by_definition(&leaves));
            assert_eq!(kept.root(size), Some(all));
            let mut short = kept.clone();
            short.truncate(size);
            assert_eq!((short.size(), short.root(size), short.root(size + 1)), (size, Some(all), None));
            short.push(kept.level(0)[size as usize]);
            assert_eq!(short.root(size + 1), kept.root(size + 1));
            for index in 0..size {
                let proof = prove(MerkleProver::inclusion(index, size), &leaves);
                assert_eq!(kept.inclusion(index, size).as_ref(), Some(&proof));
                let leaf = leaves[index as usize];
                assert!(verify_inclusion(&leaf, index, size, &proof, &all), "{index} of {size}");
                for wrong in (0..size + 2).filter(|w| *w != index) {
                    assert!(!verify_inclusion(&leaf, wrong, size, &proof, &all), "{index} as {wrong} of {size}");
                }
            }
            for old in 1..=size {
                let proof = prove(MerkleProver::consistency(old, size), &leaves);
                assert_eq!(kept.consistency(old, size).as_ref(), Some(&proof));
                let old_root = root(leaves[..old as usize].iter().copied());
                assert!(verify_consistency(old, size, &proof, &old_root, &all), "{old} to {size}");
                assert!(old == size || !verify_consistency(old, size, &proof, &all, &old_root));
            }
        }
        assert!(MerkleProver::inclusion(3, 3).is_none() && MerkleProver::consistency(0, 3).is_none());
        assert!(MerkleProver::consistency(4, 3).is_none());
    }

    #[test]
    fn a_proof_wants_all_its_leaves() {
        let mut prover = MerkleProver::inclusion(0, 5).unwrap();
        leaves(4).into_iter().for_each(|leaf| prover.push(leaf));
        assert!(prover.finish().is_none());
    }

    proptest! {
        #[test]
        fn nothing_else_verifies(size in 1u64..3000, index: u64, old: u64, bit in 0usize..256, at: usize, size_off in 1u64..9) {
            let (index, old) = (index % size, old % size + 1);
            let leaves = leaves(size);
            let all = root(leaves.iter().copied());
            let (leaf, old_root) = (leaves[index as usize], root(leaves[..old as usize].iter().copied()));
            let inclusion = prove(MerkleProver::inclusion(index, size), &leaves);
            let consistency = prove(MerkleProver::consistency(old, size), &leaves);
            prop_assert!(verify_inclusion(&leaf, index, size, &inclusion, &all));
            prop_assert!(verify_consistency(old, size, &consistency, &old_root, &all));
            let flipped = |proof: &[Hash]| {
                let mut proof = proof.to_vec();
                let place = at % proof.len();
                proof[place][bit / 8] ^= 1 << (bit % 8);
                proof
            };
            if !inclusion.is_empty() {
                prop_assert!(!verify_inclusion(&leaf, index, size, &flipped(&inclusion), &all));
                prop_assert!(!verify_inclusion(&leaf, index, size, &inclusion[1..], &all));
            }
            if !consistency.is_empty() {
                prop_assert!(!verify_consistency(old, size, &flipped(&consistency), &old_root, &all));
                prop_assert!(!verify_consistency(old, size, &consistency[1..], &old_root, &all));
            }
            let longer = [&inclusion[..], &[all]].concat();
            prop_assert!(!verify_inclusion(&leaf, index, size, &longer, &all));
            let longer = [&consistency[..], &[all]].concat();
            prop_assert!(!verify_consistency(old, size, &longer, &old_root, &all));
            prop_assert!(!verify_consistency(old, size, &consistency, &all, &old_root) || old == size);
            // A proof for the old size must not be accepted for a larger old size with the same roots.
            if old + size_off < size {
                prop_assert!(!verify_consistency(old + size_off, size, &consistency, &old_root, &all));
            }
        }

        #[test]
        fn hostile_numbers_do_not_panic(index: u64, size: u64, old: u64, hashes in proptest::collection::vec(any::<[u8; 32]>(), 0..70)) {
            prop_assert!(!verify_inclusion(&[1; 32], index, size, &hashes, &[2; 32]));
            prop_assert!(!verify_consistency(old, size, &hashes, &[1; 32], &[2; 32]));
            prop_assert!(!verify_inclusion(&[1; 32], u64::MAX - 1, u64::MAX, &hashes, &[2; 32]));
        }
    }
}
