//! The session loop: many streams over one card session.
//!
//! The loop runs in one thread and waits for nothing but the card: it never asks an engine, reads a connection, or
//! waits for somebody who does not read. Streams enter with finished spans only. Whoever proposes does so in a thread
//! or task of its own and reaches the loop through its inbox, by a [`SessionHandle`] and one [`StreamHandle`] per
//! stream. Everything in between is bounded, and who exceeds a bound waits alone.
//!
//! What happens to one stream depends on its own input only, never on when it came or on what else runs.

mod engine_thread;
mod handle;
mod intake;
mod mailbox;
mod turns;

pub use handle::{SessionClosed, SessionHandle, StreamHandle, SubmitError};
pub use mailbox::{Bounds, Credit, Settle, StreamMessage};
pub use turns::SessionLoop;
