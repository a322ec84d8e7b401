//! Forms of non-ASCII characters, recognised by their bytes: invisible characters, direction overrides, look-alikes and
//! styled alphabets.

use super::FormToken;
use crate::rules::{FormMeasure, Measurements};

/// The kind of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Latin,
    /// Letters of alphabets that have look-alikes of Latin letters.
    LookAlike,
    Invisible,
    Bidi,
    Tag,
    Mark,
    Styled,
    Control,
    Other,
}

#[derive(Default)]
pub(super) struct Scripts {
    between: usize,
    bidi: usize,
    tags: usize,
    mixed: usize,
    control: usize,
}

impl Scripts {
    pub(super) fn take(&mut self, token: &FormToken<'_>, measured: &mut Measurements) {
        let (mut invisible, mut marks, mut styled) = (0, 0, 0);
        let mut changes = 0;
        let mut letter = Sign::Other;
        let mut before = Sign::Other;
        let mut at = 0;
        while let Some(rest) = token.bytes.get(at..).filter(|r| !r.is_empty()) {
            let (sign, length) = sign(rest);
            let after = || rest.get(length).is_some_and(u8::is_ascii_alphabetic);
            match sign {
                Sign::Invisible => {
                    invisible += 1;
                    self.between += usize::from(before == Sign::Latin && after());
                    token.note(
                        measured,
                        FormMeasure::Invisible,
                        self.between.max(if invisible > 2 { invisible } else { 0 }),
                    );
                }
                Sign::Bidi => {
                    self.bidi += 1;
                    token.note(measured, FormMeasure::Bidi, self.bidi);
                }
                Sign::Tag => {
                    self.tags += 1;
                    token.note(measured, FormMeasure::Tags, self.tags);
                }
                Sign::Control => {
                    self.control += 1;
                    token.note(measured, FormMeasure::Control, self.control);
                }
                Sign::Mark => {
                    marks += 1;
                    token.note(measured, FormMeasure::Stacked, marks);
                }
                Sign::Styled => {
                    styled += 1;
                    token.note(measured, FormMeasure::StyledRun, styled);
                }
                Sign::Latin | Sign::LookAlike => {
                    if matches!(letter, Sign::Latin | Sign::LookAlike) && letter != sign {
                        changes += 1;
                    }
                    letter = sign;
                }
                // A character that is not a letter ends the word.
                Sign::Other => letter = Sign::Other,
            }
            if sign != Sign::Invisible {
                invisible = 0;
            }
            if sign != Sign::Mark {
                marks = 0;
            }
            if sign != Sign::Styled {
                styled = 0;
            }
            before = sign;
            at += length;
        }
        // A look-alike inside a word makes two changes of script; a foreign stem with a native ending makes one.
        if changes > 0 {
            self.mixed += if changes > 1 { 2 } else { 1 };
            token.note(measured, FormMeasure::MixedWords, self.mixed);
        }
    }
}

/// The kind of the character at the start of `bytes`, and its length in bytes.
fn sign(bytes: &[u8]) -> (Sign, usize) {
    match bytes {
        [b'a'..=b'z' | b'A'..=b'Z', ..] => (Sign::Latin, 1),
        [0..0x20 | 0x7f, ..] => (Sign::Control, 1),
        [0..0x80, ..] => (Sign::Other, 1),
        [0xc2, 0x80..=0x9f, ..] => (Sign::Control, 2),
        // Latin letters with diacritics count as Latin.
        [0xc3..=0xc9, _, ..] => (Sign::Latin, 2),
        // Combining marks U+0300 to U+036F; U+034F is invisible.
        [0xcd, 0x8f, ..] => (Sign::Invisible, 2),
        [0xcc, _, ..] | [0xcd, 0x80..=0xaf, ..] => (Sign::Mark, 2),
        // Greek, Cyrillic.
        [0xcd..=0xd3, _, ..] => (Sign::LookAlike, 2),
        [0xc2..=0xdf, _, ..] => (Sign::Other, 2),
        [0xe1, 0xa0, 0x8e, ..] => (Sign::Invisible, 3),
        [0xe2, 0x80, 0x8b..=0x8d, ..] | [0xe2, 0x81, 0xa0..=0xa4, ..] | [0xef, 0xbb, 0xbf, ..] => (Sign::Invisible, 3),
        [0xe2, 0x80, 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa6..=0xa9, ..] => (Sign::Bidi, 3),
        // Enclosed letters, U+2460 to U+24FF beyond the digits; full-width letters.
        [0xe2, 0x92, 0x9c..=0xbf, ..] | [0xe2, 0x93, 0x80..=0xa9, ..] => (Sign::Styled, 3),
        [0xef, 0xbc, 0xa1..=0xba, ..] | [0xef, 0xbd, 0x81..=0x9a, ..] => (Sign::Styled, 3),
        // Mathematical letters U+1D400 to U+1D7CB; enclosed letters U+1F110 to U+1F189.
        [0xf0, 0x9d, 0x90..=0x9f, _, ..] | [0xf0, 0x9f, 0x84 | 0x85, _, ..] => (Sign::Styled, 4),
        // U+E0000 to U+E01EF.
        [0xf3, 0xa0, 0x80..=0x87, _, ..] => (Sign::Tag, 4),
        [0xe0..=0xef, _, _, ..] => (Sign::Other, 3),
        [0xf0..=0xf4, _, _, _, ..] => (Sign::Other, 4),
        // Not UTF-8; for such bytes, the evaluator `intake` halts.
        _ => (Sign::Other, 1),
    }
}
