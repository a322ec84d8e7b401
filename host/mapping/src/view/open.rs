//! Markup that is open at the end of a text: where it starts, and how the text reads when it is completed.

use super::decode::undecoded;
use super::{latex, markup};

/// Number of bytes at the end of a text in which open markup can begin.
const REACH: usize = markup::LONGEST + 8;
/// First byte of a terminal control sequence.
const ESCAPE: u8 = 0x1b;
/// Greatest length of a control sequence in bytes.
const SEQUENCE: usize = 36;
/// Greatest length of an entity in bytes, with `&` and `;`.
const ENTITY: usize = 40;

/// The start of the first markup or escape at `from` or behind whose meaning more text can change; the text's length if
/// there is none.
pub(crate) fn undecided(text: &str, from: usize) -> usize {
    let from = text.ceil_char_boundary(text.len().saturating_sub(REACH).max(from));
    let tail = text.get(from..).unwrap_or_default();
    let open = (0..tail.len()).find(|at| tail.get(*at..).is_some_and(|rest| is_open(rest) || is_open_link(rest)));
    // The meaning of a mark, or of a row of marks, depends on the next character.
    let marks =
        tail.trim_end_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '.' | '!' | '?' | ',') || c == '\r');
    (from + open.unwrap_or(tail.len()).min(marks.len())).min(undecoded(text))
}

/// Whether more text can change the tag, entity, command or control sequence at the start of a text.
fn is_open(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'<') => markup::is_open_tag(text),
        Some(b'\\') => latex::is_open(text),
        Some(b'&') => text.len() <= ENTITY + 4 && text.bytes().skip(1).all(|b| b.is_ascii_alphanumeric() || b == b'#'),
        Some(&ESCAPE) => text.len() <= SEQUENCE,
        _ => false,
    }
}

/// As [`is_open`], for links and formulas, which have visible text.
fn is_open_link(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'[' | b'(') => markup::is_open_bracket(text),
        Some(b']') => markup::is_open_link_end(text),
        Some(b'$') => markup::is_open_formula(text),
        _ => false,
    }
}

/// The text without the entity, tag, command, link target or emphasis that is open at its end, and with its last link
/// closed; `None` if nothing is open. Text that is already certain is not changed.
pub(crate) fn completed(text: &str) -> Option<String> {
    let from = text.ceil_char_boundary(text.len().saturating_sub(REACH));
    let tail = text.get(from..).unwrap_or_default();
    let mut kept = tail;
    while let Some(less) = without_open(kept) {
        kept = less;
    }
    let close = match (kept.rfind('['), kept.rfind(']')) {
        (Some(open), close) if close.is_none_or(|close| close < open) => "](x)",
        (Some(_), Some(close)) if close + 1 == kept.len() => "(x)",
        _ => "",
    };
    let changed = kept.len() < tail.len() || !close.is_empty();
    changed.then(|| [text.get(..from).unwrap_or_default(), kept, close].concat())
}

/// The text without the markup that is open at its end.
fn without_open(text: &str) -> Option<&str> {
    let last = |mark: &str, most: usize, end: char| {
        let at = text.rfind(mark).filter(|at| text.len() - at <= most)?;
        text.get(at + mark.len()..).filter(|rest| !rest.contains(end)).map(|_| at)
    };
    let marks = text.trim_end_matches(['*', '_', '~', '`', '[']);
    let at = (0..text.len())
        .rev()
        .find(|at| text.get(*at..).is_some_and(is_open))
        .or_else(|| last("[^", ENTITY, ']'))
        .or_else(|| last("][", REACH, ']'))
        .or_else(|| last("](", REACH, ')'))
        .or_else(|| (marks.len() < text.len()).then_some(marks.len()));
    at.and_then(|at| text.get(..at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_open_is_left_out_or_closed() {
        for (text, expected) in [
            ("41&nbs", "41"),
            ("41&#x", "41"),
            ("41&nbsp;", ""),
            ("a <a href=\"x", "a "),
            ("a <b>c", ""),
            ("a <!-- b > 4", "a "),
            ("a <b c=\"x > 4", "a "),
            ("a <!-- b <c", "a "),
            ("a \\hspace{2", "a "),
            ("a *", "a "),
            ("a **b", ""),
            ("a [b", "a [b](x)"),
            ("a [b]", "a [b](x)"),
            ("a [b](c", "a [b](x)"),
            ("a [b](c)", ""),
            ("a [b][c", "a [b](x)"),
            ("a[^1", "a"),
            ("a\\text", "a"),
            ("a **&", "a "),
            ("", ""),
        ] {
            assert_eq!(completed(text).unwrap_or_default(), expected, "{text}");
        }
    }
}
