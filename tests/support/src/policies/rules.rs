//! Random packages: a manifest with few or many declarations, and rules that use these declarations.

use super::expressions::{Construct, Writer};
use super::{Constants, Coverage};
use crate::random::Random;
use portcullis_core::manifest::PackageManifest;
use portcullis_policy::package::MANIFEST_FILE;
use portcullis_policy::vocabulary::PolicyVocabulary;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) struct Source {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) coverage: Coverage,
    pub(super) constants: Constants,
}

pub(super) fn package(random: &mut Random) -> Source {
    let manifest = manifest(random);
    let parsed: PackageManifest = toml::from_str(&manifest).expect("the generated manifest parses");
    let vocabulary = PolicyVocabulary::new(&parsed);
    let (mut coverage, mut constants) = (Coverage::new(), Constants::default());
    let mut files = BTreeMap::from([(MANIFEST_FILE.to_owned(), manifest.into_bytes())]);
    let mut sources = [String::new(), String::new()];
    let rules = 2 + random.below(9);
    for number in 0..rules {
        let mut writer = Writer { random, vocabulary: &vocabulary, coverage: &mut coverage, constants: &mut constants };
        let text = rule(&mut writer, number, rules);
        sources[random.below(2)].push_str(&text);
    }
    for (name, source) in ["a.cedar", "rules/b.cedar"].into_iter().zip(sources) {
        files.insert(name.to_owned(), source.into_bytes());
    }
    Source { files, coverage, constants }
}

fn manifest(random: &mut Random) -> String {
    let mut text =
        String::from("[package]\nname = \"generated\"\nversion = \"1.0.0\"\ndescription = \"x\"\n[enumerations]\n");
    for name in ["domain", "audience", "temporal", "register"] {
        let count = *random.pick(&[1, 2, 3, 5, 8, 31, 32]);
        let values: Vec<_> = (0..count).map(|at| format!("\"{name}-{at}\"")).collect();
        let _ = writeln!(text, "{name} = [{}]", values.join(", "));
    }
    let depth = *random.pick(&[0, 1, 2, 3, 255]);
    let _ = writeln!(text, "[limits]\nmax_depth = {depth}");
    for at in 0..*random.pick(&[0, 1, 2, 3, 7, 40, 127, 128]) {
        let _ = writeln!(text, "[[class]]\nname = \"c{at}\"");
    }
    for at in 0..random.below(5) {
        let _ = writeln!(text, "[[quantity]]\nname = \"q{at}\"\n[quantity.units]\nmg = \"1\"");
    }
    text
}

fn rule(writer: &mut Writer<'_>, number: usize, rules: usize) -> String {
    let mut text = String::new();
    // With these prefixes, the bytewise order of the ids differs from the order of the rules in the file.
    let prefix = *writer.random.pick(&["A", "Z", "a", "M-", "9", "_"]);
    let _ = writeln!(text, "@id(\"{prefix}{}\")", (number * 7 + 3) % (rules * 7 + 1));
    // The first rule is a permit, because every package needs one.
    let permits = number == 0 || writer.random.chance(1, 3);
    if permits {
        writer.used(Construct::Permit);
        if writer.random.chance(1, 4) {
            writer.used(Construct::StagePolicy);
            text.push_str("@stage(\"policy\")\n");
        }
    } else {
        let decompose = writer.random.chance(2, 5);
        let entropy = writer.random.chance(2, 5);
        match (decompose, writer.random.chance(1, 2)) {
            (true, _) => {
                writer.used(Construct::ForbidDecompose);
                text.push_str("@outcome(\"decompose\")\n");
            }
            (false, true) => {
                writer.used(Construct::ForbidReject);
                text.push_str("@outcome(\"reject\")\n");
            }
            (false, false) => writer.used(Construct::ForbidRejectByDefault),
        }
        if entropy {
            writer.used(if decompose { Construct::EntropyDecompose } else { Construct::EntropyReject });
            text.push_str("@stage(\"entropy\")\n");
        }
    }
    if writer.random.chance(1, 3) {
        writer.used(Construct::Reason);
        text.push_str("@reason(\"because\")\n");
    }
    text.push_str(if permits { "permit (" } else { "forbid (" });
    text.push_str(&scope(writer));
    text.push_str(")\n");
    // Permits have few conditions, because otherwise almost no descriptor would pass stage 1.
    let clauses = if permits && writer.random.chance(1, 2) { 0 } else { 1 + writer.random.below(2) };
    match clauses {
        0 => writer.used(Construct::NoClause),
        1 => {}
        _ => writer.used(Construct::SeveralClauses),
    }
    for _ in 0..clauses {
        let depth = 1 + writer.random.below(3);
        let condition = writer.condition(depth);
        if writer.random.chance(1, 4) {
            writer.used(Construct::Unless);
            let _ = writeln!(text, "unless {{ {condition} }}");
        } else {
            let _ = writeln!(text, "when {{ {condition} }}");
        }
    }
    text.push_str(";\n\n");
    text
}

fn scope(writer: &mut Writer<'_>) -> String {
    let mut principal = "principal";
    if writer.random.chance(1, 4) {
        writer.used(Construct::ScopePrincipalIs);
        principal = "principal is Agent";
    }
    let action = match writer.random.below(9) {
        0 => {
            writer.used(Construct::ScopeActionEqual);
            format!("action == {}", writer.category())
        }
        1 => {
            writer.used(Construct::ScopeActionIn);
            format!("action in {}", writer.categories())
        }
        2 => {
            writer.used(Construct::ScopeActionInOne);
            format!("action in {}", writer.category())
        }
        _ => "action".to_owned(),
    };
    let mut resource = "resource";
    if writer.random.chance(1, 4) {
        writer.used(Construct::ScopeResourceIs);
        resource = "resource is Stream";
    }
    format!("{principal}, {action}, {resource}")
}
