//! Checks receipts: each is for an admitted text of this session and lane, and has the salt of that text.

use crate::format::bundle::{Receipt, SpanLine};
use crate::format::log::LogEvent;
use crate::verify::code::Code;
use crate::verify::facts::BundleFacts;
use crate::verify::findings::{At, VerifyFindings};
use portcullis_core::wire::{Determination, Opcode};

/// Compares a receipt with its record, its lane and the disclosed text.
pub(crate) fn check(
    receipt: &Receipt,
    (at, lane): (At, u8),
    event: LogEvent,
    span: Option<&SpanLine>,
    facts: &BundleFacts,
) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    let released =
        matches!(event, LogEvent::Entry(Opcode::Gate, Determination::Admit) | LogEvent::Entry(Opcode::End, _));
    let what = || format!("a receipt was given for {at}, which admits nothing");
    findings.require(released, Code::ReceiptNotAdmitted, what);
    let serial = facts.ticket.as_ref().is_none_or(|ticket| ticket.content.serial == receipt.serial);
    let what = || format!("the receipt of {at} is of another session or lane");
    findings.require(serial && receipt.lane == lane, Code::ReceiptSession, what);
    let same = span.is_none_or(|span| (span.salt, span.kind) == (receipt.salt, receipt.kind));
    let what = || format!("the receipt of {at} has another salt, or is of another kind, than its text");
    findings.require(same, Code::ReceiptSalt, what);
    findings
}
