//! Records the evidence of a session while it runs.
//!
//! [`Options::start`] prepares a bundle. It returns a [`Recorder`], and the configuration with which the session must
//! be opened. The session passes its records and checkpoints to the sink in that configuration. The caller passes every
//! [`portcullis_gate::Event`] to [`Recorder::event`] before any other use, and calls [`Recorder::finish`] when the
//! session is closed. The crate `portcullis-audit` replays and checks finished bundles.

mod error;
mod issuer;
#[cfg(test)]
mod killed;
mod lane;
mod options;
mod proofs;
mod recorder;
mod sink;
mod texts;
mod tickets;
mod witness;

pub use error::RecorderError;
pub use issuer::IssuerAccess;
pub use options::{Options, TicketSource};
pub use proofs::{ProofBook, ProofState};
pub use recorder::{FinishedBundle, Recorder};
pub use texts::Texts;
pub use tickets::TicketFolder;
