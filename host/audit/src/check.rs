//! Checks a bundle: verification and replay, over one snapshot of its files.

use crate::AuditError;
use crate::replay::{ReplayReport, replay_after};
use portcullis_evidence::bundle::{BundleError, BundleFiles, SnapshotFiles};
use portcullis_evidence::verify::{EvidenceStatus, TrustedParties, VerifyOptions, VerifyReport, verify_snapshot};

/// The results of verification and replay.
#[derive(Debug, serde::Serialize)]
pub struct CheckReport {
    /// The worse of the statuses of verification and replay.
    pub status: EvidenceStatus,
    /// Exit code of `portcullis check`: 3 contradicted, else 10 simulated or not enforced, else 5 warned, else 0.
    pub exit_code: u8,
    /// Why the files are not a bundle, if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the verification found; `None` if the files are not a bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyReport>,
    /// What the replay found; `None` if the files are not a bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayReport>,
}

impl CheckReport {
    fn both(report: VerifyReport, outcome: ReplayReport) -> Self {
        let status = report.status.max(outcome.status);
        let exit_code = status.exit_code(report.is_marked());
        Self { status, exit_code, error: None, verify: Some(report), replay: Some(outcome) }
    }

    /// The report about files that are not a bundle, for the reason in `error`: contradicted, with exit code 3.
    #[must_use]
    pub fn broken(error: &BundleError) -> Self {
        let status = EvidenceStatus::Contradicted;
        let exit_code = status.exit_code(false);
        Self { status, exit_code, error: Some(error.to_string()), verify: None, replay: None }
    }
}

/// Verifies and replays the bundle in `files`. `records` receives the number of verified records; `streams` is called
/// after each replayed stream.
///
/// # Errors
/// [`AuditError`]: reading or this program failed. Files that are not a bundle give [`CheckReport::broken`] instead.
pub fn check(
    files: &dyn BundleFiles,
    trust: &TrustedParties,
    options: VerifyOptions,
    records: &mut dyn FnMut(u64),
    streams: &mut dyn FnMut(),
) -> Result<CheckReport, AuditError> {
    check_after(&[], files, trust, options, (records, streams))
}

/// Like [`check`], but streams may continue streams of the `earlier` bundles, which are ordered from the earliest. The
/// report does not cover the earlier bundles.
///
/// # Errors
/// As [`check`].
pub fn check_after(
    earlier: &[Box<dyn BundleFiles>],
    files: &dyn BundleFiles,
    trust: &TrustedParties,
    options: VerifyOptions,
    (records, streams): (&mut dyn FnMut(u64), &mut dyn FnMut()),
) -> Result<CheckReport, AuditError> {
    let snapshot = SnapshotFiles::new(files);
    let report = match verify_snapshot(&snapshot, trust, options, records) {
        Err(error) if !error.is_operational() => return Ok(CheckReport::broken(&error)),
        verified => verified?,
    };
    let earlier: Vec<_> = earlier.iter().map(|files| SnapshotFiles::new(&**files)).collect();
    let outcome = replay_after(&earlier, &snapshot, None, streams)?;
    Ok(CheckReport::both(report, outcome))
}
