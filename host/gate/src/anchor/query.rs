//! Queries to the anchors, and their results.

use portcullis_core::fixed::BasisPoints;
use portcullis_core::mutation::StageFinding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::wire::Anchor;
use portcullis_mapping::{CheckableWord, SentenceFrame, VerbClause};
use std::ops::Range;

/// A span that may refer to something outside the text, with its sentence.
#[derive(Clone, Copy, Debug)]
pub struct AnchorQuery<'a> {
    pub sentence: &'a str,
    /// The span's bytes in the sentence.
    pub span: &'a Range<usize>,
    /// Citations that overlap the span; `None` if the search failed.
    pub citations: Option<&'a [&'a str]>,
    /// Checkable words of the sentence.
    pub words: &'a [CheckableWord],
    /// For each word of `words`, the stems of words with the same meaning; empty outside a closed world.
    pub also: &'a [Vec<String>],
    /// Places of the sentence's verbs and prepositions.
    pub frame: &'a SentenceFrame,
    pub clauses: &'a [VerbClause],
    /// Whether the span could stand alone: it has a verb, and its last word does not need a continuation.
    pub stands_alone: bool,
    /// Id of the stream's current entity.
    pub subject: Option<&'a str>,
    /// Id of the entity that the intent names.
    pub intent: Option<&'a str>,
    /// Stems of the intent, and of the facts that the operator guarantees.
    pub vouched: &'a [String],
    /// Whether sentences without supporting facts are refused.
    pub closed_world: bool,
    /// Whether the span is a part of a divided span.
    pub part: bool,
}

/// The finding of the anchors on a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanGrounding {
    /// The outcome of the references.
    pub anchor: Anchor,
    /// The finding of the closed world.
    pub validation: StageFinding<ValidationReason>,
    /// Bytes of the sentence that no fact supports.
    pub unsupported: Vec<Range<usize>>,
    /// The stream's new current entity, if the span changes it.
    pub subject: Option<String>,
    /// Share of the span's words that the facts of the intent's entity do not support; `None` if the intent does not
    /// name an entity.
    pub deviation: Option<BasisPoints>,
    pub evidence: Vec<FailedLookup>,
}

/// A reference or word that was looked up without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedLookup {
    /// The kind: `citation`, `entity`, `word`, `verb`, `span`.
    pub field: &'static str,
    pub value: String,
    /// The condition that was not met.
    pub condition: String,
}

/// A resolver of references.
pub trait AnchorLookup {
    /// Looks up a span. The result must depend only on the query and the stores.
    fn resolve(&self, query: &AnchorQuery<'_>) -> SpanGrounding;
}
