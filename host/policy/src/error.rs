//! Problems of a policy package: cause, place, rule and advice.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceCode};
use portcullis_settings::nearest;
use std::fmt;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyProblemKind {
    /// A file cannot be read, or is not allowed in a package.
    File,
    /// `policy.toml` is invalid.
    Manifest,
    /// A regular expression of `policy.toml` does not compile, or is unbounded.
    Pattern,
    /// The stored schema is not the generated one.
    Schema,
    Syntax,
    Validation,
    /// An annotation is missing, unknown, repeated or has a wrong value.
    Annotation,
    /// A scope names a principal or a resource.
    Scope,
    /// A construct that comparator rows cannot express.
    Construct,
    /// A class, an enumeration value or a slot that the policy does not declare.
    Name,
    Capacity,
    /// The package has no permit.
    NoPermit,
    /// A line of a file of tests or contexts is malformed.
    Line,
    /// Warning: a rule that can never match.
    NeverMatches,
    /// Warning: a rule never decides, because other rules decide wherever it matches.
    Covered,
    /// Warning: a class makes an admit more likely even where the text denies it.
    Polarity,
}

impl PolicyProblemKind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 16] = [
        Self::File,
        Self::Manifest,
        Self::Pattern,
        Self::Schema,
        Self::Syntax,
        Self::Validation,
        Self::Annotation,
        Self::Scope,
        Self::Construct,
        Self::Name,
        Self::Capacity,
        Self::NoPermit,
        Self::Line,
        Self::NeverMatches,
        Self::Covered,
        Self::Polarity,
    ];

    /// The code that reports print.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::File => "policy::file",
            Self::Manifest => "policy::manifest",
            Self::Pattern => "policy::pattern",
            Self::Schema => "policy::schema",
            Self::Syntax => "policy::syntax",
            Self::Validation => "policy::validation",
            Self::Annotation => "policy::annotation",
            Self::Scope => "policy::scope",
            Self::Construct => "policy::construct",
            Self::Name => "policy::name",
            Self::Capacity => "policy::capacity",
            Self::NoPermit => "policy::no-permit",
            Self::Line => "policy::line",
            Self::NeverMatches => "policy::never-matches",
            Self::Covered => "policy::covered",
            Self::Polarity => "policy::polarity",
        }
    }

    const fn is_warning(self) -> bool {
        matches!(self, Self::NeverMatches | Self::Covered | Self::Polarity)
    }
}

/// A part of a source file.
#[derive(Clone, PartialEq, Eq)]
pub struct PolicySourceRange {
    /// Path below the package's folder.
    pub file: String,
    pub source: Arc<str>,
    /// First byte.
    pub offset: usize,
    pub length: usize,
}

impl PolicySourceRange {
    #[must_use]
    pub fn line(&self) -> usize {
        self.before().matches('\n').count() + 1
    }

    /// Column in characters, from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.before().rsplit('\n').next().unwrap_or_default().chars().count() + 1
    }

    fn before(&self) -> &str {
        self.source.get(..self.offset).unwrap_or_default()
    }
}

impl fmt::Debug for PolicySourceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for PolicySourceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line(), self.column())
    }
}

/// One problem: an error, or a warning of `policy check`.
#[derive(Clone, Debug)]
pub struct PolicyProblem(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: PolicyProblemKind,
    message: String,
    rule: Option<String>,
    label: String,
    help: Option<String>,
    place: Option<(PolicySourceRange, NamedSource<Arc<str>>)>,
}

impl PolicyProblem {
    /// A problem without a place.
    pub fn new(kind: PolicyProblemKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Inner { kind, message, rule: None, label: String::new(), help: None, place: None }))
    }

    /// Sets the id of the rule with the problem.
    #[must_use]
    pub fn in_rule(mut self, id: impl Into<String>) -> Self {
        self.0.rule = Some(id.into());
        self
    }

    /// Sets the place, and the label printed under it.
    #[must_use]
    pub fn at(mut self, place: PolicySourceRange, label: impl Into<String>) -> Self {
        let source = NamedSource::new(&place.file, Arc::clone(&place.source));
        self.0.label = label.into();
        self.0.place = Some((place, source));
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Prefixes the problem's path with the folder of the package.
    pub(crate) fn below(mut self, folder: &str) -> Self {
        match self.0.place.take() {
            Some((place, _)) => {
                let (file, label) = (format!("{folder}{}", place.file), std::mem::take(&mut self.0.label));
                self.at(PolicySourceRange { file, ..place }, label)
            }
            None => {
                self.0.message.insert_str(0, &format!("`{folder}`: "));
                self
            }
        }
    }

    #[must_use]
    pub const fn kind(&self) -> PolicyProblemKind {
        self.0.kind
    }

    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.0.rule.as_deref()
    }

    #[must_use]
    pub fn place(&self) -> Option<&PolicySourceRange> {
        self.0.place.as_ref().map(|(place, _)| place)
    }

    #[must_use]
    pub fn remedy(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The problem as an annotated source excerpt, without colour.
    #[must_use]
    pub fn render(&self) -> String {
        render(self)
    }

    /// The problem for a terminal: wrapped to its width, and in colour if `colour`.
    #[must_use]
    pub fn render_in(&self, colour: bool, columns: Option<usize>) -> String {
        render_in(self, colour, columns)
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.rule {
            Some(rule) => write!(f, "rule `{rule}`: {}", self.0.message),
            None => f.write_str(&self.0.message),
        }
    }
}

impl std::error::Error for PolicyProblem {}

impl Diagnostic for PolicyProblem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.0.kind.code()))
    }

    fn severity(&self) -> Option<Severity> {
        Some(if self.0.kind.is_warning() { Severity::Warning } else { Severity::Error })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.place.as_ref().map(|(_, source)| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (place, _) = self.0.place.as_ref()?;
        let label = (!self.0.label.is_empty()).then(|| self.0.label.clone());
        Some(Box::new(std::iter::once(LabeledSpan::new(label, place.offset, place.length))))
    }
}

/// Every problem that kept a package from being loaded or compiled; at least one.
#[derive(Clone, Debug)]
pub struct PolicyPackageError {
    problems: Vec<PolicyProblem>,
}

impl PolicyPackageError {
    /// The problems, in the order of their places.
    #[must_use]
    pub fn problems(&self) -> &[PolicyProblem] {
        &self.problems
    }

    /// The problems as annotated source excerpts, without colour.
    #[must_use]
    pub fn render(&self) -> String {
        self.render_in(false, None)
    }

    /// The problems for a terminal: wrapped to its width, and in colour if `colour`.
    #[must_use]
    pub fn render_in(&self, colour: bool, columns: Option<usize>) -> String {
        let problems = self.problems.iter().map(|problem| problem.render_in(colour, columns));
        problems.collect::<Vec<_>>().join("\n")
    }

    /// Prefixes the problems' paths with the folder of the package.
    pub(crate) fn below(self, folder: &str) -> Self {
        Self { problems: self.problems.into_iter().map(|problem| problem.below(folder)).collect() }
    }

    /// An error with these problems, or `Ok` without any.
    pub(crate) fn unless_empty(problems: Vec<PolicyProblem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }
}

impl From<PolicyProblem> for PolicyPackageError {
    fn from(problem: PolicyProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for PolicyPackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => write!(f, "{problem}"),
            problems => write!(f, "{} problems in the policy package", problems.len()),
        }
    }
}

impl std::error::Error for PolicyPackageError {}

impl Diagnostic for PolicyPackageError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.single().and_then(PolicyProblem::code)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.single().and_then(Diagnostic::help)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.single().and_then(Diagnostic::source_code)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.single().and_then(Diagnostic::labels)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self.single() {
            Some(_) => None,
            None => Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic))),
        }
    }
}

impl PolicyPackageError {
    fn single(&self) -> Option<&PolicyProblem> {
        match self.problems.as_slice() {
            [problem] => Some(problem),
            _ => None,
        }
    }
}

/// Smallest and largest width of a diagnostic in columns. A narrower diagnostic would have no room for text.
const WIDTHS: (usize, usize) = (40, 100);

/// A diagnostic as text: Unicode drawing, no colour, 100 columns.
#[must_use]
pub fn render(diagnostic: &dyn Diagnostic) -> String {
    render_in(diagnostic, false, None)
}

fn render_in(diagnostic: &dyn Diagnostic, colour: bool, columns: Option<usize>) -> String {
    let mut text = String::new();
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let width = columns.map_or(WIDTHS.1, |columns| columns.clamp(WIDTHS.0, WIDTHS.1));
    // Links, which the graphical form would add, are switched off.
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(width);
    match handler.render_report(&mut text, diagnostic) {
        Ok(()) => text,
        Err(fmt::Error) => diagnostic.to_string(),
    }
}

/// An error of a TOML file, with its place and advice.
pub(crate) fn toml_problem(file: &str, text: &str, error: &toml::de::Error) -> PolicyProblem {
    let (cause, advice) = portcullis_settings::advice(error.message());
    let problem = PolicyProblem::new(PolicyProblemKind::Manifest, format!("{file}: {cause}"));
    let problem = match error.span() {
        Some(span) => {
            let place = PolicySourceRange {
                file: file.into(),
                source: Arc::from(text),
                offset: span.start,
                length: span.len(),
            };
            problem.at(place, "here")
        }
        None => problem,
    };
    match advice {
        Some(advice) => problem.help(advice),
        None => problem,
    }
}

/// Advice for an unknown name: the nearest known name, or the list of known names.
pub(crate) fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(name, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let names: Vec<_> = known.into_iter().map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "policy.toml declares none".into(),
        1..=12 => format!("declared: {}", names.join(", ")),
        n => format!("policy.toml declares {n} others"),
    }
}

/// The error in a line of JSON, in words for its author.
#[must_use]
pub fn json_problem(error: &serde_json::Error) -> String {
    let column = error.column();
    match error.classify() {
        serde_json::error::Category::Syntax => format!("not JSON from column {column} on"),
        serde_json::error::Category::Eof => format!("the JSON ends too early, at column {column}"),
        serde_json::error::Category::Data | serde_json::error::Category::Io => {
            let text = error.to_string();
            let words = text.rsplit_once(" at line ").map_or(text.as_str(), |(words, _)| words);
            format!("{words} (column {column})")
        }
    }
}
