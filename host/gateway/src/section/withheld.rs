//! Where refused parts of a text were: the place of the placeholder.

use portcullis_core::inert::is_formatting;
use std::collections::VecDeque;
use std::ops::Range;

/// The refused parts of a text that the client has not seen a placeholder for.
#[derive(Debug)]
pub(super) struct WithheldParts {
    /// Bytes of the input, in order.
    parts: VecDeque<Range<usize>>,
    /// End of the input that was released or withheld.
    reached: usize,
    /// Whether text is released in the order of the input.
    is_ordered: bool,
    /// Whether only formatting was released since the last placeholder. One placeholder stands for such a run.
    is_marked: bool,
}

impl WithheldParts {
    pub(super) const fn new() -> Self {
        Self { parts: VecDeque::new(), reached: 0, is_ordered: true, is_marked: false }
    }

    /// A part of the input was refused.
    pub(super) fn add(&mut self, part: Range<usize>) {
        self.parts.push_back(part);
    }

    /// The part that was refused last waits for information, so it can be released later, behind other text.
    pub(super) fn defer(&mut self) {
        self.is_ordered = false;
        self.parts.pop_back();
    }

    /// A part that waited is refused.
    pub(super) fn expire(&mut self) {
        self.parts.push_back(self.reached..self.reached);
    }

    /// The places for placeholders in text that is released: where the first byte of each run of refused parts was.
    pub(super) fn places(&mut self, text: &str) -> Vec<usize> {
        let (mut places, mut at) = (Vec::new(), 0);
        while let Some(part) = self.parts.front() {
            let skipped = if self.is_ordered { part.start.saturating_sub(self.reached) } else { 0 };
            let Some(between) = text.get(at..at + skipped) else { break };
            let is_run = self.is_marked && is_formatting(between);
            at += skipped;
            self.reached = part.end.max(self.reached);
            self.parts.pop_front();
            if !is_run {
                places.push(at);
            }
            self.is_marked = true;
        }
        let rest = text.get(at..).unwrap_or_default();
        self.is_marked &= is_formatting(rest);
        self.reached += rest.len();
        places
    }

    /// Whether a placeholder is still missing at the end of the text.
    pub(super) fn end(&mut self) -> bool {
        !std::mem::take(&mut self.parts).is_empty() && !self.is_marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Releases a text of which the parts in square brackets were refused.
    fn shown(text: &str) -> String {
        let (mut withheld, mut released, mut at) = (WithheldParts::new(), String::new(), 0);
        for (part, closed) in text.split(']').map(|part| part.split_once('[').unwrap_or((part, ""))) {
            released.push_str(part);
            at += part.len();
            if !closed.is_empty() {
                withheld.add(at..at + closed.len());
                at += closed.len();
            }
        }
        let places = withheld.places(&released);
        places.iter().rev().for_each(|place| released.insert(*place, '#'));
        if withheld.end() { released + "#" } else { released }
    }

    #[test]
    fn a_placeholder_stands_where_the_first_withheld_byte_was() {
        for (text, expected) in [
            ("Call [312] now.", "Call # now."),
            ("[312] is it.", "# is it."),
            ("Write to [a@b.org].", "Write to #."),
            ("Ask [Ada] or [Bo].", "Ask # or #."),
            ("Ask [Ada], [Bo].", "Ask #, ."),
            ("All of it.", "All of it."),
            ("It ends [here]", "It ends #"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
