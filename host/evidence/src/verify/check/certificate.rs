//! Checks the device certificate: its chain ends at a trusted root.

use crate::format::bundle::{self, Bundle, BundleError};
use crate::format::certificate::{self, CertificateError, CertificatePosition, DeviceCertificate, TrustStore};
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use crate::verify::report::EvidenceSummary;
use portcullis_core::hex::HexBytes;

/// Reads the certificate, which must be valid at the Unix second `at`. The card signed up to the second `last`: its key
/// must not be revoked then.
pub(crate) fn read(
    bundle: &Bundle<'_>,
    roots: &TrustStore,
    at: Option<u64>,
    last: Option<u64>,
    findings: &mut VerifyFindings,
    summary: &mut EvidenceSummary,
) -> Result<Option<DeviceCertificate>, BundleError> {
    let (leaf, chain) = (bundle.read(bundle::CERTIFICATE)?, bundle.read(bundle::CHAIN)?);
    let device = certificate::verify_chain(&leaf, &chain, roots, at).and_then(|device| {
        match roots.is_revoked_key(&certificate::key_id(&device.public_key), last) {
            true => Err(CertificateError::RevokedKey(CertificatePosition::Device)),
            false => Ok(device),
        }
    });
    match device {
        Ok(device) => {
            if at.is_none() {
                let what = "no trusted time: the certificate's validity is not checked";
                findings.add(Code::CertificateTime, what);
            }
            summary.device = Some(device.subject.clone());
            summary.design_id = Some(HexBytes(device.design_id));
            summary.key_id = Some(HexBytes(certificate::key_id(&device.public_key)));
            Ok(Some(device))
        }
        Err(error) => {
            findings.add(Code::Certificate, error);
            Ok(None)
        }
    }
}
