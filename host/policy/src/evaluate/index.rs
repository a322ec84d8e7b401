//! Row bitmaps: for each column that some row has a condition on, the rows that accept each value. To judge a
//! descriptor, one bitmap per column is intersected, so the cost does not depend on where a row fails to match.
//!
//! A block has 256 rows (64 in a small bank). A block stores no bitmaps for columns without conditions in its rows. The
//! answer consists of the first set bit of each rule class in the intersection.

use super::BankAnswer;
use super::reference::{descriptor_bits, scalars};
use portcullis_core::wire::{Descriptor, ROW_NONE, Row, RowKind, small_enums};

/// Columns looked up by a value below 256: eight enumerations, bits, fields touched, three counters.
const BYTE_COLUMNS: usize = 13;
/// Columns that are ranges over wider integers: eight scalars, four quantities.
const WIDE_COLUMNS: usize = 12;
const NIBBLES: usize = 64;

/// A descriptor's values in the order of the columns.
pub(super) struct Key {
    bytes: [u8; BYTE_COLUMNS],
    wide: [i32; WIDE_COLUMNS],
    /// Classes in the span, then established classes.
    sets: [u128; 2],
}

impl Key {
    pub(super) fn of(d: &Descriptor) -> Self {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = scalars(d).map(i32::from);
        let [q0, q1, q2, q3] = d.quantities.map(|q| q.get());
        Self {
            bytes: [
                d.category,
                d.granularity,
                d.epistemic,
                d.anchor,
                d.temporal,
                d.domain,
                d.audience,
                d.register,
                descriptor_bits(d),
                d.fields_touched,
                d.depth,
                d.alternatives,
                d.correction,
            ],
            wide: [s0, s1, s2, s3, s4, s5, s6, s7, q0, q1, q2, q3],
            sets: [d.classes.get(), d.established.get()],
        }
    }

    fn nibble(&self, nibble: usize) -> usize {
        let set = self.sets.get(nibble / 32).copied().unwrap_or_default();
        (set >> (nibble % 32 * 4) & 0xf) as usize
    }
}

#[derive(Clone, Debug)]
pub(super) enum Index {
    /// At most 64 rows.
    Small(Box<Block<1>>),
    /// Any number of rows, in blocks of 256.
    Large(Vec<Block<4>>),
}

impl Index {
    pub(super) fn new(rows: &[Row]) -> Self {
        let rows = rows.get(..usize::from(ROW_NONE)).unwrap_or(rows);
        if rows.len() <= 64 {
            Self::Small(Box::new(Block::new(rows)))
        } else {
            Self::Large(rows.chunks(256).map(Block::new).collect())
        }
    }

    pub(super) fn evaluate(&self, key: &Key) -> BankAnswer {
        match self {
            Self::Small(block) => {
                let [reject, decompose, permit] = block.first_of_each_class(key);
                BankAnswer::of(reject, decompose, permit)
            }
            Self::Large(blocks) => {
                let mut first = [None; 3];
                for (block, base) in blocks.iter().zip((0u16..).step_by(256)) {
                    for (kept, found) in first.iter_mut().zip(block.first_of_each_class(key)) {
                        *kept = kept.or(found.map(|row| row + base));
                    }
                }
                let [reject, decompose, permit] = first;
                BankAnswer::of(reject, decompose, permit)
            }
        }
    }
}

/// A bitmap over the rows of a block.
type Rows<const W: usize> = [u64; W];

fn insert<const W: usize>(rows: &mut Rows<W>, row: usize) {
    if let Some(word) = rows.get_mut(row / 64) {
        *word |= 1 << (row % 64);
    }
}

fn intersect<const W: usize>(rows: &mut Rows<W>, with: &Rows<W>) {
    for (word, other) in rows.iter_mut().zip(with) {
        *word &= other;
    }
}

/// Up to 64·W rows.
#[derive(Clone, Debug)]
pub(super) struct Block<const W: usize> {
    /// Rows whose kind can match; empty rows cannot.
    live: Rows<W>,
    /// Rows that forbid with reject, rows that forbid with decompose, and rows that permit.
    classes: [Rows<W>; 3],
    byte_columns: Vec<ByteColumn<W>>,
    wide_columns: Vec<WideColumn<W>>,
    nibbles: Vec<Nibble<W>>,
    /// The `any` conditions, on classes and on established classes.
    choices: [Choice<W>; 2],
}

/// Rows that accept each value of a column; values beyond the table are not accepted.
#[derive(Clone, Debug)]
struct ByteColumn<const W: usize> {
    column: usize,
    accepted: Vec<Rows<W>>,
}

/// Rows that accept each segment of a column; segment i has the values from `starts[i - 1]` to below `starts[i]`.
#[derive(Clone, Debug)]
struct WideColumn<const W: usize> {
    column: usize,
    starts: Vec<i32>,
    accepted: Vec<Rows<W>>,
}

/// For each value of one nibble (four members) of a set, the rows whose `all` and `none` conditions accept that value.
#[derive(Clone, Debug)]
struct Nibble<const W: usize> {
    nibble: usize,
    accepted: [Rows<W>; 16],
}

#[derive(Clone, Debug)]
struct Choice<const W: usize> {
    /// Rows without an `any` condition.
    free: Rows<W>,
    /// For each nibble and each of its values, the rows whose `any` condition the value meets.
    found: Vec<Nibble<W>>,
}

impl<const W: usize> Block<W> {
    fn new(rows: &[Row]) -> Self {
        let select = |accepts: &dyn Fn(&Row) -> bool| {
            let mut selected = [0; W];
            rows.iter().enumerate().filter(|(_, row)| accepts(row)).for_each(|(at, _)| insert(&mut selected, at));
            selected
        };
        let kind = |kind: RowKind| select(&|row| row.kind == u8::from(kind));
        let classes = [RowKind::ForbidReject, RowKind::ForbidDecompose, RowKind::Permit].map(kind);
        let live = classes.iter().fold([0; W], |mut live, class| {
            live.iter_mut().zip(class).for_each(|(word, other)| *word |= other);
            live
        });
        let every = select(&|_| true);

        let byte_columns = (0..BYTE_COLUMNS).filter_map(|column| {
            let mut accepted: Vec<_> =
                (0..=u8::MAX).map(|value| select(&|row| byte_accepts(row, column, value))).collect();
            let used = accepted.iter().any(|rows| *rows != every);
            accepted.truncate(accepted.iter().rposition(|rows| *rows != [0; W]).map_or(0, |last| last + 1));
            used.then_some(ByteColumn { column, accepted })
        });
        let wide_columns = (0..WIDE_COLUMNS).filter_map(|column| {
            let ranges = || rows.iter().map(move |row| wide_range(row, column));
            let mut starts: Vec<i32> =
                ranges().flat_map(|(low, high)| [Some(low), high.checked_add(1)]).flatten().collect();
            starts.sort_unstable();
            starts.dedup();
            // The segment below the first start begins at the smallest integer.
            let accepted: Vec<_> = std::iter::once(i32::MIN)
                .chain(starts.iter().copied())
                .map(|value| select(&|row| wide_accepts(row, column, value)))
                .collect();
            accepted.iter().any(|rows| *rows != every).then_some(WideColumn { column, starts, accepted })
        });
        let nibble = |nibble: usize, accepts: &dyn Fn(&Row, u128, u128) -> bool| {
            let shift = nibble % 32 * 4;
            let table: Vec<_> =
                (0..16u128).map(|value| select(&|row| accepts(row, value << shift, 0xf << shift))).collect();
            Nibble { nibble, accepted: std::array::from_fn(|value| table.get(value).copied().unwrap_or([0; W])) }
        };
        let nibbles = (0..NIBBLES).map(|at| {
            nibble(at, &|row, value, mask| {
                let (all, _, none) = set_conditions(row, at / 32);
                value & all & mask == all & mask && value & none == 0
            })
        });
        let choice = |set: usize| Choice {
            free: select(&|row| set_conditions(row, set).1 == 0),
            found: (0..32)
                .map(|at| set * 32 + at)
                .map(|at| nibble(at, &|row, value, _| set_conditions(row, set).1 & value != 0))
                .filter(|found| found.accepted.iter().any(|rows| *rows != [0; W]))
                .collect(),
        };
        Self {
            live,
            classes,
            byte_columns: byte_columns.collect(),
            wide_columns: wide_columns.collect(),
            nibbles: nibbles.filter(|n| n.accepted.iter().any(|rows| *rows != every)).collect(),
            choices: [choice(0), choice(1)],
        }
    }

    /// First matching row of each class: forbid with reject, forbid with decompose, permit.
    fn first_of_each_class(&self, key: &Key) -> [Option<u16>; 3] {
        const NO_ROW: &[u64] = &[];
        let mut live = self.live;
        for column in &self.byte_columns {
            let value = key.bytes.get(column.column).copied().unwrap_or_default();
            match column.accepted.get(usize::from(value)) {
                Some(accepted) => intersect(&mut live, accepted),
                None => live = [0; W],
            }
        }
        for column in &self.wide_columns {
            let value = key.wide.get(column.column).copied().unwrap_or_default();
            match column.accepted.get(column.starts.partition_point(|start| *start <= value)) {
                Some(accepted) => intersect(&mut live, accepted),
                None => live = [0; W],
            }
        }
        for nibble in &self.nibbles {
            match nibble.accepted.get(key.nibble(nibble.nibble)) {
                Some(accepted) => intersect(&mut live, accepted),
                None => live = [0; W],
            }
        }
        for choice in &self.choices {
            let mut found = choice.free;
            for nibble in &choice.found {
                let hit = nibble.accepted.get(key.nibble(nibble.nibble)).map_or(NO_ROW, |rows| rows);
                found.iter_mut().zip(hit).for_each(|(word, other)| *word |= other);
            }
            intersect(&mut live, &found);
        }
        self.classes.each_ref().map(|class| first(&live, class))
    }
}

fn first<const W: usize>(rows: &Rows<W>, class: &Rows<W>) -> Option<u16> {
    let words = rows.iter().zip(class).zip((0u16..).step_by(64));
    words.map(|((row, class), base)| (row & class, base)).find(|(word, _)| *word != 0).map(|(word, base)| {
        // A nonzero u64 has at most 63 trailing zeros.
        base + word.trailing_zeros() as u16
    })
}

fn byte_accepts(row: &Row, column: usize, value: u8) -> bool {
    let small = |bit: u32, mask: u16| {
        let bit = 1u32.checked_shl(bit + u32::from(value)).unwrap_or(0) & u32::from(mask);
        bit & u32::from(row.small_enums.get()) != 0
    };
    let listed = |mask: u32| 1u32.checked_shl(value.into()).is_some_and(|bit| bit & mask != 0);
    let within = |[low, high]: [u8; 2]| low <= value && value <= high;
    match column {
        0 => small(small_enums::CATEGORY_BIT, small_enums::CATEGORY),
        1 => small(small_enums::GRANULARITY_BIT, small_enums::GRANULARITY),
        2 => small(small_enums::EPISTEMIC_BIT, small_enums::EPISTEMIC),
        3 => small(small_enums::ANCHOR_BIT, small_enums::ANCHOR),
        4 => listed(row.temporal.get()),
        5 => listed(row.domain.get()),
        6 => listed(row.audience.get()),
        7 => listed(row.register.get()),
        8 => (value ^ row.bits_value) & row.bits_mask == 0,
        9 => {
            value & row.touched_all == row.touched_all
                && value & row.touched_none == 0
                && (row.touched_any == 0 || value & row.touched_any != 0)
        }
        10 => within(row.depth),
        11 => within(row.alternatives),
        12 => within(row.correction),
        _ => false,
    }
}

fn wide_accepts(row: &Row, column: usize, value: i32) -> bool {
    let (low, high) = wide_range(row, column);
    low <= value && value <= high
}

fn wide_range(row: &Row, column: usize) -> (i32, i32) {
    const EMPTY: (i32, i32) = (i32::MAX, i32::MIN);
    match column.checked_sub(8) {
        None => match row.scalars.get(column * 2..column * 2 + 2) {
            Some([low, high]) => (low.get().into(), high.get().into()),
            _ => EMPTY,
        },
        Some(slot) => match row.quantities.get(slot * 2..slot * 2 + 2) {
            Some([low, high]) => (low.get(), high.get()),
            _ => EMPTY,
        },
    }
}

/// A row's `all`, `any` and `none` masks for classes (0) or established classes (1).
fn set_conditions(row: &Row, set: usize) -> (u128, u128, u128) {
    if set == 0 {
        (row.classes_all.get(), row.classes_any.get(), row.classes_none.get())
    } else {
        (row.established_all.get(), row.established_any.get(), row.established_none.get())
    }
}
