//! Checks the approval of the policy: it names the table image, and a trusted approver signed it.

use crate::format::approval::Approval;
use crate::format::bundle::{self, Bundle, BundleError};
use crate::verify::code::Code;
use crate::verify::findings::Findings;
use crate::verify::report::Summary;
use crate::verify::trust::Trust;
use portcullis_core::hex::Hex;

/// Reads the approval, if the bundle has one.
pub(crate) fn read(
    bundle: &Bundle<'_>,
    trust: &Trust,
    findings: &mut Findings,
    summary: &mut Summary,
) -> Result<(), BundleError> {
    if !bundle.has(bundle::APPROVAL) {
        return Ok(());
    }
    let Some(approval) = Approval::parse(&bundle.read(bundle::APPROVAL)?) else {
        findings.add(Code::ApprovalMalformed, "`policy/approval.cose` is not an approval");
        return Ok(());
    };
    let same = summary.policy_digest == Some(Hex(approval.policy));
    findings.require(same, Code::ApprovalOfAnother, || "the approval is of another table image".to_owned());
    match trust.approver(&approval) {
        Some(approver) => summary.approvals.push(approver),
        None => {
            // In earlier releases, issuers could approve policies. The message explains how to permit that now.
            let issuer = trust.issuers.iter().find(|issuer| approval.signer([&issuer.key]).is_some());
            let hint = issuer.map_or_else(String::new, |issuer| {
                format!(
                    "; the key in `{}` did, which may issue tickets: copy it to `approvers/` if it may approve, too",
                    issuer.file
                )
            });
            let what = format!("no key of `approvers/` signed the approval of the policy{hint}");
            findings.add(Code::ApprovalUntrusted, what);
        }
    }
    Ok(())
}
