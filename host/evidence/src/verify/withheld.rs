//! Withheld: which texts were taken out of the bundle, who says so, and that nothing of them is left.

use super::lane::{At, Lane};
use super::walk::Facts;
use super::{Findings, Property::Replayable, Summary, Trust, WithholdingUse};
use crate::bundle::{self, Bundle, BundleError};
use crate::hex::Hex;
use crate::ticket::{Signed, Ticket};
use crate::withholding::{StreamAt, Withholding};
use std::collections::BTreeSet;

/// Reads the withholdings; gives the streams that they name.
pub(super) fn read(
    bundle: &Bundle<'_>,
    trust: &Trust,
    ticket: Option<&Signed<Ticket>>,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<BTreeSet<StreamAt>, BundleError> {
    let mut streams = BTreeSet::new();
    for (serial, (name, _)) in (0..).zip(bundle.below("withheld/")) {
        let what = format!("`{name}` is not a withholding, or its number is not the next one");
        let Some(withholding) = Withholding::parse(&bundle.read(name)?).filter(|_| *name == bundle::withheld(serial))
        else {
            findings.contradict(Replayable, "withholding-malformed", what);
            continue;
        };
        let terms = &withholding.terms;
        let same = ticket.is_none_or(|ticket| ticket.digest == terms.ticket);
        findings.require(same, Replayable, "withholding-session", format!("`{name}` is about another session"));
        let signer = trust.withholder(&withholding);
        if signer.key.is_none() {
            let what = format!("no key that may withhold signed `{name}`");
            findings.warn(Replayable, "withholding-untrusted", what);
        }
        let count = terms.streams.len() as u64;
        let (reason, before) = (terms.reason.clone(), Hex(terms.before));
        summary.withholdings.push(WithholdingUse { signer, reason, streams: count, before });
        streams.extend(&terms.streams);
    }
    Ok(streams)
}

/// A stream whose texts were taken out.
pub(super) fn stream(at: At, findings: &mut Findings) {
    findings.warn(Replayable, "withheld", format!("the texts of the stream at {at} were taken out of the bundle"));
}

/// Something of such a stream that is there all the same.
pub(super) fn left(at: At, what: &str, findings: &mut Findings) {
    let what = format!("{what} of {at} is there, but its stream is said to be withheld");
    findings.contradict(Replayable, "withheld-disclosed", what);
}

/// Streams that no BEGIN record began.
pub(super) fn unknown(facts: &Facts, lanes: &[Lane<'_>], findings: &mut Findings) {
    // A log that breaks a rule was not read to its end.
    if lanes.iter().any(Lane::is_broken) {
        return;
    }
    let met: u64 = lanes.iter().map(Lane::withheld).sum();
    let what = "a withholding names a stream that did not begin";
    findings.require(met == facts.withheld.len() as u64, Replayable, "withholding-stream", what);
}
