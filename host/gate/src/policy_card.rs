//! Judges whole texts and single descriptors with a card instead of the software evaluator.

use crate::event::EventKind;
use crate::governor::Governor;
use crate::source::Item;
use portcullis_card::{Card, Session, SessionError};
use portcullis_core::state::Task;
use portcullis_core::wire::{Descriptor, Determination, Fault};
use portcullis_image::{Bank, Banks};
use portcullis_policy::Compiled;
use portcullis_policy::commands::Judged;
use portcullis_policy::decision::{Decision, answer_of_row};
use std::sync::Arc;

/// Why the card's answer cannot replace the evaluator's.
#[derive(Debug, thiserror::Error)]
pub enum PolicyCardError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("the text was not judged")]
    NotJudged,
    #[error("the card refused an entry")]
    EntryRefused,
    #[error("the card refused the entry: {0:?}")]
    Refused(Option<Fault>),
    #[error("the card's rows and its determination do not fit")]
    Contradiction,
}

/// Judges a whole text: returns the first refusal, or an admit if nothing was refused.
pub fn judge_text<C: Card>(
    governor: &Arc<Governor>,
    session: &mut Session<C>,
    name: &str,
    text: &str,
    task: &Task,
) -> Result<Judged, PolicyCardError> {
    let (mut refused, mut ended) = (None, None);
    let item = Item::Text { id: name.to_owned(), text: text.to_owned(), task: task.clone() };
    governor.govern(session, [item], |event| -> Result<(), SessionError> {
        match event.what {
            EventKind::Determined(judged) if judged.determination.determination == Some(Determination::Reject) => {
                refused.get_or_insert(judged.determination);
            }
            EventKind::Ended { summary, .. } => ended = Some(summary),
            _ => {}
        }
        Ok(())
    })?;
    let summary = ended.ok_or(PolicyCardError::NotJudged)?;
    if summary.faults > 0 {
        return Err(PolicyCardError::EntryRefused);
    }
    Ok(refused.map_or(Judged { determination: Determination::Admit, stage: None, rule: None }, |d| Judged {
        determination: Determination::Reject,
        stage: d.stage,
        rule: d.rule,
    }))
}

/// The banks' answers to a descriptor, from the card's completion. The outer errors are those of the session. The inner
/// errors mean that the card's answer cannot be used.
pub fn banks_on_card<C: Card>(
    session: &mut Session<C>,
    compiled: &Compiled,
    descriptor: &Descriptor,
) -> Result<Result<Banks, PolicyCardError>, SessionError> {
    // Each descriptor needs its own stream, because a stream keeps the context of its first GATE.
    let (stream, _) = session.begin([0; 32])?;
    let completed = session.gate_descriptor(&stream, *descriptor)?;
    session.end(stream, [0; 32])?;
    let Some(verdict) = completed.outcome.verdict() else {
        return Ok(Err(PolicyCardError::Refused(completed.outcome.fault())));
    };
    let banks = Banks {
        policy: answer_of_row(compiled, Bank::Policy, verdict.policy_row),
        entropy: answer_of_row(compiled, Bank::Entropy, verdict.entropy_row),
    };
    let fits = Decision::new(compiled, &completed.entry, &banks).determination == verdict.determination;
    Ok(if fits { Ok(banks) } else { Err(PolicyCardError::Contradiction) })
}
