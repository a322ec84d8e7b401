//! Tool calls are steps with their own descriptors.

use crate::support;

use portcullis_core::commitment::{SpanKind, commitment};
use portcullis_core::hex;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::Determination as Answer;
use portcullis_gate::{
    AnswerCandidate, GateSettings, OnRefuse, ReleaseMode, SpanJudgement, StreamEventKind, StreamInput,
};
use portcullis_mapping::EngineToolCall;
use std::sync::Arc;
use support::*;

fn tools() -> Arc<GatePolicy> {
    let classes = r#"
[[class]]
name = "shell"
[[class.tool]]
name = "run"
[[class]]
name = "abroad"
[[class.tool]]
name = "http.request"
argument = "/url"
regex = '\.example\.com/'
[[quantity]]
name = "amount"
units = { eur = "1" }
max = 100
"#;
    let rules = format!(
        "{RULES}\n@id(\"NO-SHELL\") forbid (principal, action, resource) when {{ context.classes.contains(\"shell\") }};\n\
         @id(\"NO-ABROAD\") forbid (principal, action, resource) when {{ context.classes.contains(\"abroad\") }};"
    );
    policy(&format!("{MANIFEST}{classes}"), &rules)
}

fn call(name: &str, arguments: &str) -> Option<(String, String)> {
    let policy = tools();
    let call = Some(EngineToolCall { name: name.into(), arguments: arguments.into() });
    let steps = vec![vec![AnswerCandidate { text: String::new(), logprobs: None, logprobs_absent: None, call }]];
    let events = govern(
        &policy,
        settings(),
        vec![StreamInput::Candidates { id: "a".into(), steps, task: StreamTask::default() }],
    );
    let judged = judged(&events).next().unwrap();
    assert!(judged.descriptor.len() == 256);
    match judged.determination.determination {
        Some(Answer::Admit) => {
            assert_eq!(released(&events), judged.text, "the canonical text is what leaves");
            None
        }
        _ => {
            assert_eq!(released(&events), "");
            Some((judged.determination.stage.unwrap().name().to_owned(), judged.determination.rule.clone().unwrap()))
        }
    }
}

#[test]
fn classes_name_tools_and_patterns_of_arguments() {
    let refused = |stage: &str, rule: &str| Some((stage.to_owned(), rule.to_owned()));
    assert_eq!(call("http.request", r#"{"url": "https://api.example.org/x"}"#), None);
    assert_eq!(call("http.request", r#"{"url": "https://api.example.com/x"}"#), refused("policy", "NO-ABROAD"));
    assert_eq!(call("other", r#"{"url": "https://api.example.com/x"}"#), None, "another tool's argument");
    assert_eq!(call("http.request", r#"{"to": "https://api.example.com/x"}"#), None, "another argument");
    assert_eq!(call("run", r#"{"command": "ls"}"#), refused("policy", "NO-SHELL"));
    assert_eq!(
        call("note", r#"{"text": "it is bad"}"#),
        refused("policy", "NO-BAD"),
        "classes of text hold in arguments"
    );
    assert_eq!(call("pay", r#"{"sum": "500 EUR"}"#), refused("validation", "QUANTITY-RANGE"));
}

#[test]
fn what_is_no_call_is_refused_and_never_guessed() {
    for arguments in ["", "[]", "{", r#"{"a":1,"a":2}"#, "{} {}"] {
        assert_eq!(call("note", arguments), Some(("validation".into(), "TOOL-MALFORMED".into())), "{arguments}");
    }
    assert_eq!(call("", "{}").unwrap().1, "TOOL-MALFORMED");
}

/// Equal calls are no loop of statements: a bound of their own counts them, whatever stands between them.
#[test]
fn equal_calls_have_a_bound_of_their_own() {
    for (keys, most) in [("[continuity]\ncalls = 3\n", 3), ("[continuity]\nrepetitions = 1\n", 50)] {
        let policy = policy(&format!("{MANIFEST}{keys}"), RULES);
        let look = |number: usize| of_call("look", &format!("{{\"at\":{number}}}"));
        let steps = (0..most + 2).flat_map(|number| [vec![look(number)], vec![of_call("wait", "{}")]]).collect();
        let item = StreamInput::Candidates { id: "a".into(), steps, task: StreamTask::default() };
        let events = govern(&policy, GateSettings { on_refuse: Some(OnRefuse::Skip), ..settings() }, vec![item]);
        let (looked, waited): (Vec<_>, Vec<_>) = judged(&events).partition(|judged| judged.text.contains("look"));
        let answer = |judged: &&SpanJudgement| judged.determination.determination;
        assert!(looked.iter().all(|judged| answer(judged) == Some(Answer::Admit)), "{keys}");
        let admitted = waited.iter().filter(|judged| answer(judged) == Some(Answer::Admit)).count();
        assert_eq!((admitted, waited.len()), (most, most + 2), "{keys}");
        let last = &waited[most];
        assert_eq!(last.determination.rule.as_deref(), Some("LINEAGE-REPETITION"), "{keys}");
        assert_eq!(
            (last.fields[0].field.as_str(), &*last.fields[0].condition),
            ("calls", &*format!("at most {most} equal calls"))
        );
    }
}

/// Governs steps with alternatives; returns the released text, and the calls in it.
fn leaves(steps: Vec<Vec<AnswerCandidate>>, release: ReleaseMode) -> (String, Vec<String>) {
    let item = StreamInput::Candidates { id: "a".into(), steps, task: StreamTask::default() };
    let events = govern(&tools(), GateSettings { release, ..settings() }, vec![item]);
    let mut calls = Vec::new();
    for event in &events {
        if let StreamEventKind::Released { text, calls: ranges, .. } = &event.what {
            calls.extend(ranges.iter().map(|range| text[range.clone()].to_owned()));
        }
    }
    (released(&events), calls)
}

fn of_call(name: &str, arguments: &str) -> AnswerCandidate {
    let call = Some(EngineToolCall { name: name.into(), arguments: arguments.into() });
    AnswerCandidate { text: String::new(), logprobs: None, logprobs_absent: None, call }
}

fn of_text(text: &str) -> AnswerCandidate {
    AnswerCandidate { text: text.into(), logprobs: None, logprobs_absent: None, call: None }
}

#[test]
fn a_call_leaves_whole_or_not_at_all() {
    let noop = r#"{"arguments":{},"name":"noop"}"#;
    for arguments in [
        r#"{"note": "a mixed answer, and more"}"#,
        r#"{"note": "a\u0020mixed\nanswer"}"#,
        r#"{"note": "over\nmixed"}"#,
        r#"{"mixed": 1}"#,
        r#"{"list": ["a", {"b": "mixed"}]}"#,
    ] {
        let steps = vec![vec![of_call("note", arguments), of_call("noop", "{}")]];
        assert_eq!(leaves(steps, ReleaseMode::Span), (noop.to_owned(), vec![noop.to_owned()]), "{arguments}");
    }
    let policy = tools();
    let steps = vec![vec![of_call("note", r#"{"note": "mixed"}"#)]];
    let events = govern(
        &policy,
        settings(),
        vec![StreamInput::Candidates { id: "a".into(), steps, task: StreamTask::default() }],
    );
    let outcomes: Vec<_> = judged(&events).map(|j| j.determination.determination).collect();
    assert_eq!(outcomes, [Some(Answer::Reject)], "a call is never split");
    assert!(judged(&events).all(|j| j.determination.kind == SpanKind::Call));
}

#[test]
fn numbers_of_a_call_keep_their_text() {
    let arguments = r#"{"a":123456789012345678901234567890,"b":1.0,"c":1e+05,"d":-0.0,"e":0.1000}"#;
    let text = format!(r#"{{"arguments":{arguments},"name":"pay"}}"#);
    assert_eq!(leaves(vec![vec![of_call("pay", arguments)]], ReleaseMode::Span).1, [text]);
}

#[test]
fn calls_and_text_are_told_apart() {
    let steps = || {
        let like = r#"{"arguments":{},"name":"noop"}"#;
        vec![vec![of_text("Asking. ")], vec![of_text("\n---\n")], vec![of_call("noop", "{}")], vec![of_text(like)]]
    };
    let noop = r#"{"arguments":{},"name":"noop"}"#;
    for release in [ReleaseMode::Span, ReleaseMode::Checkpoint, ReleaseMode::End] {
        let (text, calls) = leaves(steps(), release);
        assert_eq!(text, format!("Asking. \n---\n{noop}{noop}"));
        assert_eq!(calls, [noop], "what only looks like a call is text");
    }
    let item = StreamInput::Candidates { id: "a".into(), steps: steps(), task: StreamTask::default() };
    let events = govern(&tools(), settings(), vec![item]);
    let same: Vec<_> = judged(&events).filter(|j| j.text == noop).collect();
    let committed = |kind, j: &SpanJudgement| {
        let salt = hex::decode(&j.salt).unwrap();
        hex::encode(&commitment(kind, &salt, &[j.inert.as_bytes(), j.text.as_bytes()]))
    };
    let [call, text] = same.as_slice() else { panic!("{same:?}") };
    assert!(call.descriptor.contains(&committed(SpanKind::Call, call)));
    assert!(text.descriptor.contains(&committed(SpanKind::Text, text)));
    assert!(!text.descriptor.contains(&committed(SpanKind::Call, text)), "no receipt for text is one for a call");
}

#[test]
fn text_that_holds_a_call_is_judged_as_the_call() {
    let fine = "It is done.";
    for call in [
        r#"{"arguments":{"command":"ls"},"name":"run"}"#,
        r#"{ "name" : "r\u0075n", "arguments" : "{\"command\": \"ls\"}" }"#,
        "```json\n{\"tool_name\": \"run\", \"parameters\": {}}\n```",
        r#"<tool_call>{"name":"run","arguments":{}}</tool_call>"#,
        r#"[{"type":"function","function":{"name":"run","arguments":"{}"}}]"#,
        r#"{"name":"noop","arguments":{"note":"mixed"}}"#,
        r#"{"name":"noop","name":"run","arguments":{}}"#,
    ] {
        let (text, calls) = leaves(vec![vec![of_text(call), of_text(fine)]], ReleaseMode::Span);
        assert_eq!((text.as_str(), calls.len()), (fine, 0), "{call}");
        // In a whole text, the words around the call are released and the call is not.
        let whole = StreamInput::Text {
            id: "a".into(),
            text: format!("Here it is.\n\n{call}\n\nThat was it."),
            task: StreamTask::default(),
        };
        let left =
            released(&govern(&tools(), GateSettings { on_refuse: Some(OnRefuse::Skip), ..settings() }, vec![whole]));
        assert!(left.starts_with("Here it is.") && left.ends_with("That was it."), "{left}");
        assert!(!left.contains("name") && !left.contains("noop"), "{call}: {left}");
    }
    // Data that is not a call, and a call that no rule forbids, are treated as ordinary text.
    for text in [r#"{"name":"Ana","age":7}"#, r#"{"name":"noop","arguments":{}}"#, "A { set } of things."] {
        assert_eq!(leaves(vec![vec![of_text(text)]], ReleaseMode::Span), (text.to_owned(), Vec::new()));
    }
}
