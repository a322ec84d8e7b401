//! A stream before it has a slot.

use super::part::HeldStreamPart;
use crate::determination::TerminationTrigger;
use crate::engine::{CandidateEngine, EngineError};
use crate::governor::StreamGovernor;
use portcullis_core::context::StreamMode;
use portcullis_core::state::StreamTask;
use portcullis_mapping::ScannedText;
use std::sync::Arc;

/// A stream before it has a slot. Everything that does not need a slot is already computed.
pub struct StreamRequest {
    pub(crate) governor: Arc<StreamGovernor>,
    pub(crate) id: String,
    pub(crate) task: StreamTask,
    /// Digest of an earlier report on the input, for the NOTE record that follows BEGIN.
    pub(crate) note: Option<[u8; 32]>,
    pub(crate) source: SpanSource,
    /// A local engine, which answers at once, so that the session may wait for it.
    pub(crate) local: Option<Box<dyn CandidateEngine>>,
    pub(crate) parts: Option<GivenParts>,
    /// Why the stream ends right after BEGIN.
    pub(crate) refusal: Option<(TerminationTrigger, String)>,
    /// Among whom the process shares its workers.
    pub(crate) owner: u64,
}

impl StreamRequest {
    pub(crate) const fn new(governor: Arc<StreamGovernor>, id: String, task: StreamTask, source: SpanSource) -> Self {
        Self { governor, id, task, note: None, source, local: None, parts: None, refusal: None, owner: 0 }
    }

    /// Sets the owner of the stream, such as the API key of its caller. A process shares its workers among the owners.
    #[must_use]
    pub const fn owned(mut self, owner: u64) -> Self {
        self.owner = owner;
        self
    }

    /// Adds a NOTE record after BEGIN with this digest, which names an earlier report on the input.
    #[must_use]
    pub const fn noted(mut self, digest: [u8; 32]) -> Self {
        self.note = Some(digest);
        self
    }

    /// Makes the stream end right after BEGIN, because the pre-execution filter refused its input.
    #[must_use]
    pub fn refused(mut self, why: String) -> Self {
        self.refusal = Some((TerminationTrigger::Prefilter, why));
        self
    }
}

impl std::fmt::Debug for StreamRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamRequest").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The source of a stream's spans.
pub(crate) enum SpanSource {
    Text {
        whole: String,
        text: Arc<ScannedText>,
    },
    /// Candidates that arrive while the stream is open.
    Proposals(StreamMode),
    /// Parts of a text that arrive while the stream is open.
    Parts(StreamMode),
}

/// The answers to [`super::Next::HeldStreamPart`], in order.
pub(crate) type GivenParts = std::vec::IntoIter<Result<HeldStreamPart, EngineError>>;

impl SpanSource {
    pub(crate) const fn mode(&self) -> StreamMode {
        match self {
            Self::Text { .. } => StreamMode::Recorded,
            Self::Proposals(mode) | Self::Parts(mode) => *mode,
        }
    }
}
