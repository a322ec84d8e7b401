//! The stages that run on the host. Their findings are part of the descriptor, and the card decides in the fixed order:
//! policy, validation, lineage, entropy.

mod lineage;
mod propositions;
mod topic;
mod validation;

use crate::anchor::{AnchorLookup, AnchorQuery};
use crate::determination::DecidingField;
use crate::governor::StreamGovernor;
use portcullis_core::fixed::BasisPoints;
use portcullis_core::manifest::CitationPolicy;
use portcullis_core::mutation::{SpanMutation, StageFinding};
use portcullis_core::reason::ValidationReason;
use portcullis_core::state::SemanticState;
use portcullis_core::wire::{Anchor, Category};
use portcullis_mapping::{CheckableWord, IntroducedWords, LogProbsError, ScannedText, SpanInput};
use std::ops::Range;

pub(crate) struct Span<'a> {
    pub(crate) text: &'a ScannedText,
    pub(crate) range: &'a Range<usize>,
    pub(crate) driven: bool,
    pub(crate) inert_prefix: bool,
    pub(crate) depth: u8,
    /// Whether the span is a part of a divided span. A tool call is not a part, although its depth is the greatest.
    pub(crate) part: bool,
    /// Number of the choice of values, if the span has several values of a quantity.
    pub(crate) choice: Option<usize>,
    pub(crate) alternatives: u8,
    pub(crate) uncertainty: Option<Result<BasisPoints, LogProbsError>>,
    pub(crate) malformed: bool,
}

/// Findings of the host that are not in the descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostFindings {
    /// The deciding fields of stage 2's finding.
    pub(crate) validation: Vec<DecidingField>,
    /// The deciding fields of stage 3's finding.
    pub(crate) lineage: Vec<DecidingField>,
    /// Ranges of the text that become parts of their own when the span is divided.
    pub(crate) apart: Vec<Range<usize>>,
}

/// The entity of the intent, and the stems of the operator's words, for comparisons with spans.
pub(crate) struct OperatorFacts {
    intent: Option<String>,
    stems: Vec<String>,
}

impl OperatorFacts {
    pub(crate) fn of(governor: &StreamGovernor, state: &SemanticState) -> Self {
        let texts = std::iter::once(&state.intent.text).chain(&state.intent.facts);
        let mut stems: Vec<String> = texts.flat_map(|t| governor.mapper().checkable(t)).map(|c| c.stem).collect();
        stems.sort_unstable();
        stems.dedup();
        Self { intent: state.memory.subject.clone(), stems }
    }
}

/// The nouns that the operator's words and the admitted text introduce; none if the policy does not ask.
pub(crate) fn introduced(governor: &StreamGovernor, state: &SemanticState) -> IntroducedWords {
    let mut introduced = IntroducedWords::default();
    introduce(governor, state, &mut introduced, state.intent.words.iter().chain(state.memory.words.keys()));
    introduced
}

/// Adds words of admitted text.
pub(crate) fn introduce<'w>(
    governor: &StreamGovernor,
    state: &SemanticState,
    introduced: &mut IntroducedWords,
    words: impl IntoIterator<Item = &'w String>,
) {
    if state.policy.continuity.presupposition {
        words.into_iter().for_each(|word| governor.mapper().introduce(introduced, word));
    }
}

/// Resolves a span against the anchors, and adds the result to the mutation.
fn anchor(
    governor: &StreamGovernor,
    state: &SemanticState,
    vouched: &OperatorFacts,
    span: &Span<'_>,
    mutation: &mut SpanMutation,
    staged: &mut HostFindings,
) {
    let anchors = governor.anchors();
    let citations = match (state.policy.citations, governor.links()) {
        (CitationPolicy::Resolved, None) => span.text.citations(span.range),
        (CitationPolicy::Resolved, Some(_)) => span.text.sources(span.range),
        (CitationPolicy::Any, _) => {
            if mutation.category == Category::Reference {
                mutation.anchor = Anchor::Resolved;
            }
            Some(Vec::new())
        }
    };
    let cites = citations.as_ref().is_none_or(|c| !c.is_empty());
    // Without a store, nothing can be looked up, and citations are not allowed.
    if anchors.is_empty() && !state.policy.closed_world && !cites {
        return;
    }
    let sentence = span.text.around(span.range);
    let shown = span.text.slice(&sentence);
    let within = span.range.start - sentence.start..span.range.end - sentence.start;
    let words = governor.mapper().checkable(shown);
    let closed_world = state.policy.closed_world;
    let word = |word: &CheckableWord| {
        let shown = shown.get(word.range.clone()).filter(|_| !word.value).unwrap_or_default();
        governor.mapper().alternatives(shown)
    };
    let also: Vec<Vec<String>> = if closed_world { words.iter().map(word).collect() } else { Vec::new() };
    let (frame, part, clauses) = if closed_world {
        let mapper = governor.mapper();
        (mapper.frame(shown), mapper.frame(span.text.slice(span.range)), mapper.clauses(shown))
    } else {
        Default::default()
    };
    let grounding = anchors.resolve(&AnchorQuery {
        sentence: shown,
        span: &within,
        citations: citations.as_deref(),
        words: &words,
        also: &also,
        frame: &frame,
        clauses: &clauses,
        stands_alone: !part.verbs.is_empty() && !part.open,
        subject: state.memory.subject.as_deref(),
        intent: vouched.intent.as_deref(),
        vouched: &vouched.stems,
        closed_world,
        part: span.part,
    });
    mutation.anchor = mutation.anchor.max(grounding.anchor);
    if let Some(deviation) = grounding.deviation {
        mutation.content_deviation = deviation;
    }
    if mutation.validation == StageFinding::Pass {
        mutation.validation = grounding.validation;
    }
    for claim in &mut mutation.proposed.claims {
        if let Some(id) = anchors.entity_called(&claim.subject) {
            claim.subject = id.to_owned();
        }
    }
    mutation.proposed.subject = grounding.subject;
    staged.validation.extend(grounding.evidence.into_iter().map(|e| DecidingField {
        field: e.field.into(),
        value: e.value,
        condition: e.condition,
    }));
    let start = sentence.start;
    staged.apart = grounding.unsupported.into_iter().map(|r| start + r.start..start + r.end).collect();
}

/// The deciding fields of a finding of the mapping: the span's quantities, its length, or the tool call.
fn mapped(state: &SemanticState, span: &Span<'_>, finding: StageFinding<ValidationReason>) -> Vec<DecidingField> {
    let deciding =
        |field: &str, value: String, condition: String| DecidingField { field: field.into(), value, condition };
    let quantities = |condition: &str| {
        let all = span.text.quantities_of(span.range);
        all.map(|quantity| deciding("quantity", quantity.to_owned(), condition.to_owned())).collect()
    };
    let (StageFinding::Reject(reason) | StageFinding::Decompose(reason)) = finding else { return Vec::new() };
    match reason {
        ValidationReason::QuantityMultiple => quantities("one value for one quantity"),
        ValidationReason::QuantityInexact => quantities("exact in the unit of its slot"),
        ValidationReason::QuantityRange => quantities("in the declared range of its slot"),
        ValidationReason::SpanTooLong => {
            let most = format!("at most {} bytes", state.policy.limits.span_bytes);
            vec![deciding("length", span.range.len().to_string(), most)]
        }
        ValidationReason::ToolMalformed => {
            let call = span.text.slice(span.range).to_owned();
            vec![deciding("call", call, "a name and a JSON object within bounds".to_owned())]
        }
        ValidationReason::LinkLoaded | ValidationReason::LinkUnlisted => {
            let of = if reason == ValidationReason::LinkLoaded { "loaded" } else { "linked" };
            let address = |address: &str| {
                deciding("address", address.to_owned(), format!("an address that the policy lets be {of}"))
            };
            span.text.addresses_of(span.range).map(address).collect()
        }
        ValidationReason::JsonDepth => {
            let most = "documents inside at most four strings".to_owned();
            vec![deciding("document", "inside more strings".to_owned(), most)]
        }
        _ => Vec::new(),
    }
}

/// Maps a span and runs the host's stages on it.
pub(crate) fn judge(
    governor: &StreamGovernor,
    state: &SemanticState,
    vouched: &OperatorFacts,
    introduced: &IntroducedWords,
    span: &Span<'_>,
) -> (SpanMutation, HostFindings) {
    let candidate = SpanInput {
        text: span.text,
        span: span.range,
        granularity: governor.granularity(span.driven),
        inert_prefix: span.inert_prefix,
        depth: span.depth,
        alternatives: span.alternatives,
        choice: span.choice,
        uncertainty: span.uncertainty.as_ref().and_then(|said| said.as_ref().ok()).copied(),
    };
    let portcullis_mapping::SpanMapping { mut mutation, reading, prose, .. } = governor.mapper().map(state, candidate);
    let prose = prose.map(|prose| span.range.start + prose.start..span.range.start + prose.end);
    if span.malformed {
        mutation.validation = StageFinding::Reject(ValidationReason::ToolMalformed);
    }
    let mut staged = HostFindings { validation: mapped(state, span, mutation.validation), ..HostFindings::default() };
    if let Some(Err(error)) = &span.uncertainty {
        mutation.validation = StageFinding::Reject(ValidationReason::LogprobsInvalid);
        staged.validation = vec![DecidingField {
            field: "logprobs".into(),
            value: error.to_string(),
            condition: "natural logarithms of probabilities".into(),
        }];
    }
    // The span is refused already, so nothing more is read in it.
    if mutation.validation == StageFinding::Reject(ValidationReason::SpanTooLong) {
        return (mutation, staged);
    }
    anchor(governor, state, vouched, span, &mut mutation, &mut staged);
    topic::propose(governor, state, span, &mut mutation);
    let conflicts = propositions::propose(governor, state, span, prose.as_ref(), &mut mutation);
    if mutation.validation == StageFinding::Pass
        && let Some((reason, deciding)) = validation::check(
            state,
            &mutation,
            &reading,
            conflicts.as_ref(),
            prose.as_ref().map(|prose| span.text.slice(prose)),
            (governor.mapper(), introduced),
        )
    {
        mutation.validation = StageFinding::Reject(reason);
        staged.validation = vec![deciding];
    }
    if let Some((reason, deciding)) = lineage::check(state, &mutation, &reading, conflicts.as_ref()) {
        mutation.lineage = StageFinding::Reject(reason);
        staged.lineage = vec![deciding];
    }
    (mutation, staged)
}
