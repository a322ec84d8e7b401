//! The nouns that the words of a stream introduce.

use crate::lexicon::{LanguageLexicon, PartOfSpeech};
use std::collections::BTreeSet;

/// The words of a stream, so that a noun is looked up in time that does not grow with their number. A word introduces
/// the nouns that have a lemma of it, that are its synonyms or derivations, and of which it names a kind.
#[derive(Clone, Debug, Default)]
pub struct IntroducedWords {
    /// The lemmas of the words.
    said: BTreeSet<(PartOfSpeech, &'static str)>,
    /// The synonyms and derivations of these lemmas, and the nouns of which they are kinds.
    named: BTreeSet<(PartOfSpeech, &'static str)>,
    has_number: bool,
}

impl IntroducedWords {
    /// Whether one of the words is a number.
    #[must_use]
    pub const fn has_number(&self) -> bool {
        self.has_number
    }

    pub(crate) const fn add_number(&mut self) {
        self.has_number = true;
    }

    pub(crate) fn add(&mut self, lexicon: LanguageLexicon, word: &str) {
        for lemma in lexicon.lemmas(word).iter() {
            // Another word may have had the same lemma.
            if !self.said.insert((lemma.part, lemma.word)) {
                continue;
            }
            self.named.extend(lemma.synonyms().map(|synonym| (lemma.part, synonym)));
            self.named.extend(lemma.derived());
            if lemma.part == PartOfSpeech::Noun {
                self.named.extend(lemma.kinds().map(|kind| (PartOfSpeech::Noun, kind)));
            }
        }
    }

    /// Whether the words introduce the noun. A noun without a lemma is introduced by no word.
    pub(crate) fn introduces(&self, lexicon: LanguageLexicon, noun: &str) -> bool {
        lexicon.lemmas(noun).iter().any(|lemma| {
            let own = (lemma.part, lemma.word);
            self.said.contains(&own)
                || self.named.contains(&own)
                || lemma.synonyms().any(|synonym| self.said.contains(&(lemma.part, synonym)))
                || lemma.derived().any(|derived| self.said.contains(&derived))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::IntroducedWords;
    use crate::lexicon::LanguageLexicon;

    /// The words of the index introduce what one of them alone introduces, as the lemmas compare two words.
    #[test]
    fn a_noun_is_introduced_as_one_of_the_words_introduces_it() {
        let lexicon = LanguageLexicon::of("en").unwrap();
        let table = include_str!("../../languages/en/lexicon.txt");
        let all: Vec<&str> = table.lines().filter_map(|line| line.split([' ', '\t']).next()).collect();
        let some: Vec<&str> = all.iter().step_by(all.len() / 600).copied().chain(FAMILIES).collect();
        let (mut found, mut pairs) = (0, 0);
        for word in &some {
            let mut introduced = IntroducedWords::default();
            introduced.add(lexicon, word);
            for noun in &some {
                let (word, noun_lemmas) = (lexicon.lemmas(word), lexicon.lemmas(noun));
                let expected =
                    word.mean_the_same(&noun_lemmas) || word.are_related(&noun_lemmas) || word.is_kind_of(&noun_lemmas);
                assert_eq!(introduced.introduces(lexicon, noun), expected, "{noun}");
                (found, pairs) = (found + usize::from(expected), pairs + 1);
            }
        }
        assert!(found > some.len() && pairs > 300_000, "{found} of {pairs}");
        let mut introduced = IntroducedWords::default();
        ["ship", "walked", "puppy"].iter().for_each(|word| introduced.add(lexicon, word));
        for (noun, expected) in [("ships", true), ("walk", true), ("dog", true), ("animal", true), ("tower", false)] {
            assert_eq!(introduced.introduces(lexicon, noun), expected, "{noun}");
        }
    }

    const FAMILIES: [&str; 28] = [
        "dog",
        "puppy",
        "animal",
        "medicine",
        "ibuprofen",
        "drug",
        "decide",
        "decision",
        "decided",
        "quick",
        "quickly",
        "car",
        "automobile",
        "vehicle",
        "treatment",
        "treat",
        "patient",
        "trial",
        "study",
        "studies",
        "children",
        "child",
        "run",
        "runner",
        "running",
        "large",
        "larger",
        "big",
    ];
}
