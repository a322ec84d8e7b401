//! Validators: arithmetic checks of what a pattern found. Each gives the length in bytes of the part that it accepts.

use portcullis_core::manifest::Validator;

/// The accepted prefix of `found`, in bytes, or `None` when the check fails.
pub(crate) fn accept(validator: Validator, found: &str) -> Option<usize> {
    match validator {
        Validator::Luhn => luhn(found).then_some(found.len()),
        Validator::Iban => iban(found),
        Validator::Ssn => ssn(found).then_some(found.len()),
        Validator::Ip => ip(found).then_some(found.len()),
        Validator::Phone => phone(found).then_some(found.len()),
    }
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> {
    text.chars().filter_map(|c| c.to_digit(10))
}

/// ISO/IEC 7812-1 annex B over 12 to 19 digits; one repeated digit is no number.
fn luhn(text: &str) -> bool {
    let count = digits(text).count();
    let sum: u32 =
        digits(text).rev().enumerate().map(|(i, d)| if i % 2 == 0 { d } else { d * 2 / 10 + d * 2 % 10 }).sum();
    (12..=19).contains(&count) && sum.is_multiple_of(10) && !repeated(text)
}

/// Lengths of the ISO 13616 registry by country code.
const IBAN_LENGTHS: &[(&str, usize)] = &[
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

/// The country's number of characters from the start, when they check by ISO 7064 mod 97-10.
fn iban(text: &str) -> Option<usize> {
    let country = text.get(..2)?.to_ascii_uppercase();
    let length = IBAN_LENGTHS.iter().find(|(c, _)| *c == country)?.1;
    let mut taken = 0;
    let mut end = 0;
    let mut characters = Vec::with_capacity(length);
    for (at, c) in text.char_indices() {
        if taken == length {
            break;
        }
        if c.is_ascii_alphanumeric() {
            characters.push(c);
            taken += 1;
            end = at + 1;
        } else if c != ' ' && c != '-' {
            return None;
        }
    }
    if taken != length || text.get(end..)?.starts_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    characters.rotate_left(4);
    let remainder = characters.iter().try_fold(0u32, |r, c| {
        let value = c.to_digit(36)?;
        Some(if value > 9 { (r * 100 + value) % 97 } else { (r * 10 + value) % 97 })
    })?;
    (remainder == 1).then_some(end)
}

/// Area not 000, 666 or 9xx, group not 00, serial not 0000 (Social Security Administration, POMS RM 10201.035).
fn ssn(text: &str) -> bool {
    let number: u32 = digits(text).fold(0, |n, d| n.saturating_mul(10).saturating_add(d));
    let (area, group, serial) = (number / 1_000_000, number / 10_000 % 100, number % 10_000);
    digits(text).count() == 9 && !matches!(area, 0 | 666 | 900..) && group != 0 && serial != 0
}

/// RFC 4291 section 2.2, or a dotted quad.
fn ip(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// 7 to 15 digits (ITU-T E.164 section 6), not one repeated digit, not a calendar date.
fn phone(text: &str) -> bool {
    let body = text.split(['x', 'X']).next().unwrap_or(text);
    let count = digits(body).count();
    (7..=15).contains(&count) && !repeated(body) && !date(body)
}

/// Year, month, day in either order with one kind of separator.
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
            assert_eq!(accept(v, good), Some(good.len()), "{good}");
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
        ] {
            assert_eq!(accept(v, bad), None, "{bad}");
        }
    }

    #[test]
    fn an_iban_ends_where_its_country_says() {
        assert_eq!(accept(Validator::Iban, "NL91 ABNA 0417 1643 00 THIS"), Some(22));
    }
}
