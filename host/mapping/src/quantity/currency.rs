//! Currencies. Their signs and codes stand before or behind a number.

/// Signs of currencies: general category Sc of Unicode 16, without unassigned places.
const SIGNS: &[(char, char)] = &[
    ('$', '$'),
    ('\u{a2}', '\u{a5}'),
    ('\u{58f}', '\u{58f}'),
    ('\u{60b}', '\u{60b}'),
    ('\u{7fe}', '\u{7ff}'),
    ('\u{9f2}', '\u{9f3}'),
    ('\u{9fb}', '\u{9fb}'),
    ('\u{af1}', '\u{af1}'),
    ('\u{bf9}', '\u{bf9}'),
    ('\u{e3f}', '\u{e3f}'),
    ('\u{17db}', '\u{17db}'),
    ('\u{20a0}', '\u{20c0}'),
    ('\u{a838}', '\u{a838}'),
    ('\u{fdfc}', '\u{fdfc}'),
    ('\u{fe69}', '\u{fe69}'),
    ('\u{ff04}', '\u{ff04}'),
    ('\u{ffe0}', '\u{ffe1}'),
    ('\u{ffe5}', '\u{ffe6}'),
    ('\u{11fdd}', '\u{11fe0}'),
    ('\u{1e2ff}', '\u{1e2ff}'),
    ('\u{1ecb0}', '\u{1ecb0}'),
];
/// Codes of ISO 4217, list one as of 2026, without funds, metals and codes for tests; in lower case, in order.
const CODES: &str = "\
    aed afn all amd aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd btn bwp byn bzd cad cdf chf clp \
    cny cop crc cup cve czk djf dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gnf gtq gyd hkd hnl htg huf \
    idr ils inr iqd irr isk jmd jod jpy kes kgs khr kmf kpw krw kwd kyd kzt lak lbp lkr lrd lsl lyd mad mdl mga mkd \
    mmk mnt mop mru mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub \
    rwf sar sbd scr sdg sek sgd shp sle sos srd ssp stn svc syp szl thb tjs tmt tnd top try ttd twd tzs uah ugx usd \
    uyu uzs ves vnd vuv wst xaf xcd xcg xof xpf yer zar zmw zwg";

pub(super) fn is_sign(c: char) -> bool {
    SIGNS.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Whether a unit in lower case is a currency's sign, also with letters before it (`us$`), or its code.
pub(super) fn is_currency(unit: &str) -> bool {
    unit.ends_with(is_sign) || CODES.split(' ').any(|code| code == unit)
}

/// The power of ten that short letters behind an amount of money stand for: `1.2k`.
pub(super) fn power(letters: &str) -> Option<u32> {
    match letters {
        "k" | "tsd" => Some(3),
        "m" | "mn" | "mm" | "mio" => Some(6),
        "b" | "bn" | "mrd" => Some(9),
        "t" | "tn" | "trn" => Some(12),
        _ => None,
    }
}

/// Whether a character may stand between a currency and its number.
pub(super) fn is_gap(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | '\'' | ':' | '=' | '(' | '[' | '*' | '_' | '-' | '\u{2212}' | '~' | '`' | '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_and_codes() {
        assert!(CODES.split(' ').is_sorted() && CODES.split(' ').all(|code| code.len() == 3));
        assert!(["$", "us$", "\u{20ac}", "eur", "chf"].into_iter().all(is_currency));
        assert!(!["mg", "euro", "day", "%", ""].into_iter().any(is_currency));
    }
}
