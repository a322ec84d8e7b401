//! Compares three evaluators of policies in one run: ours in software, `cedar-policy` and `regorus`. All judge the same
//! descriptors under the same policies. At the end, the bench prints the ratios of their times.
//!
//! There are two images. The first is the PII policy, with a request that passes and one request per rule. The second
//! has 256 rows that constrain every column. Each row except the last fails only in its last column, so no row can be
//! decided early. Requests for Cedar and Rego are prepared beforehand, so only evaluation is measured. Before the
//! measurement, all three must give the expected answer to each request.
//!
//! The printed table uses medians computed here. Criterion's files could come from an earlier run.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::float_arithmetic,
    reason = "a benchmark stops at its first surprise"
)]

use cedar_policy::{Authorizer, Decision, Entities};
use criterion::Criterion;
use portcullis_core::wire::Descriptor;
use portcullis_image::{BankOutcome, ImageEvaluator};
use portcullis_policy::context::{ContextConverter, MissingFieldMode};
use portcullis_policy::{CompiledPackage, PolicyPackage, RowCapacity};
use portcullis_test_support::policies::fixture::{MANIFEST, PERMIT, files_with};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A policy, the same policy in Rego, and requests for both.
struct Subject {
    name: &'static str,
    package: PolicyPackage,
    compiled: CompiledPackage,
    rego: String,
    /// The answers to all cases are checked, but only the first `timed` cases are measured.
    cases: Vec<Case>,
    timed: usize,
    /// Time limit per descriptor in the evaluator, in nanoseconds.
    target: f64,
}

/// A request, and the expected combined answer of both banks.
struct Case {
    category: &'static str,
    context: Value,
    passes: bool,
}

impl Case {
    fn new(category: &'static str, context: Value, passes: bool) -> Self {
        Self { category, context, passes }
    }
}

/// Expected factor by which Cedar and Rego are slower than the evaluator.
const EXPECTED_RATIO: f64 = 100.0;

/// The rules of the PII policy, in addition to those of the prelude.
const PII_REGO: &str = r#"
deny if "credit_card" in input.classes
deny if "email" in input.classes
deny if "iban" in input.classes
deny if "ip_address" in input.classes
deny if "declared_person" in input.classes
deny if "phone" in input.classes
deny if "us_ssn" in input.classes
"#;
const PII_CLASSES: [&str; 7] = ["credit_card", "email", "iban", "ip_address", "declared_person", "phone", "us_ssn"];

/// A condition for every column, in Cedar and in Rego. The last column is the length, which differs in each rule.
const EVERY_COLUMN: [(&str, &str); 24] = [
    ("[\"token\", \"span\"].contains(context.granularity)", "input.granularity in {\"token\", \"span\"}"),
    ("context.epistemic != \"exploratory\"", "input.epistemic != \"exploratory\""),
    ("context.anchor == \"resolved\"", "input.anchor == \"resolved\""),
    ("context.temporal == \"past\"", "input.temporal == \"past\""),
    ("[\"medical\", \"legal\"].contains(context.domain)", "input.domain in {\"medical\", \"legal\"}"),
    ("context.audience != \"professional\"", "input.audience != \"professional\""),
    ("context.register == \"formal\"", "input.register == \"formal\""),
    ("!context.inert_prefix", "not input.inert_prefix"),
    ("context.uncertainty_known", "input.uncertainty_known"),
    ("context.fields_touched.contains(\"memory\")", "\"memory\" in input.fields_touched"),
    (
        "context.classes.containsAny([\"diagnosis\", \"dosage\"])",
        "count({\"diagnosis\", \"dosage\"} & input.classes) > 0",
    ),
    ("!context.classes.contains(\"greeting\")", "not \"greeting\" in input.classes"),
    ("context.established.contains(\"disclaimer\")", "\"disclaimer\" in input.established"),
    ("context.depth < 3", "input.depth < 3"),
    ("context.alternatives < 4", "input.alternatives < 4"),
    ("context.correction <= 1", "input.correction <= 1"),
    ("context.novelty.lessThan(decimal(\"0.9\"))", "input.novelty < 9000"),
    ("context.uncertainty.greaterThan(decimal(\"0.1\"))", "input.uncertainty > 1000"),
    ("context.certainty.greaterThan(decimal(\"0.2\"))", "input.certainty > 2000"),
    ("context.content_deviation.lessThan(decimal(\"0.8\"))", "input.content_deviation < 8000"),
    ("context.certainty_divergence.lessThan(decimal(\"0.7\"))", "input.certainty_divergence < 7000"),
    ("context.register_divergence.lessThan(decimal(\"0.6\"))", "input.register_divergence < 6000"),
    ("context.trust_slope < 40000", "input.trust_slope < 40000"),
    ("context.quantity has dose_mg && context.quantity.dose_mg > -5", "input.quantity.dose_mg > -5"),
];

/// 256 rows: a permit, the prelude's three, and 252 rules. All rules but the last fail only because of their length.
fn every_column() -> Subject {
    const RULES: usize = 252;
    let (mut cedar, mut rego) = (PERMIT.replace("PERMIT", "ALLOW"), rego_head());
    for rule in 0..RULES {
        let length = if rule + 1 == RULES { 700 } else { 1000 + rule };
        let join = |side: fn(&(&'static str, &'static str)) -> &'static str, with: &str| {
            EVERY_COLUMN.iter().map(side).collect::<Vec<_>>().join(with)
        };
        let _ = writeln!(
            cedar,
            "@id(\"R{rule:03}\") forbid (principal, action == Action::\"assertion\", resource) when {{ {} && context.length == {length} }};",
            join(|pair| pair.0, " && ")
        );
        let _ = writeln!(
            rego,
            "deny if {{ input.category == \"assertion\"; {}; input.length == {length} }}",
            join(|pair| pair.1, "; ")
        );
    }
    let package = PolicyPackage::from_files(files_with(MANIFEST, &cedar)).unwrap();
    let compiled = package.compile_for(RowCapacity::default()).unwrap();
    assert_eq!(compiled.image.policy_rows().len(), 256);
    let mut missed = json!({
        "anchor": "resolved", "temporal": "past", "domain": "medical", "register": "formal",
        "uncertainty_known": true, "fields_touched": ["memory"], "classes": ["dosage"], "established": ["disclaimer"],
        "novelty": "0.3", "uncertainty": "0.3", "certainty": "0.5", "length": 700, "quantity": {"dose_mg": 3}
    });
    let met = Case::new("assertion", missed.clone(), false);
    missed["length"] = 701.into();
    Subject {
        name: "256 rows, every column",
        package,
        compiled,
        rego,
        cases: vec![met, Case::new("assertion", missed, true)],
        timed: 1,
        target: 1000.0,
    }
}

fn pii() -> Subject {
    let dir = portcullis_test_support::root().join("policies/pii");
    let package = PolicyPackage::load(&dir).unwrap();
    let compiled = package.compile().unwrap();
    // The other four rows are the prelude's three rows and the permit.
    assert_eq!(PII_CLASSES.len() + 4, compiled.image.policy_rows().len());
    let mut cases = vec![Case::new("assertion", json!({"length": 80}), true)];
    cases.extend(PII_CLASSES.map(|class| Case::new("assertion", json!({"length": 80, "classes": [class]}), false)));
    cases.push(Case::new("reference", json!({"length": 80, "anchor": "resolved"}), true));
    cases.push(Case::new("reference", json!({"length": 80, "anchor": "none"}), false));
    cases.push(Case::new("assertion", json!({"length": 80, "anchor": "unresolvable"}), false));
    cases.push(Case::new("assertion", json!({"length": 80, "anchor": "ambiguous"}), false));
    let timed = cases.len();
    Subject { name: "PII", package, compiled, rego: rego_head() + PII_REGO, cases, timed, target: 250.0 }
}

fn rego_head() -> String {
    "package portcullis\nimport rego.v1\ndefault pass := false\npass if not deny\n\
     deny if input.anchor in {\"unresolvable\", \"ambiguous\"}\n\
     deny if { input.category == \"reference\"; input.anchor == \"none\" }\n"
        .to_owned()
}

/// The context in Rego's form: fractions as numbers, sets as sets.
fn rego_input(category: &str, context: &Value, d: &Descriptor) -> regorus::Value {
    let mut object = context.clone();
    object["category"] = category.into();
    for (field, points) in [
        ("novelty", d.novelty),
        ("uncertainty", d.uncertainty),
        ("certainty", d.certainty),
        ("content_deviation", d.content_deviation),
        ("certainty_divergence", d.certainty_divergence),
        ("register_divergence", d.register_divergence),
    ] {
        object[field] = points.get().into();
    }
    let mut input = regorus::Value::from_json_str(&object.to_string()).unwrap();
    for field in ["fields_touched", "classes", "established"] {
        let members = object[field].as_array().unwrap().iter().map(|name| regorus::Value::from(name.as_str().unwrap()));
        let set = regorus::Value::from(members.collect::<std::collections::BTreeSet<_>>());
        input.as_object_mut().unwrap().insert(field.into(), set);
    }
    input
}

/// Checks all answers, then measures with criterion. If `table` is set, also computes the medians for the table.
fn bench(c: &mut Criterion, subject: &Subject, table: bool) -> Option<[f64; 3]> {
    let contexts = ContextConverter::new(subject.package.vocabulary());
    let evaluator = ImageEvaluator::new(&subject.compiled.image);
    let policies = subject.package.cedar_policies().unwrap();
    let (authorizer, entities) = (Authorizer::new(), Entities::empty());
    let mut engine = regorus::Engine::new();
    engine.add_policy("policy.rego".into(), subject.rego.clone()).unwrap();
    let mut ask = |input: &regorus::Value| {
        engine.set_input(input.clone());
        engine.eval_rule("data.portcullis.pass".into()).unwrap()
    };

    let (mut descriptors, mut requests, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
    for case in &subject.cases {
        let d = contexts.descriptor(case.category, &case.context, MissingFieldMode::Neutral).unwrap();
        let banks = evaluator.evaluate(&d);
        let passes = banks.policy.outcome == BankOutcome::Pass && banks.entropy.outcome == BankOutcome::Pass;
        assert_eq!(passes, case.passes, "evaluator: {}", case.context);

        let request = contexts.request(&d).unwrap();
        let response = authorizer.is_authorized(&request, &policies, &entities);
        assert_eq!(response.diagnostics().errors().count(), 0, "cedar-policy: {}", case.context);
        assert_eq!(response.decision() == Decision::Allow, case.passes, "cedar-policy: {}", case.context);

        let (category, context) = contexts.json(&d).unwrap();
        let input = rego_input(&category, &context, &d);
        assert_eq!(ask(&input), regorus::Value::from(case.passes), "regorus: {}", case.context);
        descriptors.push(d);
        requests.push(request);
        inputs.push(input);
    }

    let mut descriptors = descriptors[..subject.timed].iter().cycle();
    let mut portcullis = || {
        black_box(evaluator.judge(black_box(descriptors.next().unwrap())));
    };
    let mut requests = requests[..subject.timed].iter().cycle();
    let mut cedar = || {
        black_box(authorizer.is_authorized(black_box(requests.next().unwrap()), &policies, &entities));
    };
    let mut inputs = inputs[..subject.timed].iter().cycle();
    let mut rego = || {
        black_box(ask(black_box(inputs.next().unwrap())));
    };
    let mut group = c.benchmark_group(subject.name);
    group.bench_function("portcullis", |b| b.iter(&mut portcullis));
    group.bench_function("cedar-policy", |b| b.iter(&mut cedar));
    group.bench_function("regorus", |b| b.iter(&mut rego));
    group.finish();
    table.then(|| [median(&mut portcullis), median(&mut cedar), median(&mut rego)])
}

/// Median time of one call in nanoseconds, over 101 batches of at least a millisecond each.
fn median(call: &mut dyn FnMut()) -> f64 {
    let mut batch = |calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed()
    };
    let mut calls = 1;
    while batch(calls) < Duration::from_millis(1) {
        calls *= 2;
    }
    let mut times: Vec<_> = (0..101).map(|_| batch(calls)).collect();
    times.sort_unstable();
    times[50].as_nanos() as f64 / f64::from(calls)
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    // `cargo test --benches` does not pass `--bench`; then the bench only checks the answers.
    let given = |flag: &str| std::env::args().any(|argument| argument == flag);
    let table = given("--bench") && !given("--test") && !given("--list");
    let rows: Vec<_> =
        [pii(), every_column()].into_iter().map(|subject| (bench(&mut criterion, &subject, table), subject)).collect();
    criterion.final_summary();
    for (medians, subject) in rows {
        let Some([own, others @ ..]) = medians else { continue };
        let met = |met: bool| if met { "met" } else { "MISSED" };
        println!("\n{:<24} {:>12} {:>8}", subject.name, "median ns", "ratio");
        println!(
            "{:<24} {own:>12.0} {:>8}  under {} ns: {}",
            "portcullis",
            1,
            subject.target,
            met(own < subject.target)
        );
        for (name, other) in ["cedar-policy", "regorus"].into_iter().zip(others) {
            let ratio = other / own;
            println!("{name:<24} {other:>12.0} {ratio:>8.0}  over {EXPECTED_RATIO}: {}", met(ratio > EXPECTED_RATIO));
        }
    }
}
