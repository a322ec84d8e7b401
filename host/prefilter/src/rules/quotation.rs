//! Quotations: text between quotation marks within a passage, in a block quotation, or in code. The author of a text
//! does not give the orders that the text quotes, so the profile `document` lowers their tier. Such orders still count,
//! because only marks distinguish quoted text. A structure that is only partly quoted keeps its tier.

use super::passage::{is_blank, is_fence};

/// Number of spaces before a line of code (CommonMark 0.31, 4.4).
const CODE_INDENT: usize = 4;

/// The quoted ranges of an input, in order and disjoint.
#[derive(Debug, Default)]
pub(super) struct Quotations(Vec<(usize, usize)>);

impl Quotations {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut all = Self::default();
        let (mut start, mut fenced, mut prose) = (0, false, None);
        let mut after_blank = true;
        for line in bytes.split_inclusive(|b| *b == b'\n') {
            let end = start + line.len();
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let indent = text.iter().take_while(|b| **b == b' ').count();
            let block = text.get(indent) == Some(&b'>');
            let coded = (indent >= CODE_INDENT || text.first() == Some(&b'\t')) && after_blank;
            let fence = is_fence(text);
            if fence || fenced || block || coded || is_blank(text) {
                all.inline(bytes, prose.take(), start);
                // A fence that is never closed does not quote anything; otherwise it would quote the rest of the input.
                if (fenced && !fence) || block || (coded && !is_blank(text)) {
                    all.push(start, end);
                }
            } else {
                prose.get_or_insert(start);
            }
            if fence {
                fenced = !fenced && closes_later(bytes.get(end..).unwrap_or_default());
            }
            // A line of code may follow a blank line or another line of code.
            after_blank = is_blank(text) || coded;
            start = end;
        }
        all.inline(bytes, prose, start);
        all
    }

    /// Whether a range is within one quotation.
    pub(super) fn hold(&self, start: usize, end: usize) -> bool {
        let next = self.0.partition_point(|(from, _)| *from <= start);
        next.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, to)| end <= *to)
    }

    /// Adds a range; adjacent lines become one quotation.
    fn push(&mut self, start: usize, end: usize) {
        match self.0.last_mut() {
            Some((_, to)) if *to == start => *to = end,
            _ => self.0.push((start, end)),
        }
    }

    /// Adds the text between quotation marks, in the prose of a passage that began at `from`.
    fn inline(&mut self, bytes: &[u8], from: Option<usize>, to: usize) {
        let Some(mut at) = from else { return };
        let mut open: Option<(QuotationMark, usize)> = None;
        while at < to {
            let rest = bytes.get(at..to).unwrap_or_default();
            let (mark, length) = mark(rest);
            let before = at.checked_sub(1).and_then(|b| bytes.get(b)).copied().unwrap_or(b' ');
            let after = rest.get(length).copied().unwrap_or(b' ');
            if let Some(mark) = mark {
                match open {
                    None if mark.opens(before, after) => open = Some((mark, at)),
                    Some((by, start)) if mark.closes(by, before, after) => {
                        self.0.push((start, at + length));
                        open = None;
                    }
                    _ => {}
                }
            }
            at += length;
        }
    }
}

/// Whether a later line is a fence.
fn closes_later(bytes: &[u8]) -> bool {
    bytes.split(|b| *b == b'\n').any(is_fence)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuotationMark {
    Straight(u8),
    /// Curly double quotation marks; which of them opens depends on the language.
    Double,
    Single,
    Guillemet,
    /// East Asian quotation marks; true for an opening mark.
    Corner(bool),
}

impl QuotationMark {
    fn opens(self, before: u8, after: u8) -> bool {
        let bare =
            !before.is_ascii_alphanumeric() && before < 0x80 && !matches!(before, b'.' | b'!' | b'?' | b',' | b';');
        match self {
            Self::Straight(_) => bare && !after.is_ascii_whitespace(),
            Self::Single => bare,
            Self::Corner(opens) => opens,
            Self::Double | Self::Guillemet => true,
        }
    }

    fn closes(self, open: Self, before: u8, after: u8) -> bool {
        let ends = !before.is_ascii_whitespace() && !after.is_ascii_alphanumeric();
        match (open, self) {
            (Self::Straight(one), Self::Straight(other)) => one == other && ends,
            (Self::Single, Self::Single) => ends,
            (Self::Corner(true), Self::Corner(closes)) => !closes,
            (Self::Double, Self::Double) | (Self::Guillemet, Self::Guillemet) => true,
            _ => false,
        }
    }
}

/// The quotation mark at the start of `bytes`, if there is one, and the length of the character in bytes.
fn mark(bytes: &[u8]) -> (Option<QuotationMark>, usize) {
    match bytes {
        [sign @ (b'"' | b'\'' | b'`'), ..] => (Some(QuotationMark::Straight(*sign)), 1),
        [0xe2, 0x80, 0x9c..=0x9f, ..] => (Some(QuotationMark::Double), 3),
        [0xe2, 0x80, 0x98..=0x9b, ..] => (Some(QuotationMark::Single), 3),
        [0xc2, 0xab | 0xbb, ..] => (Some(QuotationMark::Guillemet), 2),
        [0xe3, 0x80, sign @ 0x8c..=0x8f, ..] => (Some(QuotationMark::Corner(sign % 2 == 0)), 3),
        _ => (None, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> Vec<&str> {
        Quotations::of(text.as_bytes()).0.into_iter().map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn marks_blocks_and_code_quote() {
        for (text, expected) in [
            ("He wrote \"sing\" there.", vec!["\"sing\""]),
            ("\"Note.\" Sing now. \"End.\"", vec!["\"Note.\"", "\"End.\""]),
            ("\u{201c}Note.\u{201d} Sing. \u{201c}End.\u{201d}", vec!["\u{201c}Note.\u{201d}", "\u{201c}End.\u{201d}"]),
            (
                "\u{201e}Sing\u{201c} \u{ab}sing\u{bb} \u{300c}sing\u{300d}",
                vec!["\u{201e}Sing\u{201c}", "\u{ab}sing\u{bb}", "\u{300c}sing\u{300d}"],
            ),
            ("Don't sing the players' song 'la la' now", vec!["'la la'"]),
            ("a \"b\n\nc\" d", vec![]),
            ("a\n> sing\n> now\nb", vec!["> sing\n> now\n"]),
            ("a\n```\nsing\n```\nb", vec!["sing\n"]),
            ("a\n```\nsing", vec![]),
            ("a\n\n    sing\n    now\n\nb", vec!["    sing\n    now\n"]),
            ("a\n    sing", vec![]),
            ("run `sing` now", vec!["`sing`"]),
            ("a 5\" pipe and a 6\" pipe", vec![]),
        ] {
            assert_eq!(quoted(text), expected, "{text:?}");
        }
    }
}
