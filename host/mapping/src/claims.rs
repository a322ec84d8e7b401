//! Claims: a subject, a relation and a value, where a different value would be a contradiction. Shallow and
//! deterministic: only two sentence patterns make claims.

use crate::language::{Language, kind};
use crate::number::Number;
use crate::token::WordToken;
use portcullis_core::mutation::SpanClaim;
use std::ops::Range;

/// Number of words after the relation that are examined.
const REACH: usize = 16;
/// Greatest number of relations of a span that make claims.
const VERBS: usize = 16;

/// The claims of a span: `SUBJECT … RELATION … VALUE` with a word of the relations' table, or `The THING … is VALUE`.
pub(crate) fn claims(
    span: &str,
    tokens: &[WordToken<'_>],
    numbers: &[Number],
    language: &Language,
    negated: bool,
    names: &[Range<usize>],
) -> Vec<SpanClaim> {
    let definite = tokens.first().is_some_and(|t| t.is(kind::DEFINITE | kind::POINTING));
    let copula = tokens.iter().position(|t| t.is(kind::COPULA)).filter(|_| definite);
    let mut verbs: Vec<(usize, &str)> = Vec::new();
    // A later claim repeats the subject, and is compared with the earlier ones, so their number has a limit.
    for (at, token) in tokens.iter().enumerate().filter(|(_, t)| t.is(kind::RELATION)) {
        // A later verb has the first verb's subject if its clause has no content word before it: "and died", "he died".
        let own =
            || tokens.get(..at).unwrap_or_default().iter().rev().take_while(|t| !t.is(kind::CLAUSE | kind::CONNECTIVE));
        if verbs.len() == VERBS {
            break;
        }
        if verbs.is_empty() || !own().any(WordToken::is_content) {
            verbs.extend(language.relation(&token.word).map(|relation| (at, relation)));
        }
    }
    // With two verbs, the copula counts only if it follows the relation word, as in "the capital of France is Paris".
    // In "The trial was published in 2020" the relation word follows the copula, so the relation counts.
    if let Some(copula) = copula
        && verbs.first().is_none_or(|(at, _)| *at < copula)
    {
        verbs = vec![(copula, "is")];
    }
    let Some(subject) = verbs.first().and_then(|(at, _)| subject(tokens.get(..*at)?)) else { return Vec::new() };
    let mut found: Vec<SpanClaim> = Vec::new();
    let ends = verbs.iter().skip(1).map(|(at, _)| *at).chain([tokens.len()]);
    for ((at, relation), end) in verbs.iter().zip(ends) {
        let after = tokens.get(at + 1..end).unwrap_or_default();
        let clause = after.iter().position(|t| t.breaks && t.is(kind::CLAUSE)).unwrap_or(after.len()).min(REACH);
        let reader = Values { span, numbers, language, names, copula: *relation == "is" };
        let here = found.len();
        for (kind, value) in reader.of(after.get(..clause).unwrap_or_default()) {
            let relation = format!("{relation} {kind}");
            // Of several values of one kind, only the first belongs to the relation.
            if !found.iter().skip(here).any(|c| c.relation == relation) {
                found.push(SpanClaim { subject: subject.clone(), relation, value, negated });
            }
        }
    }
    found
}

/// The content words between the last mark and the relation, or, if there are none, the words up to the first mark.
/// Empty for a pronoun; `None` without content words and pronouns.
fn subject(before: &[WordToken<'_>]) -> Option<String> {
    let of = |tokens: &[WordToken<'_>]| -> Option<String> {
        let cues = kind::COPULA
            | kind::PREPOSITION
            | kind::HEDGE
            | kind::BOOSTER
            | kind::REVISION
            | kind::TRANSITION
            | kind::CONTINUATION
            | kind::QUALIFICATION
            | kind::ELABORATION;
        let content = |t: &&WordToken<'_>| t.is_content() && !t.is(cues);
        let words: Vec<&str> = tokens.iter().filter(content).map(|t| &*t.word).collect();
        let pronoun = || tokens.iter().any(|t| t.is(kind::PRONOUN)).then(String::new);
        if words.is_empty() { pronoun() } else { Some(words.join(" ")) }
    };
    let last = before.iter().rposition(|t| t.breaks).unwrap_or(0);
    let first = before.iter().position(|t| t.breaks).unwrap_or(before.len());
    of(before.get(last..)?).or_else(|| of(before.get(..first)?))
}

struct Values<'a> {
    span: &'a str,
    numbers: &'a [Number],
    language: &'a Language,
    names: &'a [Range<usize>],
    copula: bool,
}

impl Values<'_> {
    /// The values, each with its kind: `date`, `year`, `name`, or the unit of a number.
    fn of(&self, tokens: &[WordToken<'_>]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let Some((date, year, used)) = self.date(tokens.get(at..).unwrap_or_default()) {
                found.extend(date.map(|d| ("date".to_owned(), d)));
                found.push(("year".to_owned(), year));
                at += used;
                continue;
            }
            if let Some(number) = self.number(token) {
                // "1,500.50" is three words but one number.
                let end = token.number.and_then(|n| self.numbers.get(n)).map_or(token.range.end, |n| n.range.end);
                while tokens.get(at + 1).is_some_and(|t| t.range.start < end) {
                    at += 1;
                }
                let unit = tokens.get(at + 1).filter(|t| !t.breaks && t.is_content());
                if let Some(year) = year(&number).filter(|_| unit.is_none_or(|u| u.is(kind::PREPOSITION))) {
                    found.push(("year".to_owned(), year.to_string()));
                } else if let Some(unit) = unit {
                    found.push((unit.word.to_string(), number));
                }
            } else if let Ok(name) = self.names.binary_search_by_key(&token.range.start, |name| name.start)
                && let Some(name) = self.names.get(name)
            {
                let before = at.checked_sub(1).and_then(|b| tokens.get(b));
                let bound = if self.copula { at == 0 } else { before.is_some_and(|t| t.is(kind::PREPOSITION)) };
                if bound && let Some(name) = self.span.get(name.clone()) {
                    found.push(("name".to_owned(), name.to_lowercase()));
                }
            }
            at += 1;
        }
        found
    }

    fn number(&self, token: &WordToken<'_>) -> Option<String> {
        let value = self.numbers.get(token.number?)?.value?;
        let mut digits = value.digits;
        let mut scale = value.scale;
        while scale > 0 && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        Some(if scale == 0 { digits.to_string() } else { format!("{digits}e-{scale}") })
    }

    /// The date at the start of `tokens`: a complete date as `year-month-day`, the year, and the number of words.
    fn date(&self, tokens: &[WordToken<'_>]) -> Option<(Option<String>, String, usize)> {
        let month = |at: usize| {
            let token = tokens.get(at).filter(|t| t.is(kind::MONTH) && t.capital)?;
            self.language.value(&token.word)
        };
        let number = |at: usize| self.number(tokens.get(at)?)?.parse::<u32>().ok();
        let day = |at: usize| number(at).filter(|d| (1..=31).contains(d));
        let (month, day, year_at) = match (month(0), month(1)) {
            (Some(m), _) => match day(1) {
                Some(d) => (m, Some(d), 2),
                None => (m, None, 1),
            },
            (None, Some(m)) => (m, Some(day(0)?), 2),
            (None, None) => return None,
        };
        let year = year(&number(year_at)?.to_string())?;
        Some((day.map(|d| format!("{year}-{month}-{d}")), year.to_string(), year_at + 1))
    }
}

fn year(number: &str) -> Option<u32> {
    number.parse().ok().filter(|y| (1000..=2999).contains(y))
}

#[cfg(test)]
mod tests {
    use crate::language::Language;
    use crate::reading::SpanReading;

    fn claims(span: &str) -> Vec<String> {
        let reading = SpanReading::of(span, Language::of("en").unwrap());
        let show = |c: portcullis_core::mutation::SpanClaim| {
            let not = if c.negated { "not " } else { "" };
            format!("{} | {} | {not}{}", c.subject, c.relation, c.value)
        };
        reading.proposed.claims.into_iter().map(show).collect()
    }

    #[test]
    fn relations_and_their_values() {
        for (span, expected) in [
            (
                "Ana Silva was born on December 18, 1949, in Porto.",
                vec![
                    "ana silva | born date | 1949-12-18",
                    "ana silva | born year | 1949",
                    "ana silva | born name | porto",
                ],
            ),
            ("He died in 1990.", vec![" | died year | 1990"]),
            ("In 1949, she was born in Porto.", vec![" | born name | porto"]),
            ("The pump weighs 12 kilograms.", vec!["pump | weight kilograms | 12"]),
            ("The pump costs 1,500.50 euros.", vec!["pump | cost euros | 15005e-1"]),
            ("The capital of France is Paris.", vec!["capital france | is name | paris"]),
            ("The pump is not 12 metres high.", vec!["pump | is metres | not 12"]),
            ("The trial was published in 2020.", vec!["trial | published year | 2020"]),
            ("Ana was born in 1950 and died in 1940.", vec!["ana | born year | 1950", "ana | died year | 1940"]),
            ("Ana was born in 1950 and his brother died in 1940.", vec!["ana | born year | 1950"]),
            ("She sings.", vec![]),
            ("Born in Porto.", vec![]),
        ] {
            assert_eq!(claims(span), expected, "{span}");
        }
    }
}
