//! The outcome of an entry, and of a session.

use portcullis_core::wire::{Descriptor, Determination, Fault, Record};
use portcullis_policy::evaluate::Verdict;

/// What the card answered to an entry, after every check of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
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

    #[must_use]
    pub const fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Judged(verdict) => Some(verdict),
            Self::Accepted | Self::Fault(_) => None,
        }
    }

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
    pub entry: Descriptor,
    pub outcome: Outcome,
    /// Its record. `None` when the card failed before it wrote one.
    pub record: Option<Record>,
}

/// A closed session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseReport {
    /// The CLOSE record of lane 0. `None` when the bus of a faulted card is dead, because the card can then write
    /// nothing.
    pub record: Option<Record>,
    /// The ALARM record of a sticky fault, of the first lane that has one, if the card could write one.
    pub alarm: Option<Record>,
    /// Records of all lanes, OPEN and CLOSE included.
    pub records: u64,
    /// The sticky fault that ended the session, or none. One that came while CLOSE was under way counts.
    pub cause: Fault,
    /// Answers that had come but were not yet collected.
    pub rest: Vec<Completed>,
    /// The card needs its hardware reset before it serves again. It keeps the rings' memory, which its bus may still
    /// write.
    pub needs_reset: bool,
}
