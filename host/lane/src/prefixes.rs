//! First digits of card networks: an automaton over the digits of a run. It gives, for each of the last six digits, the
//! possible lengths of a card number that begins with that digit: in any run, and as a whole run.

use crate::source::PaymentNetworkRange;
use std::collections::BTreeMap;

/// Shortest and longest number (ISO/IEC 7812-1).
pub(crate) const SHORTEST: usize = 12;
pub(crate) const LONGEST: usize = 19;
/// Largest number of states of the automaton for first digits, on any card.
pub(crate) const MOST_PREFIX_STATES: usize = 512;
/// Largest number of first digits that identify a network.
pub(crate) const FIRST_DIGITS: usize = 6;
/// Number of entries per state: for each of the last digits, the lengths in any run, then those of whole runs.
pub(crate) const ENTRIES: usize = 2 * FIRST_DIGITS;

/// Next states by state and digit, 16 entries per state, and the result of each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefixes {
    pub(crate) next: Vec<u16>,
    /// For a number that began 1 to 6 digits ago, its possible lengths in any run, then those of a number that is a
    /// whole run; one bit per length from 12 on.
    pub(crate) lengths: Vec<[u8; ENTRIES]>,
}

/// A network being read, the number of digits read, and whether these equal the lower and the upper limit so far.
type Begun = (usize, usize, bool, bool);

impl Prefixes {
    /// The automaton for these networks; `None` if the prefixes have more than six digits, or there are too many
    /// states.
    pub(crate) fn new(networks: &[PaymentNetworkRange]) -> Option<Self> {
        let digits_of = |number: u32| -> Vec<u8> { number.to_string().bytes().map(|byte| byte - b'0').collect() };
        let row =
            |n: &PaymentNetworkRange| (digits_of(*n.first.start()), digits_of(*n.first.end()), lengths(n), n.whole);
        let known: Vec<(Vec<u8>, Vec<u8>, u8, bool)> = networks.iter().map(row).collect();
        if known.iter().any(|(from, to, ..)| from.len() != to.len() || from.len() > FIRST_DIGITS) {
            return None;
        }
        let step = |begun: &[Begun], digit: u8| {
            let all = begun.iter().copied().chain((0..known.len()).map(|network| (network, 0, true, true)));
            let mut next: Vec<Begun> = Vec::new();
            let mut said = [0; ENTRIES];
            for (network, read, low, high) in all {
                let Some((from, to, lengths, whole)) = known.get(network) else { continue };
                let (Some(least), Some(most)) = (from.get(read), to.get(read)) else { continue };
                if (low && digit < *least) || (high && digit > *most) {
                    continue;
                }
                let read = read + 1;
                if read == from.len() {
                    let (any, whole_run) = said.split_at_mut(FIRST_DIGITS);
                    let any = any.get_mut(read - 1).filter(|_| !whole);
                    any.into_iter().chain(whole_run.get_mut(read - 1)).for_each(|said| *said |= lengths);
                } else {
                    next.push((network, read, low && digit == *least, high && digit == *most));
                }
            }
            next.sort_unstable();
            (next, said)
        };
        type State = (Vec<Begun>, [u8; ENTRIES]);
        let mut numbers: BTreeMap<State, u16> = BTreeMap::from([((Vec::new(), [0; ENTRIES]), 0)]);
        let mut open: Vec<State> = vec![(Vec::new(), [0; ENTRIES])];
        let mut of = Self::default();
        let mut at = 0;
        while let Some((begun, said)) = open.get(at).cloned() {
            of.lengths.push(said);
            let mut row = [0u16; 16];
            for (digit, slot) in (0..10).zip(&mut row) {
                let state = step(&begun, digit);
                let new = u16::try_from(open.len()).ok()?;
                *slot = *numbers.entry(state.clone()).or_insert(new);
                if *slot == new {
                    open.push(state);
                }
            }
            if open.len() > MOST_PREFIX_STATES {
                return None;
            }
            of.next.extend(row);
            at += 1;
        }
        Some(of)
    }

    /// The state after a digit, and its result.
    pub(crate) fn after(&self, state: u16, digit: u8) -> (u16, [u8; ENTRIES]) {
        let next = self.next.get(usize::from(state) << 4 | usize::from(digit & 15)).copied().unwrap_or(0);
        (next, self.lengths.get(usize::from(next)).copied().unwrap_or_default())
    }
}

fn lengths(network: &PaymentNetworkRange) -> u8 {
    (SHORTEST..=LONGEST)
        .zip(0..)
        .filter(|(length, _)| network.lengths.contains(length))
        .fold(0, |set, (_, bit)| set | 1 << bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_told_where_its_numbers_begin() {
        let networks = [
            PaymentNetworkRange { first: 4..=4, lengths: 16..=16, whole: false },
            PaymentNetworkRange { first: 2221..=2720, lengths: 16..=19, whole: false },
            PaymentNetworkRange { first: 22..=22, lengths: 12..=12, whole: true },
        ];
        let prefixes = Prefixes::new(&networks).unwrap();
        let mut state = 0;
        let mut said = Vec::new();
        for digit in [9, 2, 2, 2, 1, 4] {
            let (next, lengths) = prefixes.after(state, digit);
            state = next;
            said.push(lengths);
        }
        assert_eq!(said[2], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], "22 began two digits ago, if it is a whole run");
        assert_eq!(said[4], [0, 0, 0, 0xf0, 0, 0, 0, 0, 0, 0xf0, 0, 0], "2221 began four digits ago");
        assert_eq!(said[5], [0x10, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0], "2214 begins no number, 4 does");
    }
}
