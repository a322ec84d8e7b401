//! The words that open and close scopes, from the table `[polarity]` of a language's file.

pub(crate) mod mark;

use crate::phrase::stemmer;
use crate::words::{lower, words};
use mark::mark;
use rust_stemmers::Stemmer;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The effects of words, one bit each; `docs/explanation/mapping.md` explains each list.
pub(crate) mod cue {
    pub(crate) const DENIAL: u64 = 1 << 0;
    pub(crate) const NOR: u64 = 1 << 1;
    pub(crate) const WITHOUT: u64 = 1 << 2;
    pub(crate) const DENYING: u64 = 1 << 3;
    pub(crate) const ENDING: u64 = 1 << 4;
    pub(crate) const UNREAL: u64 = 1 << 5;
    pub(crate) const CONDITION: u64 = 1 << 6;
    pub(crate) const TIME: u64 = 1 << 7;
    pub(crate) const REPORT: u64 = 1 << 8;
    pub(crate) const ASKING: u64 = 1 << 9;
    pub(crate) const WHICH: u64 = 1 << 10;
    pub(crate) const HOW: u64 = 1 << 11;
    pub(crate) const PLAN: u64 = 1 << 12;
    pub(crate) const WILL: u64 = 1 << 13;
    pub(crate) const FORMING: u64 = 1 << 14;
    pub(crate) const GENERIC: u64 = 1 << 15;
    pub(crate) const SUBJECT: u64 = 1 << 16;
    pub(crate) const FIRST_PERSON: u64 = 1 << 17;
    pub(crate) const AUXILIARY: u64 = 1 << 18;
    pub(crate) const CLAUSE: u64 = 1 << 19;
    pub(crate) const AND: u64 = 1 << 20;
    pub(crate) const OR: u64 = 1 << 21;
    pub(crate) const MEANS: u64 = 1 << 22;
    pub(crate) const LAPSED: u64 = 1 << 23;
    pub(crate) const POSSIBLE: u64 = 1 << 24;
    pub(crate) const MENTION: u64 = 1 << 25;
    pub(crate) const IDEA: u64 = 1 << 26;
    pub(crate) const THAT: u64 = 1 << 27;
    pub(crate) const ONLY: u64 = 1 << 28;
    pub(crate) const NEVER: u64 = 1 << 29;
    pub(crate) const ASIDE: u64 = 1 << 30;
    pub(crate) const KNOWN: u64 = 1 << 31;
    pub(crate) const INVERTED: u64 = 1 << 32;
    pub(crate) const LEADS: u64 = 1 << 33;
    pub(crate) const MAYBE: u64 = 1 << 34;
}

/// The content of `[polarity]` in a language's file: words and phrases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolarityLists {
    idioms: Vec<String>,
    denials: Vec<String>,
    nor: Vec<String>,
    never: Vec<String>,
    without: Vec<String>,
    conditions: Vec<String>,
    times: Vec<String>,
    which: Vec<String>,
    how: Vec<String>,
    will: Vec<String>,
    generic: Vec<String>,
    subjects: Vec<String>,
    first_person: Vec<String>,
    auxiliaries: Vec<String>,
    clause: Vec<String>,
    and: Vec<String>,
    or: Vec<String>,
    means: Vec<String>,
    only: Vec<String>,
    that: Vec<String>,
    leads: Vec<String>,
    aside: Vec<String>,
    known: Vec<String>,
    inverted: Vec<String>,
    plans: Vec<String>,
    maybe: Vec<String>,
    /// From this list on, the lists contain stems.
    denying: Vec<String>,
    ending: Vec<String>,
    unreal: Vec<String>,
    reports: Vec<String>,
    asking: Vec<String>,
    forming: Vec<String>,
    lapsed: Vec<String>,
    possible: Vec<String>,
    mention: Vec<String>,
    ideas: Vec<String>,
}

/// A cue phrase without its first word.
struct Rest {
    words: Vec<String>,
    cues: u64,
}

/// The cues of a language.
pub(crate) struct Cues {
    /// Phrases by their first word.
    exact: BTreeMap<String, Vec<Rest>>,
    stems: BTreeMap<String, u64>,
    stemmer: Option<Stemmer>,
}

/// A word and its effects.
pub(crate) struct CueWord<'t> {
    /// The text between the previous word and this word.
    pub(crate) gap: &'t str,
    text: Cow<'t, str>,
    cues: u64,
}

impl CueWord<'_> {
    pub(crate) const fn is(&self, cues: u64) -> bool {
        self.cues & cues != 0
    }
}

impl Cues {
    pub(crate) fn new(lists: PolarityLists, language: &str) -> Self {
        let stemmer = stemmer(language);
        let mut exact: BTreeMap<String, Vec<Rest>> = BTreeMap::new();
        for (cues, list) in [
            (0, lists.idioms),
            (cue::DENIAL, lists.denials),
            (cue::DENIAL | cue::NOR, lists.nor),
            (cue::DENIAL | cue::NEVER, lists.never),
            (cue::DENIAL | cue::WITHOUT, lists.without),
            (cue::CONDITION, lists.conditions),
            (cue::TIME, lists.times),
            (cue::WHICH, lists.which),
            (cue::HOW, lists.how),
            (cue::WILL, lists.will),
            (cue::GENERIC, lists.generic),
            (cue::SUBJECT, lists.subjects),
            (cue::FIRST_PERSON, lists.first_person),
            (cue::AUXILIARY, lists.auxiliaries),
            (cue::CLAUSE, lists.clause),
            (cue::AND, lists.and),
            (cue::OR, lists.or),
            (cue::MEANS, lists.means),
            (cue::ONLY, lists.only),
            (cue::THAT, lists.that),
            (cue::LEADS, lists.leads),
            (cue::ASIDE, lists.aside),
            (cue::KNOWN, lists.known),
            (cue::AUXILIARY | cue::INVERTED, lists.inverted),
            (cue::PLAN, lists.plans),
            (cue::MAYBE, lists.maybe),
        ] {
            for phrase in list {
                let mut all = phrase.split(' ').map(str::to_owned);
                let first = all.next().unwrap_or_default();
                exact.entry(first).or_default().push(Rest { words: all.collect(), cues });
            }
        }
        let mut stems: BTreeMap<String, u64> = BTreeMap::new();
        for (cues, list) in [
            (cue::DENYING, lists.denying),
            (cue::ENDING, lists.ending),
            (cue::UNREAL, lists.unreal),
            (cue::REPORT, lists.reports),
            (cue::ASKING, lists.asking),
            (cue::FORMING, lists.forming),
            (cue::LAPSED, lists.lapsed),
            (cue::POSSIBLE, lists.possible),
            (cue::MENTION, lists.mention),
            (cue::IDEA, lists.ideas),
        ] {
            for word in list {
                *stems.entry(stem(&word, stemmer.as_ref())).or_default() |= cues;
            }
        }
        Self { exact, stems, stemmer }
    }

    /// The words of a part of a sentence with their effects. In a phrase, the first word has the effects of the phrase,
    /// and the other words have none. `is_mark`: whether a gap between two words, which ends at a place, separates
    /// them.
    pub(crate) fn words<'t>(&self, part: &'t str, is_mark: impl Fn(&str, usize) -> bool) -> Vec<CueWord<'t>> {
        let mut end = 0;
        let mut all: Vec<CueWord<'t>> = words(part)
            .map(|range| {
                let gap = part.get(end..range.start).unwrap_or_default();
                let gap = if is_mark(gap, range.start) { gap } else { " " };
                end = range.end;
                CueWord { gap, text: plain(lower(part.get(range).unwrap_or_default())), cues: 0 }
            })
            .collect();
        let mut at = 0;
        while at < all.len() {
            let (cues, length) = self.cues_at(&all, at);
            if let Some(word) = all.get_mut(at) {
                word.cues = cues;
            }
            at += length;
        }
        all
    }

    /// The effects at a word, and the number of words of the longest phrase there.
    fn cues_at(&self, all: &[CueWord<'_>], at: usize) -> (u64, usize) {
        let Some(word) = all.get(at) else { return (0, 1) };
        let rest = all.get(at + 1..).unwrap_or_default();
        let stands = |of: &&Rest| {
            of.words.len() <= rest.len()
                && of.words.iter().zip(rest).all(|(a, b)| *a == b.text && mark(b.gap).is_none())
        };
        let found: Vec<&Rest> = self.exact.get(&*word.text).into_iter().flatten().filter(stands).collect();
        let longest = found.iter().map(|of| of.words.len()).max().unwrap_or(0);
        if longest > 0 {
            let cues = found.iter().filter(|of| of.words.len() == longest).fold(0, |cues, of| cues | of.cues);
            return (cues, longest + 1);
        }
        let mut cues = found.iter().fold(0, |cues, of| cues | of.cues);
        cues |= self.stems.get(&stem(&word.text, self.stemmer.as_ref())).copied().unwrap_or(0);
        // Contracted denials such as "couldn't".
        if word.text.ends_with("n't") {
            cues |= cue::DENIAL | cue::AUXILIARY;
        }
        (cues, 1)
    }
}

/// Replaces a typographic apostrophe by an ASCII one.
fn plain(word: Cow<'_, str>) -> Cow<'_, str> {
    if word.contains('\u{2019}') { word.replace('\u{2019}', "'").into() } else { word }
}

fn stem(word: &str, stemmer: Option<&Stemmer>) -> String {
    stemmer.map_or_else(|| word.to_owned(), |stemmer| stemmer.stem(word).into_owned())
}
