//! Sentences (UAX #29, rules SB1 to SB998), with a bounded look-ahead, and without ends after abbreviations and at line
//! breaks inside a paragraph.
//!
//! The parts of each line are independent: UAX #29 breaks after every line separator. ASCII lines use a short form of
//! the rules, other lines the full tables; a property test checks that both agree on ASCII. Two bounds are additions:
//! rule SB8 examines at most [`LOOK`] characters to find the deciding letter, and a part has at most [`LONGEST`] bytes.
//! With these bounds, the first sentences of a text become final while the text still grows. A sentence is one part, or
//! several that [`crate::full_stop`] and [`crate::form`] join.

use crate::form::{LINE_BELOW, line_break};
use crate::full_stop::{FullStop, full_stop};
use crate::language::Language;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Number of characters, after a full stop with its closing marks and spaces, in which rule SB8 searches for a letter.
const LOOK: usize = 64;
/// Greatest length of a part in bytes: one more than the longest span that a policy can allow.
const LONGEST: usize = 1 << 16;
/// Bytes of a sentence after which no further part is joined to it.
const JOINED: usize = 1 << 12;
/// Bytes before a hit that are read to see what kind of full stop follows.
const NEAR: usize = 64;
/// Line separators outside ASCII.
const LINE_ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
/// Full stops (Sentence_Break=ATerm).
const FULL_STOPS: [char; 4] = ['.', '\u{2024}', '\u{fe52}', '\u{ff0e}'];

/// Ends of all sentences of `text` after `from`, where a sentence begins, including the last sentence. The text before
/// `from` is context.
pub(crate) fn sentence_ends(text: &str, from: usize, language: &Language) -> Vec<usize> {
    let mut ends = Vec::new();
    let (mut start, mut at) = (from, from);
    for line in text.get(from..).unwrap_or_default().split_inclusive('\n') {
        let ascii = line.is_ascii();
        let mut rest = line;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(first_in_line(rest, ascii));
            at += part.len();
            rest = after;
            if at == text.len() || !continues(text, start, at, language) {
                ends.push(at);
                start = at;
            }
        }
    }
    ends
}

/// What stands between two parts: a full stop or a line break.
fn between(text: &str, start: usize, end: usize, is_complete: bool, language: &Language) -> FullStop {
    let is_line = text.get(..end).is_some_and(|before| before.ends_with('\n'));
    // The mark of an image ends no sentence.
    if text.get(..end).is_some_and(|before| before.ends_with("![")) {
        return FullStop::Continues;
    }
    let of = if is_line { line_break } else { full_stop };
    of(text, start, end, is_complete, language)
}

/// Whether a sentence that begins at `start` continues after its part that ends at `end`.
fn continues(text: &str, start: usize, end: usize, language: &Language) -> bool {
    let goes_on = || between(text, start, end, true, language);
    end - start <= JOINED && matches!(goes_on(), FullStop::Continues | FullStop::Doubtful)
}

/// A sentence whose end is not certain yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UncertainEnd {
    /// The place up to which it is certain that the sentence goes on. The next search can begin there.
    pub(crate) goes_on: usize,
    /// The length that the text must have before its end is more certain, unless a line break comes before.
    pub(crate) until: usize,
}

/// The end of the sentence that begins at `start`, if later text cannot move it. The sentence goes on at least to
/// `from`.
pub(crate) fn settled_end(text: &str, start: usize, from: usize, language: &Language) -> Result<usize, UncertainEnd> {
    let mut goes_on = from;
    loop {
        let part = text.get(goes_on..).and_then(settled_part);
        let end = goes_on + part.ok_or(UncertainEnd { goes_on, until: 0 })?;
        if end - start > JOINED {
            return Ok(end);
        }
        match between(text, start, end, false, language) {
            FullStop::Ends => return Ok(end),
            FullStop::Continues | FullStop::Doubtful => goes_on = end,
            FullStop::Undecided => {
                let is_line = text.get(..end).is_some_and(|before| before.ends_with('\n'));
                return Err(UncertainEnd { goes_on, until: if is_line { end + LINE_BELOW } else { 0 } });
            }
        }
    }
}

/// The end of the first part of `text`, if later text cannot move it.
fn settled_part(text: &str) -> Option<usize> {
    let end = first(text);
    let (part, after) = text.split_at(end);
    let closed = part.ends_with('\n') || part.ends_with(LINE_ENDS);
    // A lower-case letter is the only next character that could move the end, so the check appends one.
    let stands = || after.chars().nth(LOOK).is_some() || first(&[text, "a"].concat()) == end;
    (closed || (!after.is_empty() && stands())).then_some(end)
}

/// The end of the sentence that contains the end of `range`, and whether the sentence may continue beyond it. At most
/// `reach` bytes after `range` are read.
pub(crate) fn end_of(text: &str, range: &Range<usize>, reach: usize, language: &Language) -> (usize, bool) {
    let limit = text.floor_char_boundary((range.end + reach).min(text.len()));
    let near = text.floor_char_boundary(range.start.saturating_sub(NEAR));
    let read = text.get(..limit).unwrap_or_default();
    let mut end = range.start;
    while end < range.end || continues(read, near, end, language) {
        let Some(rest) = read.get(end..).filter(|rest| !rest.is_empty()) else { break };
        end += first(rest);
    }
    let end = if end < range.end { limit } else { end };
    // The end of a line is certain, so an incomplete text that ends there gives the same result as the complete text.
    let closed = text.get(..end).is_some_and(|before| before.ends_with(['\n', '\r']) || before.ends_with(LINE_ENDS));
    let closed = closed && !continues(text, near, end, language);
    (end, end == limit && limit < text.len() && !closed)
}

/// The start of the last sentence before the end of `range`, found by marks only: after a line break, or after a mark
/// and a space unless a lower-case letter follows or the mark ends no sentence. At least the start of `range`. Also
/// whether it is in doubt that a sentence starts there.
pub(crate) fn last_start(text: &str, range: &Range<usize>, language: &Language) -> (usize, bool) {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '\u{2026}' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}');
    let closes = |c: char| matches!(c, '"' | '\'' | ')' | ']' | '*' | '_' | '\u{201d}' | '\u{2019}');
    let before = text.get(range.clone()).unwrap_or_default();
    let breaks = before.rmatch_indices(['\n', '\r']).map(|(at, _)| range.start + at + 1);
    let ends_there = |at: &usize| !continues(text, range.start, *at, language);
    let line = breaks.into_iter().find(ends_there).unwrap_or(range.start);
    let part = text.get(line..range.end).unwrap_or_default();
    let behind = part.rmatch_indices(ends).find_map(|(at, mark)| {
        let rest = part.get(at + mark.len()..)?.trim_start_matches(closes);
        let next = rest.trim_start();
        let start = range.end - next.len();
        let stands = rest.len() > next.len() && !next.starts_with(char::is_lowercase);
        let does = || full_stop(text, line, start, true, language);
        stands.then(does).filter(|does| *does != FullStop::Continues).map(|does| (start, does == FullStop::Doubtful))
    });
    behind.unwrap_or((line, false))
}

/// The end of the first part of a text.
fn first(text: &str) -> usize {
    let near = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
    let end = first_of_ascii(near.as_bytes());
    // The short rules have read at most this many bytes. The rest of the line is not read for each of its sentences.
    let read = near.as_bytes().get(..(end + LOOK + 2).min(near.len())).unwrap_or_default();
    if read.is_ascii() {
        return end;
    }
    first_by_tables(near.split_inclusive('\n').next().unwrap_or_default())
}

fn first_in_line(line: &str, ascii: bool) -> usize {
    let line = line.get(..line.floor_char_boundary(LONGEST)).unwrap_or_default();
    if ascii { first_of_ascii(line.as_bytes()) } else { first_by_tables(line) }
}

/// The rules for ASCII lines. Most character classes of UAX #29 do not occur in ASCII, so these few rules suffice.
fn first_of_ascii(line: &[u8]) -> usize {
    let is_separator = |b: u8| matches!(b, b'\n' | b'\r');
    let is_space = |b: u8| matches!(b, b' ' | b'\t' | 0x0b | 0x0c);
    let is_close = |b: u8| matches!(b, b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}');
    let is_terminator = |b: u8| matches!(b, b'.' | b'!' | b'?');
    let get = |i: usize| line.get(i).copied();
    let line_end = |i: usize| i + if get(i) == Some(b'\r') && get(i + 1) == Some(b'\n') { 2 } else { 1 };
    let mut i = 0;
    let is_mark = |b: u8| is_separator(b) || is_terminator(b);
    while let Some(skipped) = line.get(i..).and_then(|rest| rest.iter().position(|b| is_mark(*b))) {
        i += skipped;
        let Some(b) = get(i) else { break };
        if is_separator(b) {
            return line_end(i);
        }
        let period = b == b'.';
        let next = get(i + 1);
        // SB6, SB7: a period does not end the sentence before a digit, or between a letter and an upper-case letter.
        let after_letter = i > 0 && get(i - 1).is_some_and(|b| b.is_ascii_alphabetic());
        if period
            && (next.is_some_and(|b| b.is_ascii_digit())
                || after_letter && next.is_some_and(|b| b.is_ascii_uppercase()))
        {
            i += 1;
            continue;
        }
        let mut end = i + 1;
        while get(end).is_some_and(is_close) {
            end += 1;
        }
        while get(end).is_some_and(is_space) {
            end += 1;
        }
        // SB8a: a comma or another terminator continues the sentence. SB8: so does a period before a lower-case letter.
        let goes_on = get(end).is_some_and(|b| is_terminator(b) || matches!(b, b',' | b'-' | b':' | b';'));
        let decides = |b: &&u8| b.is_ascii_alphabetic() || is_separator(**b) || is_terminator(**b);
        let ahead = || line.get(end..).unwrap_or_default().iter().take(LOOK).find(decides);
        if goes_on || period && ahead().is_some_and(u8::is_ascii_lowercase) {
            // The search continues after the marks, or at a further terminator.
            i = if goes_on && get(end).is_some_and(is_terminator) { end } else { end.max(i + 1) };
            continue;
        }
        return if get(end).is_some_and(is_separator) { line_end(end) } else { end };
    }
    line.len()
}

fn first_by_tables(line: &str) -> usize {
    let first = |text: &str| text.split_sentence_bounds().next().map_or(0, str::len);
    let end = first(line);
    let sentence = line.get(..end).unwrap_or_default();
    // If rule SB8 would find its letter only beyond [`LOOK`] characters, the sentence ends after the full stop.
    let too_far = sentence.match_indices(FULL_STOPS).find_map(|(at, _)| {
        let behind = line.get(at..)?;
        let decides = |c: char| c.is_alphabetic() || FULL_STOPS.contains(&c) || matches!(c, '!' | '?' | '\n' | '\r');
        let ahead = behind.char_indices().skip(1).find(|(_, c)| decides(*c)).map_or(behind.len(), |(at, _)| at);
        let undecided = behind.get(..ahead)?;
        undecided.chars().nth(LOOK)?;
        let border = first(&[undecided, "A"].concat());
        undecided.get(border..)?.chars().nth(LOOK - 1).map(|_| at + border)
    });
    too_far.unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by(first: impl Fn(&str) -> usize, line: &str) -> Vec<usize> {
        let mut ends = vec![0];
        while ends[ends.len() - 1] < line.len() {
            let at = ends[ends.len() - 1];
            ends.push(at + first(&line[at..]));
        }
        ends
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn the_short_rules_agree_with_the_tables(line in "([aB1 .,!?'\")(;:\t-]{1,6}|[1 ]{55,70}){0,6}\n?") {
            prop_assert_eq!(by(|rest| first_of_ascii(rest.as_bytes()), &line), by(first_by_tables, &line));
        }

        #[test]
        fn the_rules_are_those_of_the_standard(line in "[aB1 .,!?'\")(;:\u{e9}\u{3002}\u{301}\u{201d}\u{2014}\u{ff0e}-]{0,40}\n?") {
            let standard: Vec<usize> = line.split_sentence_bound_indices().map(|(at, part)| at + part.len()).collect();
            let ours = by(|rest| first_in_line(rest, rest.is_ascii()), &line);
            prop_assert_eq!(ours.get(1..).unwrap_or_default(), standard);
        }

        #[test]
        fn an_end_that_is_settled_stands(
            begun in "([aB1 .,!?'\")(\u{e9}\u{3002}\u{201d}\n\r-]{1,6}|[1 ]{55,70}|(Dr|Inc|No|p\\.m|z|B|3)\\. |Die |Roe ){0,4}",
            goes_on in "([aB1 .,!?'\")(\u{e9}\u{301}\u{201d}\n\r-]{1,6}|[1 ]{55,70}|(Dr|Inc|B|3)\\. |Die |Roe ){0,4}",
            code in "en|de",
        ) {
            let language = Language::of(&code).unwrap();
            if let Ok(end) = settled_end(&begun, 0, 0, language) {
                prop_assert_eq!(sentence_ends(&[begun, goes_on].concat(), 0, language)[0], end);
            }
        }
    }

    #[test]
    fn what_is_looked_at_is_bounded() {
        let far = |letter: &str| format!("A. {}{letter}.", "1 ".repeat(200));
        let sentence_ends = |text: &str| sentence_ends(text, 0, Language::of("en").unwrap());
        assert_eq!([sentence_ends(&far("b"))[0], sentence_ends(&far("\u{e9}"))[0]], [3, 3]);
        assert_eq!(sentence_ends(&format!("A. {}b.", "1 ".repeat(20))).len(), 1);
        for letter in ["a", "\u{e9}"] {
            let long = letter.repeat(3 * LONGEST / 2);
            let ends = sentence_ends(&long);
            assert!(ends.windows(2).all(|pair| pair[1] - pair[0] <= LONGEST), "{ends:?}");
            assert_eq!(ends.last(), Some(&long.len()));
        }
    }

    /// The sentences of a text, joined by bars.
    fn parted(text: &str, code: &str) -> String {
        let mut start = 0;
        let ends = sentence_ends(text, 0, Language::of(code).unwrap());
        let parts = ends.into_iter().map(|end| text[std::mem::replace(&mut start, end)..end].trim_end());
        parts.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn an_abbreviation_ends_no_sentence() {
        for text in [
            "The list of Dr. Roe lies in us-east-1.",
            "We met e.g. Bo and i.e. Ann.",
            "See No. 5 of Fig. A.",
            "He works at Beta Corp. North America in the U.S. Midwest.",
            "Trains leave at 5 p.m. Monday to Friday.",
            "A report by J. R. Doe says so.",
            "It is 5 in. Wide at most.",
            "The list of Beta Ltd. Bristol is in us-east-1.",
        ] {
            assert_eq!(parted(text, "en"), text);
        }
        for text in [
            "Die Liste vom 3. Mai von Dr. Roe liegt in Oslo.",
            "Im 1. Quartal z. B. Kiel, d. h. Holstein.",
            "Nach Abs. 2 Nr. 3 und Art. 5 gilt das.",
            "Die Firma Otto GmbH & Co. Kiel liefert.",
        ] {
            assert_eq!(parted(text, "de"), text);
        }
    }

    #[test]
    fn a_line_break_inside_a_paragraph_ends_no_sentence() {
        for text in [
            "The list of our shops lies in the\nus-east-1 region.",
            "The list lies, as you know,\nUS-EAST-1 says.",
            "The list of our customers was moved to\nOslo.",
            "- The list of our shops\n  lies in Oslo.",
            "> The list of our shops\n> lies in Oslo.",
            "The list of Dr.\nRoe lies in Oslo.",
            "Your refund for the order is\n20 euros.",
            "Note: the list of our shops\nlies in Oslo.",
        ] {
            assert_eq!(parted(text, "en"), text);
        }
        for text in [
            "Oslo|Bergen",
            "Price: 20 euros|colour: red",
            "The list.|it is long.",
            "These are:|the list",
            "# The list|it is long",
            "The list of our shops|- lies in Oslo",
            "The list of our shops|1. lies in Oslo",
            "let a = b|let c = d",
            "a | b|c | d",
            "10:17:18 INFO message received|from the hall",
            "The list of our shops||lies in Oslo",
        ] {
            assert_eq!(
                parted(&text.replace('|', "\n").replace("a \n b", "a | b").replace("c \n d", "c | d"), "en"),
                *text
            );
        }
    }

    #[test]
    fn a_sentence_ends_after_an_abbreviation_before_a_new_one() {
        for text in [
            "He works at Beta Inc.|You should write.",
            "It opens at 5 p.m.|The shop is new.",
            "The answer was no.|Bring it.",
            "We chose plan B.|It works.",
            "Look in.|We wait.",
            "1.|Wash it.",
            "They left.|Dr. Roe stayed.",
            "He works at Beta Inc.|Parking costs money.",
        ] {
            assert_eq!(parted(&text.replace('|', " "), "en"), text);
        }
        assert_eq!(parted("Es waren 12. Die Liste fehlt.", "de"), "Es waren 12.|Die Liste fehlt.");
    }
}
