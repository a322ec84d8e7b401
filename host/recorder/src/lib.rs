//! Records the evidence of a session while it runs.
//!
//! [`RecorderOptions::start`] prepares a bundle. It returns a [`SessionRecorder`], and the configuration with which the
//! session must be opened. The session passes its records and checkpoints to the sink in that configuration. The caller
//! passes every [`portcullis_gate::StreamEvent`] to [`SessionRecorder::event`] before any other use, and calls
//! [`SessionRecorder::finish`] when the session is closed. The crate `portcullis-audit` replays and checks finished
//! bundles.
//!
//! ```
//! # use portcullis_gate::{GatePolicy, GateSettings, SaltKey, anchor::AnchorSet};
//! # use std::{path::Path, sync::Arc};
//! use portcullis_card::{CardChoice, CardSession, CardTransport, SessionError};
//! use portcullis_gate::{StreamGovernor, StreamInput};
//! use portcullis_recorder::{FinishedBundle, RecorderError, RecorderOptions};
//!
//! fn record(
//!     mut card: Box<dyn CardTransport>,
//!     options: &RecorderOptions,
//!     governor: &Arc<StreamGovernor>,
//!     items: Vec<StreamInput>,
//! ) -> Result<Option<FinishedBundle>, RecorderError> {
//!     let policy = governor.policy();
//!     let anchors = AnchorSet::none(&policy.mapper);
//!     let (mut recorder, config) = options.start(card.as_mut(), &policy.package, &policy.compiled, &anchors)?;
//!     let mut session = CardSession::open(card, &policy.compiled.image, config)?;
//!     governor.govern(&mut session, items, |event| recorder.event(&event))?;
//!     session.close()?;
//!     recorder.finish()
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/pii");
//! # let package = portcullis_policy::PolicyPackage::load(Path::new(folder))?;
//! # let compiled = package.compile()?;
//! # let policy = Arc::new(GatePolicy::new(package, compiled)?);
//! # let governor = Arc::new(StreamGovernor::new(policy, GateSettings::new(SaltKey::random()?))?);
//! # let options = RecorderOptions {
//! #     folder: "first.bundle".into(),
//! #     ticket: Default::default(),
//! #     approval: None,
//! #     device_cert: None,
//! #     device_chain: None,
//! #     witness: None,
//! #     profile: Default::default(),
//! #     checkpoint_interval: None,
//! #     texts: Default::default(),
//! # };
//! // The model of a card in software does not sign, so its sessions leave no evidence.
//! let refused = record(CardChoice::Model.open()?, &options, &governor, Vec::new());
//! assert!(matches!(refused, Err(RecorderError::Card(SessionError::Missing("signer")))));
//! # Ok(())
//! # }
//! ```

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
