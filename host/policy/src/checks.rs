//! The checks of a package: everything that can refuse a text, with how much each lets pass. Two versions of a package
//! are compared check by check, so that a check that is switched off or widened is named.

use crate::compile::CompiledPackage;
use crate::package::PolicyPackage;
use portcullis_core::manifest::{
    CitationPolicy, ClassDeclaration, GatedLoopLimits, HitPolarity, LinkPolicy, LoadPolicy, PackageManifest,
};
use portcullis_core::wire::RowKind;
use serde::Serialize;
use std::collections::BTreeMap;

/// Names of the tiers of the pre-execution filter, the mildest first.
const TIERS: [&str; 5] = ["clear", "notice", "guarded", "blocked", "critical"];
/// Above every number that a smaller value weakens.
const MOST: usize = 1 << 16;
/// A value of the trust slope that is never reached.
const NEVER: u16 = u16::MAX;
/// Begins the name of a check that is on unless a package names it.
const DEFERRED: &str = "immediate reject by ";

#[derive(Clone, Debug, PartialEq, Eq)]
struct PackageCheck {
    /// What the check lets pass: 0 for the strictest form, more for wider ones; `None` if the check is off.
    width: Option<usize>,
    /// The check in words: `off`, `on`, or its bound.
    shown: String,
}

/// The checks of a package by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageChecks(BTreeMap<String, PackageCheck>);

/// A check that lets more pass in one version of a package than in another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WeakenedCheck {
    pub check: String,
    /// The check in the first version, then in the second: `off`, `on` or a bound.
    pub before: String,
    pub after: String,
}

impl std::fmt::Display for WeakenedCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { check, before, after } = self;
        match after.as_str() {
            "off" => write!(f, "check switched off: {check} (it was {before})"),
            _ => write!(f, "check widened: {check} was {before} and is {after}"),
        }
    }
}

impl PackageCheck {
    fn on(is_on: bool) -> Self {
        Self { width: is_on.then_some(0), shown: if is_on { "on" } else { "off" }.into() }
    }

    /// A bound of which a larger value lets more pass. `off` is the value that switches the check off.
    fn at_most(value: u16, off: Option<u16>) -> Self {
        if off == Some(value) { Self::on(false) } else { Self { width: Some(value.into()), shown: value.to_string() } }
    }

    /// A number of which a smaller value lets more pass; 0 switches the check off.
    fn at_least(value: usize) -> Self {
        let width = MOST.saturating_sub(value);
        if value == 0 { Self::on(false) } else { Self { width: Some(width), shown: value.to_string() } }
    }
}

/// The checks that every package has, on or off.
fn of_stages(manifest: &PackageManifest) -> Vec<(&'static str, PackageCheck)> {
    // Without `..`, so that a new key must be considered here.
    let portcullis_core::manifest::ContinuityChecks {
        presupposition,
        definite,
        contradiction,
        discontinuity,
        topic,
        recent,
        repetitions,
        calls,
    } = manifest.continuity;
    let slope = &manifest.trust_slope;
    let GatedLoopLimits {
        alternatives: _,
        max_depth: _,
        span_bytes,
        defer: _,
        defer_expiry: _,
        rollbacks: _,
        checkpoint: _,
    } = manifest.limits;
    let tier = TIERS.iter().position(|tier| *tier == manifest.prefilter.threshold).unwrap_or(TIERS.len());
    let threshold = PackageCheck { width: Some(tier), shown: manifest.prefilter.threshold.clone() };
    // The number of recent transitions has an effect only if their repetitions are counted.
    let recent = if repetitions == 0 { PackageCheck::on(false) } else { PackageCheck::at_least(recent.into()) };
    vec![
        ("presupposition", PackageCheck::on(presupposition)),
        ("presupposition of definite nouns", PackageCheck::on(definite)),
        ("contradiction and regression", PackageCheck::on(contradiction)),
        ("discontinuity", PackageCheck::on(discontinuity)),
        ("change of topic", PackageCheck::at_most(topic, Some(0))),
        ("repetition", PackageCheck::at_most(repetitions, Some(0))),
        ("repetition: recent transitions", recent),
        ("repetition: equal calls", PackageCheck::at_most(calls, Some(0))),
        ("trust slope: warning", PackageCheck::at_most(slope.warning, Some(NEVER))),
        ("trust slope: correction", PackageCheck::at_most(slope.correction, Some(NEVER))),
        ("trust slope: halt", PackageCheck::at_most(slope.halt, Some(NEVER))),
        ("trust slope: share that each step keeps", PackageCheck::at_least(slope.decay.into())),
        ("closed world", PackageCheck::on(manifest.package.closed_world)),
        ("citations are resolved", PackageCheck::on(manifest.package.citations == CitationPolicy::Resolved)),
        ("links", links(manifest)),
        ("loads", loads(manifest)),
        ("length of a span", PackageCheck::at_most(span_bytes, None)),
        ("pre-execution filter: threshold", threshold),
    ]
}

/// The links that a text may contain: allowed citations, links to listed hosts, or any.
fn links(manifest: &PackageManifest) -> PackageCheck {
    let hosts = manifest.package.hosts.len();
    match (manifest.package.links, manifest.package.citations) {
        (Some(LinkPolicy::Listed), _) => PackageCheck { width: Some(hosts), shown: format!("{hosts} hosts") },
        (None, CitationPolicy::Resolved) => PackageCheck::on(true),
        (Some(LinkPolicy::Any), _) | (None, CitationPolicy::Any) => PackageCheck::on(false),
    }
}

/// The hosts from which a client may load something by itself. A longer list lets more pass.
fn loads(manifest: &PackageManifest) -> PackageCheck {
    let hosts = manifest.package.hosts.len();
    match manifest.package.loads {
        LoadPolicy::Any => PackageCheck::on(false),
        LoadPolicy::Listed => PackageCheck { width: Some(hosts), shown: format!("{hosts} hosts") },
        LoadPolicy::None => PackageCheck::on(true),
    }
}

fn of_class(class: &ClassDeclaration) -> Vec<(String, PackageCheck)> {
    let forms = class.vocabulary.len() + class.patterns.len() + class.tools.len();
    let undenied = PackageCheck { width: Some(1), shown: "outside denials".into() };
    let polarity = if class.polarity == HitPolarity::Undenied { undenied } else { PackageCheck::on(true) };
    let of = |what: &str, check| (format!("class `{}`{what}", class.name), check);
    vec![
        of("", PackageCheck::on(true)),
        of(": vocabularies, patterns and tools", PackageCheck::at_least(forms)),
        of(": matching view", PackageCheck::on(class.view)),
        of(": other word forms", PackageCheck::on(class.inflect)),
        of(": any polarity", polarity),
    ]
}

impl PackageChecks {
    /// The checks of a package and of its rules.
    #[must_use]
    pub fn of(package: &PolicyPackage, compiled: &CompiledPackage) -> Self {
        let manifest = package.manifest();
        let stages = of_stages(manifest).into_iter().map(|(name, check)| (name.to_owned(), check));
        let classes = manifest.classes.iter().flat_map(of_class);
        let quantities = manifest
            .quantities
            .iter()
            .map(|quantity| (format!("quantity `{}`", quantity.name), PackageCheck::on(true)));
        let deferred = manifest.limits.defer.iter().map(|id| (format!("{DEFERRED}{id}"), PackageCheck::on(false)));
        let rules = compiled.rules.iter().filter_map(|rule| {
            let check = match rule.kind {
                RowKind::ForbidReject => PackageCheck::on(true),
                RowKind::ForbidDecompose => PackageCheck { width: Some(1), shown: "decompose".into() },
                RowKind::Permit | RowKind::Empty => return None,
            };
            Some((format!("rule {}", rule.id), check))
        });
        Self(stages.chain(classes).chain(quantities).chain(deferred).chain(rules).collect())
    }

    /// The checks of the stages that a package has off, in the order of their names.
    #[must_use]
    pub fn off(manifest: &PackageManifest) -> Vec<&'static str> {
        let off = of_stages(manifest).into_iter().filter(|(_, check)| check.width.is_none());
        let mut names: Vec<&str> = off.map(|(name, _)| name).collect();
        names.sort_unstable();
        names
    }

    /// The checks that let more pass in `after` than here.
    #[must_use]
    pub fn weaker_in(&self, after: &Self) -> Vec<WeakenedCheck> {
        let names = self.0.keys().chain(after.0.keys().filter(|name| !self.0.contains_key(*name)));
        let weaker = names.filter_map(|name| {
            let (before, after) = (self.get(name), after.get(name));
            let wider = match (before.width, after.width) {
                (Some(before), Some(after)) => after > before,
                (before, after) => before.is_some() && after.is_none(),
            };
            wider.then(|| WeakenedCheck { check: name.clone(), before: before.shown, after: after.shown })
        });
        weaker.collect()
    }

    /// A check by name. A class, quantity or rule that is not declared is off. A reject that no list defers is
    /// immediate.
    fn get(&self, name: &str) -> PackageCheck {
        self.0.get(name).cloned().unwrap_or_else(|| PackageCheck::on(name.starts_with(DEFERRED)))
    }

    /// One line `NAME = SHOWN [WIDTH]` for each check, in order of the names.
    #[must_use]
    pub fn lines(&self) -> String {
        let line = |(name, check): (&String, &PackageCheck)| {
            let width = check.width.map(|width| format!(" [{width}]")).unwrap_or_default();
            format!("{name} = {}{width}\n", check.shown)
        };
        self.0.iter().map(line).collect()
    }

    /// Parses the output of [`Self::lines`]. `None`: a line has another form.
    #[must_use]
    pub fn from_lines(lines: &str) -> Option<Self> {
        let check = |line: &str| {
            let (name, check) = line.split_once(" = ")?;
            let check = match check.strip_suffix(']').and_then(|check| check.split_once(" [")) {
                Some((shown, width)) => PackageCheck { width: Some(width.parse().ok()?), shown: shown.to_owned() },
                None if check == "off" => PackageCheck::on(false),
                None => return None,
            };
            Some((name.to_owned(), check))
        };
        lines.lines().map(check).collect::<Option<_>>().map(Self)
    }
}
