//! Requirements P3 and P4: warnings computed from rows, a package's own tests, and other results of commands.
#![cfg(test)]

use portcullis_core::wire::Determination;
use portcullis_image::{ImageEvaluator, reference::row_matches};
use portcullis_policy::commands::{
    PolicyTestInput, PolicyTestVerdict, check, check_schema, create, eval_line, explain, format, format_source,
    parse_tests, run_tests, template,
};
use portcullis_policy::context::{ContextConverter, MissingFieldMode};
use portcullis_policy::error::PolicyProblemKind;
use portcullis_policy::package::{PRELUDE, PRELUDE_FILE};
use portcullis_policy::{ImagePolicySet, PolicyPackage, RowCapacity};
use portcullis_test_support::policies::Case;
use portcullis_test_support::policies::fixture::{PERMIT, files, forbid, package};
use portcullis_test_support::snapshot::assert_snapshot;
use serde_json::json;
use std::path::Path;

fn warnings(rules: &str) -> Vec<(PolicyProblemKind, String)> {
    let compiled = package(rules).compile().unwrap();
    compiled.warnings().iter().map(|w| (w.kind(), w.rule().unwrap_or_default().to_owned())).collect()
}

fn rule(id: &str, annotations: &str, condition: &str) -> String {
    format!("@id(\"{id}\") {annotations} forbid (principal, action, resource) when {{ {condition} }};\n")
}

#[test]
fn rules_that_can_never_match_are_warned_of() {
    let rules = [
        rule("A", "", "context.depth > 300"),
        rule("B", "", "context.depth > 3 && context.depth < 4"),
        rule("C", "", "context.classes.contains(\"dosage\") && context.classes.isEmpty()"),
        rule("D", "", "context.depth > 254"),
    ];
    let never = |id: &str| (PolicyProblemKind::NeverMatches, id.to_owned());
    assert_eq!(warnings(&rules.concat()), [never("A"), never("B"), never("C")]);
    let compiled = package(&rules.concat()).compile().unwrap();
    let text: Vec<_> = compiled.warnings().iter().map(|warning| warning.render()).collect();
    assert_snapshot("policy/warning-never", &text[1]);
}

#[test]
fn covered_rules_are_warned_of() {
    let covered = |id: &str| (PolicyProblemKind::Covered, id.to_owned());
    // A rule with the same outcome covers the rule.
    let two = [rule("NARROW", "", "context.depth > 5"), rule("WIDE", "", "context.depth > 3")];
    assert_eq!(warnings(&two.concat()), [covered("NARROW")]);
    // A reject covers a decompose.
    let two = [rule("NARROW", "@outcome(\"decompose\")", "context.depth > 5"), rule("WIDE", "", "context.depth > 3")];
    assert_eq!(warnings(&two.concat()), [covered("NARROW")]);
    // A decompose does not cover a reject, and a rule of the other bank covers nothing.
    let two = [rule("NARROW", "", "context.depth > 5"), rule("WIDE", "@outcome(\"decompose\")", "context.depth > 3")];
    assert_eq!(warnings(&two.concat()), []);
    let two = [rule("NARROW", "@stage(\"entropy\")", "context.depth > 5"), rule("WIDE", "", "context.depth > 3")];
    assert_eq!(warnings(&two.concat()), []);
    // Several rules together cover the rule, but none of them alone does.
    let legal = |id: &str, condition: &str| rule(id, "", &format!("context.domain == \"legal\" && {condition}"));
    let several = [
        legal("SPLIT", "context.classes.contains(\"dosage\")"),
        legal("X", "context.inert_prefix && !context.classes.contains(\"greeting\")"),
        legal("Y", "!context.inert_prefix && context.length < 100"),
        legal("Z1", "context.classes.contains(\"greeting\") && context.length <= 4000"),
        legal("Z2", "context.length > 99 && context.classes.contains(\"greeting\")"),
        legal("Z3", "!context.inert_prefix && context.length >= 100 && !(context.length > 70000)"),
    ];
    assert_eq!(warnings(&several.concat()), [covered("SPLIT")]);
    // One value is not covered, so there is no warning.
    let short = several.concat().replace("context.length < 100", "context.length < 99");
    assert_eq!(warnings(&short), []);
    // The rule is covered only because an unknown uncertainty counts as 1.
    let unknown = [
        rule("UNKNOWN", "", "!context.uncertainty_known"),
        rule("WIDE", "", "context.uncertainty.greaterThan(decimal(\"0.9\"))"),
    ];
    assert_eq!(warnings(&unknown.concat()), [covered("UNKNOWN")]);
    // Warns about a permit that forbids cover, and about a permit that another permit covers.
    let permits = "@id(\"P\") permit (principal, action == Action::\"negation\", resource);\n";
    assert_eq!(warnings(permits), [covered("P")]);
    let compiled = package(&two.concat().replace("@stage(\"entropy\")", "")).compile().unwrap();
    assert_snapshot("policy/warning-covered", &compiled.warnings()[0].render());
}

/// Removing a rule that `check` reports as covered changes no decision of a sampled descriptor.
#[test]
fn covered_rules_decide_nothing() {
    let (mut covered, mut kept) = (0, 0);
    for seed in 0..150 {
        let case = Case::generate(5_000 + seed);
        let warned = case.compiled.warnings();
        kept += case.compiled.rules.len() - warned.len();
        for warning in warned.iter().filter(|warning| warning.kind() == PolicyProblemKind::Covered) {
            let place = warning.place().unwrap();
            let whole = case.compiled.rule(warning.rule().unwrap()).unwrap().place.clone().unwrap();
            assert_eq!(place.offset, whole.offset);
            let mut files = case.package.files().clone();
            let text = String::from_utf8(files[&whole.file].clone()).unwrap();
            let rest = format!("{}{}", &text[..whole.offset], &text[whole.offset + whole.length..]);
            files.insert(whole.file.clone(), rest.into_bytes());
            let Ok(without) = PolicyPackage::from_files(files).unwrap().compile() else { continue };
            covered += 1;
            let (a, b) = (ImageEvaluator::new(&case.compiled.image), ImageEvaluator::new(&without.image));
            for d in case.descriptors().take(300) {
                assert_eq!(a.evaluate(&d).policy.outcome, b.evaluate(&d).policy.outcome, "seed {seed}");
                assert_eq!(a.evaluate(&d).entropy.outcome, b.evaluate(&d).entropy.outcome, "seed {seed}");
            }
        }
    }
    println!("{covered} covered rules taken out, {kept} rules without a warning");
    assert!(covered > 40 && kept > 400, "{covered} covered, {kept} kept");
}

#[test]
fn check_reports_rows_of_rows_available() {
    let mut with = files(&format!("{PERMIT}{}", forbid("context.length != 7")));
    let schema = PolicyPackage::from_files(with.clone()).unwrap().schema();
    with.insert("policy.cedarschema".into(), schema.into_bytes());
    let package = PolicyPackage::from_files(with).unwrap();
    let report = check(&package, RowCapacity::default()).unwrap();
    let [policy, entropy] = &report.banks;
    assert_eq!((policy.rows, policy.capacity, entropy.rows, entropy.capacity), (6, 256, 1, 64));
    let rule = policy.rules.iter().find(|rule| rule.id == "RULE").unwrap();
    assert_eq!(rule.rows, 2);
    assert!(report.warnings.is_empty());
    let text = report.to_string();
    assert!(text.contains("policy bank: 6 of 256 rows") && text.contains("   2  forbid_reject    RULE"), "{text}");
    check(&self::package(""), RowCapacity::default()).unwrap_err();
}

#[test]
fn a_new_package_compiles_checks_and_passes_its_tests() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("policies/my-policy");
    create(&dir).unwrap();
    let package = PolicyPackage::load(&dir).unwrap();
    assert_eq!(package.manifest().package.name, "my-policy");
    assert_eq!(*package.files(), template("my-policy").unwrap());
    let report = check(&package, RowCapacity::default()).unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    let tests = parse_tests(&package).unwrap();
    let results = run_tests(&package, &report.compiled, &tests, |_, _, _| Err("no text".into())).unwrap();
    assert!(results.len() >= 5);
    assert!(results.iter().all(|result| result.failure.is_none()), "{results:?}");
    assert!(format(&package).unwrap().iter().all(|file| !file.changed), "{:?}", format(&package));
    assert!(create(&dir).unwrap_err().to_string().contains("exists"));
    assert!(create(&folder.path().join("a b")).unwrap_err().to_string().contains("a name is"));
    check_schema(&package).unwrap();
}

#[test]
fn tests_that_fail_say_why() {
    let mut with = files(&format!("{PERMIT}{}", forbid("context.classes.contains(\"dosage\")")));
    let lines = [
        json!({"name": "right", "category": "assertion", "context": {"classes": ["dosage"]},
            "expect": {"determination": "reject", "stage": "policy", "rule": "RULE"}}),
        json!({"name": "determination", "category": "assertion", "context": {"classes": ["dosage"]},
            "expect": {"determination": "admit"}}),
        json!({"name": "rule", "category": "reference", "context": {},
            "expect": {"determination": "reject", "rule": "RULE"}}),
        json!({"name": "stage", "category": "assertion", "context": {"anchor": "ambiguous"},
            "expect": {"determination": "decompose", "stage": "entropy"}}),
        json!({"name": "context", "category": "assertion", "context": {"domain": "medcial"},
            "expect": {"determination": "admit"}}),
        json!({"name": "text", "text": "hello", "expect": {"determination": "admit"}}),
        json!({"name": "text too", "text": "boom", "expect": {"determination": "admit"}}),
    ];
    with.insert("tests.jsonl".into(), lines.map(|line| line.to_string()).join("\n").into_bytes());
    let package = PolicyPackage::from_files(with).unwrap();
    let tests = parse_tests(&package).unwrap();
    assert_eq!(tests[5].input, PolicyTestInput::Text { text: "hello".into(), task: Default::default() });
    let results = run_tests(&package, &package.compile().unwrap(), &tests, |_, text, _| {
        let judged = PolicyTestVerdict { determination: Determination::Admit, stage: None, rule: None };
        if text == "hello" { Ok(judged) } else { Err("the mapping refused it".into()) }
    });
    let text: Vec<_> = results.unwrap().iter().map(|r| format!("{} {}: {:?}", r.line, r.name, r.failure)).collect();
    assert_snapshot("policy/tests-failing", &text.join("\n"));
}

#[test]
fn eval_reads_a_context_a_line() {
    let package = package("");
    let contexts = ContextConverter::new(package.vocabulary());
    let d = contexts.neutral();
    let (category, mut value) = contexts.json(&d).unwrap();
    value["category"] = category.into();
    assert_eq!(eval_line(contexts, &value.to_string()).unwrap(), d);
    value["novelty"] = json!({"__extn": {"fn": "decimal", "arg": "0.25"}});
    assert_eq!(eval_line(contexts, &value.to_string()).unwrap().novelty.get(), 2500);
    value["novelty"] = json!({"fn": "decimal", "arg": "1.0"});
    assert_eq!(eval_line(contexts, &value.to_string()).unwrap().novelty.get(), 10_000);
    for bad in
        ["", "[]", "{}", "{\"category\": 3}", "{\"category\": \"assertion\", \"x\": 1}", "{\"category\": \"asertion\"}"]
    {
        eval_line(contexts, bad).unwrap_err();
    }
}

#[test]
fn contexts_and_descriptors_are_one_to_one() {
    for seed in 0..30 {
        let case = Case::generate(seed);
        let contexts = ContextConverter::new(case.package.vocabulary());
        for d in case.descriptors().take(50) {
            let (category, value) = contexts.json(&d).unwrap();
            let mut back = contexts.descriptor(&category, &value, MissingFieldMode::Refuse).unwrap();
            (back.sequence, back.commitment, back.crc) = (d.sequence, d.commitment, d.crc);
            (back.validation_outcome, back.validation_reason) = (d.validation_outcome, d.validation_reason);
            (back.lineage_outcome, back.lineage_reason) = (d.lineage_outcome, d.lineage_reason);
            assert_eq!(back, d);
        }
    }
}

#[test]
fn explain_names_what_keeps_a_row_from_matching() {
    let package = package(&format!(
        "{}{}",
        rule(
            "DOSE",
            "",
            "context.classes.contains(\"dosage\") && !context.established.contains(\"disclaimer\") \
             && context.quantity has dose_mg && context.quantity.dose_mg > 4000"
        ),
        rule(
            "SURE",
            "@stage(\"entropy\")",
            "context.domain == \"medical\" && context.uncertainty.greaterThan(decimal(\"0.12\"))"
        ),
    ));
    let compiled = package.compile().unwrap();
    let contexts = ContextConverter::new(package.vocabulary());
    let context = json!({"classes": ["dosage"], "established": ["disclaimer"], "quantity": {"dose_mg": 4000},
        "domain": "medical", "uncertainty": "0.1200", "uncertainty_known": true});
    let d = contexts.descriptor("assertion", &context, MissingFieldMode::Neutral).unwrap();
    let explanation = explain(&compiled, package.vocabulary(), &d);
    assert_eq!(explanation.decision.determination, Determination::Admit);
    assert_snapshot("policy/explain", &serde_json::to_string_pretty(&explanation).unwrap());
}

/// A row that does not match has at least one named reason, and a row that matches has none.
#[test]
fn every_miss_has_a_reason() {
    for seed in 0..40 {
        let case = Case::generate(seed);
        for d in case.descriptors().take(40) {
            let explanation = explain(&case.compiled, case.package.vocabulary(), &d);
            for bank in &explanation.banks {
                let rows = case.compiled.image.rows(bank.bank);
                let matching = (0..rows.len()).filter(|row| row_matches(&rows[*row], &d)).count();
                assert_eq!(bank.matched.len(), matching);
                assert_eq!(bank.answer.row.is_some(), matching > 0);
                for miss in &bank.nearest {
                    assert!(!row_matches(&rows[usize::from(miss.row)], &d));
                    assert!(!miss.failed.is_empty(), "seed {seed}: row {} misses by nothing", miss.row);
                }
            }
        }
    }
}

#[test]
fn sources_are_formatted_by_cedar() {
    assert_eq!(format_source(PRELUDE_FILE, PRELUDE).unwrap(), PRELUDE);
    let long = "@id(\"A\") forbid(principal,action,resource)when{context.depth>3};";
    let text = format_source("x", long).unwrap();
    assert_eq!(text, "@id(\"A\")\nforbid (principal, action, resource)\nwhen { context.depth > 3 };\n");
    assert_eq!(format_source("x", &text).unwrap(), text);
    assert_eq!(format_source("x", "").unwrap(), "");
    format_source("x", "forbid").unwrap_err();
}

/// As the page about the text lane says: one shipped class that a rule asks for is decided by the host alone.
#[test]
fn shipped_classes_that_only_the_host_decides_about() {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let mut found = Vec::new();
    let entries = std::fs::read_dir(policies).unwrap().map(|entry| entry.unwrap().path());
    for path in entries.filter(|path| path.is_dir()) {
        let package = PolicyPackage::load(&path).unwrap();
        let lane = ImagePolicySet::alone(package.clone()).unwrap().text_lane().unwrap();
        let names = lane.unconfirmed().iter().map(|class| package.manifest().classes[class.index()].name.clone());
        found.extend(names.map(|name| (path.file_name().unwrap().to_str().unwrap().to_owned(), name)));
    }
    assert_eq!(found, [("clinical".to_owned(), "disclaimer".to_owned())]);
}
