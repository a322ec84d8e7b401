//! Reads a package's folder: regular files only, limited in number and size; links are refused.

use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind};
use crate::sources::PRELUDE_FILE;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// Largest number of files of a package.
pub const MAX_FILES: usize = 1024;
/// Largest size of a file, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 << 20;
/// Largest total size of all files, in bytes.
const MAX_TOTAL_BYTES: u64 = 64 << 20;
/// Greatest depth of folders.
const MAX_DEPTH: usize = 8;

fn problem(path: impl std::fmt::Display, what: impl std::fmt::Display) -> PolicyProblem {
    PolicyProblem::new(PolicyProblemKind::File, format!("`{path}`: {what}"))
}

/// Every file below `dir`, by path with `/`. Names that start with a dot are not part of a package.
pub(crate) fn files(dir: &Path) -> Result<BTreeMap<String, Vec<u8>>, PolicyPackageError> {
    let mut files = BTreeMap::new();
    let mut total = 0;
    walk(dir, "", 0, &mut |path, file| {
        if files.len() >= MAX_FILES {
            return Err(problem(dir.display(), format!("more than {MAX_FILES} files")));
        }
        let bytes = read(path, file)?;
        total += bytes.len() as u64;
        if total > MAX_TOTAL_BYTES {
            return Err(problem(dir.display(), format!("more than {MAX_TOTAL_BYTES} bytes in all")));
        }
        files.insert(path.to_owned(), bytes);
        Ok(())
    })?;
    Ok(files)
}

fn walk(
    folder: &Path,
    prefix: &str,
    depth: usize,
    each: &mut dyn FnMut(&str, &Path) -> Result<(), PolicyProblem>,
) -> Result<(), PolicyProblem> {
    if depth > MAX_DEPTH {
        return Err(problem(prefix, format!("more than {MAX_DEPTH} folders below one another")));
    }
    let entries = fs::read_dir(folder).map_err(|error| problem(folder.display(), error))?;
    for entry in entries {
        let entry = entry.map_err(|error| problem(folder.display(), error))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(problem(entry.path().display(), "the name is not UTF-8"));
        };
        if name.starts_with('.') {
            continue;
        }
        let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        // A link could lead out of the folder, and its target could change without a change in the package.
        let kind = entry.file_type().map_err(|error| problem(&path, error))?;
        if kind.is_dir() {
            walk(&entry.path(), &path, depth + 1, each)?;
        } else if kind.is_file() {
            each(&path, &entry.path())?;
        } else {
            return Err(problem(&path, "neither a file nor a folder (links are not followed)"));
        }
    }
    Ok(())
}

fn read(path: &str, file: &Path) -> Result<Vec<u8>, PolicyProblem> {
    let mut bytes = Vec::new();
    let opened = fs::File::open(file).map_err(|error| problem(path, error))?;
    opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| problem(path, error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(problem(path, format!("more than {MAX_FILE_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Checks the paths: each must fit into one line of a listing, and must not be the prelude's name.
pub(crate) fn check_paths(files: &BTreeMap<String, Vec<u8>>) -> Result<(), PolicyProblem> {
    for path in files.keys() {
        if path == PRELUDE_FILE {
            return Err(
                problem(path, "this name is the prelude's, which every package includes").help("rename the file")
            );
        }
        let plain = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(char::is_control);
        if !path.split('/').all(plain) || path.contains('\\') {
            return Err(problem(path.escape_debug(), "not a plain relative path"));
        }
    }
    Ok(())
}
