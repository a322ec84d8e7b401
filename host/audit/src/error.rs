//! Why an audit could not run.

use portcullis_evidence::bundle::BundleError;
use portcullis_gate::replay::ReplayError;

/// Why a replay, check or trial could not run. This is not a result about the evidence.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There are no files of a bundle, or reading them failed.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// This program failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}
