//! Drives a custom engine: the gate requests a candidate, judges it, and continues from the admitted text.
//!
//! `cargo run --package portcullis-gate --example own_engine policies/pii`
//!
//! This engine has two sentences for each place. The gate does not report to it which proposals were refused.

use portcullis_card::{CardChoice, CardSession, SessionConfig, SessionError};
use portcullis_core::state::StreamTask;
use portcullis_gate::engine::{CandidateEngine, EngineError, EngineProposal, EngineView};
use portcullis_gate::{
    AnswerCandidate, GatePolicy, GateSettings, SaltKey, StreamEventKind, StreamGovernor, StreamInput,
};
use portcullis_policy::PolicyPackage;
use portcullis_prefilter::{FilterPolicy, InputPrefilter};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// For each place of the text, its candidates in order.
const STEPS: [[&str; 2]; 2] =
    [["Write to ana@example.org.", "Write to us by letter."], [" We answer within a day.", " We answer soon."]];

/// An engine that proposes the candidates of [`STEPS`].
struct Listed {
    place: usize,
}

impl CandidateEngine for Listed {
    fn name(&self) -> String {
        "listed".to_owned()
    }

    /// `attempt` is 0 for the first candidate of a place. A higher number means that the earlier ones were refused.
    fn propose(&mut self, _view: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
        let Some(step) = STEPS.get(self.place) else { return Ok(EngineProposal::End) };
        let Some(text) = step.get(attempt as usize) else { return Ok(EngineProposal::Exhausted) };
        let text = (*text).to_owned();
        Ok(EngineProposal::Candidate(AnswerCandidate { text, logprobs: None, logprobs_absent: None, call: None }))
    }

    fn advance(&mut self, _admitted: &str) {
        self.place += 1;
    }

    fn roll_back(&mut self, steps: usize) {
        self.place = self.place.saturating_sub(steps);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("expected the folder of a policy")?;
    let package = PolicyPackage::load(Path::new(&folder))?;
    let compiled = package.compile()?;
    let policy = Arc::new(GatePolicy::new(package, compiled)?);
    let mut session = CardSession::open(CardChoice::Model.open()?, &policy.compiled.image, SessionConfig::default())?;

    // An engine gets a task only if the pre-execution filter passes the task.
    let filter = Arc::new(InputPrefilter::new(FilterPolicy::profile("user-prompt")?)?);
    let governor = StreamGovernor::new(policy, GateSettings::new(SaltKey::random()?))?
        .with_engines(filter, Arc::new(|_stream, _pass| Ok(Box::new(Listed { place: 0 }))));
    let task = StreamTask { intent: "Say how to reach us.".to_owned(), ..StreamTask::default() };
    let item = StreamInput::Prompt { id: "example".to_owned(), task };
    Arc::new(governor).govern(&mut session, [item], |event| -> Result<(), SessionError> {
        match event.what {
            StreamEventKind::Determined(judged) => {
                println!("{:?} {:?}", judged.determination.determination, judged.text)
            }
            StreamEventKind::Released { text, .. } => println!("released {text:?}"),
            _ => {}
        }
        Ok(())
    })?;
    session.close()?;
    Ok(())
}
