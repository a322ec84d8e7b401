//! Card networks: the first digits and the lengths of their numbers.
//!
//! ISO/IEC 7812-1 defines the form (at most 19 digits, the last one a check digit); its registration authority assigns
//! the ranges. The register is not public. The ranges below come from the networks' published integration guides, from
//! the ranges of the package `credit-card-type` of Braintree (2025), and from public lists of ISO/IEC 7812 numbers
//! ("Payment card number", Wikipedia, section "Issuer identification number", 2025).
//!
//! A row of a range that a network has in part, or of a length that is rare, counts only for a whole run of digits.
//! Within longer runs, such rows would make cards of many harmless numbers.

use std::ops::RangeInclusive;

/// First digits and lengths of numbers.
#[derive(Debug)]
pub(crate) struct PaymentNetworkRow {
    /// The first and the last prefix, as numbers with the same number of digits.
    pub(crate) first: RangeInclusive<u32>,
    pub(crate) lengths: RangeInclusive<usize>,
    /// Whether a number counts only if it is a whole run of digits.
    pub(crate) whole: bool,
}

/// Numbers that count within longer runs, too.
const fn common(from: u32, to: u32, lengths: RangeInclusive<usize>) -> PaymentNetworkRow {
    PaymentNetworkRow { first: from..=to, lengths, whole: false }
}

/// Numbers that count only as whole runs.
const fn whole(from: u32, to: u32, lengths: RangeInclusive<usize>) -> PaymentNetworkRow {
    PaymentNetworkRow { first: from..=to, lengths, whole: true }
}

pub(crate) const NETWORKS: &[PaymentNetworkRow] = &[
    // Visa, including Dankort's and Elo's Visa cards. Old numbers have 13 digits.
    common(4, 4, 16..=16),
    common(4, 4, 19..=19),
    whole(4, 4, 13..=13),
    whole(4, 4, 18..=18),
    // Mastercard.
    common(51, 55, 16..=16),
    common(2221, 2720, 16..=16),
    // American Express.
    common(34, 34, 15..=15),
    common(37, 37, 15..=15),
    // Diners Club.
    common(300, 305, 14..=14),
    common(300, 305, 16..=16),
    common(3095, 3095, 14..=14),
    common(3095, 3095, 16..=16),
    common(36, 36, 14..=14),
    common(36, 36, 16..=16),
    common(38, 39, 14..=14),
    common(38, 39, 16..=16),
    whole(300, 305, 14..=19),
    whole(3095, 3095, 14..=19),
    whole(36, 36, 14..=19),
    whole(38, 39, 14..=19),
    // Discover.
    common(6011, 6011, 16..=16),
    common(6011, 6011, 19..=19),
    common(644, 649, 16..=16),
    common(644, 649, 19..=19),
    common(65, 65, 16..=16),
    common(65, 65, 19..=19),
    whole(6011, 6011, 16..=19),
    whole(644, 649, 16..=19),
    whole(65, 65, 16..=19),
    // JCB. Its old numbers have 15 digits.
    common(3528, 3589, 16..=16),
    common(3528, 3589, 19..=19),
    whole(35, 35, 16..=19),
    whole(1800, 1800, 15..=15),
    whole(2131, 2131, 15..=15),
    // UnionPay, and T-Union.
    common(62, 62, 16..=16),
    common(62, 62, 19..=19),
    common(81, 81, 16..=16),
    common(81, 81, 19..=19),
    common(31, 31, 19..=19),
    whole(62, 62, 14..=19),
    whole(81, 81, 14..=19),
    // Maestro, and Maestro UK.
    common(5018, 5018, 12..=19),
    common(5020, 5020, 12..=19),
    common(5038, 5038, 12..=19),
    common(5893, 5893, 12..=19),
    common(6304, 6304, 12..=19),
    common(6759, 6759, 12..=19),
    common(6761, 6763, 12..=19),
    common(676_770, 676_770, 12..=19),
    common(676_774, 676_774, 12..=19),
    // Maestro's whole ranges. Parts of them are those of Elo, Hipercard, RuPay, Verve, Troy and other networks.
    whole(50, 50, 12..=19),
    whole(56, 58, 12..=19),
    whole(63, 63, 12..=19),
    whole(67, 67, 12..=19),
    whole(6, 6, 16..=16),
    whole(6, 6, 19..=19),
    // Dankort.
    common(5019, 5019, 16..=16),
    // Mir.
    common(2200, 2204, 16..=19),
    // RuPay.
    common(60, 60, 16..=16),
    common(82, 82, 16..=16),
    common(508, 508, 16..=16),
    // Troy.
    common(9792, 9792, 16..=16),
    // Verve.
    common(506_099, 506_198, 16..=19),
    common(507_865, 507_964, 16..=19),
    common(650_002, 650_027, 16..=19),
    // UzCard and Humo.
    common(8600, 8600, 16..=16),
    common(9860, 9860, 16..=16),
    // BORICA, InterPayment, InstaPayment.
    common(2205, 2205, 16..=16),
    common(636, 636, 16..=19),
    common(637, 639, 16..=16),
    // UATP.
    whole(1, 1, 15..=15),
    // Domestic cards of Korea, mada, NAPAS, GPN of Indonesia, Belkart, ArCa.
    whole(94, 94, 16..=16),
    whole(9682, 9682, 16..=16),
    whole(9704, 9704, 16..=19),
    whole(1946, 1946, 16..=19),
    whole(9112, 9112, 16..=16),
    whole(9051, 9051, 16..=16),
];

/// Whether a network has numbers of this length with these first digits. `whole`: the digits are a whole run.
pub(crate) fn has_number(digits: &[u8], whole: bool) -> bool {
    NETWORKS.iter().any(|network| {
        let places = network.first.start().ilog10() as usize + 1;
        let first = digits.iter().take(places).fold(0, |n, d| n * 10 + u32::from(*d));
        (whole || !network.whole)
            && digits.len() >= places
            && network.lengths.contains(&digits.len())
            && network.first.contains(&first)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First digits and lengths of every network, from its own guides, at the limits of its ranges.
    const NUMBERS: &[(&str, &[&str], RangeInclusive<usize>)] = &[
        ("Visa", &["4"], 13..=13),
        ("Visa", &["4"], 16..=16),
        ("Visa", &["4"], 18..=19),
        ("Mastercard", &["51", "55", "2221", "2229", "223", "270", "271", "2720"], 16..=16),
        ("American Express", &["34", "37"], 15..=15),
        ("Diners", &["300", "305", "3095", "36", "38", "39"], 14..=19),
        ("Discover", &["6011", "622126", "622925", "644", "649", "65"], 16..=19),
        ("JCB", &["3528", "3589"], 16..=19),
        ("JCB", &["1800", "2131"], 15..=15),
        ("UnionPay", &["62", "81"], 14..=19),
        ("T-Union", &["31"], 19..=19),
        ("Maestro", &["500", "5018", "5020", "5038", "5893", "56", "58", "6304", "639", "67", "6759"], 12..=19),
        ("Maestro", &["6761", "6763", "676770", "676774"], 12..=19),
        ("Bancontact", &["6703"], 16..=19),
        ("Laser", &["6304", "6706", "6709", "6771"], 16..=19),
        ("Dankort", &["5019", "4571"], 16..=16),
        ("Mir", &["2200", "2204"], 16..=19),
        ("RuPay", &["60", "65", "81", "82", "508", "353", "356"], 16..=16),
        ("Troy", &["9792", "65"], 16..=16),
        ("Elo", &["401178", "438935", "457393", "504175", "506699", "509000", "509999"], 16..=16),
        ("Elo", &["627780", "636297", "636368", "650031", "655058"], 16..=16),
        ("Hipercard", &["606282"], 16..=16),
        ("Hiper", &["637095", "637612"], 16..=16),
        ("Verve", &["506099", "506198", "507865", "507964", "650002", "650027"], 16..=19),
        ("UzCard and Humo", &["8600", "9860"], 16..=16),
        ("BORICA", &["2205"], 16..=16),
        ("InterPayment", &["636"], 16..=19),
        ("InstaPayment", &["637", "639"], 16..=16),
        ("UATP", &["1"], 15..=15),
        ("mada", &["968201"], 16..=16),
        ("NAPAS", &["9704"], 16..=19),
        ("GPN", &["1946"], 16..=19),
        ("Belkart and ArCa", &["9112", "9051"], 16..=16),
        ("BC Card", &["94"], 16..=16),
    ];

    fn of(text: &str, whole: bool) -> bool {
        has_number(&text.bytes().map(|b| b - b'0').collect::<Vec<_>>(), whole)
    }

    #[test]
    fn every_network_has_its_numbers() {
        for (network, first, lengths) in NUMBERS {
            for (digits, length) in first.iter().flat_map(|digits| lengths.clone().map(move |length| (digits, length)))
            {
                for fill in ["0", "9"] {
                    let number = format!("{digits}{}", fill.repeat(length - digits.len()));
                    assert!(of(&number, true), "{network} {number}");
                }
            }
        }
    }

    #[test]
    fn each_row_ends_where_its_range_ends() {
        for PaymentNetworkRow { first, lengths, .. } in NETWORKS {
            assert!(first.start() <= first.end() && first.start().ilog10() == first.end().ilog10(), "{first:?}");
            for (prefix, length) in [(first.start(), lengths.start()), (first.end(), lengths.end())] {
                assert!(of(&format!("{prefix:0<length$}"), true), "{prefix}");
            }
        }
        for none in [
            ("2220", 16),
            ("2721", 16),
            ("50", 20),
            ("59", 16),
            ("33", 15),
            ("306", 14),
            ("37", 16),
            ("4", 15),
            ("6", 15),
            ("2199", 16),
            ("2206", 16),
            ("9793", 16),
            ("1", 16),
            ("17", 13),
            ("20", 14),
            ("7", 16),
            ("978", 13),
            ("0", 16),
        ] {
            let (prefix, length) = none;
            assert!(!of(&format!("{prefix:0<length$}"), true), "{none:?}");
        }
        assert!(!of("4", true) && !of("", true));
    }

    #[test]
    fn wide_rows_count_only_for_whole_runs() {
        for (number, part) in [
            ("4012888888881881", true),
            ("378282246310005", true),
            ("5555555555554444", true),
            ("6205500000000000004", true),
            ("4222222222222", false),
            ("135412345678911", false),
            ("6703444444444449", false),
            ("36006666333344123", false),
        ] {
            assert!(of(number, true), "{number}");
            assert_eq!(of(number, false), part, "{number}");
        }
    }
}
