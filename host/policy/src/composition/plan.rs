//! The input of `policy compose`: the members' names, with their packages and profiles in any folders.

use super::manifest::{CompositionManifest, MemberEntry, ProfileEntry, parse_profile};
use super::{CompositionIdentity, MEMBERS, PackageComposition};
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind, toml_problem};
use crate::package::PolicyPackage;
use crate::sources::COMPOSITION_FILE;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A composition to be made, as TOML: `version`, `description`, and for each `[[member]]` its `name`, the folder of its
/// `package`, and the files of its `profiles`. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompositionPlan {
    /// Version, `major.minor.patch`.
    pub version: String,
    #[serde(default)]
    pub description: String,
    /// The members, in the order in which they are numbered.
    #[serde(default, rename = "member")]
    pub members: Vec<PlannedMember>,
}

/// A member of a composition to be made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedMember {
    /// The member's name in the composition.
    pub name: String,
    /// Folder of the member's package.
    pub package: PathBuf,
    /// Files of the profiles that may use the member; if there are none, only the empty profile may use it.
    #[serde(default)]
    pub profiles: Vec<PathBuf>,
}

impl CompositionPlan {
    /// Reads a plan. Its paths are relative to the plan's folder. Errors: the file cannot be read, or is not a plan.
    pub fn load(path: &Path) -> Result<Self, PolicyPackageError> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| PolicyProblem::new(PolicyProblemKind::File, format!("`{shown}`: {error}")))?;
        let plan: Result<Self, _> = toml::from_str(&text);
        let mut plan = plan.map_err(|error| {
            let problem = toml_problem(&shown.to_string(), &text, &error);
            match problem.remedy() {
                Some(_) => problem,
                None => {
                    problem.help("a plan has `version`, and for each `[[member]]` `name`, `package` and `profiles`")
                }
            }
        })?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        for member in &mut plan.members {
            member.package = folder.join(&member.package);
            member.profiles.iter_mut().for_each(|profile| *profile = folder.join(&*profile));
        }
        Ok(plan)
    }

    /// The files of the composition called `name`. Equal packages and profiles give equal bytes. Errors: a package or
    /// profile cannot be read or is broken; the members do not fit into one image.
    pub fn compose(&self, name: &str) -> Result<BTreeMap<String, Vec<u8>>, PolicyPackageError> {
        let mut files = BTreeMap::new();
        let mut members = Vec::new();
        for member in &self.members {
            let package = PolicyPackage::load(&member.package)?;
            let own = package.files().iter();
            files.extend(own.map(|(path, bytes)| (format!("{MEMBERS}{}/{path}", member.name), bytes.clone())));
            let mut entry = MemberEntry { name: member.name.clone(), profiles: Vec::new() };
            for path in &member.profiles {
                let (profile, bytes) = read_profile(path, &package, &member.name)?;
                files.insert(profile.path(&member.name), bytes);
                entry.profiles.push(profile);
            }
            members.push(entry);
        }
        let (version, description) = (self.version.clone(), self.description.clone());
        let composition = CompositionIdentity { name: name.to_owned(), version, description };
        let manifest = CompositionManifest { composition, members };
        manifest.check()?;
        let text = toml::to_string(&manifest)
            .map_err(|error| PolicyProblem::new(PolicyProblemKind::Manifest, error.to_string()))?;
        files.insert(COMPOSITION_FILE.to_owned(), text.into_bytes());
        PackageComposition::from_files(files.clone())?.compile()?;
        Ok(files)
    }
}

/// Reads a profile. Returns its entry, which has the name of the file, and its bytes.
fn read_profile(path: &Path, package: &PolicyPackage, member: &str) -> Result<(ProfileEntry, Vec<u8>), PolicyProblem> {
    let shown = path.display().to_string();
    let problem =
        |what: &dyn std::fmt::Display| PolicyProblem::new(PolicyProblemKind::File, format!("`{shown}`: {what}"));
    let bytes = std::fs::read(path).map_err(|error| problem(&error))?;
    let name = path.file_stem().and_then(|name| name.to_str()).ok_or_else(|| problem(&"the name is not UTF-8"))?;
    let profile = parse_profile(&shown, &bytes)?;
    profile.context(package.manifest()).map_err(|error| {
        PolicyProblem::new(
            PolicyProblemKind::Manifest,
            format!("`{shown}` is not a profile for member `{member}`: {error}"),
        )
    })?;
    Ok((ProfileEntry { name: name.to_owned(), digest: profile.digest() }, bytes))
}
