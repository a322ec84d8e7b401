//! Streams of earlier bundles that later bundles continue.

use super::{ReplayReport, StreamSample, attempt, predecessors, replay_from};
use crate::AuditError;
use portcullis_evidence::bundle::{Bundle, SnapshotFiles};
use portcullis_gate::replay::EndStateIndex;

/// The end states of the earlier bundles of a chain. Each bundle is replayed once for them, however many bundles come
/// after it. First every bundle is named to [`EarlierBundles::want`]; then the bundles follow in their order.
#[derive(Default)]
pub struct EarlierBundles(EndStateIndex);

impl EarlierBundles {
    /// From now on, the states are kept from which streams of this bundle continue. Errors: reading failed.
    pub fn want(&mut self, files: &SnapshotFiles<'_>) -> Result<(), AuditError> {
        match Bundle::open(files).and_then(|bundle| predecessors(&bundle)) {
            Ok(named) => self.0.want(named.into_values()),
            Err(error) if error.is_operational() => return Err(error.into()),
            Err(_) => {}
        }
        Ok(())
    }

    /// Replays a whole bundle for its end states, without a report. `progress` is called after each stream. Errors:
    /// reading or this program failed.
    pub fn add(&mut self, files: &SnapshotFiles<'_>, progress: &mut dyn FnMut()) -> Result<(), AuditError> {
        let mut report = ReplayReport::default();
        match attempt(files, None, &mut report, &mut self.0, (progress, &mut |_| Ok(()))) {
            Err(AuditError::Bundle(error)) if !error.is_operational() => Ok(()),
            attempted => attempted,
        }
    }

    /// Replays a bundle after those that were added. Errors: as [`super::replay()`].
    pub fn replay(
        &mut self,
        files: &SnapshotFiles<'_>,
        drawn: Option<StreamSample<'_>>,
        progress: &mut dyn FnMut(),
    ) -> Result<ReplayReport, AuditError> {
        replay_from(&mut self.0, files, drawn, (progress, &mut |_| Ok(())))
    }
}
