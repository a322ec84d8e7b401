//! A policy package: the files of a folder below `policies/`, and the prelude that every package includes.

pub(crate) mod load;
mod manifest;
mod nearby;
mod recognition;

use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind};
use crate::rules;
use crate::sources::{self, cedar_sources};
use crate::vocabulary::PolicyVocabulary;
use portcullis_core::hex;
use portcullis_core::manifest::{CompositionMembership, MAPPING_VERSION, PackageManifest};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use crate::sources::{PRELUDE, PRELUDE_FILE};
pub use load::{MAX_FILE_BYTES, MAX_FILES};
pub use manifest::MANIFEST_FILE;
pub(crate) use manifest::{ENUMERATION_VALUES, is_name};

/// Name of the tests' file in a package.
pub const TESTS_FILE: &str = "tests.jsonl";

/// A loaded package with a checked manifest.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/pii");
/// use portcullis_core::wire::RowKind;
/// use portcullis_policy::PolicyPackage;
///
/// let package = PolicyPackage::load(std::path::Path::new(folder))?;
/// assert_eq!(package.manifest().package.name, "pii");
/// let compiled = package.compile()?;
/// assert_eq!(compiled.image.header().package_digest, package.digest());
/// assert!(compiled.rule("PII-EMAIL").is_some_and(|rule| rule.kind == RowKind::ForbidDecompose));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyPackage {
    manifest: PackageManifest,
    vocabulary: PolicyVocabulary,
    files: BTreeMap<String, Vec<u8>>,
    /// The files of the composition, if the package is a member of one.
    composition: Option<Arc<BTreeMap<String, Vec<u8>>>>,
}

impl PolicyPackage {
    /// Loads the package in the folder `dir`. Errors: a file cannot be read, is too large or is a link; the manifest
    /// does not parse or is inconsistent; the package's name differs from its folder's name.
    pub fn load(dir: &Path) -> Result<Self, PolicyPackageError> {
        nearby::check(dir)?;
        let package = Self::from_files(load::files(dir)?)?;
        let folder = dir.canonicalize().ok().and_then(|dir| Some(dir.file_name()?.to_string_lossy().into_owned()));
        let name = &package.manifest.package.name;
        match folder {
            Some(folder) if folder != *name => {
                let message = format!("package `{name}` lies in the folder `{folder}`");
                Err(PolicyProblem::new(PolicyProblemKind::Manifest, message).help("give both the same name").into())
            }
            _ => Ok(package),
        }
    }

    /// Builds a package from its files; the keys are paths below its folder. Errors: as [`PolicyPackage::load`],
    /// without reading errors.
    pub fn from_files(files: BTreeMap<String, Vec<u8>>) -> Result<Self, PolicyPackageError> {
        load::check_paths(&files)?;
        let missing = || {
            PolicyProblem::new(PolicyProblemKind::File, format!("no `{MANIFEST_FILE}`: this is not a policy package"))
        };
        let text = sources::text(MANIFEST_FILE, files.get(MANIFEST_FILE).ok_or_else(missing)?)?;
        let (manifest, mut problems) = match manifest::parse(text) {
            Ok(manifest) => {
                let problems = manifest::check(&manifest, &files);
                (Some(manifest), problems)
            }
            Err(problem) => (None, vec![problem]),
        };
        if problems.is_empty()
            && let Some(manifest) = manifest
        {
            return Ok(Self { vocabulary: PolicyVocabulary::new(&manifest), manifest, files, composition: None });
        }
        // The checks of the mapping's declarations also run on a manifest that has other problems.
        problems.extend(manifest.iter().flat_map(|manifest| recognition::problems(manifest, &files)));
        problems.extend(rules::parse(&files).1);
        Err(PolicyPackageError::unless_empty(problems).err().unwrap_or_else(|| missing().into()))
    }

    /// The package as a member of the composition that consists of these files.
    pub(crate) fn as_member(
        &self,
        membership: CompositionMembership,
        composition: Arc<BTreeMap<String, Vec<u8>>>,
    ) -> Self {
        let manifest = PackageManifest { membership: Some(membership), ..self.manifest.clone() };
        let vocabulary = PolicyVocabulary::new(&manifest);
        Self { manifest, vocabulary, files: self.files.clone(), composition: Some(composition) }
    }

    /// Every problem that the mapping finds in the declarations.
    pub(crate) fn recognition_problems(&self) -> Vec<PolicyProblem> {
        recognition::problems(&self.manifest, &self.files)
    }

    #[must_use]
    pub const fn manifest(&self) -> &PackageManifest {
        &self.manifest
    }

    /// The declared names, by column.
    #[must_use]
    pub const fn vocabulary(&self) -> &PolicyVocabulary {
        &self.vocabulary
    }

    /// Every file except the prelude, by path.
    #[must_use]
    pub const fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    /// Cedar sources in order of their paths, the prelude first. Errors: a source that is not UTF-8.
    pub fn cedar_sources(&self) -> Result<Vec<(&str, &str)>, PolicyPackageError> {
        Ok(cedar_sources(&self.files).collect::<Result<_, _>>()?)
    }

    /// The generated Cedar schema.
    #[must_use]
    pub fn schema(&self) -> String {
        crate::schema::generate(&self.manifest)
    }

    /// The text whose SHA-256 is the package digest: a line with the mapping version, then `SHA-256 length path` for
    /// each file in bytewise order of the paths, including the prelude. `sha256sum` can check each line. For a member
    /// of a composition, it is the composition's listing.
    #[must_use]
    pub fn listing(&self) -> String {
        let mut text = format!("portcullis package 1, mapping {MAPPING_VERSION}\n");
        for (path, bytes) in self.listed() {
            text.push_str(&format!("{}  {}  {path}\n", hex::encode(&Sha256::digest(bytes)), bytes.len()));
        }
        text
    }

    /// The files of the listing: the prelude, and the files of the package. A member of a composition has the files of
    /// the composition instead of its own.
    #[must_use]
    pub fn listed(&self) -> BTreeMap<&str, &[u8]> {
        let files = self.composition.as_deref().unwrap_or(&self.files);
        let own = files.iter().map(|(path, bytes)| (path.as_str(), &**bytes));
        own.chain([(PRELUDE_FILE, PRELUDE.as_bytes())]).collect()
    }

    /// The package from all files of its listing. Errors: as [`PolicyPackage::from_files`]; the prelude is missing or
    /// has another version.
    pub fn from_listed(files: BTreeMap<String, Vec<u8>>) -> Result<Self, PolicyPackageError> {
        Self::from_files(without_prelude(files)?)
    }

    /// The package digest in the image's header; for a member, the digest of its composition.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.listing().as_bytes()).into()
    }
}

/// The files of a listing without the prelude. Errors: the prelude is missing or has another version.
pub(crate) fn without_prelude(
    mut files: BTreeMap<String, Vec<u8>>,
) -> Result<BTreeMap<String, Vec<u8>>, PolicyProblem> {
    if files.remove(PRELUDE_FILE).as_deref() == Some(PRELUDE.as_bytes()) {
        return Ok(files);
    }
    let what = format!("`{PRELUDE_FILE}`: not the prelude of this version");
    Err(PolicyProblem::new(PolicyProblemKind::File, what).help("use the version that compiled the policy"))
}
