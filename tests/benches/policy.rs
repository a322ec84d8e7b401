//! One descriptor judged by the software evaluator, by `cedar-policy` and by `regorus`, under the same policies, in the
//! same run; the ratios are printed at the end.
//!
//! Two images: the PII policy, and 256 rows of which each constrains every column and is missed in the last one only, so
//! that nothing can be decided early; the descriptor is then met by the last row alone. Requests for Cedar and Rego are
//! made beforehand: their side of the comparison is evaluation only.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::float_arithmetic,
    missing_docs,
    reason = "a benchmark stops at its first surprise"
)]

use cedar_policy::{Authorizer, Decision, Entities};
use criterion::Criterion;
use portcullis_core::wire::Descriptor;
use portcullis_policy::context::{Contexts, Missing};
use portcullis_policy::evaluate::{Evaluator, Outcome};
use portcullis_policy::{Capacity, Compiled, Package};
use portcullis_tests::policies::fixture::{MANIFEST, PERMIT, files_with};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

/// A policy, the same policy in Rego, and a descriptor with what both banks say of it together.
struct Subject {
    name: &'static str,
    package: Package,
    compiled: Compiled,
    rego: String,
    category: &'static str,
    context: Value,
    passes: bool,
}

/// Conditions on every column, in Cedar and in Rego. The length is the last, and different in each rule.
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

/// 256 rows: a permit, the prelude's three, and 252 rules that are missed by their length alone, but for the last.
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
    let package = Package::from_files(files_with(MANIFEST, &cedar)).unwrap();
    let compiled = package.compile_for(Capacity::default()).unwrap();
    assert_eq!(compiled.image.policy_rows().len(), 256);
    Subject {
        name: "256 rows, every column",
        package,
        compiled,
        rego,
        category: "assertion",
        context: json!({
            "anchor": "resolved", "temporal": "past", "domain": "medical", "register": "formal",
            "uncertainty_known": true, "fields_touched": ["memory"], "classes": ["dosage"], "established": ["disclaimer"],
            "novelty": "0.3", "uncertainty": "0.3", "certainty": "0.5", "length": 700, "quantity": {"dose_mg": 3}
        }),
        passes: false,
    }
}

fn pii() -> Subject {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/pii");
    let package = Package::load(&dir).unwrap();
    let compiled = package.compile().unwrap();
    let mut rego = rego_head();
    for (_, source) in package.cedar_sources().unwrap() {
        for class in source.split("context.classes.contains(\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let _ = writeln!(rego, "deny if {{ \"{class}\" in input.classes }}");
        }
    }
    assert_eq!(rego.matches("in input.classes").count() + 4, compiled.image.policy_rows().len());
    Subject {
        name: "PII",
        package,
        compiled,
        rego,
        category: "assertion",
        context: json!({"length": 80}),
        passes: true,
    }
}

fn rego_head() -> String {
    "package portcullis\nimport rego.v1\ndefault pass := false\npass if not deny\n\
     deny if input.anchor in {\"unresolvable\", \"ambiguous\"}\n\
     deny if { input.category == \"reference\"; input.anchor == \"none\" }\n"
        .to_owned()
}

/// The context as Rego reads it: fractions as numbers, sets as sets.
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

fn bench(c: &mut Criterion, subject: &Subject) {
    let contexts = Contexts::new(subject.package.vocabulary());
    let d = contexts.descriptor(subject.category, &subject.context, Missing::Neutral).unwrap();
    let evaluator = Evaluator::new(&subject.compiled.image);
    let passes = |d: &Descriptor| {
        let banks = evaluator.evaluate(d);
        banks.policy.outcome == Outcome::Pass && banks.entropy.outcome == Outcome::Pass
    };
    assert_eq!(passes(&d), subject.passes);
    let mut group = c.benchmark_group(subject.name);
    group.bench_function("portcullis", |b| b.iter(|| evaluator.judge(black_box(&d))));

    let policies = subject.package.cedar_policies().unwrap();
    let (authorizer, entities) = (Authorizer::new(), Entities::empty());
    let request = contexts.request(&d).unwrap();
    let allowed = authorizer.is_authorized(&request, &policies, &entities).decision() == Decision::Allow;
    assert_eq!(allowed, subject.passes);
    group.bench_function("cedar-policy", |b| {
        b.iter(|| authorizer.is_authorized(black_box(&request), &policies, &entities));
    });

    let mut engine = regorus::Engine::new();
    engine.add_policy("policy.rego".into(), subject.rego.clone()).unwrap();
    let (category, context) = contexts.json(&d).unwrap();
    let input = rego_input(&category, &context, &d);
    let mut ask = |input: &regorus::Value| {
        engine.set_input(input.clone());
        engine.eval_rule("data.portcullis.pass".into()).unwrap()
    };
    assert_eq!(ask(&input), regorus::Value::from(subject.passes));
    group.bench_function("regorus", |b| b.iter(|| ask(black_box(&input))));
    group.finish();
}

/// Median nanoseconds that criterion wrote down for this function.
fn median(group: &str, function: &str) -> Option<f64> {
    let root = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), std::path::PathBuf::from);
    let file = root.join("criterion").join(group).join(function).join("new/estimates.json");
    let estimates: Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let subjects = [pii(), every_column()];
    for subject in &subjects {
        bench(&mut criterion, subject);
    }
    criterion.final_summary();
    for subject in &subjects {
        let Some(own) = median(subject.name, "portcullis") else { continue };
        for other in ["cedar-policy", "regorus"] {
            if let Some(other_median) = median(subject.name, other) {
                println!(
                    "{}: portcullis {own:.0} ns, {other} {other_median:.0} ns, ratio {:.0}",
                    subject.name,
                    other_median / own
                );
            }
        }
    }
}
