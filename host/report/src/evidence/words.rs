//! Texts that explain the terms of a report; the text form and the page share them.

use portcullis_evidence::verify::{Assurance, Status};

pub(super) const fn meaning(status: Status) -> &'static str {
    match status {
        Status::Affirmed => "Everything that was checked holds.",
        Status::Warned => "What was checked holds. Something is missing or could not be checked.",
        Status::Contradicted => "Something in this evidence is false, or it is not believed.",
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

pub(super) const fn assurance(level: Assurance) -> &'static str {
    match level {
        Assurance::L0 => "simulated; the key is public",
        Assurance::L1 => "one key for every card of the design; whoever made the bitstream could sign too",
        Assurance::L2 => "the key of one card",
        Assurance::L3 => "the key of one card, placed under supervision",
    }
}
