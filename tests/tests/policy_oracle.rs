//! Oracles 1 and 2: over generated policies and descriptors the compiled rows decide exactly as `cedar-policy` does, and
//! name the rule that Cedar finds determining.
//!
//! 1. Both banks pass exactly when Cedar answers Allow for the whole, unsplit policy set.
//! 2. Each bank is also a policy set of its own (the entropy bank with a permit-all), and of that set: the bank rejects
//!    with a row exactly when a forbid with outcome reject is determining, and the row's rule is the bytewise smallest id
//!    among those; else it decomposes with the smallest of the forbids that are determining; else it passes with the
//!    smallest determining permit; else it is `DEFAULT-DENY` and the determining set is empty. A forbid that a bank names
//!    is also in the whole set's determining set, and so is the policy bank's permit where both banks pass.
//!
//! Cedar must report no evaluation error anywhere: a rule that fails at run time is skipped by Cedar.

use cedar_policy::{Authorizer, Decision, Entities, Policy, PolicyId, PolicySet, Request, Response};
use portcullis_core::wire::{Descriptor, Determination, RowKind, Stage};
use portcullis_policy::context::Contexts;
use portcullis_policy::evaluate::{BankAnswer, Banks, Evaluator, Outcome, Verdict, reference};
use portcullis_policy::image::Bank;
use portcullis_policy::{Compiled, Rule};
use portcullis_tests::policies::{Case, Construct, Coverage};
use std::collections::{BTreeMap, BTreeSet};

const PERMIT_ALL: &str = "permit-all";

struct Oracle {
    authorizer: Authorizer,
    entities: Entities,
    whole: PolicySet,
    banks: [PolicySet; 2],
}

impl Oracle {
    fn new(case: &Case) -> Self {
        let whole = case.package.cedar_policies().unwrap();
        let bank = |bank: Bank| {
            let of_bank = |policy: &&Policy| case.compiled.rule(policy.id().as_ref()).unwrap().bank == bank;
            let mut set = PolicySet::from_policies(whole.policies().filter(of_bank).cloned()).unwrap();
            if bank == Bank::Entropy {
                let id = PolicyId::new(PERMIT_ALL);
                set.add(Policy::parse(Some(id), "permit (principal, action, resource);").unwrap()).unwrap();
            }
            set
        };
        let banks = [bank(Bank::Policy), bank(Bank::Entropy)];
        Self { authorizer: Authorizer::new(), entities: Entities::empty(), whole, banks }
    }

    fn ask(&self, set: &PolicySet, request: &Request) -> (Decision, BTreeSet<String>) {
        let response: Response = self.authorizer.is_authorized(request, set, &self.entities);
        let errors: Vec<_> = response.diagnostics().errors().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "cedar failed at run time: {errors:?}");
        let reason: BTreeSet<String> = response.diagnostics().reason().map(ToString::to_string).collect();
        (response.decision(), reason)
    }

    /// Holds `answer` to what Cedar says of the bank's own policy set.
    fn check_bank(&self, compiled: &Compiled, bank: Bank, answer: BankAnswer, request: &Request) -> Result<(), String> {
        let (decision, reason) = self.ask(&self.banks[bank as usize], request);
        let smallest = |kind: RowKind| {
            let of_kind = |id: &&String| compiled.rule(id).is_some_and(|rule| rule.kind == kind);
            reason.iter().find(of_kind).cloned()
        };
        let named = answer.row.map(|row| compiled.rule_of_row(bank, row));
        let named = named.map(|rule: Option<&Rule>| rule.map_or(PERMIT_ALL.to_owned(), |rule| rule.id.clone()));
        let expected = match decision {
            Decision::Allow => {
                let permit = smallest(RowKind::Permit).or_else(|| reason.get(PERMIT_ALL).cloned());
                (Outcome::Pass, Some(permit.ok_or("cedar allows without a permit")?))
            }
            Decision::Deny => match (smallest(RowKind::ForbidReject), smallest(RowKind::ForbidDecompose)) {
                (Some(id), _) => (Outcome::Reject, Some(id)),
                (None, Some(id)) => (Outcome::Decompose, Some(id)),
                (None, None) if reason.is_empty() => (Outcome::Reject, None),
                (None, None) => return Err(format!("cedar denies by something that is no forbid: {reason:?}")),
            },
        };
        if (answer.outcome, named.clone()) == expected {
            Ok(())
        } else {
            Err(format!("{} bank: {:?} by {named:?}, cedar: {expected:?} of {reason:?}", bank.name(), answer.outcome))
        }
    }
}

/// Stage order written down again, from the design and not from the evaluator.
fn expected_verdict(d: &Descriptor, banks: &Banks, max_depth: u8) -> Verdict {
    let host = |code: u8| match code {
        1 => Outcome::Pass,
        3 => Outcome::Decompose,
        _ => Outcome::Reject,
    };
    let mut verdict = Verdict {
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
            Outcome::Pass => {}
            Outcome::Reject => (verdict.determination, verdict.stage) = (Determination::Reject, stage),
            Outcome::Decompose => (verdict.determination, verdict.stage) = (Determination::Decompose, stage),
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
    let oracle = Oracle::new(case);
    let compiled = &case.compiled;
    let evaluator = Evaluator::new(&compiled.image);
    let contexts = Contexts::new(case.package.vocabulary());
    for (number, mut d) in case.descriptors().take(descriptors).enumerate() {
        // Codes that no stage gives, too.
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
        let request = contexts.request(&d).unwrap();
        let (decision, reason) = oracle.ask(&oracle.whole, &request);
        let pass = banks.policy.outcome == Outcome::Pass && banks.entropy.outcome == Outcome::Pass;
        if pass != (decision == Decision::Allow) {
            fail(format!("{banks:?}, cedar: {decision:?} by {reason:?}"));
        }
        for (bank, answer) in [(Bank::Policy, banks.policy), (Bank::Entropy, banks.entropy)] {
            if let Err(what) = oracle.check_bank(compiled, bank, answer, &request) {
                fail(what);
            }
            let rule = answer.row.and_then(|row| compiled.rule_of_row(bank, row));
            let decides = answer.outcome != Outcome::Pass || (pass && bank == Bank::Policy);
            if let Some(rule) = rule.filter(|_| decides)
                && !reason.contains(&rule.id)
            {
                fail(format!("`{}` is not in cedar's determining set {reason:?}", rule.id));
            }
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

/// The oracle can be red: each of these is what a wrong compiler would have made.
#[test]
fn the_oracle_notices_a_wrong_answer() {
    let case = (0..).map(Case::generate).find(|case| case.compiled.rules.len() > 8).unwrap();
    let oracle = Oracle::new(&case);
    let evaluator = Evaluator::new(&case.compiled.image);
    let contexts = Contexts::new(case.package.vocabulary());
    let mut noticed = BTreeSet::new();
    for d in case.descriptors().take(300) {
        let request = contexts.request(&d).unwrap();
        let answer = evaluator.evaluate(&d).policy;
        for outcome in [Outcome::Pass, Outcome::Reject, Outcome::Decompose] {
            for row in std::iter::once(None).chain((0..case.compiled.image.policy_rows().len() as u16).map(Some)) {
                let claimed = BankAnswer { outcome, row };
                let same_rule = row.map(|row| case.compiled.rule_of_policy_row(row).unwrap().id.clone())
                    == answer.row.map(|row| case.compiled.rule_of_policy_row(row).unwrap().id.clone());
                let right = outcome == answer.outcome && same_rule;
                let checked = oracle.check_bank(&case.compiled, Bank::Policy, claimed, &request);
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
