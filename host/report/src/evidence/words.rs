//! Texts that explain the terms of a report; the text form and the page share them.

use portcullis_evidence::verify::{AssuranceLevel, EvidenceStatus, StreamModeCounts};

pub(super) const fn meaning(status: EvidenceStatus) -> &'static str {
    match status {
        EvidenceStatus::Affirmed => "Everything that was checked holds.",
        EvidenceStatus::Warned => "What was checked holds. Something is missing or could not be checked.",
        EvidenceStatus::Contradicted => "Something in this evidence is false, or it is not believed.",
    }
}

/// What was prevented, and what only recorded, by the modes of the streams; `streams` is the number of all streams. The
/// modes are what the operator committed to, and the words say so.
#[must_use]
pub fn prevention(modes: &StreamModeCounts, streams: u64) -> String {
    let (enforced, without) = (modes.enforced(), modes.not_enforced());
    let unknown = streams.saturating_sub(enforced.saturating_add(without));
    let unknown = if unknown == 0 { String::new() } else { format!(" Of {unknown} streams it is not known.") };
    match (enforced, without) {
        (0, 0) if streams == 0 => "No stream began, so nothing was judged.".to_owned(),
        (0, 0) => unknown.trim_start().to_owned(),
        (_, 0) => format!("By their modes, {enforced} streams kept refused text from readers.{unknown}"),
        (0, _) => format!("Nothing was prevented: {without} streams were only recorded or observed.{unknown}"),
        _ => format!(
            "By their modes, {enforced} streams kept refused text from readers; {without} streams were only recorded \
             or observed.{unknown}"
        ),
    }
}

/// Words of the report about false descriptions of texts; `text_lane`: the card read the texts.
pub(super) const fn false_descriptions(text_lane: bool) -> &'static str {
    if text_lane {
        "the host could not hide the classes in the card's tables, in the spellings that these tables hold; \
         `policy explain --lane` names both, and a replay detects all other false descriptions of texts"
    } else {
        "a replay detects false descriptions of texts; nothing prevented them"
    }
}

pub(super) const fn assurance(level: AssuranceLevel) -> &'static str {
    match level {
        AssuranceLevel::L0 => "simulated; the key is public",
        AssuranceLevel::L1 => "one key for every card of the design; whoever made the bitstream could sign too",
        AssuranceLevel::L2 => "the key of one card",
        AssuranceLevel::L3 => "the key of one card, placed under supervision",
    }
}
