//! The events of a governed stream, in the order in which they happen: the one source of ledger, output and report.

use crate::determination::{DecidingField, Determination, Summary};
use crate::end_state::EndState;
use crate::engine::{EngineError, Proposal};
use portcullis_core::context::{ContextDocument, Mode};
use portcullis_core::drift::Drift;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// An event of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Number of the stream: the place of its item in the input, from 0.
    pub stream: u64,
    #[serde(flatten)]
    pub what: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// BEGIN was accepted: the stream is governed from here on.
    Begun {
        /// Identity of the text in its input.
        id: String,
        /// What BEGIN bound.
        context: Box<ContextDocument>,
        /// The whole text of a `recorded` stream; absent when it is `driven`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The anchor store that the stream brought with it, in canonical JSON Lines; absent when it has only the
        /// session's. The context has its digest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supplied: Option<String>,
        /// Lane of the card, to which the stream is pinned: every log index of the stream refers to this lane's log.
        #[serde(default)]
        lane: u8,
        /// Index of BEGIN's record in that log.
        log_index: Option<u64>,
    },
    /// The engine answered: a candidate, or why there is none.
    Proposed(Box<Result<Proposal, EngineError>>),
    /// A mutation was judged, or the card refused its entry.
    Determined(Box<Judgement>),
    /// A rejected mutation waits for information.
    Deferred {
        seq: u32,
        rule: String,
        /// Steps after which it expires.
        expiry: u16,
    },
    Expired {
        seq: u32,
    },
    /// Admitted transitions that were not released were taken back.
    RolledBack {
        /// Sequence of the last transition that is kept; 0 is the start.
        to: u32,
        /// Sequences of the transitions that were taken back.
        transitions: Vec<u32>,
    },
    Drift {
        /// Sequence of the admitted transition at which it did.
        seq: u32,
        level: Drift,
        /// The slope, in basis points.
        slope: u16,
    },
    /// Bytes may leave: everything that this event holds was admitted. Whoever keeps a ledger keeps it before they do.
    Released {
        /// Sequences of the admitted transitions that these bytes come from, in order; END's for trailing inert bytes.
        seqs: Vec<u32>,
        text: String,
        /// The ranges that are tool calls, in order. Text that only looks like a call is not among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Range<usize>>,
    },
    /// The stream is over; nothing of it follows.
    Ended {
        /// Identity of the text in its input.
        id: String,
        /// Totals, and why it stopped early, if it did.
        summary: Summary,
        /// The content of END; absent when the card did not accept it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        closing: Option<EndCommitment>,
        /// The state with which a stream that continues this one begins; absent after a fault. Ledgers do not hold it.
        #[serde(skip)]
        state: Option<Arc<EndState>>,
    },
}

/// What END bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndCommitment {
    pub seq: u32,
    /// Trailing inert bytes.
    pub inert: String,
    /// Salt of its commitment, hexadecimal.
    pub salt: String,
    /// Index of its record in the card's log.
    pub log_index: Option<u64>,
}

/// One determination with everything that is needed to look into it without the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The determination, as `run --json` prints it together with `fields`.
    pub determination: Determination,
    /// Held inert bytes before the span.
    pub inert: String,
    pub text: String,
    /// Salt of the commitment to both, hexadecimal. Whoever has it can tell whether a guess at a withheld span is
    /// right.
    pub salt: String,
    /// The entry's 128 bytes, hexadecimal.
    pub descriptor: String,
    /// Values of the fields that the deciding rule or reason looked at.
    pub fields: Vec<DecidingField>,
    /// Semantic distance that an admit added, in basis points.
    pub distance: Option<u16>,
    /// Trust slope after it, in basis points.
    pub slope: u16,
    /// Tick of the card, from its record.
    pub tick: Option<u64>,
    /// Index of the record in the card's log.
    pub log_index: Option<u64>,
}

impl EventKind {
    /// How the text came to the gate, from [`EventKind::Begun`].
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::Begun { context, .. } => Some(context.mode),
            _ => None,
        }
    }
}
