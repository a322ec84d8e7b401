//! Anchors, tested on the software model of the card: in every category, references are resolved or reported. A closed
//! world refuses unsupported assertions.

use crate::support;

use portcullis_core::hex::HexBytes;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::Determination as Answer;
use portcullis_gate::anchor::{AnchorSet, AnchorStore, write_sqlite};
use portcullis_gate::{AnswerCandidate, StreamEvent, StreamEventKind, StreamInput, TerminationTrigger};
use std::path::PathBuf;
use std::sync::Arc;
use support::*;

const STORE: &str = r#"{"entity":{"id":"ana","name":"Ana Silva","aliases":["Silva"],"kind":"person"}}
{"entity":{"id":"bo","name":"Bo Silva","aliases":["Silva"],"kind":"person"}}
{"fact":{"entity":"ana","text":"Ana Silva was born in Porto in 1950.","source":"register"}}
{"fact":{"entity":"ana","text":"Ana Silva died in 1990.","source":"register"}}
{"fact":{"entity":"ana","text":"Ana Silva painted ships.","source":"catalogue"}}
{"fact":{"entity":"bo","text":"Bo Silva was born in Lund in 1961.","source":"register"}}
{"citation":{"id":"10.1000/xyz","source":"editor"}}
{"citation":{"id":"https://example.org/*","source":"editor"}}
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn closed() -> Arc<GatePolicy> {
    let manifest =
        MANIFEST.replace("description = \"For tests.\"", "description = \"For tests.\"\nclosed_world = true");
    policy(&format!("{manifest}\n[continuity]\npresupposition = false\n"), RULES)
}

fn judge(policy: &Arc<GatePolicy>, anchors: AnchorSet, intent: &str, said: &str) -> Vec<StreamEvent> {
    let mut item = text("a", said);
    if let StreamInput::Text { task, .. } = &mut item {
        task.intent = intent.into();
    }
    run(governor(policy, settings()).with_anchors(anchors), policy, vec![item])
}

fn with_store(policy: &Arc<GatePolicy>, intent: &str, said: &str) -> Vec<StreamEvent> {
    let folder = Folder::new();
    let store = AnchorStore::open(&folder.file("store.jsonl", STORE)).unwrap();
    judge(policy, AnchorSet::new(vec![store], &policy.mapper), intent, said)
}

fn rules(events: &[StreamEvent]) -> Vec<String> {
    judged(events).filter_map(|j| j.determination.rule.clone()).collect()
}

#[test]
fn citations_resolve_by_the_allow_list_whatever_the_category() {
    let policy = package("");
    for said in ["It is not so, see doi:10.1000/xyz.", "Perhaps see https://example.org/a.", "See doi:10.1000/xyz."] {
        assert_eq!(rules(&with_store(&policy, "", said)), Vec::<String>::new(), "{said}");
    }
    for said in
        ["It is not so, see doi:10.1000/other.", "Perhaps see https://example.com/a.", "Under § 823 BGB it may be."]
    {
        let events = with_store(&policy, "", said);
        assert_eq!(rules(&events), ["ANCHOR-UNRESOLVABLE"], "{said}");
        assert_eq!(judged(&events).next().unwrap().determination.determination, Some(Answer::Reject));
    }
}

/// Without a store, texts with a citation are refused, except at most 2 % of the rows. A text that only resembles a
/// citation is never refused.
#[test]
fn without_a_store_every_citation_is_refused_and_what_looks_like_one_is_not() {
    let policy = package("");
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/bytes/citations.jsonl");
    let (mut rows, mut missed, mut touched) = (0, Vec::new(), Vec::new());
    for line in std::fs::read_to_string(cases).unwrap().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        if row["promised"] != true {
            continue;
        }
        let said = row["text"].as_str().unwrap();
        let refused =
            rules(&judge(&policy, AnchorSet::none(&policy.mapper), "", said)).iter().any(|r| r.starts_with("ANCHOR-"));
        let cites = row["expect"] == "refuse";
        rows += usize::from(cites);
        if cites != refused {
            if cites { &mut missed } else { &mut touched }.push(said.to_owned());
        }
    }
    assert!(touched.is_empty(), "{touched:#?}");
    assert!(rows > 70 && missed.len() * 50 <= rows, "{} of {rows}: {missed:#?}", missed.len());
}

#[test]
fn a_name_of_two_is_ambiguous_and_splits_unless_the_stream_speaks_of_one() {
    let policy = package("");
    let events = with_store(&policy, "", "Silva painted ships; the sea was rough.");
    let first = judged(&events).next().unwrap();
    assert_eq!(first.determination.determination, Some(Answer::Decompose));
    assert_eq!(first.determination.rule.as_deref(), Some("ANCHOR-AMBIGUOUS"));
    assert!(!released(&events).contains("Silva") && released(&events).contains("the sea was rough"));
    assert_eq!(rules(&with_store(&policy, "Tell of Ana Silva", "Silva painted ships.")), Vec::<String>::new());
}

#[test]
fn a_closed_world_admits_what_facts_support_and_sets_the_rest_apart() {
    let policy = closed();
    let intent = "Tell of Ana Silva";
    let said = "Ana Silva was born in Porto in 1950. She painted ships.";
    assert_eq!(released(&with_store(&policy, intent, said)), said);
    for said in ["She sang operas.", "Rivers flow north.", "It is."] {
        assert_eq!(rules(&with_store(&policy, intent, said)), ["CLOSED-WORLD-UNSUPPORTED"], "{said}");
    }
    let events = with_store(&policy, intent, "Ana Silva was born in Porto in 1961.");
    assert_eq!(rules(&events)[0], "CLOSED-WORLD-PARTIAL");
    assert_eq!(released(&events).trim_end(), "Ana Silva was born in Porto");
    let field = &judged(&events).next().unwrap().fields[0];
    assert_eq!((field.field.as_str(), field.value.as_str()), ("word", "1961"));
    let events = with_store(&policy, intent, "Ana Silva painted ships and sang operas.");
    assert_eq!(released(&events).trim_end(), "Ana Silva painted ships");
    // If the words about the singer are removed, only the name is left, and a name asserts nothing.
    assert_eq!(released(&with_store(&policy, intent, "Ana Silva, a singer.")).trim(), "");
    let events = with_store(&policy, intent, "She was born in 1990.");
    assert!(!released(&events).contains("1990"), "the year of death is no year of birth");
}

/// Covers a missing word, a verb with another subject in its fact, and words that no fact could support.
#[test]
fn a_closed_world_names_what_it_misses() {
    let policy = closed();
    for (said, field, value, condition) in [
        ("She sang operas.", "word", "operas", "in a fact that the sentence says"),
        ("She did not paint ships.", "word", "paint", "denied in a fact that the sentence says"),
        ("Bo Lind painted ships.", "verb", "painted", "of whom it is in the fact \"Ana Silva painted ships.\""),
        ("It is.", "span", "It is.", "words that a fact can support"),
    ] {
        let events = with_store(&policy, "Tell of Ana Silva", said);
        let fields = &judged(&events).last().unwrap().fields;
        let found = fields.iter().any(|f| f.field == field && f.value == value && f.condition == condition);
        assert!(found, "{said}: {fields:?}");
    }
}

/// Every word must be supported, also denials and the subject. A synonym supports a word.
#[test]
fn a_closed_world_asks_for_every_word_and_for_who_is_spoken_of() {
    let policy = closed();
    let folder = Folder::new();
    let facts = [
        r#"{"entity":{"id":"ana","name":"Ana Silva","aliases":[],"kind":"person"}}"#,
        r#"{"entity":{"id":"bo","name":"Bo Lind","aliases":[],"kind":"person"}}"#,
        r#"{"fact":{"entity":"ana","text":"Ana Silva was born in Porto in 1950.","source":"register"}}"#,
        r#"{"fact":{"entity":"ana","text":"Ana Silva bought a lighthouse in 1975.","source":"register"}}"#,
        r#"{"fact":{"entity":"ana","text":"Ana Silva never led the harbour council.","source":"register"}}"#,
        r#"{"fact":{"entity":"bo","text":"Bo Lind sailed to Lisbon.","source":"register"}}"#,
    ];
    let store = AnchorStore::open(&folder.file("store.jsonl", &facts.join("\n"))).unwrap();
    let anchors = AnchorSet::new(vec![store], &policy.mapper);
    let whole = |said: &str| released(&judge(&policy, anchors.clone(), "Tell of Ana Silva", said)) == said;
    for said in [
        "Ana Silva was born in Porto in 1950.",
        "In 1975 she purchased a lighthouse.",
        "She has never led the harbour council.",
        "She did not lead the harbour council.",
        "Bo Lind sailed to Lisbon.",
    ] {
        assert!(whole(said), "{said}");
    }
    for said in [
        "Ana Silva was not born in Porto in 1950.",
        "She never bought a lighthouse in 1975.",
        "She led the harbour council.",
        "Ana Silva was born in rainy Porto in 1950.",
        "Ana Silva burnt a lighthouse in 1975.",
        "Bo Lind was born in Porto in 1950.",
        "Before the war, Bo Lind bought a lighthouse in 1975.",
        "Ana Silva sailed to Lisbon.",
        "Ana Silva was born in Porto in 1950, not.",
        "Ana Silva was born in Porto in 1950 - not really.",
        "Ana Silva was born in Porto in 1950, never Ana Silva.",
    ] {
        assert!(!whole(said), "{said}");
    }
    // A part stands alone only with a verb and without a need for a continuation; a clause without a verb stays with
    // the text before it.
    let left = |said: &str| released(&judge(&policy, anchors.clone(), "Tell of Ana Silva", said)).trim().to_owned();
    assert_eq!(left("She bought a lighthouse in Hamburg."), "She bought a lighthouse");
    assert_eq!(left("She was born in Hamburg, and Porto."), "She was born");
}

/// A call is judged as a whole and never divided, although its depth is the greatest.
#[test]
fn a_call_is_a_whole_in_a_closed_world() {
    let policy = closed();
    let folder = Folder::new();
    let store = AnchorStore::open(&folder.file("store.jsonl", STORE)).unwrap();
    let arguments = r#"{"note":"Ana Silva painted ships and sang operas."}"#.into();
    let call = Some(portcullis_mapping::EngineToolCall { name: "tell".into(), arguments });
    let steps = vec![vec![AnswerCandidate { text: String::new(), logprobs: None, logprobs_absent: None, call }]];
    let task = StreamTask { intent: "Tell of Ana Silva".into(), facts: Vec::new() };
    let governor = governor(&policy, settings()).with_anchors(AnchorSet::new(vec![store], &policy.mapper));
    let events = run(governor, &policy, vec![StreamInput::Candidates { id: "a".into(), steps, task }]);
    assert_eq!(rules(&events), ["CLOSED-WORLD-PARTIAL"]);
    assert_eq!(released(&events), "");
}

#[test]
fn without_a_store_only_the_operators_facts_support() {
    let policy = closed();
    let mut item = text("a", "Rivers carry silt. Rivers carry gold.");
    if let StreamInput::Text { task, .. } = &mut item {
        task.facts = vec!["Rivers carry silt.".into()];
    }
    let events = govern(&policy, settings(), vec![item]);
    assert_eq!(outcomes(&events)[0].1, Answer::Admit);
    assert!(!released(&events).contains("gold"));
}

#[test]
fn one_content_has_one_digest_and_begin_carries_it() {
    let folder = Folder::new();
    let lines = AnchorStore::open(&folder.file("a.jsonl", STORE)).unwrap();
    let reversed: String = STORE.lines().rev().map(|l| format!("{l}\n")).collect();
    assert_eq!(AnchorStore::open(&folder.file("b.jsonl", &reversed)).unwrap().digest(), lines.digest());
    let sqlite = folder.0.path().join("c.sqlite");
    write_sqlite(&sqlite, lines.contents()).unwrap();
    let database = AnchorStore::open(&sqlite).unwrap();
    assert_eq!((database.digest(), database.contents()), (lines.digest(), lines.contents()));

    let policy = package("");
    let events = judge(&policy, AnchorSet::new(vec![database], &policy.mapper), "", "Fine.");
    let StreamEventKind::Begun { context, .. } = &events[0].what else { panic!("{:?}", events[0]) };
    assert_eq!(context.anchor_digests, [HexBytes(lines.digest())]);
}

#[test]
fn a_store_that_changes_ends_the_streams_that_begin_after_it() {
    let folder = Folder::new();
    let path = folder.file("store.jsonl", STORE);
    let policy = package("");
    let anchors = AnchorSet::new(vec![AnchorStore::open(&path).unwrap()], &policy.mapper);
    std::fs::write(&path, STORE.replace("1950", "1951")).unwrap();
    let events = judge(&policy, anchors, "", "Fine.");
    assert_eq!(summary(&events).termination.unwrap().trigger, TerminationTrigger::AnchorsChanged);
    assert_eq!(released(&events), "");
}

#[test]
fn a_store_that_cannot_be_used_says_where_and_what() {
    let folder = Folder::new();
    let error = |name: &str, text: &str| AnchorStore::open(&folder.file(name, text)).unwrap_err().to_string();
    assert!(error("a", "{\"entity\":{\"id\":\"x\",\"name\":\"X\"}}\nnonsense\n").contains("line 2"));
    assert!(error("b", "{\"fact\":{\"entity\":\"x\",\"text\":\"t\",\"source\":\"s\"}}").contains("no entity"));
    assert!(error("c", &STORE.lines().next().unwrap().repeat(2).replace("}}{", "}}\n{")).contains("twice"));
    assert!(error("d", "SQLite format 3\0garbage").contains("SQLite"));
    let missing = AnchorStore::open(&folder.0.path().join("nowhere")).unwrap_err().to_string();
    assert!(missing.contains("anchors build"), "{missing}");
}

#[test]
fn a_package_that_says_so_lets_any_citation_stand() {
    let said = "See https://example.org/a for more. It is ISBN 978-0-306-40615-7. (doi:10.1000/182)";
    for (sections, left) in [("", ""), ("citations = \"any\"\n", said)] {
        let manifest = MANIFEST.replacen("[enumerations]", &format!("{sections}[enumerations]"), 1);
        let events = govern(&policy(&manifest, RULES), settings(), vec![text("a", said)]);
        assert_eq!(released(&events).trim(), left, "{sections}");
    }
}
