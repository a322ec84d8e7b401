//! The state of a scan as the card's memory holds it: one bit vector of fields, with the first field in the highest
//! bits (`rtl/pkg/text_pkg.sv`).

/// Number of bits of a gap automaton's state, and of a first-digits automaton's state.
pub(crate) const GAP_BITS: usize = 8;
pub(crate) const PREFIX_BITS: usize = 9;

/// Bits, the highest first.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<bool>);

impl Fields {
    /// Adds a field with a value below `1 << width`.
    pub(crate) fn put(&mut self, value: impl Into<u128>, width: usize) {
        let value = value.into();
        self.0.extend((0..width).rev().map(|bit| value >> bit & 1 == 1));
    }

    /// Adds the state of an automaton; `None` if it does not fit into `width` bits.
    pub(crate) fn put_state(&mut self, state: u16, width: usize) -> Option<()> {
        (state >> width == 0).then(|| self.put(state, width))
    }

    /// The bits as little-endian bytes, padded to words of 32 bits.
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
