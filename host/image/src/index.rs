//! Row bitmaps: for each column that some row has a condition on, the rows that accept each value. To judge a
//! descriptor, one bitmap per column is intersected, so the cost does not depend on where a row fails to match.
//!
//! A block has 256 rows (64 in a small bank). A block stores no bitmaps for columns without conditions in its rows. The
//! answer consists of the first set bit of each rule class in the intersection.

use crate::answer::TableBankAnswer;
use crate::reference::descriptor_bits;
use portcullis_core::wire::{Descriptor, EnumerationColumn, ROW_NONE, RangeColumn, Row, RowKind, SetColumn, SetMasks};

/// A column that is looked up by a value below 256.
#[derive(Clone, Copy, Debug)]
enum ByteKind {
    Enumeration(EnumerationColumn),
    Bits,
    /// A set of at most eight members.
    Set(SetColumn),
    Range(RangeColumn),
}

/// The sets of 128 members, which are looked up by nibbles.
const WIDE_SETS: [SetColumn; 2] = [SetColumn::Classes, SetColumn::Established];
const NIBBLES: usize = 32 * WIDE_SETS.len();

impl ByteKind {
    fn all() -> impl Iterator<Item = Self> {
        let sets = SetColumn::ALL.into_iter().filter(|set| !WIDE_SETS.contains(set)).map(Self::Set);
        let ranges = RangeColumn::ALL.into_iter().filter(|range| is_byte(*range)).map(Self::Range);
        EnumerationColumn::ALL.into_iter().map(Self::Enumeration).chain([Self::Bits]).chain(sets).chain(ranges)
    }

    /// The descriptor's value in this column.
    fn value(self, d: &Descriptor) -> u8 {
        match self {
            Self::Enumeration(column) => column.value(d),
            Self::Bits => descriptor_bits(d),
            Self::Set(column) => column.value(d) as u8,
            Self::Range(column) => column.value(d) as u8,
        }
    }

    fn accepts(self, row: &Row, value: u8) -> bool {
        match self {
            Self::Enumeration(column) => {
                1u32.checked_shl(value.into()).is_some_and(|bit| bit & column.allowed(row) != 0)
            }
            Self::Bits => (value ^ row.bits_value) & row.bits_mask == 0,
            Self::Set(column) => column.conditions(row).hold(value.into()),
            Self::Range(column) => range_accepts(column, row, value.into()),
        }
    }
}

fn is_byte(column: RangeColumn) -> bool {
    column.wire_limits() == (0, u8::MAX.into())
}

fn range_accepts(column: RangeColumn, row: &Row, value: i64) -> bool {
    let (low, high) = column.range(row);
    (low..=high).contains(&value)
}

/// A descriptor, with the sets that are looked up by nibbles.
pub(crate) struct DescriptorKey<'d> {
    descriptor: &'d Descriptor,
    sets: [u128; WIDE_SETS.len()],
}

impl<'d> DescriptorKey<'d> {
    pub(crate) fn of(descriptor: &'d Descriptor) -> Self {
        Self { descriptor, sets: WIDE_SETS.map(|set| set.value(descriptor)) }
    }

    fn nibble(&self, nibble: usize) -> usize {
        let set = self.sets.get(nibble / 32).copied().unwrap_or_default();
        (set >> (nibble % 32 * 4) & 0xf) as usize
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Index {
    /// At most 64 rows.
    Small(Box<RowBlock<1>>),
    /// Any number of rows, in blocks of 256.
    Large(Vec<RowBlock<4>>),
}

impl Index {
    pub(crate) fn new(rows: &[Row]) -> Self {
        let rows = rows.get(..usize::from(ROW_NONE)).unwrap_or(rows);
        if rows.len() <= 64 {
            Self::Small(Box::new(RowBlock::new(rows)))
        } else {
            Self::Large(rows.chunks(256).map(RowBlock::new).collect())
        }
    }

    pub(crate) fn evaluate(&self, key: &DescriptorKey<'_>) -> TableBankAnswer {
        match self {
            Self::Small(block) => {
                let [reject, decompose, permit] = block.first_of_each_class(key);
                TableBankAnswer::of(reject, decompose, permit)
            }
            Self::Large(blocks) => {
                let mut first = [None; 3];
                for (block, base) in blocks.iter().zip((0u16..).step_by(256)) {
                    for (kept, found) in first.iter_mut().zip(block.first_of_each_class(key)) {
                        *kept = kept.or(found.map(|row| row + base));
                    }
                }
                let [reject, decompose, permit] = first;
                TableBankAnswer::of(reject, decompose, permit)
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
pub(crate) struct RowBlock<const W: usize> {
    /// Rows whose kind can match; empty rows cannot.
    live: Rows<W>,
    /// Rows that forbid with reject, rows that forbid with decompose, and rows that permit.
    classes: [Rows<W>; 3],
    byte_columns: Vec<ByteColumn<W>>,
    wide_columns: Vec<WideColumn<W>>,
    nibbles: Vec<Nibble<W>>,
    /// The `any` conditions, on classes and on established classes.
    choices: [AnyConditionRows<W>; 2],
}

/// Rows that accept each value of a column; values beyond the table are not accepted.
#[derive(Clone, Debug)]
struct ByteColumn<const W: usize> {
    column: ByteKind,
    accepted: Vec<Rows<W>>,
}

/// Rows that accept each segment of a column; segment i has the values from `starts[i - 1]` to below `starts[i]`.
#[derive(Clone, Debug)]
struct WideColumn<const W: usize> {
    column: RangeColumn,
    starts: Vec<i64>,
    accepted: Vec<Rows<W>>,
}

/// For each value of one nibble (four members) of a set, the rows whose `all` and `none` conditions accept that value.
#[derive(Clone, Debug)]
struct Nibble<const W: usize> {
    nibble: usize,
    accepted: [Rows<W>; 16],
}

#[derive(Clone, Debug)]
struct AnyConditionRows<const W: usize> {
    /// Rows without an `any` condition.
    free: Rows<W>,
    /// For each nibble and each of its values, the rows whose `any` condition the value meets.
    found: Vec<Nibble<W>>,
}

impl<const W: usize> RowBlock<W> {
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

        let byte_columns = ByteKind::all().filter_map(|column| {
            let mut accepted: Vec<_> = (0..=u8::MAX).map(|value| select(&|row| column.accepts(row, value))).collect();
            let used = accepted.iter().any(|rows| *rows != every);
            accepted.truncate(accepted.iter().rposition(|rows| *rows != [0; W]).map_or(0, |last| last + 1));
            used.then_some(ByteColumn { column, accepted })
        });
        let wide = RangeColumn::ALL.into_iter().filter(|range| !is_byte(*range));
        let wide_columns = wide.filter_map(|column| {
            let ranges = rows.iter().map(|row| column.range(row));
            let mut starts: Vec<i64> = ranges.flat_map(|(low, high)| [low, high + 1]).collect();
            starts.sort_unstable();
            starts.dedup();
            // The segment below the first start begins at the smallest integer.
            let accepted: Vec<_> = std::iter::once(i64::MIN)
                .chain(starts.iter().copied())
                .map(|value| select(&|row| range_accepts(column, row, value)))
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
                let SetMasks { all, none, .. } = conditions(row, at / 32);
                value & all & mask == all & mask && value & none == 0
            })
        });
        let choice = |set: usize| AnyConditionRows {
            free: select(&|row| conditions(row, set).any == 0),
            found: (0..32)
                .map(|at| set * 32 + at)
                .map(|at| nibble(at, &|row, value, _| conditions(row, set).any & value != 0))
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
    fn first_of_each_class(&self, key: &DescriptorKey<'_>) -> [Option<u16>; 3] {
        const NO_ROW: &[u64] = &[];
        let mut live = self.live;
        for column in &self.byte_columns {
            let value = column.column.value(key.descriptor);
            match column.accepted.get(usize::from(value)) {
                Some(accepted) => intersect(&mut live, accepted),
                None => live = [0; W],
            }
        }
        for column in &self.wide_columns {
            let value = column.column.value(key.descriptor);
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

/// A row's conditions on the set at this position of [`WIDE_SETS`].
fn conditions(row: &Row, set: usize) -> SetMasks {
    WIDE_SETS.get(set).map_or_else(SetMasks::default, |column| column.conditions(row))
}
