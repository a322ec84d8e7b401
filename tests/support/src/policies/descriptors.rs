//! Descriptors for a case. Some are made to match a row of the case, and then one or two fields change. The others take
//! values from the policy's constants, from their neighbours, and from the ends of the encodable range.

use super::{Case, Constants};
use crate::random::Random;
use portcullis_core::mutation::Place;
use portcullis_core::wire::{Descriptor, ImageHeader, Opcode, Row, flags, small_enums};
use zerocopy::little_endian::{I32, U16, U128};

/// An endless sequence of valid descriptors for a case.
#[derive(Debug)]
pub struct Descriptors<'a> {
    random: Random,
    rows: Vec<Row>,
    header: ImageHeader,
    constants: &'a Constants,
    sequence: u32,
}

impl<'a> Descriptors<'a> {
    pub(super) fn new(case: &'a Case) -> Self {
        let image = &case.compiled.image;
        Self {
            random: Random::new(case.seed ^ 0xde5c_0000_0000),
            rows: image.policy_rows().iter().chain(image.entropy_rows()).copied().collect(),
            header: *image.header(),
            constants: &case.constants,
            sequence: 0,
        }
    }
}

impl Iterator for Descriptors<'_> {
    type Item = Descriptor;

    fn next(&mut self) -> Option<Descriptor> {
        self.sequence += 1;
        let place = Place { slot: 0, sequence: self.sequence };
        let mut d = Descriptor::entry(Opcode::Gate, place, [self.random.bits() as u8; 32]);
        for field in 0..FIELDS {
            self.draw(&mut d, field);
        }
        if self.random.chance(3, 5) {
            let row = *self.random.pick(&self.rows);
            self.aim(&mut d, &row);
            // Changes up to two fields, so that the descriptor may just miss the row.
            for _ in 0..self.random.below(3) {
                let field = self.random.below(FIELDS);
                self.draw(&mut d, field);
            }
        }
        if d.flags & flags::UNCERTAINTY_KNOWN as u8 == 0 {
            d.uncertainty = U16::new(10_000);
        }
        for (slot, value) in d.quantities.iter_mut().enumerate() {
            if d.quantity_present >> slot & 1 == 0 {
                *value = I32::ZERO;
            }
        }
        Some(d.sealed())
    }
}

/// Number of independent fields: eight enumerations, flags, presence, three sets, fifteen ranges, two host stages.
const FIELDS: usize = 30;

impl Descriptors<'_> {
    fn draw(&mut self, d: &mut Descriptor, field: usize) {
        match field {
            0 => d.category = self.random.below(6) as u8,
            1 => d.granularity = self.random.below(3) as u8,
            2 => d.epistemic = self.random.below(3) as u8,
            3 => d.anchor = *self.random.pick(&[0, 1, 1, 1, 2, 3]),
            4 => d.temporal = self.declared(self.header.temporal.get()),
            5 => d.domain = self.declared(self.header.domain.get()),
            6 => d.audience = self.declared(self.header.audience.get()),
            7 => d.register = self.declared(self.header.register.get()),
            8 => d.flags = self.random.below(4) as u8,
            9 => d.quantity_present = self.random.bits() as u8 & self.header.quantities,
            10 => d.fields_touched = self.set(0, 0x7f) as u8,
            11 => d.classes = U128::new(self.set(1, self.header.classes.get())),
            12 => d.established = U128::new(self.set(2, self.header.classes.get())),
            13..=27 => {
                let column = field - 13;
                let value = self.number(column);
                set_range(d, column, value);
            }
            28 => (d.validation_outcome, d.validation_reason) = self.stage(),
            _ => (d.lineage_outcome, d.lineage_reason) = self.stage(),
        }
    }

    fn declared(&mut self, mask: u32) -> u8 {
        self.random.below(mask.count_ones() as usize) as u8
    }

    fn set(&mut self, column: usize, declared: u128) -> u128 {
        let literals = &self.constants.sets[column];
        let value = match self.random.below(6) {
            0 => 0,
            1 => u128::MAX,
            2 => self.random.wide(),
            3 => self.random.wide() & self.random.wide() & self.random.wide(),
            _ if !literals.is_empty() => {
                // A literal of the policy, or a set that has one member more or less than a literal.
                let literal = *self.random.pick(literals);
                let members = declared.count_ones() as usize;
                if self.random.chance(1, 2) { literal } else { literal ^ 1 << self.random.below(members) }
            }
            _ => self.random.wide() & self.random.wide(),
        };
        value & declared
    }

    fn number(&mut self, column: usize) -> i64 {
        let (low, high) = wire_range(column);
        let constants = &self.constants.ranges[column];
        let value = match self.random.below(6) {
            0 => low,
            1 => high,
            2..=4 if !constants.is_empty() => {
                self.random.pick(constants).saturating_add([-1, 0, 1][self.random.below(3)])
            }
            _ => self.random.between(low, high),
        };
        value.clamp(low, high)
    }

    /// The stage mostly passes, because otherwise stage 2 would decide everything.
    fn stage(&mut self) -> (u8, u8) {
        *self.random.pick(&[(1, 0), (1, 0), (1, 0), (1, 0), (2, 1), (3, 1)])
    }

    /// Sets the fields that `row` constrains so that the row matches; half of the time, to values at the row's bounds.
    fn aim(&mut self, d: &mut Descriptor, row: &Row) {
        let small = row.small_enums.get();
        let group = |random: &mut Random, mask: u16, bit: u32| bit_of(random, u128::from((small & mask) >> bit));
        d.category = group(&mut self.random, small_enums::CATEGORY, small_enums::CATEGORY_BIT);
        d.granularity = group(&mut self.random, small_enums::GRANULARITY, small_enums::GRANULARITY_BIT);
        d.epistemic = group(&mut self.random, small_enums::EPISTEMIC, small_enums::EPISTEMIC_BIT);
        d.anchor = group(&mut self.random, small_enums::ANCHOR, small_enums::ANCHOR_BIT);
        d.temporal = bit_of(&mut self.random, row.temporal.get().into());
        d.domain = bit_of(&mut self.random, row.domain.get().into());
        d.audience = bit_of(&mut self.random, row.audience.get().into());
        d.register = bit_of(&mut self.random, row.register.get().into());
        d.flags = d.flags & !row.bits_mask | row.bits_value & 3;
        d.quantity_present = d.quantity_present & !(row.bits_mask >> 2) | row.bits_value >> 2;
        let mut meet = |value: u128, all: u128, any: u128, none: u128| {
            let value = (value | all) & !none;
            if any != 0 && value & any == 0 { value | 1 << bit_of(&mut self.random, any) } else { value }
        };
        d.fields_touched =
            meet(d.fields_touched.into(), row.touched_all.into(), row.touched_any.into(), row.touched_none.into())
                as u8;
        let (all, any, none) = (row.classes_all.get(), row.classes_any.get(), row.classes_none.get());
        d.classes = U128::new(meet(d.classes.get(), all, any, none));
        let (all, any, none) = (row.established_all.get(), row.established_any.get(), row.established_none.get());
        d.established = U128::new(meet(d.established.get(), all, any, none));
        for column in 0..15 {
            let (low, high) = row_range(row, column);
            let (first, last) = wire_range(column);
            let (low, high) = (low.max(first), high.min(last));
            if (low, high) != (first, last) && low <= high {
                let value = match self.random.below(3) {
                    0 => low,
                    1 => high,
                    _ => self.random.between(low, high),
                };
                set_range(d, column, value);
            }
        }
    }
}

fn bit_of(random: &mut Random, mask: u128) -> u8 {
    let bits: Vec<u8> = (0..128).filter(|bit| mask >> bit & 1 == 1).collect();
    *random.pick(&bits)
}

fn wire_range(column: usize) -> (i64, i64) {
    match column {
        0..=2 => (0, 255),
        3..=8 => (0, 10_000),
        9 | 10 => (0, 65_535),
        _ => (i32::MIN.into(), i32::MAX.into()),
    }
}

fn row_range(row: &Row, column: usize) -> (i64, i64) {
    match column {
        0 => (row.depth[0].into(), row.depth[1].into()),
        1 => (row.alternatives[0].into(), row.alternatives[1].into()),
        2 => (row.correction[0].into(), row.correction[1].into()),
        3..=10 => (row.scalars[2 * (column - 3)].get().into(), row.scalars[2 * (column - 3) + 1].get().into()),
        _ => (row.quantities[2 * (column - 11)].get().into(), row.quantities[2 * (column - 11) + 1].get().into()),
    }
}

fn set_range(d: &mut Descriptor, column: usize, value: i64) {
    let wide = U16::new(value as u16);
    match column {
        0 => d.depth = value as u8,
        1 => d.alternatives = value as u8,
        2 => d.correction = value as u8,
        3 => d.novelty = wide,
        4 => d.uncertainty = wide,
        5 => d.certainty = wide,
        6 => d.content_deviation = wide,
        7 => d.certainty_divergence = wide,
        8 => d.register_divergence = wide,
        9 => d.trust_slope = wide,
        10 => d.length = wide,
        _ => d.quantities[column - 11] = I32::new(value as i32),
    }
}
