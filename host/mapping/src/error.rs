//! Faults in a package's declarations, as far as the mapping reads them.

use std::ops::Range;

/// A class, pattern or quantity that the mapping cannot use.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// More classes or quantity slots than a descriptor carries.
    #[error("the policy declares {count} {what}; a descriptor carries {most}")]
    TooMany {
        /// `classes` or `quantity slots`.
        what: &'static str,
        /// How many.
        count: usize,
        /// How many there can be.
        most: usize,
    },
    /// A language without cue tables.
    #[error("there are no cue tables for the language `{code}`; there are for {known}")]
    Language {
        /// Its code.
        code: String,
        /// What there is.
        known: String,
    },
    /// A vocabulary file that the package does not hold.
    #[error("class `{class}` names vocabulary file `{file}`, which the package does not hold")]
    MissingVocabulary {
        /// The class.
        class: String,
        /// The file.
        file: String,
    },
    /// A vocabulary file that is not UTF-8.
    #[error("vocabulary file `{file}` of class `{class}` is not UTF-8")]
    VocabularyEncoding {
        /// The class.
        class: String,
        /// The file.
        file: String,
    },
    /// A regular expression that does not parse.
    #[error("pattern `{regex}` of class `{class}`: {problem}")]
    Pattern {
        /// The class.
        class: String,
        /// The expression.
        regex: String,
        /// The fault.
        problem: String,
        /// Where in the expression, in bytes.
        at: Option<Range<usize>>,
    },
    /// A key of a class that says nothing about it.
    #[error("`{key}` of class `{class}`: {problem}")]
    ClassKey {
        /// The class.
        class: String,
        /// `view`, `inflect`, `letters` or `polarity`.
        key: &'static str,
        /// Why it says nothing.
        problem: String,
    },
    /// The patterns are good one by one, but not together in one automaton.
    #[error("the patterns of all classes together: {0}")]
    Patterns(String),
    /// A unit's size that is not a positive integer or fraction.
    #[error(
        "unit `{unit}` of quantity `{quantity}`: `{size}` is not a positive integer or a fraction such as `1/1000`"
    )]
    UnitSize {
        /// The slot.
        quantity: String,
        /// The unit word.
        unit: String,
        /// What is there.
        size: String,
    },
    /// The automaton over all phrases could not be built.
    #[error("the vocabularies are too large: {0}")]
    Vocabulary(String),
}

/// A log-probability that is not finite, or is over 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("`{0}` is not a log-probability: expected a decimal number at most 0")]
pub struct LogProbsError(pub String);
