//! Markdown: images, inline and by reference, and the definitions of references (CommonMark 0.31; sections 4.7, 6.4).
//! Also the images of BBCode and LaTeX.

use super::{Construct, REACH, bounded};
use std::ops::Range;

/// The reading of an image whose `![` is at the start of a text.
pub(super) struct Image {
    pub(super) construct: Construct,
    /// The labels of references by which the image can be meant.
    pub(super) labels: Vec<String>,
}

/// The definition of a reference.
pub(super) struct Definition {
    pub(super) label: String,
    pub(super) address: Range<usize>,
    /// The colon, and the text up to the end of the address's line. Without them nothing becomes the address.
    pub(super) withheld: Range<usize>,
    pub(super) open: bool,
}

/// The paragraph at the start of a text, at most [`REACH`] bytes, and whether its end is known.
fn paragraph(text: &str) -> (&str, bool) {
    let part = bounded(text, REACH);
    let mut from = 0;
    while let Some(at) = part.get(from..).and_then(|rest| rest.find('\n')).map(|at| from + at) {
        let line = part.get(at + 1..).unwrap_or_default();
        let blank = line.trim_start_matches([' ', '\t', '\r', '>']);
        if blank.starts_with('\n') {
            return (part.get(..at).unwrap_or_default(), true);
        }
        from = at + 1;
    }
    (part, part.len() < text.len())
}

/// The image whose `![` is at the start of a text. It counts as an image if one of the usual ways of reading finds one:
/// that of `CommonMark`, and one that knows neither code nor escapes.
pub(super) fn image(text: &str, is_refused: &dyn Fn(&str) -> bool) -> Image {
    let rest = text.get(2..).unwrap_or_default();
    let (part, certain) = paragraph(rest);
    let mut ends: Vec<usize> =
        [closing(part, true), closing(part, false), first_target(part)].into_iter().flatten().collect();
    ends.sort_unstable();
    ends.dedup();
    let mut image = Image { construct: Construct::default(), labels: Vec::new() };
    image.construct.open = !certain && (closing(part, true).is_none() || closing(part, false).is_none());
    if ends.is_empty() && certain && part.len() == bounded(rest, REACH).len() {
        // The alternative text does not end in reach. Without its mark, what follows is a link at most.
        image.construct.withheld.push(0..1);
    }
    for end in ends {
        let shown = part.get(..end).unwrap_or_default();
        let after = rest.get(end + 1..).unwrap_or_default();
        if after.starts_with('(') {
            let target = target(after, is_refused);
            image.construct.open |= target.open;
            let start = 2 + end + 1;
            if target.withheld.iter().any(|range| range.end > REACH) {
                // The target does not end in reach. Without its mark, the image is a link.
                image.construct.withheld.push(0..1);
            }
            image.construct.withheld.extend(target.withheld.iter().map(|r| start + r.start..start + r.end));
            continue;
        }
        let (label, known) = match after.strip_prefix('[') {
            Some(rest) => {
                let (part, certain) = paragraph(rest);
                let label = label(part);
                (label, certain || label.is_some())
            }
            None => (None, !after.is_empty()),
        };
        image.construct.open |= !known;
        let label = label.map(normal).filter(|label| !label.is_empty()).unwrap_or_else(|| normal(shown));
        image.labels.push(label);
    }
    image
}

/// The label at the start of a text, up to its closing bracket.
fn label(part: &str) -> Option<&str> {
    let mut escaped = false;
    let end = part.char_indices().find(|(_, c)| {
        !std::mem::take(&mut escaped) && {
            escaped = *c == '\\';
            matches!(c, '[' | ']')
        }
    });
    end.filter(|(_, c)| *c == ']').and_then(|(end, _)| part.get(..end))
}

/// The bracket that closes a text; brackets inside it are in pairs. With `marked`, brackets in code and tags do not
/// count.
fn closing(part: &str, marked: bool) -> Option<usize> {
    let bytes = part.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if marked => at += 1,
            b'[' => depth += 1,
            b']' if depth == 0 => return Some(at),
            b']' => depth -= 1,
            b'`' if marked => at = code(part, at),
            b'<' if marked => at = tag(part, at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The last byte of the code that begins at `at`; that of its mark, if the code does not end.
fn code(part: &str, at: usize) -> usize {
    let run = |from: usize| part.bytes().skip(from).take_while(|b| *b == b'`').count();
    let mark = run(at);
    let mut next = at + mark;
    while let Some(found) = part.get(next..).and_then(|rest| rest.find('`')).map(|found| next + found) {
        let length = run(found);
        if length == mark {
            return found + length - 1;
        }
        next = found + length;
    }
    at + mark - 1
}

/// The last byte of the tag or address in angle brackets at `at`; `at`, if there is none.
fn tag(part: &str, at: usize) -> usize {
    let named = part.as_bytes().get(at + 1).is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'!' | b'?'));
    let end = part.get(at..).and_then(|rest| rest.find('>'));
    end.filter(|_| named).map_or(at, |end| at + end)
}

/// The first `](` of a text without an opening bracket before it, as simple programs look for the end of an image.
fn first_target(part: &str) -> Option<usize> {
    part.find("](").filter(|end| !part.get(..*end).is_some_and(|shown| shown.contains('[')))
}

/// The address of the target `(address "title")` at the start of a text.
pub(super) fn target(text: &str, is_refused: &dyn Fn(&str) -> bool) -> Construct {
    let (part, certain) = paragraph(text.get(1..).unwrap_or_default());
    let start = part.len() - part.trim_start().len();
    let (address, (end, sure)) = match part.get(start..).and_then(|rest| rest.strip_prefix('<')) {
        Some(rest) => {
            let end = start + 1 + rest.find(['>', '\n']).unwrap_or(rest.len());
            (start + 1..end, unbracketed(part, end))
        }
        None => {
            let (end, sure) = unbracketed(part, start);
            let shown = part.get(start..end).unwrap_or_default();
            let address = shown.find(|c: char| c.is_ascii_whitespace()).unwrap_or(shown.len());
            (start..start + address, (end, sure))
        }
    };
    // Everything between the brackets leaves no address behind: not a title, and not what a bad address is followed by.
    let inside = part.get(start..end).unwrap_or_default();
    let words = inside.split_ascii_whitespace().map(|word| word.trim_matches(['<', '>']));
    let refused = part.get(address).is_some_and(is_refused) || words.clone().next().is_some_and(is_refused);
    let withheld = (refused && !inside.trim_end().is_empty()).then(|| 1 + start..1 + start + inside.trim_end().len());
    Construct { withheld: withheld.into_iter().collect(), open: !certain && !sure }
}

/// The closing bracket, from `from` on, of a target; the end of the part if there is none. Brackets inside it are in
/// pairs; a title in quotation marks can contain others. Also whether more text cannot change it.
fn unbracketed(part: &str, from: usize) -> (usize, bool) {
    let bytes = part.as_bytes();
    let (mut depth, mut at, mut sure) = (0_usize, from, true);
    while let Some(byte) = bytes.get(at) {
        let spaced = at.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_whitespace);
        match byte {
            b'\\' => at += 1,
            b'(' => depth += 1,
            b')' if depth == 0 => return (at, sure),
            b')' => depth -= 1,
            quote @ (b'"' | b'\'') if spaced => {
                let end = part.get(at + 1..).and_then(|rest| rest.find(char::from(*quote)));
                sure &= end.is_some();
                at += end.map_or(0, |end| end + 1);
            }
            _ => {}
        }
        at += 1;
    }
    // Brackets without a pair: the first bracket that closes ends the target.
    (part.get(from..).and_then(|rest| rest.find(')')).map_or(part.len(), |end| from + end), false)
}

/// The definition whose label's bracket is at the start of a text: `[label]: address`.
pub(super) fn definition(text: &str) -> Option<Definition> {
    let (part, certain) = paragraph(text);
    let open = |open: bool| open.then(|| Definition { label: String::new(), address: 0..0, withheld: 0..0, open });
    let Some(label) = label(part.get(1..)?) else { return open(!certain && !part.contains(']')) };
    let end = 1 + label.len();
    let behind = part.get(end..)?;
    if !behind.starts_with("]:") {
        return open(!certain && behind == "]");
    }
    let label = Some(normal(label)).filter(|label| !label.is_empty())?;
    let after = part.get(end + 2..)?;
    let start = end + 2 + (after.len() - after.trim_start_matches([' ', '\t', '\r', '\n', '>']).len());
    let line = part.get(start..)?;
    let stop = line.find('\n').unwrap_or(line.len());
    let line = line.get(..stop)?;
    let address = match line.strip_prefix('<') {
        Some(inner) => start + 1..start + 1 + inner.find('>').unwrap_or(inner.len()),
        None => start..start + line.find(|c: char| c.is_ascii_whitespace()).unwrap_or(line.len()),
    };
    let open = !certain && start + stop == part.len();
    Some(Definition { label, address, withheld: end + 1..start + line.trim_end().len(), open })
}

/// Whether only marks of quotations and items stand before `at` in its line.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let near = text.ceil_char_boundary(at.saturating_sub(64));
    let before = text.get(near..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.chars().all(|c| matches!(c, ' ' | '\t' | '>' | '-' | '*' | '+' | '.' | ')') || c.is_ascii_digit())
}

/// A label as labels are compared: white space as one space, case ignored.
fn normal(label: &str) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    words.join(" ").to_lowercase().to_uppercase()
}

/// The address of an image of BBCode at the start of a text: `[img]address[/img]`.
pub(super) fn bulletin(text: &str, is_refused: &dyn Fn(&str) -> bool) -> Option<Construct> {
    let part = bounded(text, REACH);
    let name = part.get(..part.len().min(4)).unwrap_or_default();
    if !"[img".get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
        return None;
    }
    match part.as_bytes().get(4) {
        None => return Some(Construct { open: true, ..Construct::default() }),
        Some(b']' | b'=' | b' ') => {}
        Some(_) => return None,
    }
    let Some(start) = part.find(']').map(|end| end + 1) else {
        return Some(Construct { open: text.len() < REACH, ..Construct::default() });
    };
    let rest = part.get(start..)?;
    let end = rest.find('[').unwrap_or(rest.len());
    let address = rest.get(..end)?;
    let open = end == rest.len() && text.len() < REACH;
    let withheld = is_refused(address).then(|| start..start + end);
    Some(Construct { withheld: withheld.into_iter().filter(|range| !range.is_empty()).collect(), open })
}

/// The address of `\includegraphics[options]{address}` at the start of a text.
pub(super) fn graphics(text: &str, is_refused: &dyn Fn(&str) -> bool) -> Option<Construct> {
    const COMMAND: &str = "\\includegraphics";
    let part = bounded(text, REACH);
    let open = text.len() < REACH;
    let Some(rest) = part.strip_prefix(COMMAND) else {
        return COMMAND.starts_with(part).then(|| Construct { open, ..Construct::default() });
    };
    let Some((_, address)) = rest.split_once('{') else {
        return Some(Construct { open: open && !rest.contains('\n'), ..Construct::default() });
    };
    let start = part.len() - address.len();
    let end = address.find('}').unwrap_or(address.len());
    let withheld = address.get(..end).is_some_and(is_refused).then(|| start..start + end);
    Some(Construct { withheld: withheld.into_iter().collect(), open: open && end == address.len() })
}
