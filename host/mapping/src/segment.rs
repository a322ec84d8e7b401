//! Segmentation: cuts text into pieces that cover every byte once, in order.
//!
//! Sentences are cut into clauses at `;`, at `:`, and at a comma before a clause word. Two kinds of clauses stay joined
//! to the text before them. The first kind limits a statement or names its speaker; all later clauses stay joined, too
//! ("I do not say that it rains, or that it is cold"). The second kind begins with a quantifier ("Some survive it, but
//! most die"). No cut falls inside a class hit. White space at the ends of a piece becomes an inert piece. Connectives
//! at the very end of a text are judged as a span.

use crate::language::{Language, kind};
use crate::words::{find, lower, words};
use portcullis_core::inert::is_formatting;
use std::ops::Range;

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPiece {
    /// The piece's bytes.
    pub range: Range<usize>,
    /// Whether the piece is formatting or bare connectives: it waits for the next span and is never submitted alone.
    pub inert: bool,
}

/// Whether a text consists of connectives (the closed list `connectives`) and formatting (a closed list of characters).
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

/// The starts of the words of a text that limit a statement or name its speaker ("not", "if", "only", "she says").
pub(crate) fn limiting(text: &str, language: &Language) -> Vec<usize> {
    words(text).filter(|word| limits(text, word, language)).map(|word| word.start).collect()
}

fn limits(text: &str, word: &Range<usize>, language: &Language) -> bool {
    let word = lower(text.get(word.clone()).unwrap_or_default());
    language.kinds(&word) & (kind::SCOPE | kind::NEGATION) != 0
}

/// Reads forward in a part of a text, for marks in order. Each search starts where the last one ended, so all searches
/// together read each word at most once per question.
struct Ahead<'t> {
    part: &'t str,
    language: &'t Language,
    /// The last word that [`Self::word`] found.
    word: Option<Range<usize>>,
    /// The last word that [`Self::is_counted`] found, and its answer.
    counted: Option<(usize, bool)>,
    /// Number of bytes that [`Self::is_scoped`] has read, and whether they contain a limiting word.
    scoped: (usize, bool),
    /// Number of bytes that [`Self::is_label`] has read, and the number of words since the last cut in them.
    labelled: (usize, usize),
}

impl<'t> Ahead<'t> {
    const fn new(part: &'t str, language: &'t Language) -> Self {
        Self { part, language, word: None, counted: None, scoped: (0, false), labelled: (0, 0) }
    }

    fn kinds(&self, word: &Range<usize>) -> u32 {
        self.language.kinds(&lower(self.part.get(word.clone()).unwrap_or_default()))
    }

    fn words_from(&self, at: usize) -> impl Iterator<Item = Range<usize>> + use<'t> {
        words(self.part.get(at..).unwrap_or_default()).map(move |word| at + word.start..at + word.end)
    }

    /// The kinds of the first word after `at`.
    fn word(&mut self, at: usize) -> u32 {
        if self.word.as_ref().is_none_or(|word| word.start < at) {
            let end = self.part.len();
            self.word = Some(self.words_from(at).next().unwrap_or(end..end));
        }
        self.word.as_ref().map_or(0, |word| self.kinds(word))
    }

    /// Whether the clause after `at` begins with a word that counts things named earlier: "but most die", "and the
    /// rest left".
    fn is_counted(&mut self, at: usize) -> bool {
        if let Some((word, counted)) = self.counted.filter(|(word, _)| at <= *word) {
            return counted && word < self.part.len();
        }
        let opens = kind::CLAUSE | kind::CONNECTIVE | kind::DEFINITE;
        let first =
            self.words_from(at).map(|word| (word.start, self.kinds(&word))).find(|(_, kinds)| kinds & opens == 0);
        let (word, kinds) = first.unwrap_or((self.part.len(), 0));
        self.counted = Some((word, kinds & kind::QUANTIFIER != 0));
        kinds & kind::QUANTIFIER != 0
    }

    /// Whether a word before `at` limits a statement or names its speaker.
    fn is_scoped(&mut self, at: usize) -> bool {
        let (seen, found) = self.scoped;
        let new = self.part.get(seen..at).unwrap_or_default();
        let found = found || words(new).any(|word| limits(new, &word, self.language));
        self.scoped = (at, found);
        found
    }

    /// Whether fewer than three words stand between the last cut and `at`.
    fn is_label(&mut self, cut: usize, at: usize) -> bool {
        let (seen, count) = self.labelled;
        let (from, count) = if seen < cut { (cut, 0) } else { (seen, count) };
        let count = count + words(self.part.get(from..at).unwrap_or_default()).take(3).count();
        self.labelled = (at, count);
        count < 3
    }
}

/// The places inside `range` where a clause ends: after `;` or `:` and a space, or after a comma before a clause word.
pub(crate) fn clause_cuts(text: &str, range: &Range<usize>, language: &Language) -> Vec<usize> {
    let Some(part) = text.get(range.clone()) else { return Vec::new() };
    let mut cuts: Vec<usize> = Vec::new();
    let mut ahead = Ahead::new(part, language);
    let mut from = 0;
    while let Some(at) = find(part.as_bytes(), from, |byte| matches!(byte, b';' | b':' | b',')) {
        from = at + 1;
        if !matches!(part.as_bytes().get(from), Some(b' ' | b'\t')) || ahead.is_counted(from) {
            continue;
        }
        let cut = cuts.last().map_or(0, |cut| cut - range.start);
        let cuts_here = match part.as_bytes().get(at) {
            // A label such as "Step 2:" or "Corrected:" stays with its text.
            Some(b':') => !ahead.is_label(cut, at),
            Some(b',') => {
                let kinds = ahead.word(from);
                kinds & kind::CLAUSE != 0 && kinds & kind::SCOPE == 0 && !ahead.is_scoped(at)
            }
            _ => true,
        };
        if cuts_here {
            cuts.push(range.start + from);
        }
    }
    cuts
}

/// Cuts `range` at `cuts` (in order; cuts that `whole` forbids are skipped), separates the inert ends of each part, and
/// adds all parts to `pieces`. A part with a hit is never inert.
pub(crate) fn cut(
    text: &str,
    range: &Range<usize>,
    cuts: impl IntoIterator<Item = usize>,
    whole: &impl Whole,
    language: &Language,
    pieces: &mut Vec<TextPiece>,
) {
    let mut start = range.start;
    for end in cuts.into_iter().chain([range.end]) {
        if end <= start || end > range.end || (end < range.end && whole.split_by(end)) {
            continue;
        }
        trimmed(text, start..end, whole.holds_hit(&(start..end)), language, pieces);
        start = end;
    }
}

/// Turns connectives after the last span of the text into a span, because no later span can carry them.
pub(crate) fn judge_last_connectives(text: &str, language: &Language, pieces: &mut Vec<TextPiece>) {
    let tail = pieces.iter().rposition(|piece| !piece.inert).map_or(0, |last| last + 1);
    let Some(start) = pieces.get(tail).map(|piece| piece.range.start) else { return };
    if !text.get(start..).is_some_and(is_formatting) {
        pieces.truncate(tail);
        trimmed(text, start..text.len(), true, language, pieces);
    }
}

/// The ranges of a text that a cut must not divide.
pub(crate) trait Whole {
    /// Whether a cut at `at` would divide one of these ranges.
    fn split_by(&self, at: usize) -> bool;
    /// Whether a range shares a byte with a class hit.
    fn holds_hit(&self, range: &Range<usize>) -> bool;
}

/// Adds one part as up to three pieces: white space, the part, white space. If `must` is set, the part is judged even
/// if it would be inert.
fn trimmed(text: &str, range: Range<usize>, must: bool, language: &Language, pieces: &mut Vec<TextPiece>) {
    let part = text.get(range.clone()).unwrap_or_default();
    if !must && is_inert(part, language) {
        pieces.push(TextPiece { range, inert: true });
        return;
    }
    let lead = part.len() - part.trim_start().len();
    let tail = part.trim_end().len();
    let (from, to) = (range.start + lead, range.start + tail);
    if lead > 0 {
        pieces.push(TextPiece { range: range.start..from, inert: true });
    }
    pieces.push(TextPiece { range: from..to, inert: false });
    if to < range.end {
        pieces.push(TextPiece { range: to..range.end, inert: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses() {
        let text = "It rains; we stay, because it is cold, wet and dark.";
        let cuts = clause_cuts(text, &(0..text.len()), Language::of("en").unwrap());
        assert_eq!(cuts.iter().map(|c| &text[..*c]).collect::<Vec<_>>(), ["It rains;", "It rains; we stay,"]);
    }

    #[test]
    fn no_clause_is_cut_from_what_it_counts() {
        for text in [
            "Some people survive it, but most die.",
            "Ten ships sailed; the rest sank.",
            "He wrote letters, and some of them are lost.",
        ] {
            assert!(clause_cuts(text, &(0..text.len()), Language::of("en").unwrap()).is_empty(), "{text}");
        }
        let text = "He wrote most of it, and she wrote some.";
        assert_eq!(clause_cuts(text, &(0..text.len()), Language::of("en").unwrap()), [20]);
    }

    #[test]
    fn no_clause_is_cut_from_what_limits_it() {
        for text in [
            "I would not say that it rains, or that it is cold.",
            "We stay, unless it rains.",
            "Every ship sank, and two were found.",
            "She says that it rains, and that it is cold.",
        ] {
            assert!(clause_cuts(text, &(0..text.len()), Language::of("en").unwrap()).is_empty(), "{text}");
        }
        // "nobody" limits its own clause and later clauses, but not the text before it.
        let text = "We stay, and it rains, so nobody sails, and nobody swims.";
        assert_eq!(clause_cuts(text, &(0..text.len()), Language::of("en").unwrap()), [8, 22]);
    }
}
