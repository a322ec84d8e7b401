//! One pass over checkpoints and records: for each checkpoint, every lane is read up to its head. Memory does not grow
//! with the logs.

use super::check::checkpoint::{self, CheckpointOrderCheck};
use super::check::context::ContextDocumentSet;
use super::check::heartbeat::Nonces;
use super::check::{lane_consistency, ticket, withholding};
use super::code::Code;
use super::facts::BundleFacts;
use super::findings::VerifyFindings;
use super::lane::{LaneVerifier, SessionVerifyState};
use super::lane_state::LaneState;
use super::report::{EvidenceSummary, VerifyOptions};
use crate::format::bundle::{self, Bundle, BundleError};
use crate::format::checkpoint::CoseCheckpoint;
use crate::format::log::LogCounts;
use portcullis_core::hex::HexBytes;
use portcullis_core::wire::LaneHead;

/// Checks every record and every checkpoint. Returns whether any mark of simulation was found.
pub(super) fn records(
    bundle: &Bundle<'_>,
    facts: &BundleFacts,
    options: VerifyOptions,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
    progress: &mut dyn FnMut(u64),
) -> Result<bool, BundleError> {
    if let Some(signed) = &facts.ticket {
        findings.append(ticket::text_lane(&signed.content, facts.image.as_ref()));
        if let Some(image) = &facts.image {
            findings.append(ticket::tables(&signed.content, &image.digest));
        }
        if let Some(device) = &facts.device {
            findings.append(ticket::card(&signed.content, device));
        }
    }
    // Without an image, the row numbers in records cannot be checked.
    let rows = facts.image.as_ref().map_or((u16::MAX, u16::MAX), |image| {
        (image.tables.header().policy_rows.get(), image.tables.header().entropy_rows.get())
    });
    let (contexts, nonces) = (ContextDocumentSet::default(), Nonces::new(&facts.notes));
    let shared =
        SessionVerifyState { bundle, facts, findings, summary, contexts, nonces, checkpoints: 0, records: 0, progress };
    let lanes = (0..bundle.lanes()).map(|lane| LaneVerifier::new(bundle, lane, rows)).collect::<Result<_, _>>()?;
    let mut scan = BundleScan { options, shared, lanes, order: CheckpointOrderCheck::default(), simulated: false };

    let mut heads = bundle.heads()?;
    for serial in 0..bundle.checkpoints() {
        // A malformed checkpoint has heads, too. They are read, so that the next heads belong to the next checkpoint.
        let heads = heads.as_mut().map(|heads| heads.read()).transpose()?;
        match CoseCheckpoint::parse(&bundle.read(&bundle::checkpoint(serial))?) {
            Ok(signed) => scan.checkpoint(&signed, heads.as_deref())?,
            Err(error) => {
                let what = format!("checkpoint {serial}: {error}");
                scan.shared.findings.add(Code::CheckpointMalformed, what);
            }
        }
    }
    scan.finish()
}

struct BundleScan<'a, 'b> {
    options: VerifyOptions,
    shared: SessionVerifyState<'a, 'b>,
    lanes: Vec<LaneVerifier<'a>>,
    order: CheckpointOrderCheck,
    simulated: bool,
}

impl BundleScan<'_, '_> {
    /// Reads the records that a checkpoint covers, and checks it.
    fn checkpoint(&mut self, signed: &CoseCheckpoint, heads: Option<&[LaneHead]>) -> Result<(), BundleError> {
        let checkpoint = &signed.checkpoint;
        self.shared.findings.append(checkpoint::lanes(checkpoint, self.shared.bundle.lanes()));
        let sizes = match heads {
            Some(heads) => {
                self.shared.findings.append(checkpoint::heads(checkpoint, heads));
                heads.iter().map(|head| head.size.get()).collect()
            }
            // With one lane, the size of the checkpoint is the size of the lane.
            None => vec![checkpoint.wire.size.get()],
        };
        for (lane, size) in self.lanes.iter_mut().zip(&sizes) {
            lane.sign(*size, &mut self.shared)?;
        }
        let SessionVerifyState { facts, findings, .. } = &mut self.shared;
        let lanes = states(&self.lanes);
        // Missing records are reported at the end.
        if lanes.iter().zip(&sizes).all(|(lane, size)| lane.size() >= *size) {
            let heads: Vec<_> = lanes.iter().map(|lane| lane.head()).collect();
            findings.append(checkpoint::root(checkpoint, &heads));
            if !lanes.iter().any(|lane| lane.broken) {
                findings.append(checkpoint::state(checkpoint, &lanes));
            }
        }
        findings.append(self.order.check(checkpoint, sizes));
        self.simulated |= checkpoint::signature(signed, facts, self.options, findings);
        findings.append(checkpoint::tables(checkpoint, facts.image.as_ref()));
        findings.append(checkpoint::ticket(checkpoint, facts));
        self.shared.checkpoints = self.order.count();
        Ok(())
    }

    fn finish(mut self) -> Result<bool, BundleError> {
        for lane in &mut self.lanes {
            lane.read_to(u64::MAX, &mut self.shared)?;
            lane.finish(self.shared.findings)?;
        }
        let SessionVerifyState { bundle, facts, findings, summary, records, progress, .. } = self.shared;
        let lanes = states(&self.lanes);
        progress(records);
        findings.append(lane_consistency::check(&lanes));
        findings.append(withholding::unknown(facts, &lanes));
        summary.lanes = bundle.lanes();
        summary.records = records;
        summary.signed_records = self.order.end(&lanes, findings);
        summary.last_checkpoint = self.order.last().map(|last| HexBytes(last.digest()));
        let ticks = lanes.iter().filter_map(|lane| lane.ticks());
        summary.ticks = ticks.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)));
        let mut counts = LogCounts::default();
        lanes.iter().for_each(|lane| counts.add_lane(lane.log.counts()));
        summary.counts = counts;
        Ok(self.simulated)
    }
}

fn states<'a>(lanes: &'a [LaneVerifier<'_>]) -> Vec<&'a LaneState> {
    lanes.iter().map(|lane| &lane.state).collect()
}
