//! Checks the files of the bundle: those in the manifest, and those whose names are digests.

use crate::format::bundle::{self, Bundle, BundleError};
use crate::verify::code::Code;
use crate::verify::findings::VerifyFindings;
use portcullis_core::hex;

pub(crate) fn manifest(bundle: &Bundle<'_>) -> Result<VerifyFindings, BundleError> {
    let mut findings = VerifyFindings::default();
    match bundle.check_manifest() {
        Err(error) if error.is_operational() => return Err(error),
        Err(error) => findings.add(Code::Manifest, error),
        Ok(()) => {}
    }
    Ok(findings)
}

/// Checks that the files of contexts and anchor stores have the digests in their names, and that the package is
/// present. The replay needs these files.
pub(crate) fn digests(bundle: &Bundle<'_>) -> Result<VerifyFindings, BundleError> {
    let mut findings = VerifyFindings::default();
    for (folder, suffix) in [("contexts/", ".json"), ("anchors/", "")] {
        for (name, rest) in bundle.below(folder) {
            let digest = rest.strip_suffix(suffix).and_then(hex::decode::<32>);
            let same = digest == Some(bundle.digest(name)?);
            findings.require(same, Code::FileDigest, || format!("`{name}` does not have the digest in its name"));
        }
    }
    if bundle.below(bundle::PACKAGE).next().is_none() {
        findings.add(Code::PackageWithheld, "the policy package is not in the bundle");
    }
    Ok(findings)
}
