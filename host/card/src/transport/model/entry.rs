//! The entry checks in the order of the fault codes, with the rules of `entry_faults` in `rtl/pkg/gate_pkg.sv`.

use portcullis_core::wire::{
    BASIS_POINTS_MAX, Descriptor, EnumerationColumn, Fault, ImageHeader, LAYOUT_VERSION, Opcode, RangeColumn,
    StageOutcome, fields_touched, flags, image_parts,
};
use zerocopy::IntoBytes;

/// The fields that must stay equal within a stream: domain, audience, register, epistemic mode.
type Context = [u8; 4];

#[derive(Debug, Clone, Copy)]
pub(super) struct CardModelStream {
    next: u32,
    /// Context of the first accepted GATE.
    context: Option<Context>,
}

/// A stream slot: `Some` while open.
pub(super) type Slot = Option<CardModelStream>;

/// The first fault of `entry`, or none. `slot` is the entry's slot in the lane's stream table, `None` if the lane does
/// not have that slot.
pub(super) fn first_fault(entry: &Descriptor, header: &ImageHeader, slot: Option<Slot>) -> Fault {
    if entry.crc.get() != entry.computed_crc() {
        return Fault::Crc;
    }
    if entry.version != LAYOUT_VERSION {
        return Fault::Version;
    }
    let Ok(opcode) = Opcode::try_from(entry.opcode) else { return Fault::Opcode };
    let body = if opcode == Opcode::Gate { gate_fault(entry, header) } else { digest_fault(entry) };
    if body != Fault::None {
        return body;
    }
    stream_fault(entry, opcode, slot)
}

/// Check of BEGIN, END and NOTE: bytes 8 to 91 are for GATE only and must be zero.
fn digest_fault(entry: &Descriptor) -> Fault {
    let unused = entry.as_bytes().get(8..92).unwrap_or(&[1]);
    if unused.iter().all(|byte| *byte == 0) { Fault::None } else { Fault::Reserved }
}

fn gate_fault(d: &Descriptor, header: &ImageHeader) -> Fault {
    let set = u16::from(d.flags);
    let text_lane = u16::from(header.parts) & image_parts::TEXT != 0;
    let call_fits = set & flags::CALL == 0 || text_lane && set & flags::INERT_PREFIX == 0;
    let known_fields = u16::from(d.fields_touched) & !fields_touched::ALL == 0;
    if !d.reserved_is_zero() || set & !flags::ALL != 0 || !call_fits || !known_fields {
        return Fault::Reserved;
    }
    let enumerations = EnumerationColumn::ALL.iter().all(|column| {
        let value = 1u32.checked_shl(column.value(d).into());
        value.is_some_and(|bit| column.declared(header) & bit != 0)
    });
    if !enumerations {
        return Fault::Enumeration;
    }
    if (d.classes.get() | d.established.get()) & !header.classes.get() != 0 {
        return Fault::Class;
    }
    let known = u16::from(d.flags) & flags::UNCERTAINTY_KNOWN != 0;
    let is_fraction = |column: &RangeColumn| column.value(d) <= BASIS_POINTS_MAX.into();
    if !RangeColumn::FRACTIONS.iter().all(is_fraction) || (!known && d.uncertainty.get() != BASIS_POINTS_MAX) {
        return Fault::BasisPoints;
    }
    let absent = |(slot, value): (usize, i32)| d.quantity_present >> slot & 1 == 0 && value != 0;
    if d.quantity_present & !header.quantities != 0 || d.quantities.iter().map(|q| q.get()).enumerate().any(absent) {
        return Fault::Quantity;
    }
    let stage = |outcome: u8, reason: u8| match StageOutcome::try_from(outcome) {
        Ok(StageOutcome::Pass) => reason == 0,
        Ok(StageOutcome::Reject | StageOutcome::Decompose) => true,
        Err(_) => false,
    };
    if !stage(d.validation_outcome, d.validation_reason) || !stage(d.lineage_outcome, d.lineage_reason) {
        return Fault::StageCode;
    }
    Fault::None
}

fn stream_fault(entry: &Descriptor, opcode: Opcode, slot: Option<Slot>) -> Fault {
    let sequence = entry.sequence.get();
    let Some(slot) = slot else { return Fault::Slot };
    match (opcode, slot) {
        (Opcode::Begin, None) if sequence == 0 => Fault::None,
        (Opcode::Begin, None) => Fault::Sequence,
        (Opcode::Begin, Some(_)) | (_, None) => Fault::Slot,
        (_, Some(stream)) if sequence != stream.next => Fault::Sequence,
        // With the greatest sequence number only END is accepted, so that the counter never wraps.
        (Opcode::Gate | Opcode::Note, Some(_)) if sequence == u32::MAX => Fault::Sequence,
        (Opcode::Gate, Some(stream)) if stream.context.is_some_and(|first| first != context(entry)) => Fault::Context,
        (Opcode::Gate | Opcode::Note | Opcode::End, Some(_)) => Fault::None,
    }
}

fn context(entry: &Descriptor) -> Context {
    [entry.domain, entry.audience, entry.register, entry.epistemic]
}

/// The slot after an accepted entry.
pub(super) fn slot_after(entry: &Descriptor, slot: Slot) -> Slot {
    let next = entry.sequence.get().wrapping_add(1);
    let context = match Opcode::try_from(entry.opcode).ok()? {
        Opcode::Begin => None,
        Opcode::Gate => Some(context(entry)),
        Opcode::Note => slot.and_then(|stream| stream.context),
        Opcode::End => return None,
    };
    Some(CardModelStream { next, context })
}
