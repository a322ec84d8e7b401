//! Segmentation: text to pieces that cover every byte once, in order.
//!
//! Lines are independent (UAX #29 breaks after every line separator). A line of ASCII takes a short form of the sentence rules,
//! any other the full tables; a property test shows that both agree on ASCII. Sentences are cut into clauses at `;`, `:` and at a
//! comma before a clause word. No cut falls inside a class hit. White space at the ends of a piece is a piece of its own, and inert.
//! Connectives at the very end of a text lead into nothing: they are a span, and judged.

use crate::language::{Language, kind};
use crate::words::{lower, words};
use portcullis_core::inert::is_formatting;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes.
    pub range: Range<usize>,
    /// Formatting or bare connectives: held for the next span's commitment, never submitted alone.
    pub inert: bool,
}

/// Whether a piece is formatting or bare connectives: words of the closed list `connectives` and characters of the closed list of
/// formatting.
pub(crate) fn is_inert(text: &str, language: &Language) -> bool {
    let is_connective = |word: &str| language.kinds(&lower(word)) & kind::CONNECTIVE != 0;
    let mut end = 0;
    let words = words(text).all(|word| {
        let gap = text.get(end..word.start).unwrap_or_default();
        end = word.end;
        is_formatting(gap) && text.get(word).is_some_and(is_connective)
    });
    words && text.get(end..).is_some_and(is_formatting)
}

/// Ends of the sentences of `text`, the last one included.
pub(crate) fn sentence_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.is_ascii() {
            ascii_sentence_ends(line.as_bytes(), |end| ends.push(at + end));
        } else {
            ends.extend(line.split_sentence_bound_indices().map(|(start, s)| at + start + s.len()));
        }
        at += line.len();
    }
    ends
}

/// UAX #29 SB3 to SB998 for one line of ASCII: which of its properties exist there leaves these few.
fn ascii_sentence_ends(line: &[u8], mut push: impl FnMut(usize)) {
    let is_separator = |b: u8| matches!(b, b'\n' | b'\r');
    let is_space = |b: u8| matches!(b, b' ' | b'\t' | 0x0b | 0x0c);
    let is_close = |b: u8| matches!(b, b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}');
    let is_terminator = |b: u8| matches!(b, b'.' | b'!' | b'?');
    let get = |i: usize| line.get(i).copied();
    let mut i = 0;
    let mut start = 0;
    let is_mark = |b: u8| is_separator(b) || is_terminator(b);
    while let Some(skipped) = line.get(i..).and_then(|rest| rest.iter().position(|b| is_mark(*b))) {
        i += skipped;
        let Some(b) = get(i) else { break };
        if is_separator(b) {
            i += if b == b'\r' && get(i + 1) == Some(b'\n') { 2 } else { 1 };
            push(i);
            start = i;
            continue;
        }
        let period = b == b'.';
        let next = get(i + 1);
        // SB6, SB7: a period before a digit, or between a letter and a capital.
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
        // SB8a: a comma or another terminator goes on; SB8: so does a period before a lower-case letter.
        let goes_on = get(end).is_some_and(|b| is_terminator(b) || matches!(b, b',' | b'-' | b':' | b';'));
        let lower_next = period
            && line
                .get(end..)
                .unwrap_or_default()
                .iter()
                .find(|b| b.is_ascii_alphabetic() || is_separator(**b) || is_terminator(**b))
                .is_some_and(u8::is_ascii_lowercase);
        if goes_on || lower_next {
            // The rules look at what follows the marks; a further terminator is looked at in its own right.
            i = if goes_on && get(end).is_some_and(is_terminator) { end } else { end.max(i + 1) };
            continue;
        }
        if get(end).is_some_and(is_separator) {
            end += if get(end) == Some(b'\r') && get(end + 1) == Some(b'\n') { 2 } else { 1 };
        }
        push(end);
        start = end;
        i = end;
    }
    if start < line.len() {
        push(line.len());
    }
}

/// Places inside `range` where a clause ends: after `;` or `:` and a space, or after a comma before a clause word.
pub(crate) fn clause_cuts(text: &str, range: &Range<usize>, language: &Language) -> Vec<usize> {
    let Some(part) = text.get(range.clone()) else { return Vec::new() };
    let mut cuts = Vec::new();
    for (at, mark) in part.match_indices([';', ':', ',']) {
        let Some(rest) = part.get(at + 1..) else { continue };
        if !rest.starts_with([' ', '\t']) {
            continue;
        }
        let clause_word = || {
            let first = words(rest).next().and_then(|w| rest.get(w)).unwrap_or_default();
            language.kinds(&lower(first)) & kind::CLAUSE != 0
        };
        // A label such as "Step 2:" or "Corrected:" stays with what it labels.
        let label = || {
            let from = cuts.last().map_or(0, |cut| cut - range.start);
            words(part.get(from..at).unwrap_or_default()).nth(2).is_none()
        };
        let cuts_here = match mark {
            ":" => !label(),
            "," => clause_word(),
            _ => true,
        };
        if cuts_here {
            cuts.push(range.start + at + 1);
        }
    }
    cuts
}

/// Cuts `range` at `cuts` (in order, those that `whole` forbids left out) and sets the inert ends of each part apart. A part that
/// `whole` says holds a hit is never inert.
pub(crate) fn cut(
    text: &str,
    range: &Range<usize>,
    cuts: impl IntoIterator<Item = usize>,
    whole: &impl Whole,
    language: &Language,
) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = range.start;
    for end in cuts.into_iter().chain([range.end]) {
        if end <= start || end > range.end || (end < range.end && whole.split_by(end)) {
            continue;
        }
        trimmed(text, start..end, whole.holds_hit(&(start..end)), language, &mut pieces);
        start = end;
    }
    pieces
}

/// Makes connectives behind the last span of the text a span: they lead into nothing that would take them along.
pub(crate) fn judge_last_connectives(text: &str, language: &Language, pieces: &mut Vec<Piece>) {
    let tail = pieces.iter().rposition(|piece| !piece.inert).map_or(0, |last| last + 1);
    let Some(start) = pieces.get(tail).map(|piece| piece.range.start) else { return };
    if !text.get(start..).is_some_and(is_formatting) {
        pieces.truncate(tail);
        trimmed(text, start..text.len(), true, language, pieces);
    }
}

/// What a cut may not part.
pub(crate) trait Whole {
    /// Whether a cut at `at` would part something.
    fn split_by(&self, at: usize) -> bool;
    /// Whether a range shares a byte with a class hit.
    fn holds_hit(&self, range: &Range<usize>) -> bool;
}

/// One part as up to three pieces: white space before it, the part, white space after it. A part that `must` be judged is never inert.
fn trimmed(text: &str, range: Range<usize>, must: bool, language: &Language, pieces: &mut Vec<Piece>) {
    let part = text.get(range.clone()).unwrap_or_default();
    if !must && is_inert(part, language) {
        pieces.push(Piece { range, inert: true });
        return;
    }
    let lead = part.len() - part.trim_start().len();
    let tail = part.trim_end().len();
    let (from, to) = (range.start + lead, range.start + tail);
    if lead > 0 {
        pieces.push(Piece { range: range.start..from, inert: true });
    }
    pieces.push(Piece { range: from..to, inert: false });
    if to < range.end {
        pieces.push(Piece { range: to..range.end, inert: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn full(line: &str) -> Vec<usize> {
        line.split_sentence_bound_indices().map(|(s, t)| s + t.len()).collect()
    }

    fn short(line: &str) -> Vec<usize> {
        let mut ends = Vec::new();
        ascii_sentence_ends(line.as_bytes(), |e| ends.push(e));
        ends
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn the_short_rules_agree_with_the_tables(line in "[aB1 .,!?'\")(;:\t-]{0,24}\n?") {
            prop_assert_eq!(short(&line), full(&line));
        }
    }

    #[test]
    fn clauses() {
        let text = "It rains; we stay, because it is cold, wet and dark.";
        let cuts = clause_cuts(text, &(0..text.len()), Language::of("en").unwrap());
        assert_eq!(cuts.iter().map(|c| &text[..*c]).collect::<Vec<_>>(), ["It rains;", "It rains; we stay,"]);
    }
}
