//! `policy fmt`: applies Cedar's formatter to the package's sources.

use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind};
use crate::package::PolicyPackage;
use cedar_policy_formatter::{Config, policies_str_to_pretty};

/// A Cedar source and its formatted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormattedSource {
    /// Path below the package's folder.
    pub path: String,
    pub text: String,
    /// Whether formatting changes the file.
    pub changed: bool,
}

/// The formatted text of one Cedar source. Errors: the source does not parse.
pub fn format_source(path: &str, source: &str) -> Result<String, PolicyPackageError> {
    if source.trim().is_empty() {
        return Ok(String::new());
    }
    let config = Config { line_width: 100, indent_width: 4 };
    let text = policies_str_to_pretty(source, &config)
        .map_err(|error| PolicyProblem::new(PolicyProblemKind::Syntax, format!("`{path}`: {error}")))?;
    Ok(format!("{}\n", text.trim_end()))
}

/// Every Cedar source of the package, formatted, except the prelude. Errors: a source does not parse.
pub fn format(package: &PolicyPackage) -> Result<Vec<FormattedSource>, PolicyPackageError> {
    let sources = package.cedar_sources()?;
    let own = sources.into_iter().filter(|(path, _)| package.files().contains_key(*path));
    own.map(|(path, source)| {
        let text = format_source(path, source)?;
        Ok(FormattedSource { path: path.to_owned(), changed: text != source, text })
    })
    .collect()
}
