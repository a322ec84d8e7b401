//! The result of a replay.

use portcullis_evidence::bundle::BundleError;
use portcullis_evidence::verify::{EvidenceStatus, ReplayCode, StatusReason};
use portcullis_report::escape::printable;
use std::fmt;

/// What a replay found. It is about the streams of one bundle.
#[derive(Debug, Default, serde::Serialize)]
pub struct ReplayReport {
    /// The worst status of the reasons.
    pub status: EvidenceStatus,
    /// Number of streams in the bundle.
    pub streams: u64,
    /// Number of streams whose replay gave exactly their records.
    pub replayed: u64,
    /// Number of records that equal those of the replay.
    pub records: u64,
    /// Seed of the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// Why parts do not replay: for each code, the first finding and the number of findings.
    pub reasons: Vec<StatusReason<ReplayCode>>,
}

impl ReplayReport {
    /// The report about files that are not a bundle, for the reason in `error`.
    #[must_use]
    pub fn broken(error: &BundleError) -> Self {
        let mut outcome = Self::default();
        outcome.add(ReplayCode::ReplayBundle, error);
        outcome
    }

    pub(super) fn add(&mut self, code: ReplayCode, detail: impl fmt::Display) {
        let status = code.status();
        self.status = self.status.max(status);
        match self.reasons.iter_mut().find(|reason| reason.code == code) {
            Some(reason) => reason.count += 1,
            None => self.reasons.push(StatusReason { code, status, detail: detail.to_string(), count: 1 }),
        }
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} streams replay, {} records byte by byte", self.replayed, self.streams, self.records)?;
        if let Some(seed) = &self.seed {
            write!(f, "\nthe sample was drawn with the seed `{}`", printable(seed))?;
        }
        for StatusReason { code, status, detail, count } in &self.reasons {
            let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
            write!(f, "\n- {status}: {code}: {}{times}", printable(detail))?;
            write!(f, "\n  to do: {}", code.remedy())?;
        }
        Ok(())
    }
}
