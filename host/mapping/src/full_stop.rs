//! Full stops that end no sentence: after an abbreviation, the initial of a name, or an ordinal number in figures.
//!
//! UAX #29 ends a sentence after `Dr. ` before a capital letter. A reader does not. The abbreviations are data, by
//! language; what follows the full stop decides about those that can also stand at the end of a sentence.

use crate::abbreviation::{AbbreviationUse, Abbreviations};
use crate::language::{Language, kind};
use crate::lexicon::{PartOfSpeech, WordLemmas};

/// Longest abbreviation, and the part of the next word that is read, in bytes.
const LONGEST: usize = 24;
/// Digits of an ordinal number: days, items, centuries.
const ORDINAL: usize = 2;
/// Words that begin a sentence rather than continue a name.
const STARTERS: u32 = kind::STOP
    | kind::NEGATION
    | kind::PRONOUN
    | kind::DEFINITE
    | kind::POINTING
    | kind::INDEFINITE
    | kind::CONNECTIVE
    | kind::CLAUSE
    | kind::CONTINUATION
    | kind::TRANSITION
    | kind::REVISION
    | kind::HEDGE;

/// What a full stop does to its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FullStop {
    Ends,
    /// The sentence continues after the full stop.
    Continues,
    /// The sentence is read on, but a new one could begin here: `Inc. Bank on it`, `Inc. Bonn is far`, `p.m. 5 ways`.
    Doubtful,
    /// More text decides.
    Undecided,
}

/// What the full stop does that stands before the white space before `end`, which can be one line break. Its sentence
/// begins at `start`, or earlier.
/// A word at the end of the text is complete only if `is_complete` is set.
pub(crate) fn full_stop(text: &str, start: usize, end: usize, is_complete: bool, language: &Language) -> FullStop {
    let before = text.get(start..end).unwrap_or_default();
    let body = before.trim_end_matches([' ', '\t', '\u{a0}', '\u{202f}', '\n', '\r']);
    let Some(stem) = body.strip_suffix('.').filter(|_| body.len() < before.len()) else { return FullStop::Ends };
    let Some(word) = last_token(stem) else { return FullStop::Ends };
    let earlier = stem.get(..stem.len() - word.len()).unwrap_or_default();
    let abbreviations = &language.abbreviations;
    // `z. B.`: the parts of an abbreviation, with a space between them.
    let joined = |a: &str, b: &str| abbreviations.use_of(&[a, ".", b].concat());
    let parted = || {
        let part = last_token(earlier.trim_end().strip_suffix('.')?)?;
        is_letter(part).then(|| joined(part, word)).flatten()
    };
    // The first word of a line is the number of an item rather than an initial or a day.
    let is_short = || is_initials(word) || (abbreviations.ordinals && is_ordinal(word));
    let is_name = || is_short() && earlier.contains(char::is_alphanumeric);
    let of = match abbreviations.use_of(word).or_else(parted) {
        Some(AbbreviationUse::Unit) if !is_after_number(earlier, language) => None,
        None if is_name() => Some(AbbreviationUse::Either),
        of => of,
    };
    // Most sentences end without a look at the next one.
    if of.is_none() && !is_letter(word) {
        return FullStop::Ends;
    }
    let next = NextWord::of(text.get(end..).unwrap_or_default().trim_start_matches([' ', '\t', '>']), is_complete);
    let Some(next) = next else { return if is_complete { FullStop::Ends } else { FullStop::Undecided } };
    if is_letter(word) && joined(word, next.word).is_some() {
        return if next.stopped { FullStop::Continues } else { FullStop::Ends };
    }
    match of {
        None => FullStop::Ends,
        // `S. 5` is a page, `S. Roe` a person.
        Some(AbbreviationUse::Number) if is_initials(word) && !next.is_number() => {
            next.after(AbbreviationUse::Either, language)
        }
        Some(of) => next.after(of, language),
    }
}

/// Whether a gap between two words separates them: not if it is the full stop of an abbreviation. `next`: where the gap
/// ends.
pub(crate) fn is_mark(text: &str, gap: &str, next: usize, language: &Language) -> bool {
    gap != ". " || full_stop(text, 0, next, true, language) != FullStop::Continues
}

/// The letters, digits and full stops at the end of a text; `None` if there are none, or more than an abbreviation has.
fn last_token(text: &str) -> Option<&str> {
    let rest = text.trim_end_matches(|c: char| c.is_alphanumeric() || c == '.');
    text.get(rest.len()..).filter(|word| !word.is_empty() && word.len() <= LONGEST)
}

fn is_letter(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
}

/// One or more capital letters, each alone: `J`, `J.R`.
fn is_initials(word: &str) -> bool {
    word.split('.').all(|part| is_letter(part) && part.chars().all(char::is_uppercase))
}

fn is_ordinal(word: &str) -> bool {
    let figures = word.len() <= ORDINAL && word.bytes().all(|b| b.is_ascii_digit());
    figures || is_roman(word)
}

fn is_roman(word: &str) -> bool {
    word.len() <= 5 && word.bytes().all(|b| matches!(b, b'I' | b'V' | b'X' | b'L' | b'C'))
}

/// Whether a number, in figures or as a word, stands directly before.
fn is_after_number(earlier: &str, language: &Language) -> bool {
    let before = earlier.trim_end_matches([' ', '\u{a0}', '-']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    word.ends_with(|c: char| c.is_numeric()) || language.kinds(&word.to_lowercase()) & kind::NUMBER != 0
}

/// The text after a full stop, behind opening marks.
struct NextWord<'t> {
    word: &'t str,
    behind: &'t str,
    is_complete: bool,
    /// Whether a full stop follows the word.
    stopped: bool,
}

/// The word at the start of a text, and the text after it; `None` if more text could lengthen the word.
fn first_word(text: &str, is_complete: bool) -> Option<(&str, &str)> {
    let length = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let certain = is_complete || length < text.len() || length > LONGEST;
    certain.then(|| text.split_at(text.floor_char_boundary(length.min(LONGEST))))
}

impl<'t> NextWord<'t> {
    /// `None` if the text ends before the word's end is certain.
    fn of(after: &'t str, is_complete: bool) -> Option<Self> {
        let opens = |c: char| matches!(c, '"' | '\'' | '(' | '[' | '*' | '_' | '\u{201c}' | '\u{201e}' | '\u{ab}');
        let (word, behind) = first_word(after.trim_start_matches(opens), is_complete)?;
        Some(Self { word, behind, is_complete, stopped: behind.starts_with('.') })
    }

    fn is_number(&self) -> bool {
        self.word.starts_with(|c: char| c.is_numeric())
    }

    fn after(&self, of: AbbreviationUse, language: &Language) -> FullStop {
        let kinds = language.kinds(&self.word.to_lowercase());
        match of {
            _ if self.word.is_empty() => FullStop::Ends,
            AbbreviationUse::Word if kinds & STARTERS != 0 || self.is_verb(&language.abbreviations) => {
                FullStop::Doubtful
            }
            AbbreviationUse::Word => FullStop::Continues,
            AbbreviationUse::Number => {
                let is_place = is_letter(self.word) || is_roman(self.word) || kinds & kind::NUMBER != 0;
                if is_place || self.word.contains(|c: char| c.is_numeric()) {
                    FullStop::Doubtful
                } else {
                    FullStop::Ends
                }
            }
            AbbreviationUse::Unit | AbbreviationUse::Either if self.is_number() => FullStop::Doubtful,
            AbbreviationUse::Unit | AbbreviationUse::Either if kinds & STARTERS != 0 => FullStop::Ends,
            AbbreviationUse::Unit | AbbreviationUse::Either => self.goes_on(&language.abbreviations),
        }
    }

    /// Whether the word is mostly a verb.
    fn is_verb(&self, language: &Abbreviations) -> bool {
        let lemmas = language.lexicon.map(|lexicon| lexicon.lemmas(&self.word.to_lowercase()));
        lemmas.iter().flat_map(WordLemmas::iter).next().is_some_and(|lemma| lemma.part == PartOfSpeech::Verb)
    }

    /// Whether the word goes on with the sentence. A name does: a word that the lexicon lacks, or two words with
    /// capital letters. A word that is mostly a verb begins a sentence.
    fn goes_on(&self, language: &Abbreviations) -> FullStop {
        let Some((second, _)) = first_word(self.behind.trim_start_matches(' '), self.is_complete) else {
            return FullStop::Undecided;
        };
        let parts = |word: &str| {
            let lemmas = language.lexicon.map(|lexicon| lexicon.lemmas(&word.to_lowercase()));
            lemmas.iter().flat_map(WordLemmas::iter).map(|lemma| lemma.part).collect::<Vec<_>>()
        };
        let (first, is_subject) = (parts(self.word), language.auxiliaries.iter().any(|word| word == second));
        let is_name = second.starts_with(char::is_uppercase) && !parts(second).contains(&PartOfSpeech::Verb);
        if first.first() == Some(&PartOfSpeech::Verb) {
            FullStop::Ends
        } else if is_subject || first.contains(&PartOfSpeech::Verb) || !(first.is_empty() || is_name) {
            FullStop::Doubtful
        } else {
            FullStop::Continues
        }
    }
}
