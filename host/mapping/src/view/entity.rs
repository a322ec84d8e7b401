//! Character references of HTML (WHATWG, sections 13.2.5.72 to 13.2.5.80).

use entities::ENTITIES;
use std::sync::LazyLock;

/// Greatest length of a reference in bytes; leading zeros are allowed.
const LONGEST: usize = 40;

/// Names, with the semicolon if it belongs to the name, and their characters; sorted.
static NAMES: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    let mut names: Vec<_> = ENTITIES.iter().map(|e| (e.entity, e.characters)).collect();
    names.sort_unstable();
    names
});

/// The reference at the start of a text: its length in bytes, and its character.
pub(crate) fn reference(text: &str) -> Option<(usize, String)> {
    let body = text.strip_prefix('&')?;
    match body.strip_prefix('#') {
        Some(number) => numeric(number).map(|(length, c)| (length + 2, c.to_string())),
        None => named(text),
    }
}

fn numeric(text: &str) -> Option<(usize, char)> {
    let (radix, skip) = if text.starts_with(['x', 'X']) { (16, 1) } else { (10, 0) };
    let digits = text.get(skip..)?;
    let length = digits.bytes().take(LONGEST).take_while(|b| char::from(*b).is_digit(radix)).count();
    let number = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
    let semicolon = usize::from(digits.as_bytes().get(length) == Some(&b';'));
    Some((skip + length + semicolon, char::from_u32(number)?))
}

/// The longest named reference at the start of a text.
fn named(text: &str) -> Option<(usize, String)> {
    let letters = text.bytes().skip(1).take(LONGEST).take_while(u8::is_ascii_alphanumeric).count();
    let semicolon = usize::from(text.as_bytes().get(1 + letters) == Some(&b';'));
    let look = |length: usize| {
        let name = text.get(..length)?;
        let at = NAMES.binary_search_by(|(n, _)| (*n).cmp(name)).ok()?;
        NAMES.get(at).map(|(_, characters)| (length, (*characters).to_owned()))
    };
    // The shortest name has three bytes: "&lt".
    (3..=1 + letters + semicolon).rev().find_map(look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_their_ends() {
        for (text, expected) in [
            ("&nbsp;8", Some((6, "\u{a0}"))),
            ("&nbsp8888", Some((5, "\u{a0}"))),
            ("&#52;8", Some((5, "4"))),
            ("&#0000052", Some((9, "4"))),
            ("&#x1D7D2;", Some((9, "\u{1d7d2}"))),
            ("&ZeroWidthSpace;", Some((16, "\u{200b}"))),
            ("&commat;", Some((8, "@"))),
            ("& b", None),
            ("&#;", None),
            ("&#x110000;", None),
            ("&xothing;", None),
        ] {
            assert_eq!(reference(text), expected.map(|(l, s): (usize, &str)| (l, s.to_owned())), "{text}");
        }
    }
}
