//! Card networks: the first digits and the lengths of their numbers.
//!
//! ISO/IEC 7812-1 defines the form (at most 19 digits, the last one a check digit); its registration authority assigns
//! the ranges. The register is not public. The ranges below come from the networks' published integration guides and
//! from public lists of ISO/IEC 7812 numbers ("Payment card number", Wikipedia, section "Issuer identification number",
//! 2025).

use std::ops::RangeInclusive;

/// Range of first digits, as two numbers with the same number of digits, and the allowed lengths.
pub(crate) type Network = (u32, u32, RangeInclusive<usize>);

pub(crate) const NETWORKS: &[Network] = &[
    // Visa, including Dankort's Visa cards. Visa does not issue numbers of 13 digits any more.
    (4, 4, 16..=16),
    (4, 4, 19..=19),
    // Mastercard.
    (51, 55, 16..=16),
    (2221, 2720, 16..=16),
    // American Express.
    (34, 34, 15..=15),
    (37, 37, 15..=15),
    // Diners Club.
    (300, 305, 14..=19),
    (3095, 3095, 14..=19),
    (36, 36, 14..=19),
    (38, 39, 14..=19),
    // Discover.
    (6011, 6011, 16..=19),
    (644, 649, 16..=19),
    (65, 65, 16..=19),
    // JCB.
    (3528, 3589, 16..=19),
    // UnionPay, and T-Union.
    (62, 62, 16..=19),
    (81, 81, 16..=19),
    (31, 31, 19..=19),
    // Maestro, and Maestro UK.
    (5018, 5018, 12..=19),
    (5020, 5020, 12..=19),
    (5038, 5038, 12..=19),
    (5893, 5893, 12..=19),
    (6304, 6304, 12..=19),
    (6759, 6759, 12..=19),
    (6761, 6763, 12..=19),
    (676_770, 676_770, 12..=19),
    (676_774, 676_774, 12..=19),
    // Dankort.
    (5019, 5019, 16..=16),
    // Mir.
    (2200, 2204, 16..=19),
    // RuPay.
    (60, 60, 16..=16),
    (82, 82, 16..=16),
    (508, 508, 16..=16),
    // Troy.
    (9792, 9792, 16..=16),
    // Verve.
    (506_099, 506_198, 16..=19),
    (507_865, 507_964, 16..=19),
    (650_002, 650_027, 16..=19),
    // UzCard and Humo.
    (8600, 8600, 16..=16),
    (9860, 9860, 16..=16),
    // BORICA, InterPayment, InstaPayment.
    (2205, 2205, 16..=16),
    (636, 636, 16..=19),
    (637, 639, 16..=16),
];

/// Whether a network has numbers of this length with these first digits.
pub(crate) fn has_number(digits: &[u8]) -> bool {
    NETWORKS.iter().any(|(from, to, lengths)| {
        let places = from.ilog10() as usize + 1;
        let first = digits.iter().take(places).fold(0, |n, d| n * 10 + u32::from(*d));
        digits.len() >= places && lengths.contains(&digits.len()) && (*from..=*to).contains(&first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_and_length() {
        let of = |text: &str| has_number(&text.bytes().map(|b| b - b'0').collect::<Vec<_>>());
        assert!(of("4012888888881881") && of("378282246310005") && of("5555555555554444") && of("6205500000000000004"));
        assert!(!of("401288888888188") && !of("3782822463100050") && !of("1012888888881881") && !of("4"));
        assert!(NETWORKS.iter().all(|(from, to, _)| from <= to && from.ilog10() == to.ilog10()));
    }
}
