//! The shape of one line, by its marks and its first words only.

use crate::item;
use crate::language::Language;
use crate::words::without_addresses;

/// Greatest length in bytes of a label before its colon.
const LABEL: usize = 48;
/// Greatest number of words of a label.
const LABEL_WORDS: usize = 5;
/// One of so many bytes of a line of code is a mark of code.
const CODE_SHARE: usize = 6;

/// What the marks of a line make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineShape {
    Blank,
    /// A line that opens or closes a block of code, or a rule of dashes.
    Fence,
    Heading,
    /// A row of a table: bars, tabs, or commas without spaces.
    Row,
    /// A line that begins with a time stamp or a level.
    Log,
    Code,
    /// A label and its value, or a key of configuration.
    Label,
    /// None of these.
    Text,
}

/// A line without its line break.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'t> {
    /// The line without indentation and without marks of quotations, comments and items at its start.
    pub(crate) body: &'t str,
    /// The body with the number of a list item before it.
    pub(crate) numbered: &'t str,
    /// Marks of quotations and comments before the text.
    pub(crate) quoted: &'t str,
    /// Whether the line begins with the mark or number of a list item.
    pub(crate) item: bool,
    /// Number of spaces before the text, with a tab as four.
    pub(crate) indent: usize,
    pub(crate) shape: LineShape,
}

impl<'t> Line<'t> {
    /// Reads a line, or its beginning.
    pub(crate) fn of(line: &'t str, language: &Language) -> Self {
        let line = line.trim_end();
        let rest = line.trim_start();
        let lead = line.get(..line.len() - rest.len()).unwrap_or_default();
        let indent = lead.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
        let body = unquoted(rest);
        let quoted = rest.get(..rest.len() - body.len()).unwrap_or_default().trim_end();
        let marked = unlisted(body);
        let numbered = item::number(marked, language).and_then(|number| marked.get(number.end..));
        let item = marked.len() < body.len() || numbered.is_some();
        let shape = shape(body, numbered.unwrap_or(marked));
        Self { body: numbered.unwrap_or(marked), numbered: marked, quoted, item, indent, shape }
    }
}

/// A line without marks of quotations and comments at its start.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    for mark in [">", "///", "//", "--", "%", ";;", "/*", "*/"] {
        while let Some(inner) = rest.strip_prefix(mark).filter(|inner| inner.is_empty() || inner.starts_with(' ')) {
            rest = inner.trim_start();
            if mark != ">" {
                return rest;
            }
        }
    }
    rest
}

/// A line without the marks of list items and check boxes at its start.
fn unlisted(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix(['-', '*', '+', '\u{2022}', '\u{2013}', '\u{25e6}', '\u{25aa}']) {
        if !inner.starts_with([' ', '\t']) {
            break;
        }
        rest = inner.trim_start();
    }
    ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest)
}

/// The shape of a line without marks of quotations; `text` is the line without those of list items, too.
fn shape(body: &str, text: &str) -> LineShape {
    if body.is_empty() {
        return LineShape::Blank;
    }
    if body.starts_with("```") || body.starts_with("~~~") || is_rule(body) {
        return LineShape::Fence;
    }
    if is_heading(body) {
        return LineShape::Heading;
    }
    if is_row(body) {
        return LineShape::Row;
    }
    if is_log(body) {
        return LineShape::Log;
    }
    if is_code(text) || is_address(text) {
        LineShape::Code
    } else if label(text).is_some() || is_definition(text) {
        LineShape::Label
    } else {
        LineShape::Text
    }
}

/// A line of at least three equal dashes, equals signs or stars.
fn is_rule(body: &str) -> bool {
    let dense = || body.chars().filter(|c| !c.is_whitespace());
    let first = dense().next().filter(|c| matches!(c, '-' | '=' | '*' | '_' | '~' | '#' | '+'));
    dense().count() >= 3 && dense().all(|c| Some(c) == first)
}

/// `# Heading`, `[section]`, or a line that is emphasised as a whole.
fn is_heading(body: &str) -> bool {
    let hashes = body.trim_start_matches('#');
    let hashed = hashes.len() < body.len() && hashes.starts_with([' ', '\t']);
    let section = body.starts_with('[') && body.ends_with(']') && !body.contains(['"', ',']);
    let strong = |mark| body.strip_prefix(mark).and_then(|rest: &str| rest.strip_suffix(mark));
    let whole = strong("**").or_else(|| strong("__"));
    hashed || section || whole.is_some_and(|inner| !inner.is_empty() && !inner.contains(['*', '_']))
}

/// Fields between bars or tabs, or three fields or more between commas or semicolons without spaces.
fn is_row(body: &str) -> bool {
    let count = |mark: u8| body.bytes().filter(|byte| *byte == mark).count();
    let bars = count(b'|');
    let tabs = || count(b'\t') > 0 && body.trim().contains('\t');
    if body.starts_with('|') || bars >= 2 || (bars == 1 && body.contains(" | ")) || tabs() {
        return true;
    }
    [b',', b';'].into_iter().any(|mark| {
        let fields = count(mark);
        let spaced = || body.as_bytes().windows(2).filter(|pair| **pair == [mark, b' ']).count();
        fields >= 2 && spaced() * 4 <= fields
    })
}

/// A date, a time of day, or a level in capitals at the start.
fn is_log(body: &str) -> bool {
    let body = body.trim_start_matches(['[', '(', '<']);
    let first = body.split([' ', '\t', ']', ')', ',']).next().unwrap_or_default();
    let digits = first.bytes().filter(u8::is_ascii_digit).count();
    let stamp =
        first.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b':' | b'/' | b'.' | b'T' | b'Z' | b'+'));
    let marks = first.bytes().filter(|b| matches!(b, b'-' | b':' | b'/')).count();
    let level = first.trim_end_matches(':');
    let is_level =
        ["TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL"].contains(&level);
    // `Aug  3 02:15:01`: a day, then a time with seconds.
    let clock = || body.split_whitespace().take(3).any(|word| word.len() == 8 && word.matches(':').count() == 2);
    let goes_on = first.len() < body.len();
    goes_on && (is_level || (stamp && (digits >= 5 && marks >= 2 || digits >= 9))) || clock()
}

/// Two marks in a row that only code contains.
const fn is_code_pair(first: u8, second: u8) -> bool {
    match second {
        b')' => first == b'(',
        b'=' => matches!(first, b'=' | b'!' | b':' | b'+' | b'-'),
        b'>' => matches!(first, b'=' | b'-' | b'/' | b'>'),
        b':' => first == b':',
        b'&' => first == b'&',
        b'|' => first == b'|',
        b'/' => first == b'<',
        b'{' => first == b'$',
        b';' => matches!(first, b')' | b'}'),
        b',' => matches!(first, b']' | b'}'),
        b'<' => first == b'<',
        b'(' => first == b'!',
        _ => false,
    }
}

/// Marks that only code contains, or a large share of marks.
fn is_code(body: &str) -> bool {
    let bytes = body.as_bytes();
    let (first, last) = (bytes.first().copied(), bytes.last().copied());
    let opens = matches!(first, Some(b'{' | b'}' | b'<' | b'@' | b'$' | b']')) || body.starts_with("#!");
    let is_joined = bytes.get(1).is_some_and(|second| *second != b' ');
    let closes = matches!(last, Some(b'{' | b'}' | b';' | b'\\')) || body == "[" || body == ")";
    if opens && is_joined || closes && !body.contains(' ') {
        return true;
    }
    if matches!(last, Some(b'{' | b'}' | b'\\')) {
        return true;
    }
    // Most lines of prose have none of these marks.
    let mark = |byte: &u8| {
        matches!(
            byte,
            b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b'=' | b';' | b'_' | b'\\' | b'$' | b'@' | b'^' | b'&' | b'~'
        )
    };
    let (mut marks, mut calls, mut before) = (0, false, b' ');
    for byte in bytes {
        if is_code_pair(before, *byte) {
            return true;
        }
        marks += usize::from(mark(byte));
        calls |= *byte == b'(' && (before.is_ascii_alphanumeric() || before == b'_');
        before = *byte;
    }
    if marks * CODE_SHARE > body.len() || body.contains("#include") {
        return true;
    }
    // A name directly before an opening bracket is a call; `(s)` at the end of a word is a plural.
    let called = || {
        body.match_indices('(').any(|(at, _)| {
            let before = body.get(..at).unwrap_or_default();
            let inside = body.get(at + 1..).and_then(|rest| rest.split(')').next()).unwrap_or_default();
            before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && !matches!(inside, "s" | "es" | "n" | "en")
        })
    };
    marks > 0 && (body.contains(" = ") || body.contains(" <- ")) || calls && called()
}

/// Addresses, with numbers and marks around them: `[#12](https://…)`.
fn is_address(body: &str) -> bool {
    let rest = without_addresses(body);
    rest.len() == body.len() && *rest != *body && !rest.contains(char::is_alphabetic)
}

/// The definition of a link: `[label]: target`.
fn is_definition(body: &str) -> bool {
    let target = || body.split_once("]:").map(|(_, target)| target.trim_start());
    body.starts_with('[') && target().is_some_and(|target| !target.is_empty() && !target.contains(char::is_whitespace))
}

/// The length of the label at the start of a line, with its mark; `None` without a label.
pub(crate) fn label(body: &str) -> Option<usize> {
    let near = body.get(..body.floor_char_boundary(LABEL)).unwrap_or_default();
    if !near.bytes().any(|byte| matches!(byte, b':' | b'=' | b'-' | 0xe2)) {
        return None;
    }
    let colon = near.match_indices([':', '=']).map(|(at, mark)| at + mark.len()).find(|end| {
        let rest = body.get(*end..).unwrap_or_default();
        let rest = rest.trim_start_matches(['*', '_', '`', '"']);
        near.as_bytes().get(end - 1) == Some(&b'=') || rest.is_empty() || rest.starts_with([' ', '\t'])
    });
    let dash = || {
        [" - ", " \u{2013} ", " \u{2014} "].iter().filter_map(|mark| near.find(mark).map(|at| at + mark.len())).min()
    };
    let end = colon.or_else(dash)?;
    let name = near.get(..end)?.trim_matches(|c: char| !c.is_alphanumeric());
    let words = name.split_whitespace().count();
    let marks = name.contains(['.', '!', '?', ',', ';', '(']);
    ((1..=LABEL_WORDS).contains(&words) && !marks).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> LineShape {
        Line::of(line, Language::of("en").unwrap()).shape
    }

    #[test]
    fn each_shape() {
        for (shape, lines) in [
            (LineShape::Blank, &["", "   ", "> "][..]),
            (LineShape::Fence, &["```rust", "~~~", "---", "====="]),
            (LineShape::Heading, &["# Lamps", "### The blue lamp", "**Option B**", "[display.1]"]),
            (LineShape::Row, &["| a | b |", "a | b", "oak\t20", "3,open,yes", "Roe;12;Oslo"]),
            (
                LineShape::Log,
                &[
                    "2026-07-18T10:17:18Z INFO message received",
                    "[10:17:18] started",
                    "WARN: low disk",
                    "Aug  3 02:15:01 node7 up",
                ],
            ),
            (
                LineShape::Code,
                &[
                    "let a = 5;",
                    "fn main() {",
                    "}",
                    "return x[0];",
                    "<br/>",
                    "x == y",
                    "print(a)",
                    "{\"a\": 1}",
                    "([#7](https://a.example/7))",
                ],
            ),
            (
                LineShape::Label,
                &[
                    "Price: 20 euros",
                    "- **Rooms:** 2",
                    "port: 80",
                    "DEBUG=1",
                    "3. Name: Roe",
                    "Oslo \u{2013} 700,000",
                    "\"a\": 1,",
                    "[docs]: https://host.example/compare/v0.2.0...v0.2.1",
                ],
            ),
            (
                LineShape::Text,
                &[
                    "The lift works.",
                    "- The lift works.",
                    "2. Wash the leek",
                    "We met at 10:30 in Oslo",
                    "Row home, row home",
                    "the item(s) in the box",
                    "> so it was",
                ],
            ),
        ] {
            for line in lines {
                assert_eq!(of(line), shape, "{line:?}");
            }
        }
    }
}
