//! Oracles 1 and 2 ([`portcullis_policy::oracle`] defines both comparisons). Over generated policies and descriptors,
//! the compiled rows decide as `cedar-policy` does, and name Cedar's determining rule. The index is also compared with
//! the simple row function, and the resolution of the stages with the order in the design.
#![cfg(test)]

use portcullis_core::wire::{Descriptor, Determination, Stage};
use portcullis_image::{BankAnswers, BankKind, BankOutcome, EntryVerdict, ImageEvaluator, TableBankAnswer, reference};
use portcullis_policy::context::ContextConverter;
use portcullis_policy::oracle::CedarOracle;
use portcullis_test_support::policies::{Case, Construct, Coverage};
use std::collections::{BTreeMap, BTreeSet};

/// The verdict by the stage order, written from the design and not from the evaluator.
fn expected_verdict(d: &Descriptor, banks: &BankAnswers, max_depth: u8) -> EntryVerdict {
    let host = |code: u8| match code {
        1 => BankOutcome::Pass,
        3 => BankOutcome::Decompose,
        _ => BankOutcome::Reject,
    };
    let mut verdict = EntryVerdict {
        determination: Determination::Admit,
        stage: Stage::None,
        policy_row: banks.policy.row,
        entropy_row: banks.entropy.row,
    };
    for (stage, outcome) in [
        (Stage::Entropy, banks.entropy.outcome),
        (Stage::Lineage, host(d.lineage_outcome)),
        (Stage::Validation, host(d.validation_outcome)),
        (Stage::Policy, banks.policy.outcome),
    ] {
        match outcome {
            BankOutcome::Pass => {}
            BankOutcome::Reject => (verdict.determination, verdict.stage) = (Determination::Reject, stage),
            BankOutcome::Decompose => (verdict.determination, verdict.stage) = (Determination::Decompose, stage),
        }
    }
    if verdict.determination == Determination::Decompose && d.depth >= max_depth {
        verdict.determination = Determination::Reject;
    }
    verdict
}

#[derive(Default)]
struct Tally {
    coverage: Coverage,
    outcomes: BTreeMap<String, u64>,
    discarded: u32,
    rows: usize,
}

fn check(case: &Case, descriptors: usize, tally: &mut Tally) {
    let oracle = CedarOracle::new(&case.package, &case.compiled).unwrap();
    let compiled = &case.compiled;
    let evaluator = ImageEvaluator::new(&compiled.image);
    let contexts = ContextConverter::new(case.package.vocabulary());
    for (number, mut d) in case.descriptors().take(descriptors).enumerate() {
        // Also uses codes that no stage produces.
        if number % 7 == 0 {
            d.validation_outcome = [0, 1, 2, 3, 4, 0xff][number / 7 % 6];
        }
        let d = d;
        let fail = |what: String| -> ! {
            let rules = String::from_utf8_lossy(&case.package.files()["a.cedar"]).into_owned()
                + &String::from_utf8_lossy(&case.package.files()["rules/b.cedar"]);
            panic!("seed {} descriptor {number}: {what}\n{}\n{rules}", case.seed, contexts.json(&d).unwrap().1)
        };
        let banks = evaluator.evaluate(&d);
        let plain = reference::evaluate(&compiled.image, &d);
        if banks != plain {
            fail(format!("index {banks:?}, row function {plain:?}"));
        }
        if let Err(disagreement) = oracle.check(&d, &banks) {
            fail(disagreement.to_string());
        }
        for (bank, answer) in [(BankKind::Policy, banks.policy), (BankKind::Entropy, banks.entropy)] {
            let by = if answer.row.is_some() { "a row" } else { "default" };
            *tally.outcomes.entry(format!("{} {:?} by {by}", bank.name(), answer.outcome)).or_default() += 1;
        }
        let verdict = evaluator.resolve(&d, &banks);
        let expected = expected_verdict(&d, &banks, case.package.manifest().limits.max_depth);
        if verdict != expected {
            fail(format!("resolved {verdict:?}, expected {expected:?}"));
        }
        let key = format!("verdict {:?} at {:?}", verdict.determination, verdict.stage);
        *tally.outcomes.entry(key).or_default() += 1;
    }
    for (construct, count) in &case.coverage {
        *tally.coverage.entry(*construct).or_default() += count;
    }
    tally.discarded += case.discarded;
    tally.rows += compiled.image.policy_rows().len() + compiled.image.entropy_rows().len();
}

fn long() -> bool {
    std::env::var_os("PORTCULLIS_LONG").is_some_and(|value| value == "1")
}

#[test]
fn compiled_rows_decide_as_cedar_does() {
    let (policies, descriptors) = if long() { (4_000, 500) } else { (200, 500) };
    let threads = 2;
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    for seed in (worker..policies).step_by(threads as usize) {
                        check(&Case::generate(seed), descriptors, &mut tally);
                    }
                    tally
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut all = Tally::default();
    for tally in tallies {
        for (construct, count) in tally.coverage {
            *all.coverage.entry(construct).or_default() += count;
        }
        for (outcome, count) in tally.outcomes {
            *all.outcomes.entry(outcome).or_default() += count;
        }
        all.discarded += tally.discarded;
        all.rows += tally.rows;
    }
    println!(
        "{policies} policies x {descriptors} descriptors, {} rows, {} attempts discarded",
        all.rows, all.discarded
    );
    println!("{:#?}\n{:#?}", all.outcomes, all.coverage);
    let missing: Vec<_> = Construct::ALL.iter().filter(|c| !all.coverage.contains_key(c)).collect();
    assert!(missing.is_empty(), "constructs that no policy used: {missing:?}");
    assert!(u64::from(all.discarded) < policies * 4, "most attempts were discarded");
    for outcome in [
        "policy Pass by a row",
        "policy Reject by a row",
        "policy Decompose by a row",
        "policy Reject by default",
        "entropy Pass by a row",
        "entropy Reject by a row",
        "entropy Decompose by a row",
        "verdict Admit at None",
        "verdict Decompose at Policy",
        "verdict Decompose at Validation",
        "verdict Decompose at Lineage",
        "verdict Decompose at Entropy",
        "verdict Reject at Policy",
        "verdict Reject at Validation",
        "verdict Reject at Lineage",
        "verdict Reject at Entropy",
    ] {
        assert!(all.outcomes.get(outcome).is_some_and(|count| *count > 50), "hardly any `{outcome}`");
    }
}

/// Shows that the oracle can fail: each of these wrong answers could come from a wrong compiler.
#[test]
fn the_oracle_notices_a_wrong_answer() {
    let case = (0..).map(Case::generate).find(|case| case.compiled.rules.len() > 8).unwrap();
    let oracle = CedarOracle::new(&case.package, &case.compiled).unwrap();
    let evaluator = ImageEvaluator::new(&case.compiled.image);
    let contexts = ContextConverter::new(case.package.vocabulary());
    let mut noticed = BTreeSet::new();
    for d in case.descriptors().take(300) {
        let request = contexts.request(&d).unwrap();
        let answer = evaluator.evaluate(&d).policy;
        for outcome in [BankOutcome::Pass, BankOutcome::Reject, BankOutcome::Decompose] {
            for row in std::iter::once(None).chain((0..case.compiled.image.policy_rows().len() as u16).map(Some)) {
                let claimed = TableBankAnswer { outcome, row };
                let same_rule = row.map(|row| case.compiled.rule_of_policy_row(row).unwrap().id.clone())
                    == answer.row.map(|row| case.compiled.rule_of_policy_row(row).unwrap().id.clone());
                let right = outcome == answer.outcome && same_rule;
                let checked = oracle.check_bank(BankKind::Policy, claimed, &request);
                assert_eq!(checked.is_ok(), right, "{claimed:?} beside {answer:?}");
                if !right {
                    noticed.insert(format!("{:?} for {:?}", claimed.outcome, answer.outcome));
                }
            }
        }
    }
    assert!(noticed.len() >= 6, "{noticed:?}");
}

#[test]
fn cases_are_the_same_every_time() {
    let digest = |seed| (Case::generate(seed).compiled.image.digest(), Case::generate(seed).descriptors().nth(99));
    assert_eq!(digest(5), digest(5));
    assert_ne!(digest(5), digest(6));
}
