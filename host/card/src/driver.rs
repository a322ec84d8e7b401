//! The ring driver: bring-up, rings, doorbells, the checks of every answer, the end.
//!
//! [`Session::open`] brings the card up. Entries are submitted in batches ([`Session::submit`]) and come back as
//! [`Completed`] ([`Session::poll`], [`Session::wait`]); [`Session::begin`], [`Session::gate`], [`Session::note`]
//! and [`Session::end`] do one entry of one stream at a time and may be mixed with batches.
//!
//! A card has 1, 2, 4 or 8 lanes, and a session is the whole card. The slot of a stream says its lane: slot modulo
//! lanes. Each lane has rings and a log of its own; answers and records come in order in each lane; lanes have
//! no common order.
//!
//! Every wait is bounded in the card's own quanta and names what it awaited. Closing or dropping a session takes its
//! memory back only once the card is quiet. A card that needs its hardware reset never gets quiet: it keeps the memory
//! until it is dropped itself, which first takes its right to use the bus away.

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

pub use checkpoint_ring::{CHECKPOINT_INTERVAL, CheckpointConfig, SignedCheckpoint};
pub use command::{await_public_key, reset};
pub use config::{HeartbeatLimits, SessionConfig};
pub use error::{LossCause, SessionError, WaitError};
pub use info::{CardInfo, public_key};
pub use load::load_only;
pub use outcome::{CloseReport, Completed, Outcome};
pub use session::Session;
pub use sink::{RecordSink, SinkError};
pub use stream_table::StreamHandle;
