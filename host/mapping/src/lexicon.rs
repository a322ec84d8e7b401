//! Synonyms and antonyms, from a table made of WordNet (`languages/en/lexicon.txt`), and word frequencies
//! (`languages/en/frequencies.txt`).
//!
//! Both tables are sorted text with one line for each word. An index finds the line of a word; it is made once per
//! process, in a few milliseconds. [`LanguageLexicon::lemmas`] looks up several stems of a word, so callers that
//! compare one word with many should compute its lemmas once. `cargo xtask gen` makes the tables; `lexicon/table.rs` in
//! `xtask` describes their lines.
//!
//! Callers pass words in lower case. The tables lack words with non-ASCII letters and words without a use in WordNet.

mod table;

use std::sync::OnceLock;
use table::LexiconTable;

/// Marks before synonyms, derivations, antonyms, and the more general nouns of a noun.
const MARKS: [char; 4] = ['=', '+', '!', '@'];
/// Largest number of lemmas of one word.
const LEMMAS: usize = 12;
/// Inflectional endings, each with the ending of the lemma that replaces it (WordNet's morphy(7WN)).
const ENDINGS: &[(PartOfSpeech, &str, &str)] = &[
    (PartOfSpeech::Noun, "s", ""),
    (PartOfSpeech::Noun, "ses", "s"),
    (PartOfSpeech::Noun, "xes", "x"),
    (PartOfSpeech::Noun, "zes", "z"),
    (PartOfSpeech::Noun, "ches", "ch"),
    (PartOfSpeech::Noun, "shes", "sh"),
    (PartOfSpeech::Noun, "men", "man"),
    (PartOfSpeech::Noun, "ies", "y"),
    (PartOfSpeech::Verb, "s", ""),
    (PartOfSpeech::Verb, "ies", "y"),
    (PartOfSpeech::Verb, "es", "e"),
    (PartOfSpeech::Verb, "es", ""),
    (PartOfSpeech::Verb, "ed", "e"),
    (PartOfSpeech::Verb, "ed", ""),
    (PartOfSpeech::Verb, "ing", "e"),
    (PartOfSpeech::Verb, "ing", ""),
    (PartOfSpeech::Adjective, "er", ""),
    (PartOfSpeech::Adjective, "est", ""),
    (PartOfSpeech::Adjective, "er", "e"),
    (PartOfSpeech::Adjective, "est", "e"),
];

/// Part of speech of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartOfSpeech {
    Noun,
    Verb,
    Adjective,
    Adverb,
}

impl PartOfSpeech {
    const fn of(letter: u8) -> Option<Self> {
        match letter {
            b'n' => Some(Self::Noun),
            b'v' => Some(Self::Verb),
            b'a' => Some(Self::Adjective),
            b'r' => Some(Self::Adverb),
            _ => None,
        }
    }
}

/// The word tables of one language.
#[derive(Clone, Copy, Debug)]
pub struct LanguageLexicon {
    words: &'static LexiconTable,
    frequencies: &'static LexiconTable,
}

/// A possible lemma of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexiconLemma {
    /// The dictionary form of the word.
    pub word: &'static str,
    /// Part of speech of the lemma.
    pub part: PartOfSpeech,
    /// Frequency of the lemma as this part of speech: binary logarithm of its number of uses in tagged texts, 0 to 9.
    pub weight: u8,
    /// The relations as the table writes them.
    relations: &'static str,
}

/// The lemmas of a word, the most common one first.
#[derive(Clone, Debug)]
pub struct WordLemmas {
    list: [Option<LexiconLemma>; LEMMAS],
}

impl LanguageLexicon {
    /// The tables of a language (ISO 639-1), if it has any; only English does.
    #[must_use]
    pub fn of(language: &str) -> Option<Self> {
        static ENGLISH: OnceLock<[LexiconTable; 2]> = OnceLock::new();
        let tables = || {
            [
                LexiconTable::new(include_str!("../languages/en/lexicon.txt")),
                LexiconTable::new(include_str!("../languages/en/frequencies.txt")),
            ]
        };
        let [words, frequencies] = (language == "en").then(|| ENGLISH.get_or_init(tables))?;
        Some(Self { words, frequencies })
    }

    /// The possible lemmas of a word.
    #[must_use]
    pub fn lemmas(&self, word: &str) -> WordLemmas {
        let mut lemmas = WordLemmas { list: [None; LEMMAS] };
        let mut irregular = [false; 4];
        if let Some((word, entries)) = self.words.line(word, "") {
            for entry in entries.split(' ') {
                if let Some((part, base)) = entry.strip_prefix('>').and_then(part) {
                    irregular.iter_mut().skip(part as usize).take(1).for_each(|i| *i = true);
                    self.add(&mut lemmas, base, "", part);
                } else {
                    lemmas.add(lemma(word, entry));
                }
            }
        }
        for (part, ending, lemma) in ENDINGS {
            let regular = irregular.get(*part as usize) == Some(&false);
            // A word such as "glass" is not a plural.
            let singular = *part == PartOfSpeech::Noun && word.ends_with("ss");
            if let Some(stem) = word.strip_suffix(ending).filter(|stem| regular && !singular && stem.len() > 1) {
                self.add(&mut lemmas, stem, lemma, *part);
            }
        }
        lemmas
    }

    /// Adds the lemma `stem` + `ending` with this part of speech, if the table contains it.
    fn add(&self, lemmas: &mut WordLemmas, stem: &str, ending: &str, part: PartOfSpeech) {
        if let Some((word, entries)) = self.words.line(stem, ending) {
            let all = entries.split(' ').filter_map(|entry| lemma(word, entry));
            all.filter(|r| r.part == part).for_each(|r| lemmas.add(Some(r)));
        }
    }

    /// The most common lemma of a word.
    #[must_use]
    pub fn lemma(&self, word: &str) -> Option<&'static str> {
        self.lemmas(word).iter().next().map(|r| r.word)
    }

    /// Lemmas that are synonyms of a lemma of the word, in one of that lemma's first senses.
    pub fn synonyms(&self, word: &str) -> impl Iterator<Item = &'static str> {
        self.lemmas(word).list.into_iter().flatten().flat_map(|r| r.synonyms())
    }

    /// Lemmas with the same derivation: "purchaser" and "purchasing" for "purchased".
    pub fn related(&self, word: &str) -> impl Iterator<Item = &'static str> {
        self.lemmas(word).list.into_iter().flatten().flat_map(|r| r.derived()).map(|(_, lemma)| lemma)
    }

    /// As [`WordLemmas::mean_the_same`].
    #[must_use]
    pub fn are_synonyms(&self, a: &str, b: &str) -> bool {
        self.lemmas(a).mean_the_same(&self.lemmas(b))
    }

    /// As [`WordLemmas::are_related`].
    #[must_use]
    pub fn are_related(&self, a: &str, b: &str) -> bool {
        self.lemmas(a).are_related(&self.lemmas(b))
    }

    /// As [`WordLemmas::is_kind_of`].
    #[must_use]
    pub fn is_kind_of(&self, a: &str, b: &str) -> bool {
        self.lemmas(a).is_kind_of(&self.lemmas(b))
    }

    /// As [`WordLemmas::are_opposites`].
    #[must_use]
    pub fn are_antonyms(&self, a: &str, b: &str) -> bool {
        self.lemmas(a).are_opposites(&self.lemmas(b))
    }

    /// 256 times the binary logarithm of N / n, where N is the number of WordNet's glosses and n the number of glosses
    /// that contain the word. `None` if n is below 2.
    #[must_use]
    pub fn rarity(&self, word: &str) -> Option<u16> {
        self.frequencies.line(word, "").and_then(|(_, number)| number.parse().ok())
    }
}

impl LexiconLemma {
    /// Lemmas with the same meaning.
    pub fn synonyms(&self) -> impl Iterator<Item = &'static str> + use<> {
        list(self.relations, '=')
    }

    /// Lemmas derived from this lemma, and lemmas from which this lemma is derived.
    pub fn derived(&self) -> impl Iterator<Item = (PartOfSpeech, &'static str)> + use<> {
        list(self.relations, '+').filter_map(part)
    }

    /// More general nouns of a noun's first sense, up to three levels up.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> + use<> {
        list(self.relations, '@')
    }

    /// Lemmas with the opposite meaning.
    pub fn antonyms(&self) -> impl Iterator<Item = &'static str> + use<> {
        list(self.relations, '!')
    }
}

impl WordLemmas {
    /// The lemmas, the most common first; equally common lemmas in the order of the parts of speech.
    pub fn iter(&self) -> impl Iterator<Item = &LexiconLemma> {
        self.list.iter().flatten()
    }

    /// Whether two words share a lemma, or have lemmas that are synonyms.
    #[must_use]
    pub fn mean_the_same(&self, other: &Self) -> bool {
        let same = |a: &LexiconLemma, b: &LexiconLemma| a.word == b.word || a.synonyms().any(|s| s == b.word);
        self.any(other, |a, b| a.part == b.part && same(a, b))
    }

    /// Whether a lemma of one word is derived from a lemma of the other.
    #[must_use]
    pub fn are_related(&self, other: &Self) -> bool {
        self.any(other, |a, b| a.derived().any(|derived| derived == (b.part, b.word)))
    }

    /// Whether the first noun is a kind of the second: "puppy" of "dog", "ibuprofen" of "medicine".
    #[must_use]
    pub fn is_kind_of(&self, other: &Self) -> bool {
        let nouns = |lemmas: &'_ Self| lemmas.list.into_iter().flatten().filter(|l| l.part == PartOfSpeech::Noun);
        nouns(self).any(|a| nouns(other).any(|b| a.kinds().any(|kind| kind == b.word)))
    }

    /// Whether two words are opposites: antonyms, or an adjective with and without the prefix "un".
    #[must_use]
    pub fn are_opposites(&self, other: &Self) -> bool {
        let denied = |a: &LexiconLemma, b: &LexiconLemma| {
            a.part == PartOfSpeech::Adjective && a.word.strip_prefix("un") == Some(b.word)
        };
        self.any(other, |a, b| a.part == b.part && (a.antonyms().any(|s| s == b.word) || denied(a, b)))
    }

    /// Whether `holds` is true for a lemma of each word, in either order.
    fn any(&self, other: &Self, holds: impl Fn(&LexiconLemma, &LexiconLemma) -> bool) -> bool {
        self.iter().any(|a| other.iter().any(|b| holds(a, b) || holds(b, a)))
    }

    fn add(&mut self, lemma: Option<LexiconLemma>) {
        let Some(mut new) = lemma.filter(|new| !self.iter().any(|old| old == new)) else { return };
        for place in &mut self.list {
            match place {
                Some(old) if (old.weight, new.part) >= (new.weight, old.part) => {}
                Some(old) => std::mem::swap(old, &mut new),
                None => {
                    *place = Some(new);
                    return;
                }
            }
        }
    }
}

/// The part of speech and the word in an entry such as `v:buy`.
fn part(entry: &str) -> Option<(PartOfSpeech, &str)> {
    let (part, word) = entry.split_once(':')?;
    Some((PartOfSpeech::of(part.bytes().next()?)?, word))
}

/// The lemma in an entry such as `v6=…+…!…`.
fn lemma(word: &'static str, entry: &'static str) -> Option<LexiconLemma> {
    let (head, relations) = entry.split_at_checked(2)?;
    let [part, digit @ b'0'..=b'9'] = head.as_bytes() else { return None };
    let (part, weight) = (PartOfSpeech::of(*part)?, digit - b'0');
    Some(LexiconLemma { word, part, weight, relations })
}

/// The words after a mark, up to the next mark.
fn list(relations: &'static str, mark: char) -> impl Iterator<Item = &'static str> {
    let behind = relations.split_once(mark).map_or("", |(_, rest)| rest);
    let words = behind.split(MARKS).next().unwrap_or_default();
    words.split(',').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn english() -> LanguageLexicon {
        LanguageLexicon::of("en").unwrap()
    }

    fn is_word(word: &str) -> bool {
        word.split('-').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase()))
    }

    #[test]
    fn only_english_has_tables() {
        assert!(LanguageLexicon::of("en").is_some() && LanguageLexicon::of("de").is_none());
    }

    /// Every line can be found, and every word that a line names has a line of its own.
    #[test]
    fn the_tables_are_sorted_and_closed() {
        let lexicon = english();
        for table in [lexicon.words, lexicon.frequencies] {
            let lines: Vec<(&str, &str)> =
                table.text().lines().filter(|l| !l.starts_with('#')).map(|l| l.split_once(' ').unwrap()).collect();
            assert!(lines.len() > 30_000 && lines.is_sorted_by(|a, b| a.0 < b.0), "{}", lines.len());
            for entry in lines {
                assert!(is_word(entry.0), "{}", entry.0);
                let (word, rest) = entry;
                assert_eq!(table.line(word, ""), Some(entry));
                // A word in two parts is found, too; parts of a line that are not a word are not.
                let (stem, ending) = word.split_at(word.len() / 2);
                assert_eq!(table.line(stem, ending), Some(entry));
                assert_eq!(table.line(&format!("{word} {}", &rest[..1]), ""), None);
            }
        }
        for (word, entries) in
            lexicon.words.text().lines().filter_map(|l| l.split_once(' ')).filter(|(word, _)| *word != "#")
        {
            for entry in entries.split(' ') {
                let Some(lemma) = lemma(word, entry) else {
                    let base = entry.get(3..).unwrap();
                    assert!(entry.starts_with('>') && lexicon.words.line(base, "").is_some(), "{word} {entry}");
                    continue;
                };
                let named = lemma
                    .synonyms()
                    .chain(lemma.derived().map(|(_, l)| l))
                    .chain(lemma.antonyms())
                    .chain(lemma.kinds());
                for other in named {
                    assert!(other != word && lexicon.words.line(other, "").is_some(), "{word} {other}");
                }
            }
        }
        assert!(
            lexicon.words.text().contains("Copyright 2006 by Princeton University"),
            "the notice stands in every copy"
        );
    }

    #[test]
    fn lemmas_by_rule_and_by_exception() {
        let lexicon = english();
        let lemmas = [
            ("dogs", "dog"),
            ("studies", "study"),
            ("churches", "church"),
            ("boxes", "box"),
            ("founded", "found"),
            ("was", "be"),
            ("bought", "buy"),
            ("children", "child"),
            ("women", "woman"),
            ("glass", "glass"),
            ("planned", "plan"),
            ("loving", "love"),
            ("went", "go"),
            ("larger", "large"),
            ("quickly", "quickly"),
        ];
        for (word, lemma) in lemmas {
            assert_eq!(lexicon.lemma(word), Some(lemma), "{word}");
        }
        for word in ["", "ed", "Dogs", "größe", "#", "xqzv", "a b", "zzzz", "0"] {
            assert_eq!(lexicon.lemma(word), None, "{word:?}");
        }
        let found = lexicon.lemmas("found");
        let verbs: Vec<&str> = found.iter().filter(|r| r.part == PartOfSpeech::Verb).map(|r| r.word).collect();
        assert_eq!(verbs, ["find", "found"], "the more common lemma stands first");
    }

    #[test]
    fn synonyms_derivations_and_antonyms() {
        let lexicon = english();
        for (a, b) in
            [("started", "began"), ("purchased", "buys"), ("big", "large"), ("wedded", "married"), ("go", "went")]
        {
            assert!(lexicon.are_synonyms(a, b) && lexicon.are_synonyms(b, a), "{a} {b}");
        }
        for (a, b) in
            [("bought", "stole"), ("bought", "steal"), ("started", "got"), ("won", "stole"), ("glass", "ship")]
        {
            assert!(!lexicon.are_synonyms(a, b), "{a} {b}");
        }
        for (a, b) in [("marriage", "married"), ("founder", "founded"), ("quickly", "quick"), ("poverty", "poorness")] {
            assert!(lexicon.are_related(a, b) || lexicon.are_synonyms(a, b), "{a} {b}");
        }
        for (a, b) in [("opened", "closed"), ("sold", "bought"), ("rich", "poor"), ("alive", "dead"), ("wins", "lost")]
        {
            assert!(lexicon.are_antonyms(a, b) && lexicon.are_antonyms(b, a), "{a} {b}");
        }
        assert!(!lexicon.are_antonyms("rich", "rich") && !lexicon.are_antonyms("rich", "wealthy"));
        for (a, b) in [("puppies", "dog"), ("ibuprofen", "medicine"), ("novel", "fiction")] {
            assert!(lexicon.is_kind_of(a, b) && !lexicon.is_kind_of(b, a), "{a} {b}");
        }
        assert_eq!(lexicon.synonyms("purchase").collect::<Vec<_>>(), ["buy"]);
        assert_eq!(lexicon.related("buyers").collect::<Vec<_>>(), ["buy"]);
    }

    #[test]
    fn rare_words_are_rarer() {
        let lexicon = english();
        let rarity = |word| lexicon.rarity(word).unwrap();
        assert!(rarity("of") < rarity("water") && rarity("water") < rarity("bassoon"));
        assert_eq!([lexicon.rarity("xqzv"), lexicon.rarity("#"), lexicon.rarity("")], [None; 3]);
    }
}
