//! Forms: prose, label and value, list item, table row, code, log, verse. Rules that compare statements read prose.
//!
//! The form of a piece follows from the line in which it begins, as far as [`REACH`] bytes on either side show it. A
//! sentence inside a value is prose, whatever stands round it: at least [`SENTENCE`] words in a row, or a verb and a
//! mark at the end. What has no other form is prose.

mod line;
mod paragraph;
mod whole;

use crate::checkable::is_verb;
use crate::language::Language;
use crate::words::{lower, words};
use line::label;
use line::{Line, LineShape};
pub(crate) use paragraph::{LINE_BELOW, line_break};
use std::ops::Range;
pub(crate) use whole::WholeParts;

/// Number of bytes on either side of a piece that its form depends on.
pub(crate) const REACH: usize = 1024;
/// Number of words in a row that make a sentence.
const SENTENCE: usize = 6;
/// Greatest length in bytes of a line of verse.
const VERSE: usize = 64;

/// What a piece of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// Sentences.
    Prose,
    /// A heading, or a label with its value.
    Label,
    /// A list item that is not a sentence.
    Item,
    /// A row of a table.
    Row,
    /// Code, configuration or data.
    Code,
    /// A line of a log.
    Log,
    /// A short line below another one, without a mark at its end.
    Verse,
}

impl TextForm {
    /// The form's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Label => "label",
            Self::Item => "item",
            Self::Row => "row",
            Self::Code => "code",
            Self::Log => "log",
            Self::Verse => "verse",
        }
    }

    /// Whether a text of this form can open a gate or deny a phrase.
    pub(crate) const fn asserts(self) -> bool {
        !matches!(self, Self::Label | Self::Row | Self::Code)
    }
}

/// The form of a piece, and its prose: the piece itself, or the part of it with sentences. The text before `origin` may
/// be cut off.
pub(crate) fn form(
    text: &str,
    origin: usize,
    piece: &Range<usize>,
    language: &Language,
) -> (TextForm, Option<Range<usize>>) {
    let Some(start) = line_start(text, origin, piece.start) else {
        return (TextForm::Prose, Some(piece.clone()));
    };
    let end = piece.end.min(text.floor_char_boundary(piece.start + 4 * REACH));
    let (mut form, mut prose) = (None, None::<Range<usize>>);
    let mut at = start;
    for line in text.get(start..end).unwrap_or_default().split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let here = line_form(text, &range, language);
        form.get_or_insert(here);
        let inside = range.start.max(piece.start)..range.end.min(piece.end);
        let found = if here == TextForm::Prose { Some(inside.clone()) } else { sentences(text, &inside, language) };
        if let Some(found) = found {
            prose = Some(prose.map_or(found.start, |prose| prose.start)..found.end);
        }
    }
    let form = form.unwrap_or(TextForm::Prose);
    // What is too long to be read is prose.
    let prose = if end < piece.end { Some(piece.clone()) } else { prose };
    (form, prose)
}

/// The start of the line around `at`; `None` if it is too far away to be seen.
fn line_start(text: &str, origin: usize, at: usize) -> Option<usize> {
    let near = text.floor_char_boundary(at.saturating_sub(REACH));
    match text.get(near..at).unwrap_or_default().rfind('\n') {
        Some(end) => Some(near + end + 1),
        None => (near == 0 && origin < REACH).then_some(0),
    }
}

/// The form of a line by its shape and by the line before it.
fn line_form(text: &str, line: &Range<usize>, language: &Language) -> TextForm {
    let shown = text.get(line.clone()).unwrap_or_default();
    let read = Line::of(shown, language);
    match read.shape {
        LineShape::Blank | LineShape::Heading | LineShape::Fence | LineShape::Label => TextForm::Label,
        LineShape::Row => TextForm::Row,
        LineShape::Log => TextForm::Log,
        LineShape::Code => TextForm::Code,
        LineShape::Text if read.item => TextForm::Item,
        LineShape::Text => {
            let before =
                text.get(text.floor_char_boundary(line.start.saturating_sub(REACH))..line.start).unwrap_or_default();
            let above = before.trim_end_matches('\n').rsplit('\n').next().filter(|_| !before.ends_with("\n\n"));
            let is_short = |line: &str| {
                !line.trim().is_empty() && line.trim().len() <= VERSE && !line.trim_end().ends_with(['.', ':', '?'])
            };
            if above.is_some_and(is_short) && is_short(shown) { TextForm::Verse } else { TextForm::Prose }
        }
    }
}

/// The words of the heading or label at the start of a span, in lower case; `None` if there is neither.
pub(crate) fn words_of_label(span: &str, language: &Language) -> Option<String> {
    let line = span.lines().next()?;
    let read = Line::of(line, language);
    let name = match read.shape {
        LineShape::Heading => read.body,
        _ => read.body.get(..label(read.body)?)?,
    };
    let words: Vec<String> =
        words(name).filter_map(|word| name.get(word)).map(|word| lower(word).into_owned()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The part of a line with sentences: from the first value that is a sentence to the last.
fn sentences(text: &str, line: &Range<usize>, language: &Language) -> Option<Range<usize>> {
    let shown = text.get(line.clone())?;
    let body = Line::of(shown, language).body;
    let mut found = None::<Range<usize>>;
    // The body is the end of the line, up to its white space.
    let mut at = line.start + shown.trim_end().len() - body.len();
    if let Some(label) = label(body) {
        at += label;
    }
    let rest = text.get(at..line.end)?;
    for part in rest.split_inclusive(['|', '\t', '"', '`', '=', '{', '}', '[', ']', '<', '>', '#']) {
        let range = at..at + part.len();
        at = range.end;
        if is_sentence(part, language) {
            found = Some(found.map_or(range.start, |found| found.start)..range.end);
        }
    }
    found
}

/// Whether a value is a sentence.
fn is_sentence(value: &str, language: &Language) -> bool {
    let value = value.trim_end_matches(['|', '\t', '"', '`', '=', '{', '}', '[', ']', '<', '>', '#']).trim();
    let (mut row, mut count, mut verb) = (0, 0, false);
    for word in value.split_whitespace() {
        let word = word.trim_matches(|c: char| {
            matches!(
                c,
                ',' | '.'
                    | ';'
                    | ':'
                    | '!'
                    | '?'
                    | '('
                    | ')'
                    | '\''
                    | '"'
                    | '*'
                    | '_'
                    | '\u{201c}'
                    | '\u{201d}'
                    | '\u{2026}'
            )
        });
        let number = word.starts_with(|c: char| c.is_numeric());
        if word.is_empty() || number {
            continue;
        }
        if !is_natural(word) {
            row = 0;
            continue;
        }
        (row, count) = (row + 1, count + 1);
        if row >= SENTENCE {
            return true;
        }
        let lowered = lower(word);
        verb |= is_verb(&lowered, language.kinds(&lowered), language.abbreviations.lexicon);
    }
    verb && count > 1
        && value
            .trim_end_matches(['"', '\'', ')', '*', '_', '\u{201d}'])
            .ends_with(['.', '!', '?', '\u{2026}', '\u{3002}'])
}

/// Whether a word is one of a language, not the name of a variable or file.
fn is_natural(word: &str) -> bool {
    let mut last = None;
    word.chars().all(|c| {
        let humped = c.is_uppercase() && last.is_some_and(char::is_lowercase);
        last = Some(c);
        (c.is_alphabetic() && !humped) || matches!(c, '\'' | '-' | '\u{2019}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of the last line of a text, and its prose.
    fn of(text: &str) -> (TextForm, Option<&str>) {
        let start = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
        let (form, prose) = form(text, 0, &(start..text.len()), Language::of("en").unwrap());
        (form, prose.map(|prose| text[prose].trim()))
    }

    #[test]
    fn what_is_no_sentence_states_nothing() {
        for (form, text) in [
            (TextForm::Label, "Price: 20 euros"),
            (TextForm::Label, "## The blue lamp"),
            (TextForm::Label, "Tuesday: rest."),
            (TextForm::Item, "- two eggs"),
            (TextForm::Row, "| oak | 20 m |"),
            (TextForm::Row, "oak,20,yes"),
            (TextForm::Code, "  port = 80;"),
            (TextForm::Code, "{\"open\": false}"),
            (TextForm::Log, "2026-07-18 10:17:18 INFO message received"),
            (TextForm::Verse, "Row home, row home,\nthe tide is low,"),
        ] {
            assert_eq!(of(text), (form, None), "{text:?}");
        }
    }

    #[test]
    fn a_sentence_is_prose_whatever_stands_round_it() {
        for (form, text, prose) in [
            (TextForm::Prose, "The lift works", "The lift works"),
            (TextForm::Item, "- The lift works.", "The lift works."),
            (TextForm::Label, "Note: the lift is out of order.", "the lift is out of order."),
            (TextForm::Row, "| lift | The lift works. | 3 |", "The lift works. |"),
            (TextForm::Code, "let a = 1; // The lift works.", "1; // The lift works."),
            (TextForm::Code, "{\"text\": \"The lift works.\", \"n\": 3}", "The lift works.\""),
            (
                TextForm::Log,
                "10:17:18 WARN the lift in the old hall is stuck",
                "10:17:18 WARN the lift in the old hall is stuck",
            ),
        ] {
            assert_eq!(of(text), (form, Some(prose)), "{text:?}");
        }
    }
}
