//! The Cedar sources of a package, and the prelude that every package includes.

use crate::error::{PolicyProblem, PolicyProblemKind, PolicySourceRange};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rules that every package includes.
pub const PRELUDE: &str = include_str!("../../../policies/prelude.cedar");
/// Name of the manifest's file in a composition.
pub const COMPOSITION_FILE: &str = "composition.toml";
/// The prelude's name in digests, messages and reports; a package must not have a file of this name.
pub const PRELUDE_FILE: &str = "prelude.cedar";

/// Cedar sources in order of path, the prelude first; a problem for each source that is not UTF-8.
pub(crate) fn cedar_sources(
    files: &BTreeMap<String, Vec<u8>>,
) -> impl Iterator<Item = Result<(&str, &str), PolicyProblem>> {
    let own = files.iter().filter(|(path, _)| path.ends_with(".cedar"));
    let own = own.map(|(path, bytes)| Ok((path.as_str(), text(path, bytes)?)));
    std::iter::once(Ok((PRELUDE_FILE, PRELUDE))).chain(own)
}

pub(crate) fn text<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, PolicyProblem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let good: String = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default()).into_owned();
        let offset = good.len();
        let place = PolicySourceRange { file: path.into(), source: Arc::from(good), offset, length: 0 };
        PolicyProblem::new(PolicyProblemKind::File, format!("`{path}`: not UTF-8 at byte {offset}"))
            .at(place, "the text is good up to here")
    })
}
