//! Compositions: several packages in one image. A card holds one image, but a gateway may serve several policies.
//!
//! Each pair of a member and one of its domains becomes a value of the common enumeration `domain`. So a member's rows
//! only match descriptors of its own streams. Classes that the mapping recognises alike share a number. Mapping, host
//! stages, limits, thresholds, tests and rule ids are those of the member's package.
//!
//! A composition is a folder with `composition.toml`, every file of each member below `members/NAME/`, and each
//! member's profiles below `profiles/NAME/`. The composition's digest is the SHA-256 of a listing of all these files; a
//! package's listing has the same form.

mod manifest;
mod number;
mod plan;
mod report;

pub use crate::sources::COMPOSITION_FILE;
pub use manifest::CompositionIdentity;
pub use plan::{CompositionPlan, PlannedMember};
pub use report::{CompositionReport, ImageResourceUse, MemberReport};

use crate::compile::{CompiledPackage, Expanded, RowCapacity, link};
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind};
use crate::package::{PolicyPackage, load, without_prelude};
use crate::sources;
use manifest::CompositionManifest;
use portcullis_core::state::AgentProfile;
use portcullis_image::BankKind;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Folder of the members' packages in a composition.
const MEMBERS: &str = "members/";
/// Folder of the members' profiles in a composition.
const PROFILES: &str = "profiles/";

/// A composition, loaded and checked; it is not compiled yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageComposition {
    identity: CompositionIdentity,
    members: Vec<CompositionMember>,
}

/// A package in a composition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompositionMember {
    /// The member's name in the composition.
    pub name: String,
    /// The package by itself, as its author compiles and tests it.
    pub alone: PolicyPackage,
    /// The package with the composition's numbers, digest and listing.
    pub package: PolicyPackage,
    /// The profiles that may use the member, by name.
    pub profiles: BTreeMap<String, AgentProfile>,
}

impl PackageComposition {
    /// Loads the composition in the folder `dir`. Errors: a file cannot be read, is too large or is a link; a member or
    /// profile is missing, broken, or different from its entry in `composition.toml`; the members do not fit into one
    /// image; the composition's name differs from its folder's name.
    pub fn load(dir: &Path) -> Result<Self, PolicyPackageError> {
        let composition = Self::from_files(load::files(dir)?)?;
        let folder = dir.canonicalize().ok().and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
        let name = &composition.identity.name;
        match folder {
            Some(folder) if folder != *name => {
                let message = format!("composition `{name}` lies in the folder `{folder}`");
                Err(PolicyProblem::new(PolicyProblemKind::Manifest, message).help("give both the same name").into())
            }
            _ => Ok(composition),
        }
    }

    /// Builds a composition from its files; the keys are paths below its folder. Errors: as
    /// [`PackageComposition::load`], except for reading.
    pub fn from_files(files: BTreeMap<String, Vec<u8>>) -> Result<Self, PolicyPackageError> {
        load::check_paths(&files)?;
        let missing = || {
            PolicyProblem::new(PolicyProblemKind::File, format!("no `{COMPOSITION_FILE}`: this is not a composition"))
        };
        let text = sources::text(COMPOSITION_FILE, files.get(COMPOSITION_FILE).ok_or_else(missing)?)?;
        let manifest = CompositionManifest::parse(text)?;
        let named = |path: &str| path == COMPOSITION_FILE || manifest.names(path);
        if let Some(path) = files.keys().find(|path| !named(path)) {
            let what = format!("`{path}`: a file that `{COMPOSITION_FILE}` does not name");
            return Err(PolicyProblem::new(PolicyProblemKind::File, what)
                .help("make the composition with `portcullis policy compose`")
                .into());
        }
        let alone = manifest.members.iter().map(|member| {
            let folder = format!("{MEMBERS}{}/", member.name);
            let own = files.range(folder.clone()..).take_while(|(path, _)| path.starts_with(&folder));
            let own = own.filter_map(|(path, bytes)| Some((path.strip_prefix(&folder)?.to_owned(), bytes.clone())));
            let package = PolicyPackage::from_files(own.collect()).map_err(|error| error.below(&folder))?;
            Ok((member, package, member.read_profiles(&files)?))
        });
        let alone = alone.collect::<Result<Vec<_>, PolicyPackageError>>()?;
        let numbered: Vec<_> = alone.iter().map(|(member, package, _)| (member.name.as_str(), package)).collect();
        let memberships = number::memberships(&manifest, &numbered)?;
        let files = Arc::new(files);
        let members = alone.into_iter().zip(memberships).map(|((member, alone, profiles), membership)| {
            let package = alone.as_member(membership, Arc::clone(&files));
            CompositionMember { name: member.name.clone(), alone, package, profiles }
        });
        Ok(Self { members: members.collect(), identity: manifest.composition })
    }

    /// The composition from all files of its listing. Errors: as [`PackageComposition::from_files`]; the prelude is
    /// missing or has another version.
    pub fn from_listed(files: BTreeMap<String, Vec<u8>>) -> Result<Self, PolicyPackageError> {
        Self::from_files(without_prelude(files)?)
    }

    /// Name, version and description.
    #[must_use]
    pub const fn identity(&self) -> &CompositionIdentity {
        &self.identity
    }

    /// The members in the order of `composition.toml`; at least one.
    #[must_use]
    pub fn members(&self) -> &[CompositionMember] {
        &self.members
    }

    /// Compiles the composition for the default tables. Returns each member's part, in the order of the members; all
    /// parts have the same image. Errors: every problem of every member's rules, or the first member that does not fit.
    pub fn compile(&self) -> Result<Vec<CompiledPackage>, PolicyPackageError> {
        self.compile_for(RowCapacity::default())
    }

    /// Compiles the composition for tables of this size. Errors: as [`PackageComposition::compile`].
    pub fn compile_for(&self, capacity: RowCapacity) -> Result<Vec<CompiledPackage>, PolicyPackageError> {
        let (mut expanded, mut problems) = (Vec::new(), Vec::new());
        for member in &self.members {
            match Expanded::new(&member.package, capacity) {
                Ok(one) => expanded.push(one),
                Err(error) => {
                    let error = error.below(&format!("{MEMBERS}{}/", member.name));
                    problems.extend(error.problems().iter().cloned());
                }
            }
        }
        PolicyPackageError::unless_empty(problems)?;
        for bank in BankKind::ALL {
            let rows = self.members.iter().zip(&expanded).map(|(member, one)| (member.name.as_str(), one.rows(bank)));
            // The members share one row permit-all.
            let free = usize::from(capacity.of(bank)).saturating_sub(usize::from(bank == BankKind::Entropy));
            let what = format!("rows of the {} bank", bank.name());
            let help = "leave it out and compose it into an image for another card, or let rules need fewer rows: \
                 `portcullis policy check` shows each rule's";
            number::fits(&what, free, rows, help)?;
        }
        let first = self.members.first().map(|member| (&member.package, member.package.manifest().limits.max_depth));
        let Some((package, max_depth)) = first else { return Ok(Vec::new()) };
        link(max_depth, package.digest(), expanded)
    }
}
