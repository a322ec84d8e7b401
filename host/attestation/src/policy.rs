//! Policies in words, read from the package in a bundle.

use crate::statement::{AttestedPackage, AttestedRule};
use portcullis_core::hex::HexBytes;
use portcullis_core::wire::RowKind;
use portcullis_evidence::bundle::{self, Bundle, BundleError};
use portcullis_policy::checks::PackageChecks;
use portcullis_policy::{ImagePolicy, ImagePolicySet};

/// The packages of the bundle's policy, if their listing has the digest `listed`. Empty if it has another one, or if
/// this program cannot compile the packages.
pub(crate) fn packages(bundle: &Bundle<'_>, listed: Option<HexBytes<32>>) -> Result<Vec<AttestedPackage>, BundleError> {
    let source = |(name, path): (&str, &str)| Ok((path.to_owned(), bundle.read(name)?));
    let sources = bundle.below(bundle::PACKAGE).map(source).collect::<Result<_, BundleError>>()?;
    let policies =
        ImagePolicySet::from_listed(sources).ok().filter(|policies| listed == Some(HexBytes(policies.digest())));
    Ok(policies.iter().flat_map(ImagePolicySet::iter).map(package).collect())
}

fn package(policy: &ImagePolicy) -> AttestedPackage {
    let identity = &policy.package.manifest().package;
    let rule = |rule: &portcullis_policy::CompiledRule| {
        let effect = match rule.kind {
            RowKind::ForbidReject => "reject",
            RowKind::ForbidDecompose => "decompose",
            RowKind::Permit => "permit",
            RowKind::Empty => "none",
        };
        AttestedRule { id: rule.id.clone(), effect, reason: rule.reason.clone() }
    };
    AttestedPackage {
        name: identity.name.clone(),
        version: identity.version.clone(),
        description: identity.description.clone(),
        checks_off: PackageChecks::off(policy.package.manifest()),
        rules: policy.compiled.rules.iter().map(rule).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_package_names_its_checks_that_are_off() {
        let of = |name: &str| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies").join(name);
            let policies = ImagePolicySet::load(&folder).unwrap();
            policies.iter().flat_map(|policy| package(policy).checks_off).collect::<Vec<_>>()
        };
        let off = of("pii");
        for check in ["contradiction and regression", "repetition", "presupposition", "citations are resolved"] {
            assert!(off.contains(&check), "{check}: {off:?}");
        }
        assert!(!of("biography").contains(&"contradiction and regression"));
    }
}
