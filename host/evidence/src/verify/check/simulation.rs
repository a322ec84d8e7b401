//! The marks of a simulated card.

use crate::format::certificate::{CardKeyClass, DeviceCertificate};
use crate::format::checkpoint::CoseCheckpoint;
use crate::sim;
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use crate::verify::property::EvidenceStatus;
use crate::verify::report::VerifyOptions;
use portcullis_core::wire::key_flags;

/// The marks of a simulated card; any one of them is sufficient. If no checkpoint can be read, only the marks in the
/// certificate count.
pub(crate) fn marks(device: Option<&DeviceCertificate>, signed: Option<&CoseCheckpoint>) -> Vec<(Code, &'static str)> {
    let wire = signed.map(|signed| &signed.checkpoint.wire);
    let designs = [wire.map(|wire| wire.design_id), device.map(|d| d.design_id)];
    let flag = wire.is_some_and(|wire| u16::from(wire.key_flags) & key_flags::SIM != 0);
    let key = device.is_some_and(|d| designs.iter().flatten().any(|design| sim::is_public(&d.public_key, design)));
    let root = device.is_some_and(|d| d.class == CardKeyClass::Sim);
    let design = designs.iter().flatten().any(sim::is_design);
    [
        (flag, Code::SimFlag, "a checkpoint carries the flag of a simulated card"),
        (key, Code::SimKey, "the key is the public one of simulated cards"),
        (root, Code::SimRoot, "the certificate is that of a simulated card"),
        (design, Code::SimDesign, "the design id is that of a simulated card"),
    ]
    .into_iter()
    .filter_map(|(found, code, what)| found.then_some((code, what)))
    .collect()
}

/// Reports the marks of a simulated card. Returns whether there are any.
pub(crate) fn check(
    device: Option<&DeviceCertificate>,
    signed: Option<&CoseCheckpoint>,
    options: VerifyOptions,
    findings: &mut VerifyFindings,
) -> bool {
    let marks = marks(device, signed);
    let status = if options.allow_sim { EvidenceStatus::Warned } else { EvidenceStatus::Contradicted };
    for (code, what) in &marks {
        findings.add_as(status, *code, what);
    }
    !marks.is_empty()
}
