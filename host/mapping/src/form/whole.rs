//! What leaves whole or not at all: a word, a line of code, an entry of a list, a cell of a table, a JSON value, and
//! code or a formula inside a sentence. A cut around a refused part is moved to the ends of these.

use super::line::{Line, LineShape};
use super::{REACH, line_start, sentences};
use crate::language::Language;
use std::ops::Range;

/// How a span can be divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WholeParts {
    /// Between words.
    Words,
    /// Not at all: the line without its indentation and marks.
    Line(Range<usize>),
    /// Only between these: the cells of a row, or the values of JSON.
    Values(Vec<Range<usize>>),
}

impl WholeParts {
    /// How the span can be divided. The first line of the span decides, up to the span's end; the text before `origin`
    /// may be cut off.
    pub(crate) fn of(text: &str, origin: usize, span: &Range<usize>, language: &Language) -> Self {
        let start = line_start(text, origin, span.start);
        let end = span.end.min(text.floor_char_boundary(span.start + 4 * REACH));
        let Some(shown) = start.and_then(|start| text.get(start..end)) else { return Self::Words };
        let line = shown.lines().next().unwrap_or_default();
        let at = end - shown.len();
        // A span of several lines is a paragraph.
        if shown.trim_end().len() > line.trim_end().len() || end < span.end {
            return Self::Words;
        }
        let read = Line::of(line, language);
        let body = at + line.trim_end().len() - read.body.len();
        let moved = |parts: Vec<Range<usize>>| {
            Self::Values(parts.into_iter().map(|part| body + part.start..body + part.end).collect())
        };
        match json(read.body) {
            Some(values) => moved(values),
            None if read.shape == LineShape::Row => moved(cells(read.body)),
            None if read.shape == LineShape::Code || read.item => {
                // Prose in an item or with a name of code in it is divided as prose is, and so are several items.
                let prose = sentences(text, &(at..end), language).is_some_and(|prose| prose.start <= body);
                let items = ["; (", ", ("].iter().any(|mark| read.body.contains(mark));
                let end = body + read.body.len();
                if prose || items { Self::Words } else { Self::Line(end - read.numbered.len()..end) }
            }
            None => Self::Words,
        }
    }

    /// The part around a range that leaves whole or not at all.
    pub(crate) fn around(&self, text: &str, range: &Range<usize>) -> Range<usize> {
        match self {
            Self::Words => {
                let inner = inside_marks(text, range).unwrap_or_else(|| range.clone());
                word_start(text, inner.start)..word_end(text, inner.end)
            }
            Self::Line(line) => line.start.min(range.start)..line.end.max(range.end),
            Self::Values(values) => {
                let first = values.partition_point(|value| value.end <= range.start);
                let last = values.partition_point(|value| value.start < range.end);
                let touched = values.get(first..last).unwrap_or_default();
                let start = touched.first().map_or(range.start, |value| value.start.min(range.start));
                start..touched.last().map_or(range.end, |value| value.end.max(range.end))
            }
        }
    }

    /// Whether a range is a JSON number or name: only a value can stand in its place.
    pub(crate) fn is_bare_value(text: &str, origin: usize, range: &Range<usize>, language: &Language) -> bool {
        let before = text.get(text.floor_char_boundary(range.start.saturating_sub(REACH))..range.start);
        let line = before.unwrap_or_default().rsplit('\n').next().unwrap_or_default().trim_end();
        // The start of a long line is too far away to be seen; a key is not.
        let has_key = line.strip_suffix(':').is_some_and(|key| key.trim_end().ends_with('"'));
        let is_element =
            || matches!(Self::of(text, origin, range, language), Self::Values(values) if values.last() == Some(range));
        let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let is_bare = text.get(range.clone()).is_some_and(|value| value.chars().all(bare));
        is_bare && (has_key || line.contains('"') && line.ends_with(['[', ',', ':']) && is_element())
    }

    /// The places between the parts.
    pub(crate) fn borders(&self) -> Vec<usize> {
        match self {
            Self::Words | Self::Line(_) => Vec::new(),
            Self::Values(values) => values.iter().flat_map(|value| [value.start, value.end]).collect(),
        }
    }
}

/// Longest word, and longest code or formula inside a sentence, in bytes.
const WORD: usize = 64;
const MARKED: usize = 256;

fn word_start(text: &str, at: usize) -> usize {
    let near = text.ceil_char_boundary(at.saturating_sub(WORD));
    let inside = text.get(at..).is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
    let before = text.get(near..at).unwrap_or_default();
    let word = before.trim_end_matches(char::is_alphanumeric);
    // The letter of an escape (`\n`) does not belong to the word behind it.
    let start = if word.ends_with('\\') { at } else { near + word.len() };
    if inside && (start > near || start == 0) { start } else { at }
}

fn word_end(text: &str, at: usize) -> usize {
    let near = text.floor_char_boundary((at + WORD).min(text.len()));
    let inside = text.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    let after = text.get(at..near).unwrap_or_default();
    let length = after.len() - after.trim_start_matches(char::is_alphanumeric).len();
    if inside && (length < after.len() || near == text.len()) { at + length } else { at }
}

/// The code (`` `…` ``) or formula (`$…$`, `\(…\)`, `\[…\]`) on one line that contains a range.
fn inside_marks(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let near = text.ceil_char_boundary(range.start.saturating_sub(MARKED));
    let before = text.get(near..range.start)?;
    let before = before.rsplit('\n').next().unwrap_or_default();
    let after = text.get(range.end..text.floor_char_boundary((range.end + MARKED).min(text.len())))?;
    let after = after.split('\n').next().unwrap_or_default();
    let held = text.get(range.clone())?;
    [("`", "`"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")].into_iter().find_map(|(open, close)| {
        let opened = match open == close {
            // The marks before it come in pairs, but for the last.
            true => before.matches(open).count() % 2 == 1,
            false => before.rfind(open) > before.rfind(close),
        };
        let start = before.rfind(open).filter(|_| opened && !held.contains(close))?;
        let end = after.find(close)?;
        Some(range.start - (before.len() - start)..range.end + end + close.len())
    })
}

/// The cells of a row, without white space and quotation marks around them.
fn cells(body: &str) -> Vec<Range<usize>> {
    let mark = ['|', '\t'].into_iter().find(|mark| body.contains(*mark));
    let mark = mark.unwrap_or_else(|| {
        let count = |mark| body.matches(mark).count();
        if count(',') >= count(';') { ',' } else { ';' }
    });
    let (mut found, mut start, mut quoted) = (Vec::new(), 0, false);
    let mut add = |start: usize, end: usize| {
        let cell = body.get(start..end).unwrap_or_default();
        let shown = cell.trim_matches(|c: char| c.is_whitespace() || c == '"');
        let lead = cell.len() - cell.trim_start_matches(|c: char| c.is_whitespace() || c == '"').len();
        if !shown.is_empty() {
            found.push(start + lead..start + lead + shown.len());
        }
    };
    for (at, c) in body.char_indices() {
        quoted ^= c == '"' && matches!(mark, ',' | ';');
        if c == mark && !quoted {
            add(start, at);
            start = at + 1;
        }
    }
    add(start, body.len());
    found
}

/// The values and keys of a line of JSON: strings without their quotation marks, numbers and names. `None` if the line
/// is none.
fn json(body: &str) -> Option<Vec<Range<usize>>> {
    let bytes = body.as_bytes();
    let (mut found, mut at, mut structured) = (Vec::new(), 0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let start = at + 1;
                let mut end = start;
                // The last string can be cut off.
                while bytes.get(end).is_some_and(|byte| *byte != b'"') {
                    end += if bytes.get(end) == Some(&b'\\') { 2 } else { 1 };
                }
                end = end.min(bytes.len());
                found.push(start..end);
                at = end + 1;
            }
            b'{' | b'}' | b'[' | b']' | b':' | b',' => {
                structured = true;
                at += 1;
            }
            b' ' | b'\t' | b'\r' => at += 1,
            _ => {
                let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let end = at + bytes.iter().skip(at).take_while(|byte| plain(byte)).count();
                let word = body.get(at..end).filter(|word| !word.is_empty())?;
                let known = matches!(word, "true" | "false" | "null");
                if !known && !word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                    return None;
                }
                found.push(at..end);
                at = end;
            }
        }
    }
    let quoted = body.contains('"') || body.starts_with(['{', '[']);
    (quoted && structured).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part around `§…§` that leaves whole, in a text with one line or more; the last line is the span.
    fn around(text: &str) -> String {
        let (start, end) = (text.find('§').unwrap(), text.rfind('§').unwrap() - '§'.len_utf8());
        let text = text.replace('§', "");
        let line = text.rfind('\n').map_or(0, |at| at + 1);
        let parts = WholeParts::of(&text, 0, &(line..text.len()), Language::of("en").unwrap());
        text[parts.around(&text, &(start..end))].to_owned()
    }

    #[test]
    fn each_part_leaves_whole() {
        for (text, whole) in [
            ("Please pay §5555§ now.", "5555"),
            ("Please pay:\\n§5555§ now.", "5555"),
            ("The code is AB§5555§CD, as said.", "AB5555CD"),
            ("Run `mail §a@b.org§ now` first.", "`mail a@b.org now`"),
            ("It is $x_1 - §5555§$ here.", "$x_1 - 5555$"),
            ("You can call foo(bar) with card §5555§ here.", "5555"),
            ("It costs $5, and `a` is §5555§ here.", "5555"),
            ("It is \\(x - §5555§\\) here.", "\\(x - 5555\\)"),
            ("    let card = \"§5555§\";", "let card = \"5555\";"),
            ("- two cards §5555§ of Ada", "two cards 5555 of Ada"),
            ("3. Card §5555§ of Ada", "3. Card 5555 of Ada"),
            ("3. You call §5555§ now.", "5555"),
            ("(a) Facts; (b) §5555§; (c) dates", "5555"),
            ("| Roe | no §5555§ | Oslo |", "no 5555"),
            ("Roe,\"no, §5555§\",Oslo,7,8", "no, 5555"),
            ("  \"card\": \"no §5555§ of Ada\",", "no 5555 of Ada"),
            ("{\"a\": \"b\\\"c §5555§\", \"d\": 7}", "b\\\"c 5555"),
            ("{\"a\": [1, §5555§5, 7]}", "55555"),
            ("Card: no §5555§ of Ada", "5555"),
            ("\"Call §5555§ now,\" said Ada.", "5555"),
        ] {
            assert_eq!(around(text), whole, "{text}");
        }
    }
}
