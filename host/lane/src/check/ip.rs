//! Network addresses: a dotted quad, or an IPv6 address (RFC 4291, section 2.2) that is not part of a word and whose
//! first group is in an allocated block.
//!
//! The check accepts more than the mapping: every address that begins with zero, 64 or a double colon, any number in a
//! quad at the end of an IPv6 address, more than eight groups, and several double colons. So an address that began
//! earlier continues at least as far as an address that begins inside it ([`outlives`]).

use super::CheckState;

/// State of the current number of a dotted quad. Values that allow the same further digits share a state.
const EMPTY: u8 = 0;
const ZERO: u8 = 1;
const ONE: u8 = 2;
const TWO: u8 = 3;
/// 3 to 9: one more digit may follow, but not two.
const THREE_TO_9: u8 = 4;
/// 10 to 24: any digit may follow.
const TO_24: u8 = 5;
const IS_25: u8 = 6;
/// 26 to 255: no digit may follow.
const FULL: u8 = 7;
const OVER: u8 = 8;

/// State of the digits of the first group of an IPv6 address.
const NOTHING: u8 = 0;
const ZEROS: u8 = 1;
const SIX: u8 = 2;
const SIXTY_FOUR: u8 = 3;
/// Begins with 2 or 3; a group of four such digits is global unicast.
const UNICAST: u8 = 4;
const F: u8 = 5;
const FE: u8 = 6;
/// Begins with fc, fd, ff or fe8 to feb; a group of four such digits is in an allocated block.
const LOCAL: u8 = 7;
const OTHER: u8 = 8;

/// Number of groups of a complete IPv6 address.
const WHOLE: u8 = 8;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Address {
    /// Whether a letter or digit precedes the address.
    glued: bool,
    /// Whether a colon was read.
    colons: bool,
    /// The current number of a quad; unused after a colon.
    part: u8,
    /// State of the first group's digits; unused after a colon.
    first: u8,
    /// Number of digits of the current group, at most 4.
    length: u8,
    /// Number of groups before the current group; 8 after a double colon, which stands for all missing groups. 0 after
    /// a colon at the beginning, which must be the first of a double colon.
    groups: u8,
    /// Number of colons since the last group.
    colons_since: u8,
    /// Number of dots in a quad at the end of the address.
    dots: u8,
}

impl Address {
    fn pack(self) -> CheckState {
        let fields = [
            (u32::from(self.glued), 1),
            (u32::from(self.colons), 1),
            (u32::from(self.part), 4),
            (u32::from(self.first), 4),
            (u32::from(self.length), 3),
            (u32::from(self.groups), 4),
            (u32::from(self.colons_since), 2),
            (u32::from(self.dots), 2),
        ];
        fields.iter().fold(0, |packed, (value, bits)| packed << bits | value)
    }

    fn unpack(mut packed: CheckState) -> Self {
        let mut take = |bits: u32| {
            let value = packed & ((1 << bits) - 1);
            packed >>= bits;
            u8::try_from(value).unwrap_or(0)
        };
        let (dots, colons_since, groups, length) = (take(2), take(2), take(4), take(3));
        let (first, part, colons, glued) = (take(4), take(4), take(1) == 1, take(1) == 1);
        Self { glued, colons, part, first, length, groups, colons_since, dots }
    }

    /// Reads a hexadecimal digit, 0 to 15; `None` if no address can begin with the characters so far.
    fn digit(mut self, value: u8) -> Option<Self> {
        if self.colons {
            if self.groups == 0 {
                return None;
            }
            let length = if self.colons_since > 0 { 1 } else { self.length + 1 };
            (self.colons_since, self.length) = (0, length);
            // The numbers of a quad after a colon are not checked.
            self.length = if self.dots > 0 { 0 } else { length };
            return (length <= 4).then_some(self);
        }
        self.part = part(self.part, value);
        // A group of more than four digits can only be a number of a quad.
        self.first = if self.length == 4 { OTHER } else { first(self.first, value) };
        self.length = (self.length + 1).min(4);
        (self.part != OVER || self.first != OTHER).then_some(self)
    }

    fn colon(mut self) -> Option<Self> {
        if !self.colons {
            let groups = match self.first {
                NOTHING if self.part == EMPTY => 0,
                UNICAST | LOCAL if self.length == 4 => 1,
                ZEROS | SIXTY_FOUR => 1,
                _ => return None,
            };
            let begun = Self { colons: true, groups, colons_since: 1, ..Self::default() };
            return (!self.glued).then_some(begun);
        }
        match self.colons_since {
            _ if self.dots > 0 => return None,
            0 => (self.groups, self.length, self.colons_since) = ((self.groups + 1).min(WHOLE), 0, 1),
            1 => (self.groups, self.colons_since) = (WHOLE, 2),
            _ => return None,
        }
        Some(self)
    }

    fn dot(mut self) -> Option<Self> {
        if self.colons {
            let goes_on = self.colons_since == 0 && self.dots < 3;
            (self.dots, self.length) = (self.dots + 1, 0);
            return goes_on.then_some(self);
        }
        let whole = (ZERO..=FULL).contains(&self.part);
        (self.part, self.first, self.length) = (EMPTY, OTHER, 0);
        whole.then_some(self)
    }
}

fn part(part: u8, digit: u8) -> u8 {
    match (part, digit) {
        (EMPTY | ZERO, 0) => ZERO,
        (EMPTY | ZERO, 1) => ONE,
        (EMPTY | ZERO, 2) => TWO,
        (EMPTY | ZERO, 3..=9) => THREE_TO_9,
        (ONE, 0..=9) | (TWO, 0..=4) => TO_24,
        (TWO, 5) => IS_25,
        (TWO, 6..=9) | (THREE_TO_9 | TO_24, 0..=9) | (IS_25, 0..=5) => FULL,
        _ => OVER,
    }
}

fn first(first: u8, digit: u8) -> u8 {
    match (first, digit) {
        (NOTHING | ZEROS, 0) => ZEROS,
        (NOTHING | ZEROS, 6) => SIX,
        (SIX, 4) => SIXTY_FOUR,
        (NOTHING, 2 | 3) | (UNICAST, _) => UNICAST,
        (NOTHING, 15) => F,
        (F, 14) => FE,
        (F, 12 | 13 | 15) | (FE, 8..=11) | (LOCAL, _) => LOCAL,
        _ => OTHER,
    }
}

pub(super) fn start(glued: bool) -> CheckState {
    Address { glued, ..Address::default() }.pack()
}

pub(super) fn step(state: CheckState, byte: u8) -> Option<CheckState> {
    let address = Address::unpack(state);
    let next = match byte {
        b'0'..=b'9' => address.digit(byte - b'0'),
        b'a'..=b'f' => address.digit(byte - b'a' + 10),
        b'A'..=b'F' => address.digit(byte - b'A' + 10),
        b':' => address.colon(),
        b'.' => address.dot(),
        // A number may have a sign, because the mapping's parser accepts one.
        b'+' if !address.colons && address.part == EMPTY => Some(Address { first: OTHER, ..address }),
        _ => None,
    };
    next.map(Address::pack)
}

pub(super) fn accepts(state: CheckState, next: Option<u8>) -> bool {
    let address = Address::unpack(state);
    if !address.colons {
        return (ZERO..=FULL).contains(&address.part);
    }
    let ends = !next.is_some_and(|byte| byte.is_ascii_alphanumeric());
    match (address.dots, address.colons_since) {
        (0, 0) => ends && address.groups + 1 >= WHOLE,
        (3, 0) => ends && address.groups + 2 >= WHOLE,
        // A single colon after an address is not part of it.
        (0, 1) => address.groups >= WHOLE,
        (0, _) => ends,
        _ => false,
    }
}

/// Whether `a` accepts everything that `b` accepts, for all following bytes.
pub(super) fn outlives(a: CheckState, b: CheckState) -> bool {
    let (a, b) = (Address::unpack(a), Address::unpack(b));
    a.colons && a.groups >= b.groups && Address { groups: 0, ..a } == Address { groups: 0, ..b }
}
