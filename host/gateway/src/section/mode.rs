//! What a section does with its text.

use super::gaps::JsonGaps;
use crate::observe::ObservedInputBuffer;
use crate::output::GatedAnswerPart;
use portcullis_gate::engine::ProposalRequest;

/// What a section does with its text.
pub(crate) enum SectionMode {
    /// Text is released as it is admitted.
    Held,
    /// The text is one JSON value.
    Whole(JsonText),
    /// The gate asks for text, and no other is accepted.
    Driven {
        /// The pending request.
        ask: Option<ProposalRequest>,
    },
    /// Refused text is sent too. The observer keeps the text until it is judged.
    Observed(ObservedInputBuffer),
}

/// A text that is judged when it is complete, in the gate's own encoding, and that is sent only if what was not refused
/// is still the object that the client asked for.
pub(crate) struct JsonText {
    /// The JSON document that has arrived so far.
    pub(super) document: String,
    /// The document as it is judged.
    pub(super) judged: String,
    pub(super) gaps: JsonGaps,
    /// The outputs so far, and whether they were sent or dropped.
    pub(super) outputs: Vec<GatedAnswerPart>,
    pub(super) is_over: bool,
}

impl JsonText {
    /// Whether the outputs are the object that the client asked for, although parts of it were refused.
    pub(super) fn is_complete(&self) -> bool {
        let texts = self.outputs.iter().filter_map(|part| match part {
            GatedAnswerPart::Text { text, .. } | GatedAnswerPart::Constant { text, .. } => Some(text.as_str()),
            _ => None,
        });
        self.gaps.allow(&self.judged, &texts.collect::<String>())
    }
}

impl SectionMode {
    pub(crate) const fn whole(gaps: JsonGaps) -> Self {
        Self::Whole(JsonText {
            document: String::new(),
            judged: String::new(),
            gaps,
            outputs: Vec::new(),
            is_over: false,
        })
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
