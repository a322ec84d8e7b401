//! The forms of a package for a text lane, made from the patterns and phrases that the scanner uses.
//!
//! Some patterns are left out: those with `near`, because the phrase may arrive later; those with `inflect`, because an
//! automaton cannot list other word forms; and tool calls. A lane reads the text only; the host also scans its view.

use crate::domains;
use crate::error::MappingError;
use crate::hits::vocabulary;
use crate::networks::{self, NETWORKS};
use crate::pattern;
use crate::phrase::{self, CODE_GAP, CODE_JOINTS, GAP, JOINTS, PhrasePart, SLOT, has_slots};
use crate::validators::iban::IBAN_LENGTHS;
use portcullis_core::manifest::{ClassDeclaration, PackageManifest, PatternBorder, PatternValidator};
use portcullis_core::wire::CLASSES;
use portcullis_lane::{
    ClassForm, ClassSource, CompiledLane, FormBorder, IbanCountryLength, LaneSource, LeftOut, MatchRelation,
    PaymentNetworkRange,
};
use regex_syntax::hir::{self, ClassUnicode, ClassUnicodeRange, Hir, Repetition};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The forms of every class. `files` are the package's files by path.
///
/// # Errors
/// [`MappingError`] names the class, file or pattern that cannot be used.
pub fn lane_source(manifest: &PackageManifest, files: &BTreeMap<String, Vec<u8>>) -> Result<LaneSource, MappingError> {
    let mut classes = Vec::new();
    for (index, class) in manifest.classes.iter().enumerate() {
        let count = manifest.classes.len();
        let id = manifest.class_id(index).ok_or(MappingError::TooMany { what: "classes", count, most: CLASSES })?;
        let has_addresses = class.patterns.iter().any(|of| of.validator == Some(PatternValidator::Email));
        let mut source = ClassSource {
            id,
            name: class.name.clone(),
            forms: Vec::new(),
            left_out: Vec::new(),
            view: class.view,
            domains: if has_addresses { domains::all(class.private_domains.as_deref()) } else { Vec::new() },
        };
        for file in &class.vocabulary {
            add_vocabulary(class, file, &vocabulary(&class.name, file, files)?, &mut source);
        }
        for of in &class.patterns {
            let bounded = pattern::bounded(&class.name, of, class.letters)?;
            if !of.near.is_empty() || !of.label.is_empty() {
                source.left_out.push(LeftOut {
                    form: of.regex.clone(),
                    reason: "`near` or `label` asks for bytes that may not have come".into(),
                });
                continue;
            }
            let border = if class.letters == PatternBorder::Any { FormBorder::Digits } else { FormBorder::Free };
            // The lane does not read what stands before an address and behind it.
            let wide = of.validator == Some(PatternValidator::Email);
            let relation = if wide { MatchRelation::Superset } else { MatchRelation::Equal };
            let (name, check) = (of.regex.clone(), of.validator);
            source.forms.push(ClassForm { name, hir: bounded.hir, border, check, relation });
        }
        if !class.tools.is_empty() {
            source.left_out.push(LeftOut { form: "[[class.tool]]".into(), reason: "it names calls of tools".into() });
        }
        classes.push(source);
    }
    let network = |known: &networks::PaymentNetworkRow| PaymentNetworkRange {
        first: known.first.clone(),
        lengths: known.lengths.clone(),
        whole: known.whole,
    };
    let account = |(country, length): &(&str, usize)| {
        let country = country.as_bytes().try_into().ok()?;
        Some(IbanCountryLength { country, length: u8::try_from(*length).ok()? })
    };
    Ok(LaneSource {
        classes,
        networks: NETWORKS.iter().map(network).collect(),
        accounts: IBAN_LENGTHS.iter().filter_map(account).collect(),
    })
}

/// Adds the phrases of a file, as written and with other separators between their words. Phrases with slots become a
/// form of their own, because their automaton is larger.
fn add_vocabulary(class: &ClassDeclaration, file: &str, phrases: &[String], source: &mut ClassSource) {
    if phrases.is_empty() {
        return;
    }
    let mut joined: Vec<Vec<PhrasePart>> = Vec::new();
    let mut ways = Vec::new();
    for text in phrases {
        let parts = phrase::joined(text);
        // The form with other separators also covers the phrase as written, unless its own separators are longer.
        if parts.is_none() || (!has_slots(text) && phrase::longest_joint(text) > GAP) {
            ways.push(Hir::concat(text.chars().map(as_written).collect()));
        }
        joined.extend(parts);
    }
    joined.sort_unstable();
    joined.dedup();
    let (slots, plain): (Vec<&[PhrasePart]>, Vec<&[PhrasePart]>) = joined
        .iter()
        .map(Vec::as_slice)
        .partition(|parts| parts.contains(&PhrasePart::Words) || parts.contains(&PhrasePart::Code));
    if !plain.is_empty() {
        ways.push(of_phrases(&plain, true));
    }
    let mut add = |name: String, hir: Hir, relation: MatchRelation| {
        source.forms.push(ClassForm { name, hir, border: FormBorder::Words, check: None, relation });
    };
    if !ways.is_empty() {
        add(file.to_owned(), Hir::alternation(ways), MatchRelation::EqualOnAscii);
    }
    if !slots.is_empty() {
        // The scanner limits the length of a code; the lane does not.
        let codes = slots.iter().any(|parts| parts.contains(&PhrasePart::Code));
        let relation = if codes { MatchRelation::Superset } else { MatchRelation::EqualOnAscii };
        add(slots_of(file), of_phrases(&slots, true), relation);
    }
    if class.inflect {
        source.left_out.push(LeftOut {
            form: file.to_owned(),
            reason: "`inflect`: other forms of its words are not listed".into(),
        });
    }
}

/// An expression for phrases. Phrases whose first parts have equal rests share one copy of these rests. Without
/// sharing, the automaton for a line with alternatives would be as large as the sum of its phrases.
fn of_phrases(phrases: &[&[PhrasePart]], first: bool) -> Hir {
    let mut rests: BTreeMap<&PhrasePart, Vec<&[PhrasePart]>> = BTreeMap::new();
    let mut ways = Vec::new();
    for phrase in phrases {
        match phrase.split_first() {
            Some((part, rest)) => rests.entry(part).or_default().push(rest),
            None => ways.push(Hir::empty()),
        }
    }
    let mut alike: BTreeMap<Vec<&[PhrasePart]>, Vec<&PhrasePart>> = BTreeMap::new();
    for (part, rests) in rests {
        alike.entry(rests).or_default().push(part);
    }
    for (rests, parts) in alike {
        let begin = Hir::alternation(parts.into_iter().map(|part| of_part(part, first)).collect());
        ways.push(Hir::concat(vec![begin, of_phrases(&rests, false)]));
    }
    Hir::alternation(ways)
}

/// A part and the separator before it.
fn of_part(part: &PhrasePart, first: bool) -> Hir {
    match part {
        PhrasePart::Word(word) => {
            // The mark is not alphanumeric, so in a word it comes from the letter.
            let letters = word.split(LOWER_DOTTED).map(|rest| Hir::concat(rest.chars().map(without_case).collect()));
            let letters = letters.reduce(|word, rest| Hir::concat(vec![word, as_written(DOTTED), rest]));
            Hir::concat((!first).then(joint).into_iter().chain(letters).collect())
        }
        PhrasePart::Words => {
            let letters = set([('0', '9'), ('A', 'Z'), ('a', 'z'), ('\u{80}', char::MAX)]);
            times(0, Some(SLOT), Hir::concat(vec![joint(), times(1, None, letters)]))
        }
        PhrasePart::Code => code(),
    }
}

fn joint() -> Hir {
    times(1, Some(GAP), set(JOINTS.map(|c| (c, c))))
}

/// A code after a word, of any length; the scanner limits the length.
fn code() -> Hir {
    let narrow = || set(CODE_JOINTS.iter().filter(|c| c.is_ascii()).map(|c| (*c, *c)));
    // The scanner counts the bytes between word and code, not the characters.
    let mut gaps = vec![times(1, Some(CODE_GAP), narrow())];
    for wide in CODE_JOINTS.iter().filter(|c| !c.is_ascii()) {
        let rest = CODE_GAP.saturating_sub(wide.len_utf8());
        for before in 0..=rest {
            let wide = set([(*wide, *wide)]);
            gaps.push(Hir::concat(vec![
                times(before, Some(before), narrow()),
                wide,
                times(0, Some(rest - before), narrow()),
            ]));
        }
    }
    let first = set([('+', '+'), ('(', '('), ('0', '9'), ('A', 'Z'), ('a', 'z'), ('\u{80}', char::MAX)]);
    let mut token = ClassUnicode::new(spaces());
    token.negate();
    let token = || times(0, None, Hir::class(hir::Class::Unicode(token.clone())));
    let digit = set([('0', '9')]);
    let digits = Hir::concat(vec![first, token(), digit.clone(), token()]);
    let alone = Hir::concat(vec![digit, token()]);
    Hir::concat(vec![Hir::alternation(gaps), Hir::alternation(vec![digits, alone])])
}

fn spaces() -> impl Iterator<Item = ClassUnicodeRange> {
    ('\0'..='\u{3000}').filter(|c| c.is_whitespace()).map(|c| ClassUnicodeRange::new(c, c))
}

fn set(ranges: impl IntoIterator<Item = (char, char)>) -> Hir {
    let ranges = ranges.into_iter().map(|(from, to)| ClassUnicodeRange::new(from, to));
    Hir::class(hir::Class::Unicode(ClassUnicode::new(ranges)))
}

fn times(min: usize, max: Option<usize>, sub: Hir) -> Hir {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Hir::repetition(Repetition { min: count(min), max: max.map(count), greedy: true, sub: Box::new(sub) })
}

/// A character of a phrase that is matched as written: case is ignored for ASCII letters only.
fn as_written(c: char) -> Hir {
    set([c, c.to_ascii_lowercase(), c.to_ascii_uppercase()].map(|c| (c, c)))
}

/// The only letter whose lower case is several characters: I with a dot above.
const DOTTED: char = '\u{130}';
const LOWER_DOTTED: &str = "i\u{307}";

/// All characters whose lower case is this character.
fn without_case(c: char) -> Hir {
    let upper = upper().get(&c).into_iter().flatten().copied();
    let last = (c == 'ς').then_some('Σ');
    set([c].into_iter().chain(upper).chain(last).map(|c| (c, c)))
}

/// The upper-case characters for each lower-case character.
fn upper() -> &'static BTreeMap<char, Vec<char>> {
    static UPPER: OnceLock<BTreeMap<char, Vec<char>>> = OnceLock::new();
    UPPER.get_or_init(|| {
        let mut upper: BTreeMap<char, Vec<char>> = BTreeMap::new();
        for c in '\0'..=char::MAX {
            let mut lower = c.to_lowercase();
            if let (Some(one), None) = (lower.next(), lower.next())
                && one != c
            {
                upper.entry(one).or_default().push(c);
            }
        }
        upper
    })
}

/// The package, reduced to the forms that a lane covers. The lane must find everything that the mapping finds with it.
#[must_use]
pub fn seen_by_lane(
    manifest: &PackageManifest,
    files: &BTreeMap<String, Vec<u8>>,
    compiled: &CompiledLane,
) -> (PackageManifest, BTreeMap<String, Vec<u8>>) {
    let (mut manifest, mut files) = (manifest.clone(), files.clone());
    for class in &mut manifest.classes {
        let Some(sight) = compiled.classes.iter().find(|sight| sight.name == class.name) else { continue };
        let sees = |form: &str| sight.forms.iter().any(|seen| seen.name == form);
        class.patterns.retain(|pattern| pattern.near.is_empty() && pattern.label.is_empty() && sees(&pattern.regex));
        class.tools.clear();
        class.inflect = false;
        let mut seen = Vec::new();
        for file in std::mem::take(&mut class.vocabulary) {
            let phrases = vocabulary(&class.name, &file, &files).unwrap_or_default();
            let own = |text: &&String| sees(&if has_slots(text) { slots_of(&file) } else { file.clone() });
            let phrases: Vec<&str> = phrases.iter().filter(own).map(String::as_str).collect();
            if !phrases.is_empty() {
                // Another class may need another reduction of this file, so each class gets its own copy.
                let name = format!("{} of {file}", class.name);
                files.insert(name.clone(), phrases.join("\n").into_bytes());
                seen.push(name);
            }
        }
        class.vocabulary = seen;
    }
    (manifest, files)
}

/// The name of the form for a file's phrases with slots.
fn slots_of(file: &str) -> String {
    format!("{file}, phrases with slots")
}

#[cfg(test)]
mod tests {
    use super::{DOTTED, LOWER_DOTTED};

    #[test]
    fn one_letter_has_a_lower_case_of_several_characters() {
        let several = ('\0'..=char::MAX).filter(|c| c.to_lowercase().nth(1).is_some());
        assert_eq!(several.collect::<Vec<_>>(), [DOTTED]);
        assert!(DOTTED.to_lowercase().eq(LOWER_DOTTED.chars()));
        assert!(!LOWER_DOTTED.chars().all(char::is_alphanumeric));
    }
}
