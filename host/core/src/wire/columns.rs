//! The columns of a row: what each compares, and where its values stand in descriptor, row and image header.

// Generated from rtl/layout/layout.toml by `cargo xtask gen`. Do not edit.

use super::layout::*;
use super::{RangeUnit, SetMasks};
use zerocopy::little_endian::{I32, U16, U128};

/// A column that lists the allowed values of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EnumerationColumn {
    /// Category.
    Category,
    /// Granularity.
    Granularity,
    /// Epistemic mode.
    Epistemic,
    /// Anchor status.
    Anchor,
    /// Temporal condition, an index into the policy's list.
    Temporal,
    /// Domain, an index into the policy's list.
    Domain,
    /// Audience, an index into the policy's list.
    Audience,
    /// Register, an index into the policy's list.
    Register,
}

impl EnumerationColumn {
    /// Every column, in order.
    pub const ALL: [Self; 8] = [
        Self::Category,
        Self::Granularity,
        Self::Epistemic,
        Self::Anchor,
        Self::Temporal,
        Self::Domain,
        Self::Audience,
        Self::Register,
    ];
    /// The names of the columns, in order.
    pub const NAMES: [&'static str; 8] =
        ["category", "granularity", "epistemic", "anchor", "temporal", "domain", "audience", "register"];

    /// Position among the columns of this kind.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name of the descriptor's field, which is the name in rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self.index()).copied().unwrap_or_default()
    }

    /// The descriptor's value.
    #[must_use]
    pub const fn value(self, descriptor: &Descriptor) -> u8 {
        match self {
            Self::Category => descriptor.category,
            Self::Granularity => descriptor.granularity,
            Self::Epistemic => descriptor.epistemic,
            Self::Anchor => descriptor.anchor,
            Self::Temporal => descriptor.temporal,
            Self::Domain => descriptor.domain,
            Self::Audience => descriptor.audience,
            Self::Register => descriptor.register,
        }
    }

    /// Sets the descriptor's value.
    pub const fn set_value(self, descriptor: &mut Descriptor, value: u8) {
        match self {
            Self::Category => descriptor.category = value,
            Self::Granularity => descriptor.granularity = value,
            Self::Epistemic => descriptor.epistemic = value,
            Self::Anchor => descriptor.anchor = value,
            Self::Temporal => descriptor.temporal = value,
            Self::Domain => descriptor.domain = value,
            Self::Audience => descriptor.audience = value,
            Self::Register => descriptor.register = value,
        }
    }

    /// The values that a row allows, as a mask with one bit per value.
    #[must_use]
    pub fn allowed(self, row: &Row) -> u32 {
        match self {
            Self::Category => u32::from(row.small_enums.get() & small_enums::CATEGORY) >> small_enums::CATEGORY_BIT,
            Self::Granularity => {
                u32::from(row.small_enums.get() & small_enums::GRANULARITY) >> small_enums::GRANULARITY_BIT
            }
            Self::Epistemic => u32::from(row.small_enums.get() & small_enums::EPISTEMIC) >> small_enums::EPISTEMIC_BIT,
            Self::Anchor => u32::from(row.small_enums.get() & small_enums::ANCHOR) >> small_enums::ANCHOR_BIT,
            Self::Temporal => row.temporal.get(),
            Self::Domain => row.domain.get(),
            Self::Audience => row.audience.get(),
            Self::Register => row.register.get(),
        }
    }

    /// Sets the values that a row allows. For an enumeration that the layout fixes, bits of other values are dropped.
    pub fn set_allowed(self, row: &mut Row, mask: u32) {
        match self {
            Self::Category => {
                let others = row.small_enums.get() & !small_enums::CATEGORY;
                let own = (mask << small_enums::CATEGORY_BIT) as u16 & small_enums::CATEGORY;
                row.small_enums = U16::new(others | own);
            }
            Self::Granularity => {
                let others = row.small_enums.get() & !small_enums::GRANULARITY;
                let own = (mask << small_enums::GRANULARITY_BIT) as u16 & small_enums::GRANULARITY;
                row.small_enums = U16::new(others | own);
            }
            Self::Epistemic => {
                let others = row.small_enums.get() & !small_enums::EPISTEMIC;
                let own = (mask << small_enums::EPISTEMIC_BIT) as u16 & small_enums::EPISTEMIC;
                row.small_enums = U16::new(others | own);
            }
            Self::Anchor => {
                let others = row.small_enums.get() & !small_enums::ANCHOR;
                let own = (mask << small_enums::ANCHOR_BIT) as u16 & small_enums::ANCHOR;
                row.small_enums = U16::new(others | own);
            }
            Self::Temporal => row.temporal = mask.into(),
            Self::Domain => row.domain = mask.into(),
            Self::Audience => row.audience = mask.into(),
            Self::Register => row.register = mask.into(),
        }
    }

    /// Whether the layout fixes the values; a policy declares those of the others.
    #[must_use]
    pub const fn is_fixed(self) -> bool {
        match self {
            Self::Category => true,
            Self::Granularity => true,
            Self::Epistemic => true,
            Self::Anchor => true,
            Self::Temporal => false,
            Self::Domain => false,
            Self::Audience => false,
            Self::Register => false,
        }
    }

    /// Sets the values that an image declares; does nothing where the layout fixes them.
    pub fn set_declared(self, header: &mut ImageHeader, mask: u32) {
        match self {
            Self::Category => {}
            Self::Granularity => {}
            Self::Epistemic => {}
            Self::Anchor => {}
            Self::Temporal => header.temporal = mask.into(),
            Self::Domain => header.domain = mask.into(),
            Self::Audience => header.audience = mask.into(),
            Self::Register => header.register = mask.into(),
        }
    }

    /// The values that an image declares, as a mask with one bit per value.
    #[must_use]
    pub fn declared(self, header: &ImageHeader) -> u32 {
        match self {
            Self::Category => (small_enums::CATEGORY >> small_enums::CATEGORY_BIT) as u32,
            Self::Granularity => (small_enums::GRANULARITY >> small_enums::GRANULARITY_BIT) as u32,
            Self::Epistemic => (small_enums::EPISTEMIC >> small_enums::EPISTEMIC_BIT) as u32,
            Self::Anchor => (small_enums::ANCHOR >> small_enums::ANCHOR_BIT) as u32,
            Self::Temporal => header.temporal.get(),
            Self::Domain => header.domain.get(),
            Self::Audience => header.audience.get(),
            Self::Register => header.register.get(),
        }
    }
}

/// A flag that a row can require. Its index is its bit in descriptor and row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlagColumn {
    /// A flag of the descriptor, and the row's bit of it.
    InertPrefix,
    /// A flag of the descriptor, and the row's bit of it.
    UncertaintyKnown,
}

impl FlagColumn {
    /// Every column, in order.
    pub const ALL: [Self; 2] = [Self::InertPrefix, Self::UncertaintyKnown];
    /// The names of the columns, in order.
    pub const NAMES: [&'static str; 2] = ["inert_prefix", "uncertainty_known"];

    /// Position among the columns of this kind.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name of the descriptor's field, which is the name in rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self.index()).copied().unwrap_or_default()
    }
}

/// A column with conditions on the members of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetColumn {
    /// Fields touched.
    FieldsTouched,
    /// Classes in the span.
    Classes,
    /// Classes established in memory.
    Established,
}

impl SetColumn {
    /// Every column, in order.
    pub const ALL: [Self; 3] = [Self::FieldsTouched, Self::Classes, Self::Established];
    /// The names of the columns, in order.
    pub const NAMES: [&'static str; 3] = ["fields_touched", "classes", "established"];

    /// Position among the columns of this kind.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name of the descriptor's field, which is the name in rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self.index()).copied().unwrap_or_default()
    }

    /// The members in the descriptor's set, as a mask.
    #[must_use]
    pub fn value(self, descriptor: &Descriptor) -> u128 {
        match self {
            Self::FieldsTouched => descriptor.fields_touched.into(),
            Self::Classes => descriptor.classes.get(),
            Self::Established => descriptor.established.get(),
        }
    }

    /// The members that an image declares, as a mask.
    #[must_use]
    pub fn declared(self, header: &ImageHeader) -> u128 {
        match self {
            Self::FieldsTouched => fields_touched::ALL.into(),
            Self::Classes => header.classes.get(),
            Self::Established => header.classes.get(),
        }
    }

    /// Sets the members in the descriptor's set; members beyond its width are dropped.
    pub fn set_value(self, descriptor: &mut Descriptor, mask: u128) {
        match self {
            Self::FieldsTouched => descriptor.fields_touched = mask as u8,
            Self::Classes => descriptor.classes = U128::new(mask),
            Self::Established => descriptor.established = U128::new(mask),
        }
    }

    /// A row's conditions.
    #[must_use]
    pub fn conditions(self, row: &Row) -> SetMasks {
        match self {
            Self::FieldsTouched => {
                SetMasks { all: row.touched_all.into(), any: row.touched_any.into(), none: row.touched_none.into() }
            }
            Self::Classes => {
                SetMasks { all: row.classes_all.get(), any: row.classes_any.get(), none: row.classes_none.get() }
            }
            Self::Established => SetMasks {
                all: row.established_all.get(),
                any: row.established_any.get(),
                none: row.established_none.get(),
            },
        }
    }

    /// Sets a row's conditions; members beyond the set's width are dropped.
    pub fn set_conditions(self, row: &mut Row, masks: SetMasks) {
        match self {
            Self::FieldsTouched => {
                row.touched_all = masks.all as u8;
                row.touched_any = masks.any as u8;
                row.touched_none = masks.none as u8
            }
            Self::Classes => {
                row.classes_all = U128::new(masks.all);
                row.classes_any = U128::new(masks.any);
                row.classes_none = U128::new(masks.none)
            }
            Self::Established => {
                row.established_all = U128::new(masks.all);
                row.established_any = U128::new(masks.any);
                row.established_none = U128::new(masks.none)
            }
        }
    }
}

/// A column with an inclusive range of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RangeColumn {
    /// Decompose depth: 0 for an undivided span.
    Depth,
    /// Alternatives tried before this one.
    Alternatives,
    /// Correction level of the trust slope.
    Correction,
    /// Share of content that memory does not hold.
    Novelty,
    /// Engine uncertainty; 10000 when unknown.
    Uncertainty,
    /// Certainty that the wording claims.
    Certainty,
    /// Distance of the content from intent and memory.
    ContentDeviation,
    /// Distance of the claimed certainty from the context's.
    CertaintyDivergence,
    /// Distance of the wording from the context's register.
    RegisterDivergence,
    /// Accumulated distance of the lineage.
    TrustSlope,
    /// Length of the span.
    Length,
    /// Slot 0 of `quantities`.
    Slot0,
    /// Slot 1 of `quantities`.
    Slot1,
    /// Slot 2 of `quantities`.
    Slot2,
    /// Slot 3 of `quantities`.
    Slot3,
}

impl RangeColumn {
    /// Every column, in order.
    pub const ALL: [Self; 15] = [
        Self::Depth,
        Self::Alternatives,
        Self::Correction,
        Self::Novelty,
        Self::Uncertainty,
        Self::Certainty,
        Self::ContentDeviation,
        Self::CertaintyDivergence,
        Self::RegisterDivergence,
        Self::TrustSlope,
        Self::Length,
        Self::Slot0,
        Self::Slot1,
        Self::Slot2,
        Self::Slot3,
    ];
    /// The names of the columns, in order.
    pub const NAMES: [&'static str; 15] = [
        "depth",
        "alternatives",
        "correction",
        "novelty",
        "uncertainty",
        "certainty",
        "content_deviation",
        "certainty_divergence",
        "register_divergence",
        "trust_slope",
        "length",
        "slot_0",
        "slot_1",
        "slot_2",
        "slot_3",
    ];

    /// Position among the columns of this kind.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name of the descriptor's field, which is the name in rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self.index()).copied().unwrap_or_default()
    }
    /// The columns that are fields of their own in rules; the slots follow them.
    pub const FIELDS: [Self; 11] = [
        Self::Depth,
        Self::Alternatives,
        Self::Correction,
        Self::Novelty,
        Self::Uncertainty,
        Self::Certainty,
        Self::ContentDeviation,
        Self::CertaintyDivergence,
        Self::RegisterDivergence,
        Self::TrustSlope,
        Self::Length,
    ];
    /// The columns that are fractions.
    pub const FRACTIONS: [Self; 6] = [
        Self::Novelty,
        Self::Uncertainty,
        Self::Certainty,
        Self::ContentDeviation,
        Self::CertaintyDivergence,
        Self::RegisterDivergence,
    ];
    /// The columns of the slots.
    pub const SLOTS: [Self; 4] = [Self::Slot0, Self::Slot1, Self::Slot2, Self::Slot3];

    /// What the column counts.
    #[must_use]
    pub const fn unit(self) -> RangeUnit {
        match self {
            Self::Depth => RangeUnit::Count(u8::MAX as i64),
            Self::Alternatives => RangeUnit::Count(u8::MAX as i64),
            Self::Correction => RangeUnit::Count(u8::MAX as i64),
            Self::Novelty => RangeUnit::BasisPoints,
            Self::Uncertainty => RangeUnit::BasisPoints,
            Self::Certainty => RangeUnit::BasisPoints,
            Self::ContentDeviation => RangeUnit::BasisPoints,
            Self::CertaintyDivergence => RangeUnit::BasisPoints,
            Self::RegisterDivergence => RangeUnit::BasisPoints,
            Self::TrustSlope => RangeUnit::Count(u16::MAX as i64),
            Self::Length => RangeUnit::Count(u16::MAX as i64),
            Self::Slot0 => RangeUnit::Quantity,
            Self::Slot1 => RangeUnit::Quantity,
            Self::Slot2 => RangeUnit::Quantity,
            Self::Slot3 => RangeUnit::Quantity,
        }
    }

    /// The smallest and the greatest number that the column's place in a row can hold.
    #[must_use]
    pub const fn wire_limits(self) -> (i64, i64) {
        match self {
            Self::Depth => (0, u8::MAX as i64),
            Self::Alternatives => (0, u8::MAX as i64),
            Self::Correction => (0, u8::MAX as i64),
            Self::Novelty => (0, u16::MAX as i64),
            Self::Uncertainty => (0, u16::MAX as i64),
            Self::Certainty => (0, u16::MAX as i64),
            Self::ContentDeviation => (0, u16::MAX as i64),
            Self::CertaintyDivergence => (0, u16::MAX as i64),
            Self::RegisterDivergence => (0, u16::MAX as i64),
            Self::TrustSlope => (0, u16::MAX as i64),
            Self::Length => (0, u16::MAX as i64),
            Self::Slot0 => (i32::MIN as i64, i32::MAX as i64),
            Self::Slot1 => (i32::MIN as i64, i32::MAX as i64),
            Self::Slot2 => (i32::MIN as i64, i32::MAX as i64),
            Self::Slot3 => (i32::MIN as i64, i32::MAX as i64),
        }
    }

    /// The smallest and the greatest number that a descriptor may have in this column.
    #[must_use]
    pub const fn limits(self) -> (i64, i64) {
        match self.unit() {
            RangeUnit::Count(last) => (0, last),
            RangeUnit::BasisPoints => (0, BASIS_POINTS_MAX as i64),
            RangeUnit::Quantity => self.wire_limits(),
        }
    }

    /// The descriptor's number.
    #[must_use]
    pub fn value(self, descriptor: &Descriptor) -> i64 {
        match self {
            Self::Depth => descriptor.depth.into(),
            Self::Alternatives => descriptor.alternatives.into(),
            Self::Correction => descriptor.correction.into(),
            Self::Novelty => descriptor.novelty.get().into(),
            Self::Uncertainty => descriptor.uncertainty.get().into(),
            Self::Certainty => descriptor.certainty.get().into(),
            Self::ContentDeviation => descriptor.content_deviation.get().into(),
            Self::CertaintyDivergence => descriptor.certainty_divergence.get().into(),
            Self::RegisterDivergence => descriptor.register_divergence.get().into(),
            Self::TrustSlope => descriptor.trust_slope.get().into(),
            Self::Length => descriptor.length.get().into(),
            Self::Slot0 => {
                let [number, ..] = descriptor.quantities;
                number.get().into()
            }
            Self::Slot1 => {
                let [_, number, ..] = descriptor.quantities;
                number.get().into()
            }
            Self::Slot2 => {
                let [_, _, number, ..] = descriptor.quantities;
                number.get().into()
            }
            Self::Slot3 => {
                let [_, _, _, number, ..] = descriptor.quantities;
                number.get().into()
            }
        }
    }

    /// Sets the descriptor's number; a number outside the field's width loses its high bits.
    pub fn set_value(self, descriptor: &mut Descriptor, number: i64) {
        match self {
            Self::Depth => descriptor.depth = number as u8,
            Self::Alternatives => descriptor.alternatives = number as u8,
            Self::Correction => descriptor.correction = number as u8,
            Self::Novelty => descriptor.novelty = U16::new(number as u16),
            Self::Uncertainty => descriptor.uncertainty = U16::new(number as u16),
            Self::Certainty => descriptor.certainty = U16::new(number as u16),
            Self::ContentDeviation => descriptor.content_deviation = U16::new(number as u16),
            Self::CertaintyDivergence => descriptor.certainty_divergence = U16::new(number as u16),
            Self::RegisterDivergence => descriptor.register_divergence = U16::new(number as u16),
            Self::TrustSlope => descriptor.trust_slope = U16::new(number as u16),
            Self::Length => descriptor.length = U16::new(number as u16),
            Self::Slot0 => {
                let [place, ..] = &mut descriptor.quantities;
                *place = I32::new(number as i32);
            }
            Self::Slot1 => {
                let [_, place, ..] = &mut descriptor.quantities;
                *place = I32::new(number as i32);
            }
            Self::Slot2 => {
                let [_, _, place, ..] = &mut descriptor.quantities;
                *place = I32::new(number as i32);
            }
            Self::Slot3 => {
                let [_, _, _, place, ..] = &mut descriptor.quantities;
                *place = I32::new(number as i32);
            }
        }
    }

    /// A row's range, low then high.
    #[must_use]
    pub fn range(self, row: &Row) -> (i64, i64) {
        match self {
            Self::Depth => {
                let [low, high] = row.depth;
                (low.into(), high.into())
            }
            Self::Alternatives => {
                let [low, high] = row.alternatives;
                (low.into(), high.into())
            }
            Self::Correction => {
                let [low, high] = row.correction;
                (low.into(), high.into())
            }
            Self::Novelty => {
                let [low, high, ..] = row.scalars;
                (low.get().into(), high.get().into())
            }
            Self::Uncertainty => {
                let [_, _, low, high, ..] = row.scalars;
                (low.get().into(), high.get().into())
            }
            Self::Certainty => {
                let [_, _, _, _, low, high, ..] = row.scalars;
                (low.get().into(), high.get().into())
            }
            Self::ContentDeviation => {
                let [_, _, _, _, _, _, low, high, ..] = row.scalars;
                (low.get().into(), high.get().into())
            }
            Self::CertaintyDivergence => {
                let [_, _, _, _, _, _, _, _, low, high, ..] = row.scalars;
                (low.get().into(), high.get().into())
            }
            Self::RegisterDivergence => {
                let [_, _, _, _, _, _, _, _, _, _, low, high, ..] = row.scalars;
                (low.get().into(), high.get().into())
            }
            Self::TrustSlope => {
                let [_, _, _, _, _, _, _, _, _, _, _, _, low, high, ..] = row.scalars;
                (low.get().into(), high.get().into())
            }
            Self::Length => {
                let [_, _, _, _, _, _, _, _, _, _, _, _, _, _, low, high, ..] = row.scalars;
                (low.get().into(), high.get().into())
            }
            Self::Slot0 => {
                let [low, high, ..] = row.quantities;
                (low.get().into(), high.get().into())
            }
            Self::Slot1 => {
                let [_, _, low, high, ..] = row.quantities;
                (low.get().into(), high.get().into())
            }
            Self::Slot2 => {
                let [_, _, _, _, low, high, ..] = row.quantities;
                (low.get().into(), high.get().into())
            }
            Self::Slot3 => {
                let [_, _, _, _, _, _, low, high, ..] = row.quantities;
                (low.get().into(), high.get().into())
            }
        }
    }

    /// Sets a row's range; a number outside the field's width loses its high bits.
    pub fn set_range(self, row: &mut Row, (least, greatest): (i64, i64)) {
        match self {
            Self::Depth => row.depth = [least as u8, greatest as u8],
            Self::Alternatives => row.alternatives = [least as u8, greatest as u8],
            Self::Correction => row.correction = [least as u8, greatest as u8],
            Self::Novelty => {
                let [low, high, ..] = &mut row.scalars;
                *low = U16::new(least as u16);
                *high = U16::new(greatest as u16);
            }
            Self::Uncertainty => {
                let [_, _, low, high, ..] = &mut row.scalars;
                *low = U16::new(least as u16);
                *high = U16::new(greatest as u16);
            }
            Self::Certainty => {
                let [_, _, _, _, low, high, ..] = &mut row.scalars;
                *low = U16::new(least as u16);
                *high = U16::new(greatest as u16);
            }
            Self::ContentDeviation => {
                let [_, _, _, _, _, _, low, high, ..] = &mut row.scalars;
                *low = U16::new(least as u16);
                *high = U16::new(greatest as u16);
            }
            Self::CertaintyDivergence => {
                let [_, _, _, _, _, _, _, _, low, high, ..] = &mut row.scalars;
                *low = U16::new(least as u16);
                *high = U16::new(greatest as u16);
            }
            Self::RegisterDivergence => {
                let [_, _, _, _, _, _, _, _, _, _, low, high, ..] = &mut row.scalars;
                *low = U16::new(least as u16);
                *high = U16::new(greatest as u16);
            }
            Self::TrustSlope => {
                let [_, _, _, _, _, _, _, _, _, _, _, _, low, high, ..] = &mut row.scalars;
                *low = U16::new(least as u16);
                *high = U16::new(greatest as u16);
            }
            Self::Length => {
                let [_, _, _, _, _, _, _, _, _, _, _, _, _, _, low, high, ..] = &mut row.scalars;
                *low = U16::new(least as u16);
                *high = U16::new(greatest as u16);
            }
            Self::Slot0 => {
                let [low, high, ..] = &mut row.quantities;
                *low = I32::new(least as i32);
                *high = I32::new(greatest as i32);
            }
            Self::Slot1 => {
                let [_, _, low, high, ..] = &mut row.quantities;
                *low = I32::new(least as i32);
                *high = I32::new(greatest as i32);
            }
            Self::Slot2 => {
                let [_, _, _, _, low, high, ..] = &mut row.quantities;
                *low = I32::new(least as i32);
                *high = I32::new(greatest as i32);
            }
            Self::Slot3 => {
                let [_, _, _, _, _, _, low, high, ..] = &mut row.quantities;
                *low = I32::new(least as i32);
                *high = I32::new(greatest as i32);
            }
        }
    }
}
