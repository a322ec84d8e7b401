//! Finds which of many patterns match from a given byte, in one walk for all of them.
//!
//! An automaton that searches from every byte at once needs many states: with counted repetitions, a state for each
//! arrangement of the last bytes. An automaton that starts at a single byte needs few states.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::pool::Pool;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Hir;
use std::panic::{RefUnwindSafe, UnwindSafe};

type Make = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

pub(crate) struct JointPatternAutomaton {
    dfa: DFA,
    firsts: Firsts,
    caches: Pool<Cache, Make>,
}

/// The bytes with which a match can begin. At most places of a text, this table alone shows that no match begins.
struct Firsts {
    /// For each kind of byte before the place ([`kind`]), the bytes with which a match can begin there.
    begins: [[bool; 256]; 5],
}

/// The kind of the byte before a place, as far as assertions depend on it: none, LF, CR, a word byte, another byte.
fn kind(before: Option<u8>) -> usize {
    match before {
        None => 0,
        Some(b'\n') => 1,
        Some(b'\r') => 2,
        Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => 3,
        Some(_) => 4,
    }
}

impl Firsts {
    fn new(dfa: &DFA) -> Self {
        let mut cache = dfa.create_cache();
        let begins = [None, Some(b'\n'), Some(b'\r'), Some(b'a'), Some(b' ')].map(|before| {
            std::array::from_fn(|byte| {
                let byte = u8::try_from(byte).unwrap_or(0);
                // Any step may clear the cache, which makes older states invalid; so the start state is computed again.
                let start = dfa.start_state(&mut cache, &config(before)).ok();
                let next = start.and_then(|start| dfa.next_state(&mut cache, start, byte).ok());
                next.is_none_or(|next| !next.is_dead())
            })
        });
        Self { begins }
    }

    /// Whether a match can begin with `byte` after `before`.
    fn has(&self, before: Option<u8>, byte: u8) -> bool {
        let begins = self.begins.get(kind(before)).and_then(|begins| begins.get(usize::from(byte)));
        begins.copied().unwrap_or(true)
    }
}

fn config(before: Option<u8>) -> start::Config {
    start::Config::new().anchored(Anchored::Yes).look_behind(before)
}

impl JointPatternAutomaton {
    /// All patterns in one automaton.
    pub(crate) fn new(patterns: &[Hir]) -> Result<Self, String> {
        let nfa = thompson::Compiler::new().build_many_from_hir(patterns).map_err(|e| e.to_string())?;
        let config = DFA::config().match_kind(MatchKind::All).skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).map_err(|e| e.to_string())?;
        let firsts = Firsts::new(&dfa);
        let of = dfa.clone();
        let make: Make = Box::new(move || of.create_cache());
        Ok(Self { dfa, firsts, caches: Pool::new(make) })
    }

    /// Gives `walks` a walker over the automaton.
    pub(crate) fn walks<T>(&self, walks: impl FnOnce(&mut Walker<'_>) -> T) -> T {
        let mut cache = self.caches.get();
        walks(&mut Walker { dfa: &self.dfa, firsts: &self.firsts, cache: &mut cache })
    }
}

pub(crate) struct Walker<'j> {
    dfa: &'j DFA,
    firsts: &'j Firsts,
    cache: &'j mut Cache,
}

/// The end of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AutomatonWalkEnd {
    /// No pattern can match any further text.
    Dead,
    /// The text ended while a pattern could still continue.
    Alive,
    /// The automaton gave up.
    Unknown,
}

impl Walker<'_> {
    /// Walks from `at`. `matched` receives each pattern that matches from there, possibly more than once.
    pub(crate) fn walk(&mut self, text: &[u8], at: usize, mut matched: impl FnMut(usize)) -> AutomatonWalkEnd {
        let before = at.checked_sub(1).and_then(|b| text.get(b)).copied();
        if text.get(at).is_some_and(|byte| !self.firsts.has(before, *byte)) {
            return AutomatonWalkEnd::Dead;
        }
        let Ok(mut state) = self.dfa.start_state(self.cache, &config(before)) else { return AutomatonWalkEnd::Unknown };
        for byte in text.iter().skip(at) {
            let Ok(next) = self.dfa.next_state(self.cache, state, *byte) else { return AutomatonWalkEnd::Unknown };
            state = next;
            if state.is_tagged() {
                if state.is_dead() {
                    return AutomatonWalkEnd::Dead;
                }
                if state.is_quit() {
                    return AutomatonWalkEnd::Unknown;
                }
                self.tell(state, &mut matched);
            }
        }
        match self.dfa.next_eoi_state(self.cache, state) {
            Ok(last) => self.tell(last, &mut matched),
            Err(_) => return AutomatonWalkEnd::Unknown,
        }
        AutomatonWalkEnd::Alive
    }

    fn tell(&self, state: LazyStateID, matched: &mut impl FnMut(usize)) {
        if state.is_match() {
            for index in 0..self.dfa.match_len(self.cache, state) {
                matched(self.dfa.match_pattern(self.cache, state, index).as_usize());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_automata::util::syntax;

    /// `Firsts` rules out exactly the places at which a walk would find a dead state.
    #[test]
    fn every_place_is_walked_or_dead() {
        let syntax = syntax::Config::new().unicode(false);
        for patterns in [
            &[r"\b\d(?:[ -]?\d){11,18}\b", r"\b[a-z.]{1,64}@[a-z.]{3,20}\b"][..],
            &[r"(?m:^)#x{1,3}", r"\Aab", r"\Bq"],
            &[r"(?u:\xe9)a"],
        ] {
            let hirs: Vec<Hir> = patterns.iter().map(|p| syntax::parse_with(p, &syntax).unwrap()).collect();
            let joint = JointPatternAutomaton::new(&hirs).unwrap();
            let (mut passed, mut walked) = (0, 0);
            joint.walks(|walker| {
                for before in (0..=u8::MAX).map(Some).chain([None]) {
                    for byte in 0..=u8::MAX {
                        let begins = joint.firsts.has(before, byte);
                        let start = walker.dfa.start_state(walker.cache, &config(before)).unwrap();
                        let next = walker.dfa.next_state(walker.cache, start, byte).unwrap();
                        assert_eq!(begins, !next.is_dead(), "{patterns:?}: {byte} after {before:?}");
                        *(if begins { &mut walked } else { &mut passed }) += 1;
                    }
                }
            });
            assert!(passed > 0 && walked > 0, "{patterns:?}: {passed} {walked}");
        }
    }
}
