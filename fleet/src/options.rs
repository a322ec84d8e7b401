//! How to audit.

use crate::engine::QueryPlace;
use crate::progress::Progress;
use crate::trust::TrustFolder;
use portcullis_evidence::verify::VerifyOptions;
use portcullis_evidence::verify::series::GivenLog;
use portcullis_fleet_core::WorkFolder;
use std::sync::Arc;

/// How to audit.
#[derive(Clone)]
pub struct AuditOptions {
    pub trust: TrustFolder,
    pub options: VerifyOptions,
    /// The issuer's public log, or why it cannot be used.
    pub public_log: Option<Arc<GivenLog>>,
    /// Where results of finished units are kept.
    pub work: WorkFolder,
    /// Identifies this program: results of another program are not used.
    pub program: String,
    /// The largest number of streams to replay per session; 0 means that nothing is replayed.
    pub sample: u64,
    /// Seed of the sample; without it, the digest of all bundles.
    pub seed: Option<String>,
    /// Number of threads' worth of work at one time.
    pub jobs: usize,
    /// Where the queries and the verifier run.
    pub place: QueryPlace,
    /// Receives each step. An error, such as [`FleetError::Stopped`](crate::Error::Stopped), stops the audit.
    pub progress: Arc<Progress>,
}
