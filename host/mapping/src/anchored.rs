//! Finds in one walk which of many patterns match from a given byte.
//!
//! An automaton that searches for patterns with counted repetitions from every byte at once needs a state for each
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

pub(crate) struct Joint {
    dfa: DFA,
    caches: Pool<Cache, Make>,
}

impl Joint {
    /// All patterns in one automaton.
    pub(crate) fn new(patterns: &[Hir]) -> Result<Self, String> {
        let nfa = thompson::Compiler::new().build_many_from_hir(patterns).map_err(|e| e.to_string())?;
        let config = DFA::config().match_kind(MatchKind::All).skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).map_err(|e| e.to_string())?;
        let of = dfa.clone();
        let make: Make = Box::new(move || of.create_cache());
        Ok(Self { dfa, caches: Pool::new(make) })
    }

    /// Gives `walks` a walker over the automaton.
    pub(crate) fn walks<T>(&self, walks: impl FnOnce(&mut Walker<'_>) -> T) -> T {
        let mut cache = self.caches.get();
        walks(&mut Walker { dfa: &self.dfa, cache: &mut cache })
    }
}

pub(crate) struct Walker<'j> {
    dfa: &'j DFA,
    cache: &'j mut Cache,
}

/// The end of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// No pattern can match any further text.
    Dead,
    /// The text ended while a pattern could still continue.
    Alive,
    /// The automaton gave up.
    Unknown,
}

impl Walker<'_> {
    /// Walks from `at`. `matched` receives each pattern that matches from there, possibly more than once.
    pub(crate) fn walk(&mut self, text: &[u8], at: usize, mut matched: impl FnMut(usize)) -> End {
        let before = at.checked_sub(1).and_then(|b| text.get(b)).copied();
        let config = start::Config::new().anchored(Anchored::Yes).look_behind(before);
        let Ok(mut state) = self.dfa.start_state(self.cache, &config) else { return End::Unknown };
        for byte in text.iter().skip(at) {
            let Ok(next) = self.dfa.next_state(self.cache, state, *byte) else { return End::Unknown };
            state = next;
            if state.is_tagged() {
                if state.is_dead() {
                    return End::Dead;
                }
                if state.is_quit() {
                    return End::Unknown;
                }
                self.tell(state, &mut matched);
            }
        }
        match self.dfa.next_eoi_state(self.cache, state) {
            Ok(last) => self.tell(last, &mut matched),
            Err(_) => return End::Unknown,
        }
        End::Alive
    }

    fn tell(&self, state: LazyStateID, matched: &mut impl FnMut(usize)) {
        if state.is_match() {
            for index in 0..self.dfa.match_len(self.cache, state) {
                matched(self.dfa.match_pattern(self.cache, state, index).as_usize());
            }
        }
    }
}
