//! Records the evidence of a session while it runs.
//!
//! [`RecorderOptions::start`] prepares a bundle. It returns a [`SessionRecorder`], and the configuration with which the
//! session must be opened. The session passes its records and checkpoints to the sink in that configuration. The caller
//! passes every [`portcullis_gate::Event`] to [`SessionRecorder::event`] before any other use, and calls
//! [`SessionRecorder::finish`] when the session is closed. The crate `portcullis-audit` replays and checks finished
//! bundles.

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
pub use options::{RecorderOptions, TicketSource};
pub use proofs::{ProofBook, ProofState};
pub use recorder::{FinishedBundle, SessionRecorder};
pub use texts::TextRetention;
pub use tickets::TicketFolder;
