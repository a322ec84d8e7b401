//! Records the evidence of a session while it runs, and replays finished bundles.
//!
//! [`Options::start`] prepares a bundle. It returns a [`Recorder`], and the configuration with which the session must
//! be opened. The session passes its records and checkpoints to the sink in that configuration. The caller passes every
//! [`portcullis_gate::Event`] to [`Recorder::event`] before any other use, and calls [`Recorder::finish`] when the
//! session is closed. [`replay()`] computes the records of a bundle again from its texts. [`check()`] verifies a bundle
//! and replays it.

pub mod check;
mod error;
mod issuer;
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
pub use issuer::IssuerAccess;
pub use options::{Options, TicketSource};
pub use proofs::{ProofBook, ProofState};
pub use recorder::{FinishedBundle, Recorder};
pub use replay::replay;
pub use texts::Texts;
pub use tickets::TicketFolder;
pub use trial::trial;
