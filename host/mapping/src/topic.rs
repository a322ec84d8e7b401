//! The topic of a stream: how far a sentence is from the earlier text, in integers. The distance is the share of its
//! content, weighted by rarity, that is neither in the intent nor in memory. A sentence that continues the subject has
//! a smaller distance.

use crate::language::{Language, kind};
use crate::lexicon::LanguageLexicon;
use crate::proposition::{Grammar, role};
use crate::reading::SpanReading;
use crate::words::words;
use portcullis_core::fixed::BasisPoints;
use portcullis_core::state::SemanticState;
use portcullis_core::topic::TopicState;

/// Smallest number of content words with which a sentence has a topic of its own.
const WORDS: usize = 3;
/// Weight of a new sentence in the mean distance, in tenths.
const NEW: u32 = 3;
/// Rarity of a word that the tables do not contain, and of a number: 256 times a binary logarithm.
const UNKNOWN: u32 = 2500;
const NUMBER: u32 = 1000;
/// Factors on a distance, in tenths, for a sentence that names the subject of the intent (`NAMED`), has the pronoun of
/// the person that the text is about (`CARRIED`), or refers to earlier text or addresses the reader (`LINKED`).
const NAMED: u32 = 4;
const CARRIED: u32 = 5;
const LINKED: u32 = 6;
const WHOLE: u32 = 10_000;

/// Pronouns and names of a sentence that link it to earlier text.
#[derive(Default)]
struct Links {
    masculine: u32,
    feminine: u32,
    /// Whether the sentence contains "it", "they" or "this".
    things: bool,
    /// Whether the sentence contains "you" or "we".
    reader: bool,
    named: bool,
    /// Whether the sentence begins with a name of two words that was not introduced before.
    stranger: bool,
}

/// The topic after a sentence, and the sentence's new words.
pub(crate) fn topic(
    state: &SemanticState,
    sentence: &str,
    reading: &SpanReading,
    language: &Language,
    lexicon: Option<LanguageLexicon>,
    grammar: &Grammar,
) -> (TopicState, Vec<String>) {
    let lemma = |word: &str| lexicon.and_then(|l| l.lemma(word)).map_or_else(|| word.to_owned(), str::to_owned);
    let held = &state.memory.topic_words;
    let known = |word: &str| held.contains(word) || state.intent.words.contains(word);
    let content: Vec<String> = reading.proposed.words.iter().map(|word| lemma(word)).collect();
    let before = state.bounds.topic;
    let links = Links::of(sentence, state, language, grammar);
    let weight = |word: &String| match lexicon.and_then(|l| l.rarity(word)) {
        _ if word.bytes().all(|b| b.is_ascii_digit()) => NUMBER,
        Some(rarity) => u32::from(rarity).min(UNKNOWN),
        None => UNKNOWN,
    };
    let related = |word: &str| {
        let lemmas = lexicon.map(|l| l.lemmas(word));
        let mut words = lemmas
            .iter()
            .flat_map(|l| l.iter())
            .flat_map(|l| l.synonyms().chain(l.derived().map(|(_, word)| word)).chain(l.kinds()));
        words.any(known)
    };
    let strange = |word: &String| match weight(word) {
        _ if known(word) => 0,
        weight if related(word) => weight / 2,
        weight => weight,
    };
    let sum = |weights: &dyn Fn(&String) -> u32| content.iter().map(|word| u64::from(weights(word))).sum::<u64>();
    let share = (sum(&strange) * u64::from(WHOLE)).checked_div(sum(&weight));
    let share = share.and_then(|share| u32::try_from(share).ok()).unwrap_or(WHOLE / 2);
    let distance = links.distance(share, before);
    let mean = u32::from(before.mean.get());
    let mean = if held.is_empty() || reading.transition {
        0
    } else if content.len() < WORDS {
        mean
    } else {
        (mean * (10 - NEW) + distance * NEW) / 10
    };
    let keeps = before.persons() == 0 || links.agrees(before) || links.named;
    let count = |old: u32, new: u32| if keeps { old.saturating_add(new) } else { old };
    let topic = TopicState {
        mean: u16::try_from(mean).ok().and_then(|m| BasisPoints::try_from(m).ok()).unwrap_or(BasisPoints::ONE),
        masculine: count(before.masculine, links.masculine),
        feminine: count(before.feminine, links.feminine),
    };
    (topic, content)
}

impl Links {
    fn of(sentence: &str, state: &SemanticState, language: &Language, grammar: &Grammar) -> Self {
        let mut links = Self::default();
        let mut strangers = 0;
        for (at, range) in words(sentence).enumerate() {
            let shown = sentence.get(range).unwrap_or_default();
            let word = shown.to_lowercase();
            let roles = grammar.roles(&word);
            links.masculine += u32::from(roles & role::MASCULINE != 0);
            links.feminine += u32::from(roles & role::FEMININE != 0);
            links.things |= roles & (role::NEUTER | role::PLURAL) != 0 || language.kinds(&word) & kind::POINTING != 0;
            links.reader |= roles & role::OTHER != 0;
            let intended = word.len() > 2 && state.intent.words.contains(&word);
            links.named |= intended;
            let name = shown.starts_with(char::is_uppercase) && shown.len() > 1;
            strangers += u32::from(at < 2 && name && !intended && !state.memory.topic_words.contains(&word));
        }
        links.stranger = strangers == 2;
        links
    }

    /// Whether the sentence has a masculine or feminine pronoun of a gender that is not the rarer one in the text.
    const fn agrees(&self, topic: TopicState) -> bool {
        (self.masculine > 0 && topic.masculine >= topic.feminine)
            || (self.feminine > 0 && topic.feminine >= topic.masculine)
    }

    /// Adjusts a distance by the sentence's links. In a text about a person, only the pronouns of that person count.
    fn distance(&self, distance: u32, topic: TopicState) -> u32 {
        let part = |tenths: u32| distance * tenths / 10;
        if self.named {
            part(NAMED)
        } else if self.stranger {
            WHOLE
        } else if self.agrees(topic) {
            part(CARRIED)
        } else if self.masculine + self.feminine > 0 && topic.persons() > 0 {
            WHOLE
        } else if topic.persons() > 0 {
            if self.reader { WHOLE } else { distance }
        } else if self.things || self.reader {
            part(LINKED)
        } else {
            distance
        }
    }
}
