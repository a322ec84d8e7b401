//! A small image with known answers, and descriptors that fit an image, for the self-test and the benchmark.

use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{
    BASIS_POINTS_MAX, Descriptor, EnumerationColumn, IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, MAP_DIGEST, Opcode,
    RangeColumn, Row, RowKind, StageOutcome, flags,
};
use portcullis_image::{ImageError, TableImage};
use zerocopy::little_endian::{U16, U32, U128};

pub(crate) const CLASS_REJECT: u128 = 1 << 0;
pub(crate) const CLASS_DECOMPOSE: u128 = 1 << 1;
pub(crate) const CLASS_FREE: u128 = 1 << 2;
/// Depth at which the image rejects instead of decomposing.
pub(crate) const MAX_DEPTH: u8 = 2;
/// Largest uncertainty that the image's entropy bank accepts.
pub(crate) const UNCERTAINTY_MAX: u16 = 2_000;

/// A row that matches every entry.
fn row(header: &ImageHeader, kind: RowKind, rule: u16) -> Row {
    let mut row = Row { kind: kind.into(), rule: U16::new(rule), ..Row::ZERO };
    for column in EnumerationColumn::ALL {
        column.set_allowed(&mut row, column.declared(header));
    }
    for column in RangeColumn::ALL {
        column.set_range(&mut row, column.wire_limits());
    }
    row
}

fn header() -> ImageHeader {
    ImageHeader {
        magic: U32::new(IMAGE_MAGIC),
        version: LAYOUT_VERSION,
        max_depth: MAX_DEPTH,
        quantities: 1,
        temporal: U32::new(0b1),
        domain: U32::new(0b11),
        audience: U32::new(0b1),
        register: U32::new(0b1),
        classes: U128::new(CLASS_REJECT | CLASS_DECOMPOSE | CLASS_FREE),
        map_digest: MAP_DIGEST,
        ..ImageHeader::ZERO
    }
}

pub(crate) fn image() -> Result<TableImage, ImageError> {
    let header = header();
    let with = |class: u128, kind, rule| Row { classes_all: U128::new(class), ..row(&header, kind, rule) };
    let policy = [
        with(CLASS_REJECT, RowKind::ForbidReject, 0),
        with(CLASS_DECOMPOSE, RowKind::ForbidDecompose, 1),
        row(&header, RowKind::Permit, 2),
    ];
    let mut uncertain = row(&header, RowKind::ForbidReject, 0);
    RangeColumn::Uncertainty.set_range(&mut uncertain, (i64::from(UNCERTAINTY_MAX) + 1, u16::MAX.into()));
    TableImage::new(header, &policy, &[uncertain, row(&header, RowKind::Permit, 1)])
}

/// An image with the given numbers of rows. In each bank, forbid rows that rarely match come first, and a permit row
/// last.
pub(crate) fn full_image(policy: u16, entropy: u16) -> Result<TableImage, ImageError> {
    let header = header();
    let bank = |rows: u16| -> Vec<Row> {
        let forbid = |number: u16| {
            let mut forbid =
                Row { classes_all: U128::new(CLASS_REJECT), ..row(&header, RowKind::ForbidReject, number) };
            // Each row tests a different novelty value, so no two rows are equal.
            RangeColumn::Novelty.set_range(&mut forbid, (number.into(), u16::MAX.into()));
            forbid
        };
        (1..rows).map(forbid).chain([row(&header, RowKind::Permit, rows)]).collect()
    };
    TableImage::new(header, &bank(policy), &bank(entropy))
}

/// A GATE that the known image admits; its CRC is not set.
pub(crate) fn gate() -> Descriptor {
    Descriptor {
        flags: flags::UNCERTAINTY_KNOWN as u8,
        length: U16::new(40),
        validation_outcome: StageOutcome::Pass.into(),
        lineage_outcome: StageOutcome::Pass.into(),
        ..Descriptor::entry(Opcode::Gate, SlotSequence { slot: 0, sequence: 0 }, [0x5a; 32])
    }
}

/// `count` GATEs that are valid under `image`, spread over its declarations by a fixed random sequence. Slot, sequence
/// and CRC are zero; the caller must set them.
pub(crate) fn gates(image: &TableImage, count: usize) -> Vec<Descriptor> {
    let header = image.header();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: u32| -> u32 {
        // xorshift64*, Vigna 2016.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let high = (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32;
        ((u64::from(high) * u64::from(below)) >> 32) as u32
    };
    let classes = header.classes.get();
    (0..count)
        .map(|_| {
            // The set bits of a mask of declared values are its lowest bits.
            let mut value = |mask: U32| next(mask.get().count_ones().max(1)) as u8;
            let (temporal, domain) = (value(header.temporal), value(header.domain));
            let (audience, register) = (value(header.audience), value(header.register));
            let mut sparse = || {
                let bits = u128::from(next(1 << 31)) | u128::from(next(1 << 31)) << 64;
                bits & bits >> 3 & bits >> 5 & classes
            };
            let (some, established) = (sparse(), sparse());
            let mut fraction = || U16::new(next(u32::from(BASIS_POINTS_MAX) + 1) as u16);
            Descriptor {
                temporal,
                domain,
                audience,
                register,
                classes: U128::new(some),
                established: U128::new(established),
                novelty: fraction(),
                uncertainty: fraction(),
                certainty: fraction(),
                content_deviation: fraction(),
                certainty_divergence: fraction(),
                register_divergence: fraction(),
                category: next(6) as u8,
                granularity: next(3) as u8,
                epistemic: next(3) as u8,
                anchor: next(4) as u8,
                depth: next(3) as u8,
                ..gate()
            }
        })
        .collect()
}
