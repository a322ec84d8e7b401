//! Checks the checkpoints: the certified card signed each of them, they cover the records in the bundle, and they are
//! in order, under this policy and this ticket.

use crate::format::certificate::CardKeyClass;
use crate::format::checkpoint::{CoseCheckpoint, ParsedCheckpoint, root_of_heads};
use crate::verify::check::image::BundleImage;
use crate::verify::check::simulation;
use crate::verify::code::Code;
use crate::verify::facts::BundleFacts;
use crate::verify::findings::VerifyFindings;
use crate::verify::lane_state::LaneState;
use crate::verify::report::VerifyOptions;
use portcullis_core::hex;
use portcullis_core::wire::{LaneHead, Life, key_flags};

/// Checks the order of checkpoints.
#[derive(Debug, Default)]
pub(crate) struct CheckpointOrderCheck {
    last: Option<ParsedCheckpoint>,
    /// Number of records of each lane under the last checkpoint.
    sizes: Vec<u64>,
    next: u64,
}

impl CheckpointOrderCheck {
    pub(crate) const fn last(&self) -> Option<&ParsedCheckpoint> {
        self.last.as_ref()
    }

    pub(crate) const fn count(&self) -> u64 {
        self.next
    }

    /// Compares a checkpoint, and the number of records of each lane under it, with the previous checkpoint.
    pub(crate) fn check(&mut self, checkpoint: &ParsedCheckpoint, sizes: Vec<u64>) -> VerifyFindings {
        let mut findings = VerifyFindings::default();
        let wire = &checkpoint.wire;
        let serial = self.next;
        let found = wire.serial.get();
        findings
            .require(found == serial, Code::CheckpointSerial, || format!("checkpoint {serial} calls itself {found}"));
        let first = checkpoint.state == Life::Opening;
        let follows = match &self.last {
            None => first && sizes.iter().all(|size| *size == 1),
            Some(last) => {
                let over = last.state == Life::Closing;
                let faulted = last.state == Life::Fault && checkpoint.state == Life::Run;
                !(over || first || faulted)
            }
        };
        findings.require(follows, Code::CheckpointState, || {
            format!("checkpoint {serial} in state {} does not follow the one before it", checkpoint.state.name())
        });
        if let Some(last) = &self.last {
            let grown = self.sizes.iter().zip(&sizes).all(|(last, size)| last <= size);
            let forward = grown && last.wire.tick.get() <= wire.tick.get();
            findings.require(forward, Code::CheckpointOrder, || {
                format!("checkpoint {serial} is older or smaller than the one before it")
            });
            let same = last.wire.design_id == wire.design_id
                && last.wire.key_flags == wire.key_flags
                && last.wire.boot_nonce == wire.boot_nonce
                && last.wire.epoch == wire.epoch
                && last.wire.ticket_digest == wire.ticket_digest;
            findings.require(same, Code::CheckpointSession, || {
                format!("checkpoint {serial} is of another session than the one before it")
            });
        }
        (self.last, self.sizes) = (Some(*checkpoint), sizes);
        self.next += 1;
        findings
    }

    /// Checks how the session ended. Returns the number of records that the last checkpoint covers.
    pub(crate) fn end(&self, lanes: &[&LaneState], findings: &mut VerifyFindings) -> u64 {
        if self.last().is_none_or(|last| last.state != Life::Closing) {
            let what = "the session was not closed: what came after its last checkpoint is unknown";
            findings.add(Code::NotClosed, what);
        }
        let unsigned: u64 = lanes.iter().map(|lane| lane.size().saturating_sub(lane.signed)).sum();
        if unsigned > 0 {
            let what = format!("{unsigned} records follow the last checkpoint and are not signed");
            findings.add(Code::UnsignedTail, what);
        }
        for lane in lanes.iter().filter(|lane| lane.size() < lane.most) {
            let (signed, records) = (lane.most, lane.size());
            let what = format!("a checkpoint covers {signed} records of {}, but there are {records}", lane.name());
            findings.add(Code::RecordsMissing, what);
        }
        lanes.iter().map(|lane| lane.signed.min(lane.size())).sum()
    }
}

/// Checks that a checkpoint has as many lanes as there are logs.
pub(crate) fn lanes(checkpoint: &ParsedCheckpoint, logs: u8) -> VerifyFindings {
    let wire = &checkpoint.wire;
    VerifyFindings::unless(wire.lanes == logs, Code::CheckpointLanes, || {
        format!("checkpoint {} is over {} lanes, but there are {logs}", wire.serial.get(), wire.lanes)
    })
}

/// Checks that a checkpoint's root and size follow from its heads.
pub(crate) fn heads(checkpoint: &ParsedCheckpoint, heads: &[LaneHead]) -> VerifyFindings {
    let wire = &checkpoint.wire;
    let size = heads.iter().try_fold(0u64, |sum, head| sum.checked_add(head.size.get()));
    let same = size == Some(wire.size.get()) && root_of_heads(heads) == wire.root;
    VerifyFindings::unless(same, Code::CheckpointHeads, || {
        format!("the heads beside checkpoint {} are not those that it signs", wire.serial.get())
    })
}

/// Compares a checkpoint with the heads computed from the records.
pub(crate) fn root(checkpoint: &ParsedCheckpoint, heads: &[LaneHead]) -> VerifyFindings {
    let wire = &checkpoint.wire;
    let size = heads.iter().map(|head| head.size.get()).sum::<u64>();
    let same = wire.size.get() == size && wire.root == root_of_heads(heads);
    VerifyFindings::unless(same, Code::CheckpointRoot, || {
        format!("the first {size} records are not those that checkpoint {} signs", wire.serial.get())
    })
}

/// Compares a checkpoint with the state of the logs at that point. The card samples the head of lane 0 when it begins
/// the checkpoint, and the other heads later. So the session may already have ended in another lane.
pub(crate) fn state(checkpoint: &ParsedCheckpoint, lanes: &[&LaneState]) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    let wire = &checkpoint.wire;
    let serial = wire.serial.get();
    let closed = |lane: &&LaneState| lane.log.is_closed();
    let over = |lane: &&LaneState| closed(lane) || lane.log.is_alarmed();
    let state = match checkpoint.state {
        Life::Closing => lanes.iter().all(closed),
        Life::Fault => lanes.iter().all(over) && !lanes.iter().all(closed),
        _ => !lanes.first().is_some_and(over),
    };
    findings.require(state, Code::CheckpointState, || {
        format!("checkpoint {serial} is in state {}, the log is not", checkpoint.state.name())
    });
    let same = |lane: &&LaneState| {
        lane.log.identity() == Some((wire.epoch.get(), wire.key_flags)) && wire.tick.get() >= lane.log.tick()
    };
    findings.require(lanes.iter().all(same), Code::CheckpointRecords, || {
        format!("checkpoint {serial} has another epoch, key or time than the records that it covers")
    });
    findings
}

/// Checks a checkpoint's signature and identity. Returns whether it is marked as simulated.
pub(crate) fn signature(
    signed: &CoseCheckpoint,
    facts: &BundleFacts,
    options: VerifyOptions,
    findings: &mut VerifyFindings,
) -> bool {
    let wire = &signed.checkpoint.wire;
    let serial = wire.serial.get();
    let simulated = simulation::check(facts.device.as_ref(), Some(signed), options, findings);
    if let Some(device) = &facts.device {
        findings.require(signed.verify(&device.public_key), Code::CheckpointSignature, || {
            format!("the signature of checkpoint {serial} is not the certified key's")
        });
        findings.require(wire.design_id == device.design_id, Code::CheckpointDesign, || {
            format!("checkpoint {serial} names design {}", hex::encode(&wire.design_id))
        });
        let flags = u16::from(wire.key_flags);
        let class = match device.class {
            CardKeyClass::Sim => flags & key_flags::SIM != 0,
            CardKeyClass::Class => flags & key_flags::CLASS_KEY != 0,
            CardKeyClass::Device => flags & (key_flags::CLASS_KEY | key_flags::SIM) == 0,
        };
        findings.require(class, Code::CheckpointClass, || {
            format!("checkpoint {serial} carries key flags {flags:#x}, which the certificate's class does not have")
        });
    }
    simulated
}

pub(crate) fn tables(checkpoint: &ParsedCheckpoint, image: Option<&BundleImage>) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    let wire = &checkpoint.wire;
    let serial = wire.serial.get();
    if let Some(image) = image {
        findings.require(wire.policy_digest == image.digest, Code::CheckpointPolicy, || {
            format!("checkpoint {serial} is under policy digest {}", hex::encode(&wire.policy_digest))
        });
    }
    let fault = wire.fault.get();
    findings.require(fault == 0, Code::Alarm, || format!("checkpoint {serial} names fault {fault:#06x}"));
    findings
}

/// Compares a checkpoint with the ticket and with the witness's note.
pub(crate) fn ticket(checkpoint: &ParsedCheckpoint, facts: &BundleFacts) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    let serial = checkpoint.wire.serial.get();
    let same = facts.ticket.as_ref().is_none_or(|ticket| ticket.digest == checkpoint.wire.ticket_digest);
    findings
        .require(same, Code::CheckpointTicket, || format!("checkpoint {serial} is of a session under another ticket"));
    let seen = facts.notes.get(&serial).is_none_or(|note| note.checkpoint == checkpoint.digest());
    findings.require(seen, Code::WitnessCheckpoint, || format!("the witness saw another checkpoint {serial}"));
    findings
}
