//! A governed stream for a caller that shows the text to its readers itself: streams of the native API, and the texts
//! of the APIs for other gateways.

use crate::error::ApiError;
use crate::observe::SectionInput;
use crate::output::{AnswerChannel, AnswerProvenance, GatedAnswerPart, StreamReport};
use crate::reading::reading;
use crate::receipts::CheckpointNotifier;
use crate::request::RequestSource;
use crate::section::{
    AnswerSection, LoggedDetermination, ReleaseTerms, SectionEnd, SectionMode, on_refuse, placeholder,
};
use crate::session_state::OpenSession;
use portcullis_core::context::{OnRefuse, StreamMode};
use portcullis_core::hex;
use portcullis_core::state::StreamTask;
use portcullis_gate::{StreamGovernor, StreamInput};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// A request to open a stream.
#[derive(Clone)]
pub(crate) struct GovernedStreamRequest {
    /// Id of the request; the stream's id also contains the request's digest and the nonce.
    pub(crate) id: String,
    /// Index of the model in the configuration.
    pub(crate) place: usize,
    pub(crate) task: StreamTask,
    /// Digest of the pre-execution filter's report.
    pub(crate) note: [u8; 32],
    /// Rules of the pre-execution filter that refused the input; the stream then ends right after BEGIN.
    pub(crate) refusal: Option<String>,
    /// The whole text; `None` if parts follow.
    pub(crate) text: Option<String>,
    /// What the stream does after a refusal; `None` for the package's setting.
    pub(crate) on_refuse: Option<OnRefuse>,
    /// SHA-256 of the request's body.
    pub(crate) digest: [u8; 32],
    pub(crate) nonce: Option<String>,
    /// Sources from the caller: the anchor store of the stream.
    pub(crate) sources: Arc<[RequestSource]>,
    /// Among whom the process shares its workers.
    pub(crate) owner: u64,
}

/// The owner of a caller's streams in a session: the place of its key, or 0 for callers without a key.
pub(crate) fn owner(key: Option<usize>) -> u64 {
    key.and_then(|place| u64::try_from(place).ok()).map_or(0, |place| place + 1)
}

/// A governed stream and its results.
pub(crate) struct GovernedStream {
    id: String,
    mode: StreamMode,
    digest: [u8; 32],
    nonce: Option<String>,
    session: Arc<OpenSession>,
    governor: Arc<StreamGovernor>,
    section: AnswerSection,
    changed: Arc<Notify>,
    /// Number of released tool calls.
    calls: u32,
    outputs: Vec<GatedAnswerPart>,
    _wakes: Option<CheckpointNotifier>,
}

impl GovernedStream {
    /// Opens a stream; `None` if the session accepts no more streams.
    pub(crate) fn open(
        session: Arc<OpenSession>,
        governor: &Arc<StreamGovernor>,
        opening: &GovernedStreamRequest,
        is_signed: bool,
    ) -> Result<Option<Self>, ApiError> {
        let GovernedStreamRequest { id, task, note, refusal, text, digest, nonce, .. } = opening.clone();
        let placeholder = placeholder(governor);
        let on_refuse = opening.on_refuse.unwrap_or(on_refuse(governor));
        let governor = Arc::new(StreamGovernor::clone(governor).with_on_refuse(on_refuse));
        let bound = nonce.as_ref().map(|nonce| format!(" nonce={nonce}")).unwrap_or_default();
        let name = format!("{id} request={}{bound}", hex::encode(&digest));
        let (mode, asked) = match text {
            Some(text) => {
                let (bytes, item) = (text.len(), StreamInput::Text { id: name.clone(), text, task });
                let governor = Arc::clone(&governor);
                let request = reading(opening.owner, bytes, move || governor.request(item));
                (StreamMode::Recorded, request.map_err(|failed| ApiError::gate(&failed.to_string()))?)
            }
            None => (StreamMode::Held, governor.held_request(name.clone(), task)),
        };
        let asked = asked.noted(note).owned(opening.owner);
        let asked = match refusal {
            Some(why) => asked.refused(why),
            None => asked,
        };
        let stream = match session.handle.try_open(asked) {
            Ok(Ok(stream)) => stream,
            Ok(Err(_)) => return Err(ApiError::unavailable("the card has no room for a stream")),
            Err(_) => return Ok(None),
        };
        let changed = Arc::new(Notify::new());
        let proofs = session.proofs.as_ref().filter(|_| is_signed);
        let wakes = proofs.map(|proofs| proofs.wake(&changed));
        let signed = proofs.map(|proofs| Arc::clone(&proofs.book));
        let terms = ReleaseTerms { placeholder, signed, mode: SectionMode::Held };
        let place = (0, AnswerChannel::Content);
        let mut section =
            AnswerSection::new(place, name, stream, Arc::clone(&governor), terms, &changed).with_determinations();
        section.go();
        let (calls, outputs) = (0, Vec::new());
        Ok(Some(Self { id, mode, digest, nonce, session, governor, section, changed, calls, outputs, _wakes: wakes }))
    }

    /// Waits until all input is judged; with `begun`, only until BEGIN is recorded.
    ///
    /// # Errors
    /// The wait exceeds `within`; the stream is then aborted.
    pub(crate) async fn settle(&mut self, within: Duration, begun: bool) -> Result<(), ApiError> {
        let settled = async {
            loop {
                self.section.go();
                let is_idle = self.section.stream().is_idle();
                self.outputs.extend(self.section.outputs(&mut self.calls));
                let has_begun = begun && self.section.has_read_begin();
                if self.section.end().is_some()
                    || has_begun
                    || (is_idle && !self.section.is_full() && !self.section.is_unsigned())
                {
                    return;
                }
                self.changed.notified().await;
            }
        };
        if timeout(within, settled).await.is_err() {
            self.section.abort("the card did not answer in time");
            return Err(ApiError::unavailable("the card did not answer in time"));
        }
        Ok(())
    }

    /// Whether BEGIN is among the messages that were read.
    pub(crate) const fn has_read_begin(&self) -> bool {
        self.section.has_read_begin()
    }

    pub(crate) fn section(&mut self) -> &mut AnswerSection {
        &mut self.section
    }

    /// Adds the next part.
    ///
    /// # Errors
    /// The part is not valid text; the stream is then aborted.
    pub(crate) fn give(&mut self, given: &SectionInput<'_>) -> Result<(), ApiError> {
        self.section.give(given).map_err(|_| self.unreadable())
    }

    /// Ends the input.
    ///
    /// # Errors
    /// The text is incomplete; the stream is then aborted.
    pub(crate) fn finish(&mut self) -> Result<(), ApiError> {
        self.section.finish().map_err(|_| self.unreadable())
    }

    fn unreadable(&mut self) -> ApiError {
        self.section.abort("a text that is not UTF-8");
        ApiError::gate("a text that is not UTF-8")
    }

    /// Takes the outputs since the last call: released text, and the package's constants in place of refused text.
    pub(crate) fn take_outputs(&mut self) -> Vec<GatedAnswerPart> {
        std::mem::take(&mut self.outputs)
    }

    pub(crate) fn take_judged(&mut self) -> Vec<LoggedDetermination> {
        self.section.take_judged()
    }

    pub(crate) const fn end(&self) -> Option<SectionEnd> {
        self.section.end()
    }

    pub(crate) const fn report(&self) -> &StreamReport {
        self.section.report()
    }

    pub(crate) const fn governor(&self) -> &Arc<StreamGovernor> {
        &self.governor
    }

    pub(crate) const fn session(&self) -> &Arc<OpenSession> {
        &self.session
    }

    pub(crate) fn provenance(&self) -> AnswerProvenance {
        AnswerProvenance {
            nonce: self.nonce.clone(),
            sources: self.governor.supplied_digest().map(|digest| hex::encode(&digest)),
            streams: vec![self.section.report().clone()],
            ..AnswerProvenance::new(
                self.id.clone(),
                self.mode,
                self.governor.policy(),
                &self.session.name,
                &self.digest,
            )
        }
    }
}
