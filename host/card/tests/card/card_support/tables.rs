//! Random tables: any row that can be encoded, canonical or not. Many columns have no condition, so that rows match.

use portcullis_card::CardTables;
use portcullis_core::wire::{IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, MAP_DIGEST, Row};
use portcullis_image::ImageEvaluator;
use zerocopy::little_endian::{I32, U16, U32, U128};

use super::Random;

/// Numbers that are bounds of ranges, and the numbers next to them.
pub const SCALARS: [u16; 12] = [0, 1, 2, 1199, 1200, 1201, 4999, 5000, 5001, 9999, 10_000, u16::MAX];
pub const QUANTITIES: [i32; 11] = [i32::MIN, i32::MIN + 1, -2, -1, 0, 1, 99, 100, 101, i32::MAX - 1, i32::MAX];

pub struct World {
    pub header: ImageHeader,
    pub policy: Vec<Row>,
    pub entropy: Vec<Row>,
}

impl World {
    /// Random tables with these numbers of rows.
    pub fn random(random: &mut Random, policy_rows: usize, entropy_rows: usize) -> Self {
        let mut declared = || U32::new(u32::MAX >> random.below(32));
        let (temporal, domain, audience, register) = (declared(), declared(), declared(), declared());
        let header = ImageHeader {
            magic: U32::new(IMAGE_MAGIC),
            version: LAYOUT_VERSION,
            max_depth: random.below(4) as u8,
            quantities: (1u8 << random.below(5)) - 1,
            policy_rows: U16::new(policy_rows as u16),
            entropy_rows: U16::new(entropy_rows as u16),
            temporal,
            domain,
            audience,
            register,
            classes: U128::new(u128::MAX >> random.below(128)),
            map_digest: MAP_DIGEST,
            package_digest: std::array::from_fn(|i| i as u8),
            ..ImageHeader::ZERO
        };
        let policy = (0..policy_rows).map(|_| row(random, &header)).collect();
        let entropy = (0..entropy_rows).map(|_| row(random, &header)).collect();
        Self { header, policy, entropy }
    }

    pub fn tables(&self) -> CardTables<'_> {
        CardTables { header: &self.header, text: None, policy: &self.policy, entropy: &self.entropy }
    }

    pub fn evaluator(&self) -> ImageEvaluator {
        ImageEvaluator::of_rows(&self.policy, &self.entropy, self.header.max_depth)
    }
}

/// A row without a condition.
pub fn open_row(kind: u8) -> Row {
    let (none, any) = (U16::new(0), U16::new(u16::MAX));
    let (low, high) = (I32::new(i32::MIN), I32::new(i32::MAX));
    Row {
        kind,
        small_enums: any,
        depth: [0, 255],
        alternatives: [0, 255],
        correction: [0, 255],
        temporal: U32::new(u32::MAX),
        domain: U32::new(u32::MAX),
        audience: U32::new(u32::MAX),
        register: U32::new(u32::MAX),
        scalars: [none, any, none, any, none, any, none, any, none, any, none, any, none, any, none, any],
        quantities: [low, high, low, high, low, high, low, high],
        ..Row::ZERO
    }
}

/// A row with about three random conditions; sometimes its kind never matches.
fn row(random: &mut Random, header: &ImageHeader) -> Row {
    let mut row = open_row(*random.pick(&[1, 1, 1, 1, 2, 2, 3, 3, 0, 4]));
    row.rule = U16::new(random.bits() as u16);
    for _ in 0..random.below(6) {
        condition(random, header, &mut row);
    }
    row
}

fn condition(random: &mut Random, header: &ImageHeader, row: &mut Row) {
    let classes = header.classes.get();
    match random.below(12) {
        0 => row.small_enums = U16::new(row.small_enums.get() & (random.bits() | random.bits()) as u16),
        1 => row.temporal = U32::new((random.bits() | random.bits()) as u32),
        2 => row.domain = U32::new((random.bits() | random.bits()) as u32),
        3 => row.audience = U32::new((random.bits() | random.bits()) as u32),
        4 => row.register = U32::new((random.bits() | random.bits()) as u32),
        5 => {
            row.bits_mask = random.bits() as u8 & random.bits() as u8 & 0x3f;
            row.bits_value = random.bits() as u8 & row.bits_mask;
        }
        6 => {
            row.touched_all = random.sparse(0x7f) as u8;
            row.touched_any = if random.one_in(2) { 0 } else { random.bits() as u8 & 0x7f };
            row.touched_none = random.sparse(0x7f) as u8;
        }
        7 => {
            row.classes_all = U128::new(random.sparse(classes) & random.wide());
            row.classes_any = U128::new(if random.one_in(2) { 0 } else { random.wide() & classes });
            row.classes_none = U128::new(random.sparse(classes) & random.wide());
        }
        8 => {
            row.established_all = U128::new(random.sparse(classes) & random.wide());
            row.established_any = U128::new(if random.one_in(2) { 0 } else { random.wide() & classes });
            row.established_none = U128::new(random.sparse(classes) & random.wide());
        }
        9 => {
            let range = match random.below(3) {
                0 => &mut row.depth,
                1 => &mut row.alternatives,
                _ => &mut row.correction,
            };
            *range = [*random.pick(&[0, 0, 1, 2]), *random.pick(&[0, 1, 2, 3, 255])];
        }
        10 => {
            let at = random.below(8) * 2;
            let (low, high) = (*random.pick(&SCALARS), *random.pick(&SCALARS));
            // Sometimes the range is empty and never matches.
            let (low, high) = if random.one_in(16) { (low, high) } else { (low.min(high), low.max(high)) };
            row.scalars[at] = U16::new(low);
            row.scalars[at + 1] = U16::new(high);
        }
        _ => {
            let at = random.below(4) * 2;
            let (low, high) = (*random.pick(&QUANTITIES), *random.pick(&QUANTITIES));
            row.quantities[at] = I32::new(low.min(high));
            row.quantities[at + 1] = I32::new(low.max(high));
        }
    }
}

impl World {
    /// A permit without a condition.
    pub fn permit() -> Row {
        open_row(1)
    }

    pub fn permitting() -> Self {
        let mut world = Self::random(&mut Random::new(0x9e), 1, 1);
        world.policy[0] = Self::permit();
        world.entropy[0] = Self::permit();
        world
    }
}
