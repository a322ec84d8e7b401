//! Validators: arithmetic checks of a pattern's match, one module for each, and their registry, [`of`].

pub(crate) mod card;
mod email;
mod hexadecimal;
pub(crate) mod iban;
mod ip;
mod moment;
mod phone;
mod ssn;

use portcullis_core::manifest::{ClassDeclaration, PatternValidator};
use std::ops::Range;

/// Whether a border, such as that of a table cell, lies within a range.
pub(crate) type Apart<'a> = &'a dyn Fn(&Range<usize>) -> bool;

/// An arithmetic check of a pattern's match.
pub(crate) trait MatchValidator: Send + Sync {
    /// The accepted part of the match `found` in `text`. `Err` gives the place from which the search must continue.
    fn accept(&self, text: &str, found: &Range<usize>, apart: Apart<'_>) -> Result<Range<usize>, usize>;

    /// Whether a number that crosses table cells counts: it has a check digit or a fixed form.
    fn crosses_borders(&self) -> bool {
        false
    }

    /// Whether the number itself determines its end, so that a digit may follow it directly.
    fn finds_its_end(&self) -> bool {
        false
    }
}

/// The check that a pattern of a class names. A text lane has checks of its own (`portcullis-lane`); one that it lacks
/// stays with the host.
pub(crate) fn of(validator: PatternValidator, class: &ClassDeclaration) -> Box<dyn MatchValidator> {
    match validator {
        PatternValidator::Luhn => Box::new(card::CardValidator),
        PatternValidator::Iban => Box::new(iban::IbanValidator),
        PatternValidator::Ssn => Box::new(ssn::SsnValidator),
        PatternValidator::Ip => Box::new(ip::IpValidator),
        PatternValidator::Phone => Box::new(phone::PhoneValidator),
        PatternValidator::Email => {
            Box::new(email::EmailValidator { private: class.private_domains.clone().unwrap_or_default() })
        }
    }
}

fn whole(found: &Range<usize>, holds: bool) -> Result<Range<usize>, usize> {
    if holds { Ok(found.clone()) } else { Err(found.start + 1) }
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> {
    text.chars().filter_map(|c| c.to_digit(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_numbers() {
        use PatternValidator::*;
        let class = toml::from_str("name = 'c'").unwrap();
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
            (Email, "jane.roe@example.org"),
        ] {
            assert_eq!(of(v, &class).accept(good, &(0..good.len()), &|_| false), Ok(0..good.len()), "{good}");
        }
        for (v, bad) in [
            (Luhn, "4111 1111 1111 1112"),
            (Luhn, "0000 0000 0000 0000"),
            (Iban, "DE89 3704 0044 0532 0130 01"),
            (Iban, "ZZ89 3704 0044 0532 0130 00"),
            (Ssn, "666-12-3456"),
            (Ssn, "123-00-4567"),
            (Ip, "256.1.1.1"),
            (Ip, "127.0.0.1"),
            (Ip, "0.0.0.0"),
            (Phone, "2024-05-17"),
            (Phone, "17.05.2024"),
            (Phone, "111-1111"),
            (Phone, "2010-2015"),
            (Phone, "10 000 000"),
            (Phone, "0317-8471"),
            (Ip, "a::b"),
            (Ip, "1::2"),
        ] {
            assert!(of(v, &class).accept(bad, &(0..bad.len()), &|_| false).is_err(), "{bad}");
        }
    }
}
