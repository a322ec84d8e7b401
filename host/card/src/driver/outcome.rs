//! The outcome of an entry and of a session.

use portcullis_core::wire::{Descriptor, Determination, Fault, Record};
use portcullis_image::EntryVerdict;

/// The card's answer to an entry, after the driver has checked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryOutcome {
    Judged(EntryVerdict),
    /// A BEGIN, END or NOTE entry was accepted.
    Accepted,
    /// The entry was refused, or the card failed before the answer. The stream keeps its next sequence number.
    Fault(Fault),
}

impl EntryOutcome {
    /// Whether the mutation may be released. Only this function decides it.
    #[must_use]
    pub fn is_admit(&self) -> bool {
        matches!(self, Self::Judged(EntryVerdict { determination: Determination::Admit, .. }))
    }

    #[must_use]
    pub const fn verdict(&self) -> Option<&EntryVerdict> {
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

/// An entry and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedEntry {
    /// Number of entries that were submitted before it in this session.
    pub ticket: u64,
    pub entry: Descriptor,
    pub outcome: EntryOutcome,
    /// The entry's record. `None` when the card failed before it wrote one.
    pub record: Option<Record>,
}

/// A closed session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseReport {
    /// The CLOSE record of lane 0. `None` when the bus of a faulted card is dead, so that the card cannot write it.
    pub record: Option<Record>,
    /// The ALARM record of the sticky fault, from the first lane that wrote one.
    pub alarm: Option<Record>,
    /// Records of all lanes, OPEN and CLOSE included.
    pub records: u64,
    /// The sticky fault that ended the session, or none. Faults during CLOSE count.
    pub cause: Fault,
    /// Answers that the caller had not collected before.
    pub rest: Vec<CompletedEntry>,
    /// Whether the card needs its hardware reset before its next session. It then keeps the rings' memory, because its
    /// bus may still write there.
    pub needs_reset: bool,
}
