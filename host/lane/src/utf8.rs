//! Checks byte by byte that bytes are UTF-8 (RFC 3629), as the card does.

/// The state within a character: number of bytes that are still missing, and the permitted range of the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Utf8 {
    left: u8,
    low: u8,
    high: u8,
    bad: bool,
}

impl Utf8 {
    pub(crate) const NEW: Self = Self { left: 0, low: 0x80, high: 0xbf, bad: false };

    pub(crate) fn read(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            if self.left == 0
                && let Some(words) = rest.first_chunk::<8>()
                && u64::from_ne_bytes(*words) & 0x8080_8080_8080_8080 == 0
            {
                rest = rest.get(8..).unwrap_or_default();
                continue;
            }
            self.step(*byte);
            rest = after;
        }
    }

    pub(crate) const fn step(&mut self, byte: u8) {
        if self.left > 0 {
            self.bad |= byte < self.low || byte > self.high;
            self.left -= 1;
            (self.low, self.high) = (0x80, 0xbf);
            return;
        }
        let (left, low, high) = match byte {
            0..=0x7f => (0, 0x80, 0xbf),
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            _ => {
                self.bad = true;
                (0, 0x80, 0xbf)
            }
        };
        (self.left, self.low, self.high) = (left, low, high);
    }

    /// Whether the bytes so far are complete, valid characters.
    pub(crate) const fn is_whole(self) -> bool {
        self.left == 0 && !self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_standard_library() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            let mut bytes = [0u8; 6];
            for byte in &mut bytes {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let edges =
                    [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xf0, 0xf4, 0xf5];
                *byte = edges[(state >> 33) as usize % edges.len()];
            }
            let mut utf8 = Utf8::NEW;
            utf8.read(&bytes);
            assert_eq!(utf8.is_whole(), std::str::from_utf8(&bytes).is_ok(), "{bytes:x?}");
        }
        let mut utf8 = Utf8::NEW;
        utf8.read("plain text, then é, €, 𝄞 and plain text again".as_bytes());
        assert!(utf8.is_whole());
    }
}
