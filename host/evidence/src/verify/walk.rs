//! One pass over checkpoints and records: under each checkpoint every lane is read on to its head. Memory does not grow with the logs.

use super::complete::Order;
use super::gaps::Nonces;
use super::lane::{Lane, Shared};
use super::policy::Image;
use super::replayable::Contexts;
use super::{Findings, Options, Property, Summary};
use super::{agree, complete, gaps, genuine, policy, withheld};
use crate::bundle::{self, Bundle, BundleError};
use crate::certificate::DeviceCertificate;
use crate::checkpoint::Signed as Checkpoint;
use crate::hex::Hex;
use crate::note::Cosigned;
use crate::record::Counts;
use crate::ticket::{Signed, Ticket};
use crate::withholding::StreamAt;
use portcullis_core::wire::LaneHead;
use std::collections::{BTreeMap, BTreeSet};

/// What is known before the records are read.
pub(super) struct Facts {
    pub(super) ticket: Option<Signed<Ticket>>,
    pub(super) image: Option<Image>,
    pub(super) device: Option<DeviceCertificate>,
    pub(super) notes: BTreeMap<u64, Cosigned>,
    /// Streams whose texts were taken out.
    pub(super) withheld: BTreeSet<StreamAt>,
}

/// Checks every record and every checkpoint; whether any mark of simulation was found.
pub(super) fn records(
    bundle: &Bundle<'_>,
    facts: &Facts,
    options: Options,
    findings: &mut Findings,
    summary: &mut Summary,
    progress: &mut dyn FnMut(u64),
) -> Result<bool, BundleError> {
    if let Some(ticket) = &facts.ticket {
        policy::text_lane(&ticket.content, findings);
        if let Some(image) = &facts.image {
            policy::ticket(&ticket.content, &image.digest, findings);
        }
        if let Some(device) = &facts.device {
            gaps::key(&ticket.content, device, findings);
        }
    }
    // Without an image the rows that records name cannot be checked.
    let rows = facts
        .image
        .as_ref()
        .map_or((u16::MAX, u16::MAX), |image| (image.header.policy_rows.get(), image.header.entropy_rows.get()));
    let (contexts, nonces) = (Contexts::default(), Nonces::new(&facts.notes));
    let shared = Shared { bundle, facts, findings, summary, contexts, nonces, checkpoints: 0, records: 0, progress };
    let lanes = (0..bundle.lanes()).map(|lane| Lane::new(bundle, lane, rows)).collect::<Result<_, _>>()?;
    let mut walk = Walk { options, shared, lanes, order: Order::default(), simulated: false };

    let mut heads = bundle.heads()?;
    for serial in 0..bundle.checkpoints() {
        // There are heads for a checkpoint that is malformed, too.
        let heads = heads.as_mut().map(|heads| heads.read()).transpose()?;
        match Checkpoint::parse(&bundle.read(&bundle::checkpoint(serial))?) {
            Ok(signed) => walk.checkpoint(&signed, heads.as_deref())?,
            Err(error) => {
                let what = format!("checkpoint {serial}: {error}");
                walk.shared.findings.contradict(Property::Genuine, "checkpoint-malformed", what);
            }
        }
    }
    walk.finish()
}

struct Walk<'a, 'b> {
    options: Options,
    shared: Shared<'a, 'b>,
    lanes: Vec<Lane<'a>>,
    order: Order,
    simulated: bool,
}

impl Walk<'_, '_> {
    /// Reads the records that a checkpoint covers, and checks it.
    fn checkpoint(&mut self, signed: &Checkpoint, heads: Option<&[LaneHead]>) -> Result<(), BundleError> {
        let checkpoint = &signed.checkpoint;
        complete::lanes(checkpoint, self.shared.bundle.lanes(), self.shared.findings);
        let sizes = match heads {
            Some(heads) => {
                complete::heads(checkpoint, heads, self.shared.findings);
                heads.iter().map(|head| head.size.get()).collect()
            }
            // One lane: everything is its.
            None => vec![checkpoint.wire.size.get()],
        };
        for (lane, size) in self.lanes.iter_mut().zip(&sizes) {
            lane.sign(*size, &mut self.shared)?;
        }
        let Shared { facts, findings, .. } = &mut self.shared;
        // What a log does not hold is told at the end.
        if self.lanes.iter().zip(&sizes).all(|(lane, size)| lane.size() >= *size) {
            let heads: Vec<_> = self.lanes.iter().map(Lane::head).collect();
            complete::root(checkpoint, &heads, findings);
            if !self.lanes.iter().any(Lane::is_broken) {
                complete::state(checkpoint, &self.lanes, findings);
            }
        }
        self.order.check(checkpoint, sizes, findings);
        self.simulated |= genuine::checkpoint(signed, facts, self.options, findings);
        policy::checkpoint(checkpoint, facts.image.as_ref(), findings);
        gaps::checkpoint(checkpoint, facts.ticket.as_ref(), &facts.notes, findings);
        self.shared.checkpoints = self.order.count();
        Ok(())
    }

    fn finish(mut self) -> Result<bool, BundleError> {
        for lane in &mut self.lanes {
            lane.read_to(u64::MAX, &mut self.shared)?;
            lane.finish(&mut self.shared)?;
        }
        let Shared { bundle, facts, findings, summary, records, progress, .. } = self.shared;
        progress(records);
        agree::lanes(&self.lanes, findings);
        withheld::unknown(facts, &self.lanes, findings);
        summary.lanes = bundle.lanes();
        summary.records = records;
        summary.signed_records = complete::end(&self.order, &self.lanes, findings);
        summary.last_checkpoint = self.order.last().map(|last| Hex(last.digest()));
        let ticks = self.lanes.iter().filter_map(Lane::ticks);
        summary.ticks = ticks.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)));
        let mut counts = Counts::default();
        self.lanes.iter().for_each(|lane| counts.add_lane(lane.rules().counts()));
        summary.counts = counts;
        Ok(self.simulated)
    }
}
