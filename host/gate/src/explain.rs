//! Explains how a text is mapped and which rows decide. The software evaluator decides; nothing is released.

use portcullis_core::mutation::SlotSequence;
use portcullis_core::state::SemanticState;
use portcullis_core::wire::{Determination, Granularity, Stage};
use portcullis_image::reference::row_matches;
use portcullis_image::{BankKind, ImageEvaluator};
use portcullis_mapping::{SpanInput, TextMapper};
use portcullis_policy::context::{ContextConversionError, ContextConverter};
use portcullis_policy::{CompiledPackage, PolicyPackage};
use std::ops::Range;

#[derive(Clone, Debug)]
pub struct ExplainedPiece {
    /// The piece's bytes in the text.
    pub range: Range<usize>,
    pub text: String,
    /// The decision; `None` for inert bytes, which are not judged.
    pub span: Option<SpanExplanation>,
}

/// The decision about a span.
#[derive(Clone, Debug)]
pub struct SpanExplanation {
    /// Category, under its Cedar name.
    pub category: String,
    /// Every field of the descriptor, under its Cedar name.
    pub context: serde_json::Value,
    pub determination: Determination,
    pub stage: Stage,
    /// Ids of rules with a matching row, without duplicates, those of the policy bank first.
    pub rules: Vec<String>,
}

/// Explains a text piece by piece. `state` is the state before the text; admitted pieces change it. Errors:
/// [`ContextConversionError`]: a descriptor with a value outside the vocabulary.
pub fn explain(
    (package, compiled, mapper): (&PolicyPackage, &CompiledPackage, &TextMapper),
    state: &mut SemanticState,
    text: String,
) -> Result<Vec<ExplainedPiece>, ContextConversionError> {
    let image = &compiled.image;
    let evaluator = ImageEvaluator::new(image);
    let text = mapper.read(text, Granularity::Span);
    let mut pieces = Vec::new();
    let mut inert_prefix = false;
    let mut sequence = 1;
    for piece in text.pieces() {
        let mut shown =
            ExplainedPiece { range: piece.range.clone(), text: text.slice(&piece.range).to_owned(), span: None };
        if piece.inert {
            inert_prefix = true;
            pieces.push(shown);
            continue;
        }
        let candidate = SpanInput {
            text: &text,
            span: &piece.range,
            granularity: Granularity::Span,
            inert_prefix,
            depth: 0,
            alternatives: 0,
            // Of several values, the largest.
            choice: text.choices(&piece.range).checked_sub(1),
            uncertainty: None,
        };
        inert_prefix = false;
        let mapped = mapper.map(state, candidate);
        let descriptor = mapped.mutation.descriptor(SlotSequence { slot: 0, sequence }, [0; 32]);
        let verdict = evaluator.judge(&descriptor);
        let (category, context) = ContextConverter::new(package.vocabulary()).json(&descriptor)?;
        let mut rules: Vec<String> = Vec::new();
        for bank in [BankKind::Policy, BankKind::Entropy] {
            for (index, row) in (0u16..).zip(image.rows(bank)) {
                if row_matches(row, &descriptor)
                    && let Some(rule) = compiled.rule_of_row(bank, index)
                    && !rules.contains(&rule.id)
                {
                    rules.push(rule.id.clone());
                }
            }
        }
        let (determination, stage) = (verdict.determination, verdict.stage);
        shown.span = Some(SpanExplanation { category: category.to_string(), context, determination, stage, rules });
        pieces.push(shown);
        if determination == Determination::Admit {
            state.admit(&mapped.mutation, sequence, descriptor.commitment);
        }
        sequence += 1;
    }
    Ok(pieces)
}
