//! Languages: their cue tables (`languages/*.toml`), and the look-up of words in them.

use crate::abbreviation::{AbbreviationLists, Abbreviations};
use crate::cues::{Cues, PolarityLists};
use crate::source::SourceCues;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The lists of words, one bit per list.
pub(crate) mod kind {
    pub(crate) const STOP: u32 = 1 << 0;
    pub(crate) const NEGATION: u32 = 1 << 1;
    pub(crate) const QUALIFICATION: u32 = 1 << 2;
    pub(crate) const ELABORATION: u32 = 1 << 3;
    pub(crate) const TRANSITION: u32 = 1 << 4;
    pub(crate) const HEDGE: u32 = 1 << 5;
    pub(crate) const BOOSTER: u32 = 1 << 6;
    pub(crate) const CASUAL: u32 = 1 << 7;
    pub(crate) const CONNECTIVE: u32 = 1 << 8;
    pub(crate) const CLAUSE: u32 = 1 << 9;
    pub(crate) const REVISION: u32 = 1 << 10;
    pub(crate) const CONTINUATION: u32 = 1 << 11;
    pub(crate) const DEFINITE: u32 = 1 << 12;
    pub(crate) const POINTING: u32 = 1 << 13;
    pub(crate) const INDEFINITE: u32 = 1 << 14;
    pub(crate) const PRONOUN: u32 = 1 << 15;
    pub(crate) const PREPOSITION: u32 = 1 << 16;
    pub(crate) const COPULA: u32 = 1 << 17;
    pub(crate) const KNOWN: u32 = 1 << 18;
    pub(crate) const STEP: u32 = 1 << 19;
    pub(crate) const RELATION: u32 = 1 << 20;
    pub(crate) const NUMBER: u32 = 1 << 21;
    pub(crate) const MULTIPLIER: u32 = 1 << 22;
    pub(crate) const ORDINAL: u32 = 1 << 23;
    pub(crate) const MONTH: u32 = 1 << 24;
    pub(crate) const RANGE: u32 = 1 << 25;
    pub(crate) const LIGHT: u32 = 1 << 26;
    pub(crate) const NOMINATIVE: u32 = 1 << 27;
    pub(crate) const ACCUSATIVE: u32 = 1 << 28;
    pub(crate) const RELATIVE: u32 = 1 << 29;
    pub(crate) const SCOPE: u32 = 1 << 30;
    pub(crate) const QUANTIFIER: u32 = 1 << 31;
}

/// The content of a language file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CueLists {
    #[allow(dead_code, reason = "the name is for those who read the file")]
    name: String,
    decimal_comma: bool,
    stop: Vec<String>,
    negation: Vec<String>,
    qualification: Vec<String>,
    elaboration: Vec<String>,
    transition: Vec<String>,
    transition_phrases: Vec<String>,
    hedges: Vec<String>,
    boosters: Vec<String>,
    casual: Vec<String>,
    connectives: Vec<String>,
    clause: Vec<String>,
    revision: Vec<String>,
    backward: Vec<String>,
    quantity_reference: Vec<String>,
    continuation: Vec<String>,
    definite: Vec<String>,
    pointing: Vec<String>,
    indefinite: Vec<String>,
    masculine: Vec<String>,
    feminine: Vec<String>,
    neuter: Vec<String>,
    plural: Vec<String>,
    /// Singular pronouns that can only be a subject, and those that can only be an object; empty without word tables.
    #[serde(default)]
    nominative: Vec<String>,
    #[serde(default)]
    accusative: Vec<String>,
    #[serde(default)]
    relative: Vec<String>,
    /// Words that limit a statement, besides denials: conditions, exceptions, quantities, and reports of a speaker.
    scope: Vec<String>,
    /// Words that count things named earlier. A clause that begins with such a word stays with the text before it.
    quantifiers: Vec<String>,
    prepositions: Vec<String>,
    copulas: Vec<String>,
    light: Vec<String>,
    known_by_all: Vec<String>,
    suffixes: Vec<String>,
    ordinal_endings: Vec<String>,
    steps: Vec<String>,
    range_words: Vec<String>,
    relations: BTreeMap<String, String>,
    numbers: BTreeMap<String, u32>,
    multipliers: BTreeMap<String, u32>,
    ordinals: BTreeMap<String, u32>,
    months: BTreeMap<String, u32>,
    abbreviations: AbbreviationLists,
    sources: SourceCues,
    polarity: Option<PolarityLists>,
}

/// The meaning of a phrase of several words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhraseMeaning {
    /// The span refers to earlier text.
    Backward,
    /// The span refers to an earlier quantity.
    Quantity,
    /// The span changes the topic.
    Transition,
    /// The span refers to an outside source.
    Citation,
}

/// Signs of an outside source, in any language.
const CITATIONS: &[&str] = &["doi:10.", "doi.org/10.", "pmid:", "arxiv:", " et al.", " et al,"];

/// The tables of one language.
pub(crate) struct Language {
    words: WordTable,
    phrases: Option<AhoCorasick>,
    phrase_kinds: Vec<PhraseMeaning>,
    values: BTreeMap<String, u32>,
    relations: BTreeMap<String, String>,
    suffixes: Vec<String>,
    ordinal_endings: Vec<String>,
    pub(crate) decimal_comma: bool,
    pub(crate) abbreviations: Abbreviations,
    /// Phrases that make a link the support of a statement.
    pub(crate) sources: SourceCues,
    /// Words of polarity, if the language has a list of them.
    pub(crate) polarity: Option<Cues>,
}

impl PartialEq for Language {
    /// Each language exists once, so pointers can be compared.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Language {}

impl std::fmt::Debug for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Language").finish_non_exhaustive()
    }
}

/// The languages by code (ISO 639-1).
static LANGUAGES: LazyLock<BTreeMap<&'static str, Language>> = LazyLock::new(|| {
    [("en", include_str!("../languages/en.toml")), ("de", include_str!("../languages/de.toml"))]
        .into_iter()
        .filter_map(|(code, text)| Some((code, Language::new(code, toml::from_str(text).ok()?))))
        .collect()
});

/// Words and the lists of each.
struct WordTable {
    /// Keys of words in a hash table with open addressing, 0 for an empty slot. The size is a power of two, and at most
    /// half of the slots are used.
    keys: Vec<u128>,
    /// The lists of the word in each slot, as bits.
    kinds: Vec<u32>,
    /// Number of hash bits that are not used.
    shift: u32,
    /// Words of more than 16 bytes, sorted.
    long: Vec<(String, u32)>,
}

/// A word of 1 to 16 bytes as a number; numbers sort as their words do. 0 for other words. Words contain no zero bytes.
pub(crate) fn key(word: &str) -> u128 {
    let length = word.len();
    if length == 0 || length > 16 {
        return 0;
    }
    let half = |bytes: &[u8]| {
        let number = bytes.iter().fold(0u64, |key, byte| key << 8 | u64::from(*byte));
        u128::from(number) << (8 * (8 - bytes.len()))
    };
    let (head, tail) = word.as_bytes().split_at(length.min(8));
    // If the first half has fewer than eight bytes, the second half is empty.
    half(head) << 64 | half(tail)
}

impl WordTable {
    fn new(words: BTreeMap<String, u32>) -> Self {
        let bits = (2 * words.len()).next_power_of_two().trailing_zeros().max(1);
        let mut table =
            Self { keys: vec![0; 1 << bits], kinds: vec![0; 1 << bits], shift: 64 - bits, long: Vec::new() };
        for (word, kinds) in words {
            match key(&word) {
                0 => table.long.push((word, kinds)),
                key => {
                    let at = table.find(key);
                    if let (Some(slot), Some(of)) = (table.keys.get_mut(at), table.kinds.get_mut(at)) {
                        (*slot, *of) = (key, kinds);
                    }
                }
            }
        }
        table
    }

    /// The slot of a key, or the empty slot where it belongs.
    fn find(&self, key: u128) -> usize {
        // Fibonacci hashing of both halves (Knuth, volume 3, 6.4). At least half of the slots are empty, so the search
        // ends.
        let folded = (key >> 64) as u64 ^ (key as u64).rotate_left(29);
        let mut at = (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            match self.keys.get(at) {
                Some(found) if *found == key || *found == 0 => return at,
                Some(_) => at += 1,
                None => at = 0,
            }
        }
    }

    fn kinds(&self, word: &str, key: u128) -> u32 {
        if key != 0 {
            return self.kinds.get(self.find(key)).copied().unwrap_or(0);
        }
        let at = self.long.binary_search_by(|(w, _)| w.as_str().cmp(word));
        at.ok().and_then(|at| self.long.get(at)).map_or(0, |(_, kinds)| *kinds)
    }
}

impl Language {
    /// The language with this code; `None` if there is no table for it.
    pub(crate) fn of(code: &str) -> Option<&'static Self> {
        LANGUAGES.get(code)
    }

    /// Codes of all languages.
    pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
        LANGUAGES.keys().copied()
    }

    fn new(code: &str, lists: CueLists) -> Self {
        let pronouns = [lists.masculine, lists.feminine, lists.neuter, lists.plural].concat();
        let keys = |map: &BTreeMap<String, u32>| map.keys().cloned().collect::<Vec<_>>();
        let relations = lists.relations.keys().cloned().collect();
        let of_kinds: [(u32, Vec<String>); 32] = [
            (kind::STOP, lists.stop),
            (kind::NEGATION, lists.negation),
            (kind::QUALIFICATION, lists.qualification),
            (kind::ELABORATION, lists.elaboration),
            (kind::TRANSITION, lists.transition),
            (kind::HEDGE, lists.hedges),
            (kind::BOOSTER, lists.boosters),
            (kind::CASUAL, lists.casual),
            (kind::CONNECTIVE, lists.connectives),
            (kind::CLAUSE, lists.clause),
            (kind::REVISION, lists.revision),
            (kind::CONTINUATION, lists.continuation),
            (kind::DEFINITE, lists.definite),
            (kind::POINTING, lists.pointing),
            (kind::INDEFINITE, lists.indefinite),
            (kind::PRONOUN, pronouns),
            (kind::NOMINATIVE, lists.nominative),
            (kind::ACCUSATIVE, lists.accusative),
            (kind::RELATIVE, lists.relative),
            (kind::SCOPE, lists.scope),
            (kind::QUANTIFIER, lists.quantifiers),
            (kind::PREPOSITION, lists.prepositions),
            (kind::COPULA, lists.copulas),
            (kind::KNOWN, lists.known_by_all),
            (kind::LIGHT, lists.light),
            (kind::STEP, lists.steps),
            (kind::RELATION, relations),
            (kind::NUMBER, keys(&lists.numbers)),
            (kind::MULTIPLIER, keys(&lists.multipliers)),
            (kind::ORDINAL, keys(&lists.ordinals)),
            (kind::MONTH, keys(&lists.months)),
            (kind::RANGE, lists.range_words),
        ];
        let mut joined: BTreeMap<String, u32> = BTreeMap::new();
        for (kind, list) in of_kinds {
            for word in list {
                *joined.entry(word).or_default() |= kind;
            }
        }
        let citations = CITATIONS.iter().map(|c| (*c).to_owned()).collect();
        let (mut phrases, mut phrase_kinds) = (Vec::new(), Vec::new());
        for (kind, list) in [
            (PhraseMeaning::Backward, lists.backward),
            (PhraseMeaning::Quantity, lists.quantity_reference),
            (PhraseMeaning::Transition, lists.transition_phrases),
            (PhraseMeaning::Citation, citations),
        ] {
            phrase_kinds.extend(list.iter().map(|_| kind));
            phrases.extend(list);
        }
        Self {
            words: WordTable::new(joined),
            phrases: AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .kind(Some(AhoCorasickKind::DFA))
                .build(phrases)
                .ok(),
            phrase_kinds,
            values: [lists.numbers, lists.multipliers, lists.ordinals, lists.months].into_iter().flatten().collect(),
            relations: lists.relations,
            suffixes: lists.suffixes,
            ordinal_endings: lists.ordinal_endings,
            decimal_comma: lists.decimal_comma,
            abbreviations: Abbreviations::new(lists.abbreviations, code),
            sources: lists.sources,
            polarity: lists.polarity.map(|lists| Cues::new(lists, code)),
        }
    }

    /// The lists that contain a word in lower case, as bits of [`kind`].
    pub(crate) fn kinds(&self, word: &str) -> u32 {
        self.words.kinds(word, key(word))
    }

    /// As [`Self::kinds`], for a word whose [`key`] is known.
    pub(crate) fn kinds_of(&self, word: &str, key: u128) -> u32 {
        self.words.kinds(word, key)
    }

    /// The value of a number word, multiplier, ordinal or month.
    pub(crate) fn value(&self, word: &str) -> Option<u32> {
        self.values.get(word).copied()
    }

    /// The relation that a word names.
    pub(crate) fn relation(&self, word: &str) -> Option<&str> {
        self.relations.get(word).map(String::as_str)
    }

    /// A number in lower case as digits: "twelve" and "12th" give "12".
    pub(crate) fn digits(&self, word: &str) -> Option<String> {
        if self.kinds(word) & kind::NUMBER != 0 {
            return self.value(word).map(|v| v.to_string());
        }
        let number = |digits: &&str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        self.ordinal_endings.iter().find_map(|e| word.strip_suffix(e.as_str()).filter(number)).map(str::to_owned)
    }

    /// A word in lower case without its ending. Two forms of a word mostly have the same stem.
    pub(crate) fn stem<'a>(&self, word: &'a str) -> &'a str {
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("\u{2019}s")).unwrap_or(word);
        let long = |stem: &&str| stem.chars().nth(2).is_some();
        let mut stem = self.suffixes.iter().find_map(|s| word.strip_suffix(s.as_str()).filter(long)).unwrap_or(word);
        // "stopped" becomes "stop", "copies" becomes "copy".
        let mut last = stem.chars().rev();
        if let (Some(a), Some(b)) = (last.next(), last.next())
            && a == b
            && stem.chars().nth(4).is_some()
        {
            stem = stem.strip_suffix(a).unwrap_or(stem);
        }
        stem.strip_suffix(['i', 'y']).unwrap_or(stem)
    }

    /// Phrases in a text at word boundaries, with their places.
    pub(crate) fn phrases<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, PhraseMeaning)> + 'a {
        let found = self.phrases.iter().flat_map(move |automaton| automaton.find_iter(text));
        found.filter_map(move |m| {
            let kind = self.phrase_kinds.get(m.pattern().as_usize()).copied()?;
            let whole = crate::words::is_boundary(text, m.start()) && crate::words::is_boundary(text, m.end());
            (whole || kind == PhraseMeaning::Citation).then_some((m.start(), kind))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_file_is_read_and_its_lists_are_lower_case() {
        assert_eq!(Language::codes().collect::<Vec<_>>(), ["de", "en"]);
        for code in Language::codes() {
            let language = Language::of(code).unwrap();
            let short = language.words.keys.iter().filter(|key| **key != 0).map(|key| {
                let bytes = key.to_be_bytes();
                String::from_utf8(bytes.split(|b| *b == 0).next().unwrap().to_vec()).unwrap()
            });
            let words: Vec<String> = short.chain(language.words.long.iter().map(|(w, _)| w.clone())).collect();
            assert!(words.len() > 150 && 2 * words.len() <= language.words.keys.len(), "{code}");
            assert!(words.iter().all(|w| *w == w.to_lowercase() && !w.contains(' ')), "{code}");
            assert!(words.iter().all(|w| language.kinds(w) != 0) && language.kinds("") == 0, "{code}");
        }
    }

    #[test]
    fn words_phrases_and_values() {
        let en = Language::of("en").unwrap();
        assert_eq!(en.kinds("however") & !kind::LIGHT, kind::QUALIFICATION | kind::CONNECTIVE);
        assert_eq!((en.value("twenty"), en.value("may"), en.relation("weighs")), (Some(20), Some(5), Some("weight")));
        let found: Vec<_> = en.phrases("As stated above, that dose holds (doi:10.1/x).").collect();
        assert_eq!(found, [(0, PhraseMeaning::Backward), (17, PhraseMeaning::Quantity), (34, PhraseMeaning::Citation)]);
        let de = Language::of("de").unwrap();
        assert_eq!(de.kinds("nicht"), kind::NEGATION | kind::STOP);
        assert_eq!(de.phrases("Wie oben erwähnt").count(), 1);
    }
}
