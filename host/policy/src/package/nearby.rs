//! Suggests packages if a folder is not a package.

use super::MANIFEST_FILE;
use crate::error::{PolicyProblem, PolicyProblemKind};
use crate::sources::COMPOSITION_FILE;
use portcullis_settings::nearest;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest number of packages in a message.
const LISTED: usize = 8;

/// Checks that `dir` contains a manifest. Errors: a problem that lists packages nearby.
pub(super) fn check(dir: &Path) -> Result<(), PolicyProblem> {
    if dir.join(MANIFEST_FILE).is_file() {
        return Ok(());
    }
    let problem = |what: &str| PolicyProblem::new(PolicyProblemKind::File, format!("`{}`: {what}", dir.display()));
    if dir.join(COMPOSITION_FILE).is_file() {
        let problem = problem("this is a composition, not a policy package");
        return Err(problem.help("the packages of its members lie below `members`"));
    }
    let problem = match fs::metadata(dir) {
        Err(error) => problem(&error.to_string()),
        Ok(found) if found.is_dir() => problem(&format!("no `{MANIFEST_FILE}`: this is not a policy package")),
        Ok(_) => problem("a policy package is a folder, and this is a file"),
    };
    Err(match suggestion(dir) {
        Some(help) => problem.help(help),
        None => problem.help("`portcullis policy new DIR` makes a package"),
    })
}

fn suggestion(dir: &Path) -> Option<String> {
    let inside = packages(dir);
    if !inside.is_empty() {
        let more = if inside.len() > LISTED { ", …" } else { "" };
        let names: Vec<_> = inside.iter().take(LISTED).map(|path| format!("`{}`", path.display())).collect();
        return Some(format!("it holds packages; did you mean {}{more}?", names.join(", ")));
    }
    // `dir` may be inside a package.
    if let Some(package) = dir.ancestors().skip(1).find(|above| above.join(MANIFEST_FILE).is_file()) {
        let shown = if package.as_os_str().is_empty() { Path::new(".") } else { package };
        return Some(format!("did you mean `{}`?", shown.display()));
    }
    let name = dir.file_name()?.to_str()?;
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folders = match parent {
        Some(parent) => vec![parent.to_path_buf()],
        None => vec![PathBuf::from("policies"), PathBuf::from(".")],
    };
    let known: Vec<PathBuf> = folders.iter().flat_map(|folder| packages(folder)).collect();
    let names = || known.iter().filter_map(|path| path.file_name()?.to_str());
    let near = nearest(name, names())?;
    let path = known.iter().find(|path| path.file_name().is_some_and(|name| name == near))?;
    Some(format!("did you mean `{}`?", path.display()))
}

/// The direct subfolders of `folder` that contain a manifest, in order of name.
fn packages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join(MANIFEST_FILE).is_file()).collect();
    found.sort();
    found
}
