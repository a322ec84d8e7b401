//! Disclosed texts: each is the one that the card answered for, cut as its descriptor says.

use crate::format::bundle::SpanLine;
use crate::verify::code::Code;
use crate::verify::findings::{At, Findings};
use portcullis_core::inert::is_formatting;
use portcullis_core::wire::{Opcode, Record, StageOutcome, flags};

/// A disclosed text against the record that it belongs to.
pub(crate) fn commitment(span: &SpanLine, at: At, record: &Record) -> Findings {
    Findings::unless(span.commitment() == record.descriptor.commitment, Code::SpanCommitment, || {
        format!("the text of {at} is not the one that the card answered for")
    })
}

/// A disclosed text against what the descriptor of its accepted entry says of it.
pub(crate) fn shape(span: &SpanLine, at: At, opcode: Opcode, record: &Record) -> Findings {
    Findings::unless(is_cut(span, opcode, record), Code::SpanShape, || {
        format!("the text of {at} is not cut into held text and span as its descriptor says")
    })
}

/// Whether a text is cut into held text and span as the descriptor says: the commitment does not say where the one
/// ends. The length of a span over the policy's limit saturates, and stage 2 rejects it.
pub(crate) fn is_cut(span: &SpanLine, opcode: Opcode, record: &Record) -> bool {
    let entry = &record.descriptor;
    let held = u16::from(entry.flags) & flags::INERT_PREFIX != 0;
    match opcode {
        Opcode::Gate => {
            let length = entry.length.get();
            let saturated = length == u16::MAX && entry.validation_outcome != u8::from(StageOutcome::Pass);
            held != span.held.is_empty() && (saturated || usize::from(length) == span.text.len())
        }
        // All of it is inert.
        _ => span.text.is_empty(),
    }
}

/// No one judges the bytes under END: they must be formatting only.
pub(crate) fn end(span: &SpanLine, at: At) -> Findings {
    Findings::unless(is_formatting(&span.held), Code::EndNotFormatting, || {
        format!("{at} ends its stream with more than formatting: nothing judged those bytes")
    })
}
