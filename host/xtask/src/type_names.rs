//! Checks that the name of a public type says what it is without its path.
//!
//! Two public types with one name make a reader look up which one is meant, and a search finds both. A name of one word
//! rarely says what the type is. So no two public types of all workspaces share a name, except those in [`SHARED`], and
//! the shares of names below are bounded. Types in test code, examples and generated registers do not count, nor do
//! those that a macro makes.

use anyhow::{Context, Result, anyhow, ensure};
use portcullis_tools::tool::capture;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Names that more than one public type may have, and why.
const SHARED: [(&str, &str); 0] = [];
/// Of a hundred types, public or not, at most so many share their name.
const SHARED_PERCENT: usize = 15;
/// Of a hundred public types, at most so many have a name of one word.
const ONE_WORD_PERCENT: usize = 25;
/// Folders whose types do not count: the registers' types are named after their offsets.
const NOT_COUNTED: [&str; 6] = ["tests/", "/tests/", "/benches/", "/examples/", "examples/", "host/regs/"];

/// A type that source text defines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedType {
    name: String,
    file: String,
    /// `pub` without a restriction.
    public: bool,
}

pub(crate) fn run() -> Result<()> {
    let types = types()?;
    ensure!(!types.is_empty(), "the workspaces define no type");
    let mut faults = Vec::new();
    for (name, files) in shared(types.iter().filter(|found| found.public)) {
        if !SHARED.iter().any(|(known, _)| *known == name) {
            faults.push(format!("public types named {name} in {}", files.join(", ")));
        }
    }
    let counted = |files: &Vec<&str>| files.len();
    let sharing: usize = shared(&types).values().map(counted).sum();
    if sharing * 100 > types.len() * SHARED_PERCENT {
        let all = types.len();
        faults.push(format!("{sharing} of {all} types share their name, at most {SHARED_PERCENT} % may"));
    }
    let public: Vec<_> = types.iter().filter(|found| found.public).collect();
    let short = public.iter().filter(|found| words(&found.name) == 1).count();
    if short * 100 > public.len() * ONE_WORD_PERCENT {
        let all = public.len();
        faults.push(format!("{short} of {all} public types have one word, at most {ONE_WORD_PERCENT} % may"));
    }
    ensure!(faults.is_empty(), "name types after what they are:\n{}", faults.join("\n"));
    let all = types.len();
    println!("    {sharing} of {all} types share their name; {short} of {} public types have one word", public.len());
    Ok(())
}

/// The names that several of the types have, with the files of these.
fn shared<'t>(types: impl IntoIterator<Item = &'t NamedType>) -> BTreeMap<&'t str, Vec<&'t str>> {
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for found in types {
        files.entry(&found.name).or_default().push(&found.file);
    }
    files.retain(|_, files| files.len() > 1);
    files
}

fn types() -> Result<Vec<NamedType>> {
    let listed = capture(Command::new("git").args(["ls-files", "*.rs"]))?;
    let counted = |file: &&str| {
        let folder = |part: &&str| if part.starts_with('/') { file.contains(*part) } else { file.starts_with(*part) };
        !NOT_COUNTED.iter().any(folder)
    };
    let mut types = Vec::new();
    for file in listed.lines().filter(counted) {
        let text = fs::read_to_string(file).with_context(|| file.to_owned())?;
        let tokens = text.parse().map_err(|error| anyhow!("{file}: not Rust: {error}"))?;
        definitions(tokens, file, &mut types);
    }
    Ok(types)
}

/// Collects the types that `tokens` defines, those in modules and functions included, but not those of test modules.
fn definitions(tokens: TokenStream, file: &str, types: &mut Vec<NamedType>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let word = |at: usize| match tokens.get(at) {
        Some(TokenTree::Ident(word)) => word.to_string(),
        _ => String::new(),
    };
    // Whether the item that begins here, or whose attributes stand here, is for tests.
    let mut test = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let text = group.stream().to_string().replace(' ', "");
                if group.delimiter() == Delimiter::Bracket && text == "cfg(test)" {
                    test = true;
                    continue;
                }
                if !test {
                    definitions(group.stream(), file, types);
                }
                if group.delimiter() == Delimiter::Brace {
                    test = false;
                }
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => test = false,
            TokenTree::Ident(keyword) if !test && ["struct", "enum", "trait", "union"].iter().any(|k| keyword == k) => {
                let name = word(at + 1);
                let is_type = name.starts_with(|first: char| first.is_ascii_uppercase());
                if is_type {
                    let before = at.checked_sub(1).map(word).unwrap_or_default();
                    let public = before == "pub" || before == "unsafe" && at > 1 && word(at - 2) == "pub";
                    types.push(NamedType { name, file: file.to_owned(), public });
                }
            }
            _ => {}
        }
    }
}

/// The number of words in a name in camel case: `SqlStore` has two, `CRC` has one.
fn words(name: &str) -> usize {
    let letters: Vec<char> = name.chars().collect();
    let begins = |at: usize| {
        let upper = |at: usize| letters.get(at).is_some_and(char::is_ascii_uppercase);
        let previous = at.checked_sub(1);
        upper(at) && (previous.is_none_or(|previous| !upper(previous)) || at + 1 < letters.len() && !upper(at + 1))
    };
    (0..letters.len()).filter(|at| begins(*at)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_with_capitals() {
        for (name, expected) in [("Store", 1), ("SqlStore", 2), ("CRC", 1), ("HTTPServer", 2), ("U128", 1)] {
            assert_eq!(words(name), expected, "{name}");
        }
    }

    #[test]
    fn every_definition_outside_tests_is_found() {
        let text = "pub struct A(u8); #[cfg(test)] mod tests { pub struct B; } pub(crate) enum C {} \
                    fn f() { struct D; } #[cfg(test)] use x::y; pub unsafe trait E {} macro_rules! m { () => {} }";
        let mut types = Vec::new();
        definitions(text.parse().expect("Rust"), "f.rs", &mut types);
        let found: Vec<_> = types.iter().map(|found| (found.name.as_str(), found.public)).collect();
        assert_eq!(found, [("A", true), ("C", false), ("D", false), ("E", true)]);
    }

    #[test]
    fn names_of_several_types_are_found() {
        let named = |name: &str, file: &str| NamedType { name: name.into(), file: file.into(), public: true };
        let types = [named("A", "1"), named("B", "1"), named("A", "2")];
        assert_eq!(shared(&types), BTreeMap::from([("A", vec!["1", "2"])]));
    }
}
