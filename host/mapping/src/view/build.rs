//! Builds the view of a text in one pass; runs of plain bytes are copied.

use super::entity::reference;
use super::fold::{Fold, fold};
use super::latex::{Control, control};
use super::markup::{self, Bracket, Leaves};
use super::{MatchingView, Segment};
use crate::words::find;
use std::ops::Range;

/// Whether a byte may need a rule of the view: controls, white space, marks of markup, and all non-ASCII bytes.
#[expect(clippy::indexing_slicing, reason = "worked out by the compiler, which stops at an index out of range")]
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte <= b' ' as usize || byte >= 0x7f;
        byte += 1;
    }
    let marks = b"&<*`~=_|\\{}$[](-%>#/+";
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
};

fn is_special(byte: u8) -> bool {
    SPECIAL.get(usize::from(byte)).copied().unwrap_or(true)
}

/// How the view of a text can differ from the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ViewDifference {
    /// There is no difference.
    None,
    /// Only single line breaks become spaces. The list has every line break, but of two in a row only the first.
    Lines(Vec<usize>),
    /// There may be other differences; only building the view shows them.
    More,
}

/// How the view of a text can differ from the text. The check is cheap; `More` may turn out to be no difference.
pub(super) fn difference(text: &str) -> ViewDifference {
    let mut lines = Vec::new();
    // A single space inside a line is copied, so it makes no difference.
    let bytes = text.as_bytes();
    let pairs = bytes.iter().zip(bytes.iter().skip(1));
    // There is no early exit, so that many bytes are examined at once.
    let spaced = pairs.fold(false, |any, (a, b)| any | ((*b == b' ') & ((*a == b' ') | (*a == b'\n'))));
    if spaced || bytes.first() == Some(&b' ') {
        return ViewDifference::More;
    }
    let mut from = 0;
    while let Some(at) = find(bytes, from, |byte| is_special(byte) && byte != b' ') {
        from = at + 1;
        let before = at.checked_sub(1).and_then(|at| bytes.get(at)).copied().unwrap_or(b'\n');
        let after = || bytes.get(at + 1).copied().unwrap_or(b'\n');
        let same = match bytes.get(at).copied().unwrap_or(0) {
            // A line break after a word or mark, or the second of two line breaks.
            b'\n' if before == b'\n' => lines.last().is_some_and(|line| line + 1 == at) && after() != b'\n',
            b'\n' => {
                lines.push(at);
                !matches!(before, b' ' | b'-')
            }
            // A single dash, and marks that have a meaning only in pairs or at the start of a line, make no difference.
            b'-' => before != b'-' && before != b'\n' && !matches!(after(), b'\n' | b'\r'),
            b'>' | b'#' | b'/' | b'+' => before != b'\n',
            b'=' => after() != b'=' && before != b'=',
            b'(' => !matches!(after(), b'.' | b':' | b'@'),
            b']' => !matches!(after(), b'(' | b'['),
            b'%' => !matches!(after(), b'\n' | b'\r'),
            _ => false,
        };
        if !same {
            return ViewDifference::More;
        }
    }
    if lines.is_empty() { ViewDifference::None } else { ViewDifference::Lines(lines) }
}

/// White space that is not written yet.
#[derive(Default)]
struct PendingWhiteSpace {
    origin: Range<usize>,
    line_breaks: usize,
    border: bool,
}

struct Builder<'t> {
    text: &'t str,
    /// The next place to read.
    at: usize,
    view: MatchingView,
    gap: Option<PendingWhiteSpace>,
    /// Whether the current line contains only white space so far.
    line_start: bool,
    /// The end of the formula that is being read, if one is.
    formula_end: Option<usize>,
    folded: Vec<Option<(char, Fold)>>,
}

/// Number of characters whose folded form is cached.
const REMEMBERED: usize = 256;

/// The view of a text.
pub(super) fn build(text: &str) -> MatchingView {
    let view = MatchingView {
        text: String::with_capacity(text.len()),
        segments: Vec::new(),
        borders: Vec::new(),
        lines: Vec::new(),
        aligned: false,
    };
    let folded = vec![None; REMEMBERED];
    let mut builder = Builder { text, at: 0, view, gap: None, line_start: true, formula_end: None, folded };
    while builder.at < text.len() {
        builder.step();
    }
    builder.flush();
    builder.view
}

impl Builder<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn before(&self) -> Option<u8> {
        self.at.checked_sub(1).and_then(|at| self.byte(at))
    }

    fn step(&mut self) {
        let Some(byte) = self.byte(self.at) else { return };
        if !is_special(byte) {
            self.run();
        } else if byte.is_ascii() {
            self.special(byte);
        } else {
            let Some(c) = self.rest().chars().next() else { return };
            self.character(c, self.at..self.at + c.len_utf8(), true);
            self.at += c.len_utf8();
        }
    }

    /// Copies a run of plain bytes, including the single spaces in it.
    fn run(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let plain = |at: usize| bytes.get(at).is_some_and(|b| !is_special(*b));
        let mut end = start;
        while plain(end) || (bytes.get(end) == Some(&b' ') && plain(end + 1)) {
            end += 1;
        }
        self.flush();
        let text = self.text.get(start..end).unwrap_or_default();
        self.push(text, start..end, true);
        self.at = end;
    }

    fn special(&mut self, byte: u8) {
        let at = self.at;
        if self.line_start && self.line_prefix(byte) {
            return;
        }
        match byte {
            b'\n' | 0x0b | 0x0c => self.space(1, 1, false),
            b'\r' => self.space(if self.byte(at + 1) == Some(b'\n') { 2 } else { 1 }, 1, false),
            b' ' | b'\t' => self.space(1, 0, false),
            0x1b => self.at += escape(self.rest()),
            0..=b' ' | 0x7f => self.at += 1,
            b'&' => match reference(self.rest()) {
                Some((length, characters)) => {
                    for c in characters.chars() {
                        self.character(c, at..at + length, false);
                    }
                    self.at += length;
                }
                None => self.seen(byte),
            },
            b'<' => match markup::tag(self.rest()) {
                Some((length, Leaves::Nothing)) => self.at += length,
                Some((length, leaves)) => self.space(length, 0, leaves == Leaves::Border),
                None => self.seen(byte),
            },
            b'\\' => self.backslash(),
            b'*' | b'_' | b'~' | b'=' => self.emphasis(byte),
            b'`' | b'{' => self.at += 1,
            b'}' if self.byte(at + 1) == Some(b'{') => self.space(1, 0, true),
            b'}' => self.at += 1,
            b'|' => self.space(1, 0, true),
            b'$' => self.dollar(),
            b'%' if matches!(self.byte(at + 1), Some(b'\n' | b'\r')) => self.at += 1,
            b'-' => self.dash(at..at + 1),
            b'[' | b'(' => self.bracket(byte),
            b']' => match markup::link_end(self.rest()) {
                Some(length) => self.at += length,
                None => self.seen(byte),
            },
            _ => self.seen(byte),
        }
    }

    /// Handles marks at the start of a line. Quoted text continues; a list item, heading or comment is separate.
    fn line_prefix(&mut self, byte: u8) -> bool {
        // Any other byte leaves the line at its start, so counting a row of it here would count the row at each byte.
        if byte == b'>' {
            self.at += 1;
            return true;
        }
        if !matches!(byte, b'-' | b'*' | b'+' | b'#' | b'/') {
            return false;
        }
        let run = self.rest().bytes().take_while(|b| *b == byte).count();
        let spaced = matches!(self.byte(self.at + run), Some(b' ' | b'\t'));
        match byte {
            b'-' | b'*' | b'+' if spaced && run <= 2 => self.space(run, 0, true),
            b'#' if spaced && run <= 6 => self.space(run, 0, true),
            b'/' if spaced && run >= 2 => self.space(run, 0, true),
            _ => return false,
        }
        true
    }

    /// Removes a mark of emphasis that is adjacent to a word.
    fn emphasis(&mut self, mark: u8) {
        let run = self.rest().bytes().take_while(|b| *b == mark).count();
        let word = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || !b.is_ascii());
        let blank = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_whitespace());
        let (before, after) = (self.before(), self.byte(self.at + run));
        let letters = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphabetic());
        match mark {
            // Inside a name, an underscore becomes a space; in a number it stays.
            b'_' if run == 1 && letters(before) && letters(after) => self.space(1, 0, false),
            b'_' if word(before) && word(after) => self.seen(mark),
            // A LaTeX tie is a space.
            b'~' if run == 1 && !blank(before) && !blank(after) => self.space(1, 0, false),
            b'~' | b'=' if run < 2 => self.seen(mark),
            _ if blank(before) && blank(after) => {
                for _ in 0..run {
                    self.seen(mark);
                }
            }
            _ => self.at += run,
        }
    }

    fn backslash(&mut self) {
        let at = self.at;
        match control(self.rest()) {
            Control::Nothing(length) => self.at += length,
            Control::Space(length) => self.space(length, 0, false),
            Control::Dash(length) => self.dash(at..at + length),
            Control::Escaped(b'-') => self.dash(at..at + 2),
            Control::Escaped(mark) => {
                self.write(char::from(mark).encode_utf8(&mut [0; 4]), at..at + 2);
                self.at += 2;
            }
            Control::Backslash => self.seen(b'\\'),
        }
    }

    fn dollar(&mut self) {
        if self.formula_end == Some(self.at) {
            self.formula_end = None;
            self.at += 1;
        } else if let Some(length) = markup::formula(self.rest()) {
            self.formula_end = Some(self.at + length);
            self.at += 1;
        } else {
            self.seen(b'$');
        }
    }

    fn bracket(&mut self, byte: u8) {
        let at = self.at;
        match markup::bracket(self.rest()) {
            Bracket::Link => self.at += 1,
            Bracket::Note(length) => self.at += length,
            Bracket::Mark(mark) => {
                self.write(char::from(mark).encode_utf8(&mut [0; 4]), at..at + 3);
                self.at += 3;
            }
            Bracket::Plain => self.seen(byte),
        }
    }

    /// Writes a character, as it is or folded; `written` is whether this character itself is in the text.
    fn character(&mut self, c: char, origin: Range<usize>, written: bool) {
        if c.is_ascii() {
            match c {
                '\n' | '\r' => self.gap(origin, 1, false),
                c if c.is_ascii_whitespace() => self.gap(origin, 0, false),
                '-' => self.dash_seen(origin),
                c if c.is_ascii_control() => {}
                c => self.write(c.encode_utf8(&mut [0; 4]), origin),
            }
            return;
        }
        match self.fold(c) {
            Fold::Keep if written => {
                self.flush();
                let text = self.text.get(origin.clone()).unwrap_or_default();
                self.push(text, origin, true);
            }
            Fold::Keep => self.write(c.encode_utf8(&mut [0; 4]), origin),
            Fold::Drop => {}
            Fold::Mark if self.gap.is_none() && self.view.text.ends_with(|c: char| c.is_ascii_alphanumeric()) => {}
            Fold::Mark => self.write(c.encode_utf8(&mut [0; 4]), origin),
            Fold::Space => self.gap(origin, 0, false),
            Fold::LineBreak => self.gap(origin, 1, false),
            Fold::Cell => self.gap(origin, 0, true),
            Fold::Bullet if self.line_start => self.gap(origin, 0, true),
            Fold::Bullet => self.write("\u{b7}", origin),
            Fold::Ascii(b'-') => self.dash_seen(origin),
            // A capital I looks like l. After a lower-case letter, the view shows l.
            Fold::Ascii(b'I') if self.gap.is_none() && self.view.text.ends_with(|c: char| c.is_ascii_lowercase()) => {
                self.write("l", origin);
            }
            Fold::Ascii(byte) => self.write(char::from(byte).encode_utf8(&mut [0; 4]), origin),
            Fold::Text(text) => self.write(&text, origin),
        }
    }

    fn fold(&mut self, c: char) -> Fold {
        let slot = usize::try_from(u32::from(c)).unwrap_or(0) % REMEMBERED;
        match self.folded.get_mut(slot) {
            Some(Some((known, folded))) if *known == c => folded.clone(),
            Some(slot) => slot.insert((c, fold(c))).1.clone(),
            None => fold(c),
        }
    }

    /// Writes one byte as it is.
    fn seen(&mut self, byte: u8) {
        let range = self.at..self.at + 1;
        self.write(char::from(byte).encode_utf8(&mut [0; 4]), range);
        self.at += 1;
    }

    fn dash(&mut self, origin: Range<usize>) {
        self.at = origin.end;
        self.dash_seen(origin);
    }

    /// Writes a dash; a row of dashes gives only one.
    fn dash_seen(&mut self, origin: Range<usize>) {
        if self.gap.is_some() || !self.view.text.ends_with('-') {
            self.write("-", origin);
        }
    }

    /// Handles `length` bytes that become white space.
    fn space(&mut self, length: usize, line_breaks: usize, border: bool) {
        self.gap(self.at..self.at + length, line_breaks, border);
        self.at += length;
    }

    fn gap(&mut self, origin: Range<usize>, line_breaks: usize, border: bool) {
        let gap = self
            .gap
            .get_or_insert_with(|| PendingWhiteSpace { origin: origin.clone(), ..PendingWhiteSpace::default() });
        gap.origin.end = origin.end;
        gap.line_breaks += line_breaks;
        gap.border |= border;
        self.line_start |= line_breaks > 0;
    }

    /// Writes pending white space: one space, or a blank line, across which no match is joined.
    fn flush(&mut self) {
        let Some(gap) = self.gap.take() else { return };
        let wrapped = gap.line_breaks == 1 && !gap.border && self.view.text.ends_with('-');
        if self.view.text.is_empty() || wrapped {
            return;
        }
        let hard = gap.line_breaks > 1;
        if gap.border && !hard {
            self.view.borders.push(self.view.text.len());
        }
        if gap.line_breaks > 0 {
            self.view.lines.push(self.view.text.len());
        }
        let copied = hard && self.text.get(gap.origin.clone()) == Some("\n\n");
        self.push(if hard { "\n\n" } else { " " }, gap.origin, copied);
    }

    fn write(&mut self, text: &str, origin: Range<usize>) {
        self.flush();
        self.push(text, origin, false);
    }

    fn push(&mut self, text: &str, origin: Range<usize>, copied: bool) {
        self.line_start &= text.bytes().all(|b| b.is_ascii_whitespace());
        let at = self.view.text.len();
        self.view.text.push_str(text);
        match self.view.segments.last_mut() {
            Some(last) if copied && last.copied && last.origin.end == origin.start => last.origin.end = origin.end,
            _ => self.view.segments.push(Segment { at, origin, copied }),
        }
    }
}

/// Length of the terminal control sequence (ECMA-48) at the start of a text; 1 if there is none.
fn escape(text: &str) -> usize {
    let Some(body) = text.strip_prefix("\u{1b}[") else { return 1 };
    let end = body.bytes().take(32).position(|b| (0x40..=0x7e).contains(&b));
    end.map_or(1, |end| end + 3)
}
