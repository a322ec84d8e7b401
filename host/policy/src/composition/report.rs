//! Reports how much of an image a composition uses, and the numbers of its members.

use super::{CompositionMember, PackageComposition};
use crate::compile::{CompiledPackage, RowCapacity};
use crate::error::PolicyPackageError;
use crate::package::ENUMERATION_VALUES;
use portcullis_core::hex::HexBytes;
use portcullis_core::wire::CLASSES;
use portcullis_image::BankKind;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Used and available amount of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ImageResourceUse {
    pub used: usize,
    pub of: usize,
}

/// A composition, its digests, and its use of the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompositionReport {
    pub composition: String,
    /// SHA-256 of the listing of the composition's files.
    pub package_digest: HexBytes<32>,
    /// SHA-256 of the image.
    pub policy_digest: HexBytes<32>,
    /// Values of the enumeration `domain`.
    pub domains: ImageResourceUse,
    pub classes: ImageResourceUse,
    /// Rows of the policy bank.
    pub policy_rows: ImageResourceUse,
    /// Rows of the entropy bank, including the common row permit-all.
    pub entropy_rows: ImageResourceUse,
    /// The members, in the order of their numbers.
    pub members: Vec<MemberReport>,
}

/// A member, its numbers, and its use of the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberReport {
    /// The member's name in the composition.
    pub name: String,
    /// The policy's name in context documents.
    pub reference: String,
    /// Name and version of the member's package.
    pub package: String,
    pub domains: BTreeMap<String, u8>,
    pub classes: BTreeMap<String, u8>,
    /// Rows of the policy bank.
    pub policy_rows: usize,
    /// Rows of the entropy bank.
    pub entropy_rows: usize,
    /// Digests of the profiles that may use the member, by name.
    pub profiles: BTreeMap<String, HexBytes<32>>,
}

impl PackageComposition {
    /// Compiles the composition and reports its use of the image. Errors: as [`PackageComposition::compile`].
    pub fn report(&self, capacity: RowCapacity) -> Result<CompositionReport, PolicyPackageError> {
        let compiled = self.compile_for(capacity)?;
        let members: Vec<_> = self.members.iter().zip(&compiled).map(|(member, own)| member.report(own)).collect();
        let identity = &self.identity;
        let (mut package_digest, mut policy_digest) = ([0; 32], [0; 32]);
        let mut rows = [0; 2];
        let mut classes = 0;
        if let Some(one) = compiled.first() {
            (package_digest, policy_digest) = (one.image.header().package_digest, one.image.digest());
            rows = BankKind::ALL.map(|bank| one.image.rows(bank).len());
            classes = one.image.header().classes.get().count_ones() as usize;
        }
        let [policy_rows, entropy_rows] = rows;
        Ok(CompositionReport {
            composition: format!("{} {}", identity.name, identity.version),
            package_digest: HexBytes(package_digest),
            policy_digest: HexBytes(policy_digest),
            domains: ImageResourceUse {
                used: members.iter().map(|member| member.domains.len()).sum(),
                of: ENUMERATION_VALUES,
            },
            classes: ImageResourceUse { used: classes, of: CLASSES },
            policy_rows: ImageResourceUse { used: policy_rows, of: capacity.policy.into() },
            entropy_rows: ImageResourceUse { used: entropy_rows, of: capacity.entropy.into() },
            members,
        })
    }
}

impl CompositionMember {
    fn report(&self, compiled: &CompiledPackage) -> MemberReport {
        let manifest = self.package.manifest();
        let domains = (manifest.first_domain()..).zip(&manifest.enumerations.domain);
        let class = |(at, class): (usize, &portcullis_core::manifest::ClassDeclaration)| {
            Some((class.name.clone(), u8::from(manifest.class_id(at)?)))
        };
        let rows =
            |bank: BankKind| compiled.rules.iter().filter(|rule| rule.bank == bank).map(|rule| rule.rows.len()).sum();
        MemberReport {
            name: self.name.clone(),
            reference: manifest.reference(),
            package: format!("{} {}", manifest.package.name, manifest.package.version),
            domains: domains.map(|(number, name)| (name.clone(), number)).collect(),
            classes: manifest.classes.iter().enumerate().filter_map(class).collect(),
            policy_rows: rows(BankKind::Policy),
            entropy_rows: rows(BankKind::Entropy),
            profiles: self.profiles.iter().map(|(name, profile)| (name.clone(), profile.digest())).collect(),
        }
    }
}

impl fmt::Display for ImageResourceUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.used, self.of)
    }
}

impl fmt::Display for CompositionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.composition)?;
        writeln!(f, "domains: {}; classes: {}", self.domains, self.classes)?;
        writeln!(f, "policy bank: {} rows; entropy bank: {} rows", self.policy_rows, self.entropy_rows)?;
        for member in &self.members {
            writeln!(f, "member {}: {}", member.name, member.package)?;
            writeln!(
                f,
                "  rows: {} of the policy bank, {} of the entropy bank",
                member.policy_rows, member.entropy_rows
            )?;
            let numbered = |list: &BTreeMap<String, u8>| {
                let mut numbers: Vec<_> = list.iter().map(|(name, number)| (number, name)).collect();
                numbers.sort();
                numbers.iter().map(|(number, name)| format!("{number} {name}")).collect::<Vec<_>>().join(", ")
            };
            writeln!(f, "  domains: {}", numbered(&member.domains))?;
            if !member.classes.is_empty() {
                writeln!(f, "  classes: {}", numbered(&member.classes))?;
            }
            for (name, digest) in &member.profiles {
                writeln!(f, "  profile {name}: {digest}")?;
            }
        }
        writeln!(f, "package digest {}", self.package_digest)?;
        write!(f, "policy digest  {}", self.policy_digest)
    }
}
