//! Nouns that a sentence treats as known: "this trial", "those two conditions".

use super::grammar::role;
use super::word::{LanguageTables, PropositionWord};
use crate::language::kind;

/// Greatest number of words of a noun phrase.
const PHRASE: usize = 4;

/// The nouns that a sentence treats as known, each with its phrase. `said` is whether there is earlier text.
pub(super) fn pointing(tables: &LanguageTables, words: &[PropositionWord], said: bool) -> Vec<Vec<String>> {
    let points = |at: usize, word: &PropositionWord| {
        let first = at == 0 && (word.text == "that" || word.text == "same");
        word.is(kind::POINTING) || first
    };
    let words = without_article(words);
    let starts = words.iter().enumerate().filter(|(at, word)| points(*at, word));
    starts.filter_map(|(at, _)| phrase(tables, words.get(at + 1..)?, said)).collect()
}

/// Removes the article if the sentence begins with "the same".
fn without_article(words: &[PropositionWord]) -> &[PropositionWord] {
    match words {
        [the, rest @ ..] if the.text == "the" && rest.first().is_some_and(|w| w.text == "same") => rest,
        _ => words,
    }
}

/// The noun phrase at the start of `words`. `None` if its object is generally known ("the sun"), if the phrase itself
/// identifies the object, or if `words` does not start with a noun phrase.
fn phrase(tables: &LanguageTables, words: &[PropositionWord], said: bool) -> Option<Vec<String>> {
    let stops = role::CUT | role::RELATIVE | role::CONDITION | role::DETERMINER;
    let ends = |at: usize, w: &PropositionWord| {
        let verb = tables.mostly_verb(&w.text) && (at > 0 || tables.verb(&w.text).is_some_and(|v| v != w.text));
        (at > 0 && w.mark != ' ')
            || w.auxiliary()
            || w.leads()
            || w.adverb()
            || w.plays(stops)
            || verb
            || matches!(w.text.as_str(), "and" | "or" | "of")
    };
    let end = words.iter().enumerate().position(|(at, w)| ends(at, w)).unwrap_or(words.len()).min(PHRASE);
    let nouns: Vec<&PropositionWord> = words.iter().take(end).filter(|w| !w.number).collect();
    let after = words.get(end).filter(|w| w.mark == ' ');
    let explained = after.is_some_and(|w| w.text == "of" || w.plays(role::RELATIVE));
    let noun = nouns.iter().any(|w| tables.noun(&w.text).is_some());
    let open = |w: &&PropositionWord| w.plays(role::DEICTIC) || w.capital || (said && w.plays(role::GENERAL));
    let plain = |w: &&PropositionWord| {
        tables.noun(&w.text).is_some_and(|n| tables.grammar.roles(n) & role::GENERAL != 0 && said)
    };
    if !noun || explained || nouns.iter().any(|w| open(w) || plain(w)) {
        return None;
    }
    Some(nouns.into_iter().map(|w| w.text.clone()).collect())
}
