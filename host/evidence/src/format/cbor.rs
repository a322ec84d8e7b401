//! The part of CBOR (RFC 8949) that tickets use, in deterministic encoding only (section 4.2.1): shortest heads,
//! definite lengths. The reader refuses every other encoding, so equal content has equal bytes.

/// Major types (RFC 8949, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Major {
    Unsigned = 0,
    Bytes = 2,
    /// UTF-8 text.
    Text = 3,
    Array = 4,
    Map = 5,
    Tag = 6,
}

/// The bytes are not the deterministic encoding of the expected item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CborError {
    #[error("ends early")]
    Ends,
    #[error("has trailing bytes")]
    Trailing,
    #[error("holds an item of another type at byte {0}")]
    Type(usize),
    #[error("is not in shortest form at byte {0}")]
    Longer(usize),
    #[error("holds a number out of range at byte {0}")]
    Range(usize),
    #[error("holds text that is not utf-8 at byte {0}")]
    Utf8(usize),
}

/// Reads items off the front of a slice.
pub(crate) struct CborReader<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> CborReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    /// The next `n` bytes, whatever they contain.
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], CborError> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or(CborError::Ends)?;
        (self.rest, self.at) = (rest, self.at + n);
        Ok(head)
    }

    /// Reads a head of type `major` and returns its argument.
    pub(crate) fn head(&mut self, major: Major) -> Result<u64, CborError> {
        let at = self.at;
        let initial = self.take(1)?.first().copied().unwrap_or_default();
        if initial >> 5 != major as u8 {
            return Err(CborError::Type(at));
        }
        let width = match initial & 31 {
            small @ 0..=23 => return Ok(u64::from(small)),
            info @ 24..=27 => 1_usize << (info - 24),
            _ => return Err(CborError::Type(at)),
        };
        let value = self.take(width)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let least = if width == 1 { 24 } else { 1 << (width * 4) };
        if value < least { Err(CborError::Longer(at)) } else { Ok(value) }
    }

    /// Reads an unsigned integer that fits `T`.
    pub(crate) fn unsigned<T: TryFrom<u64>>(&mut self) -> Result<T, CborError> {
        let at = self.at;
        T::try_from(self.head(Major::Unsigned)?).map_err(|_| CborError::Range(at))
    }

    /// Reads a byte or text string.
    fn string(&mut self, major: Major) -> Result<&'a [u8], CborError> {
        let at = self.at;
        let length = usize::try_from(self.head(major)?).map_err(|_| CborError::Range(at))?;
        self.take(length)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], CborError> {
        self.string(Major::Bytes)
    }

    /// Reads a byte string of `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], CborError> {
        let at = self.at;
        self.bytes()?.try_into().map_err(|_| CborError::Range(at))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, CborError> {
        let at = self.at;
        std::str::from_utf8(self.string(Major::Text)?).map_err(|_| CborError::Utf8(at))
    }

    /// Reads a head that must have type `major` and argument `value`.
    pub(crate) fn exactly(&mut self, major: Major, value: u64) -> Result<(), CborError> {
        let at = self.at;
        if self.head(major)? == value { Ok(()) } else { Err(CborError::Range(at)) }
    }

    /// Checks that all bytes were read.
    pub(crate) fn end(self) -> Result<(), CborError> {
        if self.rest.is_empty() { Ok(()) } else { Err(CborError::Trailing) }
    }
}

/// Appends a head in its shortest form.
pub(crate) fn put_head(out: &mut Vec<u8>, major: Major, value: u64) {
    let kind = (major as u8) << 5;
    let bytes = value.to_be_bytes();
    let (info, width) = match value {
        0..=23 => {
            out.push(kind | bytes[7]);
            return;
        }
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(kind | info);
    out.extend(bytes.iter().skip(8 - width));
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_head(out, Major::Bytes, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_head(out, Major::Text, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples in RFC 8949, appendix A: unsigned integers at every change of width.
    #[test]
    fn heads_of_the_standard() {
        for (value, hex) in [
            (0, "00"),
            (10, "0a"),
            (23, "17"),
            (24, "1818"),
            (100, "1864"),
            (1000, "1903e8"),
            (1_000_000, "1a000f4240"),
            (1_000_000_000_000, "1b000000e8d4a51000"),
            (u64::MAX, "1bffffffffffffffff"),
        ] {
            let mut out = Vec::new();
            put_head(&mut out, Major::Unsigned, value);
            assert_eq!(crate::hex::encode(&out), hex);
            let mut reader = CborReader::new(&out);
            assert_eq!(reader.unsigned::<u64>(), Ok(value));
            assert_eq!(reader.end(), Ok(()));
        }
    }

    #[test]
    fn every_longer_head_is_refused() {
        for value in [0_u64, 23, 24, 255, 256, 65_535, 65_536, 0xffff_ffff] {
            let mut shortest = Vec::new();
            put_head(&mut shortest, Major::Bytes, value);
            for (info, width) in [(24_u8, 1_usize), (25, 2), (26, 4), (27, 8)] {
                if width < shortest.len() {
                    continue;
                }
                let mut longer = vec![0x40 | info];
                longer.extend(&value.to_be_bytes()[8 - width..]);
                assert_eq!(
                    CborReader::new(&longer).head(Major::Bytes),
                    Err(CborError::Longer(0)),
                    "{value} in {width}"
                );
            }
        }
    }

    #[test]
    fn indefinite_and_reserved_heads_are_refused() {
        for info in 28..32 {
            assert_eq!(CborReader::new(&[0x40 | info, 0, 0xff]).bytes(), Err(CborError::Type(0)));
        }
    }

    #[test]
    fn a_length_beyond_the_input_is_refused() {
        assert_eq!(CborReader::new(&[0x5b, 255, 255, 255, 255, 255, 255, 255, 255]).bytes(), Err(CborError::Ends));
        assert_eq!(CborReader::new(&[0x42, 0]).bytes(), Err(CborError::Ends));
        assert_eq!(CborReader::new(&[]).bytes(), Err(CborError::Ends));
        assert_eq!(CborReader::new(&[0x61, 0xff]).text(), Err(CborError::Utf8(0)));
        assert_eq!(CborReader::new(&[0x19, 1, 0]).unsigned::<u8>(), Err(CborError::Range(0)));
    }
}
