//! Checks the approval of the policy: it names the table image, and a trusted approver signed it.

use crate::format::approval::PolicyApproval;
use crate::format::bundle::{self, Bundle, BundleError};
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use crate::verify::report::EvidenceSummary;
use crate::verify::trust::TrustedParties;
use portcullis_core::hex::HexBytes;

/// Reads the approval, if the bundle has one.
pub(crate) fn read(
    bundle: &Bundle<'_>,
    trust: &TrustedParties,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
) -> Result<(), BundleError> {
    if !bundle.has(bundle::APPROVAL) {
        return Ok(());
    }
    let Some(approval) = PolicyApproval::parse(&bundle.read(bundle::APPROVAL)?) else {
        findings.add(Code::ApprovalMalformed, "`policy/approval.cose` is not an approval");
        return Ok(());
    };
    let same = summary.policy_digest == Some(HexBytes(approval.policy));
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
