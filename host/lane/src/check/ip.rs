//! Network addresses: a dotted quad, or an IPv6 address (RFC 4291, section 2.2) that is no part of a word and whose
//! first group lies in an allocated block.
//!
//! More is accepted than the mapping does: leading zeros in an embedded quad, and any place of the group `ffff` in an
//! address that begins with zero, and of `ff9b` in one that begins with 64.

use super::CheckState;

/// What the value of a quad's part has come to: the values that go on alike are one.
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

/// What the first group of an IPv6 address has come to.
const NOTHING: u8 = 0;
const ZEROS: u8 = 1;
const SIX: u8 = 2;
const SIXTY_FOUR: u8 = 3;
/// 2 or 3 first: with four digits it is global unicast.
const UNICAST: u8 = 4;
const F: u8 = 5;
const FE: u8 = 6;
/// fc, fd, ff, fe8 to feb: with four digits it is allocated.
const LOCAL: u8 = 7;
const OTHER: u8 = 8;

/// Which group must still come.
const ALLOCATED: u8 = 0;
const WANTS_FFFF: u8 = 1;
const WANTS_FF9B: u8 = 2;

#[derive(Clone, Copy, Default)]
struct Address {
    /// The byte before is a letter or digit.
    glued: bool,
    /// A colon was read.
    colons: bool,
    /// The part of a quad that is read.
    part: u8,
    /// The first group, until a colon.
    first: u8,
    /// Digits of the group that is read, at most 4.
    length: u8,
    /// Groups before it.
    groups: u8,
    /// Two colons were read.
    double: bool,
    /// Colons since the last group.
    colons_since: u8,
    wants: u8,
    /// Digits of the group that is wanted that the group that is read begins with.
    progress: u8,
    /// Dots of a quad at the end.
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
            (u32::from(self.double), 1),
            (u32::from(self.colons_since), 2),
            (u32::from(self.wants), 2),
            (u32::from(self.progress), 3),
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
        let (dots, progress, wants, colons_since) = (take(2), take(3), take(2), take(2));
        let (double, groups, length, first, part) = (take(1) == 1, take(4), take(3), take(4), take(4));
        let (colons, glued) = (take(1) == 1, take(1) == 1);
        Self { glued, colons, part, first, length, groups, double, colons_since, wants, progress, dots }
    }

    /// A digit, 0 to 15.
    fn digit(mut self, value: u8) -> Option<Self> {
        if self.colons && self.colons_since > 0 {
            (self.colons_since, self.length, self.progress, self.part) = (0, 0, 0, EMPTY);
        }
        self.part = part(self.part, value);
        if !self.colons {
            self.first = first(self.first, value);
            // More digits than a group has: only a quad is left.
            self.first = if self.length == 4 { OTHER } else { self.first };
            self.length = (self.length + 1).min(4);
            return (self.part != OVER || self.first != OTHER).then_some(self);
        }
        if self.dots > 0 {
            return (self.part != OVER).then_some(self);
        }
        let wanted: [u8; 4] = if self.wants == WANTS_FFFF { [15; 4] } else { [15, 15, 9, 11] };
        let goes_on = self.progress == self.length && wanted.get(usize::from(self.length)) == Some(&value);
        if goes_on && self.wants != ALLOCATED {
            self.progress += 1;
        }
        self.length += 1;
        if self.progress == 4 {
            (self.wants, self.progress) = (ALLOCATED, 0);
        }
        (self.length <= 4).then_some(self)
    }

    fn colon(mut self) -> Option<Self> {
        if !self.colons {
            let wants = match self.first {
                UNICAST | LOCAL if self.length == 4 => ALLOCATED,
                ZEROS => WANTS_FFFF,
                SIXTY_FOUR => WANTS_FF9B,
                _ => return None,
            };
            if self.glued {
                return None;
            }
            return Some(Self { colons: true, groups: 1, colons_since: 1, wants, ..Self::default() });
        }
        if self.dots > 0 {
            return None;
        }
        (self.progress, self.part) = (0, EMPTY);
        match self.colons_since {
            0 => (self.groups, self.length, self.colons_since) = (self.groups + 1, 0, 1),
            1 if !self.double => (self.double, self.colons_since) = (true, 2),
            _ => return None,
        }
        (self.groups <= 8).then_some(self)
    }

    fn dot(mut self) -> Option<Self> {
        let whole = (ZERO..=FULL).contains(&self.part);
        self.part = EMPTY;
        if !self.colons {
            self.first = OTHER;
            (self.length, self.progress) = (0, 0);
            return whole.then_some(self);
        }
        let goes_on = whole && self.colons_since == 0 && self.dots < 3;
        self.dots += 1;
        (self.length, self.progress) = (0, 0);
        goes_on.then_some(self)
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
        // A number may have a sign as far as the mapping's reader goes.
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
    let quad = match address.dots {
        0 => 0,
        3 if (ZERO..=FULL).contains(&address.part) => 1,
        _ => return false,
    };
    let whole = |groups: u8| if address.double { groups <= 7 } else { groups == 8 };
    let ends = match address.colons_since {
        0 => whole(address.groups + 1 + quad) && !next.is_some_and(|byte| byte.is_ascii_alphanumeric()),
        // One colon behind an address is none of its own.
        1 => whole(address.groups),
        _ => whole(address.groups) && !next.is_some_and(|byte| byte.is_ascii_alphanumeric()),
    };
    ends && address.wants == ALLOCATED
}
