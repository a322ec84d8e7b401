//! Validators: arithmetic checks of a pattern's match.

use crate::card;
use portcullis_core::manifest::Validator;
use std::ops::Range;

/// The accepted part of a match. `Err` gives the place from which the search must continue. `apart` returns whether a
/// border, such as that of a table cell, lies within a range.
pub(crate) fn accept(
    validator: Validator,
    text: &str,
    found: &Range<usize>,
    apart: impl Fn(&Range<usize>) -> bool,
) -> Result<Range<usize>, usize> {
    let matched = text.get(found.clone()).unwrap_or_default();
    let whole = |holds: bool| if holds { Ok(found.clone()) } else { Err(found.start + 1) };
    match validator {
        Validator::Luhn => card::number(text, found, apart),
        Validator::Iban => iban(matched).map(|length| found.start..found.start + length).ok_or(found.start + 1),
        Validator::Ssn => whole(ssn(matched)),
        Validator::Ip => ip(text, found).ok_or(found.start + 1),
        Validator::Phone => whole(phone(matched) && (stands_out(matched) || is_whole_run(text, found))),
    }
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> {
    text.chars().filter_map(|c| c.to_digit(10))
}

/// IBAN lengths by country code, from the ISO 13616 registry.
pub(crate) const IBAN_LENGTHS: &[(&str, usize)] = &[
    ("AD", 24),
    ("AE", 23),
    ("AL", 28),
    ("AT", 20),
    ("AZ", 28),
    ("BA", 20),
    ("BE", 16),
    ("BG", 22),
    ("BH", 22),
    ("BR", 29),
    ("BY", 28),
    ("CH", 21),
    ("CR", 22),
    ("CY", 28),
    ("CZ", 24),
    ("DE", 22),
    ("DK", 18),
    ("DO", 28),
    ("EE", 20),
    ("EG", 29),
    ("ES", 24),
    ("FI", 18),
    ("FO", 18),
    ("FR", 27),
    ("GB", 22),
    ("GE", 22),
    ("GI", 23),
    ("GL", 18),
    ("GR", 27),
    ("GT", 28),
    ("HR", 21),
    ("HU", 28),
    ("IE", 22),
    ("IL", 23),
    ("IQ", 23),
    ("IS", 26),
    ("IT", 27),
    ("JO", 30),
    ("KW", 30),
    ("KZ", 20),
    ("LB", 28),
    ("LC", 32),
    ("LI", 21),
    ("LT", 20),
    ("LU", 20),
    ("LV", 21),
    ("LY", 25),
    ("MC", 27),
    ("MD", 24),
    ("ME", 22),
    ("MK", 19),
    ("MR", 27),
    ("MT", 31),
    ("MU", 30),
    ("NL", 18),
    ("NO", 15),
    ("PK", 24),
    ("PL", 28),
    ("PS", 29),
    ("PT", 25),
    ("QA", 29),
    ("RO", 24),
    ("RS", 22),
    ("SA", 24),
    ("SC", 31),
    ("SE", 24),
    ("SI", 19),
    ("SK", 24),
    ("SM", 27),
    ("ST", 25),
    ("SV", 28),
    ("TL", 23),
    ("TN", 24),
    ("TR", 26),
    ("UA", 29),
    ("VA", 22),
    ("VG", 24),
    ("XK", 20),
];

/// The length of the IBAN at the start of the text. The country code determines the length, and the check digits must
/// be valid (ISO 7064 mod 97-10).
fn iban(text: &str) -> Option<usize> {
    let country: String = text.chars().filter(char::is_ascii_alphanumeric).take(2).collect();
    let country = country.to_ascii_uppercase();
    let length = IBAN_LENGTHS.iter().find(|(c, _)| *c == country)?.1;
    let mut end = 0;
    let mut characters = Vec::with_capacity(length);
    let mut groups: Vec<usize> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| c.is_alphanumeric()).take(length) {
        match groups.last_mut() {
            Some(size) if at == end => *size += 1,
            _ => groups.push(1),
        }
        characters.push(c);
        end = at + c.len_utf8();
    }
    // Printed groups have the same size, except that the last group may be shorter (ISO 13616-1). A number in groups
    // must end at a word boundary.
    let (last, before) = groups.split_last()?;
    let regular =
        before.iter().all(|size| before.first() == Some(size)) && before.first().is_none_or(|first| last <= first);
    let ends = before.is_empty() || !text.get(end..)?.starts_with(char::is_alphanumeric);
    if characters.len() != length || !regular || !ends {
        return None;
    }
    characters.rotate_left(4);
    let remainder = characters.iter().try_fold(0u32, |r, c| {
        let value = c.to_digit(36)?;
        Some(if value > 9 { (r * 100 + value) % 97 } else { (r * 10 + value) % 97 })
    })?;
    (remainder == 1).then_some(end)
}

/// Whether the area is not 000, 666 or 9xx, the group not 00, and the serial not 0000 (SSA, POMS RM 10201.035).
fn ssn(text: &str) -> bool {
    let number: u32 = digits(text).fold(0, |n, d| n.saturating_mul(10).saturating_add(d));
    let (area, group, serial) = (number / 1_000_000, number / 10_000 % 100, number % 10_000);
    digits(text).count() == 9 && !matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0
}

/// The range of an IPv4 address (four numbers, with or without leading zeros) or of an IPv6 address (RFC 4291, section
/// 2.2) that is not part of a word. A single colon after the address is not part of it.
fn ip(text: &str, found: &Range<usize>) -> Option<Range<usize>> {
    let matched = text.get(found.clone())?;
    if !matched.contains(':') {
        return matched.split('.').all(|part| part.parse::<u16>().is_ok_and(|n| n < 256)).then(|| found.clone());
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

/// 7 to 15 digits (ITU-T E.164 section 6), but not one repeated digit, a calendar date, years, or a round number.
fn phone(text: &str) -> bool {
    let body = text.split(['x', 'X']).next().unwrap_or(text);
    let groups: Vec<&str> = body.split(|c: char| !c.is_ascii_digit()).filter(|g| !g.is_empty()).collect();
    let count = digits(body).count();
    let year = |group: &&str| group.len() == 4 && group.starts_with(['1', '2']);
    let round = groups.len() > 1 && groups.iter().skip(1).all(|g| g.len() == 3) && groups.last() == Some(&"000");
    // A number with the trunk prefix 0 has at least nine digits, and a number with an international prefix at least
    // eleven.
    let shortest = match body.trim_start_matches('(') {
        b if b.starts_with("00") => 11,
        b if b.starts_with('0') => 9,
        _ => 7,
    };
    (shortest..=15).contains(&count) && !repeated(body) && !date(body) && !groups.iter().all(year) && !round
}

/// Whether a number has the form of a telephone number: a country code, an area code in brackets, or the North American
/// form.
fn stands_out(text: &str) -> bool {
    let body = text.split(['x', 'X']).next().unwrap_or(text);
    let sizes: Vec<usize> = body.split(|c: char| !c.is_ascii_digit()).map(str::len).filter(|size| *size > 0).collect();
    body.starts_with(['+', '(']) || matches!(sizes.as_slice(), [3, 3, 4] | [1 | 3, 3, 3, 4] | [6, 4])
}

/// Whether no other digit is next to a match, with at most one mark between them.
fn is_whole_run(text: &str, found: &Range<usize>) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).copied();
    let digit = |at: Option<usize>| byte(at).is_some_and(|b| b.is_ascii_digit());
    let mark = |at: Option<usize>| byte(at).is_some_and(|b| matches!(b, b' ' | b'-' | b'.' | b'/'));
    let (before, end) = (found.start.checked_sub(1), found.end);
    let joined_before = digit(before) || mark(before) && digit(found.start.checked_sub(2));
    let joined_behind = digit(Some(end)) || mark(Some(end)) && digit(Some(end + 1));
    !joined_before && !joined_behind
}

/// Whether the text is a date: a four-digit year, first or last, and two numbers up to 31, separated by `-`, `/` or
/// `.`.
fn date(text: &str) -> bool {
    let parts: Vec<&str> = text.trim().split(['-', '/', '.']).collect();
    let [a, b, c] = parts.as_slice() else { return false };
    let number = |s: &str| s.parse::<u32>().ok();
    let (Some(x), Some(y), Some(z)) = (number(a), number(b), number(c)) else { return false };
    let day = |n: u32| (1..=31).contains(&n);
    let year = |s: &str, n: u32| s.len() == 4 && (1000..=2999).contains(&n);
    (year(a, x) && day(y) && day(z)) || (year(c, z) && day(x) && day(y))
}

fn repeated(text: &str) -> bool {
    let mut all = digits(text);
    let first = all.next();
    all.all(|d| Some(d) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        use Validator::*;
        for (v, good) in [
            (Luhn, "4111 1111 1111 1111"),
            (Luhn, "378282246310005"),
            (Iban, "DE89 3704 0044 0532 0130 00"),
            (Iban, "GB82WEST12345698765432"),
            (Ssn, "078-05-1120"),
            (Ip, "2001:db8::1"),
            (Ip, "192.0.2.1"),
            (Phone, "+1 (555) 010-9999"),
            (Phone, "(020) 7946 0018 x123"),
        ] {
            assert_eq!(accept(v, good, &(0..good.len()), |_| false), Ok(0..good.len()), "{good}");
        }
        for (v, bad) in [
            (Luhn, "4111 1111 1111 1112"),
            (Luhn, "0000 0000 0000 0000"),
            (Iban, "DE89 3704 0044 0532 0130 01"),
            (Iban, "ZZ89 3704 0044 0532 0130 00"),
            (Ssn, "666-12-3456"),
            (Ssn, "123-00-4567"),
            (Ip, "256.1.1.1"),
            (Phone, "2024-05-17"),
            (Phone, "17.05.2024"),
            (Phone, "111-1111"),
            (Phone, "2010-2015"),
            (Phone, "10 000 000"),
            (Phone, "0317-8471"),
            (Ip, "a::b"),
            (Ip, "1::2"),
        ] {
            assert!(accept(v, bad, &(0..bad.len()), |_| false).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_iban_ends_where_its_country_says() {
        for text in ["NL91 ABNA 0417 1643 00 THIS", "NL91ABNA0417164300EUR"] {
            let end = text.rfind("00").map_or(0, |at| at + 2);
            assert_eq!(accept(Validator::Iban, text, &(0..text.len()), |_| false), Ok(0..end), "{text}");
        }
    }
}
