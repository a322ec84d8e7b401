//! Cubes: conjunctions of conditions, as sets of descriptors. Rules become cubes; `check` and `diff` compute with them.
//!
//! Each condition of a cube is on one column. So two cubes intersect column by column, and the difference of two cubes
//! is a union of cubes. [`rows`] converts between cubes and wire rows, [`simplify`] reduces the number of rows,
//! [`solve`] subtracts cubes and finds witnesses.

pub(crate) mod rows;
pub(crate) mod simplify;
pub(crate) mod solve;

use crate::vocabulary::{PolicyVocabulary, bits_of, prefix_mask};
use portcullis_core::wire::{EnumerationColumn, FlagColumn, RangeColumn, SetColumn, SetMasks};

pub(crate) const ENUMERATION_COLUMNS: usize = EnumerationColumn::ALL.len();
pub(crate) const RANGE_COLUMNS: usize = RangeColumn::ALL.len();
pub(crate) const SET_COLUMNS: usize = SetColumn::ALL.len();

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SetCondition {
    /// Mask of the members that must all be in the set.
    pub(crate) all: u128,
    /// Mask of the members of which at least one must be in the set; 0 means no condition.
    pub(crate) any: u128,
    /// Mask of the members that must not be in the set.
    pub(crate) none: u128,
}

/// A conjunction of conditions, one per column. It matches at least one descriptor of its universe, unless it allows
/// only the combinations of uncertainty and uncertainty flag that [`solve`] excludes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Cube {
    pub(crate) enumerations: [u32; ENUMERATION_COLUMNS],
    /// The bits (flags, and presence of quantities) that have a condition, and the required values of these bits.
    pub(crate) bits_mask: u8,
    pub(crate) bits_value: u8,
    /// Inclusive ranges; a bound on a quantity also requires its presence.
    pub(crate) ranges: [(i64, i64); RANGE_COLUMNS],
    /// Conditions on the sets: fields touched, classes, established.
    pub(crate) sets: [SetCondition; SET_COLUMNS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CubeCondition {
    /// A column, and the mask of the values that its enumeration may have.
    Enumeration(EnumerationColumn, u32),
    Bit(usize, bool),
    /// A column, and the smallest and the greatest value that its range may have.
    Range(RangeColumn, i64, i64),
    /// A column, and the conditions on its set.
    Set(SetColumn, SetCondition),
}

/// Number of the presence bit of quantity `slot`.
pub(crate) const fn presence_bit(slot: usize) -> usize {
    FlagColumn::ALL.len() + slot
}

/// All descriptors that pass the entry checks under a policy's declarations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Universe {
    /// The cube without conditions.
    pub(crate) all: Cube,
    pub(crate) members: [u128; SET_COLUMNS],
    pub(crate) bits: u8,
}

impl Universe {
    pub(crate) fn new(vocabulary: &PolicyVocabulary) -> Self {
        let values = EnumerationColumn::ALL.map(|column| vocabulary.value_mask(column));
        let members = SetColumn::ALL.map(|column| vocabulary.member_mask(column));
        Self::of(values, members, vocabulary.quantities().len())
    }

    /// The universe for the given declared values and members, and the given number of quantities.
    pub(crate) fn of(
        enumerations: [u32; ENUMERATION_COLUMNS],
        members: [u128; SET_COLUMNS],
        quantities: usize,
    ) -> Self {
        let ranges = RangeColumn::ALL.map(RangeColumn::limits);
        let all = Cube { enumerations, bits_mask: 0, bits_value: 0, ranges, sets: Default::default() };
        Self { all, members, bits: prefix_mask(presence_bit(quantities)) as u8 }
    }

    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.all.enumerations.iter_mut().zip(other.all.enumerations).for_each(|(mask, with)| *mask |= with);
        both.members.iter_mut().zip(other.members).for_each(|(mask, with)| *mask |= with);
        both.bits |= other.bits;
        both
    }

    /// The cube with this condition only; `None` if no descriptor meets the condition.
    pub(crate) fn cube(&self, condition: CubeCondition) -> Option<Cube> {
        let mut cube = self.all.clone();
        match condition {
            CubeCondition::Enumeration(column, mask) => *cube.enumerations.get_mut(column.index())? &= mask,
            CubeCondition::Bit(bit, value) => {
                cube.bits_mask = 1u8.checked_shl(u32::try_from(bit).ok()?)?;
                cube.bits_value = if value { cube.bits_mask } else { 0 };
            }
            CubeCondition::Range(column, low, high) => {
                let range = cube.ranges.get_mut(column.index())?;
                *range = (range.0.max(low), range.1.min(high));
            }
            CubeCondition::Set(column, condition) => *cube.sets.get_mut(column.index())? = condition,
        }
        cube.normalised()
    }
}

impl From<SetMasks> for SetCondition {
    fn from(masks: SetMasks) -> Self {
        Self { all: masks.all, any: masks.any, none: masks.none }
    }
}

impl From<SetCondition> for SetMasks {
    fn from(condition: SetCondition) -> Self {
        Self { all: condition.all, any: condition.any, none: condition.none }
    }
}

impl SetCondition {
    pub(crate) const fn all(members: u128) -> Self {
        Self { all: members, any: 0, none: 0 }
    }

    pub(crate) const fn none(members: u128) -> Self {
        Self { all: 0, any: 0, none: members }
    }

    /// The condition that at least one of `members` is in the set; `None` for an empty mask.
    pub(crate) const fn any(members: u128) -> Option<Self> {
        if members == 0 { None } else { Some(Self { all: 0, any: members, none: 0 }) }
    }

    /// The conditions in canonical form; `None` if no set meets them. If `any` loses its last member, the result is
    /// `None`: an empty `any` would mean that there is no condition.
    fn normalised(mut self) -> Option<Self> {
        if self.all & self.none != 0 {
            return None;
        }
        if self.any != 0 {
            self.any &= !self.none;
            if self.any == 0 {
                return None;
            }
            if self.any & self.all != 0 {
                self.any = 0;
            } else if self.any.count_ones() == 1 {
                self.all |= self.any;
                self.any = 0;
            }
        }
        Some(self)
    }

    /// The sets that meet both conditions. If both have an `any`, there may be several results, because a row has room
    /// for only one `any`.
    fn and(self, other: Self) -> Vec<Self> {
        let base = Self { all: self.all | other.all, any: 0, none: self.none | other.none };
        let (larger, smaller) =
            if self.any.count_ones() >= other.any.count_ones() { (self.any, other.any) } else { (other.any, self.any) };
        if smaller == 0 || smaller == larger {
            return Self { any: larger, ..base }.normalised().into_iter().collect();
        }
        if smaller & !larger == 0 {
            // Every set that meets the `any` with fewer members also meets the larger `any`.
            return Self { any: smaller, ..base }.normalised().into_iter().collect();
        }
        let rows = bits_of(smaller).map(|member| Self { all: base.all | 1 << member, any: larger, none: base.none });
        rows.filter_map(Self::normalised).collect()
    }

    /// Whether every set that meets these conditions also meets `other`.
    fn within(self, other: Self) -> bool {
        let chosen = other.any == 0 || self.all & other.any != 0 || (self.any != 0 && self.any & !other.any == 0);
        chosen && other.all & !self.all == 0 && other.none & !self.none == 0
    }

    fn meets(self, other: Self) -> bool {
        let (all, none) = (self.all | other.all, self.none | other.none);
        let chosen = |any: u128| any == 0 || any & !none != 0;
        all & none == 0 && chosen(self.any) && chosen(other.any)
    }
}

impl Cube {
    /// The cube in canonical form; `None` if it is empty.
    fn normalised(mut self) -> Option<Self> {
        let some = self.enumerations.iter().all(|mask| *mask != 0) && self.ranges.iter().all(|(low, high)| low <= high);
        if !some {
            return None;
        }
        for set in &mut self.sets {
            *set = set.normalised()?;
        }
        self.bits_value &= self.bits_mask;
        Some(self)
    }

    /// The descriptors in both cubes, as cubes.
    pub(crate) fn and(&self, other: &Self) -> Vec<Self> {
        let Some(base) = self.and_without_sets(other) else { return Vec::new() };
        let mut cubes = vec![base];
        for column in 0..SET_COLUMNS {
            let (Some(a), Some(b)) = (self.sets.get(column), other.sets.get(column)) else { continue };
            let alternatives = a.and(*b);
            let with = |cube: &Cube, set: SetCondition| {
                let mut cube = cube.clone();
                if let Some(slot) = cube.sets.get_mut(column) {
                    *slot = set;
                }
                cube
            };
            cubes = cubes.iter().flat_map(|cube| alternatives.iter().map(move |set| with(cube, *set))).collect();
        }
        cubes
    }

    fn and_without_sets(&self, other: &Self) -> Option<Self> {
        if (self.bits_value ^ other.bits_value) & self.bits_mask & other.bits_mask != 0 {
            return None;
        }
        let mut cube = self.clone();
        for (mask, with) in cube.enumerations.iter_mut().zip(other.enumerations) {
            *mask &= with;
        }
        for (range, (low, high)) in cube.ranges.iter_mut().zip(other.ranges) {
            *range = (range.0.max(low), range.1.min(high));
        }
        cube.bits_mask |= other.bits_mask;
        cube.bits_value |= other.bits_value;
        cube.normalised()
    }

    /// Whether some descriptor is in both cubes.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        (self.bits_value ^ other.bits_value) & self.bits_mask & other.bits_mask == 0
            && self.enumerations.iter().zip(other.enumerations).all(|(a, b)| a & b != 0)
            && self.ranges.iter().zip(other.ranges).all(|(a, b)| a.0.max(b.0) <= a.1.min(b.1))
            && self.sets.iter().zip(other.sets).all(|(a, b)| a.meets(b))
    }

    /// Whether every descriptor in this cube is in `other`.
    pub(crate) fn within(&self, other: &Self) -> bool {
        other.bits_mask & !self.bits_mask == 0
            && self.bits_value & other.bits_mask == other.bits_value
            && self.enumerations.iter().zip(other.enumerations).all(|(a, b)| a & !b == 0)
            && self.ranges.iter().zip(other.ranges).all(|(a, b)| b.0 <= a.0 && a.1 <= b.1)
            && self.sets.iter().zip(other.sets).all(|(a, b)| a.within(b))
    }
}
