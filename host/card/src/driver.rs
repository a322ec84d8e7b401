//! The ring driver: start of a session, rings, doorbells, checks of every answer, end of the session.
//!
//! [`CardSession::open`] starts the card. Batches of entries are submitted with [`CardSession::submit`]; their answers,
//! of type [`CompletedEntry`], come from [`CardSession::poll`] and [`CardSession::wait`]. [`CardSession::begin`],
//! [`CardSession::gate`], [`CardSession::note`] and [`CardSession::end`] submit one entry and wait for it; they may be
//! mixed with batches.
//!
//! A card has 1, 2, 4 or 8 lanes; a session uses all of them. A stream's slot determines its lane: slot modulo lanes.
//! Each lane has its own rings and its own log. Answers and records are in order within a lane; there is no order
//! between lanes.
//!
//! Every wait is bounded in the card's own quanta, and its error names the awaited event. Closing or dropping a session
//! frees its memory only after the card is quiet. A card that needs its hardware reset cannot become quiet. Then the
//! [`crate::CardTransport`] keeps the memory until it is dropped; the drop first disables bus access.

pub(crate) mod checkpoint_ring;
pub(crate) mod command;
pub(crate) mod config;
pub(crate) mod error;
pub(crate) mod info;
mod lane;
mod load;
pub(crate) mod outcome;
mod rings;
pub(crate) mod session;
mod sink;
mod stream_table;
mod text;

pub use checkpoint_ring::{CHECKPOINT_INTERVAL, CardSignedCheckpoint, CheckpointConfig};
pub use command::{await_public_key, reset};
pub use config::{HeartbeatLimits, SessionConfig};
pub use error::{LossCause, SessionError, WaitError};
pub use info::{CardInfo, TextLaneLimits, public_key};
pub use load::load_only;
pub use outcome::{CloseReport, CompletedEntry, EntryOutcome};
pub use session::CardSession;
pub use sink::{RecordSink, SinkError};
pub use stream_table::CardStreamHandle;
