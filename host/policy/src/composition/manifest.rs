//! `composition.toml`: the members of a composition, and the profiles of each.

use super::{MEMBERS, PROFILES};
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind, toml_problem};
use crate::package::is_name;
use crate::sources::{self, COMPOSITION_FILE};
use portcullis_core::hex::HexBytes;
use portcullis_core::state::AgentProfile;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// `composition.toml`. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CompositionManifest {
    pub(super) composition: CompositionIdentity,
    #[serde(default, rename = "member")]
    pub(super) members: Vec<MemberEntry>,
}

/// Name and version of a composition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompositionIdentity {
    /// Name; equal to the folder's name.
    pub name: String,
    /// Version, `major.minor.patch`.
    pub version: String,
    #[serde(default)]
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberEntry {
    pub(super) name: String,
    #[serde(default, rename = "profile", skip_serializing_if = "Vec::is_empty")]
    pub(super) profiles: Vec<ProfileEntry>,
}

/// A profile that may use a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileEntry {
    pub(super) name: String,
    /// [`AgentProfile::digest`] of the profile; context documents and tickets contain this digest.
    pub(super) digest: HexBytes<32>,
}

fn problem(what: impl std::fmt::Display) -> PolicyProblem {
    PolicyProblem::new(PolicyProblemKind::Manifest, format!("{COMPOSITION_FILE}: {what}"))
}

/// Checks that names are valid in paths and references, and unique.
fn check_names<'n>(what: &str, names: impl Iterator<Item = &'n str>) -> Result<(), PolicyProblem> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !is_name(name) {
            return Err(problem(format_args!("{what} `{}`: not a name", name.escape_debug()))
                .help("a name is 1 to 64 ASCII letters, digits, `_`, `-` and `.`, not starting with a dot"));
        }
        if !seen.insert(name) {
            return Err(problem(format_args!("{what} `{name}` is declared twice")).help("give each a name of its own"));
        }
    }
    Ok(())
}

impl CompositionManifest {
    pub(super) fn parse(text: &str) -> Result<Self, PolicyProblem> {
        let manifest: Self = toml::from_str(text).map_err(|error| toml_problem(COMPOSITION_FILE, text, &error))?;
        manifest.check()?;
        Ok(manifest)
    }

    pub(super) fn check(&self) -> Result<(), PolicyProblem> {
        let CompositionIdentity { name, version, .. } = &self.composition;
        check_names("composition", std::iter::once(name.as_str()))?;
        let numbers: Vec<_> = version.split('.').collect();
        let plain = |part: &&str| part.parse::<u32>().is_ok_and(|number| number.to_string() == **part);
        if numbers.len() != 3 || !numbers.iter().all(plain) {
            return Err(problem(format_args!("version `{}` is not `major.minor.patch`", version.escape_debug())));
        }
        if self.members.is_empty() {
            return Err(problem("no member").help("a composition has at least one `[[member]]`"));
        }
        check_names("member", self.members.iter().map(|member| member.name.as_str()))?;
        for member in &self.members {
            let what = format!("profile of member `{}`", member.name);
            check_names(&what, member.profiles.iter().map(|profile| profile.name.as_str()))?;
        }
        Ok(())
    }

    /// Whether `path` is a file of a member's package or profiles.
    pub(super) fn names(&self, path: &str) -> bool {
        let of_member = |member: &MemberEntry| {
            let own = path.strip_prefix(MEMBERS).and_then(|path| path.strip_prefix(&*member.name));
            own.is_some_and(|rest| rest.starts_with('/'))
                || member.profiles.iter().any(|profile| path == profile.path(&member.name))
        };
        self.members.iter().any(of_member)
    }
}

impl ProfileEntry {
    pub(super) fn path(&self, member: &str) -> String {
        format!("{PROFILES}{member}/{}.toml", self.name)
    }
}

impl MemberEntry {
    pub(super) fn read_profiles(
        &self,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<BTreeMap<String, AgentProfile>, PolicyPackageError> {
        let read = |entry: &ProfileEntry| {
            let path = entry.path(&self.name);
            let missing = || {
                PolicyProblem::new(PolicyProblemKind::File, format!("no `{path}`, which `{COMPOSITION_FILE}` names"))
            };
            let profile = parse_profile(&path, files.get(&path).ok_or_else(missing)?)?;
            if profile.digest() != entry.digest {
                let what = format!("`{path}` has the digest {}, not the one that is pinned", profile.digest());
                return Err(problem(what).help("compose again to pin another profile"));
            }
            Ok((entry.name.clone(), profile))
        };
        Ok(self.profiles.iter().map(read).collect::<Result<_, PolicyProblem>>()?)
    }

    /// Digests of the profiles that may use the member. If no profile is listed, this is the digest of the empty
    /// profile.
    pub(super) fn digests(&self) -> BTreeSet<HexBytes<32>> {
        match self.profiles.as_slice() {
            [] => BTreeSet::from([AgentProfile::default().digest()]),
            profiles => profiles.iter().map(|profile| profile.digest).collect(),
        }
    }
}

pub(super) fn parse_profile(path: &str, bytes: &[u8]) -> Result<AgentProfile, PolicyProblem> {
    let text = sources::text(path, bytes)?;
    toml::from_str(text).map_err(|error| toml_problem(path, text, &error))
}
