//! Settings in TOML, and their errors with file, line and column.

use serde::de::DeserializeOwned;
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use unicode_width::UnicodeWidthStr;

/// Longest part of a line that an excerpt shows, in characters.
const EXCERPT_CHARS: usize = 120;
/// Characters that an excerpt of a long line shows before the error.
const BEFORE_CHARS: usize = 60;

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The file is not TOML of the expected form.
    #[error("{0}")]
    Toml(#[source] Box<TomlProblem>),
}

/// An error in a TOML file. Its text is one line; [`TomlProblem::render`] also shows the line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TomlProblem {
    /// The file, as the user named it.
    pub file: String,
    pub cause: String,
    pub remedy: Option<String>,
    place: Option<TomlPlace>,
}

/// Where an error is. Numbers count from 1, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TomlPlace {
    line: usize,
    column: usize,
    /// The line, or the part of a long line around the error.
    excerpt: String,
    /// Blanks before the caret, in columns of a terminal.
    indent: usize,
    /// Number of carets.
    carets: usize,
}

impl fmt::Display for TomlProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(TomlPlace { line, column, .. }) = &self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.cause)?;
        self.remedy.as_ref().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for TomlProblem {}

impl TomlProblem {
    fn new(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let (cause, remedy) = advice(error.message());
        let place = error.span().and_then(|span| TomlPlace::new(text, span));
        Self { file: file.to_owned(), cause, remedy, place }
    }

    /// The line and the column of the error, from 1.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        self.place.as_ref().map(|place| (place.line, place.column))
    }

    /// The lines of a report: the cause, the place, the line of the file with a caret under the error, and the remedy.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = self.cause.clone();
        match &self.place {
            Some(TomlPlace { line, column, excerpt, indent, carets }) => {
                let number = line.to_string();
                let margin = " ".repeat(number.len());
                let _ = write!(text, "\n{margin}--> {}:{line}:{column}\n{margin} |\n{number} | {excerpt}", self.file);
                let _ = write!(text, "\n{margin} | {}{}", " ".repeat(*indent), "^".repeat(*carets));
                if let Some(remedy) = &self.remedy {
                    let _ = write!(text, "\n{margin} |\n{margin} = help: {remedy}");
                }
            }
            None => {
                let _ = write!(text, "\n --> {}", self.file);
                if let Some(remedy) = &self.remedy {
                    let _ = write!(text, "\n  = help: {remedy}");
                }
            }
        }
        text
    }
}

impl TomlPlace {
    /// The place of a span of bytes. `None` if the span is outside the text.
    fn new(text: &str, span: Range<usize>) -> Option<Self> {
        let before = text.get(..span.start)?;
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let line_number = before.matches('\n').count() + 1;
        let line = text.get(begin..)?.lines().next().unwrap_or_default();
        // A mark of the byte order is not a character of the line.
        let (line, begin) = line.strip_prefix('\u{feff}').map_or((line, begin), |rest| (rest, begin + 3));
        let column = text.get(begin..span.start).map_or(0, |before| before.chars().count());
        let skipped = if line.chars().count() > EXCERPT_CHARS { column.saturating_sub(BEFORE_CHARS) } else { 0 };
        // A tab has no fixed width, so it becomes a blank.
        let shown = |c: char| if c == '\t' { ' ' } else { c };
        let excerpt: String = line.chars().skip(skipped).take(EXCERPT_CHARS).map(shown).collect();
        let before: String = excerpt.chars().take(column - skipped).collect();
        let marked = text.get(span).unwrap_or_default().lines().next().unwrap_or_default();
        let within: String = excerpt.chars().skip(column - skipped).take(marked.chars().count()).collect();
        Some(Self {
            line: line_number,
            column: column + 1,
            indent: before.width(),
            carets: within.width().max(1),
            excerpt: excerpt.trim_end().to_owned(),
        })
    }
}

/// Cause and remedy of an error, from the message of the parser.
#[must_use]
pub fn advice(message: &str) -> (String, Option<String>) {
    let one_line = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    for (beginning, what, names) in [("unknown field `", "key", "keys"), ("unknown variant `", "value", "values")] {
        let Some((name, rest)) = message.strip_prefix(beginning).and_then(|rest| rest.split_once('`')) else {
            continue;
        };
        let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        let list = || known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let remedy = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => format!("there are no {names} here; remove it"),
            None => format!("the {names} here are {}", list()),
        };
        return (format!("unknown {what} `{name}`"), Some(remedy));
    }
    if let Some(name) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return (format!("the key `{name}` is missing"), Some(format!("add `{name}`")));
    }
    if message.starts_with("duplicate key") {
        return (one_line, Some("give each key once; further entries of a list begin with `[[NAME]]`".to_owned()));
    }
    (one_line, None)
}

/// The name in `known` that is nearest to `name`, if it is near enough to be a misspelling.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = |candidate: &&str| strsim::damerau_levenshtein(name, candidate) <= 1 + candidate.chars().count() / 4;
    known.into_iter().filter(near).min_by_key(|candidate| strsim::damerau_levenshtein(name, candidate))
}

/// Parses settings. `file` names them in errors.
///
/// # Errors
/// [`SettingsError::Toml`].
pub fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, SettingsError> {
    toml::from_str(text).map_err(|error| SettingsError::Toml(Box::new(TomlProblem::new(file, text, &error))))
}

/// Reads settings from a file.
///
/// # Errors
/// [`SettingsError`].
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, SettingsError> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| SettingsError::Read { path: path.to_owned(), source })?;
    parse(&path.display().to_string(), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only parsed")]
    struct Example {
        listen: std::net::SocketAddr,
        #[serde(default)]
        mode: Mode,
        #[serde(default)]
        limits: Limits,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        #[default]
        Held,
        Driven,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    #[allow(dead_code, reason = "only parsed")]
    struct Limits {
        request_ms: u64,
        body_bytes: u64,
    }

    fn problem(text: &str) -> TomlProblem {
        match parse::<Example>("a.toml", text) {
            Err(SettingsError::Toml(problem)) => *problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unknown_key_has_its_line_a_caret_and_a_remedy() {
        let found = problem("listen = \"127.0.0.1:1\"\n\n[limits]\n  reqest_ms = 5\n");
        assert_eq!(
            found.render(),
            "unknown key `reqest_ms`\n --> a.toml:4:3\n  |\n4 |   reqest_ms = 5\n  |   ^^^^^^^^^\n  |\n  \
             = help: did you mean `request_ms`?"
        );
        assert_eq!(found.to_string(), "a.toml:4:3: unknown key `reqest_ms`; did you mean `request_ms`?");
        let far = problem("listen = \"127.0.0.1:1\"\n[limits]\ncolour = 5\n");
        assert_eq!(far.remedy.as_deref(), Some("the keys here are `request_ms`, `body_bytes`"));
    }

    #[test]
    fn every_kind_of_error_has_a_place_and_no_line_end_in_its_cause() {
        for (text, place, told) in [
            ("listen = 8080", (1, 10), "8080"),
            ("listen = \"x\"", (1, 10), "socket address"),
            ("listen = \"127.0.0.1:1\"\nmode = \"hold\"", (2, 8), "did you mean `held`?"),
            ("listen = \"127.0.0.1:1\nmode = 1", (1, 10), "string"),
            ("listen = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:2\"", (2, 1), "duplicate key"),
            ("\u{feff}lisen = 1", (1, 1), "unknown key `lisen`"),
            ("# Größe\nl\u{e4} = 1", (2, 2), ""),
            ("listen = \"127.0.0.1:1\"\n= 3", (2, 1), ""),
        ] {
            let found = problem(text);
            let shown = found.to_string();
            assert_eq!(found.position().map(|at| at.0), Some(place.0), "{text:?}: {shown}");
            assert!(shown.contains(told) && !shown.contains('\n'), "{text:?}: {shown}");
            let carets = found.render().lines().find(|line| line.contains('^')).map(str::len);
            assert!(carets.is_some(), "{}", found.render());
        }
        assert!(problem("").to_string().contains("the key `listen` is missing; add `listen`"));
    }

    #[test]
    fn a_long_line_is_cut_around_the_error() {
        let text = format!("listen = \"127.0.0.1:1\"\nlimits = {{ request_ms = {}1, colour = 3 }}\n", " ".repeat(500));
        let shown = problem(&text).render();
        assert!(shown.lines().all(|line| line.chars().count() < 140), "{shown}");
        assert!(shown.contains("colour = 3") && shown.contains("^^^^^^"), "{shown}");
    }
}
