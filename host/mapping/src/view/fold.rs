//! Folds a non-ASCII character into the ASCII text that a reader sees; uses the tables of Unicode.
//!
//! The rules apply in this order. Invisible characters are dropped. White space, dashes and decimal digits of every
//! script become ASCII (PropList.txt, DerivedNumericType.txt). Compatibility forms of letters, digits and ASCII marks
//! are replaced (NFKC, UAX #15), except superscripts, subscripts and fractions. A character whose prototype (UTS #39)
//! is one ASCII character of the same kind becomes that character. A mark never becomes a letter, and ASCII characters
//! never change.

use regex_syntax::hir::{Class, HirKind};
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// Form of a character in the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    /// The character itself.
    Keep,
    /// The character is dropped.
    Drop,
    /// Dropped after an ASCII letter or digit, otherwise kept.
    Mark,
    Space,
    LineBreak,
    /// A line between two table cells.
    Cell,
    /// The bullet of a list item, at the start of a line.
    Bullet,
    /// One character of ASCII.
    Ascii(u8),
    /// Several characters.
    Text(Box<str>),
}

/// The code points with a property, as ranges in order.
struct Set(Vec<(char, char)>);

impl Set {
    fn of(pattern: &str) -> Self {
        let ranges = regex_syntax::parse(pattern).ok().and_then(|hir| match hir.into_kind() {
            HirKind::Class(Class::Unicode(class)) => Some(class.iter().map(|r| (r.start(), r.end())).collect()),
            _ => None,
        });
        Self(ranges.unwrap_or_default())
    }

    fn range(&self, c: char) -> Option<(char, char)> {
        let at = self.0.partition_point(|(_, end)| *end < c);
        self.0.get(at).copied().filter(|(start, _)| *start <= c)
    }

    fn holds(&self, c: char) -> bool {
        self.range(c).is_some()
    }
}

struct CharacterProperties {
    shapeless: Set,
    space: Set,
    dash: Set,
    decimal: Set,
    mark: Set,
    modifier: Set,
    letter: Set,
    upper: Set,
    number: Set,
}

static PROPERTIES: LazyLock<CharacterProperties> = LazyLock::new(|| CharacterProperties {
    shapeless: Set::of(r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\x{FFFC}\x{1D159}]"),
    space: Set::of(r"[\p{White_Space}\x{2800}]"),
    dash: Set::of(r"\p{Dash}"),
    decimal: Set::of(r"\p{Nd}"),
    mark: Set::of(r"[\p{Mn}\p{Me}]"),
    modifier: Set::of(r"[\p{Lm}\x{AA}\x{B2}\x{B3}\x{B9}\x{BA}\x{2070}-\x{209F}\x{2120}\x{2122}]"),
    letter: Set::of(r"\p{L}"),
    upper: Set::of(r"\p{Lu}"),
    number: Set::of(r"\p{N}"),
});

/// The form of `c` in the view.
pub(super) fn fold(c: char) -> Fold {
    let is = &*PROPERTIES;
    match c {
        _ if c.is_ascii() => return Fold::Keep,
        '\u{85}' | '\u{2028}' | '\u{2029}' => return Fold::LineBreak,
        // Marks that separate the labels of a host name (RFC 3490, section 3.1).
        '\u{3002}' | '\u{ff61}' => return Fold::Ascii(b'.'),
        '\u{2502}' | '\u{2503}' | '\u{2506}' | '\u{2507}' | '\u{250a}' | '\u{250b}' | '\u{2551}' => return Fold::Cell,
        '\u{2022}' | '\u{2023}' | '\u{25aa}' | '\u{25cf}' | '\u{25e6}' => return Fold::Bullet,
        _ => {}
    }
    if is.space.holds(c) {
        Fold::Space
    } else if is.dash.holds(c) {
        Fold::Ascii(b'-')
    } else if is.shapeless.holds(c) {
        Fold::Drop
    } else if let Some(digit) = decimal(c) {
        Fold::Ascii(digit)
    } else if is.mark.holds(c) {
        Fold::Mark
    } else {
        compatible(c)
    }
}

/// A decimal digit of any script as an ASCII digit. The digits 0 to 9 of a script have consecutive code points.
fn decimal(c: char) -> Option<u8> {
    let (start, _) = PROPERTIES.decimal.range(c)?;
    u8::try_from((u32::from(c) - u32::from(start)) % 10).ok().map(|value| b'0' + value)
}

/// The compatibility form of `c`, with each of its characters replaced by that character's prototype.
fn compatible(c: char) -> Fold {
    let is = &*PROPERTIES;
    let form: String = std::iter::once(c).nfkc().collect();
    let mut single = form.chars();
    let ascii_mark = matches!((single.next(), single.next()), (Some(only), None) if only.is_ascii());
    let words = form.chars().all(char::is_alphanumeric);
    let changed = (words || ascii_mark) && !form.starts_with(c) && !is.modifier.holds(c);
    if !changed {
        return prototype(c).map_or(Fold::Keep, Fold::Ascii);
    }
    let seen: String = form.chars().map(|c| prototype(c).map_or(c, char::from)).collect();
    match seen.as_bytes() {
        [b' '] => Fold::Space,
        [byte] => Fold::Ascii(*byte),
        _ => Fold::Text(seen.into()),
    }
}

/// The ASCII character of the same kind that looks like this character.
fn prototype(c: char) -> Option<u8> {
    if c.is_ascii() {
        return None;
    }
    let is = &*PROPERTIES;
    let mut shape = skeleton(c.encode_utf8(&mut [0; 4])).collect::<String>().into_bytes();
    let only = shape.pop().filter(|byte| shape.is_empty() && byte.is_ascii_graphic())?;
    let (letter, number) = (is.letter.holds(c), is.number.holds(c));
    if !only.is_ascii_alphanumeric() {
        return (!letter && !number).then_some(only);
    }
    match only {
        // UTS #39 gives letters as the prototypes of the capital I and the digits 1 and 0. Of several characters with
        // the same shape, the one of the same kind (letter or digit) is chosen.
        b'l' if is.upper.holds(c) => Some(b'I'),
        b'l' if number => Some(b'1'),
        b'O' if number => Some(b'0'),
        _ => (letter || number).then_some(only),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn what_characters_stand_for() {
        let text = |s: &str| Fold::Text(s.into());
        for (c, expected) in [
            ('\u{200b}', Fold::Drop),
            ('\u{ad}', Fold::Drop),
            ('\u{202f}', Fold::Space),
            ('\u{2011}', Fold::Ascii(b'-')),
            ('\u{fe31}', Fold::Ascii(b'-')),
            ('\u{ff14}', Fold::Ascii(b'4')),
            ('\u{1d7d2}', Fold::Ascii(b'4')),
            ('\u{664}', Fold::Ascii(b'4')),
            ('\u{9ea}', Fold::Ascii(b'4')),
            ('\u{ff20}', Fold::Ascii(b'@')),
            ('\u{fb06}', text("st")),
            ('\u{b2}', Fold::Keep),
            ('\u{2082}', Fold::Keep),
            ('\u{bd}', Fold::Keep),
            ('\u{430}', Fold::Ascii(b'a')),
            ('\u{406}', Fold::Ascii(b'I')),
            ('\u{964}', Fold::Keep),
            ('\u{d7}', Fold::Keep),
            ('\u{2502}', Fold::Cell),
            ('\u{2019}', Fold::Ascii(b'\'')),
            ('\u{e9}', Fold::Keep),
            ('\u{6771}', Fold::Keep),
            ('\u{301}', Fold::Mark),
        ] {
            assert_eq!(fold(c), expected, "U+{:04X}", u32::from(c));
        }
    }

    /// The tables are part of the mapping: if they or Unicode change, the mapping needs a new version number.
    #[test]
    fn the_tables_are_those_of_this_version_of_the_mapping() {
        let mut hash = Sha256::new();
        for c in '\0'..=char::MAX {
            let folded = fold(c);
            if folded != Fold::Keep {
                hash.update(format!("{:x} {folded:?}\n", u32::from(c)));
            }
        }
        let digest: [u8; 32] = hash.finalize().into();
        let short = digest.first_chunk().map(|b| u64::from_be_bytes(*b));
        let versions = (unicode_normalization::UNICODE_VERSION, unicode_security::UNICODE_VERSION);
        assert_eq!(versions, ((18, 0, 0), (18, 0, 0)));
        assert_eq!(
            (portcullis_core::manifest::MAPPING_VERSION, short.map(|d| format!("{d:016x}")).as_deref()),
            (9, Some("4c7f4bee82e31e54"))
        );
    }
}
