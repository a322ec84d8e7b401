//! Card numbers: sums for the check digit (ISO/IEC 7812-1, annex B) over the digits of a run.
//!
//! Two running sums, in which every other digit is doubled, give the sum of any window as the difference of two
//! places. Reported is a window of 12 to 19 digits with a right check digit that is
//!
//! - a whole run, in which at most one space or dash stands between two digits, or
//! - begins where a group begins, has a network's first digits and length, and its groups are of one size, the last no
//!   longer, or four, six and the rest.
//!
//! The mapping reports the same windows, but asks more of the digits around some of them.

use crate::form::{Fields, GAP_BITS, PREFIX_BITS};
use crate::gap;
use crate::prefixes::{LONGEST, Prefixes, SHORTEST};
use crate::tables::Gap;

/// Places of a run that are kept: those of the last 19 digits.
const KEPT: u32 = (1 << LONGEST) - 1;
/// More digits than a number has.
const MANY: u8 = 20;

/// Where a run of digits stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Luhn {
    /// What stands behind the last digit.
    pub(crate) gap: u16,
    /// What the first digits of networks have come to.
    prefix: u16,
    /// The sums after each of the last 20 digits, the newest lowest, 4 bits each: odd digits doubled, even digits
    /// doubled.
    sums: [u128; 2],
    /// Which sum leaves the last digit as it is.
    plain: u8,
    /// Where numbers of each length from 12 on may begin, by first digits; bit 0 is the last digit.
    begins: [u32; 8],
    /// Where groups begin behind which all groups are regular.
    groups: u32,
    /// Digits of the group that is read, of the groups of one size before it, and of the two groups before it.
    size: u8,
    regular: u8,
    before: [u8; 2],
    /// Last digit, and how many of the last digits are the same.
    last: u8,
    same: u8,
    /// Digits with at most one space or dash between two of them.
    run: u8,
    /// Bytes since the last digit that join a next one to it, or 2.
    since: u8,
    /// Whether the run is a number if it ends here.
    whole: bool,
}

/// What a byte decides about card numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// One ends with the byte.
    pub(crate) now: bool,
    /// The byte shows that one ended before it.
    pub(crate) before: bool,
}

impl Luhn {
    pub(crate) const NEW: Self = Self {
        gap: gap::DEAD,
        prefix: 0,
        sums: [0; 2],
        plain: 0,
        begins: [0; 8],
        groups: 0,
        size: 0,
        regular: 0,
        before: [0; 2],
        last: 0,
        same: 0,
        run: 0,
        since: 2,
        whole: false,
    };

    /// Whether the next byte can only matter if it is a digit.
    pub(crate) const fn is_idle(&self) -> bool {
        self.gap == gap::DEAD
    }

    /// Whether a number ends here if the text does.
    pub(crate) const fn at_end(&self) -> bool {
        self.whole
    }

    /// The end of an entry: what ended here was reported.
    pub(crate) const fn end(&mut self) {
        self.whole = false;
    }

    /// The fields of `cards_t`; `None` when a state does not fit.
    pub(crate) fn form(&self, fields: &mut Fields) -> Option<()> {
        fields.put_state(self.gap, GAP_BITS)?;
        fields.put_state(self.prefix, PREFIX_BITS)?;
        self.sums.iter().rev().for_each(|sums| fields.put(*sums, 80));
        fields.put(self.plain, 1);
        self.begins.iter().rev().for_each(|begins| fields.put(*begins, LONGEST));
        fields.put(self.groups, LONGEST);
        let [earlier, later] = self.before;
        [self.size, self.regular, earlier, later].iter().for_each(|size| fields.put(*size, 5));
        fields.put(self.last, 4);
        [self.same, self.run].iter().for_each(|count| fields.put(*count, 5));
        fields.put(self.since, 2);
        fields.put(self.whole, 1);
        Some(())
    }

    pub(crate) fn step(&mut self, byte: u8, gaps: &Gap, prefixes: &Prefixes) -> Found {
        let live = self.gap != gap::DEAD;
        self.gap = gaps.after(self.gap, byte);
        if byte.is_ascii_digit() {
            let now = self.digit(byte - b'0', live, prefixes);
            return Found { now, before: false };
        }
        let joins = self.since == 0 && matches!(byte, b' ' | b'-');
        let dead = self.gap == gap::DEAD;
        let before = self.whole && (!joins || dead);
        if dead {
            // Nothing of a run that is over is kept.
            *self = Self::NEW;
        } else {
            self.since = if joins { 1 } else { 2 };
            self.whole &= joins;
        }
        Found { now: false, before }
    }

    fn digit(&mut self, digit: u8, live: bool, prefixes: &Prefixes) -> bool {
        if !live {
            *self = Self { gap: self.gap, ..Self::NEW };
        }
        let adjacent = self.since == 0;
        let joined = self.since < 2;
        if !adjacent && self.size > 0 {
            // A group is complete. Where its size is another, only what begins with it stays regular.
            if self.regular != 0 && self.size != self.regular {
                self.groups &= 1 << (self.size - 1).min(31);
            }
            self.regular = self.size;
            self.before = [self.before[1], self.size];
            self.size = 0;
        }
        self.size = (self.size + 1).min(MANY);
        self.groups = (self.groups << 1 | u32::from(self.size == 1)) & KEPT;
        if self.regular != 0 && self.size > self.regular {
            self.groups &= 1 << (self.size - 1).min(31);
        }
        self.same = if self.same > 0 && self.last == digit { (self.same + 1).min(MANY) } else { 1 };
        self.last = digit;
        self.plain ^= 1;
        let doubled = if digit > 4 { 2 * digit - 9 } else { 2 * digit };
        for (sum, plain) in self.sums.iter_mut().zip([1, 0]) {
            let value = if self.plain == plain { digit } else { doubled };
            *sum = ((*sum << 4) | (((*sum & 15) + u128::from(value)) % 10)) & ((1 << 80) - 1);
        }
        let (next, said) = prefixes.after(self.prefix, digit);
        self.prefix = next;
        for (begins, bit) in self.begins.iter_mut().zip(0..) {
            let here = said.iter().zip(0..).filter(|(lengths, _)| **lengths >> bit & 1 == 1);
            *begins = (*begins << 1) & KEPT | here.fold(0, |set, (_, ago)| set | 1 << ago);
        }
        self.run = if joined { (self.run + 1).min(MANY) } else { 1 };
        self.since = 0;
        let run = usize::from(self.run);
        self.whole = (SHORTEST..=LONGEST).contains(&run) && self.is_checked(run);
        let lengths = (SHORTEST..=LONGEST).zip(self.begins);
        let mut groups = self.groups;
        if self.before == [4, 6] && matches!(self.size, 4 | 5) {
            groups |= 1 << (self.size + 9);
        }
        lengths.into_iter().any(|(length, begins)| groups & begins & 1 << (length - 1) != 0 && self.is_checked(length))
    }

    /// Whether the last `length` digits have a right check digit; one repeated digit does not count.
    fn is_checked(&self, length: usize) -> bool {
        let [even, odd] = self.sums;
        let sum = if self.plain == 0 { odd } else { even };
        sum & 15 == sum >> (4 * length) & 15 && usize::from(self.same) < length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Network;

    /// Where numbers end in a text in which any three marks may stand between digits.
    fn ends(text: &str) -> Vec<usize> {
        let networks = [Network { first: 4..=4, lengths: 16..=16 }, Network { first: 37..=37, lengths: 15..=15 }];
        let (gaps, prefixes) = (Gap::of_marks(3), Prefixes::new(&networks).unwrap());
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
        assert_eq!(ends("4111 1111 1111 1111"), [19, 19]);
        assert_eq!(ends("x 4111-1111-1111-1111, y"), [21, 21]);
        assert_eq!(ends("4111 1111 1111 1111 123"), [19]);
        assert_eq!(ends("3782 822463 10005 1234"), [17]);
        assert_eq!(ends("4111111111111111123"), [16]);
        assert_eq!(ends("1234 5678 9012 8 CHK"), [17], "a whole run of another network");
        for harmless in ["4111 1111 1111 1112", "0000 0000 0000 0000", "94111111111111111 1", "411 11111 111 11111 55"]
        {
            assert_eq!(ends(harmless), Vec::<usize>::new(), "{harmless}");
        }
    }
}
