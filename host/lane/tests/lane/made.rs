//! Random packages and texts: patterns of every kind that a policy may have, and texts with matches, near matches and
//! no matches.

use portcullis_core::manifest::PackageManifest;
use portcullis_lane::LaneSource;
use portcullis_test_support::random::Random;
use regex_syntax::hir::{Class, Hir, HirKind};
use std::collections::BTreeMap;

/// Number of classes of a random package.
pub(crate) const CLASSES: usize = 5;

/// A package that the mapping accepts. Random patterns may be too long, or match bytes that are not UTF-8.
pub(crate) fn package(random: &mut Random) -> (PackageManifest, BTreeMap<String, Vec<u8>>) {
    loop {
        let (manifest, files) = any_package(random);
        if portcullis_mapping::problems(&manifest, &files).is_empty() {
            return (manifest, files);
        }
    }
}

/// A package with one pattern or vocabulary per class.
fn any_package(random: &mut Random) -> (PackageManifest, BTreeMap<String, Vec<u8>>) {
    let mut classes = Vec::new();
    let mut files = BTreeMap::new();
    for number in 0..CLASSES {
        let any = random.one_in(2);
        let letters = if any { "any" } else { "border" };
        if random.one_in(6) {
            let file = format!("v{number}.txt");
            let lines: Vec<String> = (0..random.within(1, 5)).map(|_| phrase(random)).collect();
            files.insert(file.clone(), lines.join("\n").into_bytes());
            classes.push(serde_json::json!({"name": format!("c{number}"), "vocabulary": [file]}));
            continue;
        }
        let (regex, validator) = pattern(random, any);
        let mut pattern = serde_json::json!({"regex": regex});
        if let Some(validator) = validator {
            pattern["validator"] = validator.into();
        }
        classes.push(serde_json::json!({"name": format!("c{number}"), "letters": letters, "pattern": [pattern]}));
    }
    let manifest = serde_json::json!({
        "package": {"name": "made", "version": "1.0.0", "description": ""},
        "enumerations": {"domain": ["a"], "audience": ["a"], "temporal": ["a"], "register": ["a"]},
        "class": classes,
    });
    (serde_json::from_value(manifest).unwrap(), files)
}

const WORDS: [&str; 16] = [
    "you", "are", "sick", "stop", "it", "bank", "ÄRA", "straße", "no", "id", "mrn", "case", "İbrahim", "KİLİS", "ΟΔΟΣ",
    "ẞA",
];

fn phrase(random: &mut Random) -> String {
    let mut words: Vec<&str> = (0..random.within(1, 3)).map(|_| *random.pick(&WORDS)).collect();
    match random.below(10) {
        0 => words.extend(["[words]", "it"]),
        1 => words.push("[code]"),
        2 => return words.join("-"),
        3 => return format!("{}, {}", words.join(" "), random.pick(&WORDS)),
        4 => return format!("{}{}", words.join(" -- "), random.pick(&["", " - ", "-"])),
        5 => return words.join(*random.pick(&["---", "----", " - - ", "--"])),
        _ => {}
    }
    words.join(" ")
}

/// A pattern and its validator; more than half of the patterns have no validator.
fn pattern(random: &mut Random, any: bool) -> (String, Option<&'static str>) {
    let mark = *random.pick(&["[ -]?", "[ ./-]{0,2}", "-", "", "(?:[ -]|(?u:[·‧])){0,3}"]);
    let (regex, validator) = match random.below(10) {
        0 => (format!(r"\d(?:{mark}\d){{11,{}}}", random.within(12, 30)), "luhn"),
        1 => (format!(r"\d{{4}}(?:{mark}\d{{4}}){{2,3}}"), "luhn"),
        2 => (format!(r"(?i)[a-z]{{2}}\d{{2}}(?:{mark}[a-z0-9]){{11,30}}"), "iban"),
        3 => (format!(r"\d{{3}}{mark}\d{{2}}{mark}\d{{4}}"), "ssn"),
        4 => (r"(?:\d{1,3}\.){3}\d{1,3}".into(), "ip"),
        5 => (r"(?i)[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,7}(?:(?:\d{1,3}\.){3}\d{1,3})?".into(), "ip"),
        6 if random.one_in(2) => (r"(?i)(?:[0-9a-f]{0,4}:){2,7}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9a-f]{0,4})".into(), "ip"),
        6 => (format!(r"\+\d{{1,3}}(?:{mark}\(?\d{{2,4}}\)?){{2,4}}(?:x\d{{1,4}})?"), "phone"),
        7 => (format!(r"0[1-9]\d{{0,3}}(?:{mark}\d{{2,6}}){{1,3}}"), "phone"),
        _ => return (alternation(random, 2), None),
    };
    let check = if any { regex } else { format!(r"\b{regex}") };
    if random.one_in(2) { (check, Some(validator)) } else { (alternation(random, 2), None) }
}

fn alternation(random: &mut Random, depth: usize) -> String {
    let ways: Vec<String> = (0..random.within(1, 2)).map(|_| concatenation(random, depth)).collect();
    ways.join("|")
}

fn concatenation(random: &mut Random, depth: usize) -> String {
    (0..random.within(1, 4)).map(|_| repeated(random, depth)).collect()
}

fn repeated(random: &mut Random, depth: usize) -> String {
    let of = atom(random, depth);
    if of.starts_with('\\') && of != r"\d" {
        return of;
    }
    match random.below(10) {
        0 => format!("{of}?"),
        1 => format!("{of}{{0,2}}"),
        2 => format!("{of}{{1,3}}"),
        3 => format!("{of}{{2}}"),
        4 if depth == 2 => format!("{of}{{1,{}}}", random.within(5, 24)),
        5 => format!("{of}{{1,2}}?"),
        _ => of,
    }
}

fn atom(random: &mut Random, depth: usize) -> String {
    let of = match random.below(if depth == 0 { 13 } else { 15 }) {
        0..=3 => ["a", "b", "1", "-", " ", "@"][random.below(6)],
        4 => r"\d",
        5 => "[a-c]",
        6 => "(?u:[^a-z])",
        7 => "(?u:[à-ü€])",
        8 => "(?u:[^a-zà-ü ])",
        9 => r"\b",
        10 => "(?i:k)",
        11 => ["^", "$", "(?m:^)", "(?m:$)", r"\B"][random.below(5)],
        12 => "(?:ab|a)",
        _ => return format!("(?:{})", alternation(random, depth - 1)),
    };
    of.to_owned()
}

/// The phrases of a package's vocabularies as they are written. `[words]` can stand for no word.
pub(crate) fn phrases(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let lines = files.values().flat_map(|file| std::str::from_utf8(file).unwrap().lines());
    let lines = lines.filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines.map(|line| line.replace("[words] ", "").replace("[code]", "7")).collect()
}

/// A text made of parts of matches, phrases, numbers and addresses that validators accept, and noise. Matches are drawn
/// from the lane's forms. Phrases are drawn from the vocabulary, too, because a form can lack something.
pub(crate) fn text(random: &mut Random, source: &LaneSource, phrases: &[String]) -> String {
    let mut text = String::new();
    for _ in 0..random.within(1, 4) {
        match random.below(10) {
            0 => text += &noise(random),
            1 => text += &number(random),
            8 => text += &address(random),
            9 if !phrases.is_empty() => {
                let phrase = random.pick(phrases).clone();
                text += &match random.below(4) {
                    0 => phrase.to_ascii_uppercase(),
                    1 => phrase.to_ascii_lowercase(),
                    2 => phrase.split(' ').collect::<Vec<_>>().join(*random.pick(&["-", "  ", " - ", "\"", " ("])),
                    _ => phrase,
                };
            }
            _ => {
                let class = random.pick(&source.classes);
                let Some(form) = class.forms.first() else { continue };
                let begin = text.len();
                sample(random, &form.hir, &mut text);
                if random.one_in(3) {
                    mutate(random, &mut text, begin);
                }
            }
        }
        if random.one_in(3) {
            text.push(*random.pick(&[' ', '.', 'a', '1', '_', '-', 'é', '\n', ':', '(']));
        }
    }
    text
}

fn noise(random: &mut Random) -> String {
    let of =
        ['a', 'b', 'c', '1', '4', '0', ' ', ' ', '-', '.', '@', ':', 'k', '\u{212a}', 'é', '€', '·', '\n', '_', '('];
    (0..random.within(1, 12)).map(|_| *random.pick(&of)).collect()
}

/// An IPv6 address, mostly of an allocated block, in any of its spellings.
fn address(random: &mut Random) -> String {
    let first = *random.pick(&["2001", "3fff", "fd00", "fe80", "febf", "ff02", "64", "0064", "0", "0000", "", "1"]);
    let group = |random: &mut Random| match random.below(4) {
        0 => "0".to_owned(),
        1 => "ffff".to_owned(),
        2 => "FF9B".to_owned(),
        _ => format!("{:x}", random.below(0x1_0000)),
    };
    let mut groups = vec![first.to_owned()];
    groups.extend((0..random.within(0, 7)).map(|_| group(random)));
    if random.one_in(3) {
        groups.push(format!("{}.{}.2.1", random.below(300), random.below(256)));
    }
    if random.one_in(3) {
        return format!("::{}", groups.split_off(1).join(":"));
    }
    // An empty group stands for zeros.
    if random.one_in(2) {
        let at = random.within(1, groups.len());
        groups.insert(at, String::new());
    }
    let address = groups.join(":");
    if address.ends_with(':') { format!("{address}:") } else { address }
}

/// A number of a kind that validators accept, with or without groups.
pub(crate) fn number(random: &mut Random) -> String {
    let digits = |random: &mut Random, count: usize| -> String {
        (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
    };
    let text = match random.below(6) {
        0 | 1 => {
            let prefix =
                *random.pick(&["4", "37", "5500", "6011", "30", "2221", "9", "8", "50", "67", "6", "1", "1800", "35"]);
            let length = random.within(12, 19);
            let body = format!("{prefix}{}", digits(random, length - 1 - prefix.len()));
            let sum: u32 = body
                .bytes()
                .rev()
                .enumerate()
                .map(|(at, byte)| {
                    let digit = u32::from(byte - b'0');
                    if at % 2 == 1 {
                        digit
                    } else if digit > 4 {
                        2 * digit - 9
                    } else {
                        2 * digit
                    }
                })
                .sum();
            format!("{body}{}", (10 - sum % 10) % 10)
        }
        2 => {
            let (country, length) = *random.pick(&[("DE", 22), ("NO", 15), ("GB", 22), ("fr", 27), ("LC", 32)]);
            let body: String = digits(random, length - 4);
            let number: String = format!("{body}{}00", country.to_uppercase())
                .chars()
                .map(|c| c.to_digit(36).unwrap().to_string())
                .collect();
            let rest = number.bytes().fold(0u32, |rest, byte| (rest * 10 + u32::from(byte - b'0')) % 97);
            format!("{country}{:02}{body}", 98 - rest)
        }
        3 => format!("{}-{}-{}", digits(random, 3), digits(random, 2), digits(random, 4)),
        4 => (0..4).map(|_| random.below(300).to_string()).collect::<Vec<_>>().join("."),
        _ => format!("+{} {} {}", random.within(1, 99), digits(random, 3), digits(random, 7)),
    };
    // Before a number: a decimal's whole part and point, an ordinary point, and other digits with a point.
    let before = if random.one_in(6) { *random.pick(&["0.", "12.", "1.2.", "x.", "0..", "0 .", "a0x"]) } else { "" };
    let text = format!("{before}{text}");
    let (size, mark) = (random.within(3, 6), *random.pick(&["", "", " ", "-", ".", " - ", "·"]));
    if mark.is_empty() || !text.is_ascii() {
        return text;
    }
    text.as_bytes().chunks(size).map(|group| String::from_utf8_lossy(group).into_owned()).collect::<Vec<_>>().join(mark)
}

/// Adds a match of an expression; look-arounds are ignored.
fn sample(random: &mut Random, hir: &Hir, text: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Bytes(class)) => {
            let range = random.pick(class.ranges());
            let byte = random.within(usize::from(range.start()), usize::from(range.end().min(127)));
            text.push(char::from(byte as u8));
        }
        HirKind::Class(Class::Unicode(class)) => {
            let range = random.pick(class.ranges());
            let end = u32::from(range.end()).min(u32::from(range.start()) + 200);
            let c = random.within(u32::from(range.start()) as usize, end as usize) as u32;
            text.push(char::from_u32(c).unwrap_or(range.start()));
        }
        HirKind::Repetition(of) => {
            let max = of.max.unwrap_or(of.min + 3).min(of.min + 20);
            for _ in 0..random.within(of.min as usize, max as usize) {
                sample(random, &of.sub, text);
            }
        }
        HirKind::Capture(of) => sample(random, &of.sub, text),
        HirKind::Concat(list) => list.iter().for_each(|part| sample(random, part, text)),
        HirKind::Alternation(list) => sample(random, random.clone().pick(list), text),
    }
}

/// Changes a character after `begin`.
fn mutate(random: &mut Random, text: &mut String, begin: usize) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).filter(|at| *at >= begin).collect();
    if places.is_empty() {
        return;
    }
    let at = *random.pick(&places);
    match random.below(3) {
        0 => drop(text.remove(at)),
        1 => text.insert(at, *random.pick(&['1', 'a', ' ', '-', 'é'])),
        _ => {
            let c = text.remove(at);
            text.insert(at, if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { '7' });
        }
    }
}
