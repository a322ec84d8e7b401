//! Tests of the semantic state of a stream: which of the card's answers change it.

use super::{Next, StreamMachine, StreamNumbers};
use crate::GatePolicy;
use crate::candidate::AnswerCandidate;
use crate::governor::StreamGovernor;
use crate::salt::SaltKey;
use crate::settings::GateSettings;
use crate::source::StreamInput;
use portcullis_card::EntryOutcome;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::{Determination, Opcode};
use portcullis_image::ImageEvaluator;
use portcullis_policy::PolicyPackage;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const MANIFEST: &str = "[package]\nname = \"s\"\nversion = \"1.0.0\"\ndescription = \"d\"\n[enumerations]\ndomain = [\"g\"]\n\
    audience = [\"p\"]\ntemporal = [\"n\"]\nregister = [\"r\"]\n[limits]\ndefer = [\"NO-BAD\"]\nmax_depth = 2\n\
    [[class]]\nname = \"bad\"\npattern = [{ regex = 'bad' }]\n[[class]]\nname = \"mixed\"\npattern = [{ regex = 'mixed' }]\n\
    [[quantity]]\nname = \"dose\"\nunits = { mg = \"1\" }\ntolerance = 100\n";
const RULES: &str = "@id(\"ALLOW\") permit (principal, action, resource);\n\
    @id(\"NO-BAD\") forbid (principal, action, resource) when { context.classes.contains(\"bad\") };\n\
    @id(\"SPLIT\") @outcome(\"decompose\") forbid (principal, action, resource) when { context.classes.contains(\"mixed\") };\n";

/// Runs a stream with the evaluator. Returns each answer with the dumps of the state before and after it.
fn dumps(item: StreamInput) -> Vec<(Option<Determination>, String, String)> {
    let files = BTreeMap::from([
        ("policy.toml".to_owned(), MANIFEST.as_bytes().to_vec()),
        ("rules.cedar".to_owned(), RULES.as_bytes().to_vec()),
    ]);
    let package = PolicyPackage::from_files(files).unwrap();
    let compiled = package.compile().unwrap();
    let settings = GateSettings { release: super::ReleaseMode::End, ..GateSettings::new(SaltKey::from_bytes([3; 32])) };
    let governor = StreamGovernor::new(Arc::new(GatePolicy::new(package, compiled).unwrap()), settings).unwrap();
    let governor = Arc::new(governor);
    let evaluator = ImageEvaluator::new(&governor.policy.compiled.image);
    let mut request = governor.request(item);
    let mut engine = request.local.take();
    let mut stream = StreamMachine::new(request, StreamNumbers { number: 0, salted: 0, slot: 0 });
    let mut dumps = Vec::new();
    while !stream.is_done() {
        // Only the card's answer lies between the two dumps, because a proposal can change the state, too: by a
        // rollback.
        let entry = match stream.next() {
            Next::Entry(submission) => submission.entry,
            Next::Proposal => {
                let engine = engine.as_mut().unwrap();
                stream.take_moves().into_iter().for_each(|step| engine.make(step));
                let (view, attempt) = stream.request().unwrap();
                let answer = engine.propose(&view, attempt);
                stream.proposed(answer);
                continue;
            }
            other => panic!("{other:?}"),
        };
        let before = stream.state.dump().unwrap();
        let outcome = if entry.opcode == u8::from(Opcode::Gate) {
            EntryOutcome::Judged(evaluator.judge(&entry))
        } else {
            EntryOutcome::Accepted
        };
        stream.answer(outcome, None);
        assert!(stream.state.mutation.is_none());
        // An entry without text is for one value of a quantity; its admit is not yet one of the span.
        let has_text = entry.length.get() > 0;
        let determination = outcome.verdict().map(|v| v.determination).filter(|_| has_text);
        dumps.push((determination, before, stream.state.dump().unwrap()));
    }
    dumps
}

fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("It is bad."),
        Just("It is mixed and well."),
        Just("Take 5 mg."),
        Just("Take 9 mg."),
        Just("Birds sing."),
        Just("The drug is safe."),
        Just("The drug is not safe."),
        Just("Ana Silva was born in 1950."),
        Just("Ana Silva was born in 1960."),
        Just("Therefore it rains."),
        Just("This trial ended."),
    ];
    proptest::collection::vec(part, 1..10).prop_map(|p| p.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn only_an_admit_changes_the_state(said in texts(), other in texts(), driven in any::<bool>()) {
        let candidate = |t: &str| AnswerCandidate { text: t.into(), logprobs: None, logprobs_absent: None, call: None };
        let item = if driven {
            let steps = vec![vec![candidate(&said), candidate(&other)], vec![candidate(&other), candidate(&said)]];
            StreamInput::Candidates { id: "a".into(), steps, task: StreamTask::default() }
        } else {
            StreamInput::Text { id: "a".into(), text: said, task: StreamTask::default() }
        };
        let run = dumps(item.clone());
        for (determination, before, after) in &run {
            match determination {
                Some(Determination::Admit) => prop_assert_ne!(before, after),
                _ => prop_assert_eq!(before, after),
            }
        }
        prop_assert_eq!(dumps(item), run, "two runs give the same bytes at every step");
    }
}
