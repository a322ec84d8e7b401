//! Lower-case hexadecimal, the one form in which digests are written.

use std::fmt::{self, Write as _};

/// `bytes` in lower-case hexadecimal.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The `N` bytes that `text` holds; `None` for another length or anything but lower-case digits.
#[must_use]
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let mut bytes = [0; N];
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

/// Bytes that JSON holds as hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hex<const N: usize>(pub [u8; N]);

impl<const N: usize> serde::Serialize for Hex<N> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&encode(&self.0))
    }
}

impl<'de, const N: usize> serde::Deserialize<'de> for Hex<N> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        let wrong = || serde::de::Error::custom(format_args!("`{text}` is not {N} bytes in lower-case hexadecimal"));
        decode(&text).map(Self).ok_or_else(wrong)
    }
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_only() {
        assert_eq!(encode(&[0, 0xab, 0xff]), "00abff");
        assert_eq!(decode("00abff"), Some([0, 0xab, 0xff]));
        for wrong in ["", "00abf", "00abff0", "00abff00", "00ABFF", "00abfg", " 0abff", "00äff"] {
            assert_eq!(decode::<3>(wrong), None, "{wrong}");
        }
        assert_eq!(serde_json::from_str::<Hex<2>>("\"01fe\"").unwrap(), Hex([1, 0xfe]));
        assert!(serde_json::from_str::<Hex<2>>("\"01FE\"").is_err());
        assert_eq!(serde_json::to_string(&Hex([1, 0xfe])).unwrap(), "\"01fe\"");
    }
}
