use super::*;
use crate::fixed::BasisPoints;
use crate::manifest::{CitationPolicy, DeclaredEnumerations, LoadPolicy, PackageIdentity, TrustSlope};
use crate::mutation::{ProposedValues, SpanClaim, StageFinding};
use crate::wire::{Anchor, Granularity};
use proptest::prelude::*;

fn manifest() -> PackageManifest {
    let one = || vec!["general".to_owned()];
    PackageManifest {
        package: PackageIdentity {
            name: "p".into(),
            version: "1.0.0".into(),
            description: String::new(),
            closed_world: false,
            citations: CitationPolicy::default(),
            links: None,
            loads: LoadPolicy::default(),
            hosts: Vec::new(),
            language: "en".into(),
        },
        enumerations: DeclaredEnumerations { domain: one(), audience: one(), temporal: one(), register: one() },
        classes: Vec::new(),
        quantities: Vec::new(),
        limits: Default::default(),
        continuity: Default::default(),
        trust_slope: TrustSlope { warning: 2_000, correction: 4_000, halt: 8_000, ..TrustSlope::default() },
        prefilter: Default::default(),
        refusal: Default::default(),
        membership: None,
    }
}

fn state() -> SemanticState {
    let manifest = manifest();
    let profile = AgentProfile { intent: "Describe the trial".into(), ..AgentProfile::default() };
    let words = |t: &str| t.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let intent = profile.intent(&StreamTask::default(), words);
    SemanticState::new(&manifest, [1; 32], [2; 32], intent, profile.context(&manifest).unwrap())
}

fn mutation(proposed: ProposedValues, deviation: u16, classes: u128) -> SpanMutation {
    SpanMutation {
        inert_prefix: false,
        call: false,
        category: Category::Assertion,
        granularity: Granularity::Span,
        epistemic: Epistemic::Standard,
        anchor: Anchor::None,
        temporal: 0,
        domain: 0,
        audience: 0,
        register: 0,
        fields_touched: 0,
        novelty: BasisPoints::ZERO,
        uncertainty: None,
        certainty: BasisPoints::ZERO,
        content_deviation: BasisPoints::try_from(deviation).unwrap(),
        certainty_divergence: BasisPoints::ZERO,
        register_divergence: BasisPoints::ZERO,
        trust_slope: 0,
        length: 1,
        depth: 0,
        alternatives: 0,
        correction: 0,
        classes: ClassSet(classes),
        established: ClassSet::default(),
        quantities: [Some(deviation.into()), None, None, None],
        validation: StageFinding::Pass,
        lineage: StageFinding::Pass,
        proposed,
    }
}

fn proposals() -> impl Strategy<Value = ProposedValues> {
    let claim = ("[ab]?", "[rs]", "[xyz]", any::<bool>()).prop_map(|(subject, relation, value, negated)| SpanClaim {
        subject,
        relation,
        value,
        negated,
    });
    let words = || proptest::collection::vec("[a-d]", 0..3);
    let some = |s: &'static str| proptest::option::of(s);
    (
        words(),
        words(),
        proptest::collection::vec(claim, 0..3),
        0u64..3,
        any::<bool>(),
        some("[ab]"),
        proptest::option::of(1u32..4),
    )
        .prop_map(|(words, referents, claims, fingerprint, negated, subject, ordinal)| ProposedValues {
            words,
            referents,
            claims,
            prose: true,
            fingerprint,
            negated,
            revises: false,
            ordinal,
            subject,
            ..ProposedValues::default()
        })
}

proptest! {
    #[test]
    fn a_commit_is_taken_back_byte_for_byte(
        steps in proptest::collection::vec((proposals(), 0u16..=10_000, any::<u128>()), 1..12),
    ) {
        let mut state = state();
        let mut before = Vec::new();
        for ((proposed, deviation, classes), sequence) in steps.into_iter().zip(1..) {
            let dump = state.dump().unwrap();
            before.push((dump, state.admit(&mutation(proposed, deviation, classes), sequence, [7; 32])));
            let back = SemanticState::read(&state.dump().unwrap()).unwrap();
            prop_assert_eq!(&back, &state);
        }
        while let Some((dump, undo)) = before.pop() {
            state.revert(undo);
            prop_assert_eq!(state.dump().unwrap(), dump);
        }
    }
}

#[test]
fn the_seven_fields_are_dumped_and_read_back() {
    let state = state();
    let text = state.dump().unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut fields: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["bounds", "context", "intent", "lineage", "memory", "mutation", "policy"]);
    let back = SemanticState::read(&text).unwrap();
    assert_eq!(back, state);
    assert_eq!(back.dump().unwrap(), text);
}

#[test]
fn a_difference_says_where() {
    let before = state();
    let mut after = before.clone();
    assert_eq!(before.difference(&after).unwrap(), []);
    let proposed = ProposedValues { words: vec!["dose".into()], ..ProposedValues::default() };
    after.admit(&mutation(proposed, 0, 1), 1, [7; 32]);
    let paths: Vec<String> = before.difference(&after).unwrap().into_iter().map(|d| d.path).collect();
    assert_eq!(paths, ["/lineage/0", "/memory/established/0", "/memory/quantities/0", "/memory/words/dose"]);
}

#[test]
fn a_profile_names_what_the_policy_declares() {
    let profile = AgentProfile { domain: Some("law".into()), ..AgentProfile::default() };
    let error = profile.context(&manifest()).unwrap_err();
    assert_eq!(error.to_string(), "the profile's domain `law` is not declared by the policy; it declares general");
    let profile = AgentProfile { intent: "Write".into(), facts: vec!["a b".into()], ..AgentProfile::default() };
    let task = StreamTask { intent: "about x".into(), facts: vec!["c".into()] };
    let intent = profile.intent(&task, |t| t.split_whitespace().map(str::to_owned).collect());
    assert_eq!(intent.text, "Write\nabout x");
    assert_eq!(intent.facts, ["a b", "c"]);
    assert_eq!(intent.words.into_iter().collect::<Vec<_>>(), ["Write", "a", "about", "b", "c", "x"]);
}

#[test]
fn a_revision_supersedes_and_a_return_reinstates() {
    let mut state = state();
    let say = |value: &str| ProposedValues {
        claims: vec![SpanClaim { subject: "s".into(), relation: "r".into(), value: value.into(), negated: false }],
        ..ProposedValues::default()
    };
    for (value, sequence) in ["1", "2", "1"].into_iter().zip(1..) {
        state.admit(&mutation(say(value), 0, 0), sequence, [0; 32]);
    }
    let superseded: Vec<&str> = state.memory.superseded.iter().map(|(_, v)| v.as_str()).collect();
    assert_eq!(superseded, ["2"]);
}

#[test]
fn a_correction_stays_until_the_slope_is_under_the_warning_and_looks_at_the_intent_alone() {
    let mut state = state();
    let say = |word: &str| ProposedValues { words: vec![word.into()], ..ProposedValues::default() };
    state.admit(&mutation(say("drug"), 10_000, 0), 1, [0; 32]);
    assert_eq!((state.bounds.trust_slope, state.bounds.drift), (5_000, DriftLevel::Correction));
    assert!(state.knows("trial") && !state.knows("drug"));
    let mut levels = Vec::new();
    for sequence in 2..12 {
        state.admit(&mutation(say("drug"), 0, 0), sequence, [0; 32]);
        levels.push(state.bounds.drift.level());
    }
    assert_eq!(levels, [2, 2, 2, 2, 2, 2, 2, 2, 0, 0], "no step down to the warning in between");
    assert!(state.knows("drug"));
}
