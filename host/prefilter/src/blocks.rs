//! Where certain bytes are, 64 at a time: comparisons without branches, which compilers turn into vector
//! instructions.

/// Bytes of a block: one bit each of a mask.
pub(crate) const BLOCK: usize = 64;

/// Eight bytes of 0 or 1 times this have them as bits in the uppermost byte, the first one lowest.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// A bit for each byte of a block that is one of them, the first byte lowest.
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

/// The blocks of an input with the place where each begins; the last one is filled up with blanks.
pub(crate) fn blocks(bytes: &[u8]) -> impl Iterator<Item = (usize, [u8; BLOCK])> + '_ {
    (0..).step_by(BLOCK).zip(bytes.chunks(BLOCK)).map(|(at, chunk)| {
        let mut block = [b' '; BLOCK];
        for (to, from) in block.iter_mut().zip(chunk) {
            *to = *from;
        }
        (at, block)
    })
}

/// The places of the bits of a mask, from the lowest.
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

/// Every place of a byte that is one of them, in order.
pub(crate) fn places(bytes: &[u8], is_one: impl Fn(u8) -> bool + Copy) -> impl Iterator<Item = usize> {
    let within = move |(at, block): (usize, [u8; BLOCK])| Bits(mask(&block, is_one)).map(move |bit| at + bit);
    let length = bytes.len();
    // Blanks that fill the last block are no bytes of the input.
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
