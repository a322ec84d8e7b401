//! Explains what the gate does with a text: what was found, which rule decided, and what the reader gets.

use crate::determination::{DecidingField, SpanDetermination};
use crate::event::{SpanJudgement, StreamEventKind};
use crate::governor::StreamGovernor;
use crate::policy_card::PolicyCardError;
use crate::source::StreamInput;
use portcullis_card::{CardSession, CardTransport, SessionError};
use portcullis_core::hex;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::{Descriptor, Determination, Granularity};
use portcullis_image::BankKind;
use portcullis_image::reference::row_matches;
use portcullis_mapping::ScannedText;
use portcullis_policy::PolicySourceRange;
use portcullis_policy::context::{ContextConversionError, ContextConverter};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use zerocopy::FromBytes;

/// What the gate does with a text.
#[derive(Clone, Debug)]
pub struct TextExplanation {
    /// The spans in the order of their judgement; the parts of a divided span follow it.
    pub spans: Vec<SpanExplanation>,
    /// What the reader gets.
    pub released: String,
    /// Why the gate stopped before the end, if it did.
    pub stopped: Option<String>,
}

/// The decision about a span.
#[derive(Clone, Debug)]
pub struct SpanExplanation {
    pub determination: SpanDetermination,
    pub text: String,
    /// What the mapping found in the span, in the order of its bytes.
    pub found: Vec<FoundText>,
    /// Where the deciding rule is written; `None` for an admit, and for a reason that no rule of the package gives.
    pub place: Option<PolicySourceRange>,
    /// The fields that the deciding rule or reason examined.
    pub fields: Vec<DecidingField>,
    /// Category, under its Cedar name.
    pub category: String,
    /// Every field of the descriptor, under its Cedar name.
    pub context: serde_json::Value,
    /// Ids of rules with a matching row, without duplicates, those of the policy bank first.
    pub rules: Vec<String>,
}

/// Bytes of a text in which the mapping found something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundText {
    /// Name of the class or quantity, or `address`.
    pub what: String,
    /// The bytes in the text.
    pub range: Range<usize>,
    pub text: String,
}

/// Errors of an explanation.
#[derive(Debug, thiserror::Error)]
pub enum ExplanationError {
    #[error(transparent)]
    Card(#[from] PolicyCardError),
    #[error(transparent)]
    Context(#[from] ContextConversionError),
    #[error("the entry of span {0} has not the length of a descriptor")]
    Descriptor(u32),
}

/// Judges a whole text on a card, as a recorded stream that goes on after a refusal, and explains each determination.
///
/// # Errors
/// Errors of the session, a text that was not judged, or a descriptor with a value outside the vocabulary. A span that
/// the card refused to judge has a fault in its determination.
pub fn explain<C: CardTransport>(
    governor: &Arc<StreamGovernor>,
    session: &mut CardSession<C>,
    text: &str,
    task: &StreamTask,
) -> Result<TextExplanation, ExplanationError> {
    let (mut judged, mut ended, mut released) = (Vec::new(), None, String::new());
    let item = StreamInput::Text { id: "text".into(), text: text.to_owned(), task: task.clone() };
    let governed = governor.govern(session, [item], |event| -> Result<(), SessionError> {
        match event.what {
            StreamEventKind::Determined(judgement) => judged.push(*judgement),
            StreamEventKind::Released { text, .. } => released.push_str(&text),
            StreamEventKind::Ended { summary, .. } => ended = Some(summary),
            _ => {}
        }
        Ok(())
    });
    governed.map_err(PolicyCardError::from)?;
    let summary = ended.ok_or(PolicyCardError::NotJudged)?;
    let scanned = governor.policy.mapper.read(text.to_owned(), Granularity::Span);
    let spans = judged.into_iter().map(|judgement| span(governor, &scanned, judgement));
    Ok(TextExplanation { spans: spans.collect::<Result<_, _>>()?, released, stopped: summary.stopped })
}

fn span(
    governor: &StreamGovernor,
    scanned: &ScannedText,
    judgement: SpanJudgement,
) -> Result<SpanExplanation, ExplanationError> {
    let SpanJudgement { determination, text, descriptor, fields, .. } = judgement;
    let bytes = hex::decode::<{ size_of::<Descriptor>() }>(&descriptor)
        .and_then(|bytes| Descriptor::read_from_bytes(&bytes).ok());
    let descriptor = bytes.ok_or(ExplanationError::Descriptor(determination.seq))?;
    let (package, compiled) = (&governor.policy.package, &governor.policy.compiled);
    let (category, context) = ContextConverter::new(package.vocabulary()).json(&descriptor)?;
    let mut rules: Vec<String> = Vec::new();
    for bank in [BankKind::Policy, BankKind::Entropy] {
        for (index, row) in compiled.rows(bank) {
            if row_matches(row, &descriptor)
                && let Some(rule) = compiled.rule_of_row(bank, index)
                && !rules.contains(&rule.id)
            {
                rules.push(rule.id.clone());
            }
        }
    }
    let decided = determination.determination != Some(Determination::Admit);
    let rule = determination.rule.as_deref().filter(|_| decided).and_then(|rule| compiled.rule(rule));
    let place = rule.and_then(|rule| rule.place.clone());
    let found = found(governor, scanned, &determination.range());
    Ok(SpanExplanation { determination, text, found, place, fields, category: category.to_string(), context, rules })
}

/// What the mapping found in a span.
fn found(governor: &StreamGovernor, scanned: &ScannedText, span: &Range<usize>) -> Vec<FoundText> {
    let manifest = governor.policy.package.manifest();
    let of = |what: &str, range: Range<usize>| {
        let text = scanned.slice(&range).to_owned();
        FoundText { what: what.to_owned(), range, text }
    };
    let classes = scanned.class_hits(span).filter_map(|(id, range)| {
        let class = manifest.classes.get(id.index())?;
        Some(of(&class.name, range))
    });
    let quantities = scanned.quantity_hits(span).filter_map(|(slot, range)| {
        let quantity = manifest.quantities.get(slot)?;
        Some(of(&quantity.name, range))
    });
    let addresses = scanned.refused_addresses(span).map(|range| of("address", range));
    let mut all: Vec<FoundText> = classes.chain(quantities).chain(addresses).collect();
    // The longest first: what several patterns find in the same bytes is shown once.
    all.sort_by_key(|found| (found.range.start, Reverse(found.range.end)));
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    all.retain(|found| {
        let known = ends.entry(found.what.clone()).or_default();
        let is_new = found.range.end > *known;
        *known = found.range.end.max(*known);
        is_new
    });
    all
}
