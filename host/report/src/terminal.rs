//! Colour and width of an output stream.

use std::fmt::Display;
use unicode_width::UnicodeWidthChar;

/// The layout of text on an output. The default, for files and pipes, has neither colour nor wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalLayout {
    pub colour: bool,
    /// Columns of a line; `None` turns wrapping off.
    pub columns: Option<usize>,
}

/// The meaning that a colour shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalTone {
    /// Admitted, affirmed, in order.
    Good,
    /// Split, warned.
    Warning,
    /// Rejected, contradicted, an error.
    Bad,
    Strong,
    /// Text that is less important.
    Quiet,
}

impl TerminalTone {
    /// Parameter of the escape sequence "select graphic rendition" (ECMA-48, 8.3.117).
    const fn parameter(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Warning => "33",
            Self::Bad => "1;31",
            Self::Strong => "1",
            Self::Quiet => "2",
        }
    }
}

impl TerminalLayout {
    /// Colours text if the output has colour.
    #[must_use]
    pub fn paint(self, tone: TerminalTone, text: impl Display) -> String {
        if self.colour { format!("\u{1b}[{}m{text}\u{1b}[0m", tone.parameter()) } else { text.to_string() }
    }

    /// Wraps a line between words; continuation lines are indented by `indent` columns. A single word that is wider
    /// than a line, such as a digest, is not broken.
    #[must_use]
    pub fn wrap(self, indent: usize, line: &str) -> String {
        let Some(columns) = self.columns.filter(|columns| width(line) > *columns) else { return line.to_owned() };
        let indent = indent.min(columns / 2);
        let mut wrapped = String::with_capacity(line.len() + line.len() / columns.max(1) * (indent + 1));
        let (mut used, mut gap, mut is_first) = (0, 0, true);
        for (at, word) in line.split(' ').enumerate() {
            gap += usize::from(at > 0);
            if word.is_empty() {
                continue;
            }
            let needed = width(word);
            if !is_first && used + gap + needed > columns {
                wrapped.push('\n');
                (used, gap) = (0, indent);
            }
            wrapped.extend(std::iter::repeat_n(' ', gap));
            wrapped.push_str(word);
            (used, gap, is_first) = (used + gap + needed, 0, false);
        }
        wrapped
    }
}

/// Width of text in columns, without escape sequences that select a colour.
fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut is_sequence = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => is_sequence = true,
            'm' if is_sequence => is_sequence = false,
            _ if is_sequence => {}
            _ => columns += c.width().unwrap_or(0),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_streams_that_show_them() {
        let colours = TerminalLayout { colour: true, columns: None };
        assert_eq!(TerminalLayout::default().paint(TerminalTone::Bad, "reject"), "reject");
        assert_eq!(colours.paint(TerminalTone::Bad, "reject"), "\u{1b}[1;31mreject\u{1b}[0m");
    }

    #[test]
    fn lines_break_between_words_within_the_width() {
        let narrow = TerminalLayout { colour: true, columns: Some(20) };
        let line = format!("  {} and then   more words that follow", narrow.paint(TerminalTone::Good, "admit"));
        let wrapped = narrow.wrap(4, &line);
        let lines: Vec<&str> = wrapped.lines().collect();
        assert_eq!(
            lines,
            ["  \u{1b}[32madmit\u{1b}[0m and then", "    more words that", "    follow"],
            "a colour takes no columns, and the gap at a break is gone"
        );
        assert!(lines.iter().all(|line| width(line) <= 20));
        // Each of these characters takes two columns.
        assert_eq!(narrow.wrap(0, "字字字字字 字字字字字"), "字字字字字\n字字字字字");
        let digest = "a".repeat(64);
        assert_eq!(narrow.wrap(2, &format!("digest {digest} x")), format!("digest\n  {digest}\n  x"));
        assert_eq!(TerminalLayout::default().wrap(4, &line), line);
        // The terminal is narrower than the indent, so the indent is reduced.
        assert_eq!(TerminalLayout { columns: Some(6), colour: false }.wrap(40, "one two"), "one\n   two");
    }

    /// Wrapping keeps all words, in order.
    #[test]
    fn no_word_is_lost_at_any_width() {
        let line = "  - no-witness: the operator issued the ticket, or no witness saw it (3 times)";
        for columns in 0..90 {
            let wrapped = TerminalLayout { colour: false, columns: Some(columns) }.wrap(13, line);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&wrapped), words(line), "{columns}");
        }
    }
}
