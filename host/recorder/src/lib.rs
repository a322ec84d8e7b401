//! The evidence of a session, written while the session runs, and the replay of a finished bundle.
//!
//! [`Options::start`] prepares a bundle and returns a [`Recorder`] and the configuration of the session to record. The
//! session gives its records and checkpoints to the sink in that configuration. The caller gives every
//! [`portcullis_gate::Event`] to [`Recorder::event`] before any other use, and calls [`Recorder::finish`] once the
//! session is closed. [`replay()`] makes the records of a bundle again from its texts, and [`check()`] verifies a
//! bundle and replays it.

pub mod check;
mod error;
#[cfg(test)]
mod killed;
mod lane;
mod options;
mod proofs;
mod recorder;
pub mod replay;
mod sink;
mod texts;
mod tickets;
pub mod trial;
mod witness;

pub use check::{CheckReport, check, check_after};
pub use error::RecorderError;
pub use options::Options;
pub use proofs::{ProofBook, ProofState};
pub use recorder::Recorder;
pub use replay::replay;
pub use texts::Texts;
pub use tickets::next_ticket;
pub use trial::trial;
