//! Checks disclosed texts: each has the commitment of its record, and is divided as its descriptor states.

use crate::format::bundle::SpanLine;
use crate::verify::code::Code;
use crate::verify::findings::{At, VerifyFindings};
use portcullis_core::commitment::SpanKind;
use portcullis_core::inert::is_formatting;
use portcullis_core::wire::{Opcode, Record, StageOutcome, flags};

/// Compares a disclosed text with the commitment of its record.
pub(crate) fn commitment(span: &SpanLine, at: At, record: &Record) -> VerifyFindings {
    VerifyFindings::unless(span.commitment() == record.descriptor.commitment, Code::SpanCommitment, || {
        format!("the text of {at} is not the one that the card answered for")
    })
}

/// Compares a disclosed text with the descriptor of its accepted entry.
pub(crate) fn shape(span: &SpanLine, at: At, opcode: Opcode, record: &Record) -> VerifyFindings {
    VerifyFindings::unless(is_cut(span, opcode, record), Code::SpanShape, || {
        format!("the text of {at} is not cut into held text and span as its descriptor says")
    })
}

/// Whether a text is divided into held text and span as the descriptor states; the commitment does not show the border.
/// The largest length that a descriptor can state also stands for longer spans, which stage 2 rejects.
pub(crate) fn is_cut(span: &SpanLine, opcode: Opcode, record: &Record) -> bool {
    let entry = &record.descriptor;
    let set = |flag: u16| u16::from(entry.flags) & flag != 0;
    let (held, call) = (set(flags::INERT_PREFIX), set(flags::CALL));
    match opcode {
        Opcode::Gate => {
            let length = entry.length.get();
            let saturated = length == u16::MAX && entry.validation_outcome != u8::from(StageOutcome::Pass);
            let kind_fits = !call || span.kind == SpanKind::Call;
            kind_fits && held != span.held.is_empty() && (saturated || usize::from(length) == span.text.len())
        }
        // An entry other than GATE has only held text.
        _ => span.text.is_empty(),
    }
}

/// Checks that the bytes of END are formatting only, since no rule judges them.
pub(crate) fn end(span: &SpanLine, at: At) -> VerifyFindings {
    VerifyFindings::unless(is_formatting(&span.held), Code::EndNotFormatting, || {
        format!("{at} ends its stream with more than formatting: nothing judged those bytes")
    })
}
