//! Reads a span word by word: collects facts for the host's stages, and the change of memory that an admit makes.

use crate::claims::claims;
use crate::form::TextForm;
use crate::item;
use crate::language::{Language, PhraseMeaning, kind};
use crate::number::{Number, number_tokens, numbers_of};
use crate::token::{WordToken, tokens};
use crate::words::without_addresses;
use portcullis_core::mutation::{ProposedValues, RepetitionRule};
use portcullis_core::wire::Category;
use sha2::{Digest, Sha256};
use std::ops::Range;

/// Facts about a span that its descriptor does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanReading {
    /// Nouns after a demonstrative ("this trial"), each with the content words of its phrase.
    pub pointing: Vec<Vec<String>>,
    /// Nouns after a definite article, except where the phrase itself identifies the object.
    pub definite: Vec<Vec<String>>,
    /// Whether the span refers to earlier text ("as stated above").
    pub backward: bool,
    /// Whether the span refers to an earlier quantity ("that dose").
    pub quantity_reference: bool,
    /// Whether the span begins with a change of topic.
    pub transition: bool,
    /// Whether the span begins with a word that continues earlier text ("therefore").
    pub continuation: bool,
    /// Whether the span's subject is a pronoun.
    pub pronoun: bool,
    /// Whether the span refers to an outside source.
    pub cites: bool,
    /// Capitalised names.
    pub names: Vec<Range<usize>>,
    /// The change of memory that an admit makes.
    pub proposed: ProposedValues,
    pub(crate) total: usize,
    pub(crate) casual: usize,
    hedges: i32,
    boosters: i32,
    qualified: bool,
    elaborated: bool,
}

/// Certainty of a plain statement in basis points, the reduction per hedge, and the increase per booster.
const PLAIN: i32 = 7000;
const HEDGE: i32 = 2000;
const BOOST: i32 = 1500;
/// Number of words after a determiner that can belong to its noun phrase.
const PHRASE: usize = 3;
/// Number of first words by which a statement that grows is recognised.
const OPENING: usize = 4;

impl SpanReading {
    pub(crate) fn of(span: &str, language: &Language) -> Self {
        let (written, span) = (span, &*without_addresses(span));
        let mut tokens = tokens(span, language);
        let numeric = |c: char| c.is_numeric();
        let digits = if span.is_ascii() { span.bytes().any(|b| b.is_ascii_digit()) } else { span.contains(numeric) };
        let numbers = if digits { numbers_of(span, language, &tokens) } else { Vec::new() };
        number_tokens(&mut tokens, &numbers);
        let mut reading = Self { total: tokens.len(), ..Self::default() };
        let any = tokens.iter().fold(0, |kinds, token| kinds | token.kinds);
        let cues = kind::NEGATION
            | kind::QUALIFICATION
            | kind::ELABORATION
            | kind::REVISION
            | kind::HEDGE
            | kind::BOOSTER
            | kind::CASUAL;
        for token in tokens.iter().filter(|token| !token.plain || token.is(cues)) {
            reading.proposed.negated |= token.is(kind::NEGATION);
            reading.qualified |= token.is(kind::QUALIFICATION);
            reading.elaborated |= token.is(kind::ELABORATION);
            reading.proposed.revises |= token.is(kind::REVISION);
            reading.hedges += i32::from(token.is(kind::HEDGE));
            reading.boosters += i32::from(token.is(kind::BOOSTER));
            let contraction = token.word.contains('\'') && !token.word.ends_with("'s");
            reading.casual += usize::from(token.is(kind::CASUAL) || contraction);
        }
        if let Some(first) = tokens.first() {
            reading.transition = first.is(kind::TRANSITION);
            reading.continuation = first.is(kind::CONTINUATION);
        }
        reading.pronoun =
            tokens.iter().take_while(|t| t.is(kind::STOP | kind::CONNECTIVE)).any(|t| t.is(kind::PRONOUN));
        for (at, phrase) in language.phrases(written) {
            match phrase {
                PhraseMeaning::Backward => reading.backward = true,
                PhraseMeaning::Quantity => reading.quantity_reference = true,
                PhraseMeaning::Transition => reading.transition |= tokens.first().is_some_and(|t| at <= t.range.start),
                PhraseMeaning::Citation => reading.cites |= names_source(written, at),
            }
        }
        if any & (kind::POINTING | kind::DEFINITE) != 0 {
            reading.noun_phrases(&tokens);
        }
        reading.names = names(&tokens);
        reading.propose(span, &tokens, &numbers, language);
        // A claim needs a relation word or a copula, and a question does not assert anything.
        if any & (kind::RELATION | kind::COPULA) != 0 && !asks(span) {
            let (negated, names) = (reading.proposed.negated, &reading.names);
            reading.proposed.claims = claims(span, &tokens, &numbers, language, negated, names);
        }
        reading
    }

    /// Takes over what the form of the span says: what it states, and which repetitions count. `part` is the part with
    /// sentences, if that is not the whole span.
    pub(crate) fn take_form(&mut self, form: TextForm, prose: bool, part: Option<&str>, language: &Language) {
        let proposed = &mut self.proposed;
        proposed.prose = prose;
        proposed.repeats = match form {
            TextForm::Prose => RepetitionRule::Counted,
            TextForm::Item | TextForm::Verse => RepetitionRule::Consecutive,
            _ if prose => RepetitionRule::Consecutive,
            _ => RepetitionRule::Exempt,
        };
        if proposed.repeats == RepetitionRule::Exempt {
            // Numbers in labels, rows and code are something new.
            proposed.theme = proposed.fingerprint;
        }
        let Some(part) = part else { return };
        let stated = Self::of(part, language);
        (self.pointing, self.definite) = (stated.pointing, stated.definite);
        (self.backward, self.quantity_reference) = (stated.backward, stated.quantity_reference);
        (proposed.fingerprint, proposed.theme) = (stated.proposed.fingerprint, stated.proposed.theme);
        proposed.negated = stated.proposed.negated;
    }

    /// Makes the span a tool call, which equals another one only as a whole.
    pub(crate) fn repeats_as_call(&mut self, call: &str) {
        self.proposed.repeats = RepetitionRule::Call;
        self.proposed.fingerprint = fingerprint(std::iter::once(call), None);
    }

    /// The category: the first of reference, transition, negation, qualification and elaboration that has a cue,
    /// otherwise assertion.
    pub(crate) const fn category(&self) -> Category {
        if self.cites {
            Category::Reference
        } else if self.transition {
            Category::Transition
        } else if self.proposed.negated {
            Category::Negation
        } else if self.qualified {
            Category::Qualification
        } else if self.elaborated {
            Category::Elaboration
        } else {
            Category::Assertion
        }
    }

    /// Claimed certainty in basis points.
    pub(crate) fn certainty(&self) -> u16 {
        let value =
            PLAIN.saturating_sub(HEDGE.saturating_mul(self.hedges)).saturating_add(BOOST.saturating_mul(self.boosters));
        u16::try_from(value.clamp(0, 10_000)).unwrap_or(0)
    }

    fn noun_phrases(&mut self, tokens: &[WordToken<'_>]) {
        for (at, token) in tokens.iter().enumerate() {
            let list = if token.is(kind::POINTING) {
                &mut self.pointing
            } else if token.is(kind::DEFINITE) {
                &mut self.definite
            } else {
                continue;
            };
            let rest = tokens.get(at + 1..).unwrap_or_default();
            let inside = |t: &&WordToken<'_>| !t.breaks && t.is_content() && !t.is(kind::PREPOSITION | kind::COPULA);
            let phrase: Vec<&WordToken<'_>> = rest.iter().take_while(inside).take(PHRASE).collect();
            let after = rest.get(phrase.len());
            // "The capital of France", "the man who": the phrase itself identifies the object.
            let said = after.is_some_and(|t| !t.breaks && t.is(kind::PREPOSITION | kind::CLAUSE));
            let known = phrase.iter().any(|t| t.is(kind::KNOWN | kind::ORDINAL | kind::NUMBER) || t.capital);
            if !phrase.is_empty() && !said && !known {
                list.push(phrase.iter().map(|t| t.word.to_string()).collect());
            }
        }
    }

    fn propose(&mut self, span: &str, tokens: &[WordToken<'_>], numbers: &[Number], language: &Language) {
        let proposed = &mut self.proposed;
        // Keys sort in the order of their words, so most comparisons are between numbers; words without a key are
        // compared as text.
        let mut words: Vec<(u128, &str)> = Vec::with_capacity(tokens.len());
        words.extend(tokens.iter().filter(|t| t.is_content()).map(|t| (t.key, &*t.word)));
        words.sort_unstable_by_key(|(key, _)| *key);
        words.dedup_by_key(|(key, word)| if *key == 0 { Err(*word) } else { Ok(*key) });
        let keyless = words.first().is_some_and(|(key, _)| *key == 0);
        proposed.words = words.into_iter().map(|(_, word)| word.to_owned()).collect();
        if keyless {
            proposed.words.sort_unstable();
            proposed.words.dedup();
        }
        // The added mark distinguishes the fingerprints of a statement, a question and a negated question.
        let mark = asks(span).then_some(if proposed.negated { "?\n!" } else { "?" });
        let listed = item::number(span, language).map_or(0, |number| number.end);
        let label: Vec<&str> =
            tokens.iter().take_while(|t| t.range.start < listed).filter(|t| t.is_content()).map(|t| &*t.word).collect();
        let stated = |word: &&str| !label.contains(word);
        let counts = kind::NUMBER | kind::ORDINAL;
        let is_number = |word: &str| word.starts_with(char::is_numeric) || language.kinds(word) & counts != 0;
        let words = || proposed.words.iter().map(String::as_str).filter(stated);
        proposed.fingerprint = fingerprint(words(), mark);
        let counted = words().any(is_number);
        let theme = counted.then(|| fingerprint(words().filter(|word| !is_number(word)), mark));
        proposed.theme = theme.unwrap_or(proposed.fingerprint);
        let opening = || tokens.iter().take(OPENING).map(|token| &*token.word);
        proposed.opening = if tokens.len() < OPENING { 0 } else { fingerprint(opening(), None) };
        let name = |r: &Range<usize>| span.get(r.clone()).map(str::to_lowercase);
        proposed.referents = self.names.iter().filter_map(name).collect();
        proposed.ordinal = ordinal(span, tokens, numbers, language);
    }
}

/// The first 8 bytes of a SHA-256 over words; 0 without words.
fn fingerprint<'w>(words: impl Iterator<Item = &'w str>, mark: Option<&str>) -> u64 {
    let mut lines = String::new();
    for word in words {
        lines.push_str(word);
        lines.push('\n');
    }
    if lines.is_empty() {
        return 0;
    }
    lines.push_str(mark.unwrap_or_default());
    let digest: [u8; 32] = Sha256::digest(lines).into();
    digest.first_chunk().map_or(0, |b| u64::from_le_bytes(*b)).max(1)
}

/// Whether a sign of a source at `at` names one: `et al.` does so behind a name.
fn names_source(text: &str, at: usize) -> bool {
    let (before, sign) = text.split_at_checked(at).unwrap_or_default();
    let before = before.trim_end_matches(['*', '_', ',']);
    let word = before.rsplit(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '-' | '\u{2019}')).next();
    !sign.starts_with(' ') || word.is_some_and(|word| word.starts_with(char::is_uppercase))
}

/// Whether the last mark of a span makes it a question.
pub(crate) fn asks(span: &str) -> bool {
    let closing = |c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | ')' | ']' | '*' | '_' | '\u{201d}' | '\u{2019}' | '\u{bb}')
    };
    span.trim_end_matches(closing).ends_with(['?', '\u{ff1f}', '\u{61f}', '\u{37e}'])
}

/// Runs of capitalised words. A single capitalised word at the start of the span does not count.
fn names(tokens: &[WordToken<'_>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut run: Option<(usize, Range<usize>, bool)> = None;
    let mut close = |run: &mut Option<(usize, Range<usize>, bool)>| {
        if let Some((length, range, first)) = run.take()
            && (length > 1 || !first)
        {
            found.push(range);
        }
    };
    for (at, token) in tokens.iter().enumerate() {
        let part = token.capital && token.word != "i" && !token.is(kind::MONTH) && !(at == 0 && token.is(kind::STOP));
        if !part || token.breaks {
            close(&mut run);
        }
        if part {
            match &mut run {
                Some((length, range, _)) => {
                    *length += 1;
                    range.end = token.range.end;
                }
                None => run = Some((1, token.range.clone(), at == 0)),
            }
        }
    }
    close(&mut run);
    found
}

/// The number of an item at the start of a span: `First,`, `2.`, `3)`, `Step 4`.
fn ordinal(span: &str, tokens: &[WordToken<'_>], numbers: &[Number], language: &Language) -> Option<u32> {
    let first = tokens.first()?;
    let next = tokens.get(1);
    let small = |t: &WordToken<'_>| {
        let number = numbers.get(t.number?)?.value.filter(|v| v.scale == 0)?;
        u32::try_from(number.digits).ok().filter(|n| (1..=99).contains(n))
    };
    if first.is(kind::ORDINAL) && next.is_some_and(|t| t.breaks) {
        return language.value(&first.word);
    }
    if first.is(kind::STEP) {
        return next.and_then(small);
    }
    let mark = span.get(first.range.end..)?.chars().next()?;
    small(first).filter(|_| matches!(mark, '.' | ')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(span: &str) -> SpanReading {
        SpanReading::of(span, Language::of("en").unwrap())
    }

    #[test]
    fn categories_have_cues() {
        for (span, category) in [
            ("It is cold.", Category::Assertion),
            ("It is not cold.", Category::Negation),
            ("It may be cold.", Category::Qualification),
            ("It is also cold.", Category::Elaboration),
            ("Meanwhile it rained.", Category::Transition),
            ("By the way, it rained.", Category::Transition),
            ("It rained (doi:10.1/x).", Category::Reference),
        ] {
            assert_eq!(read(span).category(), category, "{span}");
        }
    }

    #[test]
    fn certainty_follows_hedges_and_boosters() {
        let of = |span: &str| read(span).certainty();
        assert_eq!((of("It rains."), of("It may rain."), of("It must rain.")), (7000, 5000, 8500));
    }

    #[test]
    fn what_is_pointed_at() {
        let phrases = |span: &str| {
            let r = read(span);
            (r.pointing.concat().join(" "), r.definite.concat().join(" "))
        };
        assert_eq!(phrases("This trial was small."), ("trial".into(), String::new()));
        assert_eq!(phrases("The trial was small."), (String::new(), "trial".into()));
        assert_eq!(phrases("The capital of France is Paris."), Default::default());
        assert_eq!(phrases("The weather was bad this year."), Default::default());
        assert!(read("As stated above, it rains.").backward);
        assert!(read("Double that dose.").quantity_reference);
        assert!(read("Therefore it rains.").continuation && !read("It rains, therefore.").continuation);
        assert!(read("But he was late.").pronoun && !read("Ana met him.").pronoun);
    }

    #[test]
    fn names_and_places_in_an_enumeration() {
        let names = |span: &str| read(span).names.into_iter().map(|r| span[r].to_owned()).collect::<Vec<_>>();
        assert_eq!(names("Ana Silva met Bo in May."), ["Ana Silva", "Bo"]);
        assert_eq!(names("Today Ana left."), ["Today Ana"]);
        assert_eq!(names("Rivers flow."), Vec::<String>::new());
        let ordinal = |span: &str| read(span).proposed.ordinal;
        assert_eq!(
            [ordinal("First, wash."), ordinal("2. Dry."), ordinal("Step 3: iron.")],
            [Some(1), Some(2), Some(3)]
        );
        assert_eq!([ordinal("First it rained."), ordinal("2 birds.")], [None, None]);
    }

    #[test]
    fn one_statement_has_one_fingerprint_whatever_its_polarity() {
        let of = |span: &str| (read(span).proposed.fingerprint, read(span).proposed.negated);
        assert_eq!(of("The drug is safe.").0, of("The drug is not safe.").0);
        assert_ne!(of("The drug is safe.").0, of("The drug is cheap.").0);
        assert_eq!(of("It is.").0, 0);
        assert!(of("The drug is not safe.").1);
    }

    #[test]
    fn a_question_asserts_nothing() {
        for span in ["Was Ana Silva born in 1950?", "Is the drug safe?\"", "Ana Silva was born in 1950, right? "] {
            assert_eq!(read(span).proposed.claims.len(), 0, "{span}");
        }
        assert!(!read("Ana Silva was born in 1950.").proposed.claims.is_empty());
        let fingerprints = ["Is the drug safe?", "Is the drug not safe?", "The drug is safe."];
        let [asked, denied, said] = fingerprints.map(|span| read(span).proposed.fingerprint);
        assert!(asked != said && asked != denied && denied != said);
    }

    #[test]
    fn german_is_data() {
        let de = Language::of("de").unwrap();
        let r = SpanReading::of("Jedoch ist es vielleicht nicht sicher.", de);
        assert_eq!((r.category(), r.certainty()), (Category::Negation, 6500));
        assert!(SpanReading::of("Deshalb regnet es.", de).continuation);
        assert_eq!(SpanReading::of("Erstens, waschen.", de).proposed.ordinal, Some(1));
    }
}
