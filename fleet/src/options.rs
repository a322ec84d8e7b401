//! How to audit, and the steps that an audit reports.

use crate::engine::Place;
use crate::error::Error;
use crate::trust::TrustFolder;
use portcullis_evidence::verify::Options;
use portcullis_evidence::verify::series::GivenLog;
use portcullis_fleet_core::Work;
use std::sync::Arc;

/// A step that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
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
pub(crate) type Progress = dyn Fn(Step) -> Result<(), Error> + Send + Sync;

/// How to audit.
#[derive(Clone)]
pub struct AuditOptions {
    pub trust: TrustFolder,
    pub options: Options,
    /// The issuer's public log, or why it cannot be used.
    pub public_log: Option<Arc<GivenLog>>,
    /// Where results of finished units are kept.
    pub work: Work,
    /// Identifies this program: results of another program are not used.
    pub program: String,
    /// The largest number of streams to replay per session; 0 means that nothing is replayed.
    pub sample: u64,
    /// Seed of the sample; without it, the digest of all bundles.
    pub seed: Option<String>,
    /// Number of threads' worth of work at one time.
    pub jobs: usize,
    /// Where the queries and the verifier run.
    pub place: Place,
    /// Receives each step. An error, such as [`Error::Stopped`], stops the audit.
    pub progress: Arc<Progress>,
}
