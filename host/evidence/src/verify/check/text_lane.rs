//! Compares the host's description of a text with the classes that the card found in it. It needs no text.

use crate::verify::check::image::Image;
use crate::verify::code::Code;
use crate::verify::findings::{At, Findings};
use portcullis_core::class::ClassSet;
use portcullis_core::wire::{Opcode, Record, flags};

/// The classes outside `opening` that the card found and the host did not describe. Classes that open a gate count only
/// if both find them, so there an omission gains nothing.
fn omitted(record: &Record, opening: u128) -> ClassSet {
    ClassSet(record.answer.text_classes.get() & !opening & !record.descriptor.classes.get())
}

/// Checks an accepted GATE or END. `released` says whether the stream's admitted text left before the next entry.
pub(crate) fn check(at: At, opcode: Opcode, record: &Record, released: bool, image: Option<&Image>) -> Findings {
    let mut findings = Findings::default();
    let Some(text) = image.and_then(|image| image.text.as_ref()) else { return findings };
    let omitted = omitted(record, text.opening.get());
    let names = || omitted.iter().map(|class| u8::from(class).to_string()).collect::<Vec<_>>().join(", ");
    // The card refuses an END with such a class.
    let code = if opcode == Opcode::End { Code::RecordAnswer } else { Code::ClassOmitted };
    findings.require(omitted == ClassSet::EMPTY, code, || {
        format!("the host did not describe class {} of the text of {at}, which the card found", names())
    });
    let fresh = opcode == Opcode::Gate && u16::from(record.descriptor.flags) & flags::SCAN_FRESH != 0;
    findings.require(!(fresh && released), Code::ScanFresh, || {
        format!("the text of {at} was scanned as the first one of its stream, although earlier text was released")
    });
    findings
}
