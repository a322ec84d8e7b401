//! The topic of a stream without anchors: the mean distance between its sentences. The trust slope counts only the
//! excess over the usual distance.

use super::Span;
use crate::governor::StreamGovernor;
use portcullis_core::fixed::BasisPoints;
use portcullis_core::mutation::SpanMutation;
use portcullis_core::state::SemanticState;

/// Usual mean distance of sentences on one topic, in basis points. The trust slope counts only the excess.
const USUAL: u16 = 6_000;

/// Adds the topic to the mutation, if the policy checks topics and the stream has no anchors. A span that continues a
/// sentence, and one that states nothing, such as a label or an entry of a list, do not change the mean distance.
pub(super) fn propose(governor: &StreamGovernor, state: &SemanticState, span: &Span<'_>, mutation: &mut SpanMutation) {
    let measured = state.policy.closed_world || !governor.anchors().is_empty();
    if state.policy.continuity.topic == 0 || measured {
        return;
    }
    let before = span.text.earlier(span.range);
    let Some((mut topic, words)) = governor.mapper().topic(state, span.text.slice(span.range)) else { return };
    if before.chars().any(char::is_alphanumeric) || !mutation.proposed.prose {
        topic.mean = state.bounds.topic.mean;
    }
    let over = u32::from(topic.mean.get().saturating_sub(USUAL)) * u32::from(BasisPoints::ONE.get());
    let over = over / u32::from(BasisPoints::ONE.get() - USUAL);
    mutation.content_deviation =
        u16::try_from(over).ok().and_then(|o| BasisPoints::try_from(o).ok()).unwrap_or_default();
    mutation.proposed.topic = Some(topic);
    mutation.proposed.topic_words = words;
}
