//! Lower-case hexadecimal, the only form in which digests are written.

use std::fmt;

use base16ct::lower;

#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    lower::encode_string(bytes)
}

/// Decodes exactly `N` bytes; `None` for another length or for any character but lower-case digits.
#[must_use]
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let found = lower::decode(text, &mut bytes).ok()?.len();
    (found == N).then_some(bytes)
}

/// As [`decode`], for any length.
#[must_use]
pub fn decode_vec(text: &str) -> Option<Vec<u8>> {
    lower::decode_vec(text).ok()
}

/// Whether `text` consists of exactly `digits` lower-case digits.
#[must_use]
pub fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Bytes that are written as hexadecimal in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HexBytes<const N: usize>(pub [u8; N]);

impl<const N: usize> serde::Serialize for HexBytes<N> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&encode(&self.0))
    }
}

impl<'de, const N: usize> serde::Deserialize<'de> for HexBytes<N> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        let wrong = || serde::de::Error::custom(format_args!("`{text}` is not {N} bytes in lower-case hexadecimal"));
        decode(&text).map(Self).ok_or_else(wrong)
    }
}

impl<const N: usize> fmt::Display for HexBytes<N> {
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
        assert_eq!(decode_vec("00abff"), Some(vec![0, 0xab, 0xff]));
        assert_eq!(decode_vec(""), Some(Vec::new()));
        for wrong in ["0", "00ABFF", "00abfg", "00äf"] {
            assert_eq!(decode_vec(wrong), None, "{wrong}");
        }
        assert!(is_hex("00abff", 6) && !is_hex("00abff", 5) && !is_hex("00ABFF", 6));
        assert_eq!(serde_json::from_str::<HexBytes<2>>("\"01fe\"").unwrap(), HexBytes([1, 0xfe]));
        assert!(serde_json::from_str::<HexBytes<2>>("\"01FE\"").is_err());
        assert_eq!(serde_json::to_string(&HexBytes([1, 0xfe])).unwrap(), "\"01fe\"");
    }
}
