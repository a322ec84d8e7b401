//! Stages 2 and 3 on the software model of the card: each rule refuses its case, does not refuse a similar case, and is
//! named in the refusal.

use crate::support;

use portcullis_core::wire::Determination as Answer;
use portcullis_gate::StreamInput;
use support::*;

/// The rule and stage that refuse the last span of a text, under a manifest with `sections` added; `None` if the span
/// is admitted.
fn last(sections: &str, intent: &str, said: &str) -> Option<(String, String)> {
    let mut item = text("a", said);
    if let StreamInput::Text { task, .. } = &mut item {
        task.intent = intent.into();
    }
    let events = govern(&package(sections), settings(), vec![item]);
    let judged = judged(&events).last().unwrap().determination.clone();
    assert_eq!(judged.determination == Some(Answer::Reject), judged.rule.is_some());
    judged.rule.map(|rule| (judged.stage.unwrap().name().to_owned(), rule))
}

/// Checks texts whose last span the rule refuses, and similar texts that it does not refuse.
fn rule(stage: &str, id: &str, sections: &str, refused: &[&str], admitted: &[&str]) {
    for said in refused {
        assert_eq!(last(sections, "", said), Some((stage.to_owned(), id.to_owned())), "{said}");
    }
    for said in admitted {
        assert_eq!(last(sections, "", said), None, "{said}");
    }
}

#[test]
fn a_span_must_be_consistent_in_itself() {
    let refused =
        ["Ana Silva was born in 1950 and died in 1940.", "Ana Silva was born in 1950. Ana Silva died in 1940."];
    let admitted =
        ["Ana Silva was born in 1950 and died in 1990.", "Ana Silva was born in 1950. Bo Lind died in 1940."];
    rule("validation", "CLAIMS-INCONSISTENT", "", &refused, &admitted);
}

#[test]
fn an_established_value_is_not_contradicted() {
    rule(
        "validation",
        "CONTRADICT-VALUE",
        "",
        &[
            "The capital of France is Paris. The capital of France is Lyon.",
            "Ana Silva was born in Porto. She sings. Ana Silva was born in Lisbon.",
            "The pump weighs 12 kilograms. The pump weighs 13 kilograms.",
        ],
        &[
            "The capital of France is Paris. The capital of Italy is Rome.",
            "The pump weighs 12 kilograms. The pump weighs 12 kilograms.",
            "The pump weighs 12 kilograms. Corrected: the pump weighs 13 kilograms.",
        ],
    );
    rule(
        "validation",
        "CONTRADICT-NEGATION",
        "",
        &["The drug is safe. The drug is not safe.", "The pump never leaks. The pump leaks."],
        &["The drug is safe. The drug is not cheap.", "The drug is safe. The drug is safe."],
    );
    assert_eq!(last("[continuity]\ncontradiction = false\n", "", "The drug is safe. The drug is not safe."), None);
}

#[test]
fn a_quantity_stays_within_its_tolerance() {
    let slot = "[[quantity]]\nname = \"dose\"\nunits = { mg = \"1\" }\ntolerance = 1000\n";
    let refused = ["Take 500 mg. Later take 551 mg."];
    let admitted = ["Take 500 mg. Later take 550 mg.", "Take 500 mg. Take 900 mg instead."];
    rule("validation", "CONTRADICT-QUANTITY", slot, &refused, &admitted);
}

#[test]
fn what_is_presupposed_was_introduced() {
    rule(
        "validation",
        "PRESUPPOSE-REFERENT",
        "",
        &["It rained. This trial was small."],
        &["A trial began. This trial was small.", "Two trials began. This trial was small.", "The trial was small."],
    );
    let admitted = ["It rained. As stated above, it was wet."];
    rule("validation", "PRESUPPOSE-ABOVE", "", &["As stated above, it was wet."], &admitted);
    rule("validation", "PRESUPPOSE-QUANTITY", "", &["Double that dose."], &["Take 5 drops. Double that dose."]);
    let strict = "[continuity]\ndefinite = true\n";
    let admitted = ["A trial began. The trial was small.", "The capital of France is old."];
    rule("validation", "PRESUPPOSE-REFERENT", strict, &["The trial was small."], &admitted);
    assert_eq!(last(strict, "Report on the trial", "The trial was small."), None, "the intent introduces it");
}

#[test]
fn lineage_goes_on_from_where_it_is() {
    rule(
        "lineage",
        "LINEAGE-DISCONTINUITY",
        "",
        &["Therefore it rains.", "First, wash it. Third, iron it.", "Step 2: iron it."],
        &["It is cold. Therefore it rains.", "First, wash it. Second, iron it.", "Step 1: wash it. Step 2: iron it."],
    );
    rule(
        "lineage",
        "LINEAGE-REPETITION",
        "[continuity]\nrepetitions = 2\n",
        &["Birds sing. Birds sing. Birds sing."],
        &["Birds sing. Birds sing.", "Birds sing. Birds fly. Birds sing."],
    );
    rule(
        "lineage",
        "LINEAGE-REGRESSION",
        "",
        &["The pump weighs 12 kilograms. Now the pump weighs 13 kilograms. The pump weighs 12 kilograms."],
        &["The pump weighs 12 kilograms. Now the pump weighs 13 kilograms. The pump weighs 13 kilograms."],
    );
}

#[test]
fn a_change_of_topic_needs_a_cue_or_the_intent() {
    let sections = "[continuity]\ntopic = 2000\n";
    let rivers = "Rivers carry water to the sea. Interest rates fell across banks.";
    let shift = Some(("lineage".to_owned(), "LINEAGE-TOPIC-SHIFT".to_owned()));
    assert_eq!(last(sections, "", rivers), shift);
    assert_eq!(last(sections, "Tell of rivers and interest rates", rivers), None);
    assert_eq!(last(sections, "", "Rivers carry water. Turning to banks, interest rates fell widely."), None);
    assert_eq!(last(sections, "", "Rivers carry water. They fall across many rocks."), None, "a pronoun carries it on");
    assert_eq!(last("", "", rivers), None, "a policy that sets no share looks at no topic");
}

/// The rationale of each refusal names the deciding facts: the earlier statement, the value, the missing word.
#[test]
fn a_refusal_says_what_it_rests_on() {
    let slot = "[[quantity]]\nname = \"dose\"\nunits = { mg = \"1\" }\nmin = 0\nmax = 4000\ntolerance = 1000\n";
    let strict = "[continuity]\ndefinite = true\nrepetitions = 2\ntopic = 2000\n[limits]\nspan_bytes = 300\n";
    let both = format!("{strict}{slot}");
    let rivers = "Rivers carry water to the sea. Interest rates fell across banks.";
    let long = format!("It rains {} there.", "more and ".repeat(40));
    for (said, reason, value, condition) in [
        ("Ana Silva was born in 1950 and died in 1940.", "CLAIMS-INCONSISTENT", "1950", "in order with died year 1940"),
        (
            "A pump weighs 12 kilograms. The pump weighs 13 kilograms.",
            "CONTRADICT-VALUE",
            "13",
            "A pump weighs 12 kilograms",
        ),
        ("A drug is safe. The drug is not safe.", "CONTRADICT-NEGATION", "not safe", "A drug is safe"),
        ("Take 500 mg. Later take 551 mg.", "CONTRADICT-QUANTITY", "551", "1000 basis points of 500"),
        ("It rained. This trial was small.", "PRESUPPOSE-REFERENT", "trial", "introduced"),
        ("As stated above, it was wet.", "PRESUPPOSE-ABOVE", "nothing above", "something above it"),
        ("Double that dose.", "PRESUPPOSE-QUANTITY", "none", "a quantity that was given"),
        ("Take 5000 mg.", "QUANTITY-RANGE", "5000 mg", "in the declared range"),
        ("Take 0.5 mg.", "QUANTITY-INEXACT", "0.5 mg", "exact in the unit"),
        (&long, "SPAN-TOO-LONG", "376", "at most 300 bytes"),
        ("Therefore it rains.", "LINEAGE-DISCONTINUITY", "nothing before it", "something that it continues"),
        ("Step 1: wash it. Step 3: iron it.", "LINEAGE-DISCONTINUITY", "3", "1 or 2"),
        ("Birds sing. Birds sing. Birds sing.", "LINEAGE-REPETITION", "3", "the same was said in 1, 2"),
        (
            "A pump weighs 12 kilograms. Now the pump weighs 13 kilograms. The pump weighs 12 kilograms.",
            "LINEAGE-REGRESSION",
            "12 kilograms",
            "pump weighs 13 kilograms.\", which replaced it",
        ),
        (rivers, "LINEAGE-TOPIC-SHIFT", "", "interest"),
    ] {
        let events = govern(&package(&both), settings(), vec![text("a", said)]);
        let refused = judged(&events).find(|j| j.determination.rule.as_deref() == Some(reason));
        let refused = refused.unwrap_or_else(|| panic!("{said}: {reason}"));
        let names = |of: &portcullis_gate::DecidingField| of.value.contains(value) && of.condition.contains(condition);
        assert!(refused.fields.iter().any(names), "{said}: {:?}", refused.fields);
    }
}

#[test]
fn policy_is_reported_before_validation_and_validation_before_lineage_and_entropy() {
    let stages = |said: &str| last("[continuity]\nrepetitions = 1\n", "", said).map(|(stage, _)| stage);
    assert_eq!(stages("Therefore this trial is bad.").as_deref(), Some("policy"));
    assert_eq!(stages("Therefore this trial ended.").as_deref(), Some("validation"));
    assert_eq!(stages("Therefore it ended.").as_deref(), Some("lineage"));
}

#[test]
fn hits_are_found_across_candidates() {
    let events = govern(&package(""), settings(), vec![candidates("a", &[&["It is b"], &["ad."]])]);
    let refused = judged(&events).last().unwrap();
    assert_eq!(refused.determination.rule.as_deref(), Some("NO-BAD"), "the second half completes the word");
    assert_eq!((refused.determination.start, refused.determination.end), (0, 10));
    assert_eq!(released(&events), "", "the first half waits for what follows");
}
