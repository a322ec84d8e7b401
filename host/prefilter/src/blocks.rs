//! Finds bytes in blocks of 64. The comparisons have no branches, so that compilers turn them into vector instructions.

/// Number of bytes in a block; a mask has one bit for each byte.
pub(crate) const BLOCK: usize = 64;

/// Multiplier that moves eight bytes of 0 or 1 into the bits of the uppermost byte, the first byte lowest.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// A mask of the bytes of a block for which `is_one` holds, the first byte in the lowest bit.
#[inline]
pub(crate) fn mask(block: &[u8; BLOCK], is_one: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0u8; BLOCK];
    for (flag, byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(is_one(*byte));
    }
    let (eights, _) = flags.as_chunks::<8>();
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56;
    eights.iter().rev().fold(0, |mask, eight| mask << 8 | bits(eight))
}

/// The blocks of an input, each with its offset; the last one is padded with spaces.
pub(crate) fn blocks(bytes: &[u8]) -> impl Iterator<Item = (usize, [u8; BLOCK])> + '_ {
    (0..).step_by(BLOCK).zip(bytes.chunks(BLOCK)).map(|(at, chunk)| {
        let mut block = [b' '; BLOCK];
        for (to, from) in block.iter_mut().zip(chunk) {
            *to = *from;
        }
        (at, block)
    })
}

/// The indexes of the bits that are set, from the lowest.
pub(crate) struct Bits(pub(crate) u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let at = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(at)
    }
}

/// The offset of every byte for which `is_one` holds, in order.
pub(crate) fn places(bytes: &[u8], is_one: impl Fn(u8) -> bool + Copy) -> impl Iterator<Item = usize> {
    let within = move |(at, block): (usize, [u8; BLOCK])| Bits(mask(&block, is_one)).map(move |bit| at + bit);
    let length = bytes.len();
    // Excludes the padding of the last block.
    blocks(bytes).flat_map(within).take_while(move |at| *at < length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_a_plain_search() {
        let bytes: Vec<u8> = (0..1000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for length in [0, 1, 63, 64, 65, 500, 1000] {
            for wanted in [0u8, b' ', b'a', 255] {
                let input = &bytes[..length];
                let plain: Vec<_> = (0..length).filter(|at| input[*at] <= wanted).collect();
                assert_eq!(places(input, |b| b <= wanted).collect::<Vec<_>>(), plain, "{length} {wanted}");
            }
        }
    }
}
