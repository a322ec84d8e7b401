//! Compares the classes in a descriptor with the classes that the card found in the text. Needs only the record.

use crate::verify::check::image::Image;
use crate::verify::code::Code;
use crate::verify::findings::{At, Findings};
use portcullis_core::class::ClassSet;
use portcullis_core::wire::{Opcode, Record};

/// The classes outside `opening` that the card found and the host did not describe. The classes in `opening` count only
/// if host and card find them, so a host gains nothing if it omits them. `released`: the stream releases admitted text
/// before the next entry. Only then the host must describe the established classes, because without a release a
/// rollback can remove the entry that established them.
fn omitted(opcode: Opcode, record: &Record, opening: u128, released: bool) -> ClassSet {
    let (entry, answer) = (&record.descriptor, &record.answer);
    let before = if released && opcode == Opcode::Gate { answer.text_established.get() } else { 0 };
    let here = answer.text_classes.get() & !entry.classes.get();
    ClassSet((here | before & !entry.established.get()) & !opening)
}

/// Checks an accepted GATE or END. `released`: the stream releases admitted text before the next entry.
pub(crate) fn check(at: At, opcode: Opcode, record: &Record, released: bool, image: Option<&Image>) -> Findings {
    let mut findings = Findings::default();
    let Some(text) = image.and_then(|image| image.text.as_ref()) else { return findings };
    let omitted = omitted(opcode, record, text.opening.get(), released);
    let names = || omitted.iter().map(|class| u8::from(class).to_string()).collect::<Vec<_>>().join(", ");
    // A card refuses an END with such a class, so an accepted one is a false record.
    let code = if opcode == Opcode::End { Code::RecordAnswer } else { Code::ClassOmitted };
    findings.require(omitted == ClassSet::EMPTY, code, || {
        format!("the host did not describe class {} at {at}, which the card found", names())
    });
    findings
}
