//! Requirement P4: compares two versions of a policy by their decisions. Each witness of a difference is confirmed
//! independently. If both versions decide a sampled descriptor differently, the solver must have found that pair of
//! rules.
#![cfg(test)]

use portcullis_core::wire::Descriptor;
use portcullis_image::ImageEvaluator;
use portcullis_policy::commands::{PackageDiff, RuleChangeKind, diff};
use portcullis_policy::context::{ContextConverter, MissingFieldMode};
use portcullis_policy::decision::DescriptorDecision;
use portcullis_policy::{CompiledPackage, PolicyPackage};
use portcullis_test_support::policies::Case;
use portcullis_test_support::policies::fixture::{MANIFEST, PERMIT, files, files_with, forbid, package};
use portcullis_test_support::random::Random;
use std::collections::BTreeSet;

fn compare(a: &PolicyPackage, b: &PolicyPackage) -> PackageDiff {
    let (x, y) = (a.compile().unwrap(), b.compile().unwrap());
    let found = diff((a, &x), (b, &y)).unwrap();
    confirm(a, &x, b, &y, &found);
    found
}

fn decide(compiled: &CompiledPackage, d: &Descriptor) -> DescriptorDecision {
    judge(compiled, &ImageEvaluator::new(&compiled.image), d)
}

fn judge(compiled: &CompiledPackage, evaluator: &ImageEvaluator, d: &Descriptor) -> DescriptorDecision {
    DescriptorDecision::new(compiled, d, &evaluator.evaluate(d))
}

/// Differences that a rejecting rule hides: differences in permits, and in decompose rules of the prelude.
fn behind_a_reject() -> BTreeSet<(String, String)> {
    let behind = ["admit by admit", "decompose by ANCHOR-AMBIGUOUS"];
    behind.into_iter().map(|other| ("reject by RULE".to_owned(), other.to_owned())).collect()
}

/// Confirms witnesses with both evaluators, and converts both contexts back into descriptors.
fn confirm(a: &PolicyPackage, x: &CompiledPackage, b: &PolicyPackage, y: &CompiledPackage, found: &PackageDiff) {
    for witness in &found.witnesses {
        assert_ne!(witness.a.determination, witness.b.determination);
        for (package, compiled, context, descriptor, decision) in [
            (a, x, &witness.context_a, &witness.descriptor_a, &witness.a),
            (b, y, &witness.context_b, &witness.descriptor_b, &witness.b),
        ] {
            assert_eq!(decide(compiled, descriptor), *decision);
            let contexts = ContextConverter::new(package.vocabulary());
            let read = contexts.descriptor(&witness.category, context, MissingFieldMode::Refuse).unwrap();
            assert_eq!(read, *descriptor);
        }
    }
}

fn label(decision: &DescriptorDecision) -> String {
    let by = decision.rule.clone().unwrap_or_else(|| "admit".into());
    format!("{} by {by}", decision.determination.name())
}

fn pairs(found: &PackageDiff) -> BTreeSet<(String, String)> {
    found.witnesses.iter().map(|w| (label(&w.a), label(&w.b))).collect()
}

#[test]
fn a_policy_decides_as_itself() {
    for seed in 0..40 {
        let case = Case::generate(seed);
        let found = compare(&case.package, &case.package);
        assert!(found.witnesses.is_empty(), "seed {seed}: {:#?}", found.witnesses);
        assert!(found.decide_alike(), "seed {seed}: {:?}", found.undecided);
        assert!(found.rules.is_empty() && found.declarations.is_empty());
    }
}

#[test]
fn a_moved_bound_is_found_at_the_bound() {
    let bound = |n: i64| package(&forbid(&format!("context.quantity has dose_mg && context.quantity.dose_mg > {n}")));
    let found = compare(&bound(4000), &bound(4001));
    assert_eq!(pairs(&found), behind_a_reject());
    // Only one value in 2^32 makes a difference, so sampling would not find it.
    assert!(found.witnesses.iter().all(|w| w.context_a["quantity"]["dose_mg"] == 4001));
    assert_eq!(found.rules.len(), 1);
    assert_eq!(found.rules[0].change, RuleChangeKind::Changed(vec!["matches differently: 1 rows became 1".into()]));
}

#[test]
fn each_kind_of_change_is_named() {
    let text = "context.classes.contains(\"dosage\") && context.novelty.greaterThan(decimal(\"0.5\"))";
    let plain = package(&forbid(text));
    let changed = |rules: &str| compare(&plain, &package(rules));
    let only = |found: &PackageDiff| found.rules[0].change.clone();

    let decompose = changed(&forbid(text).replace("forbid", "@outcome(\"decompose\") forbid"));
    assert_eq!(only(&decompose), RuleChangeKind::Changed(vec!["forbid_reject became forbid_decompose".into()]));
    let split = ["decompose by ANCHOR-AMBIGUOUS", "decompose by RULE"];
    let split: BTreeSet<_> = split.into_iter().map(|by| ("reject by RULE".to_owned(), by.to_owned())).collect();
    assert_eq!(pairs(&decompose), split);
    // At the depth limit both versions reject, so no witness has that depth.
    assert!(decompose.witnesses.iter().all(|w| w.descriptor_a.depth < 2));

    let moved = changed(&forbid(text).replace("forbid", "@stage(\"entropy\") forbid"));
    assert_eq!(only(&moved), RuleChangeKind::Changed(vec!["moved from the policy bank to the entropy bank".into()]));
    // An ambiguous anchor is split at stage 1, before a reject at stage 4.
    let split = ("reject by RULE".to_owned(), "decompose by ANCHOR-AMBIGUOUS".to_owned());
    assert_eq!(pairs(&moved), BTreeSet::from([split]));

    let reason = changed(&forbid(text).replace("forbid", "@reason(\"x\") forbid"));
    assert_eq!(only(&reason), RuleChangeKind::Changed(vec!["another reason is given".into()]));
    assert!(reason.decide_alike());

    let renamed = changed(&forbid(text).replace("RULE", "OTHER"));
    assert_eq!(
        renamed.rules.iter().map(|r| (r.id.as_str(), &r.change)).collect::<Vec<_>>(),
        [("OTHER", &RuleChangeKind::Added), ("RULE", &RuleChangeKind::Removed)]
    );
    assert!(renamed.decide_alike());

    let rewritten = changed(&forbid(&format!("!!({text}) && true")));
    assert!(rewritten.rules.is_empty() && rewritten.decide_alike());

    let mut depth = files(&format!(
        "{PERMIT}{}",
        forbid("context.depth > 300").replace("forbid", "@outcome(\"decompose\") forbid")
    ));
    let with = |manifest: &str, files: &mut std::collections::BTreeMap<String, Vec<u8>>| {
        files.insert("policy.toml".into(), manifest.as_bytes().to_vec());
        PolicyPackage::from_files(files.clone()).unwrap()
    };
    let found =
        compare(&with(MANIFEST, &mut depth), &with(&MANIFEST.replace("max_depth = 2", "max_depth = 3"), &mut depth));
    assert_eq!(found.declarations, ["limits.max_depth: 2 became 3"]);
    assert_eq!(
        pairs(&found),
        BTreeSet::from([("reject by ANCHOR-AMBIGUOUS".into(), "decompose by ANCHOR-AMBIGUOUS".into())])
    );
    assert!(found.witnesses.iter().all(|w| w.descriptor_a.depth == 2));
}

#[test]
fn declarations_are_compared_by_name() {
    // If only the order of its classes and values changes, a policy makes the same decisions.
    let rules = format!("{PERMIT}{}", forbid("context.classes.contains(\"greeting\") && context.domain == \"legal\""));
    let reordered = MANIFEST
        .replace("\"general\", \"medical\", \"legal\"", "\"legal\", \"general\", \"medical\"")
        .replace("\"dosage\"", "\"tmp\"")
        .replace("\"greeting\"", "\"dosage\"")
        .replace("\"tmp\"", "\"greeting\"");
    let a = PolicyPackage::from_files(files_with(MANIFEST, &rules)).unwrap();
    let b = PolicyPackage::from_files(files_with(&reordered, &rules)).unwrap();
    let found = compare(&a, &b);
    assert!(found.rules.is_empty() && found.decide_alike(), "{found:#?}");

    // If a class exists in one package only, the mapping of the other package never finds it.
    let without = MANIFEST.replace("[[class]]\nname = \"greeting\"\n", "");
    let c = PolicyPackage::from_files(files_with(&without, PERMIT)).unwrap();
    let found = compare(&a, &c);
    assert!(
        found.declarations.contains(&"class no longer declared: `greeting`".to_owned()),
        "{:?}",
        found.declarations
    );
    assert_eq!(pairs(&found), behind_a_reject());
    assert_eq!(found.witnesses[0].context_a["classes"], serde_json::json!(["greeting"]));
    assert_eq!(found.witnesses[0].context_b["classes"], serde_json::json!([]));

    // If only one package declares a value, contexts with that value cannot be compared.
    let narrower = MANIFEST.replace("\"general\", \"medical\", \"legal\"", "\"general\", \"medical\"");
    let d = PolicyPackage::from_files(files_with(&narrower, PERMIT)).unwrap();
    let found = compare(&a, &d);
    assert!(found.declarations.contains(&"domain no longer declared: `legal`".to_owned()));
    assert!(found.decide_alike());

    let foreign = MANIFEST.replace("\"general\", \"medical\", \"legal\"", "\"cooking\"");
    let e = PolicyPackage::from_files(files_with(&foreign, PERMIT)).unwrap();
    let found = compare(&a, &e);
    assert!(found.declarations.last().unwrap().contains("no descriptor can be put to both"));
}

/// If some contexts cannot be compared, the packages do not count as alike, and the result names the declarations that
/// prevent the comparison.
#[test]
fn packages_that_cannot_be_compared_in_full_are_not_alike() {
    let a = package("");
    let changed = |from: &str, to: &str| {
        assert!(MANIFEST.contains(from), "{from}");
        compare(&a, &PolicyPackage::from_files(files_with(&MANIFEST.replacen(from, to, 1), PERMIT)).unwrap())
    };
    let domains = "\"general\", \"medical\", \"legal\"";
    for (from, to, named) in [
        (domains, "\"cooking\"", "share no domain"),
        (domains, "\"general\", \"medical\", \"law\"", "domain newly declared: `law`"),
        (
            domains,
            "\"legal\", \"general\", \"medical\"",
            "domain of a context that names none: `general` became `legal`",
        ),
        ("[limits]", "[continuity]\ntopic = 77\n[limits]", "continuity changed"),
        ("[limits]", "[limits]\nspan_bytes = 99", "limits of the loop changed"),
        ("name = \"greeting\"", "name = \"greeting\"\npattern = [{ regex = \"x{1,3}\" }]", "recognised differently"),
        ("version = \"1.0.0\"", "version = \"1.0.0\"\nlanguage = \"de\"", "language"),
    ] {
        let found = changed(from, to);
        assert!(!found.nothing_differs() && found.witnesses.is_empty(), "{to}: {found:#?}");
        assert!(found.not_compared.iter().any(|line| line.contains(named)), "{to}: {:?}", found.not_compared);
        assert!(found.not_compared.iter().all(|line| found.declarations.contains(line)));
    }
    // A change of the version affects no decision, so the comparison is complete.
    assert!(changed("version = \"1.0.0\"", "version = \"1.0.1\"").nothing_differs());
    assert!(changed("name = \"greeting\"", "name = \"greeting\"\ndescription = \"a word\"").nothing_differs());
    // Both packages together have more quantities than a descriptor can hold.
    let slots = |names: &[&str]| {
        let slot = |name: &&str| format!("[[quantity]]\nname = \"{name}\"\nunits = {{ mg = \"1\" }}\n");
        let test = |name: &&str| format!("context.quantity has {name} && context.quantity.{name} > 1");
        let (base, _) = MANIFEST.split_once("[[quantity]]").unwrap();
        let manifest = format!("{base}{}", names.iter().map(slot).collect::<String>());
        let rule = forbid(&names.iter().map(test).collect::<Vec<_>>().join(" || "));
        PolicyPackage::from_files(files_with(&manifest, &format!("{PERMIT}{rule}"))).unwrap()
    };
    let found = compare(&slots(&["a", "b", "c"]), &slots(&["d", "e", "f"]));
    assert!(found.not_compared.iter().any(|line| line.contains("6 quantities together")), "{:?}", found.not_compared);
    assert!(!found.nothing_differs());
}

/// A generated package with one operator, outcome or scope replaced; `None` if there is none or it does not compile.
fn mutated(case: &Case, random: &mut Random) -> Option<PolicyPackage> {
    let mut files = case.package.files().clone();
    let path = *random.pick(&["a.cedar", "rules/b.cedar"]);
    let text = String::from_utf8(files[path].clone()).unwrap();
    let swaps = [
        ("&&", "||"),
        ("||", "&&"),
        (" < ", " <= "),
        (" > ", " != "),
        ("==", "!="),
        ("lessThan(", "lessThanOrEqual("),
        ("contains(", "containsAny(["),
        ("containsAll(", "containsAny("),
        ("@outcome(\"decompose\")", "@outcome(\"reject\")"),
        ("@outcome(\"reject\")", "@outcome(\"decompose\")"),
        ("when {", "unless {"),
        ("forbid (principal, action, resource)", "forbid (principal, action == Action::\"negation\", resource)"),
    ];
    let (from, to) = *random.pick(&swaps);
    let places: Vec<_> = text.match_indices(from).map(|(at, _)| at).collect();
    let at = *places.get(random.below(places.len()))?;
    let changed = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
    files.insert(path.into(), changed.into_bytes());
    PolicyPackage::from_files(files).ok().filter(|package| package.compile().is_ok())
}

#[test]
fn sampling_finds_nothing_that_solving_missed() {
    let mut random = Random::new(3);
    let (mut compared, mut differing, mut witnesses, mut undecided, mut sampled) = (0, 0, 0, 0, 0);
    for seed in 0..240 {
        let case = Case::generate(1_000 + seed);
        let Some(other) = mutated(&case, &mut random) else { continue };
        let changed = case.with_package(other.clone());
        let found = compare(&case.package, &other);
        let known = pairs(&found);
        compared += 1;
        differing += usize::from(!found.witnesses.is_empty());
        witnesses += found.witnesses.len();
        undecided += found.undecided.len();
        let evaluators = [ImageEvaluator::new(&case.compiled.image), ImageEvaluator::new(&changed.compiled.image)];
        for d in case.descriptors().take(400).chain(changed.descriptors().take(400)) {
            // The comparison does not cover the host stages.
            let mut d = d;
            (d.validation_outcome, d.lineage_outcome) = (1, 1);
            let a = judge(&case.compiled, &evaluators[0], &d);
            let b = judge(&changed.compiled, &evaluators[1], &d);
            if a.determination != b.determination {
                sampled += 1;
                let pair = (label(&a), label(&b));
                let found = known.contains(&pair) || found.undecided.contains(&pair);
                assert!(found, "seed {seed}: {pair:?} is not among {known:?}");
            }
        }
    }
    println!(
        "{compared} versions, {differing} decide differently, {witnesses} witnesses, {undecided} undecided, {sampled} samples"
    );
    assert!(compared > 60 && differing > 30 && sampled > 1_000);
    assert_eq!(undecided, 0);
}
