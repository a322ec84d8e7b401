//! The policies of a folder, compiled into one image: one package, or all members of a composition.

use crate::compile::CompiledPackage;
use crate::composition::PackageComposition;
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind, suggestion};
use crate::package::PolicyPackage;
use crate::sources::COMPOSITION_FILE;
use portcullis_core::manifest::HitPolarity;
use portcullis_core::state::AgentProfile;
use portcullis_image::{BankKind, ForbiddenClasses, TableImage, TextImage};
use portcullis_lane::LaneTableLimits;
use portcullis_mapping::lane_source;
use std::collections::BTreeMap;
use std::path::Path;

/// The policies of one image.
#[derive(Clone, Debug)]
pub struct ImagePolicySet {
    first: ImagePolicy,
    others: Vec<ImagePolicy>,
}

/// A compiled package, either by itself or as a member of a composition.
#[derive(Clone, Debug)]
pub struct ImagePolicy {
    /// The member's name; `None` if the package is not in a composition.
    pub name: Option<String>,
    pub package: PolicyPackage,
    /// The package's part of the image.
    pub compiled: CompiledPackage,
    /// The profiles that may use a member, by name.
    pub profiles: BTreeMap<String, AgentProfile>,
}

impl ImagePolicySet {
    /// Loads and compiles the package or the composition in the folder `dir`. Errors: as [`PolicyPackage::load`] and
    /// [`PolicyPackage::compile`], or [`PackageComposition::load`] and [`PackageComposition::compile`].
    pub fn load(dir: &Path) -> Result<Self, PolicyPackageError> {
        if is_composition(dir) {
            Self::composed(&PackageComposition::load(dir)?)
        } else {
            Self::alone(PolicyPackage::load(dir)?)
        }
    }

    /// The policies from all files of a listing, as a bundle stores them. Errors: as [`ImagePolicySet::load`], without
    /// reading errors.
    pub fn from_listed(files: BTreeMap<String, Vec<u8>>) -> Result<Self, PolicyPackageError> {
        if files.contains_key(COMPOSITION_FILE) {
            Self::composed(&PackageComposition::from_listed(files)?)
        } else {
            Self::alone(PolicyPackage::from_listed(files)?)
        }
    }

    /// The policies of a package that is not in a composition. Errors: as [`PolicyPackage::compile`].
    pub fn alone(package: PolicyPackage) -> Result<Self, PolicyPackageError> {
        let compiled = package.compile()?;
        let first = ImagePolicy { name: None, package, compiled, profiles: BTreeMap::new() };
        Ok(Self { first, others: Vec::new() })
    }

    /// The policies of a composition's members. Errors: as [`PackageComposition::compile`].
    pub fn composed(composition: &PackageComposition) -> Result<Self, PolicyPackageError> {
        let members = composition.members().iter().zip(composition.compile()?);
        let mut policies = members.map(|(member, compiled)| ImagePolicy {
            name: Some(member.name.clone()),
            package: member.package.clone(),
            compiled,
            profiles: member.profiles.clone(),
        });
        let first = policies
            .next()
            .ok_or_else(|| PolicyProblem::new(PolicyProblemKind::Manifest, "a composition without a member"))?;
        Ok(Self { first, others: policies.collect() })
    }

    /// This policy for cards with a text lane of the default size: its image gets a text part. Errors: this is a
    /// composition, whose members would have to share the lane; a class that the mapping cannot use.
    pub fn with_text_lane(mut self) -> Result<Self, PolicyPackageError> {
        self.first.compiled.image = self.text_lane()?.image;
        Ok(self)
    }

    /// The image for cards with a text lane, and the coverage of each class. Errors: as
    /// [`ImagePolicySet::with_text_lane`].
    pub fn text_lane(&self) -> Result<TextImage, PolicyPackageError> {
        if !self.others.is_empty() || self.first.name.is_some() {
            let why = "a composition cannot use the text lane";
            return Err(PolicyProblem::new(PolicyProblemKind::Manifest, why)
                .help("compile its packages one by one")
                .into());
        }
        let ImagePolicy { package, compiled, .. } = &self.first;
        let unfit = |error: &dyn std::fmt::Display| {
            PolicyProblem::new(PolicyProblemKind::Manifest, format!("text lane: {error}"))
        };
        let source = lane_source(package.manifest(), package.files()).map_err(|error| unfit(&error))?;
        let classes = package.manifest().classes.iter().enumerate();
        let judged = classes.filter(|(_, class)| class.polarity != HitPolarity::Any);
        let judged = judged.filter_map(|(index, _)| package.manifest().class_id(index)).collect();
        let image = compiled.image.with_text_lane(&source, &LaneTableLimits::default(), judged);
        Ok(image.map_err(|error| unfit(&error))?)
    }

    /// For each rule, the classes of the text lane that it forbids.
    #[must_use]
    pub fn forbidden(&self, text: &TextImage) -> BTreeMap<String, ForbiddenClasses> {
        let mut all = BTreeMap::<String, ForbiddenClasses>::new();
        for policy in self.iter() {
            for bank in [BankKind::Policy, BankKind::Entropy] {
                for (number, row) in policy.compiled.rows(bank) {
                    let (forbidden, rule) = (text.forbidden(row), policy.compiled.rule_of_row(bank, number));
                    let Some(rule) = rule.filter(|_| forbidden != ForbiddenClasses::default()) else { continue };
                    let all = all.entry(rule.id.clone()).or_default();
                    all.enforced = all.enforced.union(forbidden.enforced);
                    all.in_part = all.in_part.union(forbidden.in_part);
                    all.conditional = all.conditional.union(forbidden.conditional);
                }
            }
        }
        all
    }

    /// Every policy, in the order of the members.
    pub fn iter(&self) -> impl Iterator<Item = &ImagePolicy> {
        std::iter::once(&self.first).chain(&self.others)
    }

    #[must_use]
    pub const fn image(&self) -> &TableImage {
        &self.first.compiled.image
    }

    /// Digest of the package, or of the composition.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.image().header().package_digest
    }

    /// The policy of the member called `member`, or the only policy if `member` is `None`. Errors: a composition
    /// without a member's name, a single package with a member's name, or an unknown name.
    pub fn into_policy(self, member: Option<&str>) -> Result<ImagePolicy, PolicyPackageError> {
        let names: Vec<String> = self.iter().filter_map(|policy| policy.name.clone()).collect();
        let mut all = std::iter::once(self.first).chain(self.others);
        if let Some(policy) = all.find(|policy| policy.name.as_deref() == member) {
            return Ok(policy);
        }
        let known = || names.iter().map(String::as_str);
        Err(match member {
            Some(name) if names.is_empty() => PolicyProblem::new(
                PolicyProblemKind::Name,
                format!("member `{name}` of a package: only a composition has members"),
            )
            .help("leave the member out"),
            Some(name) => {
                PolicyProblem::new(PolicyProblemKind::Name, format!("the composition has no member `{name}`"))
                    .help(suggestion(name, known()))
            }
            None => {
                let names: Vec<_> = known().map(|name| format!("`{name}`")).collect();
                PolicyProblem::new(PolicyProblemKind::Name, "a composition, and no member is named")
                    .help(format!("name one with `--member`: {}", names.join(", ")))
            }
        }
        .into())
    }
}

/// Whether `dir` holds a composition.
#[must_use]
pub fn is_composition(dir: &Path) -> bool {
    dir.join(COMPOSITION_FILE).is_file()
}
