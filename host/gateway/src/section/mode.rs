//! What a section does with its text.

use crate::observe::ObservedInputBuffer;
use crate::output::GatedAnswerPart;
use portcullis_gate::engine::ProposalRequest;

/// What a section does with its text.
pub(crate) enum SectionMode {
    /// Text is released as it is admitted.
    Held,
    /// The text is one JSON value, of which no part may be missing.
    Whole(JsonText),
    /// The gate asks for text, and no other is accepted.
    Driven {
        /// The pending request.
        ask: Option<ProposalRequest>,
    },
    /// Refused text is sent too. The observer keeps the text until it is judged.
    Observed(ObservedInputBuffer),
}

/// A text that is judged when it is complete, in the gate's own encoding, and that is sent only if nothing of it was
/// refused.
#[derive(Default)]
pub(crate) struct JsonText {
    /// The JSON document that has arrived so far.
    pub(super) document: String,
    /// The outputs so far.
    pub(super) outputs: Vec<GatedAnswerPart>,
}

impl SectionMode {
    pub(crate) fn whole() -> Self {
        Self::Whole(JsonText::default())
    }

    pub(crate) const fn driven() -> Self {
        Self::Driven { ask: None }
    }

    pub(crate) fn observed() -> Self {
        Self::Observed(ObservedInputBuffer::default())
    }

    pub(super) const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    pub(super) const fn observer(&mut self) -> Option<&mut ObservedInputBuffer> {
        match self {
            Self::Observed(observer) => Some(observer),
            Self::Held | Self::Whole(_) | Self::Driven { .. } => None,
        }
    }
}
