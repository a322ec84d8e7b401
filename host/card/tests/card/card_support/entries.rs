//! Random entries: valid GATEs for a header, and ways to break them.

use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{Descriptor, ImageHeader, Opcode, flags};
use zerocopy::little_endian::{I32, U16, U32, U128};
use zerocopy::{FromBytes, IntoBytes};

use super::Random;
use super::tables::{QUANTITIES, SCALARS};

/// The entry in another context, given by `number`. Within a stream, the context must stay the same.
pub fn in_context(entry: Descriptor, header: &ImageHeader, number: u64) -> Descriptor {
    let mut random = Random::new(number);
    let mut value = |mask: U32| random.below(mask.get().count_ones() as usize) as u8;
    let (domain, audience) = (value(header.domain), value(header.audience));
    let register = value(header.register);
    Descriptor { domain, audience, register, epistemic: random.below(3) as u8, ..entry }
}

/// A GATE that is valid for this header; all GATEs have the same context. Place and CRC are not set.
pub fn gate(random: &mut Random, header: &ImageHeader) -> Descriptor {
    let temporal = random.below(header.temporal.get().count_ones() as usize) as u8;
    let mut fraction = || U16::new(*random.pick(&SCALARS[..11]));
    let (novelty, certainty, content_deviation) = (fraction(), fraction(), fraction());
    let (certainty_divergence, register_divergence, engine) = (fraction(), fraction(), fraction());
    let known = random.one_in(2);
    let present = random.bits() as u8 & header.quantities;
    let quantity =
        |slot: usize, random: &mut Random| if present >> slot & 1 == 1 { *random.pick(&QUANTITIES) } else { 0 };
    let mut stage = || {
        let outcome = *random.pick(&[1, 1, 1, 1, 2, 3]);
        (outcome, if outcome == 1 { 0 } else { random.bits() as u8 })
    };
    let (validation, lineage) = (stage(), stage());
    let gate = Descriptor {
        flags: u8::from(random.one_in(2)) | if known { flags::UNCERTAINTY_KNOWN as u8 } else { 0 },
        temporal,
        category: random.below(6) as u8,
        granularity: random.below(3) as u8,
        anchor: random.below(4) as u8,
        fields_touched: random.bits() as u8 & 0x7f,
        novelty,
        uncertainty: if known { engine } else { U16::new(10_000) },
        certainty,
        content_deviation,
        certainty_divergence,
        register_divergence,
        trust_slope: U16::new(*random.pick(&SCALARS)),
        length: U16::new(*random.pick(&SCALARS)),
        depth: *random.pick(&[0, 0, 1, 2, 3, 255]),
        alternatives: *random.pick(&[0, 0, 1, 2, 3, 255]),
        correction: *random.pick(&[0, 0, 1, 2, 3, 255]),
        quantity_present: present,
        classes: U128::new(random.sparse(header.classes.get())),
        established: U128::new(random.sparse(header.classes.get())),
        quantities: std::array::from_fn(|slot| I32::new(quantity(slot, random))),
        validation_outcome: validation.0,
        validation_reason: validation.1,
        lineage_outcome: lineage.0,
        lineage_reason: lineage.1,
        ..Descriptor::entry(
            Opcode::Gate,
            SlotSequence { slot: 0, sequence: 0 },
            std::array::from_fn(|_| random.bits() as u8),
        )
    };
    in_context(gate, header, header.classes.get() as u64)
}

/// The entry with this slot and sequence, and with a valid CRC.
pub fn placed(entry: Descriptor, slot: u16, sequence: u32) -> Descriptor {
    Descriptor { slot: U16::new(slot), sequence: U32::new(sequence), ..entry }.sealed()
}

/// Breaks the entry, usually in a single field with a matching CRC. The result may still be valid; the card's rules
/// decide.
pub fn break_entry(random: &mut Random, entry: &Descriptor) -> Descriptor {
    let mut bytes: [u8; Descriptor::BYTES] = entry.as_bytes().try_into().unwrap();
    match random.below(8) {
        0 => {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
            return Descriptor::read_from_bytes(&bytes).unwrap();
        }
        1 => bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8),
        2 => bytes = [0; Descriptor::BYTES],
        3 => bytes[1] = random.below(7) as u8,
        4 => {
            let (at, value) = *random.pick(&[(2, 1), (3, 4), (4, 1), (4, 255), (7, 255)]);
            bytes[at] = bytes[at].wrapping_add(value);
        }
        _ => {
            let at = random.below(Descriptor::BYTES - 4);
            bytes[at] = *random.pick(&[0, 1, 2, 4, 6, 32, 39, 128, 255]);
        }
    }
    Descriptor::read_from_bytes(&bytes).unwrap().sealed()
}
