//! The stages that run on the host. What they find is bound into the descriptor, and the card answers in the fixed order: policy,
//! validation, lineage, entropy.

mod lineage;
mod validation;

use crate::event::Deciding;
use crate::governor::Governor;
use portcullis_core::mutation::{Finding, Mutation};
use portcullis_core::reason::ValidationReason;
use portcullis_core::state::SemanticState;
use portcullis_mapping::{Candidate, LogProbs, LogProbsError, Text};
use std::ops::Range;

/// A span that is up for judgement.
pub(crate) struct Span<'a> {
    pub(crate) text: &'a Text,
    pub(crate) range: &'a Range<usize>,
    pub(crate) driven: bool,
    pub(crate) inert_prefix: bool,
    pub(crate) depth: u8,
    pub(crate) alternatives: u8,
    pub(crate) logprobs: Option<&'a Result<LogProbs, LogProbsError>>,
}

/// What the host found besides what the descriptor says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Staged {
    /// What stage 2's finding rests on.
    pub(crate) validation: Vec<Deciding>,
    /// What stage 3's finding rests on.
    pub(crate) lineage: Vec<Deciding>,
    /// Parts of the text to set apart when the span is split.
    pub(crate) apart: Vec<Range<usize>>,
}

/// Maps a span and takes it through the host's stages.
pub(crate) fn judge(governor: &Governor<'_>, state: &SemanticState, span: &Span<'_>) -> (Mutation, Staged) {
    let candidate = Candidate {
        text: span.text,
        span: span.range,
        granularity: governor.granularity(span.driven),
        inert_prefix: span.inert_prefix,
        depth: span.depth,
        alternatives: span.alternatives,
        logprobs: span.logprobs.and_then(|l| l.as_ref().ok()).copied(),
    };
    let portcullis_mapping::Mapped { mut mutation, reading } = governor.mapper.map(state, candidate);
    let mut staged = Staged::default();
    if let Some(Err(error)) = span.logprobs {
        mutation.validation = Finding::Reject(ValidationReason::LogprobsInvalid);
        staged.validation = vec![Deciding {
            field: "logprobs".into(),
            value: error.to_string(),
            condition: "natural logarithms of probabilities".into(),
        }];
    }
    if mutation.validation == Finding::Pass
        && let Some((reason, deciding)) = validation::check(state, &mutation, &reading)
    {
        mutation.validation = Finding::Reject(reason);
        staged.validation = vec![deciding];
    }
    if let Some((reason, deciding)) = lineage::check(state, &mutation, &reading) {
        mutation.lineage = Finding::Reject(reason);
        staged.lineage = vec![deciding];
    }
    (mutation, staged)
}
