//! Stages 2 and 3 on the model card: each rule fails what it is for, passes its neighbour, and names itself.
#![cfg(test)]

mod support;

use portcullis_core::wire::Determination as Answer;
use portcullis_gate::Item;
use support::*;

/// The rule that refuses the last span of a text under these sections of the manifest, with its stage; `None` when it is admitted.
fn last(sections: &str, intent: &str, said: &str) -> Option<(String, String)> {
    let mut item = text("a", said);
    if let Item::Text { task, .. } = &mut item {
        task.intent = intent.into();
    }
    let events = govern(&package(sections), settings(), vec![item]);
    let judged = judged(&events).last().unwrap().determination.clone();
    assert_eq!(judged.determination == Some(Answer::Reject), judged.rule.is_some());
    judged.rule.map(|rule| (judged.stage.unwrap().name().to_owned(), rule))
}

/// Texts whose last span the rule refuses, and neighbours that it does not.
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
