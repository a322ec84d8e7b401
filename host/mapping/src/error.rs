//! Errors in the declarations of a package that the mapping reads.

use std::ops::Range;

/// A class, pattern or quantity that the mapping cannot use.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// More classes or quantity slots than a descriptor carries.
    #[error("the policy declares {count} {what}; a descriptor carries {most}")]
    TooMany {
        /// The kind that exceeds its limit: `classes` or `quantity slots`.
        what: &'static str,
        /// Declared number.
        count: usize,
        /// Largest number.
        most: usize,
    },
    #[error("there are no cue tables for the language `{code}`; there are for {known}")]
    Language {
        code: String,
        /// The codes of the known languages.
        known: String,
    },
    #[error("class `{class}` names vocabulary file `{file}`, which the package does not hold")]
    MissingVocabulary {
        /// The class that names the file.
        class: String,
        file: String,
    },
    #[error("vocabulary file `{file}` of class `{class}` is not UTF-8")]
    VocabularyEncoding {
        /// The class that names the file.
        class: String,
        file: String,
    },
    /// A line of a vocabulary file that is not a phrase.
    #[error("phrase `{phrase}` in line {line} of `{file}`: {problem}")]
    Phrase {
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// The phrase as written.
        phrase: String,
        problem: &'static str,
        /// Place of the error in the phrase, in bytes.
        at: Range<usize>,
    },
    /// A regular expression that does not parse.
    #[error("pattern `{regex}` of class `{class}`: {problem}")]
    Pattern {
        class: String,
        regex: String,
        problem: String,
        /// Place of the error in the expression, in bytes.
        at: Option<Range<usize>>,
    },
    /// A key of a class that has no effect in this class.
    #[error("`{key}` of class `{class}`: {problem}")]
    ClassKey {
        class: String,
        /// `view`, `inflect`, `letters`, `polarity` or `private_domains`.
        key: &'static str,
        /// The reason why the key has no effect.
        problem: String,
    },
    /// An entry of the list of hosts that is not a host.
    #[error(
        "`{0}` in `hosts` is neither a host name, an IP address, nor `*.` with a domain of at least two names, such as \
         `*.example.org`"
    )]
    Host(String),
    /// A key of the package that contradicts another one.
    #[error("`{key}`: {problem}")]
    PackageKey {
        /// `hosts`, `links` or `loads`.
        key: &'static str,
        problem: &'static str,
    },
    /// The patterns are valid one by one, but cannot be compiled into one automaton.
    #[error("the patterns of all classes together: {0}")]
    Patterns(String),
    /// A unit that no text can name.
    #[error(
        "unit `{unit}` of quantity `{quantity}` never matches: a unit begins and ends with a letter or sign, not with a digit or space"
    )]
    Unit { quantity: String, unit: String },
    /// A unit's size that is not a positive integer or fraction.
    #[error(
        "unit `{unit}` of quantity `{quantity}`: `{size}` is not a positive integer or a fraction such as `1/1000`"
    )]
    UnitSize {
        quantity: String,
        unit: String,
        /// The size as written.
        size: String,
    },
    /// The automaton over all phrases could not be built.
    #[error("the vocabularies are too large: {0}")]
    Vocabulary(String),
}

/// A log-probability that is not finite, or above 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("`{0}` is not a log-probability: expected a decimal number at most 0")]
pub struct LogProbsError(pub String);
