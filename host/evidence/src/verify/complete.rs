//! Complete: the records are those that the checkpoints' roots stand for, from OPEN to CLOSE, in order.

use super::lane::Lane;
use super::{Findings, Property::Complete};
use crate::bundle::{Bundle, BundleError};
use crate::checkpoint::{Checkpoint, root_of_heads};
use portcullis_core::wire::{LaneHead, Life};

/// The list of files.
pub(super) fn manifest(bundle: &Bundle<'_>, findings: &mut Findings) -> Result<(), BundleError> {
    match bundle.check_manifest() {
        Err(error) if error.is_operational() => Err(error),
        Err(error) => {
            findings.contradict(Complete, "manifest", error);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// The order of checkpoints.
#[derive(Debug, Default)]
pub(super) struct Order {
    last: Option<Checkpoint>,
    /// Records of each lane under it.
    sizes: Vec<u64>,
    next: u64,
}

impl Order {
    pub(super) const fn last(&self) -> Option<&Checkpoint> {
        self.last.as_ref()
    }

    /// Checkpoints so far.
    pub(super) const fn count(&self) -> u64 {
        self.next
    }

    /// Compares a checkpoint, with so many records of each lane under it, with the one before it.
    pub(super) fn check(&mut self, checkpoint: &Checkpoint, sizes: Vec<u64>, findings: &mut Findings) {
        let wire = &checkpoint.wire;
        let serial = self.next;
        let found = wire.serial.get();
        findings.require(
            found == serial,
            Complete,
            "checkpoint-serial",
            format!("checkpoint {serial} calls itself {found}"),
        );
        let first = checkpoint.state == Life::Opening;
        let follows = match &self.last {
            None => first && sizes.iter().all(|size| *size == 1),
            Some(last) => {
                let over = last.state == Life::Closing;
                let faulted = last.state == Life::Fault && checkpoint.state == Life::Run;
                !(over || first || faulted)
            }
        };
        let what =
            format!("checkpoint {serial} in state {} does not follow the one before it", checkpoint.state.name());
        findings.require(follows, Complete, "checkpoint-state", what);
        if let Some(last) = &self.last {
            let grown = self.sizes.iter().zip(&sizes).all(|(last, size)| last <= size);
            let forward = grown && last.wire.tick.get() <= wire.tick.get();
            let what = format!("checkpoint {serial} is older or smaller than the one before it");
            findings.require(forward, Complete, "checkpoint-order", what);
            let same = last.wire.design_id == wire.design_id
                && last.wire.key_flags == wire.key_flags
                && last.wire.boot_nonce == wire.boot_nonce
                && last.wire.epoch == wire.epoch
                && last.wire.ticket_digest == wire.ticket_digest;
            let what = format!("checkpoint {serial} is of another session than the one before it");
            findings.require(same, Complete, "checkpoint-session", what);
        }
        (self.last, self.sizes) = (Some(*checkpoint), sizes);
        self.next += 1;
    }
}

/// A checkpoint is of a card with as many lanes as there are logs.
pub(super) fn lanes(checkpoint: &Checkpoint, logs: u8, findings: &mut Findings) {
    let wire = &checkpoint.wire;
    let what = format!("checkpoint {} is over {} lanes, but there are {logs}", wire.serial.get(), wire.lanes);
    findings.require(wire.lanes == logs, Complete, "checkpoint-lanes", what);
}

/// The heads beside a checkpoint: they are what its root and its size are made of.
pub(super) fn heads(checkpoint: &Checkpoint, heads: &[LaneHead], findings: &mut Findings) {
    let wire = &checkpoint.wire;
    let size = heads.iter().try_fold(0u64, |sum, head| sum.checked_add(head.size.get()));
    let same = size == Some(wire.size.get()) && root_of_heads(heads) == wire.root;
    let what = format!("the heads beside checkpoint {} are not those that it signs", wire.serial.get());
    findings.require(same, Complete, "checkpoint-heads", what);
}

/// A checkpoint against the heads of the records that it covers.
pub(super) fn root(checkpoint: &Checkpoint, heads: &[LaneHead], findings: &mut Findings) {
    let wire = &checkpoint.wire;
    let size = heads.iter().map(|head| head.size.get()).sum::<u64>();
    let same = wire.size.get() == size && wire.root == root_of_heads(heads);
    let what = format!("the first {size} records are not those that checkpoint {} signs", wire.serial.get());
    findings.require(same, Complete, "checkpoint-root", what);
}

/// A checkpoint against what the logs say of the session at that point. Lane 0's head is taken in the clock in which the checkpoint is begun;
/// the other lanes go on meanwhile, and may be further.
pub(super) fn state(checkpoint: &Checkpoint, lanes: &[Lane<'_>], findings: &mut Findings) {
    let wire = &checkpoint.wire;
    let serial = wire.serial.get();
    let closed = |lane: &Lane<'_>| lane.rules().is_closed();
    let over = |lane: &Lane<'_>| closed(lane) || lane.rules().is_alarmed();
    let state = match checkpoint.state {
        Life::Closing => lanes.iter().all(closed),
        Life::Fault => lanes.iter().all(over) && !lanes.iter().all(closed),
        _ => !lanes.first().is_some_and(over),
    };
    let what = format!("checkpoint {serial} is in state {}, the log is not", checkpoint.state.name());
    findings.require(state, Complete, "checkpoint-state", what);
    let same = |lane: &Lane<'_>| {
        lane.rules().identity() == Some((wire.epoch.get(), wire.key_flags)) && wire.tick.get() >= lane.rules().tick()
    };
    let what = format!("checkpoint {serial} has another epoch, key or time than the records that it covers");
    findings.require(lanes.iter().all(same), Complete, "checkpoint-records", what);
}

/// How the session ended; the number of records that a checkpoint covers.
pub(super) fn end(order: &Order, lanes: &[Lane<'_>], findings: &mut Findings) -> u64 {
    if order.last().is_none_or(|last| last.state != Life::Closing) {
        findings.warn(
            Complete,
            "not-closed",
            "the session was not closed: what came after its last checkpoint is unknown",
        );
    }
    let unsigned: u64 = lanes.iter().map(|lane| lane.size().saturating_sub(lane.signed())).sum();
    if unsigned > 0 {
        let what = format!("{unsigned} records follow the last checkpoint and are not signed");
        findings.warn(Complete, "unsigned-tail", what);
    }
    for lane in lanes.iter().filter(|lane| lane.size() < lane.most()) {
        let (signed, records) = (lane.most(), lane.size());
        let what = format!("a checkpoint covers {signed} records of {}, but there are {records}", lane.name());
        findings.contradict(Complete, "records-missing", what);
    }
    lanes.iter().map(|lane| lane.signed().min(lane.size())).sum()
}
