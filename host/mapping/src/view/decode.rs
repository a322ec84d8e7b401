//! The text as a program reads it that decodes it: a JSON parser, a browser that follows a link, a reader of numbers or
//! of host names.
//!
//! Each pass replaces every escape by its character. The result of a pass is a reading of its own, because a document
//! inside a string is decoded by a second parser. Nothing is parsed: an escape has the same meaning in a complete JSON
//! value, in the first half of one, and in a source text.

use super::entity::reference;
use super::{MatchingView, Segment};
use crate::words::find;
use std::ops::Range;

/// Number of passes: the greatest number of documents inside each other that are read.
const PASSES: usize = 4;
/// Greatest number of digits that an exponent may add to a number; no validated number is longer.
const ZEROS: usize = 40;
/// Greatest length of a number with an exponent, in bytes.
const NUMBER: usize = 64;
/// Greatest length of an escape in bytes, without its row of backslashes: a surrogate pair of JSON.
const ESCAPE: usize = 12;
/// Start of a host name's part in Punycode (RFC 5890), its greatest length, and that of a query before a plus sign.
const PUNYCODE: &str = "xn--";
const LABEL: usize = 63;
const QUERY: usize = 256;
/// Number of backslashes that stand at least before a quotation mark of a document below the last pass.
const DEEP: usize = (1 << PASSES) - 1;

/// The readings of a text, one for each pass that changes something. Their places refer to the text itself.
pub(crate) fn decoded(text: &str) -> Vec<MatchingView> {
    let mut readings: Vec<MatchingView> = Vec::new();
    while readings.len() < PASSES {
        let Some(next) = decode(readings.last().map_or(text, MatchingView::text)) else { break };
        let next = match readings.last() {
            Some(before) => next.seen_through(before),
            None => next,
        };
        readings.push(next);
    }
    readings
}

/// The escapes of a text that no pass decodes, because they belong to a document inside more than four strings.
pub(crate) fn too_deep(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = find(bytes, from, |byte| byte == b'\\') {
        let end = find(bytes, start, |byte| byte != b'\\').unwrap_or(bytes.len());
        let next = bytes.get(end).copied();
        if end - start >= DEEP && matches!(next, Some(b'"' | b'\'' | b'u' | b'U' | b'x')) {
            found.push(start..end + 1);
        }
        from = end;
    }
    found
}

/// The start of the escape or number at the end of a text whose meaning more text can change; the text's length if
/// there is none.
pub(crate) fn undecoded(text: &str) -> usize {
    let bytes = text.as_bytes();
    let near = text.ceil_char_boundary(text.len().saturating_sub(ESCAPE));
    let mut escape = near;
    while let Some(c) = text.get(escape..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(escape..).unwrap_or_default();
        let complete = if c == '%' { percent(rest).map(|(length, _)| length) } else { None };
        let open = match c {
            '\\' => is_open(rest),
            '%' => complete.is_none() && rest.bytes().all(|b| b == b'%' || b.is_ascii_hexdigit()),
            _ => false,
        };
        if open {
            break;
        }
        escape += complete.unwrap_or(c.len_utf8());
    }
    // The whole row of backslashes waits, because their number decides what each of them means.
    let row = bytes.get(..escape).unwrap_or_default().iter().rev().take_while(|b| **b == b'\\').count();
    let digits = |b: &&u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
    let number = bytes.iter().rev().take(NUMBER).take_while(digits).count();
    let named = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let begins = |at: usize| bytes.get(at..).is_some_and(|rest| rest.iter().any(u8::is_ascii_digit));
    let number = Some(text.len() - number).filter(|at| begins(*at) && !named(*at)).unwrap_or(text.len());
    let label = bytes.iter().rev().take(LABEL).take_while(|b| is_label(**b)).count();
    let begun = bytes.iter().rev().take(label).rev().zip(PUNYCODE.bytes()).all(|(b, x)| b.to_ascii_lowercase() == x);
    let plus = usize::from(bytes.last() == Some(&b'+'));
    let number = number.min(text.len() - if begun { label } else { 0 }).min(text.len() - plus);
    if escape < text.len() { (escape - row).min(number) } else { number }
}

/// Whether more text can complete the escape at the start of a text.
fn is_open(text: &str) -> bool {
    let digits = |skip: usize, most: usize| {
        let rest = text.as_bytes().get(skip..).unwrap_or_default();
        rest.len() < most && rest.iter().all(u8::is_ascii_hexdigit)
    };
    match text.as_bytes().get(1) {
        None | Some(b'\\') => true,
        Some(b'u') if text.as_bytes().get(2) == Some(&b'{') => digits(3, 7),
        // The first half of a surrogate pair waits for the second half.
        Some(b'u') => digits(2, 4) || (is_high(text) && text.len() < ESCAPE),
        Some(b'U') => digits(2, 8),
        Some(b'x') => digits(2, 2),
        Some(b'0'..=b'3') => text.len() < 4,
        Some(_) => false,
    }
}

fn is_high(text: &str) -> bool {
    hexadecimal(text, 2, 4).is_some_and(|unit| (0xd800..0xdc00).contains(&unit))
}

/// One pass over a text; `None` if it changes nothing.
fn decode(text: &str) -> Option<MatchingView> {
    let bytes = text.as_bytes();
    let mut view = MatchingView {
        text: String::new(),
        segments: Vec::new(),
        borders: Vec::new(),
        lines: Vec::new(),
        aligned: false,
    };
    let (mut from, mut kept) = (0, 0);
    while let Some(at) =
        find(bytes, from, |byte| matches!(byte, b'\\' | b'&' | b'%' | b'e' | b'E' | b'x' | b'X' | b'+'))
    {
        // Most letters among these begin nothing.
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let is_letter = match bytes.get(at) {
            Some(b'e' | b'E') => !before.is_some_and(|before| before.is_ascii_digit() || *before == b'.'),
            Some(b'x' | b'X') => !matches!(bytes.get(at + 1), Some(b'n' | b'N')),
            _ => false,
        };
        if is_letter {
            from = at + 1;
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let (range, meaning) = match bytes.get(at) {
            Some(b'\\') => match escape(rest) {
                Some((length, c)) => (at..at + length, Some(c.to_string())),
                None => (at..at + 1, None),
            },
            Some(b'&') => match reference(rest) {
                Some((length, characters)) => (at..at + length, Some(characters)),
                None => (at..at + 1, None),
            },
            Some(b'%') => match percent(rest) {
                Some((length, characters)) => (at..at + length, Some(characters)),
                None => (at..at + 1, None),
            },
            Some(b'x' | b'X') => match punycode(text, at) {
                Some((length, characters)) => (at..at + length, Some(characters)),
                None => (at..at + 1, None),
            },
            Some(b'+') => (at..at + 1, is_space(text, at).then(|| " ".to_owned())),
            _ => match exponent(text, at, kept) {
                Some((range, value)) => (range, Some(value)),
                None => (at..at + 1, None),
            },
        };
        from = range.end;
        if let Some(meaning) = meaning {
            view.keep(text, kept..range.start);
            view.segments.push(Segment { at: view.text.len(), origin: range.clone(), copied: false });
            view.text.push_str(&meaning);
            kept = range.end;
        }
    }
    if kept == 0 {
        return None;
    }
    view.keep(text, kept..text.len());
    Some(view)
}

impl MatchingView {
    /// Copies a range of the text.
    fn keep(&mut self, text: &str, range: Range<usize>) {
        if !range.is_empty() {
            self.segments.push(Segment { at: self.text.len(), origin: range.clone(), copied: true });
            self.text.push_str(text.get(range).unwrap_or_default());
        }
    }

    /// This view of the text of `before`, with places that refer to the text that `before` shows.
    fn seen_through(mut self, before: &Self) -> Self {
        let segments = std::mem::take(&mut self.segments);
        for Segment { at, origin, copied } in segments {
            if !copied {
                self.segments.push(Segment { at, origin: before.origin(&origin), copied });
                continue;
            }
            // A copied part keeps the borders of the parts that it was copied from.
            let first = before.segments.partition_point(|s| s.at <= origin.start).saturating_sub(1);
            for (number, part) in before.segments.iter().enumerate().skip(first) {
                if part.at >= origin.end {
                    break;
                }
                let next = before.segments.get(number + 1).map_or(before.text.len(), |s| s.at);
                let (start, end) = (part.at.max(origin.start), next.min(origin.end));
                let origin_here = if part.copied {
                    part.origin.start + (start - part.at)..part.origin.start + (end - part.at)
                } else {
                    part.origin.clone()
                };
                let at = at + (start - origin.start);
                self.segments.push(Segment { at, origin: origin_here, copied: part.copied });
            }
        }
        self
    }
}

/// The escape at the start of a text: its length in bytes, and its character. The escapes are those of JSON (RFC 8259,
/// section 7), and those that C, Python and JavaScript have in addition. Half of a surrogate pair is U+FFFD.
fn escape(text: &str) -> Option<(usize, char)> {
    let simple = |c: char| Some((2, c));
    let of = |length: usize, number: u32| Some((length, char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)));
    match text.as_bytes().get(1)? {
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'v' => simple('\u{b}'),
        mark @ (b'"' | b'\'' | b'\\' | b'/') => simple(char::from(*mark)),
        b'u' if text.as_bytes().get(2) == Some(&b'{') => {
            let length = text.get(3..)?.bytes().take(7).position(|b| b == b'}').filter(|length| *length > 0)?;
            of(length + 4, hexadecimal(text, 3, length)?)
        }
        b'u' => {
            let unit = hexadecimal(text, 2, 4)?;
            let second = text.get(6..).filter(|rest| rest.starts_with("\\u")).and_then(|rest| hexadecimal(rest, 2, 4));
            match second.filter(|second| is_high(text) && (0xdc00..0xe000).contains(second)) {
                Some(second) => of(12, 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00)),
                None => of(6, unit),
            }
        }
        b'U' => of(10, hexadecimal(text, 2, 8)?),
        b'x' => of(4, hexadecimal(text, 2, 2)?),
        b'0'..=b'3' => {
            let digits = text.get(1..4).filter(|digits| digits.bytes().all(|b| matches!(b, b'0'..=b'7')))?;
            of(4, u32::from_str_radix(digits, 8).ok()?)
        }
        _ => None,
    }
}

/// The number of exactly `length` hexadecimal digits at `at`.
fn hexadecimal(text: &str, at: usize, length: usize) -> Option<u32> {
    let digits = text.get(at..at + length).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// The character that percent signs at the start of a text encode (RFC 3986, section 2.1), in UTF-8.
fn percent(text: &str) -> Option<(usize, String)> {
    let byte = |number: usize| {
        let sign = text.as_bytes().get(3 * number).filter(|sign| **sign == b'%');
        sign.and_then(|_| hexadecimal(text, 3 * number + 1, 2)).and_then(|byte| u8::try_from(byte).ok())
    };
    let mut bytes = Vec::new();
    for number in 0..4 {
        bytes.push(byte(number)?);
        if let Ok(character) = std::str::from_utf8(&bytes) {
            return Some((3 * bytes.len(), character.to_owned()));
        }
    }
    None
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// The part of a host name at `at` that Punycode encodes (RFC 3492): its length in bytes, and its characters.
fn punycode(text: &str, at: usize) -> Option<(usize, String)> {
    let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    let rest = text.get(at..)?;
    let named = rest.get(..PUNYCODE.len()).is_some_and(|start| start.eq_ignore_ascii_case(PUNYCODE));
    let length = rest.bytes().take(LABEL).take_while(|b| is_label(*b)).count();
    let encoded = rest.get(PUNYCODE.len()..length).filter(|encoded| named && !encoded.is_empty())?;
    let encoded = Some(encoded).filter(|_| !before.is_some_and(|b| is_label(*b)))?;
    Some((length, idna::punycode::decode_to_string(encoded)?))
}

/// Whether the plus sign at `at` is a space: between letters and digits, in the query of a URL (WHATWG URL, 5.1).
fn is_space(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'%' || !byte.is_ascii();
    let (before, after) = (at.checked_sub(1).and_then(|at| bytes.get(at)), bytes.get(at + 1));
    let token = || bytes.iter().take(at).rev().take(QUERY).take_while(|b| !b.is_ascii_whitespace());
    before.is_some_and(|b| word(*b)) && after.is_none_or(|b| word(*b)) && token().any(|b| *b == b'?')
}

/// The number whose exponent begins with the letter at `at`, and its value in plain digits. It begins at `from` or
/// later. A letter, a digit or a dash beside it makes it a part of a name.
fn exponent(text: &str, at: usize, from: usize) -> Option<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let mantissa = |b: &&u8| b.is_ascii_digit() || **b == b'.';
    let before = bytes.get(from..at)?.iter().rev().take(NUMBER).take_while(mantissa).count();
    let (start, after) = (at - before, text.get(at + 1..)?);
    let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.') || !b.is_ascii();
    let beside = start.checked_sub(1).and_then(|at| bytes.get(at)).copied();
    let named = match beside {
        Some(b'-' | b'+') => start.checked_sub(2).and_then(|at| bytes.get(at)).copied().is_some_and(is_name),
        beside => beside.is_some_and(is_name),
    };
    let signed = usize::from(after.starts_with(['+', '-']));
    let length = after.get(signed..)?.bytes().take(NUMBER).take_while(u8::is_ascii_digit).count();
    let end = at + 1 + signed + length;
    let follows = bytes.get(end).copied().is_some_and(|b| b != b'.' && is_name(b));
    let (whole, fraction) = text.get(start..at)?.split_once('.').unwrap_or((text.get(start..at)?, ""));
    if named || follows || whole.is_empty() || fraction.contains('.') {
        return None;
    }
    let shift: usize = after.get(signed..signed + length)?.parse().ok().filter(|shift| *shift <= ZEROS)?;
    let value = if after.starts_with('-') {
        let zeros = "0".repeat((shift + 1).saturating_sub(whole.len()));
        let digits = format!("{zeros}{whole}");
        let (whole, moved) = digits.split_at_checked(digits.len() - shift)?;
        format!("{whole}.{moved}{fraction}")
    } else {
        let (moved, fraction) = fraction.split_at_checked(shift.min(fraction.len()))?;
        let zeros = "0".repeat(shift - moved.len());
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{whole}{moved}{zeros}{point}{fraction}")
    };
    Some((start..end, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The readings of a text, in order.
    fn readings(text: &str) -> Vec<String> {
        decoded(text).iter().map(|view| view.text().to_owned()).collect()
    }

    #[test]
    fn every_form_of_an_escape_is_its_character() {
        for (text, expected) in [
            (r"a\u0040b", "a@b"),
            (r"a\u{40}b", "a@b"),
            (r"a\U00000040b", "a@b"),
            (r"a\x40b", "a@b"),
            (r"a\100b", "a@b"),
            ("a%40b", "a@b"),
            ("//xn--mller-kva.b", "//m\u{fc}ller.b"),
            ("a?b=c+d%20e", "a?b=c d e"),
            ("a&#64;b", "a@b"),
            ("a&#x40;b", "a@b"),
            ("a&commat;b", "a@b"),
            (r"a\tb\nc", "a\tb\nc"),
            (r"\ud83d\ude00", "\u{1f600}"),
            (r"\ud83dx", "\u{fffd}x"),
            ("%F0%9F%98%80", "\u{1f600}"),
            ("4.111111111111111e15", "4111111111111111"),
            ("41.5E+1", "415"),
            ("-1.25e1,", "-12.5,"),
            ("15e-3", "0.015"),
            ("1.5e0", "1.5"),
        ] {
            assert_eq!(readings(text).first().map(String::as_str), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_text_is_not_changed() {
        for text in [
            "100% sure",
            "a+b? c+d",
            "axn--mller-kva",
            "xn--",
            "x-ray",
            "%zz",
            "%ff%fe",
            "R&D",
            r"\alpha",
            r"\ue",
            r"\u00g0",
            r"\x4",
            r"\8",
            "4e",
            "e5",
            "b4e12",
            "a-4e12-b",
            "4e12b",
            "1.2.3e4",
            "4e99999",
            "1e41",
            "",
            "\\",
        ] {
            assert_eq!(readings(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_document_inside_a_string_is_another_reading() {
        assert_eq!(
            readings(r#"{"b":"{\"to\": \"ana\\u0040b.org\"}"}"#).last().unwrap(),
            r#"{"b":"{"to": "ana@b.org"}"}"#
        );
        let (mut text, mut deepest) = ("ana\\u0040b.org".to_owned(), Vec::new());
        for _ in 0..6 {
            deepest.push(readings(&text).last().unwrap().contains("ana@b.org"));
            text = serde_json::to_string(&text).unwrap();
        }
        assert_eq!(deepest, [true, true, true, true, false, false]);
    }

    #[test]
    fn what_is_nested_too_deep_is_found() {
        let mut text = "\\u0040".to_owned();
        let mut found = Vec::new();
        for _ in 0..6 {
            found.push(!too_deep(&text).is_empty());
            text = serde_json::to_string(&text).unwrap();
        }
        assert_eq!(found, [false, false, false, false, true, true]);
        assert!(too_deep(&"\\".repeat(100)).is_empty(), "a row of backslashes is not a document");
    }

    #[test]
    fn places_refer_to_the_text_itself() {
        let text = r#"é {\"a\": \"x\\u0040y\"} 1e2."#;
        for view in decoded(text) {
            let at = view.text().find('y').unwrap();
            assert_eq!(text.get(view.origin(&(at..at + 1))), Some("y"));
        }
        let last = decoded(text).pop().unwrap();
        let at = last.text().find('@').unwrap();
        assert_eq!(text.get(last.origin(&(at..at + 1))), Some(r"\\u0040"));
        let number = last.text().find("100").unwrap();
        assert_eq!(text.get(last.origin(&(number..number + 3))), Some("1e2"));
    }

    #[test]
    fn an_escape_that_is_not_complete_waits() {
        for (text, expected) in [
            ("a\\", 1),
            ("a\\u", 1),
            ("a\\u004", 1),
            (r"a\u0040", 7),
            (r"a\\\\", 1),
            (r"a\\u00", 1),
            (r"a\ud83d", 1),
            (r"a\ud83d\ud", 1),
            (r"a\ud83d\ude00", 13),
            ("a%", 1),
            ("a%4", 1),
            ("a%40", 2),
            ("a%40b", 5),
            ("a%C3", 1),
            ("a%C3%A", 1),
            ("a%C3%A9", 7),
            ("a 4.1e", 2),
            ("a 4", 2),
            ("a.", 2),
            ("a \\", 2),
            ("a xn--ml", 2),
            ("a xy", 4),
            ("a?b+", 3),
        ] {
            assert_eq!(undecoded(text), expected, "{text}");
        }
    }
}
