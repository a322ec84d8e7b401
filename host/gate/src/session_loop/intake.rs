//! The sources of a session's streams: a list of items, or the inbox.

use super::engine_thread;
use super::handle::JudgedStreamHandle;
use super::mailbox::{Inbox, Mailbox, Supply};
use crate::admission::EngineHome;
use crate::candidate::AnswerCandidate;
use crate::determination::TerminationTrigger;
use crate::engine::{CandidateEngine, EngineError, EngineProposal, ListEngine};
use crate::governor::StreamGovernor;
use crate::source::StreamInput;
use crate::stream::{GivenParts, HeldStreamPart, PartReader, SpanSource, StreamRequest};
use portcullis_core::context::StreamMode;
use portcullis_core::state::StreamTask;
use portcullis_mapping::NotUtf8;
use std::sync::Arc;

/// A stream that is about to get a slot.
pub(super) struct Entrant {
    pub(super) request: StreamRequest,
    pub(super) number: u64,
    pub(super) salted: u64,
    pub(super) mailbox: Option<(Arc<Mailbox>, Supply)>,
}

pub(super) trait Intake {
    /// The next stream for a free slot.
    fn next(&mut self, inbox: &Arc<Inbox>) -> Option<Entrant>;

    /// After `next` has returned `None`: whether no stream can follow.
    fn is_over(&self, inbox: &Inbox) -> bool;
}

/// Items in order, each with its stream number and salt number. When a slot becomes free, the loop takes the next item,
/// and waits until the iterator yields it.
pub(super) struct Items<'g, I> {
    pub(super) governor: &'g Arc<StreamGovernor>,
    pub(super) items: I,
}

impl<I: Iterator<Item = (StreamInput, (u64, u64))>> Intake for Items<'_, I> {
    fn next(&mut self, inbox: &Arc<Inbox>) -> Option<Entrant> {
        let (item, (number, salted)) = self.items.next()?;
        let StreamSetup { request, engine } = self.governor.prepare(number, item);
        let mailbox = engine.map(|engine| {
            let mailbox = inbox.mailbox(number, request.owner);
            engine_thread::spawn(engine, JudgedStreamHandle { mailbox: Arc::clone(&mailbox) });
            (mailbox, Supply { given: false, events: false })
        });
        Some(Entrant { request, number, salted, mailbox })
    }

    fn is_over(&self, _inbox: &Inbox) -> bool {
        true
    }
}

pub(super) struct Arrivals;

impl Intake for Arrivals {
    fn next(&mut self, inbox: &Arc<Inbox>) -> Option<Entrant> {
        let arrival = inbox.next_arrival()?;
        let number = arrival.mailbox.number;
        let mailbox = Some((arrival.mailbox, arrival.supply));
        Some(Entrant { request: arrival.request, number, salted: number, mailbox })
    }

    fn is_over(&self, inbox: &Inbox) -> bool {
        inbox.is_shut()
    }
}

/// A stream that is ready to be opened, and its engine if the engine needs a thread.
pub(super) struct StreamSetup {
    request: StreamRequest,
    engine: Option<Box<dyn CandidateEngine>>,
}

impl StreamGovernor {
    /// A stream for this item, for [`super::SessionHandle::open`]. The text is read, the task is filtered and the
    /// anchor stores are checked here, in the caller's thread. The caller provides the candidates of a task
    /// ([`Item::Prompt`]).
    #[must_use]
    pub fn request(self: &Arc<Self>, item: StreamInput) -> StreamRequest {
        let StreamSetup { mut request, engine } = self.prepare(0, item);
        if engine.is_some() {
            request.refusal.get_or_insert((TerminationTrigger::Engine, "the engine is not the caller's".into()));
        }
        request
    }

    /// A stream for a text that the caller submits while it is written, in parts
    /// ([`super::JudgedStreamHandle::submit`]).
    #[must_use]
    pub fn held_request(self: &Arc<Self>, id: String, task: StreamTask) -> StreamRequest {
        self.callers_request(id, task, SpanSource::Parts(StreamMode::Held))
    }

    /// As [`Self::held_request`], for a text whose reader gets all of it, refused spans included. A refused span has no
    /// receipt and does not change the state of the stream.
    #[must_use]
    pub fn observed_request(self: &Arc<Self>, id: String, task: StreamTask) -> StreamRequest {
        self.callers_request(id, task, SpanSource::Parts(StreamMode::Observed))
    }

    /// A stream whose caller runs the engine and gives it a conversation of its own. The conversation must have been
    /// judged before ([`StreamRequest::noted`]). The caller answers [`super::StreamMessage::Propose`].
    #[must_use]
    pub fn conversation_request(self: &Arc<Self>, id: String, task: StreamTask) -> StreamRequest {
        self.callers_request(id, task, SpanSource::Proposals(StreamMode::DrivenConversation))
    }

    fn callers_request(self: &Arc<Self>, id: String, task: StreamTask, source: SpanSource) -> StreamRequest {
        let governor = Arc::clone(self);
        self.checked(StreamRequest::new(governor, id, task, source))
    }

    fn prepare(self: &Arc<Self>, number: u64, item: StreamInput) -> StreamSetup {
        let governor = Arc::clone(self);
        let mut engine = None;
        let request = match item {
            StreamInput::Text { id, text: whole, task } => {
                let text = Arc::new(self.read(whole.clone()));
                let source = SpanSource::Text { whole, text };
                StreamRequest::new(governor, id, task, source)
            }
            StreamInput::Candidates { id, steps, task } => {
                let local: Option<Box<dyn CandidateEngine>> = Some(Box::new(ListEngine::new(steps)));
                let source = SpanSource::Proposals(StreamMode::Driven);
                StreamRequest { local, ..StreamRequest::new(governor, id, task, source) }
            }
            StreamInput::Given { id, given, task } => {
                let parts = Some(self.given_parts(given));
                let source = SpanSource::Parts(self.given_mode());
                StreamRequest { parts, ..StreamRequest::new(governor, id, task, source) }
            }
            StreamInput::Prompt { id, task } => {
                let admission = self.admit(number, &task);
                let (mut local, mut refusal) = (None, None);
                match admission.engine {
                    Ok(EngineHome::Session(here)) => local = Some(here),
                    Ok(EngineHome::Thread(there)) => engine = Some(there),
                    Ok(EngineHome::Caller) => {}
                    Err(why) => refusal = Some(why),
                }
                let source = SpanSource::Proposals(self.driven_mode());
                StreamRequest { note: admission.note, local, refusal, ..StreamRequest::new(governor, id, task, source) }
            }
        };
        StreamSetup { request: self.checked(request), engine }
    }

    /// The parts of a text whose chunks have all arrived.
    fn given_parts(self: &Arc<Self>, given: Vec<Result<EngineProposal, EngineError>>) -> GivenParts {
        let mut reader = PartReader::new(Arc::clone(self));
        let mut parts: Vec<Result<HeldStreamPart, EngineError>> = Vec::new();
        let not_utf8 = |error: NotUtf8| EngineError::Answer(error.to_string());
        for answer in given {
            let part = match answer {
                Ok(EngineProposal::Candidate(AnswerCandidate { call: Some(call), logprobs, .. })) => {
                    reader.call(&call, logprobs).map(Some).map_err(not_utf8)
                }
                Ok(EngineProposal::Candidate(AnswerCandidate { text, logprobs, .. })) => {
                    reader.text(&text, logprobs).map_err(not_utf8)
                }
                Ok(EngineProposal::Exhausted | EngineProposal::End) => {
                    parts.push(reader.finish().map_err(not_utf8));
                    break;
                }
                Err(error) => Err(error),
            };
            parts.extend(part.transpose());
        }
        parts.into_iter()
    }

    /// Makes a stream end immediately if its anchor stores have changed.
    fn checked(&self, mut request: StreamRequest) -> StreamRequest {
        if let Some(store) = self.anchors().changed() {
            let what = format!("`{}` is not what it was when it was opened", store.path().display());
            request.refusal.get_or_insert((TerminationTrigger::AnchorsChanged, what));
        }
        request
    }
}
