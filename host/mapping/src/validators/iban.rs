//! International bank account numbers (ISO 13616).

use super::{Apart, MatchValidator};
use std::ops::Range;

pub(crate) struct IbanValidator;

impl MatchValidator for IbanValidator {
    fn accept(&self, text: &str, found: &Range<usize>, _: Apart<'_>) -> Result<Range<usize>, usize> {
        let matched = text.get(found.clone()).unwrap_or_default();
        iban(matched).map(|length| found.start..found.start + length).ok_or(found.start + 1)
    }

    fn crosses_borders(&self) -> bool {
        true
    }

    fn finds_its_end(&self) -> bool {
        true
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iban_ends_where_its_country_says() {
        for text in ["NL91 ABNA 0417 1643 00 THIS", "NL91ABNA0417164300EUR"] {
            let end = text.rfind("00").map_or(0, |at| at + 2);
            assert_eq!(IbanValidator.accept(text, &(0..text.len()), &|_| false), Ok(0..end), "{text}");
        }
    }
}
