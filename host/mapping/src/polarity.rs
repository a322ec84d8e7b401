//! Polarity: whether a sentence asserts the content of a hit.
//!
//! The words of the sentence before the hit are read one by one, then the words of its clause after the hit. Words that
//! deny, ask, suppose, report or plan open a scope; marks and clause words close it. Two denials cancel each other. If
//! a hit is in doubt, [`HitPolarity::Undenied`] counts the hit and [`HitPolarity::Affirmed`] does not: each choice
//! releases less text.

mod scope;

use crate::cues::mark::{ClauseMark, mark};
use crate::cues::{CueWord, Cues, cue};
use crate::form::form;
use crate::full_stop::is_mark;
use crate::language::Language;
use crate::sentence;
use crate::view::MatchingView;
use portcullis_core::manifest::HitPolarity;
use scope::Scope;
use std::ops::Range;

/// Number of bytes before and after a hit that are read.
const REACH: usize = 512;
/// Number of words after a hit among which its predicate must begin.
const PREDICATE: usize = 8;
/// Number of words of a question tag: "isn't it".
const TAG: usize = 3;

/// A sentence around a hit.
pub(crate) struct Around<'t> {
    before: &'t str,
    hit: &'t str,
    after: &'t str,
    /// Whether the sentence continues outside the bytes that are read; words outside could deny the hit.
    cut: bool,
    /// Whether the text around the hit has a form that can open a gate or deny a phrase.
    asserts: bool,
}

impl<'t> Around<'t> {
    /// The sentence around a hit in a text, or in a view of a text.
    pub(crate) fn new(
        text: &'t str,
        view: Option<(&'t MatchingView, &str)>,
        hit: &Range<usize>,
        language: &Language,
    ) -> Self {
        let (written, place) = view.map_or((text, hit.clone()), |(view, written)| (written, view.origin(hit)));
        let (written_end, goes_on) = sentence::end_of(written, &place, REACH, language);
        let end = view.map_or(written_end, |(view, _)| view.shown_until(written_end));
        let reach = written.floor_char_boundary(place.start.saturating_sub(REACH))..place.start;
        let (written_start, _) = sentence::last_start(written, &reach, language);
        let (form, prose) = form(written, 0, &(written_start..written_end), language);
        let near = end.clamp(hit.end, hit.end + REACH);
        let from = text.floor_char_boundary(hit.start.saturating_sub(REACH));
        let (start, is_doubtful) = sentence::last_start(text, &(from..hit.start), language);
        let border = view.and_then(|(view, _)| view.last_border(&(start..hit.start)));
        let begun_earlier = from > 0 && start == from && border.is_none();
        Self {
            before: text.get(border.unwrap_or(start)..hit.start).unwrap_or_default(),
            hit: text.get(hit.clone()).unwrap_or_default(),
            after: text.get(hit.end..text.floor_char_boundary(near)).unwrap_or_default(),
            cut: begun_earlier || is_doubtful || goes_on || near < end,
            asserts: prose.is_some() || form.asserts(),
        }
    }
}

/// Whether a hit counts under this polarity.
pub(crate) fn counts(polarity: HitPolarity, around: &Around<'_>, cues: &Cues, language: &Language) -> bool {
    let strict = match polarity {
        HitPolarity::Any => return true,
        HitPolarity::Affirmed => true,
        HitPolarity::Undenied => false,
    };
    if !around.asserts {
        return !strict;
    }
    let words = |part| cues.words(part, |gap, next| is_mark(part, gap, next, language));
    let (before, hit, after) = (words(around.before), words(around.hit), words(around.after));
    let words = around.before.trim_end_matches(|c: char| !c.is_alphanumeric());
    let gap = around.before.get(words.len()..).unwrap_or_default();
    let suspended = (strict && around.cut)
        || Scope::before(&before, gap, hit.first(), strict).suspends(hit.first(), strict)
        || is_asked(around, &before, &hit, &after, strict)
        || is_taken_back(&before, &hit, &after, strict)
        || (strict && is_mentioned(around, &before));
    !suspended
}

/// Whether the hit is inside a question.
fn is_asked(
    around: &Around<'_>,
    before: &[CueWord<'_>],
    hit: &[CueWord<'_>],
    after: &[CueWord<'_>],
    strict: bool,
) -> bool {
    let mut sentence = before.iter().chain(hit).chain(after);
    let (first, second) = (sentence.next(), sentence.next());
    let begins = first.is_some_and(|w| w.is(cue::AUXILIARY | cue::WHICH | cue::HOW));
    if !is_question(around.after) {
        let inverted = first.is_some_and(|w| w.is(cue::AUXILIARY)) && second.is_some_and(|w| w.is(cue::SUBJECT));
        return strict && inverted && !around.before.contains(',');
    }
    // "You cannot lose, so why wait?": only the part after the last mark is a question.
    let Some(at) = after.iter().rposition(|w| mark(w.gap).is_some()) else {
        let known = before.first().is_some_and(|w| w.is(cue::KNOWN));
        return strict || !known;
    };
    let tail = after.get(at..).unwrap_or_default();
    let strong = tail.first().is_some_and(|w| mark(w.gap) == Some(ClauseMark::Strong));
    let asks = |w: &CueWord<'_>| w.is(cue::AUXILIARY | cue::WHICH | cue::HOW);
    let parted = tail.iter().take(2).any(asks) && !begins;
    if tail.len() <= TAG && !strong { strict || (begins && !parted) } else { !parted && (begins || !strong) }
}

/// Whether a part of a text ends as a question.
fn is_question(text: &str) -> bool {
    let closing =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | ']' | '*' | '_' | '\u{201d}' | '\u{2019}');
    text.trim_end_matches(closing).ends_with(['?', '\u{ff1f}'])
}

/// Whether the predicate after the hit denies the hit: "does not exist", "have expired".
fn is_taken_back(before: &[CueWord<'_>], hit: &[CueWord<'_>], after: &[CueWord<'_>], strict: bool) -> bool {
    let ends = |w: &&CueWord<'_>| mark(w.gap).is_some() || w.is(cue::CLAUSE | cue::AND | cue::CONDITION | cue::TIME);
    let own: Vec<&CueWord<'_>> = after.iter().take_while(|w| !ends(w)).take(2 * PREDICATE).collect();
    if strict && own.first().is_some_and(|w| w.is(cue::ONLY)) {
        return true;
    }
    // "Under the clauses data is not sold": the hit follows a preposition, so it is not the subject.
    let prepositional = before.iter().rev().take(TAG).any(|w| w.is(cue::MEANS));
    let Some(at) = own.iter().take(PREDICATE).position(|w| w.is(cue::AUXILIARY | cue::NEVER)) else { return false };
    let asked = own.iter().take(at).any(|w| w.is(cue::WHICH | cue::HOW | cue::THAT | cue::SUBJECT));
    if prepositional || asked {
        return false;
    }
    let predicate = own.get(at..own.len().min(at + 5)).unwrap_or_default();
    let denials = predicate.iter().filter(|w| w.is(cue::DENIAL)).count();
    if !strict {
        // The predicate counts only for noun phrases: a clause such as "You cannot lose" has its own predicate.
        let thing = !hit.iter().any(|w| w.is(cue::AUXILIARY));
        let possible = predicate.iter().any(|w| w.is(cue::POSSIBLE)) && denials % 2 == 1;
        let claimed = before.iter().any(|w| w.is(cue::IDEA));
        return (thing || claimed) && (possible || predicate.iter().any(|w| w.is(cue::UNREAL)) && denials % 2 == 0);
    }
    let lapsed = predicate.iter().any(|w| w.is(cue::LAPSED | cue::UNREAL));
    let later = predicate.first().is_some_and(|w| w.is(cue::WILL)) && predicate.iter().any(|w| w.is(cue::FORMING));
    (denials + usize::from(lapsed)) % 2 == 1 || later
}

/// Whether the sentence only quotes or names the words of the hit.
fn is_mentioned(around: &Around<'_>, before: &[CueWord<'_>]) -> bool {
    let count = |c: char| around.before.matches(c).count();
    let quoted = count('"') % 2 == 1 || count('\u{201c}') > count('\u{201d}');
    quoted || before.last().is_some_and(|w| w.is(cue::MENTION))
}

#[cfg(test)]
mod tests;
