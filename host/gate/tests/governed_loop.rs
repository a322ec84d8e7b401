//! The governed loop on the card's software model: the content of each event, and that only admitted text is released.

use crate::support;

use portcullis_core::drift::DriftLevel;
use portcullis_core::hex;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::{Descriptor, Determination as Answer, Granularity};
use portcullis_gate::engine::{CandidateEngine, EngineError, EngineProposal, EngineView};
use portcullis_gate::{
    AnswerCandidate, GateSettings, OnRefuse, ReleaseMode, StreamEventKind, StreamInput, TerminationTrigger,
};
use portcullis_mapping::LogProbs;
use std::sync::{Arc, Mutex};
use support::*;
use zerocopy::FromBytes;

#[test]
fn an_admit_commits_and_releases_and_a_reject_asks_for_an_alternative() {
    let events =
        govern(&package(""), settings(), vec![candidates("a", &[&["bad one.", "Good one."], &[" Good two."]])]);
    assert_eq!(outcomes(&events), [(1, Answer::Reject), (2, Answer::Admit), (3, Answer::Admit)]);
    assert_eq!(released(&events), "Good one. Good two.");
    let rejected = judged(&events).next().unwrap();
    assert_eq!(rejected.determination.rule.as_deref(), Some("NO-BAD"));
    let field = &rejected.fields[0];
    assert_eq!(
        (field.field.as_str(), field.value.as_str(), field.condition.as_str()),
        ("classes", "bad", "all of bad")
    );
    let summary = summary(&events);
    assert_eq!((summary.admitted, summary.rejected, summary.stopped), (2, 1, None));
}

#[test]
fn without_an_admissible_candidate_the_stream_ends_with_what_was_admitted() {
    let items = vec![candidates("a", &[&["Good one."], &["bad", "bad too"], &["never asked for"]])];
    let events = govern(&package(""), settings(), items);
    assert_eq!(released(&events), "Good one.");
    let termination = summary(&events).termination.unwrap();
    assert_eq!(termination.trigger, TerminationTrigger::NoAdmissibleCandidate);
    assert_eq!((termination.detail.as_str(), termination.seq, termination.lineage), ("NO-BAD", 3, vec![1]));
}

#[test]
fn alternatives_end_at_the_policys_limit() {
    let package = package("[limits]\nalternatives = 1\nmax_depth = 2\n");
    let events = govern(&package, settings(), vec![candidates("a", &[&["bad 1", "bad 2", "Good."]])]);
    assert_eq!(outcomes(&events), [(1, Answer::Reject), (2, Answer::Reject)]);
    assert_eq!(released(&events), "");
}

#[test]
fn a_rollback_takes_back_what_was_not_released_and_takes_the_other_way() {
    let steps: &[&[&str]] = &[&["First."], &[" Left.", " Right."], &[" bad end.", " bad too."]];
    let settings_of = |release| GateSettings { release, ..settings() };
    let events = govern(&package(""), settings_of(ReleaseMode::End), vec![candidates("a", steps)]);
    let back: Vec<_> = events
        .iter()
        .filter_map(|e| match &e.what {
            StreamEventKind::RolledBack { to, transitions } => Some((*to, transitions.clone())),
            _ => None,
        })
        .collect();
    // The previous step is tried again with its next alternative. The second failure has no further alternative to go
    // back to, so the step stays.
    assert_eq!(back, [(1, vec![2])]);
    let said: Vec<&str> = judged(&events).map(|j| j.text.as_str()).collect();
    assert_eq!(said, ["First.", "Left.", "bad end.", "bad too.", "Right.", "bad end.", "bad too."]);
    assert_eq!(released(&events), "First. Right.");
    let termination = summary(&events).termination.unwrap();
    assert_eq!(termination.lineage, [1, 5]);

    // Released text cannot be undone.
    let events = govern(&package(""), settings_of(ReleaseMode::Span), vec![candidates("a", steps)]);
    assert!(!events.iter().any(|e| matches!(e.what, StreamEventKind::RolledBack { .. })));
    assert_eq!(released(&events), "First. Left.");
}

#[test]
fn checkpoints_release_by_the_policys_count() {
    let package = package("[limits]\ncheckpoint = 2\nmax_depth = 2\n");
    let settings = GateSettings { release: ReleaseMode::Checkpoint, ..settings() };
    let items = vec![candidates("a", &[&["One."], &[" Two."], &[" Three."]])];
    let events = govern(&package, settings, items);
    let texts: Vec<(Vec<u32>, String)> = releases(&events);
    assert_eq!(texts, [(vec![1, 2], "One. Two.".to_owned()), (vec![3], " Three.".to_owned())]);
}

#[test]
fn a_deferred_mutation_comes_back_when_what_it_waits_for_is_there() {
    let package = package("[limits]\ndefer = [\"NEEDS-KEY\"]\ndefer_expiry = 3\nmax_depth = 2\n");
    let events = govern(&package, settings(), vec![text("a", "Open the vault. Here is the key. Good.")]);
    assert_eq!(outcomes(&events), [(1, Answer::Reject), (2, Answer::Admit), (3, Answer::Admit), (4, Answer::Admit)]);
    let again = judged(&events).nth(2).unwrap();
    assert_eq!((again.text.as_str(), again.determination.parent), ("Open the vault.", Some(1)));
    assert!(events.iter().any(|e| e.what == StreamEventKind::Deferred { seq: 1, rule: "NEEDS-KEY".into(), expiry: 3 }));
    assert!(released(&events).contains("key.") && released(&events).contains("vault."));
    assert_eq!(summary(&events).deferred, 1);
}

/// A new word also makes a deferred mutation due, because the word can name the referent that the mutation needs.
#[test]
fn a_deferred_mutation_comes_back_when_its_referent_was_named() {
    let package = package("[limits]\ndefer = [\"PRESUPPOSE-REFERENT\"]\n[continuity]\npresupposition = true\n");
    let events = govern(&package, settings(), vec![text("a", "This trial was small. A trial was run in 2019.")]);
    let said: Vec<&str> = judged(&events).map(|j| j.text.as_str()).collect();
    assert_eq!(said, ["This trial was small.", "A trial was run in 2019.", "This trial was small."]);
    assert!(released(&events).ends_with("This trial was small."), "{}", released(&events));
}

#[test]
fn a_deferred_mutation_expires() {
    let package = package("[limits]\ndefer = [\"NEEDS-KEY\"]\ndefer_expiry = 1\nmax_depth = 2\n");
    let events = govern(&package, settings(), vec![text("a", "Open the vault. Good. Better. Here is the key.")]);
    assert!(events.iter().any(|e| e.what == StreamEventKind::Expired { seq: 1 }));
    assert!(!released(&events).contains("vault"));
    // A mutation that is still deferred at the end expires, too.
    let events = govern(&package, settings(), vec![text("a", "Open the vault.")]);
    assert!(events.iter().any(|e| e.what == StreamEventKind::Expired { seq: 1 }));
}

#[test]
fn a_candidate_is_decomposed_to_the_depth_of_the_policy() {
    let events = govern(&package(""), settings(), vec![text("a", "It is fine; this is mixed; it is well.")]);
    let deepest = judged(&events).map(|j| j.determination.depth).max().unwrap();
    assert_eq!(deepest, 2);
    assert!(released(&events).contains("fine") && !released(&events).contains("mixed"));
    assert!(judged(&events).any(|j| {
        j.determination.reason.as_deref().is_some_and(|r| r.contains("DEPTH-LIMIT"))
            && j.determination.determination == Some(Answer::Reject)
    }));
}

#[test]
fn drift_is_warned_of_corrected_and_halted() {
    let slope = "[trust_slope]\nwarning = 1000\ncorrection = 4000\nhalt = 9000\ndecay = 10000\nweights = [1, 0, 0]\n";
    let package = package(slope);
    let mut item = text("a", "Tell of trains. Rivers flow north. Clouds gather east. Never said this.");
    if let StreamInput::Text { task, .. } = &mut item {
        task.intent = "trains".into();
    }
    let events = govern(&package, settings(), vec![item]);
    let levels: Vec<DriftLevel> = events
        .iter()
        .filter_map(|e| match e.what {
            StreamEventKind::Drift { level, .. } => Some(level),
            _ => None,
        })
        .collect();
    assert_eq!(levels, [DriftLevel::Correction, DriftLevel::Halt]);
    let termination = summary(&events).termination.unwrap();
    assert_eq!((termination.trigger, termination.seq), (TerminationTrigger::DriftHalt, 2));
    assert_eq!(released(&events), "Tell of trains. Rivers flow north.", "what was admitted stands");
}

#[test]
fn the_correction_level_reaches_the_card_and_tightens() {
    // The entropy rule STRICT refuses keys while a correction is in force.
    let slope = "[trust_slope]\nwarning = 1000\ncorrection = 2000\ndecay = 10000\nweights = [1, 0, 0]\n";
    let package = package(slope);
    let mut item = text("a", "Rivers flow north. Here is the key.");
    if let StreamInput::Text { task, .. } = &mut item {
        task.intent = "trains".into();
    }
    let events = govern(&package, settings(), vec![item]);
    let last = judged(&events).last().unwrap();
    assert_eq!(last.determination.rule.as_deref(), Some("STRICT"));
    assert_eq!(last.determination.stage.unwrap().name(), "entropy");
    assert!(last.fields.iter().any(|f| f.field == "correction" && f.value == "2" && f.condition == "2 to 2"));
}

/// An engine that proposes only formatting and connectives, and stores the views that it receives.
struct Idle {
    shown: Arc<Mutex<Vec<(String, u32)>>>,
    texts: &'static [&'static str],
}

impl CandidateEngine for Idle {
    fn name(&self) -> String {
        "idle".into()
    }
    fn propose(&mut self, view: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
        let mut shown = self.shown.lock().unwrap();
        let text = self.texts[shown.len() % self.texts.len()].to_owned();
        shown.push((view.admitted.to_owned(), attempt));
        Ok(EngineProposal::Candidate(AnswerCandidate { text, logprobs: None, logprobs_absent: None, call: None }))
    }
    fn advance(&mut self, _: &str) {}
    fn roll_back(&mut self, _: usize) {}
}

#[test]
fn an_engine_is_shown_the_bytes_that_are_held_and_is_never_asked_the_same_twice() {
    let cases: [&'static [&'static str]; 2] = [&["---\n"], &["```\n", "\n"]];
    for texts in cases {
        for release in [ReleaseMode::Span, ReleaseMode::Checkpoint, ReleaseMode::End] {
            let policy = package("[limits]\nalternatives = 1\n");
            let shown = Arc::new(Mutex::new(Vec::new()));
            let kept = Arc::clone(&shown);
            let make = move |_, _| -> Result<Box<dyn CandidateEngine>, EngineError> {
                Ok(Box::new(Idle { shown: Arc::clone(&kept), texts }))
            };
            let item = StreamInput::Prompt {
                id: "a".into(),
                task: StreamTask { intent: "Tell of birds.".into(), facts: Vec::new() },
            };
            let settings = GateSettings { release, max_proposals: 3_000, ..settings() };
            let governor = governor(&policy, settings).with_engines(filter(), Arc::new(make));
            let events = run(governor, &policy, vec![item]);
            let shown = shown.lock().unwrap();
            let mut asked = shown.clone();
            asked.sort();
            asked.dedup();
            assert_eq!(asked.len(), shown.len(), "{texts:?}");
            assert!(shown[1].0.ends_with(texts[0]), "{texts:?}");
            let end = summary(&events).termination.unwrap();
            assert_eq!(end.trigger, TerminationTrigger::Limit, "{texts:?}");
            assert!(end.detail.contains("4096 bytes of formatting"), "{}", end.detail);
        }
    }
}

/// A policy that refuses e-mail addresses and card numbers. It decomposes text that contains one of them.
fn identifiers() -> Arc<GatePolicy> {
    policy(
        "[package]\nname = \"t\"\nversion = \"1.0.0\"\ndescription = \"d\"\n[enumerations]\ndomain = [\"g\"]\naudience = [\"p\"]\n\
         temporal = [\"n\"]\nregister = [\"r\"]\n[[class]]\nname = \"mail\"\n\
         pattern = [{ regex = '[a-z]{1,20}(?:\\.[a-z]{1,20}){0,3}@[a-z]{1,20}\\.[a-z]{2,8}' }]\n\
         [[class]]\nname = \"number\"\npattern = [{ regex = '\\b[0-9]{4}(?:[ -]?[0-9]{4}){3}\\b' }]\n",
        "@id(\"ALLOW\") permit (principal, action, resource);\n\
         @id(\"NO-ID\") @outcome(\"decompose\") forbid (principal, action, resource)\n\
         when { context.classes.containsAny([\"mail\", \"number\"]) };\n",
    )
}

#[test]
fn the_end_of_a_candidate_that_may_become_a_hit_waits_for_what_follows() {
    let skip = || GateSettings { on_refuse: Some(OnRefuse::Skip), ..settings() };
    for (steps, left) in [
        // The card number is divided between two or three candidates; all its digits are refused.
        (&[&["Pay 4111 1111"] as &[&str], &[" 1111 1111 now."]] as &[&[&str]], "Pay now."),
        (&[&["Pay 4111"], &[" 1111"], &[" 1111 1111"], &[" now."]], "Pay now."),
        (&[&["Ask jane.doe"], &["@example.org"], &[" today."]], "Ask today."),
        // The text after the pending end shows that the pending end is not a part of a hit.
        (&[&["Pay 4111 1111"], &[" crowns."]], "Pay 4111 1111 crowns."),
        (&[&["Ask jane.doe"], &[" today."]], "Ask jane.doe today."),
        // At the end of the text the pending end is final.
        (&[&["Pay 4111 1111"]], "Pay 4111 1111"),
    ] {
        for release in [ReleaseMode::Span, ReleaseMode::Checkpoint, ReleaseMode::End] {
            let events = govern(&identifiers(), GateSettings { release, ..skip() }, vec![candidates("a", steps)]);
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(words(&released(&events)), left, "{steps:?}");
        }
    }
}

#[test]
fn a_refused_end_asks_for_the_next_alternative_of_its_place() {
    let reject = "@id(\"ALLOW\") permit (principal, action, resource);\n@id(\"NO-ID\") forbid (principal, action, resource)\n\
        when { context.classes.containsAny([\"mail\", \"number\"]) };\n";
    let made = identifiers();
    let manifest = String::from_utf8(made.package.files()["policy.toml"].clone()).unwrap();
    let policy = policy(&manifest, reject);
    let steps: &[&[&str]] = &[&["Pay 4111 1111", "Pay in cash"], &[" 1111 1111 now.", " today."], &[" Thanks."]];
    for (settings, left) in [
        (settings(), "Pay in cash 1111 1111 now. Thanks."),
        (GateSettings { on_refuse: Some(OnRefuse::Skip), ..settings() }, "Pay in cash 1111 1111 now. Thanks."),
    ] {
        let events = govern(&policy, settings, vec![candidates("a", steps)]);
        assert_eq!(released(&events), left);
        let at: Vec<_> = judged(&events)
            .map(|j| (j.determination.step.unwrap(), j.determination.alternative.unwrap(), j.text.clone()))
            .collect();
        // The span with the hit is judged without its unfinished end: "now." could begin an address.
        assert_eq!(at[0], (0, 0, "Pay 4111 1111 1111 1111".to_owned()));
        assert_eq!(at[1], (0, 1, "Pay in cash".to_owned()));
    }
    // The pending text is admitted, and the candidate after it is refused. Then an alternative of this candidate is
    // requested.
    let steps: &[&[&str]] = &[&["Ask jane"], &[" at a.b@example.org.", " at home."], &[" Thanks."]];
    let events = govern(&policy, settings(), vec![candidates("a", steps)]);
    assert_eq!(released(&events), "Ask jane at home. Thanks.");
}

/// The bytes between the refused spans of a whole text are held for the next admitted span, and each entry states the
/// held bytes before its span: a bound on them keeps the entries of n refusals as long as n entries.
#[test]
fn the_entries_of_refused_spans_do_not_grow() {
    let table = |cells: usize| ["| Card |\n|", &" 4111 1111 1111 1111 |".repeat(cells), "\nThanks."].concat();
    let events = govern(&identifiers(), settings(), vec![text("a", &table(5))]);
    assert_eq!(released(&events), "| Card |\n|  |  |  |  |  |\nThanks.");
    let events = govern(&identifiers(), settings(), vec![text("a", &table(2000))]);
    let longest = judged(&events).map(|j| j.inert.len()).max().unwrap();
    assert!(longest < 300, "{longest}");
    let left = released(&events);
    assert!(left.starts_with("| Card |\n|  |  |") && left.ends_with(" |\nThanks.") && left.len() < 320, "{left}");
}

#[test]
fn the_engine_goes_on_from_what_is_pending() {
    struct Noted(Arc<Mutex<Vec<String>>>);
    impl CandidateEngine for Noted {
        fn name(&self) -> String {
            "noted".into()
        }
        fn propose(&mut self, view: &EngineView<'_>, _attempt: u32) -> Result<EngineProposal, EngineError> {
            let mut shown = self.0.lock().unwrap();
            shown.push(view.admitted.to_owned());
            let text = ["Pay 41", "11", " crowns.", " Yes."].get(shown.len() - 1);
            Ok(text.map_or(EngineProposal::End, |text| {
                EngineProposal::Candidate(AnswerCandidate {
                    text: (*text).to_owned(),
                    logprobs: None,
                    logprobs_absent: None,
                    call: None,
                })
            }))
        }
        fn advance(&mut self, _: &str) {}
        fn roll_back(&mut self, _: usize) {}
    }
    let shown = Arc::new(Mutex::new(Vec::new()));
    let policy = identifiers();
    let seen = Arc::clone(&shown);
    let governor = governor(&policy, settings())
        .with_engines(filter(), Arc::new(move |_, _| Ok(Box::new(Noted(Arc::clone(&seen))))));
    let item = StreamInput::Prompt { id: "a".into(), task: StreamTask { intent: "x".into(), facts: Vec::new() } };
    let events = run(governor, &policy, vec![item]);
    assert_eq!(released(&events), "Pay 4111 crowns. Yes.");
    assert_eq!(*shown.lock().unwrap(), ["", "Pay 41", "Pay 4111", "Pay 4111 crowns.", "Pay 4111 crowns. Yes."]);
}

#[test]
fn each_span_of_a_candidate_has_the_log_probabilities_of_its_own_tokens() {
    let logprobs = LogProbs::placed(&[(9, "-0.1"), (24, "-4")]).unwrap();
    let text = "It rains; we stay in it.".to_owned();
    let candidate = AnswerCandidate { text, logprobs: Some(Ok(logprobs.clone())), logprobs_absent: None, call: None };
    let item = StreamInput::Candidates { id: "a".into(), steps: vec![vec![candidate]], task: StreamTask::default() };
    let settings = GateSettings { granularity: Some(Granularity::Span), ..settings() };
    let events = govern(&package(""), settings, vec![item]);
    let found: Vec<(String, u16)> = judged(&events)
        .map(|judged| {
            let bytes: [u8; size_of::<Descriptor>()] = hex::decode(&judged.descriptor).unwrap();
            let descriptor = Descriptor::read_from_bytes(&bytes).unwrap();
            (judged.text.clone(), descriptor.uncertainty.get())
        })
        .collect();
    let of = |part| logprobs.uncertainty(&part).get();
    assert_eq!(found, [("It rains;".to_owned(), of(0..9)), ("we stay in it.".to_owned(), of(10..24))]);
    assert!(of(0..9) < 1_000 && of(10..24) > 9_000);
}

#[test]
fn a_long_candidate_does_not_take_an_unfinished_end_with_it() {
    let made = identifiers();
    let manifest = String::from_utf8(made.package.files()["policy.toml"].clone()).unwrap();
    let rules = String::from_utf8(made.package.files()["rules.cedar"].clone()).unwrap();
    let policy = policy(
        &manifest.replace("[[class]]\nname = \"mail\"", "[limits]\nspan_bytes = 64\n[[class]]\nname = \"mail\""),
        &rules,
    );
    let skip = GateSettings { on_refuse: Some(OnRefuse::Skip), granularity: Some(Granularity::Span), ..settings() };
    // The text before the address: short pieces, a piece that is too long, and a piece that is divided because of
    // another hit.
    let split = "To jane@example.org and then we sail past it and on to the sea".to_owned();
    for before in ["We sail. ".repeat(12), "We sail past ".repeat(9), split] {
        let first = format!("{before} Pay 4111 1111");
        let events = govern(&policy, skip.clone(), vec![candidates("a", &[&[&first], &[" 1111 1111 now."]])]);
        assert!(!released(&events).contains("4111"), "{before}: {}", released(&events));
    }
}
