//! The end of a text whose quantities more text can change.

use super::count::{COUNTED, COUNTED_MAX, GAP_MAX, PER_MAX, counts, multiplies};
use super::unit::QuantitySlot;
use super::{JOINED_LIST, Quantities};
use crate::language::kind;
use crate::number::{JOINED_MAX, Number, numbers};
use crate::words::{lower, words};

/// Text that is more than this many bytes after a number does not change the number's quantity.
const DECIDED_MAX: usize = 128;

impl Quantities {
    /// The start of the first number whose quantity more text can change; the text's length if there is none.
    pub(crate) fn unfinished(&self, text: &str) -> usize {
        if self.slots.is_empty() {
            return text.len();
        }
        let numbers = numbers(text, self.language);
        let mut from = numbers.len();
        for (at, number) in numbers.iter().enumerate().rev() {
            let between = |next: &Number| text.get(number.range.end..next.range.start).unwrap_or_default();
            let leads_on = numbers.get(at + 1).filter(|_| at + 1 == from).is_some_and(|next| {
                let grows = next.range.end == text.len() && between(next).len() <= DECIDED_MAX;
                next.joined || counts(between(next)) || multiplies(between(next)) || grows
            });
            if leads_on || !self.is_finished(text, number.range.end) {
                from = at;
            } else if text.len() - number.range.end > JOINED_LIST {
                break;
            }
        }
        // The cells of a line are certain only when the line is complete.
        let line = text.rfind('\n').map_or(0, |at| at + 1);
        // The line after a table row may belong to the table, even if its first bar comes late.
        let before = text.get(..line.saturating_sub(1)).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let cells = text.get(before..).is_some_and(|lines| lines.contains(['|', '\t']));
        // A currency belongs to the number behind it.
        let start = |number: &Number| {
            let before = self.slots.iter().filter_map(|slot| slot.before(text, number)).map(|place| place.edge);
            before.chain([number.range.start]).min().unwrap_or(number.range.start)
        };
        let open = self.slots.iter().filter_map(|slot| slot.open_currency(text)).min();
        let number = numbers.get(from).map_or(text.len(), start).min(open.unwrap_or(text.len()));
        if cells { number.min(line) } else { number }
    }

    /// Whether later text cannot change the quantity of the number that ends at `at`.
    fn is_finished(&self, text: &str, at: usize) -> bool {
        let rest = text.get(at..).unwrap_or_default();
        let glued = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let after = rest.get(glued..).unwrap_or_default();
        let Some(word) = words(after).next().filter(|word| word.end < after.len()) else {
            return rest.len() > DECIDED_MAX;
        };
        let unit_end = self.slots.iter().filter_map(|slot| slot.after(text, at)).map(|place| place.edge).max();
        let shown = lower(after.get(word.clone()).unwrap_or_default());
        let needed = match unit_end {
            Some(end) => end - at + PER_MAX + 2 * GAP_MAX,
            None if COUNTED.contains(&&*shown) => COUNTED_MAX + 1,
            None if self.language.kinds(&shown) & kind::RANGE != 0 => JOINED_MAX + 1,
            None => glued + word.start + self.longest_unit() + 1,
        };
        needed < rest.len()
    }

    /// Length of the longest unit in bytes.
    fn longest_unit(&self) -> usize {
        self.slots.iter().map(QuantitySlot::longest).max().unwrap_or(0)
    }
}
