//! Ids and reasons of the rules behind row numbers, read from the package's Cedar sources.
//!
//! Only annotations are read; rules are compiled elsewhere. The package digest covers the sources, so the names are as
//! trustworthy as the image.

use crate::format::bundle::{self, Bundle, BundleError};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

/// Id and reason of a rule, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedRule {
    pub(crate) id: String,
    pub(crate) reason: Option<String>,
}

/// All rules of the bundle's package, in the order of their numbers in the image: bytewise by id.
pub(crate) fn names(bundle: &Bundle<'_>) -> Result<Vec<ReportedRule>, BundleError> {
    let mut rules = BTreeMap::new();
    for (name, _) in bundle.below(bundle::PACKAGE).filter(|(name, _)| name.ends_with(".cedar")) {
        let source = bundle.read(name)?;
        rules.extend(annotated(&String::from_utf8_lossy(&source)));
    }
    Ok(rules.into_iter().map(|(id, reason)| ReportedRule { id, reason }).collect())
}

/// Ids with their reasons. A rule ends with a semicolon; `//` begins a comment; strings have Rust's escapes.
fn annotated(source: &str) -> BTreeMap<String, Option<String>> {
    let mut rules = BTreeMap::new();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => drop(chars.find(|c| *c == '\n')),
            '"' => drop(string(&mut chars)),
            '@' => {
                let mut key = String::new();
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    key.push(c);
                }
                let blank = |chars: &mut Peekable<Chars<'_>>| while chars.next_if(|c| c.is_whitespace()).is_some() {};
                blank(&mut chars);
                if chars.next_if_eq(&'(').is_some() {
                    blank(&mut chars);
                    if chars.next_if_eq(&'"').is_some() {
                        found.insert(key, string(&mut chars));
                    }
                }
            }
            ';' => {
                let mut rule = std::mem::take(&mut found);
                if let Some(id) = rule.remove("id") {
                    rules.insert(id, rule.remove("reason"));
                }
            }
            _ => {}
        }
    }
    rules
}

/// Reads a string after its opening quote. An unknown escape is kept as it is.
fn string(chars: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some('0') => text.push('\0'),
                Some('u') if chars.next_if_eq(&'{').is_some() => {
                    let digits: String = chars.by_ref().take_while(|c| *c != '}').collect();
                    let point = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    text.push(point.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Some(c) => text.push(c),
                None => break,
            },
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_found_and_nothing_else() {
        let source = r#"// @id("COMMENT") permit (principal, action, resource);
            @id("B-2") @reason("a \"quoted\" \u{e9}; not the end")
            forbid (principal, action, resource) when { context.x == "@id(\"C\");" };
            @ id ("none") permit(principal, action, resource);
            @stage("entropy")
            @id ( "A-1" )
            permit (principal, action, resource);
            @id("UNFINISHED")"#;
        let rules: Vec<_> = annotated(source).into_iter().collect();
        let reason = "a \"quoted\" \u{e9}; not the end".to_owned();
        assert_eq!(rules, [("A-1".to_owned(), None), ("B-2".to_owned(), Some(reason))]);
    }

    #[test]
    fn hostile_sources_end() {
        for source in ["@", "@id(", "@id(\"", "@id(\"\\", "@id(\"\\u{", "\"", "/", "//", "@id(\"\\u{110000}\");"] {
            annotated(source);
        }
    }
}
