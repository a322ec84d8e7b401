//! The checks of two versions of a package are compared: what a version switches off or widens is named, and a shipped
//! package whose checks shrink has a new major version.
#![cfg(test)]

use portcullis_policy::PolicyPackage;
use portcullis_policy::checks::PackageChecks;
use portcullis_policy::commands::diff;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The checks of the versions of the shipped packages, as lines. `UPDATE_SNAPSHOTS=1` adds new versions.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/policy-checks.txt");

const MANIFEST: &str = r#"
[package]
name = "made"
version = "1.0.0"
description = "for tests"
#package

[enumerations]
domain = ["general"]
audience = ["public"]
temporal = ["present"]
register = ["plain"]

[limits]
max_depth = 2
#limits

[[class]]
name = "greeting"
pattern = [{ regex = "x{1,3}" }]
#class
"#;

const PERMIT: &str = "@id(\"ALLOW\")\npermit (principal, action, resource);\n";

/// A package with these keys at the end of a section, or with this section at the end.
fn made(place: &str, keys: &str) -> PolicyPackage {
    with_rules(place, keys, "")
}

fn with_rules(place: &str, keys: &str, rules: &str) -> PolicyPackage {
    let marker = format!("#{place}");
    let manifest = if MANIFEST.contains(&marker) {
        MANIFEST.replace(&marker, keys)
    } else {
        format!("{MANIFEST}\n[{place}]\n{keys}")
    };
    let files = [("policy.toml", manifest), ("rules.cedar", format!("{PERMIT}{rules}"))];
    PolicyPackage::from_files(files.map(|(path, text)| (path.to_owned(), text.into_bytes())).into()).unwrap()
}

fn plain() -> PolicyPackage {
    made("package", "")
}

/// What B lets pass that A refuses, in words.
fn weaker(a: &PolicyPackage, b: &PolicyPackage) -> Vec<String> {
    let (x, y) = (a.compile().unwrap(), b.compile().unwrap());
    diff((a, &x), (b, &y)).unwrap().weaker.iter().map(ToString::to_string).collect()
}

/// Each check that the second package switches off or widens is named, and none that becomes stricter.
#[test]
fn checks_that_are_switched_off_or_widened_are_named() {
    let off = |name: &str| format!("check switched off: {name} (it was on)");
    let wider = |what: &str| format!("check widened: {what}");
    let continuity = |keys: &str| made("continuity", keys);
    let rule = |outcome: &str| {
        let head = format!(
            "@id(\"RULE\")\n@outcome(\"{outcome}\")\n@reason(\"a reason\")\nforbid (principal, action, resource)"
        );
        with_rules("package", "", &format!("{head}\nwhen {{ context.classes.contains(\"greeting\") }};\n"))
    };
    for (old, new, expected) in [
        (plain(), continuity("presupposition = false"), off("presupposition")),
        (continuity("definite = true"), plain(), off("presupposition of definite nouns")),
        (plain(), continuity("contradiction = false"), off("contradiction and regression")),
        (plain(), continuity("discontinuity = false"), off("discontinuity")),
        (continuity("topic = 77"), continuity("topic = 78"), wider("change of topic was 77 and is 78")),
        (continuity("topic = 77"), plain(), "check switched off: change of topic (it was 77)".into()),
        (plain(), continuity("repetitions = 4"), wider("repetition was 3 and is 4")),
        (plain(), continuity("recent = 15"), wider("repetition: recent transitions was 16 and is 15")),
        (
            made("trust_slope", "warning = 90\ncorrection = 95\nhalt = 100"),
            plain(),
            "check switched off: trust slope: halt (it was 100)".into(),
        ),
        (
            made("trust_slope", "warning = 100"),
            made("trust_slope", "warning = 101"),
            wider("trust slope: warning was 100 and is 101"),
        ),
        (made("limits", "span_bytes = 99"), plain(), wider("length of a span was 99 and is 2048")),
        (rule("reject"), with_defer(), off("immediate reject by RULE")),
        (made("package", "closed_world = true"), plain(), off("closed world")),
        (plain(), made("package", "citations = \"any\""), off("citations are resolved")),
        (plain(), made("package", "links = \"any\""), off("links")),
        (plain(), made("package", "links = \"listed\"\nhosts = [\"a.example\"]"), wider("links was on and is 1 hosts")),
        (made("package", "loads = \"none\""), plain(), off("loads")),
        (
            plain(),
            made("prefilter", "threshold = \"guarded\""),
            wider("pre-execution filter: threshold was notice and is guarded"),
        ),
        (plain(), made("class", "view = false"), off("class `greeting`: matching view")),
        (
            plain(),
            made("class", "polarity = \"undenied\""),
            wider("class `greeting`: any polarity was on and is outside denials"),
        ),
        (rule("reject"), plain(), off("rule RULE")),
        (rule("reject"), rule("decompose"), wider("rule RULE was on and is decompose")),
        (made("class", "[[class]]\nname = \"other\""), plain(), off("class `other`")),
    ] {
        let found = weaker(&old, &new);
        assert!(found.contains(&expected), "{expected}: {found:?}");
        let back = weaker(&new, &old);
        assert!(back.is_empty(), "{expected}: {back:?}");
        assert!(weaker(&new, &new).is_empty());
    }
}

fn with_defer() -> PolicyPackage {
    let rule = "@id(\"RULE\")\n@outcome(\"reject\")\n@reason(\"a reason\")\nforbid (principal, action, resource)\n\
                when { context.classes.contains(\"greeting\") };\n";
    with_rules("limits", "defer = [\"RULE\"]", rule)
}

#[test]
fn checks_that_are_off_are_named() {
    let package = continuity_off();
    let off = PackageChecks::off(package.manifest());
    for check in ["contradiction and regression", "repetition", "presupposition", "closed world", "trust slope: halt"] {
        assert!(off.contains(&check), "{check}: {off:?}");
    }
    assert!(!off.contains(&"discontinuity") && !off.contains(&"length of a span"), "{off:?}");
}

fn continuity_off() -> PolicyPackage {
    made("continuity", "presupposition = false\ncontradiction = false\nrepetitions = 0")
}

/// A package's name, and its version as numbers.
type Versioned = (String, [u32; 3]);
type Record = BTreeMap<Versioned, PackageChecks>;

fn recorded() -> Record {
    let text = std::fs::read_to_string(RECORD).unwrap_or_default();
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()).map(|block| {
        let (head, lines) = block.split_once('\n').unwrap();
        let (name, version) = head.split_once(' ').unwrap();
        let checks =
            PackageChecks::from_lines(lines).unwrap_or_else(|| panic!("{RECORD} has a line of another form: {head}"));
        ((name.to_owned(), numbers(version)), checks)
    });
    blocks.collect()
}

fn numbers(version: &str) -> [u32; 3] {
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

/// What a package's version lets pass that an earlier version of the same major version refused.
fn shrunk(record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    for ((name, version), checks) in record {
        let earlier = record.iter().filter(|((n, v), _)| n == name && v[0] == version[0] && v < version);
        for ((_, before), old) in earlier {
            found.extend(
                old.weaker_in(checks).iter().map(|check| format!("{name} {version:?} after {before:?}: {check}")),
            );
        }
    }
    found
}

/// A shipped package whose checks shrink is a new major version. The record has the checks of each version.
#[test]
fn shipped_packages_do_not_shrink_within_a_major_version() {
    let mut record = recorded();
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1");
    let folders = std::fs::read_dir(Path::new(ROOT).join("policies")).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<_> = folders.filter(|folder| folder.join("policy.toml").exists()).collect();
    assert!(folders.len() > 5, "{folders:?}");
    for folder in folders {
        let package = PolicyPackage::load(&folder).unwrap();
        let checks = PackageChecks::of(&package, &package.compile().unwrap());
        assert_eq!(PackageChecks::from_lines(&checks.lines()).as_ref(), Some(&checks));
        let identity = &package.manifest().package;
        let key = (identity.name.clone(), numbers(&identity.version));
        let weaker = record.get(&key).map(|old| old.weaker_in(&checks)).unwrap_or_default();
        assert_eq!(weaker, [], "{} {}: raise the major version", identity.name, identity.version);
        if update {
            record.insert(key.clone(), checks.clone());
        }
        assert!(
            record.get(&key) == Some(&checks),
            "{RECORD} lacks these checks of {} {}; `UPDATE_SNAPSHOTS=1 cargo test -p portcullis-policy --test checks` \
             adds them:\n{}",
            identity.name,
            identity.version,
            checks.lines()
        );
    }
    assert_eq!(shrunk(&record), Vec::<String>::new(), "raise the major version");
    if update {
        let mut text = String::new();
        for ((name, [major, minor, patch]), checks) in &record {
            writeln!(text, "{name} {major}.{minor}.{patch}\n{}", checks.lines()).unwrap();
        }
        std::fs::write(RECORD, format!("{}\n", text.trim_end())).unwrap();
    }
}

/// Version 2.0.0 of `pii` would not do as 1.2.0.
#[test]
fn a_smaller_package_without_a_new_major_version_is_found() {
    let mut record = recorded();
    let two = record.get(&("pii".to_owned(), [2, 0, 0])).unwrap().clone();
    record.insert(("pii".to_owned(), [1, 2, 0]), two);
    let found = shrunk(&record);
    for check in ["contradiction and regression", "repetition", "length of a span"] {
        let named = |line: &String| line.contains("pii [1, 2, 0]") && line.contains(check);
        assert!(found.iter().any(named), "{check}: {found:?}");
    }
}
