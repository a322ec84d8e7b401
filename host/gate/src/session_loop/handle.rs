//! The callers' side of a session loop.

use super::mailbox::{
    ArrivalOptions, DRAINING, Inbox, InboxRefusal, Mailbox, PartRefusal, SessionCapacity, StreamMessage, Supply,
};
use crate::engine::{EngineError, EngineProposal};
use crate::stream::{HeldStreamPart, SpanSource, StreamRequest};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session is closed: {0}")]
pub struct SessionClosed(pub String);

#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("as many parts wait as may")]
    Full(Box<HeldStreamPart>),
    #[error("a part of {bytes} bytes; at most {most}")]
    TooLong { bytes: usize, most: usize },
    #[error("the stream is over")]
    Over,
    #[error(transparent)]
    Closed(#[from] SessionClosed),
}

/// Opens streams of a session. The session ends when the last handle is dropped and every stream has ended.
pub struct SessionHandle {
    inbox: Arc<Inbox>,
}

impl SessionHandle {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        inbox.handle_made();
        Self { inbox }
    }

    /// Opens a stream; it starts when a slot of the card is free. Waits while too many streams are waiting already.
    pub fn open(&self, request: StreamRequest) -> Result<JudgedStreamHandle, SessionClosed> {
        let supply = supply(&request);
        match self.inbox.arrive(request, supply, ArrivalOptions { wait: true, further: false }) {
            Ok(mailbox) => Ok(JudgedStreamHandle { mailbox }),
            Err(InboxRefusal::Over(why)) => Err(SessionClosed(why)),
            // `Full` is only for calls that do not wait.
            Err(InboxRefusal::Full(_)) => Err(SessionClosed("it has no room".into())),
        }
    }

    /// As [`SessionHandle::open`], but returns the request instead of waiting.
    pub fn try_open(
        &self,
        request: StreamRequest,
    ) -> Result<Result<JudgedStreamHandle, Box<StreamRequest>>, SessionClosed> {
        self.enter(request, ArrivalOptions { wait: false, further: false })
    }

    /// Opens a further stream for a caller whose stream `open` is still open in this session, even during a shut-down.
    /// If there is no room, returns the request instead of waiting.
    pub fn try_open_further(
        &self,
        open: &JudgedStreamHandle,
        request: StreamRequest,
    ) -> Result<Result<JudgedStreamHandle, Box<StreamRequest>>, SessionClosed> {
        self.enter(request, ArrivalOptions { wait: false, further: open.end().is_none() })
    }

    fn enter(
        &self,
        request: StreamRequest,
        entry: ArrivalOptions,
    ) -> Result<Result<JudgedStreamHandle, Box<StreamRequest>>, SessionClosed> {
        let supply = supply(&request);
        match self.inbox.arrive(request, supply, entry) {
            Ok(mailbox) => Ok(Ok(JudgedStreamHandle { mailbox })),
            Err(InboxRefusal::Full(request)) => Ok(Err(request)),
            Err(InboxRefusal::Over(why)) => Err(SessionClosed(why)),
        }
    }

    /// The session's room for more work.
    #[must_use]
    pub fn credit(&self) -> SessionCapacity {
        self.inbox.credit()
    }

    /// Starts a shut-down: new streams and waiting streams are refused, open streams continue. After the time `within`,
    /// a stream ends at its next request for a proposal, and streams do not wait for callers that do not read.
    pub fn shut_down(&self, within: Duration) {
        self.shut_down_for(within, DRAINING);
    }

    /// As [`Self::shut_down`], with a reason that refused and ended streams report. If it is called again, the first
    /// reason stays.
    pub fn shut_down_for(&self, within: Duration, why: &'static str) {
        self.inbox.drain(within, why);
    }

    /// Why the session is over; `None` while it is not.
    #[must_use]
    pub fn closed(&self) -> Option<SessionClosed> {
        self.inbox.over().map(SessionClosed)
    }
}

fn supply(request: &StreamRequest) -> Supply {
    Supply { given: matches!(request.source, SpanSource::Parts(_)), events: true }
}

impl Clone for SessionHandle {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.inbox))
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.inbox.handle_dropped();
    }
}

/// One stream, for the caller that submits its parts or proposals and reads its messages.
///
/// Dropping the handle ends a stream that needs more parts or proposals, and the stream's last event gives a reason. A
/// whole text is still judged. A caller that must not block uses the `try_` methods and
/// [`JudgedStreamHandle::on_change`].
pub struct JudgedStreamHandle {
    pub(super) mailbox: Arc<Mailbox>,
}

impl JudgedStreamHandle {
    /// The stream's number in the session, as in its events.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.mailbox.number
    }

    /// The stream's owner, in whose turn its texts are read and mapped ([`StreamRequest::owned`]).
    #[must_use]
    pub fn owner(&self) -> u64 {
        self.mailbox.owner
    }

    /// Calls `notify` after each change: a message arrived, a part was taken, the stream waits for a part, the stream
    /// is over. The call is made in the session's thread and must not block.
    pub fn on_change(&self, notify: impl Fn() + Send + Sync + 'static) {
        self.mailbox.set_notify(Arc::new(notify));
    }

    /// Submits the next part of a held stream, made by a [`crate::PartReader`]. Waits while too many parts are queued.
    /// The stream takes no parts while its messages are unread, so another thread must read them.
    pub fn submit(&self, part: HeldStreamPart) -> Result<(), SubmitError> {
        self.push(part, true)
    }

    /// As [`Self::submit`], without waiting.
    pub fn try_submit(&self, part: HeldStreamPart) -> Result<(), SubmitError> {
        self.push(part, false)
    }

    fn push(&self, part: HeldStreamPart, wait: bool) -> Result<(), SubmitError> {
        let most = self.mailbox.inbox().bounds.part_bytes;
        let bytes = part.bytes();
        if bytes > most {
            return Err(SubmitError::TooLong { bytes, most });
        }
        self.mailbox.push(part, wait).map_err(|refusal| match refusal {
            PartRefusal::Full(part) => SubmitError::Full(part),
            PartRefusal::Over(Some(why)) => SubmitError::Closed(SessionClosed(why)),
            PartRefusal::Over(None) => SubmitError::Over,
        })
    }

    /// Answers [`StreamMessage::Propose`].
    pub fn answer(&self, answer: Result<EngineProposal, EngineError>) {
        self.mailbox.set_answer(answer);
    }

    /// Gives up the stream: queued parts are dropped, and the stream ends at its next request for a proposal.
    pub fn abort(&self, why: impl Into<String>) {
        self.mailbox.set_gone(why.into());
    }

    /// Waits for the next message; `None` if the stream is over.
    #[must_use]
    pub fn receive(&self) -> Option<StreamMessage> {
        self.mailbox.receive(None)
    }

    /// As [`Self::receive`], but waits at most `wait`. [`JudgedStreamHandle::end`] shows whether the stream is over.
    #[must_use]
    pub fn receive_within(&self, wait: Duration) -> Option<StreamMessage> {
        self.mailbox.receive(Some(Instant::now() + wait))
    }

    /// As [`Self::receive`], without waiting.
    #[must_use]
    pub fn try_receive(&self) -> Option<StreamMessage> {
        self.mailbox.receive(Some(Instant::now()))
    }

    /// Whether the stream has begun, has judged all its parts, and waits for the next one. All messages about these
    /// parts are then available.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.mailbox.is_idle()
    }

    /// How the stream ended: `Ok` if its last event is [`crate::StreamEventKind::Ended`]; `None` while it is open.
    #[must_use]
    pub fn end(&self) -> Option<Result<(), SessionClosed>> {
        self.mailbox.over().map(|why| why.map_or(Ok(()), |why| Err(SessionClosed(why))))
    }
}

impl Drop for JudgedStreamHandle {
    fn drop(&mut self) {
        self.mailbox.leave(if std::thread::panicking() { "it panicked" } else { "it has gone away" });
    }
}
