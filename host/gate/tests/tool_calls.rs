//! Tool calls are steps with descriptors of their own.
#![cfg(test)]

mod support;

use portcullis_core::state::Task;
use portcullis_core::wire::Determination as Answer;
use portcullis_gate::{Candidate, Item};
use portcullis_mapping::Call;
use support::*;

fn tools() -> Policy {
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
    let call = Some(Call { name: name.into(), arguments: arguments.into() });
    let steps = vec![vec![Candidate { text: String::new(), logprobs: None, call }]];
    let events = govern(&policy, settings(), vec![Item::Candidates { id: "a".into(), steps, task: Task::default() }]);
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
