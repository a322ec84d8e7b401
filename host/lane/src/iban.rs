//! Account numbers (ISO 13616): remainders modulo 97 (ISO 7064) of up to three numbers at once.
//!
//! A number begins with two letters for the country and two check digits. The country determines how many characters
//! follow. The country and the check digits give a number `k`; the characters after them, read as a number, have a
//! remainder `r`. The check moves the first four characters to the end, so it requires `r * 10^6 + k = 1 (mod 97)`. All
//! groups of a number have equal sizes; the last may be shorter. If a fourth number begins while three are being read,
//! the unit reports it without a check. When the automaton of gaps dies, nothing is being read any more.

use crate::form::{Fields, GAP_BITS};
use crate::gap;
use crate::tables::GapAutomaton;

/// Largest number of account numbers that are read at the same time.
const CANDIDATES: usize = 3;

/// A number that is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IbanCandidate {
    /// Characters that are still missing; 0 marks an unused candidate.
    left: u8,
    remainder: u8,
    target: u8,
    groups: IbanGroups,
}

/// Group sizes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IbanGroups {
    /// Size of the first group so far.
    first: u8,
    /// The first group is complete.
    closed: bool,
    /// If it is, how many more characters the present group can take.
    room: u8,
}

impl IbanGroups {
    /// Groups after the first character of a number.
    const ONE: Self = Self { first: 1, closed: false, room: 0 };

    fn form(self, fields: &mut Fields) {
        fields.put(self.first, 6);
        fields.put(self.closed, 1);
        fields.put(self.room, 6);
    }

    /// Adds a character; `None` if the groups become irregular.
    const fn with(self, adjacent: bool) -> Option<Self> {
        match (adjacent, self.closed) {
            (true, false) => Some(Self { first: self.first + 1, ..self }),
            (true, true) if self.room > 0 => Some(Self { room: self.room - 1, ..self }),
            (false, closed) if !closed || self.room == 0 => {
                Some(Self { closed: true, room: self.first.saturating_sub(1), ..self })
            }
            _ => None,
        }
    }
}

/// The first characters of a possible number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IbanHead {
    /// Number of characters so far: 0, two letters, or two letters and the first check digit.
    length: u8,
    /// Number of characters after the check digits.
    left: u8,
    /// The remainder that these must have, if the missing characters of the head were zeros.
    target: u8,
    groups: IbanGroups,
}

/// The state of the account-number unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Iban {
    /// State of the gap automaton.
    pub(crate) gap: u16,
    /// The possible number that began with the letter before the last character.
    head: IbanHead,
    /// The place of the last character in the alphabet if it is a letter, 1 to 26; else 0.
    letter: u8,
    candidates: [IbanCandidate; CANDIDATES],
    /// Whether the last byte was a letter or digit.
    adjacent: bool,
}

impl Iban {
    const GROUPS: IbanGroups = IbanGroups { first: 0, closed: false, room: 0 };
    pub(crate) const NEW: Self = Self {
        gap: gap::DEAD,
        head: IbanHead { length: 0, left: 0, target: 0, groups: Self::GROUPS },
        letter: 0,
        candidates: [IbanCandidate { left: 0, remainder: 0, target: 0, groups: Self::GROUPS }; CANDIDATES],
        adjacent: false,
    };

    /// Whether no number has been read beyond its first check digit.
    pub(crate) fn is_idle(&self) -> bool {
        self.head.length < 3 && self.candidates.iter().all(|candidate| candidate.left == 0)
    }

    /// The state as the fields of `accounts_t`; `None` if a value does not fit.
    pub(crate) fn form(&self, fields: &mut Fields) -> Option<()> {
        fields.put_state(self.gap, GAP_BITS)?;
        fields.put(self.head.length, 2);
        fields.put(self.head.left, 6);
        fields.put(self.head.target, 7);
        self.head.groups.form(fields);
        fields.put(self.letter, 5);
        for candidate in self.candidates.iter().rev() {
            fields.put(candidate.left, 6);
            [candidate.remainder, candidate.target].iter().for_each(|value| fields.put(*value, 7));
            candidate.groups.form(fields);
        }
        fields.put(self.adjacent, 1);
        Some(())
    }

    /// Reads a byte; returns whether a number ends with it. `lengths` holds the lengths by country, 26 times 26.
    pub(crate) fn step(&mut self, byte: u8, gaps: &GapAutomaton, lengths: &[u8]) -> bool {
        self.gap = gaps.after(self.gap, byte);
        let value = match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'z' => Some(byte - b'a' + 10),
            b'A'..=b'Z' => Some(byte - b'A' + 10),
            _ => None,
        };
        let found = value.is_some_and(|value| {
            let found = self.count(value);
            self.begin(value, lengths) | found
        });
        self.adjacent = value.is_some();
        if self.gap == gap::DEAD {
            *self = Self::NEW;
        }
        found
    }

    /// Gives the next character to the candidates; returns whether a valid number ends with it.
    fn count(&mut self, value: u8) -> bool {
        let mut found = false;
        let factor = if value > 9 { 100 } else { 10 };
        for candidate in self.candidates.iter_mut().filter(|candidate| candidate.left > 0) {
            let remainder = modulo(u16::from(candidate.remainder) * factor + u16::from(value));
            let groups = candidate.groups.with(self.adjacent);
            found |= candidate.left == 1 && groups.is_some() && remainder == candidate.target;
            *candidate = match groups {
                Some(groups) if candidate.left > 1 => {
                    IbanCandidate { left: candidate.left - 1, remainder, groups, target: candidate.target }
                }
                _ => IbanCandidate::default(),
            };
        }
        found
    }

    /// Gives the next character to the head; returns whether a fourth number begins.
    fn begin(&mut self, value: u8, lengths: &[u8]) -> bool {
        let IbanHead { length, left, target, .. } = self.head;
        let here = value.saturating_sub(9);
        let letter = std::mem::replace(&mut self.letter, here);
        let head = std::mem::take(&mut self.head);
        if letter > 0 && here > 0 {
            let country = length_of(lengths, letter, here);
            if let Some(groups) = IbanGroups::ONE.with(self.adjacent).filter(|_| country > 4) {
                let target = modulo(18 + 32 * (u16::from(letter) + 9) + 43 * u16::from(value));
                self.head = IbanHead { length: 2, left: country - 4, target, groups };
            }
        }
        if here > 0 || length < 2 {
            return false;
        }
        let Some(groups) = head.groups.with(self.adjacent) else { return false };
        // The remainder is `18 (1 - k) (mod 97)`, where `k` is `9 a + 3 b + 10 c + d` for letters `a`, `b` and check
        // digits `c`, `d`: 10^4 is 9, 10^2 is 3, and the inverse of 10^6 is 18.
        let factor = if length == 2 { 14 } else { 79 };
        let target = modulo(u16::from(target) + factor * u16::from(value));
        if length == 2 {
            self.head = IbanHead { length: 3, left, target, groups };
            return false;
        }
        let new = IbanCandidate { left, remainder: 0, target, groups };
        match self.candidates.iter_mut().find(|candidate| candidate.left == 0) {
            Some(free) => {
                *free = new;
                false
            }
            None => true,
        }
    }
}

fn length_of(lengths: &[u8], a: u8, b: u8) -> u8 {
    let at = |letter: u8| usize::from(letter.saturating_sub(1));
    lengths.get(at(a) * 26 + at(b)).copied().unwrap_or(0)
}

fn modulo(value: u16) -> u8 {
    u8::try_from(value % 97).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> Vec<usize> {
        let mut lengths = vec![0; 676];
        for (country, length) in [("DE", 22), ("GB", 22), ("NL", 18), ("NO", 15)] {
            let at: Vec<usize> = country.bytes().map(|byte| usize::from(byte - b'A')).collect();
            lengths[at[0] * 26 + at[1]] = length;
        }
        let gaps = GapAutomaton::of_marks_between_words(3);
        let mut iban = Iban::NEW;
        text.bytes().enumerate().filter(|(_, byte)| iban.step(*byte, &gaps, &lengths)).map(|(at, _)| at + 1).collect()
    }

    #[test]
    fn numbers_where_they_end() {
        for text in ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "no93 8601 1117 947"] {
            assert_eq!(ends(text), [text.len()], "{text}");
        }
        assert_eq!(ends("xxDE89370400440532013000yy"), [24]);
        assert_eq!(ends("NL91 ABNA 0417 1643 00 THIS"), [22]);
        for harmless in ["DE89 3704 0044 0532 0130 01", "ZZ89 3704 0044 0532 0130 00", "DE8 93704 0044 0532 0130 00"] {
            assert_eq!(ends(harmless), Vec::<usize>::new(), "{harmless}");
        }
    }
}
