//! Several values of one quantity, and quantities that two proposals divide.

use crate::support;

use portcullis_core::commitment::SpanKind;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::Determination as Answer;
use portcullis_gate::replay::{ReplayInput, StreamReplayer};
use portcullis_gate::{
    AnswerCandidate, GateSettings, OnRefuse, SaltKey, SpanJudgement, StreamEvent, StreamEventKind, StreamInput,
};
use portcullis_mapping::EngineToolCall;
use std::sync::Arc;
use support::*;

const SLOTS: &str = r#"
[[quantity]]
name = "dose"
units = { mg = "1", g = "1000" }
min = 0
[[quantity]]
name = "days"
units = { days = "1", years = "365" }
"#;
const LIMITS: &str = r#"
@id("HIGH") forbid (principal, action, resource) when { context.quantity has dose && context.quantity.dose > 4000 };
@id("LOW") forbid (principal, action, resource) when { context.quantity has dose && context.quantity.dose < 10 };
@id("BOTH") forbid (principal, action, resource)
when { context.quantity has dose && context.quantity.dose > 2000 && context.quantity has days && context.quantity.days > 7 };
@id("LONG") forbid (principal, action, resource) when { context.quantity has days && context.quantity.days > 730 };
"#;

fn doses() -> Arc<GatePolicy> {
    policy(&format!("{MANIFEST}{SLOTS}"), &format!("{RULES}{LIMITS}"))
}

fn skip() -> GateSettings {
    GateSettings { on_refuse: Some(OnRefuse::Skip), ..settings() }
}

fn of_text(said: &str) -> Vec<StreamEvent> {
    govern(&doses(), skip(), vec![text("a", said)])
}

/// Ids of the rules that refused something.
fn refusals(events: &[StreamEvent]) -> Vec<String> {
    let refused = judged(events).filter(|j| j.determination.determination == Some(Answer::Reject));
    refused.filter_map(|j| j.determination.rule.clone()).collect()
}

#[test]
fn a_range_leaves_whole_after_an_entry_for_each_value() {
    let said = "Adults take 200, 500 or 400 mg of it.";
    let events = of_text(said);
    assert_eq!(released(&events), said);
    let parts: Vec<_> = judged(&events)
        .map(|j| {
            (j.determination.determination.unwrap(), j.determination.parent, j.text.as_str(), j.determination.range())
        })
        .collect();
    assert_eq!(
        parts,
        [
            (Answer::Decompose, None, said, 0..said.len()),
            (Answer::Admit, Some(1), "", 0..0),
            (Answer::Admit, Some(1), "", 0..0),
            (Answer::Admit, Some(1), said, 0..said.len()),
        ]
    );
    assert_eq!(releases(&events)[0].0, [4], "only the last entry has bytes");
    assert_eq!(summary(&events).bytes_admitted, said.len());
}

#[test]
fn every_value_of_a_range_is_judged() {
    for (said, rule) in [
        ("Take 500 to 5,000 mg of it.", "HIGH"),
        ("Take 0.5 to 5 g of it.", "HIGH"),
        ("Take 8.000 mg of it.", "HIGH"),
        ("Take 5 or 500 mg of it.", "LOW"),
        ("Take 5, 50 or 500 mg of it.", "LOW"),
        ("Take 500 or 3000 mg for 5 or 10 days.", "BOTH"),
        ("Take 1, 2, 3, 4, 5, 6, 7, 8, 9 mg of it.", "LOW"),
        ("Take 11, 12, 13, 14, 15, 16, 17, 18, 19 mg of it.", "QUANTITY-MULTIPLE"),
        ("Take 500 to 600.5 mg of it.", "QUANTITY-INEXACT"),
    ] {
        let events = of_text(said);
        assert_eq!((released(&events).as_str(), refusals(&events)), ("", vec![rule.to_owned()]), "{said}");
    }
    for said in ["Take 500 or 3000 mg for 5 or 7 days.", "Take 500 mg, which is 0.5 g.", "Take 0.5 to 1 g of it."] {
        assert_eq!(released(&of_text(said)), said);
    }
}

#[test]
fn a_refused_value_changes_nothing_of_the_stream() {
    // The lower value was admitted, but the established value stays that of the first sentence.
    let policy = policy(&format!("{MANIFEST}{}", SLOTS.replace("min = 0", "tolerance = 1000")), RULES);
    let events = govern(&policy, skip(), vec![text("a", "Take 500 mg. Take 460 to 900 mg. Take 541 mg.")]);
    assert_eq!(released(&events), "Take 500 mg.  Take 541 mg.");
    assert_eq!(refusals(&events), ["CONTRADICT-QUANTITY"]);
}

#[test]
fn a_call_with_several_values_leaves_whole_or_not_at_all() {
    let call = |arguments: &str| {
        let call = Some(EngineToolCall { name: "order".into(), arguments: arguments.into() });
        let steps = vec![vec![AnswerCandidate { text: String::new(), logprobs: None, logprobs_absent: None, call }]];
        let events = govern(
            &doses(),
            settings(),
            vec![StreamInput::Candidates { id: "a".into(), steps, task: StreamTask::default() }],
        );
        assert!(judged(&events).all(|j| j.determination.kind == SpanKind::Call));
        (released(&events), refusals(&events))
    };
    assert!(call(r#"{"take": "200 to 400 mg"}"#).0.contains("200 to 400 mg"));
    assert_eq!(call(r#"{"take": "200 to 4001 mg"}"#), (String::new(), vec!["HIGH".to_owned()]));
    assert_eq!(call(r#"{"take": "9 or 400 mg"}"#), (String::new(), vec!["LOW".to_owned()]));
    assert_eq!(call(r#"{"take": "mixed 20 or 400 mg"}"#), (String::new(), vec!["SPLIT".to_owned()]));
}

#[test]
fn the_values_of_a_range_replay_exactly() {
    let policy = doses();
    let key = SaltKey::from_bytes([3; 32]);
    for said in ["Take 200 to 400 mg. Then take 300 mg.", "  Take 20 to 400 mg. Take 5 or 400 mg, then stop. Good.  "] {
        let item = text("t", said);
        let settings = GateSettings { on_refuse: Some(OnRefuse::Skip), ..GateSettings::new(key.clone()) };
        let (events, records) = recorded(governor(&policy, settings), &policy, item);
        let context = events.iter().find_map(|event| match &event.what {
            StreamEventKind::Begun { context, .. } => Some(context.bytes()),
            _ => None,
        });
        let salts = (0..records.len() as u32).map(|sequence| (sequence, key.salt(0, sequence))).collect();
        let mut replayer = StreamReplayer::new(&policy.compiled.image, [Arc::clone(&policy)], Vec::new()).unwrap();
        let input = ReplayInput::Text(said.into());
        let (replay, course) = replayer.stream(&context.unwrap(), input, salts, &records).unwrap();
        assert_eq!((replay.records, replay.consumed), (records.len() as u64, true));
        let verdict = |j: &SpanJudgement| (j.determination.clone(), j.text.clone(), j.descriptor.clone());
        assert!(course.judgements.iter().map(verdict).eq(judged(&events).map(verdict)));
    }
}

#[test]
fn a_card_that_reads_texts_gives_the_same_verdicts() {
    let (manifest, rules) = (format!("{MANIFEST}{SLOTS}"), format!("{RULES}{LIMITS}"));
    let lane = lane_policy(&manifest, &rules);
    for said in [
        "Take 200 to 400 mg. Then take 300 mg.",
        "First. - Take 5 or 400 mg. The bad one. Take 20 or 30 mg.",
        "Take 200 to 400 mg for 9 or 10 days. A key: take 20 or 5000 mg.",
    ] {
        let events = govern(&lane, skip(), vec![text("a", said)]);
        assert_eq!(summary(&events).faults, 0, "{said}");
        assert_eq!(outcomes(&events), outcomes(&of_text(said)), "{said}");
        assert_eq!(released(&events), released(&of_text(said)));
    }
}

#[test]
fn a_quantity_that_proposals_divide_waits() {
    for steps in [
        &["We keep your data for 5", " years."][..],
        &["We keep your data for ", "5", " ", "years."],
        &["We keep your data for 5 y", "ears."],
        &["We keep your data for five", " years."],
        &["We keep your data for 500 to ", "900 days."],
    ] {
        let steps: Vec<&[&str]> = steps.iter().map(std::slice::from_ref).collect();
        let events = govern(&doses(), skip(), vec![candidates("a", &steps)]);
        let left = released(&events);
        assert!(!left.contains('5') && !left.contains("five"), "{steps:?}: {left}");
        assert_eq!(refusals(&events), ["LONG"], "{steps:?}");
    }
    let events = govern(&doses(), skip(), vec![candidates("a", &[&["We keep your data for 5"], &[" days."]])]);
    assert_eq!(released(&events), "We keep your data for 5 days.");
}
