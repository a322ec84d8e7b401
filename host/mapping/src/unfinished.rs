//! Finds the suffix of a text that could become a hit: a class pattern or phrase that more text could complete.
//!
//! An automaton over all patterns runs from each of the last 1,024 bytes to the end of the text. If it does not end in
//! a dead state, more text can complete a match. A match without its `near` phrase is unfinished as long as the phrase
//! can come.

use crate::anchored::{AutomatonWalkEnd, JointPatternAutomaton};
use crate::phrase::Phrases;
use regex_syntax::hir::Hir;

/// Number of bytes at the end of a text in which an unfinished match can begin; no pattern has a longer match.
pub(crate) const REACH: usize = 1024;

/// The automaton over the patterns.
pub(crate) struct UnfinishedHitFinder {
    joint: Option<JointPatternAutomaton>,
}

impl UnfinishedHitFinder {
    pub(crate) fn new(patterns: &[Hir]) -> Result<Self, String> {
        let joint = (!patterns.is_empty()).then(|| JointPatternAutomaton::new(patterns)).transpose()?;
        Ok(Self { joint })
    }

    /// The start of the longest suffix of `text`, at most [`REACH`] bytes and not before `from`, that could become a
    /// match of a pattern or a phrase; the text's length if there is no such suffix.
    pub(crate) fn from(&self, text: &str, from: usize, phrases: &Phrases) -> usize {
        let phrase = phrases.unfinished(text, text.len().saturating_sub(REACH).max(from));
        self.of_patterns(text, from).min(phrase.unwrap_or(text.len()))
    }

    /// As [`Self::from`], for patterns only.
    pub(crate) fn of_patterns(&self, text: &str, from: usize) -> usize {
        let first = text.len().saturating_sub(REACH).max(from);
        let at = self.joint.as_ref().and_then(|joint| {
            joint.walks(|walker| {
                let mut starts = (first..text.len()).filter(|at| text.is_char_boundary(*at));
                // If the automaton gives up, the text counts as unfinished, so that it is not released.
                starts.find(|at| walker.walk(text.as_bytes(), *at, |_| {}) != AutomatonWalkEnd::Dead)
            })
        });
        at.unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::class::ClassId;
    use regex_automata::util::syntax;

    fn rest<'t>(patterns: &[&str], phrases: &[&str], text: &'t str) -> &'t str {
        let config = syntax::Config::new().unicode(false);
        let hirs: Vec<Hir> = patterns.iter().map(|p| syntax::parse_with(p, &config).unwrap()).collect();
        let class = ClassId::try_from(0).unwrap();
        let phrases: Vec<_> = phrases.iter().map(|p| ((*p).to_owned(), class, false)).collect();
        &text[UnfinishedHitFinder::new(&hirs).unwrap().from(text, 0, &Phrases::new(&phrases, "en"))..]
    }

    #[test]
    fn what_a_pattern_may_complete() {
        let card = [r"\b\d(?:[ -]?\d){11,18}\b"];
        assert_eq!(rest(&card, &[], "Pay 4111 1111 1"), "4111 1111 1");
        assert_eq!(rest(&card, &[], "Pay 4111 1111 1111 1111"), "4111 1111 1111 1111", "more digits may follow");
        assert_eq!(rest(&card, &[], "Pay 4111-"), "4111-");
        assert_eq!(rest(&card, &[], "Pay 4111."), "");
        assert_eq!(rest(&card, &[], "Pay x4111"), "", "no border of a word before it");
        assert_eq!(rest(&[r"ab{3}c"], &[], "xabb"), "abb");
        assert_eq!(rest(&[], &[], "4111"), "");
    }

    #[test]
    fn what_a_phrase_may_complete() {
        let phrases = ["you should buy", "Ana Beispiel"];
        assert_eq!(rest(&[], &phrases, "I say you shou"), "you shou");
        assert_eq!(rest(&[], &phrases, "I say You should "), "You should ");
        assert_eq!(rest(&[], &phrases, "Ask Ana"), "Ana");
        assert_eq!(rest(&[], &phrases, "Ask Banana"), "");
        assert_eq!(rest(&[], &phrases, "Ask you. shou"), "");
    }

    #[test]
    fn every_cut_of_a_match_is_held_from_its_start() {
        let card = [r"\b\d(?:[ -]?\d){11,18}\b"];
        let text = "Pay 4111 1111 1111 1111 now";
        for cut in 5..23 {
            assert_eq!(rest(&card, &[], &text[..cut]), &text[4..cut]);
        }
    }
}
