//! Drives a custom engine: the gate requests a candidate, judges it, and continues from the admitted text.
//!
//! `cargo run --package portcullis-gate --example own_engine policies/pii`
//!
//! This engine has two sentences for each place. The gate does not report to it which proposals were refused.

use portcullis_card::{CardChoice, Session, SessionConfig, SessionError};
use portcullis_core::state::Task;
use portcullis_gate::engine::{Engine, EngineError, Proposal, View};
use portcullis_gate::{Candidate, EventKind, Governor, Item, Policy, SaltKey, Settings};
use portcullis_policy::Package;
use portcullis_prefilter::{FilterPolicy, Prefilter};
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

impl Engine for Listed {
    fn name(&self) -> String {
        "listed".to_owned()
    }

    /// `attempt` is 0 for the first candidate of a place. A higher number means that the earlier ones were refused.
    fn propose(&mut self, _view: &View<'_>, attempt: u32) -> Result<Proposal, EngineError> {
        let Some(step) = STEPS.get(self.place) else { return Ok(Proposal::End) };
        let Some(text) = step.get(attempt as usize) else { return Ok(Proposal::Exhausted) };
        let text = (*text).to_owned();
        Ok(Proposal::Candidate(Candidate { text, logprobs: None, logprobs_absent: None, call: None }))
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
    let package = Package::load(Path::new(&folder))?;
    let compiled = package.compile()?;
    let policy = Arc::new(Policy::new(package, compiled)?);
    let mut session = Session::open(CardChoice::Model.open()?, &policy.compiled.image, SessionConfig::default())?;

    // An engine gets a task only if the pre-execution filter passes the task.
    let filter = Arc::new(Prefilter::new(FilterPolicy::profile("user-prompt")?)?);
    let governor = Governor::new(policy, Settings::new(SaltKey::random()?))?
        .with_engines(filter, Arc::new(|_stream, _pass| Ok(Box::new(Listed { place: 0 }))));
    let task = Task { intent: "Say how to reach us.".to_owned(), ..Task::default() };
    let item = Item::Prompt { id: "example".to_owned(), task };
    Arc::new(governor).govern(&mut session, [item], |event| -> Result<(), SessionError> {
        match event.what {
            EventKind::Determined(judged) => println!("{:?} {:?}", judged.determination.determination, judged.text),
            EventKind::Released { text, .. } => println!("released {text:?}"),
            _ => {}
        }
        Ok(())
    })?;
    session.close()?;
    Ok(())
}
