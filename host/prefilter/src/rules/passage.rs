//! Passages: text between blank lines and fences. The parts of most structures must be in one passage, because separate
//! passages may be independent texts that someone joined.

use crate::blocks::places;

/// Largest number of spaces before a fence (CommonMark 0.31, 4.5).
const INDENT_MAX: usize = 3;
/// Smallest number of characters of a fence.
const FENCE_MIN: usize = 3;

/// The passages of an input, in order.
pub(super) struct Passages<'b> {
    bytes: &'b [u8],
    /// Ends of the remaining lines.
    lines: Box<dyn Iterator<Item = usize> + 'b>,
    /// The start of the next line, and the start of the current passage.
    line: usize,
    start: usize,
}

impl<'b> Passages<'b> {
    pub(super) fn of(bytes: &'b [u8]) -> Self {
        Self { bytes, lines: Box::new(places(bytes, |b| b == b'\n')), line: 0, start: 0 }
    }

    /// Advances to the passage that contains `at`. Calls must have ascending places.
    pub(super) fn go_to(&mut self, at: usize) {
        while self.line <= at {
            // The line that contains `at`; the last line ends with the input.
            let end = self.lines.next().unwrap_or(self.bytes.len());
            let line = self.bytes.get(self.line..end).unwrap_or_default();
            if parts(line) {
                // The rest of the fence's line belongs to the next passage.
                self.start = self.line;
            }
            self.line = end + 1;
        }
    }

    pub(super) const fn start(&self) -> usize {
        self.start
    }
}

/// Whether a line ends a passage.
fn parts(line: &[u8]) -> bool {
    is_blank(line) || is_fence(line)
}

/// Whether a line has only white space, apart from marks of a block quotation at its start.
pub(super) fn is_blank(line: &[u8]) -> bool {
    let inner = line
        .iter()
        .position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'>'))
        .map_or(&[][..], |at| line.get(at..).unwrap_or_default());
    inner.is_empty()
        || (inner.first().is_some_and(|b| !b.is_ascii_graphic())
            && std::str::from_utf8(inner).is_ok_and(|t| t.trim().is_empty()))
}

/// Whether a line opens or closes fenced code.
pub(super) fn is_fence(line: &[u8]) -> bool {
    let indent = line.iter().take_while(|b| matches!(b, b' ' | b'>')).count();
    let quoted = line.iter().take(indent).any(|b| *b == b'>');
    let rest = line.get(indent..).unwrap_or_default();
    let Some(sign @ (b'`' | b'~')) = rest.first() else { return false };
    (quoted || indent <= INDENT_MAX) && rest.iter().take_while(|b| *b == sign).count() >= FENCE_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(text: &str) -> Vec<usize> {
        let mut passages = Passages::of(text.as_bytes());
        let mut starts = vec![0];
        for at in 0..text.len() {
            passages.go_to(at);
            if starts.last() != Some(&passages.start()) {
                starts.push(passages.start());
            }
        }
        starts
    }

    #[test]
    fn passages_begin_at_blank_lines_and_fences() {
        for (text, expected) in [
            ("a\nb", vec![0]),
            ("a\n\nb", vec![0, 2]),
            ("a\r\n\r\nb\nc", vec![0, 3]),
            ("a\n \t\nb", vec![0, 2]),
            ("a\n\u{a0}\u{2003}\nb", vec![0, 2]),
            ("> a\n>\n> b", vec![0, 4]),
            ("a\n```rust\nb\n```\nc", vec![0, 2, 12]),
            ("a\n~~~~\nb", vec![0, 2]),
            ("a\n    ```\nb", vec![0]),
            ("a `b` ``` c", vec![0]),
            ("```\na", vec![0]),
            ("a\n\u{e9}\nb", vec![0]),
        ] {
            assert_eq!(starts(text), expected, "{text:?}");
        }
    }
}
