//! Complete: the records are those that the checkpoints' roots stand for, from OPEN to CLOSE, in order.

use super::{Findings, Property::Complete};
use crate::bundle::{Bundle, BundleError};
use crate::checkpoint::{Checkpoint, root_of_lane};
use crate::record::Rules;
use crate::tree::Frontier;
use portcullis_core::wire::Life;

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

    /// Compares a checkpoint with the one before it.
    pub(super) fn check(&mut self, checkpoint: &Checkpoint, findings: &mut Findings) {
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
            None => first && wire.size.get() == 1,
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
            let forward = last.wire.size.get() <= wire.size.get() && last.wire.tick.get() <= wire.tick.get();
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
        self.last = Some(*checkpoint);
        self.next += 1;
    }
}

/// A checkpoint against the records that it covers.
pub(super) fn root(checkpoint: &Checkpoint, tree: &Frontier, findings: &mut Findings) {
    let wire = &checkpoint.wire;
    let same = wire.size.get() == tree.size() && wire.root == root_of_lane(tree.size(), tree.root());
    let what = format!("the first {} records are not those that checkpoint {} signs", tree.size(), wire.serial.get());
    findings.require(same, Complete, "checkpoint-root", what);
}

/// A checkpoint against what the log says of the session at that point.
pub(super) fn state(checkpoint: &Checkpoint, rules: &Rules, findings: &mut Findings) {
    let wire = &checkpoint.wire;
    let serial = wire.serial.get();
    let state = match checkpoint.state {
        Life::Closing => rules.is_closed(),
        Life::Fault => rules.is_alarmed() && !rules.is_closed(),
        _ => !rules.is_closed() && !rules.is_alarmed(),
    };
    let what = format!("checkpoint {serial} is in state {}, the log is not", checkpoint.state.name());
    findings.require(state, Complete, "checkpoint-state", what);
    let same = rules.identity() == Some((wire.epoch.get(), wire.key_flags)) && wire.tick.get() >= rules.tick();
    let what = format!("checkpoint {serial} has another epoch, key or time than the records that it covers");
    findings.require(same, Complete, "checkpoint-records", what);
}

/// How the session ended; the number of records that a checkpoint covers.
pub(super) fn end(order: &Order, records: u64, findings: &mut Findings) -> u64 {
    let signed = order.last().map_or(0, |last| last.wire.size.get());
    if order.last().is_none_or(|last| last.state != Life::Closing) {
        findings.warn(
            Complete,
            "not-closed",
            "the session was not closed: what came after its last checkpoint is unknown",
        );
    }
    if records > signed {
        let what = format!("{} records follow the last checkpoint and are not signed", records - signed);
        findings.warn(Complete, "unsigned-tail", what);
    }
    if records < signed {
        let what = format!("the last checkpoint covers {signed} records, but there are {records}");
        findings.contradict(Complete, "records-missing", what);
    }
    signed.min(records)
}
