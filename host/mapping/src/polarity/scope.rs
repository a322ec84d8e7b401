//! The scopes (denial, condition, report and others) that are open at a hit.

use crate::cues::mark::{ClauseMark, mark};
use crate::cues::{CueWord, cue};

/// Greatest number of words of an aside between two commas.
const ASIDE: usize = 3;
/// Number of words within which a relative clause usually has its verb.
const RELATIVE: usize = 3;

/// The open scopes.
#[derive(Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one scope")]
pub(super) struct Scope {
    denials: u32,
    /// Whether the last denial applies only to the next noun: "without", "refuse".
    narrow: bool,
    /// Whether the next clause is part of the denied or conditional statement, after "that" or "say".
    depends: bool,
    condition: bool,
    /// Number of subjects read since the condition began.
    subjects: u32,
    reported: bool,
    asked: bool,
    planned: bool,
    /// Whether an inverted condition ("were he to") makes the whole sentence conditional.
    supposed: bool,
    /// Number of words since a relative clause about people in general began.
    relative: Option<usize>,
}

impl Scope {
    /// Reads the words before a hit in its sentence; `gap` is the text between them and the hit.
    pub(super) fn before(words: &[CueWord<'_>], gap: &str, hit: Option<&CueWord<'_>>, strict: bool) -> Self {
        let mut scope = Self::default();
        // The scope as it was at the last comma, and the place of that comma.
        let mut aside: Option<(Self, usize)> = None;
        let mut from = 0;
        for at in 0..=words.len() {
            let Some(word) = words.get(at).or(hit) else { break };
            let gap = if at == words.len() { gap } else { word.gap };
            if let Some(mark) = mark(gap) {
                let kept = scope.clone();
                scope.part(mark, gap, word);
                match aside.take().filter(|(_, comma)| mark == ClauseMark::Comma && is_aside(words, *comma, at)) {
                    Some((before, _)) => scope = before,
                    None if mark == ClauseMark::Comma => aside = Some((kept, at)),
                    None => {}
                }
                from = at;
            }
            if at < words.len() {
                let rest = words.get(at + 1..).unwrap_or_default();
                scope.read(word, words.get(from..at).unwrap_or_default(), rest.iter().chain(hit), at == 0, strict);
            }
        }
        scope
    }

    /// Handles a mark: closes the open scopes, except those that extend beyond the mark.
    fn part(&mut self, mark: ClauseMark, gap: &str, next: &CueWord<'_>) {
        let goes_on = mark == ClauseMark::Comma && next.is(cue::OR | cue::NOR);
        if !goes_on {
            let reported = mark == ClauseMark::Strong && gap.contains(':') && self.reported;
            let supposed = mark == ClauseMark::Comma && self.supposed;
            *self = Self { reported, supposed, ..Self::default() };
        }
    }

    fn read<'w, 't: 'w>(
        &mut self,
        word: &CueWord<'_>,
        before: &[CueWord<'_>],
        mut rest: impl Iterator<Item = &'w CueWord<'t>> + Clone,
        first: bool,
        strict: bool,
    ) {
        let next = rest.clone().next();
        let next_is = |cues: u64| next.is_some_and(|w| w.is(cues));
        if let Some(count) = &mut self.relative {
            // The relative clause ends at the verb of the main clause.
            self.relative = (!word.is(cue::AUXILIARY) || *count == 0).then_some(*count + 1);
        }
        if word.is(cue::CLAUSE) {
            *self = Self { supposed: self.supposed, ..Self::default() };
        }
        if word.is(cue::AND) && (!strict || rest.clone().any(|w| w.is(cue::SUBJECT | cue::AUXILIARY))) {
            (self.denials, self.reported, self.planned, self.relative) = (0, false, false, None);
        }
        if word.is(cue::SUBJECT) {
            self.subject(strict);
        }
        if word.is(cue::MEANS) && !strict && self.narrow {
            self.denials = 0;
        }
        self.deny(word, rest.clone(), strict);
        self.depends |= word.is(cue::THAT | cue::WHICH | cue::HOW);
        if word.is(cue::LEADS) && !word.is(cue::THAT) {
            self.reported |= strict && before.last().is_some_and(|w| w.is(cue::ASKING));
        }
        if word.is(cue::THAT) {
            self.reported |= strict && before.last().is_some_and(|w| w.is(cue::IDEA));
        }
        let is_relative = word.is(cue::WHICH | cue::THAT) && before.last().is_some_and(|w| w.is(cue::GENERIC));
        if is_relative || (word.is(cue::GENERIC) && next_is(cue::WHICH) && self.relative.is_none()) {
            self.relative = Some(0);
        }
        let wanted = word.is(cue::WHICH) || (strict && word.is(cue::HOW));
        if word.is(cue::CONDITION) || (word.is(cue::TIME) && next_is(cue::SUBJECT)) || (self.asked && wanted) {
            (self.condition, self.subjects) = (true, 0);
        }
        if word.is(cue::REPORT) {
            self.depends = true;
            self.condition |= before.last().is_some_and(|w| w.is(cue::MAYBE));
            let own = before.iter().rev().take(ASIDE).any(|w| w.is(cue::FIRST_PERSON));
            self.reported |= strict && !before.is_empty() && !own;
        }
        if word.is(cue::ASKING) {
            (self.asked, self.depends) = (true, true);
        }
        let will = word.is(cue::WILL) && rest.by_ref().take(ASIDE).any(|w| w.is(cue::FORMING));
        self.planned |= strict && (word.is(cue::PLAN | cue::MAYBE) || will);
        if first && word.is(cue::AUXILIARY) && !word.is(cue::DENIAL) {
            self.supposed |= strict && word.is(cue::INVERTED);
            self.condition |= next_is(cue::SUBJECT);
        }
    }

    fn deny<'w, 't: 'w>(&mut self, word: &CueWord<'_>, rest: impl Iterator<Item = &'w CueWord<'t>>, strict: bool) {
        let unreal = word.is(cue::UNREAL) && rest.take(2).any(|w| w.is(cue::LEADS));
        let ended = strict && word.is(cue::ENDING);
        if word.is(cue::NOR) {
            self.denials = 1;
        } else if word.is(cue::DENIAL | cue::DENYING) || unreal || ended {
            self.denials += 1;
        } else {
            return;
        }
        self.narrow = word.is(cue::WITHOUT | cue::DENYING);
        self.depends = unreal;
    }

    /// Handles a subject: it begins a new clause.
    fn subject(&mut self, strict: bool) {
        self.subjects += 1;
        if self.narrow && self.denials > 0 && !self.depends {
            self.denials -= 1;
        }
        if !strict && self.condition && self.subjects > 1 && !self.depends {
            self.condition = false;
        }
    }

    /// Whether an open scope means that the sentence does not assert the hit.
    pub(super) fn suspends(mut self, hit: Option<&CueWord<'_>>, strict: bool) -> bool {
        let hit_is = |cues: u64| hit.is_some_and(|w| w.is(cues));
        if hit_is(cue::SUBJECT) {
            self.subject(strict);
            // "No need to wait you should buy": the denial does not apply to the advice.
            if !strict && !self.depends {
                self.denials = 0;
            }
        }
        let relative = self.relative.is_some_and(|n| n <= RELATIVE) && !hit_is(cue::SUBJECT | cue::AUXILIARY);
        let denied = self.denials % 2 == 1;
        denied || self.condition || self.supposed || relative || self.reported || self.planned
    }
}

/// Whether the words between two commas are an aside: "however", "under any circumstances".
fn is_aside(words: &[CueWord<'_>], from: usize, to: usize) -> bool {
    to - from <= ASIDE && words.get(from).is_some_and(|w| w.is(cue::ASIDE | cue::NEVER))
}
