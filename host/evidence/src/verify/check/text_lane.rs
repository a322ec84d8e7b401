//! Compares the host's description of a text with the classes that the card found in it. It needs no text.

use crate::verify::check::image::Image;
use crate::verify::code::Code;
use crate::verify::findings::{At, Findings};
use portcullis_core::class::ClassSet;
use portcullis_core::wire::{Opcode, Record};

/// The classes outside `opening` that the card found and the host did not describe. Classes that open a gate count only
/// if both find them, so there an omission gains nothing. `released` says whether admitted text left before the next
/// entry: only then must the host still describe the classes of all admitted entries, because no rollback took one
/// back.
fn omitted(opcode: Opcode, record: &Record, opening: u128, released: bool) -> ClassSet {
    let (entry, answer) = (&record.descriptor, &record.answer);
    let before = if released && opcode == Opcode::Gate { answer.text_established.get() } else { 0 };
    let here = answer.text_classes.get() & !entry.classes.get();
    ClassSet((here | before & !entry.established.get()) & !opening)
}

/// Checks an accepted GATE or END. `released` says whether the stream's admitted text left before the next entry.
pub(crate) fn check(at: At, opcode: Opcode, record: &Record, released: bool, image: Option<&Image>) -> Findings {
    let mut findings = Findings::default();
    let Some(text) = image.and_then(|image| image.text.as_ref()) else { return findings };
    let omitted = omitted(opcode, record, text.opening.get(), released);
    let names = || omitted.iter().map(|class| u8::from(class).to_string()).collect::<Vec<_>>().join(", ");
    // The card refuses an END with such a class.
    let code = if opcode == Opcode::End { Code::RecordAnswer } else { Code::ClassOmitted };
    findings.require(omitted == ClassSet::EMPTY, code, || {
        format!("the host did not describe class {} at {at}, which the card found", names())
    });
    findings
}
