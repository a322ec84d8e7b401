//! Compares the Verilated banks, the image's evaluator and `cedar-policy` over generated policies and descriptors.
//!
//! The card's verdict equals the evaluator's, including the stage and both rows. The rows equal those of the simple row
//! function. Both banks of the card pass if and only if Cedar answers Allow for the whole policy set. (`policy_oracle`
//! compares the evaluator with Cedar rule by rule, over the same cases.)
#![cfg(feature = "sim")]

use crate::card_support;

use std::collections::BTreeMap;
use std::time::Instant;

use card_support::{TestCard, placed};
use cedar_policy::{Authorizer, Decision, Entities};
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardSession, EntryOutcome, SessionConfig};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, Opcode, Row, RowKind};
use portcullis_image::{ImageEvaluator, reference};
use portcullis_policy::context::ContextConverter;
use portcullis_test_support::policies::Case;

const BATCH: usize = 64;

/// Judges `descriptors` descriptors of `case` on `card`, compares each verdict, and counts the results.
fn judge(card: &mut SimCard, case: &Case, descriptors: usize, seen: &mut BTreeMap<String, u64>) {
    let image = &case.compiled.image;
    let evaluator = ImageEvaluator::new(image);
    let contexts = ContextConverter::new(case.package.vocabulary());
    let policies = case.package.cedar_policies().unwrap();
    let (authorizer, entities) = (Authorizer::new(), Entities::empty());
    let permits = |rows: &[Row], row: Option<u16>| {
        row.is_some_and(|row| rows[usize::from(row)].kind == u8::from(RowKind::Permit))
    };

    let config = SessionConfig { ring_log2: 7, log_log2: 7, epoch: Some(case.seed as u32), ..SessionConfig::default() };
    let mut session = CardSession::open(&mut *card, image, config).unwrap();
    // Each descriptor has a stream of its own, because a stream keeps the context of its first GATE.
    let cases: Vec<_> = (0..).zip(case.descriptors().take(descriptors)).collect();
    for batch in cases.chunks(BATCH) {
        let begin = |slot| Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed();
        session.submit(&batch.iter().map(|(slot, _)| begin(*slot)).collect::<Vec<_>>()).unwrap();
        assert!(session.drain().unwrap().iter().all(|completed| completed.outcome == EntryOutcome::Accepted));
        let entries: Vec<_> = batch.iter().map(|(slot, d)| placed(*d, *slot, 1)).collect();
        session.submit(&entries).unwrap();
        let answered = session.drain().unwrap();
        assert_eq!(answered.len(), entries.len());
        for (completed, entry) in answered.iter().zip(&entries) {
            let fail = |what: &str| -> ! {
                panic!("seed {} entry {:?}: {what}: {:?}", case.seed, completed.entry, completed.outcome)
            };
            assert_eq!(&completed.entry, entry);
            let EntryOutcome::Judged(verdict) = completed.outcome else { fail("no verdict") };
            if verdict != evaluator.judge(entry) {
                fail("the evaluator says otherwise");
            }
            let banks = reference::evaluate(image, entry);
            if (verdict.policy_row, verdict.entropy_row) != (banks.policy.row, banks.entropy.row) {
                fail("the row function names other rows");
            }
            let pass =
                permits(image.policy_rows(), verdict.policy_row) && permits(image.entropy_rows(), verdict.entropy_row);
            let response = authorizer.is_authorized(&contexts.request(entry).unwrap(), &policies, &entities);
            assert_eq!(response.diagnostics().errors().count(), 0);
            if pass != (response.decision() == Decision::Allow) {
                fail("cedar says otherwise");
            }
            *seen.entry(format!("{:?} at {:?}", verdict.determination, verdict.stage)).or_default() += 1;
        }
    }
    session.close().unwrap();
}

#[test]
fn the_verilated_banks_decide_as_cedar_does() {
    let (policies, descriptors) = if card_support::long() { (4_000, 500) } else { (120, 500) };
    let started = Instant::now();
    let workers: u64 = 2;
    let parts: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let mut card = SimCard::fresh();
                    let mut seen = BTreeMap::new();
                    for seed in (worker..policies).step_by(workers as usize) {
                        judge(&mut card, &Case::generate(seed), descriptors, &mut seen);
                    }
                    card.assert_clean();
                    seen
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for (outcome, count) in parts.into_iter().flatten() {
        *seen.entry(outcome).or_default() += count;
    }
    println!("{policies} policies x {descriptors} descriptors in {:.1?}: {seen:#?}", started.elapsed());
    assert_eq!(seen.values().sum::<u64>(), policies * descriptors as u64);
    for outcome in [
        "Admit at None",
        "Reject at Policy",
        "Reject at Validation",
        "Reject at Lineage",
        "Reject at Entropy",
        "Decompose at Policy",
        "Decompose at Validation",
        "Decompose at Lineage",
        "Decompose at Entropy",
    ] {
        assert!(seen.get(outcome).is_some_and(|count| *count > 50), "hardly any `{outcome}`");
    }
}
