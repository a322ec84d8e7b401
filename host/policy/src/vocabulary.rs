//! The columns of a row with their names in Cedar rules, and the values that a policy declares for each column.

use portcullis_core::class::ClassId;
use portcullis_core::manifest::Manifest;
use portcullis_core::wire::{Anchor, Category, Epistemic, Granularity, fields_touched};

/// Enumerations, in the order of their columns. The first one, the category, is the action in Cedar and not a field.
pub const ENUMERATIONS: [&str; 8] =
    ["category", "granularity", "epistemic", "anchor", "temporal", "domain", "audience", "register"];
/// Flags, in the order of their bits.
pub const FLAGS: [&str; 2] = ["inert_prefix", "uncertainty_known"];
/// Sets, in the order of their columns.
pub const SETS: [&str; 3] = ["fields_touched", "classes", "established"];
/// Ranges except those of quantities, in the order of their columns.
pub const RANGES: [(&str, Unit); 11] = [
    ("depth", Unit::Count(u8::MAX as i64)),
    ("alternatives", Unit::Count(u8::MAX as i64)),
    ("correction", Unit::Count(u8::MAX as i64)),
    ("novelty", Unit::BasisPoints),
    ("uncertainty", Unit::BasisPoints),
    ("certainty", Unit::BasisPoints),
    ("content_deviation", Unit::BasisPoints),
    ("certainty_divergence", Unit::BasisPoints),
    ("register_divergence", Unit::BasisPoints),
    ("trust_slope", Unit::Count(u16::MAX as i64)),
    ("length", Unit::Count(u16::MAX as i64)),
];
/// Column of the uncertainty's range.
pub(crate) const UNCERTAINTY: usize = 4;
/// Column of the first quantity's range.
pub(crate) const QUANTITIES: usize = RANGES.len();

/// The Cedar type of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `Long`, from 0 to the given value.
    Count(i64),
    /// `decimal`, from 0 to 1.
    BasisPoints,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Enumeration(usize),
    Flag(usize),
    Set(usize),
    Range(usize, Unit),
}

impl Field {
    pub(crate) fn name(self) -> &'static str {
        let name = match self {
            Self::Enumeration(column) => ENUMERATIONS.get(column).copied(),
            Self::Flag(flag) => FLAGS.get(flag).copied(),
            Self::Set(column) => SETS.get(column).copied(),
            Self::Range(column, _) => RANGES.get(column).map(|(name, _)| *name),
        };
        name.unwrap_or_default()
    }
}

/// The declared values of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    enumerations: [Vec<String>; 8],
    sets: [Vec<String>; 3],
    quantities: Vec<String>,
    first_domain: u8,
    classes: Vec<usize>,
}

/// Column of the domain among the enumerations.
const DOMAIN: usize = 5;

fn names<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> Vec<String> {
    all.iter().map(|value| name(*value).to_owned()).collect()
}

/// Names of the fields of the semantic state, in the order of their bits.
pub const FIELDS_TOUCHED: [(&str, u16); 7] = [
    ("intent", fields_touched::INTENT),
    ("context", fields_touched::CONTEXT),
    ("memory", fields_touched::MEMORY),
    ("policy_reference", fields_touched::POLICY_REFERENCE),
    ("mutation", fields_touched::MUTATION),
    ("lineage", fields_touched::LINEAGE),
    ("entropy", fields_touched::ENTROPY),
];

impl Vocabulary {
    /// The vocabulary that `manifest` declares.
    #[must_use]
    pub fn new(manifest: &Manifest) -> Self {
        let declared = &manifest.enumerations;
        let classes: Vec<_> = manifest.classes.iter().map(|class| class.name.clone()).collect();
        Self {
            enumerations: [
                names(Category::ALL, Category::name),
                names(Granularity::ALL, Granularity::name),
                names(Epistemic::ALL, Epistemic::name),
                names(Anchor::ALL, Anchor::name),
                declared.temporal.clone(),
                declared.domain.clone(),
                declared.audience.clone(),
                declared.register.clone(),
            ],
            sets: [FIELDS_TOUCHED.map(|(name, _)| name.to_owned()).into(), classes.clone(), classes],
            quantities: manifest.quantities.iter().map(|quantity| quantity.name.clone()).collect(),
            first_domain: manifest.first_domain(),
            classes: (0..manifest.classes.len()).filter_map(|at| manifest.class_id(at)).map(ClassId::index).collect(),
        }
    }

    /// Declared values of the enumeration in `column`.
    #[must_use]
    pub fn enumeration(&self, column: usize) -> &[String] {
        self.enumerations.get(column).map_or(&[], Vec::as_slice)
    }

    /// Members of the set in `column`.
    #[must_use]
    pub fn set(&self, column: usize) -> &[String] {
        self.sets.get(column).map_or(&[], Vec::as_slice)
    }

    pub(crate) const fn first_domain(&self) -> u8 {
        self.first_domain
    }

    /// The number that stands for a value of the enumeration in `column` in descriptors.
    #[must_use]
    pub fn value_number(&self, column: usize, name: &str) -> Option<usize> {
        self.enumeration(column).iter().position(|known| known == name).map(|at| at + self.first_value(column))
    }

    /// The value of the enumeration in `column` for which `number` stands in descriptors.
    #[must_use]
    pub fn value_name(&self, column: usize, number: usize) -> Option<&str> {
        let at = number.checked_sub(self.first_value(column))?;
        self.enumeration(column).get(at).map(String::as_str)
    }

    /// The declared values of the enumeration in `column`, as a mask with one bit per value.
    pub(crate) fn value_mask(&self, column: usize) -> u32 {
        (prefix_mask(self.enumeration(column).len()) as u32).checked_shl(self.first_value(column) as u32).unwrap_or(0)
    }

    const fn first_value(&self, column: usize) -> usize {
        if column == DOMAIN { self.first_domain as usize } else { 0 }
    }

    /// The number that stands for a member of the set in `column` in descriptors.
    #[must_use]
    pub fn member_number(&self, column: usize, name: &str) -> Option<usize> {
        let at = self.set(column).iter().position(|known| known == name)?;
        if column == 0 { Some(at) } else { self.classes.get(at).copied() }
    }

    /// The member of the set in `column` for which `number` stands in descriptors.
    #[must_use]
    pub fn member_name(&self, column: usize, number: usize) -> Option<&str> {
        let at = if column == 0 { number } else { self.classes.iter().position(|class| *class == number)? };
        self.set(column).get(at).map(String::as_str)
    }

    /// The members of the set in `column`, as a mask with one bit per member.
    pub(crate) fn member_mask(&self, column: usize) -> u128 {
        let own = || self.classes.iter().fold(0, |mask, class| mask | bit(*class));
        if column == 0 { prefix_mask(self.set(column).len()) } else { own() }
    }

    /// Names of the quantity slots.
    #[must_use]
    pub fn quantities(&self) -> &[String] {
        &self.quantities
    }

    /// The field of the context called `name`.
    pub(crate) fn field(name: &str) -> Option<Field> {
        let position = |names: &[&str]| names.iter().position(|known| *known == name);
        position(&ENUMERATIONS)
            .filter(|column| *column > 0)
            .map(Field::Enumeration)
            .or_else(|| position(&FLAGS).map(Field::Flag))
            .or_else(|| position(&SETS).map(Field::Set))
            .or_else(|| RANGES.iter().position(|(known, _)| *known == name).and_then(range))
    }

    /// Names of all fields of the context.
    pub(crate) fn field_names() -> impl Iterator<Item = &'static str> + Clone {
        let ranges = RANGES.iter().map(|(name, _)| *name);
        ENUMERATIONS.into_iter().skip(1).chain(FLAGS).chain(SETS).chain(ranges).chain(["quantity"])
    }
}

fn range(column: usize) -> Option<Field> {
    RANGES.get(column).map(|(_, unit)| Field::Range(column, *unit))
}

/// A mask of the first `count` bits.
#[must_use]
pub(crate) const fn prefix_mask(count: usize) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

/// The mask in which only bit `index` is set; 0 if `index` is too large.
#[must_use]
pub(crate) fn bit(index: usize) -> u128 {
    u32::try_from(index).ok().and_then(|index| 1u128.checked_shl(index)).unwrap_or(0)
}

/// Indexes of the bits of `mask`, lowest first.
pub(crate) fn bits_of(mask: u128) -> impl Iterator<Item = usize> {
    (0..128).filter(move |index| mask >> index & 1 == 1)
}
