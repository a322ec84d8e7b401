//! `policy new`: creates a package that compiles and passes its tests.

use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind};
use crate::package::{MANIFEST_FILE, PolicyPackage, TESTS_FILE};
use crate::schema::SCHEMA_FILE;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// The files of a new package called `name`. Errors: the name is not valid for a package.
pub fn template(name: &str) -> Result<BTreeMap<String, Vec<u8>>, PolicyPackageError> {
    let manifest = include_str!("template/policy.toml").replace("NAME", name);
    let mut files: BTreeMap<String, Vec<u8>> = [
        (MANIFEST_FILE, manifest),
        ("rules.cedar", include_str!("template/rules.cedar").into()),
        ("vocabulary/secret.txt", include_str!("template/secret.txt").into()),
        (TESTS_FILE, include_str!("template/tests.jsonl").into()),
        ("README.md", include_str!("template/README.md").replace("NAME", name)),
    ]
    .into_iter()
    .map(|(path, text): (&str, String)| (path.to_owned(), text.into_bytes()))
    .collect();
    let schema = PolicyPackage::from_files(files.clone())?.schema();
    files.insert(SCHEMA_FILE.to_owned(), schema.into_bytes());
    Ok(files)
}

/// Writes a new package into the folder `dir`, which must not exist; its last component is the package's name.
/// Errors: the folder exists or cannot be written, or the name is not valid for a package.
pub fn create(dir: &Path) -> Result<(), PolicyPackageError> {
    let problem = |path: &Path, what: &dyn std::fmt::Display| {
        PolicyProblem::new(PolicyProblemKind::File, format!("`{}`: {what}", path.display()))
    };
    let name = dir.file_name().and_then(|name| name.to_str()).ok_or_else(|| problem(dir, &"no name for a package"))?;
    let files = template(name)?;
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|error| problem(parent, &error))?;
    }
    fs::create_dir(dir).map_err(|error| problem(dir, &error))?;
    for (path, bytes) in files {
        let path = dir.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| problem(folder, &error))?;
        }
        let mut file = fs::File::create_new(&path).map_err(|error| problem(&path, &error))?;
        file.write_all(&bytes).map_err(|error| problem(&path, &error))?;
    }
    Ok(())
}
