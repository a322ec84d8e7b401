//! A scan's state in the form of a card's memory: one vector of bits, field by field, the first field highest
//! (`rtl/pkg/text_pkg.sv`).

/// Bits of a state of gaps, and of one of first digits.
pub(crate) const GAP_BITS: usize = 8;
pub(crate) const PREFIX_BITS: usize = 9;

/// Bits, the highest first.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<bool>);

impl Fields {
    /// A field of a value below `1 << width`.
    pub(crate) fn put(&mut self, value: impl Into<u128>, width: usize) {
        let value = value.into();
        self.0.extend((0..width).rev().map(|bit| value >> bit & 1 == 1));
    }

    /// A state of an automaton that a card holds with fewer states than others; `None` when it does not fit.
    pub(crate) fn put_state(&mut self, state: u16, width: usize) -> Option<()> {
        (state >> width == 0).then(|| self.put(state, width))
    }

    /// Little-endian bytes, to whole words of 32 bits.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut bytes = vec![0u8; self.0.len().div_ceil(32) * 4];
        for (at, bit) in self.0.iter().rev().enumerate() {
            if let Some(byte) = bytes.get_mut(at / 8) {
                *byte |= u8::from(*bit) << (at % 8);
            }
        }
        bytes
    }
}
