//! Compares the classes in a descriptor with the classes that the card found in the text. Needs only the record.

use crate::verify::check::image::BundleImage;
use crate::verify::code::Code;
use crate::verify::findings::{At, VerifyFindings};
use portcullis_core::class::ClassSet;
use portcullis_core::wire::{Fault, Opcode, Record};

/// The classes outside `opening` that the card found and the host did not describe. The classes in `opening` count only
/// if host and card find them, so a host gains nothing if it omits them. `kept`: no rollback can remove admitted text
/// of the stream. Only then the host must describe the established classes, because a rollback removes them with the
/// text.
fn omitted(opcode: Opcode, record: &Record, opening: u128, kept: bool) -> ClassSet {
    let (entry, answer) = (&record.descriptor, &record.answer);
    let before = if kept && opcode == Opcode::Gate { answer.text_established.get() } else { 0 };
    let here = answer.text_classes.get() & !entry.classes.get();
    ClassSet((here | before & !entry.established.get()) & !opening)
}

/// Checks an accepted GATE or END. `kept`: no rollback can remove admitted text of the stream.
pub(crate) fn check(
    at: At,
    opcode: Opcode,
    record: &Record,
    kept: bool,
    image: Option<&BundleImage>,
) -> VerifyFindings {
    let mut findings = VerifyFindings::default();
    let Some(text) = image.and_then(|image| image.tables.text()) else { return findings };
    let omitted = omitted(opcode, record, text.opening.get(), kept);
    let names = || omitted.iter().map(|class| u8::from(class).to_string()).collect::<Vec<_>>().join(", ");
    // A card refuses an END with such a class, so an accepted one is a false record.
    let code = if opcode == Opcode::End { Code::RecordAnswer } else { Code::ClassOmitted };
    findings.require(omitted == ClassSet::EMPTY, code, || {
        format!("the host did not describe class {} at {at}, which the card found", names())
    });
    findings
}

/// Checks why the card refused an entry. A gate shows the text to which it committed, in one piece, and holds no text
/// at an END that a rule forbids. So these faults come from a false description, or from broken memory.
pub(crate) fn refusal(at: At, fault: Fault) -> VerifyFindings {
    let what = match fault {
        Fault::TextForm => "its length, a flag or its UTF-8 is not as described",
        Fault::TextCommitment => "it is not the text to which the host committed",
        Fault::TextEnd => "its last bytes complete a match that a rule forbids",
        _ => return VerifyFindings::default(),
    };
    VerifyFindings::unless(false, Code::TextRefused, || format!("the card refused the text of {at}: {what}"))
}
