//! The callers' side of a session loop.

use super::mailbox::{Credit, DRAINING, Entry, Inbox, Mailbox, PartRefusal, Refusal, StreamMessage, Supply};
use crate::engine::{EngineError, Proposal};
use crate::stream::{Part, Source, StreamRequest};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session is closed: {0}")]
pub struct SessionClosed(pub String);

#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("as many parts wait as may")]
    Full(Box<Part>),
    #[error("a part of {bytes} bytes; at most {most}")]
    TooLong { bytes: usize, most: usize },
    #[error("the stream is over")]
    Over,
    #[error(transparent)]
    Closed(#[from] SessionClosed),
}

/// A session for those who open streams. Once the last one is dropped and every stream has ended, the session ends.
pub struct SessionHandle {
    inbox: Arc<Inbox>,
}

impl SessionHandle {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        inbox.handle_made();
        Self { inbox }
    }

    /// Opens a stream, as soon as a slot of the card is free. Waits while too many streams wait already.
    pub fn open(&self, request: StreamRequest) -> Result<StreamHandle, SessionClosed> {
        let supply = supply(&request);
        match self.inbox.arrive(request, supply, Entry { wait: true, further: false }) {
            Ok(mailbox) => Ok(StreamHandle { mailbox }),
            Err(Refusal::Over(why)) => Err(SessionClosed(why)),
            // Only callers that do not wait are refused for this reason.
            Err(Refusal::Full(_)) => Err(SessionClosed("it has no room".into())),
        }
    }

    /// Opens a stream like [`SessionHandle::open`], and gives it back where that would mean to wait.
    pub fn try_open(&self, request: StreamRequest) -> Result<Result<StreamHandle, Box<StreamRequest>>, SessionClosed> {
        self.enter(request, Entry { wait: false, further: false })
    }

    /// Opens a further stream for a caller that holds `open`, a stream of this session that has not ended: the session
    /// takes it even while it is being shut down. Gives it back where that would mean to wait.
    pub fn try_open_further(
        &self,
        open: &StreamHandle,
        request: StreamRequest,
    ) -> Result<Result<StreamHandle, Box<StreamRequest>>, SessionClosed> {
        self.enter(request, Entry { wait: false, further: open.end().is_none() })
    }

    fn enter(
        &self,
        request: StreamRequest,
        entry: Entry,
    ) -> Result<Result<StreamHandle, Box<StreamRequest>>, SessionClosed> {
        let supply = supply(&request);
        match self.inbox.arrive(request, supply, entry) {
            Ok(mailbox) => Ok(Ok(StreamHandle { mailbox })),
            Err(Refusal::Full(request)) => Ok(Err(request)),
            Err(Refusal::Over(why)) => Err(SessionClosed(why)),
        }
    }

    /// The session's room, as of the card's last answer.
    #[must_use]
    pub fn credit(&self) -> Credit {
        self.inbox.credit()
    }

    /// Asks the session to end: no further stream is taken, waiting ones are refused, and open ones continue. After
    /// `within`, the next proposal that a stream asks for is the end of it, and streams no longer wait for callers who
    /// do not read.
    pub fn shut_down(&self, within: Duration) {
        self.shut_down_for(within, DRAINING);
    }

    /// The same, with a reason from the caller: refused and ended streams report it. The first reason counts.
    pub fn shut_down_for(&self, within: Duration, why: &'static str) {
        self.inbox.drain(within, why);
    }

    /// Why the session is over, once it is.
    #[must_use]
    pub fn closed(&self) -> Option<SessionClosed> {
        self.inbox.over().map(SessionClosed)
    }
}

fn supply(request: &StreamRequest) -> Supply {
    Supply { given: matches!(request.source, Source::Parts(_)), events: true }
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

/// One stream, for the caller that proposes its spans and reads their outcomes.
///
/// Dropping it ends a stream that still needs proposals, with a stated reason; a whole text is judged to its end. A
/// caller without threads uses the `try_` methods and [`StreamHandle::on_change`].
pub struct StreamHandle {
    pub(super) mailbox: Arc<Mailbox>,
}

impl StreamHandle {
    /// Number that the session gave the stream; its events carry it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.mailbox.number
    }

    /// Calls `notify` after each change: a message came, a part was taken, the stream waits for a part, the stream is
    /// over. It is called in the thread of the session and must not wait.
    pub fn on_change(&self, notify: impl Fn() + Send + Sync + 'static) {
        self.mailbox.set_notify(Arc::new(notify));
    }

    /// Hands in the next part of a held stream, made by a [`crate::PartReader`], the last one too; waits while too many
    /// are there. The stream takes none while its messages are not read, so another thread must read them.
    pub fn submit(&self, part: Part) -> Result<(), SubmitError> {
        self.push(part, true)
    }

    /// The same without waiting.
    pub fn try_submit(&self, part: Part) -> Result<(), SubmitError> {
        self.push(part, false)
    }

    fn push(&self, part: Part, wait: bool) -> Result<(), SubmitError> {
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
    pub fn answer(&self, answer: Result<Proposal, EngineError>) {
        self.mailbox.set_answer(answer);
    }

    /// Gives the stream up: parts that wait are dropped, and its next proposal is its end. Messages still come.
    pub fn abort(&self, why: impl Into<String>) {
        self.mailbox.set_gone(why.into());
    }

    /// Waits for the next message; `None` when the stream is over.
    #[must_use]
    pub fn receive(&self) -> Option<StreamMessage> {
        self.mailbox.receive(None)
    }

    /// The same, not longer than this. [`StreamHandle::end`] tells an end from a wait that was too short.
    #[must_use]
    pub fn receive_within(&self, wait: Duration) -> Option<StreamMessage> {
        self.mailbox.receive(Some(Instant::now() + wait))
    }

    /// The same without waiting.
    #[must_use]
    pub fn try_receive(&self) -> Option<StreamMessage> {
        self.mailbox.receive(Some(Instant::now()))
    }

    /// Whether the stream has begun, has judged every part that it was given, and waits for the next one. Every message
    /// about those parts is there then.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.mailbox.is_idle()
    }

    /// How the stream ended: `Ok` when its last event was [`crate::What::Ended`]; `None` while it is open.
    #[must_use]
    pub fn end(&self) -> Option<Result<(), SessionClosed>> {
        self.mailbox.over().map(|why| why.map_or(Ok(()), |why| Err(SessionClosed(why))))
    }
}

impl Drop for StreamHandle {
    fn drop(&mut self) {
        self.mailbox.leave(if std::thread::panicking() { "it panicked" } else { "it has gone away" });
    }
}
