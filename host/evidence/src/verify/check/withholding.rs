//! Checks withholdings: which texts were removed, who signed the removal, and whether a removed text is still present.

use crate::format::bundle::{self, Bundle, BundleError};
use crate::format::ticket::{SessionTicket, SignedTicket};
use crate::format::withholding::{StreamAt, Withholding};
use crate::verify::code::Code;
use crate::verify::facts::BundleFacts;
use crate::verify::findings::{At, VerifyFindings};
use crate::verify::lane_state::LaneState;
use crate::verify::report::{EvidenceSummary, WithholdingUse};
use crate::verify::trust::TrustedParties;
use portcullis_core::hex::HexBytes;
use std::collections::BTreeSet;

/// Reads the withholdings. Returns the streams that they name.
pub(crate) fn read(
    bundle: &Bundle<'_>,
    trust: &TrustedParties,
    ticket: Option<&SignedTicket<SessionTicket>>,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
) -> Result<BTreeSet<StreamAt>, BundleError> {
    let mut streams = BTreeSet::new();
    for (serial, (name, _)) in (0..).zip(bundle.below("withheld/")) {
        let Some(withholding) = Withholding::parse(&bundle.read(name)?).filter(|_| *name == bundle::withheld(serial))
        else {
            let what = format!("`{name}` is not a withholding, or its number is not the next one");
            findings.add(Code::WithholdingMalformed, what);
            continue;
        };
        let terms = &withholding.terms;
        let same = ticket.is_none_or(|ticket| ticket.digest == terms.ticket);
        findings.require(same, Code::WithholdingSession, || format!("`{name}` is about another session"));
        let signer = trust.withholder(&withholding);
        if signer.key.is_none() {
            findings.add(Code::WithholdingUntrusted, format_args!("no key that may withhold signed `{name}`"));
        }
        let count = terms.streams.len() as u64;
        let (reason, before) = (terms.reason.clone(), HexBytes(terms.before));
        summary.withholdings.push(WithholdingUse { signer, reason, streams: count, before });
        streams.extend(&terms.streams);
    }
    Ok(streams)
}

/// Reports a part of a withheld stream that is still in the bundle.
pub(crate) fn left(at: At, what: &str, findings: &mut VerifyFindings) {
    let what = format!("{what} of {at} is there, but its stream is said to be withheld");
    findings.add(Code::WithheldDisclosed, what);
}

/// Reports withheld streams that have no BEGIN record.
pub(crate) fn unknown(facts: &BundleFacts, lanes: &[&LaneState]) -> VerifyFindings {
    // A log that breaks a rule was not read to its end.
    if lanes.iter().any(|lane| lane.broken) {
        return VerifyFindings::default();
    }
    let met: u64 = lanes.iter().map(|lane| lane.withheld).sum();
    VerifyFindings::unless(met == facts.withheld.len() as u64, Code::WithholdingStream, || {
        "a withholding names a stream that did not begin".to_owned()
    })
}
