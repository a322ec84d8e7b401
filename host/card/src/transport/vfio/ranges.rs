//! Allocation of device addresses.

use std::collections::BTreeMap;

/// Lower addresses are not used, so that a zero pointer in the card does not reach memory.
const LOWEST: u64 = 1 << 20;

/// A first-fit allocator over the addresses that an IOMMU translates.
#[derive(Debug)]
pub(super) struct Ranges {
    /// Usable ranges as pairs of first and last address, ascending.
    usable: Vec<(u64, u64)>,
    /// Allocated ranges: start address and size in bytes.
    taken: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Makes the addresses `first..=last` of each pair usable.
    pub(super) fn new(mut usable: Vec<(u64, u64)>) -> Self {
        usable.sort_unstable();
        Self { usable, taken: BTreeMap::new() }
    }

    /// Allocates `bytes` bytes at the lowest free multiple of 4 KiB. The last byte is at most at `highest`.
    pub(super) fn take(&mut self, bytes: u64, highest: u64) -> Option<u64> {
        let start = self.usable.iter().find_map(|&(first, last)| {
            let mut at = first.max(LOWEST).checked_next_multiple_of(4096)?;
            for (&start, &len) in &self.taken {
                if start >= at && start - at >= bytes {
                    break;
                }
                at = at.max(start.checked_add(len)?.checked_next_multiple_of(4096)?);
            }
            let end = at.checked_add(bytes.checked_sub(1)?)?;
            (end <= last.min(highest)).then_some(at)
        })?;
        self.taken.insert(start, bytes);
        Some(start)
    }

    pub(super) fn give(&mut self, start: u64) {
        self.taken.remove(&start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_free_once_and_again_when_given_back() {
        let mut ranges = Ranges::new(vec![(0xfef0_0000, 0xffff_ffff), (0, 0xfedf_ffff)]);
        let a = ranges.take(4096, u64::MAX).unwrap();
        let b = ranges.take(8192, u64::MAX).unwrap();
        let c = ranges.take(4096, u64::MAX).unwrap();
        assert_eq!((a, b, c), (LOWEST, LOWEST + 4096, LOWEST + 3 * 4096));
        ranges.give(b);
        assert_eq!(ranges.take(3 * 4096, u64::MAX).unwrap(), c + 4096);
        assert_eq!(ranges.take(4096, u64::MAX).unwrap(), b);
        // Allocations lie below or above the interrupt window, never inside it.
        let big = ranges.take(0xfec0_0000, u64::MAX).unwrap();
        assert!(big + 0xfec0_0000 - 1 <= 0xfedf_ffff);
        assert_eq!(ranges.take(0x10_0000, u64::MAX).unwrap(), 0xfef0_0000);
        assert_eq!(ranges.take(0x100_1000, u64::MAX), None);
        assert_eq!(ranges.take(4096, LOWEST), None);
        assert_eq!(ranges.take(u64::MAX, u64::MAX), None);
    }
}
