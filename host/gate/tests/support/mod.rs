//! A small policy, the software model of a card, and the results of a run.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of the support")]

use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
use portcullis_core::state::StreamTask;
use portcullis_core::wire::{Determination as Answer, Record};
pub use portcullis_gate::GatePolicy;
use portcullis_gate::{
    AnswerCandidate, GateSettings, JudgementSummary, SaltKey, SpanJudgement, StreamEvent, StreamEventKind,
    StreamGovernor, StreamInput, StreamNumbers,
};
use portcullis_policy::{ImagePolicySet, PolicyPackage};
use portcullis_prefilter::InputPrefilter;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// The manifest of the tests' policy without limits.
pub const MANIFEST: &str = portcullis_test_support::manifest!(
    "loop",
    r#"[[class]]
name = "bad"
pattern = [{ regex = '\bbad\b' }]
[[class]]
name = "mixed"
pattern = [{ regex = '\bmixed\b' }]
[[class]]
name = "vault"
pattern = [{ regex = '\bvault\b' }]
[[class]]
name = "key"
pattern = [{ regex = '\bkey\b' }]
"#
);

pub const RULES: &str = r#"
@id("ALLOW") permit (principal, action, resource);
@id("NO-BAD") @reason("Nothing bad.") forbid (principal, action, resource) when { context.classes.contains("bad") };
@id("SPLIT") @outcome("decompose") forbid (principal, action, resource) when { context.classes.contains("mixed") };
@id("NEEDS-KEY") forbid (principal, action, resource) when { context.classes.contains("vault") && !context.established.contains("key") };
@id("STRICT") @stage("entropy") forbid (principal, action, resource) when { context.correction == 2 && context.classes.contains("key") };
"#;

/// The default filter for tasks.
pub fn filter() -> Arc<InputPrefilter> {
    static FILTER: OnceLock<Arc<InputPrefilter>> = OnceLock::new();
    let made = || {
        let policy = portcullis_prefilter::FilterPolicy::profile("user-prompt").unwrap();
        Arc::new(InputPrefilter::new(policy).unwrap())
    };
    Arc::clone(FILTER.get_or_init(made))
}

/// The tests' policy with additional sections of its manifest.
pub fn package(sections: &str) -> Arc<GatePolicy> {
    policy(&format!("{MANIFEST}{sections}"), RULES)
}

/// The policy of this manifest and these rules, for cards with a text lane.
pub fn lane_policy(manifest: &str, rules: &str) -> Arc<GatePolicy> {
    lane_of(policy(manifest, rules).package.clone())
}

/// The package's policy for cards with a text lane.
pub fn lane_of(package: PolicyPackage) -> Arc<GatePolicy> {
    let policy = ImagePolicySet::alone(package).unwrap().with_text_lane().unwrap().into_policy(None).unwrap();
    Arc::new(GatePolicy::new(policy.package, policy.compiled).unwrap())
}

pub fn policy(manifest: &str, rules: &str) -> Arc<GatePolicy> {
    let files = BTreeMap::from([
        ("policy.toml".to_owned(), manifest.as_bytes().to_vec()),
        ("rules.cedar".to_owned(), rules.as_bytes().to_vec()),
    ]);
    let package = PolicyPackage::from_files(files).unwrap_or_else(|e| panic!("{e:?}"));
    let compiled = package.compile().unwrap_or_else(|e| panic!("{e:?}"));
    Arc::new(GatePolicy::new(package, compiled).unwrap())
}

pub fn settings() -> GateSettings {
    GateSettings::new(SaltKey::from_bytes([7; 32]))
}

pub fn text(id: &str, text: &str) -> StreamInput {
    StreamInput::Text { id: id.into(), text: text.into(), task: StreamTask::default() }
}

pub fn candidates(id: &str, steps: &[&[&str]]) -> StreamInput {
    let candidate = |t: &&str| AnswerCandidate { text: (*t).into(), logprobs: None, logprobs_absent: None, call: None };
    let steps = steps.iter().map(|s| s.iter().map(candidate).collect()).collect();
    StreamInput::Candidates { id: id.into(), steps, task: StreamTask::default() }
}

pub fn governor(policy: &Arc<GatePolicy>, settings: GateSettings) -> StreamGovernor {
    StreamGovernor::new(Arc::clone(policy), settings).unwrap()
}

/// The configuration of a session whose text windows fit the policy's spans.
pub fn session_config(policy: &GatePolicy) -> SessionConfig {
    SessionConfig { text_stride_log2: policy.text_stride_log2(), ..SessionConfig::default() }
}

pub fn run(governor: impl Into<Arc<StreamGovernor>>, policy: &GatePolicy, items: Vec<StreamInput>) -> Vec<StreamEvent> {
    let card = CardChoice::Model.open().unwrap();
    let mut session = CardSession::open(card, &policy.compiled.image, session_config(policy)).unwrap();
    let mut events = Vec::new();
    governor
        .into()
        .govern(&mut session, items, |event| -> Result<(), SessionError> {
            events.push(event);
            Ok(())
        })
        .unwrap();
    session.close().unwrap();
    events
}

pub fn govern(policy: &Arc<GatePolicy>, settings: GateSettings, items: Vec<StreamInput>) -> Vec<StreamEvent> {
    run(governor(policy, settings), policy, items)
}

pub fn judged(events: &[StreamEvent]) -> impl Iterator<Item = &SpanJudgement> {
    events.iter().filter_map(|e| match &e.what {
        StreamEventKind::Determined(judged) => Some(&**judged),
        _ => None,
    })
}

pub fn outcomes(events: &[StreamEvent]) -> Vec<(u32, Answer)> {
    judged(events).map(|j| (j.determination.seq, j.determination.determination.unwrap())).collect()
}

pub fn releases(events: &[StreamEvent]) -> Vec<(Vec<u32>, String)> {
    let release = |e: &StreamEvent| match &e.what {
        StreamEventKind::Released { seqs, text, .. } => Some((seqs.clone(), text.clone())),
        _ => None,
    };
    events.iter().filter_map(release).collect()
}

pub fn released(events: &[StreamEvent]) -> String {
    releases(events).into_iter().map(|(_, text)| text).collect()
}

pub fn summary(events: &[StreamEvent]) -> JudgementSummary {
    match &events.last().unwrap().what {
        StreamEventKind::Ended { summary, .. } => summary.clone(),
        other => panic!("the last event is {other:?}"),
    }
}

/// The events as in a ledger: without the final states of streams, which depend on ticks of the card.
pub fn logged(mut events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    for event in &mut events {
        if let StreamEventKind::Ended { state, .. } = &mut event.what {
            *state = None;
        }
    }
    events
}

/// The events and the records of one item in its own session.
pub fn recorded(
    governor: impl Into<Arc<StreamGovernor>>,
    policy: &GatePolicy,
    item: StreamInput,
) -> (Vec<StreamEvent>, Vec<Record>) {
    let records = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&records);
    let sink = move |record: &Record| {
        kept.lock().unwrap().push(*record);
        Ok(())
    };
    let config = SessionConfig { sink: Box::new(sink), ..session_config(policy) };
    let card = CardChoice::Model.open().unwrap();
    let mut session = CardSession::open(card, &policy.compiled.image, config).unwrap();
    let mut events = Vec::new();
    let seat = StreamNumbers { number: 0, salted: 0, slot: 5 };
    let keep = |event: StreamEvent| -> Result<(), SessionError> {
        events.push(event);
        Ok(())
    };
    governor.into().govern_one(&mut session, seat, item, keep).unwrap();
    // The OPEN record is left out.
    let records = records.lock().unwrap().split_off(1);
    (events, records)
}
