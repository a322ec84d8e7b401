//! Line breaks inside a paragraph, which end no sentence.

use super::line::{Line, LineShape};
use crate::full_stop::{FullStop, full_stop};
use crate::language::{Language, kind};
use crate::words::lower;

/// Number of bytes of the line above a line break that are read.
const ABOVE: usize = 256;
/// Number of bytes of the line below a line break that are read.
pub(crate) const LINE_BELOW: usize = 64;
/// Lengths in bytes at which a writer breaks a line because it is full.
const FULL: std::ops::RangeInclusive<usize> = 60..=120;
/// Words after which no sentence ends.
const OPEN: u32 = kind::PREPOSITION
    | kind::COPULA
    | kind::DEFINITE
    | kind::POINTING
    | kind::INDEFINITE
    | kind::CLAUSE
    | kind::CONNECTIVE;

/// What the line break before `end` does to its sentence, which begins at `start`, or earlier. Both lines must be lines
/// of a paragraph, and the line below must go on: with a small letter, after a word or mark that is open, or after a
/// full line.
pub(crate) fn line_break(text: &str, start: usize, end: usize, is_complete: bool, language: &Language) -> FullStop {
    let before = text.get(..end).unwrap_or_default();
    let line = before.strip_suffix('\n').unwrap_or_default().trim_end_matches([' ', '\t', '\r']);
    let near = line.get(line.floor_char_boundary(line.len().saturating_sub(ABOVE))..).unwrap_or_default();
    let above = near.rsplit('\n').next().unwrap_or_default();
    let closes = |c: char| matches!(c, '"' | '\'' | ')' | '*' | '_' | '\u{201d}' | '\u{2019}');
    let last = above.trim_end_matches(closes);
    if last.ends_with(['!', '?', ':', ';', '\u{2026}', '\u{3002}', '\u{ff01}', '\u{ff1f}']) {
        return FullStop::Ends;
    }
    let stopped = last.ends_with('.').then(|| full_stop(text, start, end, is_complete, language));
    if stopped == Some(FullStop::Ends) {
        return FullStop::Ends;
    }
    let above = Line::of(above, language);
    let is_text = |line: &Line<'_>| line.shape == LineShape::Text;
    let has_value = above.shape == LineShape::Label && !above.body.ends_with(['=', ',', '"']);
    if !is_text(&above) && !has_value {
        return FullStop::Ends;
    }
    let rest = text.get(end..).unwrap_or_default();
    let whole = rest.split('\n').next().unwrap_or_default();
    if !is_complete && whole.len() == rest.len() && rest.len() < LINE_BELOW {
        return FullStop::Undecided;
    }
    let below = Line::of(whole.get(..whole.floor_char_boundary(LINE_BELOW)).unwrap_or_default(), language);
    let is_aligned = below.quoted == above.quoted && (above.item || below.indent <= above.indent + 3);
    if !is_text(&below) || below.item || !is_aligned {
        return FullStop::Ends;
    }
    if let Some(stopped) = stopped {
        return stopped;
    }
    if goes_on(above.body, below.body, language) { FullStop::Continues } else { FullStop::Ends }
}

/// Whether a line goes on with the sentence of the line above.
fn goes_on(above: &str, below: &str, language: &Language) -> bool {
    let opens =
        |c: char| matches!(c, '"' | '\'' | '(' | '*' | '_' | '\u{201c}' | '\u{201e}' | '\u{20ac}' | '$' | '\u{a3}');
    let first = below.trim_start_matches(opens);
    if !first.starts_with(char::is_alphanumeric) {
        return false;
    }
    let word = above.trim_end_matches(['*', '_']).rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_open = language.kinds(&lower(word)) & OPEN != 0 || above.ends_with(',');
    first.starts_with(char::is_lowercase) || is_open || FULL.contains(&above.len())
}
