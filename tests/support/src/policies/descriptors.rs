//! Descriptors for a case. Some are made to match a row of the case, and then one or two fields change. The others take
//! values from the policy's constants, from their neighbours, and from the ends of the encodable range.

use super::{Case, Constants};
use crate::random::Random;
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{
    Descriptor, EnumerationColumn, FlagColumn, ImageHeader, Opcode, RangeColumn, Row, SetColumn, flags, row_bits,
};
use zerocopy::little_endian::{I32, U16};

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
        let place = SlotSequence { slot: 0, sequence: self.sequence };
        let mut d = Descriptor::entry(Opcode::Gate, place, [self.random.bits() as u8; 32]);
        let parts = DescriptorPart::all();
        for part in &parts {
            self.draw(&mut d, *part);
        }
        if self.random.chance(3, 5) {
            let row = *self.random.pick(&self.rows);
            self.aim(&mut d, &row);
            // Changes up to two fields, so that the descriptor may just miss the row.
            for _ in 0..self.random.below(3) {
                let part = *self.random.pick(&parts);
                self.draw(&mut d, part);
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

/// A part of a descriptor that is drawn by itself.
#[derive(Clone, Copy)]
enum DescriptorPart {
    Enumeration(EnumerationColumn),
    Flags,
    Presence,
    Set(SetColumn),
    Range(RangeColumn),
    Validation,
    Lineage,
}

impl DescriptorPart {
    fn all() -> Vec<Self> {
        let enumerations = EnumerationColumn::ALL.into_iter().map(Self::Enumeration);
        let sets = SetColumn::ALL.into_iter().map(Self::Set);
        let ranges = RangeColumn::ALL.into_iter().map(Self::Range);
        let parts = enumerations.chain([Self::Flags, Self::Presence]).chain(sets).chain(ranges);
        parts.chain([Self::Validation, Self::Lineage]).collect()
    }
}

impl Descriptors<'_> {
    fn draw(&mut self, d: &mut Descriptor, part: DescriptorPart) {
        match part {
            DescriptorPart::Enumeration(EnumerationColumn::Anchor) => {
                d.anchor = *self.random.pick(&[0, 1, 1, 1, 2, 3]);
            }
            DescriptorPart::Enumeration(column) => {
                let value = self.declared(column.declared(&self.header));
                column.set_value(d, value);
            }
            DescriptorPart::Flags => d.flags = self.random.below(1 << FlagColumn::ALL.len()) as u8,
            DescriptorPart::Presence => d.quantity_present = self.random.bits() as u8 & self.header.quantities,
            DescriptorPart::Set(column) => {
                let members = self.set(column, column.declared(&self.header));
                column.set_value(d, members);
            }
            DescriptorPart::Range(column) => {
                let value = self.number(column);
                column.set_value(d, value);
            }
            DescriptorPart::Validation => (d.validation_outcome, d.validation_reason) = self.stage(),
            DescriptorPart::Lineage => (d.lineage_outcome, d.lineage_reason) = self.stage(),
        }
    }

    fn declared(&mut self, mask: u32) -> u8 {
        self.random.below(mask.count_ones() as usize) as u8
    }

    fn set(&mut self, column: SetColumn, declared: u128) -> u128 {
        let literals = &self.constants.sets[column.index()];
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

    fn number(&mut self, column: RangeColumn) -> i64 {
        let (low, high) = column.limits();
        let constants = &self.constants.ranges[column.index()];
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
        for column in EnumerationColumn::ALL {
            column.set_value(d, bit_of(&mut self.random, column.allowed(row).into()));
        }
        let own = |bits: u8| bits & ((1 << row_bits::QUANTITY_BIT) - 1);
        d.flags = d.flags & !own(row.bits_mask) | own(row.bits_value);
        let present = |bits: u8| bits >> row_bits::QUANTITY_BIT;
        d.quantity_present = d.quantity_present & !present(row.bits_mask) | present(row.bits_value);
        for column in SetColumn::ALL {
            let masks = column.conditions(row);
            let mut members = (column.value(d) | masks.all) & !masks.none;
            if masks.any != 0 && members & masks.any == 0 {
                members |= 1 << bit_of(&mut self.random, masks.any);
            }
            column.set_value(d, members);
        }
        for column in RangeColumn::ALL {
            let (low, high) = column.range(row);
            let (first, last) = column.limits();
            let (low, high) = (low.max(first), high.min(last));
            if (low, high) != (first, last) && low <= high {
                let value = match self.random.below(3) {
                    0 => low,
                    1 => high,
                    _ => self.random.between(low, high),
                };
                column.set_value(d, value);
            }
        }
    }
}

fn bit_of(random: &mut Random, mask: u128) -> u8 {
    let bits: Vec<u8> = (0..128).filter(|bit| mask >> bit & 1 == 1).collect();
    *random.pick(&bits)
}
