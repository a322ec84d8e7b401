//! Questions of the loop to the anchors, and their answers.

use portcullis_core::fixed::BasisPoints;
use portcullis_core::mutation::StageFinding;
use portcullis_core::reason::ValidationReason;
use portcullis_core::wire::Anchor;
use portcullis_mapping::{Checkable, Clause, Frame};
use std::ops::Range;

/// A span that may refer to something outside the text.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The sentence that the span is in.
    pub sentence: &'a str,
    /// The span's bytes in the sentence.
    pub span: &'a Range<usize>,
    /// Citations that the span holds a part of; `None` when nothing can be said.
    pub citations: Option<&'a [&'a str]>,
    /// Checkable words of the sentence.
    pub words: &'a [Checkable],
    /// Stems that say the same as each of them, where a closed world asks for words; else empty.
    pub also: &'a [Vec<String>],
    /// Where the sentence's verbs and prepositions are.
    pub frame: &'a Frame,
    /// The sentence's verbs with their surroundings.
    pub clauses: &'a [Clause],
    /// Whether the span could stand alone: it has a verb, and its last word leads on to nothing.
    pub stands_alone: bool,
    /// Entity that the stream speaks of now, by its id.
    pub subject: Option<&'a str>,
    /// Entity that the intent names, by its id.
    pub intent: Option<&'a str>,
    /// Stems of intent and verified facts: the operator vouches for them.
    pub vouched: &'a [String],
    /// Whether a sentence without supporting facts is refused.
    pub closed_world: bool,
    /// Whether the span is a part of one that was split.
    pub part: bool,
}

/// The finding of the anchors on a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grounding {
    /// The outcome of its references.
    pub anchor: Anchor,
    /// The finding of the closed world.
    pub validation: StageFinding<ValidationReason>,
    /// Bytes of the sentence that no fact supports.
    pub unsupported: Vec<Range<usize>>,
    /// Entity that the stream speaks of from here on, when the span changes it.
    pub subject: Option<String>,
    /// Share of the span's words that the facts of the intent's entity do not support; `None` when the intent names
    /// none.
    pub deviation: Option<BasisPoints>,
    pub evidence: Vec<Evidence>,
}

/// A reference, or a part of the text that was looked up without result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Kind of the reference: `citation`, `entity`, `word`, `verb`, `span`.
    pub field: &'static str,
    pub value: String,
    /// The condition that it had to meet.
    pub condition: String,
}

/// Something that resolves references.
pub trait Resolver {
    /// Looks a span up. A pure function of query and stores.
    fn resolve(&self, query: &Query<'_>) -> Grounding;
}
