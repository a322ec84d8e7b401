//! Judges whole texts and single descriptors with a card instead of the software evaluator.

use crate::event::StreamEventKind;
use crate::governor::StreamGovernor;
use crate::source::StreamInput;
use portcullis_card::{CardSession, CardTransport, SessionError};
use portcullis_core::state::StreamTask;
use portcullis_core::wire::{Descriptor, Determination, Fault};
use portcullis_image::{BankAnswers, BankKind};
use portcullis_policy::CompiledPackage;
use portcullis_policy::commands::PolicyTestVerdict;
use portcullis_policy::decision::{DescriptorDecision, answer_of_row};
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
pub fn judge_text<C: CardTransport>(
    governor: &Arc<StreamGovernor>,
    session: &mut CardSession<C>,
    name: &str,
    text: &str,
    task: &StreamTask,
) -> Result<PolicyTestVerdict, PolicyCardError> {
    let (mut refused, mut ended) = (None, None);
    let item = StreamInput::Text { id: name.to_owned(), text: text.to_owned(), task: task.clone() };
    governor.govern(session, [item], |event| -> Result<(), SessionError> {
        match event.what {
            StreamEventKind::Determined(judged)
                if judged.determination.determination == Some(Determination::Reject) =>
            {
                refused.get_or_insert(judged.determination);
            }
            StreamEventKind::Ended { summary, .. } => ended = Some(summary),
            _ => {}
        }
        Ok(())
    })?;
    let summary = ended.ok_or(PolicyCardError::NotJudged)?;
    if summary.faults > 0 {
        return Err(PolicyCardError::EntryRefused);
    }
    Ok(refused.map_or(PolicyTestVerdict { determination: Determination::Admit, stage: None, rule: None }, |d| {
        PolicyTestVerdict { determination: Determination::Reject, stage: d.stage, rule: d.rule }
    }))
}

/// The banks' answers to a descriptor, from the card's completion. The outer errors are those of the session. The inner
/// errors mean that the card's answer cannot be used.
pub fn banks_on_card<C: CardTransport>(
    session: &mut CardSession<C>,
    compiled: &CompiledPackage,
    descriptor: &Descriptor,
) -> Result<Result<BankAnswers, PolicyCardError>, SessionError> {
    // Each descriptor needs its own stream, because a stream keeps the context of its first GATE.
    let (stream, _) = session.begin([0; 32])?;
    let completed = session.gate_descriptor(&stream, *descriptor)?;
    session.end(stream, [0; 32])?;
    let Some(verdict) = completed.outcome.verdict() else {
        return Ok(Err(PolicyCardError::Refused(completed.outcome.fault())));
    };
    let banks = BankAnswers {
        policy: answer_of_row(compiled, BankKind::Policy, verdict.policy_row),
        entropy: answer_of_row(compiled, BankKind::Entropy, verdict.entropy_row),
    };
    let fits = DescriptorDecision::new(compiled, &completed.entry, &banks).determination == verdict.determination;
    Ok(if fits { Ok(banks) } else { Err(PolicyCardError::Contradiction) })
}
