//! The events of a governed stream, in order. Ledger, output and report are made from these events.

use crate::determination::{DecidingField, JudgementSummary, SpanDetermination};
use crate::end_state::EndState;
use crate::engine::{EngineError, EngineProposal};
use portcullis_core::context::{ContextDocument, StreamMode};
use portcullis_core::drift::DriftLevel;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// An event of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEvent {
    /// Number of the stream: the index of its item in the input, from 0.
    pub stream: u64,
    #[serde(flatten)]
    pub what: StreamEventKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum StreamEventKind {
    /// BEGIN was accepted; the stream is governed from here on.
    Begun {
        /// Name of the text in the input.
        id: String,
        /// The context document, whose digest BEGIN contains.
        context: Box<ContextDocument>,
        /// The whole text of a `recorded` stream; `None` if the stream is `driven`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The anchor store that came with the stream, in canonical JSON Lines; `None` if the stream uses the session's
        /// stores. The context contains its digest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supplied: Option<String>,
        /// Lane of the card that has the stream's slot. All log indexes of the stream refer to this lane's log.
        #[serde(default)]
        lane: u8,
        /// Index of BEGIN's record in the log of the stream's lane.
        log_index: Option<u64>,
    },
    /// The engine answered with a candidate, or with the reason why there is none.
    Proposed(Box<Result<EngineProposal, EngineError>>),
    /// A mutation was judged, or the card refused its entry.
    Determined(Box<SpanJudgement>),
    /// A rejected mutation was deferred; it waits for information.
    Deferred {
        seq: u32,
        rule: String,
        /// Number of steps after which the deferred mutation expires.
        expiry: u16,
    },
    Expired {
        seq: u32,
    },
    /// Admitted transitions that were not released were undone.
    RolledBack {
        /// Sequence of the last remaining transition; 0 at the start of the stream.
        to: u32,
        /// Sequences of the undone transitions.
        transitions: Vec<u32>,
    },
    Drift {
        /// Sequence of the admitted transition that changed the level.
        seq: u32,
        level: DriftLevel,
        /// The slope, in basis points.
        slope: u16,
    },
    /// Admitted bytes may leave the gate. A ledger must store this event before the bytes leave.
    Released {
        /// Sequences of the admitted transitions of these bytes, in order; END's sequence for trailing inert bytes.
        seqs: Vec<u32>,
        text: String,
        /// The ranges of tool calls, in order. Text that only looks like a call is not included.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Range<usize>>,
    },
    /// The stream is over; this is its last event.
    Ended {
        /// Name of the text in the input.
        id: String,
        /// Totals, and why the stream stopped early, if it did.
        summary: JudgementSummary,
        /// The content of END; `None` if the card did not accept END.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        closing: Option<EndCommitment>,
        /// The state from which another stream can continue this one; `None` after a fault. Ledgers do not contain it.
        #[serde(skip)]
        state: Option<Arc<EndState>>,
    },
}

/// The content to which END commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndCommitment {
    pub seq: u32,
    /// The stream's last inert bytes, after its last span.
    pub inert: String,
    /// Salt of END's commitment, hexadecimal.
    pub salt: String,
    /// Index of END's record in the card's log.
    pub log_index: Option<u64>,
}

/// A determination with all data that an inspection without the model needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanJudgement {
    /// The determination; `run --json` prints it together with `fields`.
    pub determination: SpanDetermination,
    /// Held inert bytes before the span.
    pub inert: String,
    pub text: String,
    /// Salt of the commitment to `inert` and `text`, hexadecimal. With the salt, a guess at a withheld span can be
    /// verified.
    pub salt: String,
    /// The entry's 128 bytes, hexadecimal.
    pub descriptor: String,
    /// Values of the fields that the deciding rule or reason examined.
    pub fields: Vec<DecidingField>,
    /// Semantic distance that the admit added, in basis points.
    pub distance: Option<u16>,
    /// Trust slope after this mutation, in basis points.
    pub slope: u16,
    /// Tick of the card in the record.
    pub tick: Option<u64>,
    /// Index of the record in the card's log.
    pub log_index: Option<u64>,
}

impl StreamEventKind {
    /// How the text came to the gate; `None` except for [`StreamEventKind::Begun`].
    #[must_use]
    pub fn mode(&self) -> Option<StreamMode> {
        match self {
            Self::Begun { context, .. } => Some(context.mode),
            _ => None,
        }
    }
}
