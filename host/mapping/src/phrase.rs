//! Finds phrases of several words with any separators between them, and phrases in other word forms.
//!
//! Up to three spaces, dashes, slashes, underscores, quotation marks and round brackets may separate two words of a
//! phrase: "attorney client privilege" also matches "attorney-client privilege". In a class with `inflect`, a phrase
//! matches all words with the same stems (Snowball).
//!
//! In a phrase, `[words]` stands for up to three words. `[code]` stands for a code: characters without spaces, at least
//! one of them a digit, optionally after a mark such as a colon.

use crate::words::{find, is_boundary};
use portcullis_core::class::ClassId;
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::ops::Range;

/// Greatest number of separator characters between two words.
pub(crate) const GAP: usize = 3;
/// Separator characters between two words.
pub(crate) const JOINTS: [char; 12] =
    [' ', '-', '/', '_', '"', '\'', '(', ')', '\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}'];
/// Characters between a word and a code.
pub(crate) const CODE_JOINTS: [char; 8] = [' ', ':', '.', '#', '\u{2116}', '-', '"', '='];

/// Most characters between a word and a code, and also the greatest length of a code in bytes.
pub(crate) const CODE_GAP: usize = 4;
const CODE: usize = 64;
/// Largest factor by which lower case can shorten a text: the Kelvin sign has three bytes, the letter k has one.
const SHRINKS: usize = 3;
/// Greatest number of words for which `[words]` stands.
pub(crate) const SLOT: usize = 3;

/// A part of a phrase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PhrasePart {
    /// A word in lower case, or its stem.
    Word(String),
    Words,
    Code,
}

struct VocabularyPhrase {
    /// The first part is always a word.
    parts: Vec<PhrasePart>,
    class: ClassId,
    stems: bool,
}

impl VocabularyPhrase {
    fn first(&self) -> &str {
        match self.parts.first() {
            Some(PhrasePart::Word(word)) => word,
            _ => "",
        }
    }
}

/// The result of following a phrase through a text.
#[derive(Clone, Copy, Default)]
struct Reach {
    /// The end of the match, if there is one.
    end: Option<usize>,
    /// Whether more text could change the end.
    open: bool,
}

/// Phrases, indexed by their first word.
pub(crate) struct Phrases {
    /// Sorted by first word.
    exact: Vec<VocabularyPhrase>,
    inflected: Vec<VocabularyPhrase>,
    /// Phrases that match only as written: single words, and phrases that contain other marks than separators.
    single: Vec<String>,
    /// Length in bytes of the longest phrase in `single`.
    longest: usize,
    /// For each byte, whether a phrase begins with it in either case. Then: the phrases' first two bytes in lower case.
    first: [bool; 256],
    begins: Vec<bool>,
    stemmer: Option<Stemmer>,
}

impl Phrases {
    /// Indexes phrases; each comes with its class, and whether other forms of its words match.
    pub(crate) fn new(phrases: &[(String, ClassId, bool)], language: &str) -> Self {
        let stemmer = stemmer(language);
        let (mut exact, mut inflected, mut single) = (Vec::new(), Vec::new(), Vec::new());
        let (mut firsts, mut begins) = ([false; 256], vec![false; 1 << 16]);
        for (text, class, inflect) in phrases {
            let stems = *inflect && stemmer.is_some();
            let parts = parts(text, stemmer.as_ref().filter(|_| stems));
            let Some(first) = words(text, 0).next().and_then(|range| text.get(range)) else { continue };
            // A phrase with marks other than separators matches only as written.
            if !joins_only(text) || (parts.len() < 2 && !stems) {
                single.push(crate::words::lower(text).into_owned());
                continue;
            }
            if let Some(begin) = begins.get_mut(begin(first)) {
                *begin = true;
            }
            let byte = first.bytes().next().unwrap_or(0);
            for byte in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                if let Some(first) = firsts.get_mut(usize::from(byte)) {
                    *first = true;
                }
            }
            (if stems { &mut inflected } else { &mut exact }).push(VocabularyPhrase { parts, class: *class, stems });
        }
        for list in [&mut exact, &mut inflected] {
            list.sort_by(|a, b| (&a.parts, a.class).cmp(&(&b.parts, b.class)));
        }
        let longest = single.iter().map(String::len).max().unwrap_or(0);
        Self { exact, inflected, single, longest, first: firsts, begins, stemmer }
    }

    /// Every phrase of a text.
    pub(crate) fn find(&self, text: &str, mut hit: impl FnMut(Range<usize>, ClassId)) {
        if self.exact.is_empty() && self.inflected.is_empty() {
            return;
        }
        let bytes = text.as_bytes();
        let begins = |byte: u8| self.first.get(usize::from(byte)).copied().unwrap_or(true);
        let mut from = 0;
        while let Some(at) = find(bytes, from, begins) {
            from = at + 1;
            let byte = bytes.get(at).copied().unwrap_or(0);
            if at.checked_sub(1).and_then(|before| bytes.get(before)).is_some_and(u8::is_ascii_alphanumeric) {
                continue;
            }
            // A word of one letter does not have a second byte.
            let next = bytes.get(at + 1).copied().filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii()).unwrap_or(0);
            if !self.begins.get(pair(byte, next)).copied().unwrap_or(false) || !is_boundary(text, at) {
                continue;
            }
            let Some(first) = words(text, at).next().filter(|word| word.start == at) else { continue };
            let word = text.get(first.clone()).unwrap_or_default();
            for (list, stemmer) in [(&self.exact, None), (&self.inflected, self.stemmer.as_ref())] {
                if list.is_empty() {
                    continue;
                }
                let shown = form(word, stemmer);
                let from = list.partition_point(|p| p.first() < shown.as_str());
                for phrase in list.iter().skip(from).take_while(|p| p.first() == shown) {
                    let rest = phrase.parts.get(1..).unwrap_or_default();
                    if let Some(end) = self.follow(text, first.end, rest, phrase.stems).end {
                        hit(first.start..end, phrase.class);
                    }
                }
            }
        }
    }

    /// The start of the longest suffix of `text`, not before `from`, that is the beginning of a phrase.
    pub(crate) fn unfinished(&self, text: &str, from: usize) -> Option<usize> {
        let mut starts = words(text, text.ceil_char_boundary(from));
        starts.find(|first| self.is_open(text, first)).map(|first| first.start)
    }

    /// Whether more text could complete a phrase that begins with the word `first`.
    fn is_open(&self, text: &str, first: &Range<usize>) -> bool {
        let shown = text.get(first.clone()).unwrap_or_default();
        let grows = first.end == text.len();
        let begins = |p: &VocabularyPhrase| grows && may_become(shown, p.first(), p.stems);
        let goes_on =
            |p: &VocabularyPhrase| self.follow(text, first.end, p.parts.get(1..).unwrap_or_default(), p.stems).open;
        let rest = text.get(first.start..).unwrap_or_default();
        let single = || {
            rest.len() <= SHRINKS * self.longest && {
                let rest = crate::words::lower(rest);
                self.single.iter().any(|phrase| phrase.starts_with(&*rest))
            }
        };
        let known = grows || self.begins.get(begin(shown)).copied().unwrap_or(false);
        let listed = |(list, stemmer): (&Vec<VocabularyPhrase>, Option<&Stemmer>)| {
            if list.is_empty() {
                return false;
            }
            let form = form(shown, stemmer);
            let from = list.partition_point(|p| p.first() < form.as_str());
            let same = || list.iter().skip(from).take_while(|p| p.first() == form);
            same().any(goes_on) || (grows && list.iter().any(begins))
        };
        single() || (known && [(&self.exact, None), (&self.inflected, self.stemmer.as_ref())].into_iter().any(listed))
    }

    fn stemmer(&self, stems: bool) -> Option<&Stemmer> {
        self.stemmer.as_ref().filter(|_| stems)
    }

    /// Matches the remaining parts of a phrase from `at`, the end of its previous word.
    fn follow(&self, text: &str, at: usize, parts: &[PhrasePart], stems: bool) -> Reach {
        let Some((part, rest)) = parts.split_first() else { return Reach { end: Some(at), open: false } };
        match part {
            PhrasePart::Word(word) => self.follow_word(text, at, (word, rest), stems),
            PhrasePart::Words => {
                let mut reach = Reach::default();
                let mut at = at;
                for _ in 0..=SLOT {
                    let found = self.follow(text, at, rest, stems);
                    reach = Reach { end: reach.end.or(found.end), open: reach.open || found.open };
                    let Some(next) = words(text, at).next() else { break };
                    let gap = text.get(at..next.start).unwrap_or_default();
                    if !joins(gap) && !matches!(gap, "'" | "\u{2019}") {
                        break;
                    }
                    reach.open |= next.end == text.len();
                    at = next.end;
                }
                reach
            }
            PhrasePart::Code => match code(text, at) {
                Some(end) => {
                    let found = self.follow(text, end, rest, stems);
                    Reach { open: found.open || end == text.len(), ..found }
                }
                None => Reach { end: None, open: code_may_follow(text, at) },
            },
        }
    }

    fn follow_word(&self, text: &str, at: usize, (word, rest): (&str, &[PhrasePart]), stems: bool) -> Reach {
        let Some(next) = words(text, at).next() else {
            let gap = text.get(at..).unwrap_or_default();
            let genitive = matches!(gap, "'" | "\u{2019}") && stems;
            return Reach { end: None, open: gap.is_empty() || joins(gap) || genitive };
        };
        let (gap, shown) = (text.get(at..next.start).unwrap_or_default(), text.get(next.clone()).unwrap_or_default());
        // "Attorney's privilege": the genitive ending does not count as a word.
        if self.stemmer(stems).is_some() && matches!(gap, "'" | "\u{2019}") && matches!(shown, "s" | "S") {
            return self.follow_word(text, next.end, (word, rest), stems);
        }
        if !joins(gap) {
            return Reach::default();
        }
        let found = if form(shown, self.stemmer(stems)) == word {
            self.follow(text, next.end, rest, stems)
        } else {
            Reach::default()
        };
        Reach { open: found.open || (next.end == text.len() && may_become(shown, word, stems)), ..found }
    }
}

/// Whether more text could turn a word at the end of the text into a word of a phrase. With `stems`, it suffices that
/// the word begins with the stem without its last letter.
fn may_become(shown: &str, word: &str, stems: bool) -> bool {
    let shown = crate::words::lower(shown);
    let stem = word.char_indices().next_back().map_or(0, |(at, _)| at);
    word.starts_with(&*shown) || (stems && shown.starts_with(word.get(..stem).unwrap_or_default()))
}

/// The parts of a phrase that matches with other separators, but not in other word forms; `None` for other phrases.
pub(crate) fn joined(text: &str) -> Option<Vec<PhrasePart>> {
    let parts = parts(text, None);
    (joins_only(text) && parts.len() > 1 && matches!(parts.first(), Some(PhrasePart::Word(_)))).then_some(parts)
}

/// The parts of a phrase as written.
fn parts(text: &str, stemmer: Option<&Stemmer>) -> Vec<PhrasePart> {
    let of = |part: &str| match part {
        "[words]" => vec![PhrasePart::Words],
        "[code]" => vec![PhrasePart::Code],
        _ => words(part, 0).filter_map(|w| part.get(w)).map(|word| PhrasePart::Word(form(word, stemmer))).collect(),
    };
    text.split(' ').flat_map(of).collect()
}

/// The end of the code that follows `at`.
fn code(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..text.floor_char_boundary((at + CODE_GAP + CODE).min(text.len())))?;
    let gap = rest.find(|c: char| c.is_alphanumeric() || c == '+' || c == '(')?;
    let between = |c: char| CODE_JOINTS.contains(&c);
    let (before, behind) = rest.split_at_checked(gap)?;
    if gap == 0 || gap > CODE_GAP || !before.chars().all(between) {
        return None;
    }
    let token = behind.split(char::is_whitespace).next()?.trim_end_matches(|c: char| !c.is_alphanumeric());
    token.contains(|c: char| c.is_ascii_digit()).then_some(at + gap + token.len())
}

/// Whether more text could turn the text after `at` into a code.
fn code_may_follow(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let token = rest.trim_start_matches(CODE_JOINTS);
    rest.len() <= CODE_GAP + CODE && !token.contains(char::is_whitespace)
}

/// The phrases of a vocabulary line, one for each choice among its alternatives `(a|b)`. `None` if there are too many,
/// or if one begins with a slot.
pub(crate) fn alternatives(line: &str, most: usize) -> Option<Vec<String>> {
    let mut whole = vec![String::new()];
    let mut rest = line;
    // Brackets that do not contain a bar are part of the phrase.
    while let Some((before, inside, behind)) = group(rest) {
        let ways: Vec<&str> = inside.split('|').collect();
        if whole.len() * ways.len() > most {
            return None;
        }
        whole = whole.iter().flat_map(|head| ways.iter().map(move |way| [head, before, way].concat())).collect();
        rest = behind;
    }
    let spaced = |head: String| [&head, rest].concat().split_whitespace().collect::<Vec<_>>().join(" ");
    let whole: Vec<String> = whole.into_iter().map(spaced).collect();
    let slot_first = |phrase: &String| phrase.split(' ').next().is_some_and(is_slot);
    (!whole.iter().any(slot_first)).then_some(whole)
}

/// The first round brackets that contain a bar: what is before, in and behind them.
fn group(text: &str) -> Option<(&str, &str, &str)> {
    let open = text.match_indices('(').map(|(at, _)| at);
    open.into_iter().find_map(|at| {
        let (before, rest) = (text.get(..at)?, text.get(at + 1..)?);
        let (inside, behind) = rest.split_once(')')?;
        (inside.contains('|') && !inside.contains('(')).then_some((before, inside, behind))
    })
}

/// What is wrong in a vocabulary line, and where, in bytes. It may have `most` alternatives.
pub(crate) fn problem(line: &str, most: usize) -> Option<(&'static str, Range<usize>)> {
    brackets(line).or_else(|| bars(line)).or_else(|| {
        if count(line) > most {
            return Some(("its alternatives make too many phrases; divide the line", 0..line.len()));
        }
        let Some(phrases) = alternatives(line, most) else {
            return Some(("a phrase begins with a word: put one before a place for other words", 0..line.len()));
        };
        let nothing = phrases.iter().any(String::is_empty);
        nothing.then_some(("an alternative leaves no word of the phrase", 0..line.len()))
    })
}

/// The number of a line's alternatives.
fn count(line: &str) -> usize {
    let (mut count, mut rest) = (1_usize, line);
    while let Some((_, inside, behind)) = group(rest) {
        count = count.saturating_mul(inside.split('|').count());
        rest = behind;
    }
    count
}

/// A square bracket that is not part of a slot of its own.
fn brackets(line: &str) -> Option<(&'static str, Range<usize>)> {
    let mut from = 0;
    while let Some(at) = line.get(from..).and_then(|rest| rest.find(['[', ']'])).map(|at| from + at) {
        let rest = line.get(at..).unwrap_or_default();
        if rest.starts_with(']') {
            return Some(("this bracket closes none; a `pattern` can find brackets", at..at + 1));
        }
        let Some(end) = rest.find(']').map(|end| at + end + 1) else {
            return Some((
                "this bracket is not closed; `[words]` and `[code]` are places for other words",
                at..line.len(),
            ));
        };
        if !is_slot(line.get(at..end).unwrap_or_default()) {
            return Some((
                "only `[words]` and `[code]` are places for other words; a `pattern` can find brackets",
                at..end,
            ));
        }
        let apart = |c: Option<char>| c.is_none_or(|c| matches!(c, ' ' | '\t' | '(' | ')' | '|'));
        let (before, behind) = (line.get(..at).unwrap_or_default(), line.get(end..).unwrap_or_default());
        if !apart(before.chars().next_back()) || !apart(behind.chars().next()) {
            return Some(("a place for other words stands between spaces", at..end));
        }
        from = end;
    }
    None
}

/// A bar that is not between one pair of round brackets.
fn bars(line: &str) -> Option<(&'static str, Range<usize>)> {
    // The open brackets, each with whether a bar follows it.
    let mut open: Vec<(usize, bool)> = Vec::new();
    for (at, c) in line.char_indices() {
        match c {
            '(' => {
                if open.iter().any(|(_, bar)| *bar) {
                    return Some(("alternatives cannot hold brackets; write a line for each", at..at + 1));
                }
                open.push((at, false));
            }
            ')' => {
                open.pop();
            }
            '|' => match open.as_mut_slice() {
                [] => return Some(("a bar stands between round brackets: `(this|that)`", at..at + 1)),
                [(_, bar)] => *bar = true,
                _ => return Some(("alternatives cannot stand in further brackets; write a line for each", at..at + 1)),
            },
            _ => {}
        }
    }
    let (at, _) = open.into_iter().find(|(_, bar)| *bar)?;
    Some(("this bracket with alternatives is not closed", at..line.len()))
}

/// Whether there is a stemmer for a language.
pub(crate) fn has_stems(language: &str) -> bool {
    stemmer(language).is_some()
}

pub(crate) fn stemmer(language: &str) -> Option<Stemmer> {
    let algorithm = match language {
        "en" => Algorithm::English,
        "de" => Algorithm::German,
        _ => return None,
    };
    Some(Stemmer::create(algorithm))
}

fn form(word: &str, stemmer: Option<&Stemmer>) -> String {
    let lower: Cow<'_, str> = crate::words::lower(word);
    stemmer.map_or_else(|| lower.to_string(), |stemmer| stemmer.stem(&lower).into_owned())
}

/// The length of a word's first two bytes in lower case; stemming does not change these bytes.
fn begin(word: &str) -> usize {
    let byte = |at: usize| word.as_bytes().get(at).copied().unwrap_or(0);
    pair(byte(0), byte(1))
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first.to_ascii_lowercase()) << 8 | usize::from(second.to_ascii_lowercase())
}

fn joins(gap: &str) -> bool {
    !gap.is_empty() && gap.chars().nth(GAP).is_none() && gap.chars().all(|c| JOINTS.contains(&c))
}

/// Number of characters of the longest separator between two words.
pub(crate) fn longest_joint(text: &str) -> usize {
    text.split(char::is_alphanumeric).map(|gap| gap.chars().count()).max().unwrap_or(0)
}

fn joins_only(text: &str) -> bool {
    text.split(' ').all(|part| is_slot(part) || part.chars().all(|c| c.is_alphanumeric() || c == '-'))
}

/// Whether a part of a phrase is a placeholder for other words.
fn is_slot(part: &str) -> bool {
    matches!(part, "[words]" | "[code]")
}

/// Whether a phrase contains a slot.
pub(crate) fn has_slots(phrase: &str) -> bool {
    phrase.split(' ').any(is_slot)
}

/// Runs of letters and digits, from `at` on.
fn words(text: &str, mut at: usize) -> impl Iterator<Item = Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric();
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + rest.find(is_word)?;
        let rest = text.get(start..)?;
        at = start + rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(phrase: &str, inflect: bool, text: &str) -> bool {
        let phrases = Phrases::new(&[(phrase.to_owned(), ClassId::try_from(0).unwrap(), inflect)], "en");
        let mut any = false;
        phrases.find(text, |_, _| any = true);
        any
    }

    #[test]
    fn what_joins_the_words_of_a_phrase() {
        for text in [
            "Attorney-client privilege",
            "attorney client privilege",
            "attorney - client/privilege",
            "attorney \"client\" privilege",
        ] {
            assert!(found("attorney-client privilege", false, text), "{text}");
        }
        for text in [
            "attorney, client privilege",
            "attorney client privileges",
            "attorney\nclient privilege",
            "a-client privilege",
        ] {
            assert!(!found("attorney-client privilege", false, text), "{text}");
        }
    }

    #[test]
    fn what_is_no_phrase_is_marked() {
        for (line, marked, why) in [
            ("open [words here", "[words here", "not closed"),
            ("see a] c", "]", "closes none"),
            ("a [wrods] b", "[wrods]", "only `[words]`"),
            ("see [a|b] c", "[a|b]", "only `[words]`"),
            ("a[words] b", "[words]", "between spaces"),
            ("[words] first", "[words] first", "begins with a word"),
            ("(a|[code]) b", "(a|[code]) b", "begins with a word"),
            ("(alpha|)", "(alpha|)", "leaves no word"),
            ("this|that", "|", "between round brackets"),
            ("see (a|b c", "(a|b c", "not closed"),
            ("a (b|(c|d))", "(", "cannot hold brackets"),
            ("a ((b|c))", "|", "further brackets"),
        ] {
            let (problem, at) = problem(line, 256).unwrap_or_else(|| panic!("{line}"));
            assert!(problem.contains(why), "{line}: {problem}");
            assert_eq!(&line[at], marked, "{line}");
        }
        for line in ["put (your|my) money", "a (b) c", "a ) b (", "no [code]", "a [words] (b|c) [code]", "a (|new) b"] {
            assert_eq!(problem(line, 256), None, "{line}");
        }
        assert!(problem(&"(a|b) ".repeat(9), 256).unwrap().0.contains("too many"));
        assert!(problem(&"(a|b) ".repeat(900), 256).unwrap().0.contains("too many"));
        // Brackets without a bar do not hide later ones.
        assert_eq!(alternatives("a (b) (c|d)", 9).unwrap(), ["a (b) c", "a (b) d"]);
    }

    #[test]
    fn slots() {
        for text in ["MRN 0093312", "MRN: 12-A", "MRN no. 4", "mrn is 77"] {
            assert!(found("mrn [words] [code]", false, text), "{text}");
        }
        for text in ["MRN is on the wristband in ward 4", "MRN", "MRN, 4", "MRN unknown"] {
            assert!(!found("mrn [words] [code]", false, text), "{text}");
        }
        for text in
            ["transfer it outside the EU", "transfers outside the EU", "transferring all our profiles outside the EU"]
        {
            assert!(found("transfer [words] outside the eu", true, text), "{text}");
        }
        assert!(!found("transfer [words] outside the eu", true, "transfer what was read there outside the EU"));
    }

    #[test]
    fn forms_of_the_words() {
        for text in ["guarantees returns", "guaranteed return", "Guaranteeing returns"] {
            assert!(found("guaranteed returns", true, text), "{text}");
            assert!(!found("guaranteed returns", false, text), "{text}");
        }
        assert!(found("privilege", true, "privileges") && !found("privilege", true, "private"));
        assert!(!found("guaranteed returns", true, "The store guarantees. Returns are free."));
    }
}
