//! Forms of single tokens, and of sequences of tokens.

use super::{BASE64, BIT, DIGIT, ESCAPE, FormToken, HEX, HIGH, LEET, LOWER, MORSE, OTHER, UPPER};
use crate::rules::{FormMeasure, Measurements};

const LETTER: u16 = LOWER | UPPER;
const KINDS: u16 = LETTER | BIT | DIGIT;
/// Number of latest tokens among which words in leetspeak are counted.
const WINDOW: u32 = 24;
/// Smallest length of a token that is examined for an encoding.
const LONG: usize = 16;

/// A run of tokens of one kind.
#[derive(Default)]
struct TokenRun {
    length: usize,
    start: usize,
}

impl TokenRun {
    /// Extends the run by `more` if it goes on, otherwise ends it. Returns its length.
    fn take(&mut self, goes_on: bool, more: usize, token: &FormToken<'_>) -> usize {
        if !goes_on {
            self.length = 0;
        } else {
            if self.length == 0 {
                self.start = token.start;
            }
            self.length += more;
        }
        self.length
    }
}

/// The facts about earlier tokens that are needed for the next token.
#[derive(Default)]
pub(super) struct Runs<'b> {
    morse: TokenRun,
    /// Whether the run of Morse code contains dots, and whether it contains dashes.
    signs: (bool, bool),
    binary: TokenRun,
    codes: TokenRun,
    spaced: TokenRun,
    repeated: TokenRun,
    before: [&'b [u8]; 2],
    /// A mask of the latest tokens, with a bit set for each token in leetspeak; the latest token has the lowest bit.
    leet: u32,
}

impl<'b> Runs<'b> {
    pub(super) fn take(&mut self, token: &FormToken<'b>, measured: &mut Measurements) {
        let bytes = token.bytes;
        let mut note = |run: &TokenRun, measure, value| measured.note(measure, value, run.start, token.end());
        // The token repeats the previous token, or the token before that.
        let again =
            bytes.len() > 1 && token.classes & (LETTER | BIT | DIGIT | HIGH) != 0 && self.before.contains(&bytes);
        if self.repeated.take(again, 1, token) > 0 {
            note(&self.repeated, FormMeasure::RepeatedToken, self.repeated.length);
        }
        self.before = [bytes, self.before[0]];
        // Single letters.
        let letter = bytes.len() == 1 && token.classes & (LETTER | BIT | DIGIT) != 0;
        if self.spaced.take(letter && !token.only(BIT | DIGIT), 1, token) > 0 {
            note(&self.spaced, FormMeasure::SpacedRun, self.spaced.length);
        }
        let worded = token.classes & LETTER != 0;
        let morse = !worded && bytes.len() <= 8 && (token.only(MORSE) || bytes == b"/" || bytes == b"|");
        if self.morse.take(morse || (!worded && quoted(bytes, MORSE)), 1, token) > 0 {
            self.signs.0 |= bytes.contains(&b'.');
            self.signs.1 |= bytes.contains(&b'-');
            if self.signs == (true, true) {
                note(&self.morse, FormMeasure::MorseRun, self.morse.length);
            }
        } else {
            self.signs = (false, false);
        }
        let bits = !worded && bytes.len() >= 4 && (token.only(BIT) || quoted(bytes, BIT));
        if self.binary.take(bits, bytes.len(), token) > 0 {
            note(&self.binary, FormMeasure::BinaryRun, self.binary.length);
        }
        if self.codes.take(is_code(bytes), 1, token) > 0 {
            note(&self.codes, FormMeasure::CodeRun, self.codes.length);
        }
        self.leet = self.leet << 1 | u32::from(worded && is_leet(token));
        if self.leet != 0 {
            let leet = (self.leet & ((1 << WINDOW) - 1)).count_ones() as usize;
            token.note(measured, FormMeasure::LeetWords, leet);
        }
        if token.classes & ESCAPE != 0 {
            escapes(token, measured);
        }
        if bytes.len() >= LONG {
            long(token, measured);
        }
    }
}

/// Whether a token consists of bytes of these classes, apart from quotation marks and punctuation around it.
fn quoted(bytes: &[u8], classes: u16) -> bool {
    let inner = trim(bytes);
    !inner.is_empty() && inner.len() < bytes.len() && inner.iter().all(|b| class(*b) & classes != 0)
}

fn class(byte: u8) -> u16 {
    super::CLASS.get(usize::from(byte)).copied().unwrap_or(OTHER)
}

/// A token without the quotation marks, brackets and punctuation around it.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    let around =
        |b: &u8| matches!(b, b'"' | b'\'' | b'`' | b'(' | b')' | b'[' | b']' | b',' | b';' | b':' | b'?' | b'<' | b'>');
    let start = bytes.iter().position(|b| !around(b)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|b| !around(b)).map_or(start, |e| e + 1);
    bytes.get(start..end).unwrap_or_default()
}

/// Whether a token is a code such as `4a` or `0x4a`, with or without a comma.
fn is_code(bytes: &[u8]) -> bool {
    if !(2..=5).contains(&bytes.len()) {
        return false;
    }
    let bytes = bytes.strip_suffix(b",").unwrap_or(bytes);
    let digits = bytes.strip_prefix(b"0x").unwrap_or(bytes);
    digits.len() == 2
        && digits.iter().all(u8::is_ascii_hexdigit)
        && (digits.len() < bytes.len()
            || digits.iter().any(u8::is_ascii_alphabetic)
            || digits.first().is_some_and(|d| matches!(d, b'2'..=b'7')))
}

/// Whether a token is a word in which digits or signs replace some letters, at least one of them between letters.
fn is_leet(token: &FormToken<'_>) -> bool {
    if token.classes & (BIT | DIGIT | LEET) == 0 || token.bytes.len() > 16 || token.bytes.len() < 3 {
        return false;
    }
    let stands = |b: u8| matches!(b, b'0' | b'1' | b'3' | b'4' | b'5' | b'7' | b'@' | b'$' | b'!');
    let word = trim(token.bytes);
    let word = word.strip_suffix(b".").or_else(|| word.strip_suffix(b"!")).unwrap_or(word);
    let letters = word.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let signs = word.iter().filter(|b| stands(**b)).count();
    let between = word.windows(3).any(
        |w| matches!(w, [a, b, c] if a.is_ascii_lowercase() && stands(*b) && (c.is_ascii_lowercase() || stands(*c))),
    );
    letters + signs == word.len() && letters >= signs && between
}

/// Whether a percent escape encodes a letter or digit, for which no escape is needed (RFC 3986, 2.3).
fn is_needless(escape: &[u8]) -> bool {
    matches!(
        escape,
        [_, b'3', b'0'..=b'9', ..] | [_, b'4' | b'6', b'1'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..] | [_, b'5' | b'7', b'0'..=b'9' | b'a' | b'A', ..]
    )
}

/// Measures the escapes of a token: runs of adjacent escapes, and the number of percent escapes.
fn escapes(token: &FormToken<'_>, measured: &mut Measurements) {
    // Links and paths need some percent escapes.
    let is_link = token.bytes.iter().any(|b| matches!(b, b'/' | b'=' | b'?'));
    let mut at = 0;
    let (mut run, mut from, mut percent) = (0, 0, 0);
    let (mut all, mut needless) = (0, 0);
    while let Some(rest) = token.bytes.get(at..).filter(|r| !r.is_empty()) {
        let hex = |skip: usize, count: usize| {
            rest.get(skip..skip + count).is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit))
        };
        let length = match rest {
            [b'\\', b'x', ..] if hex(2, 2) => 4,
            [b'\\', b'u', ..] if hex(2, 4) => 6,
            [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => 4,
            [b'&', b'#', more @ ..] => more.iter().take(8).position(|b| *b == b';').map_or(0, |p| p + 3),
            [b'%', b'u', ..] if hex(2, 4) => 6,
            [b'%', ..] if hex(1, 2) => 3,
            _ => 0,
        };
        if length == 0 {
            (run, percent) = (0, 0);
            at += 1;
            continue;
        }
        if run == 0 {
            from = at;
        }
        run += 1;
        percent += usize::from(rest.first() == Some(&b'%') && length == 3);
        if length == 3 {
            all += 1;
            needless += usize::from(is_needless(rest));
            measured.note(FormMeasure::PercentNeedless, needless, token.start, token.start + at + length);
            if !is_link {
                measured.note(FormMeasure::PercentWords, all, token.start, token.start + at + length);
            }
        }
        at += length;
        let measure = if percent == run { FormMeasure::PercentRun } else { FormMeasure::EscapeRun };
        measured.note(measure, run, token.start + from, token.start + at);
    }
}

/// Measures a long token: repetitions, and text that may be encoded.
fn long(token: &FormToken<'_>, measured: &mut Measurements) {
    let bytes = token.bytes;
    same(token, measured);
    separated(token, measured);
    let whole = token.only(LETTER | HEX | BIT | DIGIT | BASE64 | MORSE);
    if !whole && (bytes.windows(3).any(|w| w == b"://") || bytes.contains(&b'@')) {
        return;
    }
    // The parts between characters that do not occur in encodings.
    for part in bytes.split(|b| class(*b) & (LETTER | BIT | DIGIT | BASE64 | MORSE) == 0) {
        if part.len() < LONG {
            continue;
        }
        let ByteClassCounts { bits, digits, hex, upper, lower, changes } = ByteClassCounts::of(part);
        if hex == part.len() {
            token.note(measured, FormMeasure::HexRun, part.len());
            if bits == part.len() {
                token.note(measured, FormMeasure::BinaryRun, part.len());
            }
            continue;
        }
        let signs = part.len() - upper - lower - digits;
        if upper > 0
            && lower > 0
            && (digits > 0 || upper * 3 > part.len())
            && changes * 4 > part.len()
            && signs * 8 < part.len()
        {
            token.note(measured, FormMeasure::Base64Run, part.len());
        }
    }
}

/// Number of bytes of each class in a part.
#[derive(Default)]
struct ByteClassCounts {
    bits: usize,
    /// Digits, zero and one included.
    digits: usize,
    /// Hexadecimal digits in either case.
    hex: usize,
    upper: usize,
    lower: usize,
    /// Number of changes between kinds of characters: words joined by signs have few, encoded text has many.
    changes: usize,
}

impl ByteClassCounts {
    fn of(part: &[u8]) -> Self {
        let mut counts = Self::default();
        let mut before = part.first().map_or(0, |b| class(*b)) & KINDS;
        for byte in part {
            let class = class(*byte);
            let is = |classes: u16| usize::from(class & classes != 0);
            counts.bits += is(BIT);
            counts.digits += is(BIT | DIGIT);
            counts.hex += is(BIT | DIGIT | HEX);
            counts.upper += is(UPPER);
            counts.lower += is(LOWER);
            counts.changes += usize::from(class & KINDS != before);
            before = class & KINDS;
        }
        counts
    }
}

/// Measures runs of one letter or digit.
fn same(token: &FormToken<'_>, measured: &mut Measurements) {
    let (mut run, mut before) = (0, 0);
    for (at, byte) in token.bytes.iter().enumerate() {
        run = if *byte == before { run + 1 } else { 1 };
        before = *byte;
        if run >= LONG && (byte.is_ascii_alphanumeric() || *byte >= 0x80) {
            measured.note(FormMeasure::ByteRun, run, token.start + at + 1 - run, token.start + at + 1);
        }
    }
}

/// Measures letters with the same sign between each two letters: `i-g-n-o-r-e`.
fn separated(token: &FormToken<'_>, measured: &mut Measurements) {
    let (mut letters, mut sign) = (0, 0u8);
    for pair in token.bytes.chunks_exact(2) {
        let [letter, next] = pair else { continue };
        let goes_on = letter.is_ascii_alphabetic() && next.is_ascii_punctuation() && (letters == 0 || *next == sign);
        letters = if goes_on { letters + 1 } else { 0 };
        sign = *next;
        if letters > 1 {
            token.note(measured, FormMeasure::SpacedRun, letters);
        }
    }
}
