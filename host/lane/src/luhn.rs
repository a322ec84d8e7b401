//! Card numbers: finds windows of digits with a valid check digit (ISO/IEC 7812-1, annex B) in a run of digits.
//!
//! Each of two running sums doubles every other digit. The sum over a window is the difference of a running sum at the
//! window's two ends. The unit reports a window of 12 to 19 digits with a valid check digit, and with the first digits
//! and the length of a card network, if it
//!
//! - is a whole run, with at most one space or dash between two digits, or
//! - begins and ends with a group, and its groups have equal sizes (the last may be shorter) or the sizes 4, 6 and 4 or
//!   5, or
//! - begins with a group and lies within it.
//!
//! Some networks' numbers count only as whole runs. Seven or more digits directly after a digit and a point are the
//! fraction of a decimal: no window begins with them. The mapping has more conditions on the text next to some of these
//! windows, so the mapping reports a subset.

use crate::form::{Fields, GAP_BITS, PREFIX_BITS};
use crate::gap;
use crate::prefixes::{FIRST_DIGITS, LONGEST, Prefixes, SHORTEST};
use crate::tables::GapAutomaton;

/// Mask of the last 19 digits of a run, one bit per digit.
const KEPT: u32 = (1 << LONGEST) - 1;
/// Smallest number of digits after a point that are a fraction. Fewer digits may be the first group of a card number.
const FRACTION: u8 = 7;
/// Counts saturate at this value: one more than the largest number of digits of a card number.
const MANY: u8 = 20;

/// The state of the card-number unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Luhn {
    /// State of the gap automaton.
    pub(crate) gap: u16,
    /// State of the automaton of networks' first digits.
    prefix: u16,
    /// Two running sums, each with its values after the last 20 digits, the newest in the lowest 4 bits. Each doubles
    /// every other digit: the first not the last digit, the second not the one before it.
    plain: u128,
    doubled: u128,
    /// For each length from 12 on, the digits at which a number of a network with that length begins; bit 0 is the last
    /// digit.
    begins: [u32; 8],
    /// The lengths of networks' numbers that begin with the run's first digits, for a whole run.
    network: u8,
    /// The digits that begin a group after which all groups are regular; bit 0 is the last digit.
    groups: u32,
    /// Sizes of the current group, of the equal groups before it, and of the last two complete groups.
    size: u8,
    regular: u8,
    before: [u8; 2],
    /// The last digit, and how often it is repeated at the end.
    last: u8,
    same: u8,
    /// Number of digits of the run so far.
    run: u8,
    /// Number of spaces or dashes since the last digit; 2 if the run has ended.
    since: u8,
    /// Whether the run has a valid check digit if it ends here.
    whole: bool,
    /// Whether the last byte is a point after a digit, and whether the current group follows such a point.
    point: bool,
    fraction: bool,
    /// Whether a window of several groups is a number if the current group ends here, and whether the last byte is a
    /// digit whose end has not been reported.
    part: bool,
    open: bool,
}

/// The result of a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LuhnMatch {
    /// A number ends with the byte.
    pub(crate) now: bool,
    /// A number ended before the byte, but only the byte decided that.
    pub(crate) before: bool,
}

impl Luhn {
    pub(crate) const NEW: Self = Self {
        gap: gap::DEAD,
        prefix: 0,
        plain: 0,
        doubled: 0,
        begins: [0; 8],
        network: 0,
        groups: 0,
        size: 0,
        regular: 0,
        before: [0; 2],
        last: 0,
        same: 0,
        run: 0,
        since: 2,
        whole: false,
        point: false,
        fraction: false,
        part: false,
        open: false,
    };

    /// Whether only a digit as the next byte can have an effect.
    pub(crate) const fn is_idle(&self) -> bool {
        self.gap == gap::DEAD
    }

    /// Whether a number ends here, provided that the text ends here.
    pub(crate) const fn at_end(&self) -> bool {
        self.whole && self.is_of_network() || self.open && self.part
    }

    /// Ends an entry: a number that ends here has been reported already.
    pub(crate) const fn end(&mut self) {
        self.whole = false;
        self.open = false;
    }

    /// The state as the fields of `cards_t`; `None` if a value does not fit.
    pub(crate) fn form(&self, fields: &mut Fields) -> Option<()> {
        fields.put_state(self.gap, GAP_BITS)?;
        fields.put_state(self.prefix, PREFIX_BITS)?;
        [self.plain, self.doubled].iter().for_each(|sums| fields.put(*sums, 80));
        self.begins.iter().rev().for_each(|begins| fields.put(*begins, LONGEST));
        fields.put(self.network, 8);
        fields.put(self.groups, LONGEST);
        let [earlier, later] = self.before;
        [self.size, self.regular, earlier, later].iter().for_each(|size| fields.put(*size, 5));
        fields.put(self.last, 4);
        [self.same, self.run].iter().for_each(|count| fields.put(*count, 5));
        fields.put(self.since, 2);
        [self.whole, self.point, self.fraction, self.part, self.open].iter().for_each(|flag| fields.put(*flag, 1));
        Some(())
    }

    pub(crate) fn step(&mut self, byte: u8, gaps: &GapAutomaton, prefixes: &Prefixes) -> LuhnMatch {
        self.gap = gaps.after(self.gap, byte);
        let dead = self.gap == gap::DEAD;
        let mut found = LuhnMatch::default();
        if byte.is_ascii_digit() {
            found.now = self.digit(byte - b'0', prefixes);
        } else {
            let joins = self.since == 0 && matches!(byte, b' ' | b'-');
            let whole = self.whole && self.is_of_network() && (!joins || dead);
            found.before = whole || self.open && self.part;
            self.open = false;
            self.point = self.since == 0 && byte == b'.';
            self.since = if joins { 1 } else { 2 };
            self.whole &= joins;
        }
        if dead {
            // The state of an ended run is not needed any more.
            *self = Self::NEW;
            found.now = false;
        }
        found
    }

    fn digit(&mut self, digit: u8, prefixes: &Prefixes) -> bool {
        let adjacent = self.since == 0;
        let joined = self.since < 2;
        if !adjacent && self.size > 0 {
            // A group is complete. If its size is new, only windows that begin with this group are regular.
            if self.regular != 0 && self.size != self.regular {
                self.groups &= 1 << (self.size - 1).min(31);
            }
            self.regular = self.size;
            self.before = [self.before[1], self.size];
            self.size = 0;
        }
        if !adjacent {
            self.fraction = self.point;
        }
        self.point = false;
        self.size = (self.size + 1).min(MANY);
        self.groups = (self.groups << 1 | u32::from(self.size == 1)) & KEPT;
        if self.regular != 0 && self.size > self.regular {
            self.groups &= 1 << (self.size - 1).min(31);
        }
        self.same = if self.same > 0 && self.last == digit { (self.same + 1).min(MANY) } else { 1 };
        self.last = digit;
        let twice = if digit > 4 { 2 * digit - 9 } else { 2 * digit };
        (self.plain, self.doubled) = (with_digit(self.doubled, digit), with_digit(self.plain, twice));
        let (next, said) = prefixes.after(self.prefix, digit);
        self.prefix = next;
        let (any, whole) = said.split_at(FIRST_DIGITS);
        for (begins, bit) in self.begins.iter_mut().zip(0..) {
            let here = any.iter().zip(0..).filter(|(lengths, _)| **lengths >> bit & 1 == 1);
            *begins = (*begins << 1) & KEPT | here.fold(0, |set, (_, ago)| set | 1 << ago);
        }
        self.run = if joined { (self.run + 1).min(MANY) } else { 1 };
        if self.fraction && self.size >= FRACTION {
            // No number begins with this group, and the run is not a number.
            self.groups &= !(1 << (self.size - 1).min(31));
            self.run = MANY;
        }
        self.since = 0;
        let run = usize::from(self.run);
        let first = whole.get(run - 1).copied().unwrap_or(0);
        self.network = if run == 1 { first } else { self.network | first };
        self.whole = (SHORTEST..=LONGEST).contains(&run) && self.is_checked(run);
        let lengths = (SHORTEST..=LONGEST).zip(self.begins);
        let mut groups = self.groups;
        if self.before == [4, 6] && matches!(self.size, 4 | 5) {
            groups |= 1 << (self.size + 9);
        }
        let size = usize::from(self.size);
        let found =
            |(length, begins): &(usize, u32)| groups & begins & 1 << (length - 1) != 0 && self.is_checked(*length);
        let found: Vec<usize> = lengths.into_iter().filter(found).map(|(length, _)| length).collect();
        self.part = found.iter().any(|length| *length > size);
        self.open = true;
        found.iter().any(|length| *length <= size)
    }

    /// Whether a network has numbers of the run's length with its first digits.
    const fn is_of_network(&self) -> bool {
        let length = (self.run as usize).wrapping_sub(SHORTEST);
        length < 8 && self.network >> length & 1 != 0
    }

    /// Whether the last `length` digits have a valid check digit and are not one repeated digit.
    fn is_checked(&self, length: usize) -> bool {
        self.plain & 15 == self.plain >> (4 * length) & 15 && usize::from(self.same) < length
    }
}

/// A running sum after one more digit, with its earlier values.
const fn with_digit(sums: u128, value: u8) -> u128 {
    ((sums << 4) | (((sums & 15) + value as u128) % 10)) & ((1 << 80) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::PaymentNetworkRange;

    /// The ends of numbers in a text; up to three arbitrary marks may stand between digits.
    fn ends(text: &str) -> Vec<usize> {
        let network = |first, length, whole| PaymentNetworkRange { first, lengths: length..=length, whole };
        let networks = [network(4..=4, 16, false), network(37..=37, 15, false), network(1234..=1250, 13, true)];
        let (gaps, prefixes) = (GapAutomaton::of_marks(3), Prefixes::new(&networks).unwrap());
        let mut luhn = Luhn::NEW;
        let mut ends = Vec::new();
        for (at, byte) in text.bytes().enumerate() {
            let found = luhn.step(byte, &gaps, &prefixes);
            ends.extend(found.before.then_some(at));
            ends.extend(found.now.then_some(at + 1));
        }
        ends.extend(luhn.at_end().then_some(text.len()));
        ends
    }

    #[test]
    fn numbers_where_they_end() {
        assert_eq!(ends("4111 1111 1111 1111"), [19]);
        assert_eq!(ends("x 4111-1111-1111-1111, y"), [21]);
        assert_eq!(ends("4111 1111 1111 1111 123"), [19]);
        assert_eq!(ends("3782 822463 10005 1234"), [17]);
        assert_eq!(ends("4111111111111111123"), [16]);
        assert_eq!(ends("1234 5678 9012 8 CHK"), [17], "a whole run of another network");
        assert_eq!(ends("1233 5678 9012 9, 1251 5678 9012 7"), Vec::<usize>::new(), "whole runs of no network");
        assert_eq!(ends("12345678901280000"), Vec::<usize>::new(), "not a whole run");
        assert_eq!(ends("0.4111111111111111, 5.4111 1111 1111 1111"), [41], "a fraction has seven digits");
        assert_eq!(ends("0.4111111 111111111, 0.41111111 11111111 2"), Vec::<usize>::new(), "it begins no number");
        assert_eq!(ends("9999, 3056, 9309, 0259, 0499"), Vec::<usize>::new(), "a number that ends in a group");
        assert_eq!(ends("v.4111111111111111 0 .4111111111111111"), [18, 38, 38], "a digit and a point before it");
        for harmless in ["4111 1111 1111 1112", "0000 0000 0000 0000", "94111111111111111 1", "411 11111 111 11111 55"]
        {
            assert_eq!(ends(harmless), Vec::<usize>::new(), "{harmless}");
        }
    }
}
