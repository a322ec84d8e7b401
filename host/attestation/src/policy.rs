//! Policies in words, read from the package in a bundle.

use crate::statement::{Package, Rule};
use portcullis_core::hex::Hex;
use portcullis_core::wire::RowKind;
use portcullis_evidence::bundle::{self, Bundle, BundleError};
use portcullis_policy::checks::Checks;
use portcullis_policy::{Policies, Policy};

/// The packages of the bundle's policy, if their listing has the digest `listed`. Empty if it has another one, or if
/// this program cannot compile the packages.
pub(crate) fn packages(bundle: &Bundle<'_>, listed: Option<Hex<32>>) -> Result<Vec<Package>, BundleError> {
    let source = |(name, path): (&str, &str)| Ok((path.to_owned(), bundle.read(name)?));
    let sources = bundle.below(bundle::PACKAGE).map(source).collect::<Result<_, BundleError>>()?;
    let policies = Policies::from_listed(sources).ok().filter(|policies| listed == Some(Hex(policies.digest())));
    Ok(policies.iter().flat_map(Policies::iter).map(package).collect())
}

fn package(policy: &Policy) -> Package {
    let identity = &policy.package.manifest().package;
    let rule = |rule: &portcullis_policy::Rule| {
        let effect = match rule.kind {
            RowKind::ForbidReject => "reject",
            RowKind::ForbidDecompose => "decompose",
            RowKind::Permit => "permit",
            RowKind::Empty => "none",
        };
        Rule { id: rule.id.clone(), effect, reason: rule.reason.clone() }
    };
    Package {
        name: identity.name.clone(),
        version: identity.version.clone(),
        description: identity.description.clone(),
        checks_off: Checks::off(policy.package.manifest()),
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
            let policies = Policies::load(&folder).unwrap();
            policies.iter().flat_map(|policy| package(policy).checks_off).collect::<Vec<_>>()
        };
        let off = of("pii");
        for check in ["contradiction and regression", "repetition", "presupposition", "citations are resolved"] {
            assert!(off.contains(&check), "{check}: {off:?}");
        }
        assert!(!of("biography").contains(&"contradiction and regression"));
    }
}
