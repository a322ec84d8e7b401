//! The session loop: judges many streams over one card session.
//!
//! The loop runs in one thread and waits only for the card. It does not call engines, except local ones, does not read
//! connections, does not map texts, and does not wait for slow callers. The workers of the process map the texts.
//! Callers run in their own threads or tasks. They reach the loop through its inbox, with a [`SessionHandle`] and one
//! [`JudgedStreamHandle`] per stream. All queues are bounded; a caller that exceeds a bound waits, and delays no other.
//!
//! The result of a stream depends on its own input only, not on its time of arrival or on other streams.

mod engine_thread;
mod handle;
mod intake;
mod mailbox;
mod turns;

pub use handle::{JudgedStreamHandle, SessionClosed, SessionHandle, SubmitError};
pub use mailbox::{CheckpointSchedule, InboxBounds, SessionCapacity, StreamMessage};
pub use turns::SessionLoop;
