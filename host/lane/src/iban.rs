//! Account numbers (ISO 13616): remainders modulo 97 (ISO 7064) of up to eight numbers at once.
//!
//! A number begins with two letters for the country and two check digits. The country determines how many characters
//! follow. The country and the check digits give a number `k`; the characters after them, read as a number, have a
//! remainder `r`. The check moves the first four characters to the end, so it requires `r * 10^6 + k = 1 (mod 97)`. All
//! groups of a number have equal sizes; the last may be shorter. If a ninth number begins while eight are being read,
//! the unit reports it without a check.

use crate::form::{Fields, GAP_BITS};
use crate::gap;
use crate::tables::Gap;

/// Largest number of account numbers that are read at the same time.
const CANDIDATES: usize = 8;

/// A number that is being read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Candidate {
    /// Characters that are still missing; 0 marks an unused candidate.
    left: u8,
    remainder: u8,
    target: u8,
    groups: Groups,
}

/// Group sizes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Groups {
    /// Size of the first group; 0 until that group is complete.
    first: u8,
    size: u8,
}

impl Groups {
    fn form(self, fields: &mut Fields) {
        [self.first, self.size].iter().for_each(|size| fields.put(*size, 6));
    }

    /// Adds a character; `None` if the groups become irregular.
    const fn with(self, adjacent: bool) -> Option<Self> {
        let first = if adjacent || self.first != 0 { self.first } else { self.size };
        let size = if adjacent { self.size + 1 } else { 1 };
        let complete = !adjacent && self.first != 0 && self.size != self.first;
        if complete || (first != 0 && size > first) { None } else { Some(Self { first, size }) }
    }
}

/// The first characters of a possible number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    /// Number of characters so far: up to two letters and the first check digit.
    length: u8,
    /// Values of the characters, 0 to 35.
    values: [u8; 3],
    groups: Groups,
}

/// The state of the account-number unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Iban {
    /// State of the gap automaton.
    pub(crate) gap: u16,
    /// The possible numbers that began with the letter before the last character, and with the last character.
    heads: [Head; 2],
    candidates: [Candidate; CANDIDATES],
    /// Candidates in use, one bit each.
    live: u8,
    /// Whether the last byte was a letter or digit.
    adjacent: bool,
}

impl Iban {
    pub(crate) const NEW: Self = Self {
        gap: gap::DEAD,
        heads: [Head { length: 0, values: [0; 3], groups: Groups { first: 0, size: 0 } }; 2],
        candidates: [Candidate { left: 0, remainder: 0, target: 0, groups: Groups { first: 0, size: 0 } }; CANDIDATES],
        live: 0,
        adjacent: false,
    };

    /// Whether no number has been read beyond its first check digit.
    pub(crate) fn is_idle(&self) -> bool {
        self.live == 0 && self.heads.iter().all(|head| head.length < 3)
    }

    /// The state as the fields of `accounts_t`; `None` if a value does not fit.
    pub(crate) fn form(&self, fields: &mut Fields) -> Option<()> {
        fields.put_state(self.gap, GAP_BITS)?;
        let [head, letter] = self.heads;
        fields.put(head.length, 2);
        head.values.iter().for_each(|value| fields.put(*value, 6));
        head.groups.form(fields);
        let [value, ..] = letter.values;
        fields.put(value, 6);
        for candidate in self.candidates.iter().rev() {
            fields.put(candidate.left, 6);
            [candidate.remainder, candidate.target].iter().for_each(|value| fields.put(*value, 7));
            candidate.groups.form(fields);
        }
        fields.put(self.adjacent, 1);
        Some(())
    }

    /// Reads a byte; returns whether a number ends with it. `lengths` holds the lengths by country, 26 times 26.
    pub(crate) fn step(&mut self, byte: u8, gaps: &Gap, lengths: &[u8]) -> bool {
        let live = self.gap != gap::DEAD;
        self.gap = gaps.after(self.gap, byte);
        let value = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'z' => byte - b'a' + 10,
            b'A'..=b'Z' => byte - b'A' + 10,
            _ if self.gap == gap::DEAD => {
                *self = Self::NEW;
                return false;
            }
            _ => {
                self.adjacent = false;
                return false;
            }
        };
        if !live {
            *self = Self { gap: self.gap, ..Self::NEW };
        }
        let found = self.count(value);
        let found = self.begin(value, lengths) | found;
        self.adjacent = true;
        found
    }

    /// Gives the next character to the candidates; returns whether a valid number ends with it.
    fn count(&mut self, value: u8) -> bool {
        let mut found = false;
        if self.live == 0 {
            return found;
        }
        for (candidate, bit) in self.candidates.iter_mut().zip(0..).filter(|(candidate, _)| candidate.left > 0) {
            let factor = if value > 9 { 100 } else { 10 };
            let remainder = (u16::from(candidate.remainder) * factor + u16::from(value)) % 97;
            *candidate = match candidate.groups.with(self.adjacent) {
                Some(groups) => Candidate {
                    left: candidate.left - 1,
                    remainder: u8::try_from(remainder).unwrap_or(0),
                    groups,
                    target: candidate.target,
                },
                None => Candidate::default(),
            };
            found |= candidate.left == 0 && candidate.remainder == candidate.target && candidate.groups.size > 0;
            if candidate.left == 0 {
                *candidate = Candidate::default();
                self.live &= !(1 << bit);
            }
        }
        found
    }

    /// Gives the next character to the heads; returns whether a ninth number begins.
    fn begin(&mut self, value: u8, lengths: &[u8]) -> bool {
        let mut ninth = false;
        let mut heads = [Head::default(); 2];
        let letter = value > 9;
        for head in self.heads {
            let Some(groups) = head.groups.with(self.adjacent) else { continue };
            let [a, b, check] = head.values;
            match head.length {
                1 if letter => heads[0] = Head { length: 2, values: [a, value, 0], groups },
                2 if !letter && length(lengths, a, b) > 4 => {
                    heads[0] = Head { length: 3, values: [a, b, value], groups };
                }
                3 if !letter => {
                    let left = length(lengths, a, b) - 4;
                    let new = Candidate { left, remainder: 0, target: target(a, b, check * 10 + value), groups };
                    let bit = self.live.trailing_ones();
                    match self.candidates.get_mut(bit as usize) {
                        Some(free) => {
                            *free = new;
                            self.live |= 1 << bit;
                        }
                        None => ninth = true,
                    }
                }
                _ => {}
            }
        }
        if letter {
            heads[1] = Head { length: 1, values: [value, 0, 0], groups: Groups { first: 0, size: 1 } };
        }
        self.heads = heads;
        ninth
    }
}

fn length(lengths: &[u8], a: u8, b: u8) -> u8 {
    let at = |letter: u8| usize::from(letter.saturating_sub(10));
    lengths.get(at(a) * 26 + at(b)).copied().unwrap_or(0)
}

/// The remainder that the characters after country and check digits must have: `(1 - k) / 10^6 (mod 97)`.
fn target(a: u8, b: u8, check: u8) -> u8 {
    // Modulo 97, 10^4 is 9, 10^2 is 3, and the inverse of 10^6 is 18.
    let k = (u16::from(a) * 9 + u16::from(b) * 3 + u16::from(check)) % 97;
    u8::try_from((98 - k) % 97 * 18 % 97).unwrap_or(0)
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
        let gaps = Gap::of_marks_between_words(3);
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
