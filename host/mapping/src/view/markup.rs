//! HTML tags and comments, Markdown links and notes: which of their bytes are not visible.

/// The effect of a tag on the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    Nothing,
    Space,
    /// The border of a cell, an item or a paragraph.
    Border,
}

/// Greatest length of a tag or link target in bytes.
pub(super) const LONGEST: usize = 1024;
/// Greatest length of a formula in bytes.
const FORMULA: usize = 128;
/// Elements whose text does not continue the text before or after them.
const APART: &[&str] = &[
    "td",
    "th",
    "tr",
    "table",
    "li",
    "ul",
    "ol",
    "dd",
    "dt",
    "dl",
    "p",
    "div",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "option",
    "text",
    "section",
    "article",
    "blockquote",
    "pre",
    "hr",
];

/// Length of the tag, comment or section at the start of a text, and its effect on the view.
pub(super) fn tag(text: &str) -> Option<(usize, Leaves)> {
    let bytes = text.as_bytes();
    if text.starts_with("<!--") {
        // The shortest comment is `<!-->`.
        let end = text.get(2..).and_then(|t| bounded(t, LONGEST).find("-->")).map(|at| at + 5);
        return end.map(|end| (end, Leaves::Nothing));
    }
    if text.starts_with("<![CDATA[") {
        return Some((9, Leaves::Nothing));
    }
    let closing = usize::from(bytes.get(1) == Some(&b'/'));
    let name = text.get(1 + closing..)?;
    let letters = name.bytes().take(32).take_while(|b| b.is_ascii_alphanumeric() || *b == b'-').count();
    let name = name.get(..letters).filter(|n| n.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    if !matches!(bytes.get(1 + closing + letters), Some(b' ' | b'\t' | b'\n' | b'\r' | b'/' | b'>')) {
        return None;
    }
    let mut quote = None;
    let end = bytes.iter().take(LONGEST).skip(1 + closing + letters).position(|b| {
        match (quote, b) {
            (None, b'>') => return true,
            (None, b'"' | b'\'') => quote = Some(*b),
            (Some(q), b) if q == *b => quote = None,
            _ => {}
        }
        false
    })?;
    let leaves = match name.to_ascii_lowercase().as_str() {
        "br" => Leaves::Space,
        name if APART.contains(&name) => Leaves::Border,
        _ => Leaves::Nothing,
    };
    Some((1 + closing + letters + end + 1, leaves))
}

/// Whether more text could complete a tag at the beginning of the text.
pub(super) fn is_open_tag(text: &str) -> bool {
    let begins = |whole: &str| text.starts_with(whole) || whole.starts_with(text);
    if text.len() > LONGEST + 2 || tag(text).is_some() {
        return false;
    }
    if begins("<!--") || begins("<![CDATA[") {
        return true;
    }
    let name = text.get(1..).unwrap_or_default();
    let name = name.strip_prefix('/').unwrap_or(name);
    let letters = name.bytes().take(32).take_while(|b| b.is_ascii_alphanumeric() || *b == b'-').count();
    let named = name.bytes().next().is_none_or(|b| b.is_ascii_alphabetic());
    named && matches!(name.as_bytes().get(letters), None | Some(b' ' | b'\t' | b'\n' | b'\r' | b'/' | b'>'))
}

/// The kind of markup that starts with an opening bracket.
pub(super) enum Bracket {
    /// The text of a link; the bracket itself is not visible.
    Link,
    /// A reference to a footnote, such as `[^1]`, with its length in bytes.
    Note(usize),
    /// A `.`, `:` or `@` in brackets, as in `example[.]org`; the mark is shown.
    Mark(u8),
    Plain,
}

pub(super) fn bracket(text: &str) -> Bracket {
    if let [_, mark @ (b'.' | b':' | b'@'), b']' | b')', ..] = text.as_bytes() {
        return Bracket::Mark(*mark);
    }
    if text.starts_with('(') {
        return Bracket::Plain;
    }
    let line = bounded(text, LONGEST).split('\n').next().unwrap_or_default();
    let Some(end) = line.find(']') else { return Bracket::Plain };
    if text.starts_with("[^") && end <= 16 {
        Bracket::Note(end + 1)
    } else if matches!(text.as_bytes().get(end + 1), Some(b'(' | b'[')) {
        Bracket::Link
    } else {
        Bracket::Plain
    }
}

/// Whether more text can change the meaning of the opening bracket at the start of a text.
pub(super) fn is_open_bracket(text: &str) -> bool {
    if text.len() < 3 {
        return true;
    }
    let Some(line) = open_line(text, LONGEST).filter(|_| text.starts_with('[')) else { return false };
    line.find(']').is_none_or(|end| line.get(end + 1..).is_none_or(str::is_empty))
}

/// Length of a link's end, `](target)` or `][name]`, at the start of a text.
pub(super) fn link_end(text: &str) -> Option<usize> {
    let close = match text.as_bytes().get(1)? {
        b'(' => ')',
        b'[' => ']',
        _ => return None,
    };
    let line = bounded(text, LONGEST).split('\n').next().unwrap_or_default();
    line.get(2..)?.find(close).map(|at| at + 3)
}

/// Whether more text can complete the end of a link, which begins with the closing bracket at the start of a text.
pub(super) fn is_open_link_end(text: &str) -> bool {
    let opens = matches!(text.as_bytes().get(1), None | Some(b'(' | b'['));
    opens && link_end(text).is_none() && open_line(text, LONGEST).is_some()
}

/// Offset of a formula's closing dollar sign. No space precedes it, and no digit follows it.
pub(super) fn formula(text: &str) -> Option<usize> {
    let line = bounded(text, FORMULA).split('\n').next().unwrap_or_default();
    let bytes = line.as_bytes();
    if bytes.get(1).is_none_or(u8::is_ascii_whitespace) {
        return None;
    }
    let at = line.get(1..)?.find('$').map(|at| at + 1)?;
    let closes = bytes.get(at - 1).is_some_and(|b| !b.is_ascii_whitespace())
        && !bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
    (closes && at > 1).then_some(at)
}

/// Whether more text can complete the formula that begins with the dollar sign at the start of a text.
pub(super) fn is_open_formula(text: &str) -> bool {
    let Some(line) = open_line(text, FORMULA) else { return false };
    let spaced = line.as_bytes().get(1).is_some_and(u8::is_ascii_whitespace);
    let end = line.get(1..).and_then(|rest| rest.find('$')).map(|at| at + 1);
    !spaced && end.is_none_or(|end| line.len() == end + 1)
}

/// The first `most` bytes, cut at a character boundary.
fn bounded(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// The text, if it is an incomplete line of at most `most` bytes.
fn open_line(text: &str, most: usize) -> Option<&str> {
    Some(text).filter(|text| text.len() <= most && !text.contains('\n'))
}
