//! Where refused parts of a text were: the place of the placeholder.

use portcullis_core::inert::is_formatting;
use std::collections::VecDeque;
use std::ops::Range;

/// What stands in place of a refused part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithheldMark {
    /// The placeholder of the policy.
    Placeholder,
    /// `null`, in place of a JSON number or name.
    Null,
}

/// A mark, and its place in a released text.
pub(super) type PlacedMark = (usize, WithheldMark);

/// The refused parts of a text that the client has not seen a placeholder for.
#[derive(Debug)]
pub(super) struct WithheldParts {
    /// Bytes of the input, in order.
    parts: VecDeque<(Range<usize>, WithheldMark)>,
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
    pub(super) fn add(&mut self, part: Range<usize>, mark: WithheldMark) {
        self.parts.push_back((part, mark));
    }

    /// The part that was refused last waits for information, so it can be released later, behind other text.
    pub(super) fn defer(&mut self) {
        self.is_ordered = false;
        self.parts.pop_back();
    }

    /// A part that waited is refused.
    pub(super) fn expire(&mut self) {
        self.parts.push_back((self.reached..self.reached, WithheldMark::Placeholder));
    }

    /// The marks in text that is released: a placeholder where the first byte of each run of refused parts was, and
    /// `null` for each JSON value.
    pub(super) fn places(&mut self, text: &str) -> Vec<PlacedMark> {
        let (mut places, mut at) = (Vec::new(), 0);
        while let Some((part, mark)) = self.parts.front() {
            let skipped = if self.is_ordered { part.start.saturating_sub(self.reached) } else { 0 };
            let Some(between) = text.get(at..at + skipped) else { break };
            let is_run = self.is_marked && is_formatting(between);
            at += skipped;
            self.reached = part.end.max(self.reached);
            if !is_run || *mark == WithheldMark::Null {
                places.push((at, *mark));
            }
            self.is_marked = *mark == WithheldMark::Placeholder;
            self.parts.pop_front();
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

    /// Releases a text of which the parts in square brackets were refused; a number there is a JSON value.
    fn shown(text: &str) -> String {
        let (mut withheld, mut released, mut at) = (WithheldParts::new(), String::new(), 0);
        for (part, closed) in text.split(']').map(|part| part.split_once('[').unwrap_or((part, ""))) {
            released.push_str(part);
            at += part.len();
            if !closed.is_empty() {
                let is_value = text.contains('{') && closed.starts_with(|c: char| c.is_ascii_digit());
                let mark = if is_value { WithheldMark::Null } else { WithheldMark::Placeholder };
                withheld.add(at..at + closed.len(), mark);
                at += closed.len();
            }
        }
        let places = withheld.places(&released);
        let shown = |mark| if mark == WithheldMark::Null { "null" } else { "#" };
        places.iter().rev().for_each(|(place, mark)| released.insert_str(*place, shown(*mark)));
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
            ("{\"a\": [12], \"b\": \"[c]\", \"d\": \"[e]\"}", "{\"a\": null, \"b\": \"#\", \"d\": \"#\"}"),
            ("{\"a\": {12}, [13], [14]}", "{\"a\": {12}, null, null}"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
