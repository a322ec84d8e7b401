//! What became of an entry.

use portcullis_core::wire::{Descriptor, Determination, Fault, Record};
use portcullis_policy::evaluate::Verdict;

/// What the card answered to an entry, after every check of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A GATE entry was judged.
    Judged(Verdict),
    /// A BEGIN, END or NOTE entry was taken.
    Accepted,
    /// The entry was refused, or the card failed before it answered. Never an admit; the stream did not move.
    Fault(Fault),
}

impl Outcome {
    /// Whether the mutation may be released. The one place that says yes.
    #[must_use]
    pub fn is_admit(&self) -> bool {
        matches!(self, Self::Judged(Verdict { determination: Determination::Admit, .. }))
    }

    /// The verdict, when there is one.
    #[must_use]
    pub const fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Judged(verdict) => Some(verdict),
            Self::Accepted | Self::Fault(_) => None,
        }
    }

    /// The fault, when there is one.
    #[must_use]
    pub const fn fault(&self) -> Option<Fault> {
        match self {
            Self::Fault(fault) => Some(*fault),
            Self::Judged(_) | Self::Accepted => None,
        }
    }
}

/// An answered entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// Which submission: entries submitted before it in this session.
    pub ticket: u64,
    /// The entry as submitted.
    pub entry: Descriptor,
    /// What became of it.
    pub outcome: Outcome,
    /// Its record. `None` when the card failed before it wrote one.
    pub record: Option<Record>,
}
