//! A small engine that generates nonsense text for runs without a network: word n-grams of a given text, sampled with
//! integer arithmetic.

use super::{CandidateEngine, EngineError, EngineProposal, EngineView};
use crate::candidate::AnswerCandidate;
use std::collections::BTreeMap;

/// Largest number of words of a proposal.
const WORDS_MAX: usize = 40;

/// An n-gram model with back-off to shorter contexts. Equal text, seed and view give equal proposals.
#[derive(Clone, Debug)]
pub struct NgramEngine {
    /// For each context, the next words with their counts; shorter contexts are included.
    next: BTreeMap<Vec<String>, BTreeMap<String, u64>>,
    order: usize,
    seed: u64,
    /// Number of admitted bytes after which the engine ends its text.
    enough: usize,
}

impl NgramEngine {
    /// Counts the words of a text in contexts of up to `order - 1` words. Errors: fewer than `order` words.
    pub fn new(text: &str, order: usize, seed: u64, enough: usize) -> Result<Self, EngineError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if order == 0 || words.len() < order {
            return Err(EngineError::Gone(format!("a text of {} words gives no {order}-grams", words.len())));
        }
        let mut next: BTreeMap<Vec<String>, BTreeMap<String, u64>> = BTreeMap::new();
        for (at, word) in words.iter().enumerate() {
            for length in 0..order.min(at + 1) {
                let context = words.get(at - length..at).unwrap_or_default().iter().map(|w| (*w).to_owned()).collect();
                *next.entry(context).or_default().entry((*word).to_owned()).or_default() += 1;
            }
        }
        Ok(Self { next, order, seed, enough })
    }

    fn sample(&self, said: &[String], random: u64) -> Option<&str> {
        let longest = said.len().min(self.order - 1);
        let counts = (0..=longest).rev().find_map(|n| self.next.get(said.get(said.len() - n..)?))?;
        let total: u64 = counts.values().sum();
        let mut left = random.checked_rem(total)?;
        counts.iter().find_map(|(word, count)| {
            if left < *count {
                return Some(word.as_str());
            }
            left -= count;
            None
        })
    }
}

/// The mixing function of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl CandidateEngine for NgramEngine {
    fn name(&self) -> String {
        format!("{}-gram", self.order)
    }

    fn propose(&mut self, view: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
        if view.admitted.len() >= self.enough {
            return Ok(EngineProposal::End);
        }
        let mut said: Vec<String> = view.admitted.split_whitespace().map(str::to_owned).collect();
        let from = said.len();
        let mut state = mix(self.seed ^ mix(view.admitted.len() as u64) ^ mix(u64::from(attempt) << 32));
        while said.len() - from < WORDS_MAX {
            state = mix(state);
            let Some(word) = self.sample(&said, state).map(str::to_owned) else { break };
            let ends = word.ends_with(['.', '!', '?']);
            said.push(word);
            if ends {
                break;
            }
        }
        let words = said.split_off(from).join(" ");
        let text = if from == 0 { words } else { format!(" {words}") };
        Ok(EngineProposal::Candidate(AnswerCandidate { text, logprobs: None, logprobs_absent: None, call: None }))
    }

    // The view contains everything that the engine needs.
    fn advance(&mut self, _admitted: &str) {}

    fn roll_back(&mut self, _steps: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_follow_the_text_and_the_seed() {
        let text = "The cat sat. The dog ran. The cat ran away. A dog sat down.";
        let mut engine = NgramEngine::new(text, 3, 7, 200).unwrap();
        let view = |admitted| EngineView { intent: "", facts: &[], admitted };
        let first = engine.propose(&view(""), 0);
        assert_eq!(first, engine.propose(&view(""), 0));
        let all: Vec<_> = (0..20).map(|a| engine.propose(&view("The"), a).unwrap()).collect();
        assert!(all.iter().any(|p| *p != all[0]), "another attempt is another seed");
        for proposal in &all {
            let EngineProposal::Candidate(c) = proposal else { panic!("{proposal:?}") };
            assert!(c.text.starts_with(" cat") || c.text.starts_with(" dog"), "{}", c.text);
        }
        assert_eq!(engine.propose(&view(&"x".repeat(200)), 0), Ok(EngineProposal::End));
        assert!(NgramEngine::new("one", 3, 0, 1).is_err());
    }
}
