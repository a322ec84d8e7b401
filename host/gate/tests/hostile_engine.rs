//! Malicious engines: whatever they propose, every released byte was admitted, and equal runs give equal results.

use crate::support;

use portcullis_core::state::StreamTask;
use portcullis_core::wire::Determination as Answer;
use portcullis_gate::engine::{CandidateEngine, EngineError, EngineProposal, EngineView};
use portcullis_gate::{
    AnswerCandidate, GateSettings, OnRefuse, ReleaseMode, StreamEvent, StreamEventKind, StreamInput, TerminationTrigger,
};
use portcullis_mapping::LogProbs;
use portcullis_test_support::random::Random;
use std::collections::BTreeMap;
use std::sync::Arc;
use support::*;

/// Proposes bad, mixed, empty, huge, odd and good text in an order drawn from a seed; stores each received view.
struct Hostile {
    random: Random,
    shown: Arc<std::sync::Mutex<Vec<String>>>,
}

const PARTS: &[&str] = &[
    "It is bad.",
    " bad",
    "b",
    "ad.",
    "mixed",
    " It is mixed; it is well.",
    "",
    " ",
    "\n",
    "and",
    " Birds sing.",
    " The key.",
    " vault",
    " Therefore, this trial.",
    "\u{202e}dab si tI",
    " Fine.",
    "😀",
    " The drug is safe.",
    " The drug is not safe.",
    "ba",
    "d\u{0}",
];

impl CandidateEngine for Hostile {
    fn name(&self) -> String {
        "hostile".into()
    }

    fn propose(&mut self, view: &EngineView<'_>, _attempt: u32) -> Result<EngineProposal, EngineError> {
        self.shown.lock().unwrap().push(view.admitted.to_owned());
        let pick = self.random.below(97);
        let text = match pick {
            0 => return Ok(EngineProposal::Exhausted),
            1 => return Ok(EngineProposal::End),
            2 => "x".repeat(70_000),
            _ => PARTS[pick % PARTS.len()].repeat(1 + pick / 40),
        };
        let logprobs = pick.is_multiple_of(7).then(|| LogProbs::parse(&["NaN"]));
        Ok(EngineProposal::Candidate(AnswerCandidate { text, logprobs, logprobs_absent: None, call: None }))
    }

    fn advance(&mut self, _: &str) {}

    fn roll_back(&mut self, _: usize) {}
}

fn run_hostile(seed: u64, release: ReleaseMode, on_refuse: OnRefuse) -> (Vec<StreamEvent>, Vec<String>) {
    let policy = package("[limits]\nmax_depth = 2\ndefer = [\"NEEDS-KEY\"]\n");
    let settings = GateSettings { release, on_refuse: Some(on_refuse), max_proposals: 120, ..settings() };
    let shown = Arc::default();
    let engine_shown = Arc::clone(&shown);
    let made = governor(&policy, settings).with_engines(
        filter(),
        Arc::new(move |_, _| Ok(Box::new(Hostile { random: Random::new(seed), shown: Arc::clone(&engine_shown) }))),
    );
    let item = StreamInput::Prompt { id: "a".into(), task: StreamTask { intent: "x".into(), facts: Vec::new() } };
    let events = run(made, &policy, vec![item]);
    let shown = shown.lock().unwrap().clone();
    (events, shown)
}

#[test]
fn no_byte_leaves_before_its_admit_and_no_rejected_byte_ever() {
    let mut total = 0;
    for seed in 1..400u64 {
        for release in [ReleaseMode::Span, ReleaseMode::Checkpoint, ReleaseMode::End] {
            let on_refuse = if seed % 2 == 0 { OnRefuse::Skip } else { OnRefuse::Stop };
            let (events, shown) = run_hostile(seed, release, on_refuse);
            // The bytes that each admitted sequence may release.
            let mut allowed: BTreeMap<u32, String> = BTreeMap::new();
            let mut released = String::new();
            for event in &events {
                match &event.what {
                    StreamEventKind::Determined(judged) => {
                        let seq = judged.determination.seq;
                        if judged.determination.determination == Some(Answer::Admit) {
                            allowed.insert(seq, format!("{}{}", judged.inert, judged.text));
                        }
                    }
                    StreamEventKind::RolledBack { transitions, .. } => transitions.iter().for_each(|t| {
                        assert!(allowed.remove(t).is_some(), "what was taken back was admitted and had not left");
                    }),
                    StreamEventKind::Released { seqs, text, .. } => {
                        let mut expected = String::new();
                        for seq in seqs {
                            match allowed.remove(seq) {
                                Some(bytes) => expected.push_str(&bytes),
                                // END has a sequence but no judgement; it releases formatting only.
                                None => assert!(text.ends_with(|c: char| !c.is_alphanumeric())),
                            }
                        }
                        assert!(text.starts_with(&expected), "{text:?} {expected:?}");
                        let rest = &text[expected.len()..];
                        assert!(!rest.contains(char::is_alphanumeric), "{rest:?}");
                        released.push_str(text);
                    }
                    _ => {}
                }
            }
            for text in shown.iter().chain([&released]) {
                let offends = |w: &str| w == "bad" || w == "mixed";
                assert!(!text.split(|c: char| !c.is_alphanumeric()).any(offends), "{text:?}");
            }
            total += released.len();
        }
    }
    assert!(total > 10_000, "only {total} bytes left in all");
}

#[test]
fn runs_are_the_same_across_threads() {
    let one = run_hostile(77, ReleaseMode::End, OnRefuse::Skip);
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| run_hostile(77, ReleaseMode::End, OnRefuse::Skip))).collect();
        for thread in threads {
            let other = thread.join().unwrap();
            assert_eq!(other.1, one.1);
            let plain = |events: &[StreamEvent]| {
                judged(events).map(|j| (j.determination.clone(), j.descriptor.clone())).collect::<Vec<_>>()
            };
            assert_eq!(plain(&other.0), plain(&one.0));
        }
    });
}

struct Odd(u8);

impl CandidateEngine for Odd {
    fn name(&self) -> String {
        "odd".into()
    }

    fn propose(&mut self, view: &EngineView<'_>, _attempt: u32) -> Result<EngineProposal, EngineError> {
        match self.0 {
            0 => Ok(EngineProposal::Exhausted),
            1 => Ok(EngineProposal::Candidate(AnswerCandidate {
                text: String::new(),
                logprobs: None,
                logprobs_absent: None,
                call: None,
            })),
            2 => Ok(EngineProposal::Candidate(AnswerCandidate {
                text: "bad".into(),
                logprobs: None,
                logprobs_absent: None,
                call: None,
            })),
            3 if view.admitted.len() > 20 => Err(EngineError::Gone("killed".into())),
            _ => Ok(EngineProposal::Candidate(AnswerCandidate {
                text: " Birds sing in trees.".into(),
                logprobs: None,
                logprobs_absent: None,
                call: None,
            })),
        }
    }

    fn advance(&mut self, _: &str) {}

    fn roll_back(&mut self, _: usize) {}
}

#[test]
fn engines_that_propose_nothing_endlessly_or_die_end_in_a_stated_outcome() {
    let policy = package("[continuity]\nrepetitions = 0\n");
    let settings = GateSettings { max_proposals: 50, ..settings() };
    for (kind, trigger, left) in [
        (0, TerminationTrigger::NoAdmissibleCandidate, 0),
        (1, TerminationTrigger::Limit, 0),
        (2, TerminationTrigger::NoAdmissibleCandidate, 0),
        (3, TerminationTrigger::Engine, 21),
        (4, TerminationTrigger::Limit, 50 * 21),
    ] {
        let made =
            governor(&policy, settings.clone()).with_engines(filter(), Arc::new(move |_, _| Ok(Box::new(Odd(kind)))));
        let item = StreamInput::Prompt { id: "a".into(), task: StreamTask { intent: "x".into(), facts: Vec::new() } };
        let events = run(made, &policy, vec![item]);
        let termination = summary(&events).termination.unwrap();
        assert_eq!((termination.trigger, released(&events).len()), (trigger, left), "{kind}");
    }
}
