//! Tests every rule on its own examples, and checks that the data files are consistent.
#![cfg(test)]

use portcullis_prefilter::{FilterPolicy, InputPrefilter, RuleError, RuleSet, SeverityTier, builtin};
use std::collections::BTreeSet;

fn filter() -> InputPrefilter {
    InputPrefilter::new(FilterPolicy::profile("user-prompt").unwrap()).unwrap()
}

fn ids(filter: &InputPrefilter, text: &str) -> BTreeSet<String> {
    filter.report(text.as_bytes()).violations().map(|v| v.id.clone()).collect()
}

#[test]
fn every_rule_hits_and_passes_its_examples_and_says_its_structure() {
    let filter = filter();
    let mut wrong = Vec::new();
    let mut count = 0;
    for evaluator in filter.evaluators() {
        for rule in evaluator.rules().rules() {
            count += 1;
            let complete = !rule.hits.is_empty() && !rule.passes.is_empty() && rule.structure.len() > 30;
            if !complete {
                wrong.push(format!("{} lacks examples or its structure", rule.id));
            }
            for text in rule.hits.iter().filter(|t| !ids(&filter, t).contains(&rule.id)) {
                wrong.push(format!("{} misses {text:?}", rule.id));
            }
            for text in rule.passes.iter().filter(|t| ids(&filter, t).contains(&rule.id)) {
                wrong.push(format!("{} takes {text:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "{count}");
}

#[test]
fn identifiers_are_unique() {
    let mut seen = BTreeSet::new();
    for evaluator in builtin().unwrap() {
        for rule in evaluator.rules().rules() {
            assert!(seen.insert(rule.id.clone()), "{}", rule.id);
        }
    }
}

#[test]
fn harmless_prompts_and_policy_prose_pass() {
    let filter = filter();
    let texts =
        [include_str!("data/personas.txt"), include_str!("data/harmless.txt"), include_str!("data/policies.txt")];
    let lines: Vec<_> = texts.iter().flat_map(|t| t.lines()).collect();
    assert!(lines.len() > 170);
    let refused: Vec<_> = lines.iter().filter(|l| !filter.report(l.as_bytes()).is_executive()).collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn a_file_that_does_not_hold_together_names_the_rule() {
    let cue = "[[cue]]\nname = \"a\"\nany = [\"word\"]\n";
    let rule = |rest: &str| {
        format!("{cue}[[rule]]\nid = \"X\"\ntier = \"blocked\"\nstructure = \"s\"\nhits = []\npasses = []\n{rest}")
    };
    for (text, expected) in [
        (rule("sequence = [\"b\"]"), "no family `b`"),
        (rule(""), "is one of"),
        (rule("measure = \"depth\""), "is one of"),
        (rule("sequence = [\"a\"]\nmeasure = \"depth\"\nat_least = 1"), "is one of"),
        (rule("together = [\"a\"]\nat_least = 2\nwithin = 9"), "`together` needs"),
        (rule("repeated = \"a\"\nat_least = 1\nwithin = 9"), "`repeated` needs"),
        (rule("sequence = [\"a\"]\nclosed_by = \"b\""), "no family `b`"),
        (rule("sequence = [\"a\"]\nunless_after = \"b\""), "no family `b`"),
        (format!("{cue}{cue}"), "the name is taken"),
        ("[[cue]]\nname = \"a\"\nany = [\"x\"]".to_owned(), "not of 2 to 64 bytes"),
        ("[[cue]]\nname = \"a\"\nany = []\nmore = 1".to_owned(), "unknown field"),
    ] {
        let error = RuleSet::parse("test", &text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(matches!(error, RuleError::Read { .. } | RuleError::Rule { .. }));
    }
}

#[test]
fn a_policy_that_names_what_there_is_not_is_an_error() {
    let base = || FilterPolicy::profile("document").unwrap();
    assert!(FilterPolicy::profile("letter").unwrap_err().to_string().contains("document, tool-result, user-prompt"));
    for (file, expected) in [
        ("[tiers]\nNO-SUCH = \"clear\"", "no rule `NO-SUCH`"),
        ("evaluators = [\"imperatives\"]", "no evaluator `imperatives`"),
        ("evaluators = []", "no evaluator is enabled"),
        ("evaluators = [\"intake\"]", "no evaluator is enabled"),
    ] {
        let error = InputPrefilter::new(base().with_file("file", file).unwrap()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    for file in ["threshold = \"high\"", "limit = 1", "[tiers]\nIMP-OVERRIDE = 3"] {
        assert!(base().with_file("file", file).is_err(), "{file}");
    }
}

#[test]
fn overrides_and_thresholds_hold() {
    let text = b"<instructions>Sing.</instructions>";
    let verdict = |policy: FilterPolicy| {
        let report = InputPrefilter::new(policy).unwrap().report(text);
        (report.verdict(), report.is_executive())
    };
    let prompt = || FilterPolicy::profile("user-prompt").unwrap();
    assert_eq!(verdict(prompt()), (SeverityTier::Notice, true));
    assert_eq!(verdict(prompt().with_threshold(SeverityTier::Clear)), (SeverityTier::Notice, false));
    assert_eq!(verdict(FilterPolicy::profile("document").unwrap()), (SeverityTier::Guarded, false));
    let file = "[tiers]\nBND-FRAME-TAG = \"critical\"";
    // A critical input is never executed, whatever the threshold.
    assert_eq!(
        verdict(prompt().with_threshold(SeverityTier::Critical).with_file("file", file).unwrap()),
        (SeverityTier::Critical, false)
    );
    assert_eq!(verdict(prompt().with_file("file", "evaluators = [\"form\"]").unwrap()), (SeverityTier::Clear, true));
}
