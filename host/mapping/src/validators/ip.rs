//! Addresses of the Internet Protocol.

use super::{Apart, MatchValidator};
use std::ops::Range;

pub(crate) struct IpValidator;

impl MatchValidator for IpValidator {
    fn accept(&self, text: &str, found: &Range<usize>, _: Apart<'_>) -> Result<Range<usize>, usize> {
        ip(text, found).ok_or(found.start + 1)
    }
}

/// The range of an IPv4 address (four numbers, with or without leading zeros) or of an IPv6 address (RFC 4291, section
/// 2.2) that is not part of a word. A single colon after the address is not part of it. The blocks 0 and 127 of IPv4
/// are on every machine and belong to none (RFC 6890, section 2.2.2).
fn ip(text: &str, found: &Range<usize>) -> Option<Range<usize>> {
    let matched = text.get(found.clone())?;
    if !matched.contains(':') {
        let parts: Option<Vec<u8>> = matched.split('.').map(|part| part.parse().ok()).collect();
        return parts.is_some_and(|parts| !matches!(parts.first(), Some(0 | 127))).then(|| found.clone());
    }
    let address = matched.strip_suffix(':').filter(|rest| !rest.ends_with(':')).unwrap_or(matched);
    let end = found.start + address.len();
    let (before, after) = (text.get(..found.start)?, text.get(end..)?);
    let word = |c: char| c.is_ascii_alphanumeric();
    let apart = !before.ends_with(word) && !after.starts_with(word);
    (apart && address.parse().is_ok_and(is_allocated)).then_some(found.start..end)
}

/// Whether an IPv6 address is in an allocated block (IANA, "Internet Protocol Version 6 Address Space" and "IPv6
/// Special-Purpose Address Registry"): global unicast, unique local, link-local, multicast, or a form that represents
/// an IPv4 address.
fn is_allocated(address: std::net::Ipv6Addr) -> bool {
    let [first, second, .., sixth, _, _] = address.segments();
    let mapped = first == 0 && sixth == 0xffff || first == 0x64 && second == 0xff9b;
    first >> 13 == 1 || first >> 9 == 0x7e || first >> 6 == 0x3fa || first >> 8 == 0xff || mapped
}
