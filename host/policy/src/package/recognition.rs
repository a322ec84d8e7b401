//! Declarations that the mapping cannot use, reported as problems at their places in `policy.toml`.

use super::manifest::MANIFEST_FILE;
use crate::error::{PolicyProblem, PolicyProblemKind, PolicySourceRange};
use crate::sources;
use portcullis_core::manifest::PackageManifest;
use portcullis_mapping::MappingError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;

const SYNTAX: &str = "the syntax is that of the `regex` crate, without look-around and back references";

/// Places in `policy.toml` of the declarations that the mapping reads.
#[derive(Default, Deserialize)]
struct Places {
    package: PackagePlaces,
    #[serde(default, rename = "class")]
    classes: Vec<ClassPlaces>,
    #[serde(default, rename = "quantity")]
    quantities: Vec<QuantityPlaces>,
}

#[derive(Default, Deserialize)]
struct PackagePlaces {
    language: Option<Spanned<String>>,
    links: Option<Spanned<String>>,
    loads: Option<Spanned<String>>,
    hosts: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Deserialize)]
struct ClassPlaces {
    name: String,
    #[serde(default, rename = "pattern")]
    patterns: Vec<RegexPlace>,
    #[serde(default, rename = "tool")]
    tools: Vec<RegexPlace>,
    view: Option<Spanned<bool>>,
    inflect: Option<Spanned<bool>>,
    letters: Option<Spanned<String>>,
    polarity: Option<Spanned<String>>,
    private_domains: Option<Spanned<Vec<String>>>,
}

#[derive(Deserialize)]
struct RegexPlace {
    regex: Option<Spanned<String>>,
}

#[derive(Deserialize)]
struct QuantityPlaces {
    name: String,
    #[serde(default)]
    units: BTreeMap<String, Spanned<String>>,
}

/// Every problem that the mapping finds in the declarations, without those that the manifest's checks report.
pub(super) fn problems(manifest: &PackageManifest, files: &BTreeMap<String, Vec<u8>>) -> Vec<PolicyProblem> {
    let mut found = portcullis_mapping::problems(manifest, files);
    found.retain(|error| !matches!(error, MappingError::TooMany { .. } | MappingError::MissingVocabulary { .. }));
    if found.is_empty() {
        return Vec::new();
    }
    let text = files.get(MANIFEST_FILE).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default();
    let places: Places = toml::from_str(text).unwrap_or_default();
    found.iter().map(|error| problem(error, text, &places, files)).collect()
}

fn problem(error: &MappingError, text: &str, places: &Places, files: &BTreeMap<String, Vec<u8>>) -> PolicyProblem {
    let at = |problem: PolicyProblem, span: Option<Range<usize>>, label: &str| match span {
        Some(span) => {
            let place = PolicySourceRange {
                file: MANIFEST_FILE.into(),
                source: Arc::from(text),
                offset: span.start,
                length: span.len(),
            };
            problem.at(place, label)
        }
        None => problem,
    };
    match error {
        MappingError::Pattern { class, regex, problem, at: part } => {
            let message = format!("a pattern of class `{class}` cannot be used: {problem}");
            let span = places.regex(class, regex).map(|whole| within(text, whole, regex, part.clone()));
            at(PolicyProblem::new(PolicyProblemKind::Pattern, message).help(SYNTAX), span, "here")
        }
        MappingError::ClassKey { class, key, .. } => {
            at(PolicyProblem::new(PolicyProblemKind::Manifest, error.to_string()), places.key(class, key), "here")
        }
        MappingError::UnitSize { quantity, unit, .. } | MappingError::Unit { quantity, unit } => {
            at(PolicyProblem::new(PolicyProblemKind::Manifest, error.to_string()), places.unit(quantity, unit), "here")
        }
        MappingError::Language { .. } => {
            let span = places.package.language.as_ref().map(Spanned::span);
            at(PolicyProblem::new(PolicyProblemKind::Manifest, error.to_string()), span, "here")
        }
        MappingError::Host(_) | MappingError::PackageKey { .. } => {
            let span = places.package.of(error);
            at(PolicyProblem::new(PolicyProblemKind::Manifest, error.to_string()), span, "here")
        }
        MappingError::Phrase { file, line, phrase, problem, at } => {
            let problem = PolicyProblem::new(PolicyProblemKind::File, format!("a phrase cannot be used: {problem}"));
            let text = files.get(file).and_then(|bytes| std::str::from_utf8(bytes).ok());
            let place = text.and_then(|text| {
                let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
                Some((text, before + text.get(before..)?.find(phrase.as_str())?))
            });
            match place {
                Some((text, start)) => {
                    let (offset, length) = (start + at.start, at.len());
                    problem
                        .at(PolicySourceRange { file: file.clone(), source: Arc::from(text), offset, length }, "here")
                }
                None => problem,
            }
        }
        MappingError::VocabularyEncoding { file, .. } => {
            let unreadable = files.get(file).and_then(|bytes| sources::text(file, bytes).err());
            unreadable.unwrap_or_else(|| PolicyProblem::new(PolicyProblemKind::File, error.to_string()))
        }
        _ => PolicyProblem::new(PolicyProblemKind::Manifest, error.to_string()),
    }
}

/// The place in the manifest of a part of an expression, or of the whole expression if it contains escapes.
fn within(text: &str, whole: Range<usize>, regex: &str, part: Option<Range<usize>>) -> Range<usize> {
    let written = text.get(whole.clone()).unwrap_or_default();
    match (written.find(regex), part) {
        (Some(start), Some(part)) => whole.start + start + part.start..whole.start + start + part.end,
        _ => whole,
    }
}

impl PackagePlaces {
    /// The place of an entry of `hosts`, or of the value of a key.
    fn of(&self, error: &MappingError) -> Option<Range<usize>> {
        match error {
            MappingError::Host(entry) => {
                let all = self.hosts.as_ref()?.get_ref();
                all.iter().find(|host| host.get_ref() == entry).map(Spanned::span)
            }
            MappingError::PackageKey { key: "hosts", .. } => self.hosts.as_ref().map(Spanned::span),
            MappingError::PackageKey { key: "links", .. } => self.links.as_ref().map(Spanned::span),
            MappingError::PackageKey { key: "loads", .. } => self.loads.as_ref().map(Spanned::span),
            _ => None,
        }
    }
}

impl Places {
    fn regex(&self, class: &str, regex: &str) -> Option<Range<usize>> {
        let class = self.classes.iter().find(|known| known.name == class)?;
        let mut written = class.patterns.iter().chain(&class.tools).filter_map(|place| place.regex.as_ref());
        written.find(|known| known.get_ref() == regex).map(Spanned::span)
    }

    fn key(&self, class: &str, key: &str) -> Option<Range<usize>> {
        let class = self.classes.iter().find(|known| known.name == class)?;
        match key {
            "view" => class.view.as_ref().map(Spanned::span),
            "inflect" => class.inflect.as_ref().map(Spanned::span),
            "polarity" => class.polarity.as_ref().map(Spanned::span),
            "letters" => class.letters.as_ref().map(Spanned::span),
            "private_domains" => class.private_domains.as_ref().map(Spanned::span),
            _ => None,
        }
    }

    fn unit(&self, quantity: &str, unit: &str) -> Option<Range<usize>> {
        let quantity = self.quantities.iter().find(|known| known.name == quantity)?;
        quantity.units.get(unit).map(Spanned::span)
    }
}
