//! Genuine gate: a certified card signed every checkpoint, and the texts and receipts shown are those that it answered for.

use super::lane::At;
use super::walk::Facts;
use super::{Findings, Options, Property::Genuine, Summary};
use crate::bundle::{self, Bundle, BundleError, Receipt, Span};
use crate::certificate::{self, Class, DeviceCertificate, TrustStore};
use crate::checkpoint::Signed;
use crate::hex::{self, Hex};
use crate::record::Seen;
use crate::sim;
use portcullis_core::inert::is_formatting;
use portcullis_core::wire::{Determination, Opcode, Record, StageOutcome, flags, key_flags};

/// Follows the certificate to a root.
pub(super) fn certificate(
    bundle: &Bundle<'_>,
    roots: &TrustStore,
    at: Option<u64>,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<Option<DeviceCertificate>, BundleError> {
    let (leaf, chain) = (bundle.read(bundle::CERTIFICATE)?, bundle.read(bundle::CHAIN)?);
    match certificate::verify_chain(&leaf, &chain, roots, at) {
        Ok(device) => {
            if at.is_none() {
                findings.warn(
                    Genuine,
                    "certificate-time",
                    "no trusted time: the certificate's validity is not checked",
                );
            }
            summary.device = Some(device.subject.clone());
            summary.design_id = Some(Hex(device.design_id));
            summary.key_id = Some(Hex(certificate::key_id(&device.public_key)));
            Ok(Some(device))
        }
        Err(error) => {
            findings.contradict(Genuine, "certificate", error);
            Ok(None)
        }
    }
}

/// Marks of a simulated card, each of which is enough. Without a checkpoint that can be read, those of its certificate are looked for.
pub(crate) fn marks_of_simulation(
    device: Option<&DeviceCertificate>,
    signed: Option<&Signed>,
) -> Vec<(&'static str, &'static str)> {
    let wire = signed.map(|signed| &signed.checkpoint.wire);
    let designs = [wire.map(|wire| wire.design_id), device.map(|d| d.design_id)];
    let flag = wire.is_some_and(|wire| u16::from(wire.key_flags) & key_flags::SIM != 0);
    let key = device.is_some_and(|d| designs.iter().flatten().any(|design| sim::is_public(&d.public_key, design)));
    let root = device.is_some_and(|d| d.class == Class::Sim);
    let design = designs.iter().flatten().any(sim::is_design);
    [
        (flag, "sim-flag", "a checkpoint carries the flag of a simulated card"),
        (key, "sim-key", "the key is the public one of simulated cards"),
        (root, "sim-root", "the certificate is that of a simulated card"),
        (design, "sim-design", "the design id is that of a simulated card"),
    ]
    .into_iter()
    .filter_map(|(found, code, what)| found.then_some((code, what)))
    .collect()
}

/// Checks a checkpoint's signature and identity; whether it is marked as simulated.
pub(super) fn checkpoint(signed: &Signed, facts: &Facts, options: Options, findings: &mut Findings) -> bool {
    let wire = &signed.checkpoint.wire;
    let serial = wire.serial.get();
    let simulated = simulation(facts.device.as_ref(), Some(signed), options, findings);
    if let Some(device) = &facts.device {
        let what = format!("the signature of checkpoint {serial} is not the certified key's");
        findings.require(signed.verify(&device.public_key), Genuine, "checkpoint-signature", what);
        let what = format!("checkpoint {serial} names design {}", hex::encode(&wire.design_id));
        findings.require(wire.design_id == device.design_id, Genuine, "checkpoint-design", what);
        let flags = u16::from(wire.key_flags);
        let class = match device.class {
            Class::Sim => flags & key_flags::SIM != 0,
            Class::Class => flags & key_flags::CLASS_KEY != 0,
            Class::Device => flags & (key_flags::CLASS_KEY | key_flags::SIM) == 0,
        };
        let what =
            format!("checkpoint {serial} carries key flags {flags:#x}, which the certificate's class does not have");
        findings.require(class, Genuine, "checkpoint-class", what);
    }
    simulated
}

/// Reports the marks of a simulated card; whether there are any.
pub(super) fn simulation(
    device: Option<&DeviceCertificate>,
    signed: Option<&Signed>,
    options: Options,
    findings: &mut Findings,
) -> bool {
    let marks = marks_of_simulation(device, signed);
    for (code, what) in &marks {
        if options.allow_sim {
            findings.warn(Genuine, code, what);
        } else {
            findings.contradict(Genuine, code, what);
        }
    }
    !marks.is_empty()
}

/// A disclosed text against the record that it belongs to.
pub(super) fn span(span: &Span, at: At, record: &Record, findings: &mut Findings, summary: &mut Summary) {
    if span.commitment() == record.descriptor.commitment {
        summary.disclosed += 1;
    } else {
        let what = format!("the text of {at} is not the one that the card answered for");
        findings.contradict(Genuine, "span-commitment", what);
    }
}

/// A disclosed text against what the descriptor of its accepted entry says of it: where the held text ends and the span begins, the
/// commitment does not say. The length of a span over the policy's limit saturates, and stage 2 rejects it.
pub(super) fn shape(span: &Span, at: At, opcode: Opcode, record: &Record, findings: &mut Findings) {
    let entry = &record.descriptor;
    let held = u16::from(entry.flags) & flags::INERT_PREFIX != 0;
    let same = match opcode {
        Opcode::Gate => {
            let length = entry.length.get();
            let saturated = length == u16::MAX && entry.validation_outcome != u8::from(StageOutcome::Pass);
            held != span.held.is_empty() && (saturated || usize::from(length) == span.text.len())
        }
        // All of it is inert.
        _ => span.text.is_empty(),
    };
    let what = format!("the text of {at} is not cut into held text and span as its descriptor says");
    findings.require(same, Genuine, "span-shape", what);
}

/// END commits to what nobody judged: formatting, and nothing else.
pub(super) fn end(span: &Span, at: At, findings: &mut Findings) {
    let what = format!("{at} ends its stream with more than formatting: nothing judged those bytes");
    findings.require(is_formatting(&span.held), Genuine, "end-not-formatting", what);
}

/// A receipt against the record and the lane that it names and the text disclosed for it.
pub(super) fn receipt(
    receipt: &Receipt,
    (at, lane): (At, u8),
    seen: Seen,
    span: Option<&Span>,
    facts: &Facts,
    findings: &mut Findings,
) {
    let released = matches!(seen, Seen::Entry(Opcode::Gate, Determination::Admit) | Seen::Entry(Opcode::End, _));
    let what = format!("a receipt was given for {at}, which admits nothing");
    findings.require(released, Genuine, "receipt-not-admitted", what);
    let serial = facts.ticket.as_ref().is_none_or(|ticket| ticket.content.serial == receipt.serial);
    let what = format!("the receipt of {at} is of another session or lane");
    findings.require(serial && receipt.lane == lane, Genuine, "receipt-session", what);
    let salt = span.is_none_or(|span| span.salt == receipt.salt);
    findings.require(salt, Genuine, "receipt-salt", format!("the receipt of {at} has another salt than its text"));
}
