//! The steps that an audit reports.

use crate::error::FleetError;

/// A step that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditStep {
    /// The audit has this many bundles.
    Bundles(u64),
    /// A bundle was verified.
    Verified,
    /// The result of an earlier, equal verification was used.
    Reused,
    /// A bundle's tables were compared with its checkpoints.
    Compared,
    /// A sample of a bundle's streams was replayed.
    Replayed,
}

/// Receives each step, from any thread. An error stops the audit.
pub(crate) type Progress = dyn Fn(AuditStep) -> Result<(), FleetError> + Send + Sync;
