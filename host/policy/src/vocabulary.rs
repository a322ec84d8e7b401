//! The fields of the context in Cedar rules, each a column of a row, and the values that a policy declares for each.

use portcullis_core::class::ClassId;
use portcullis_core::manifest::PackageManifest;
use portcullis_core::wire::{
    Anchor, Category, EnumerationColumn, Epistemic, FlagColumn, Granularity, RangeColumn, SetColumn, fields_touched,
};

/// Column of the first quantity's range.
pub(crate) const QUANTITIES: usize = RangeColumn::FIELDS.len();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextField {
    Enumeration(EnumerationColumn),
    Flag(FlagColumn),
    Set(SetColumn),
    Range(RangeColumn),
}

impl ContextField {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Enumeration(column) => column.name(),
            Self::Flag(column) => column.name(),
            Self::Set(column) => column.name(),
            Self::Range(column) => column.name(),
        }
    }
}

/// The declared values of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVocabulary {
    enumerations: [Vec<String>; EnumerationColumn::ALL.len()],
    sets: [Vec<String>; SetColumn::ALL.len()],
    quantities: Vec<String>,
    first_domain: u8,
    classes: Vec<usize>,
}

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

impl PolicyVocabulary {
    /// The enumerations that are fields of the context. The first of all, the category, is the action in Cedar.
    pub const CONTEXT_ENUMERATIONS: &'static [EnumerationColumn] = match &EnumerationColumn::ALL {
        [EnumerationColumn::Category, fields @ ..] => fields,
        _ => &[],
    };

    /// The vocabulary that `manifest` declares.
    #[must_use]
    pub fn new(manifest: &PackageManifest) -> Self {
        let declared = &manifest.enumerations;
        let classes: Vec<_> = manifest.classes.iter().map(|class| class.name.clone()).collect();
        Self {
            enumerations: EnumerationColumn::ALL.map(|column| match column {
                EnumerationColumn::Category => names(Category::ALL, Category::name),
                EnumerationColumn::Granularity => names(Granularity::ALL, Granularity::name),
                EnumerationColumn::Epistemic => names(Epistemic::ALL, Epistemic::name),
                EnumerationColumn::Anchor => names(Anchor::ALL, Anchor::name),
                EnumerationColumn::Temporal => declared.temporal.clone(),
                EnumerationColumn::Domain => declared.domain.clone(),
                EnumerationColumn::Audience => declared.audience.clone(),
                EnumerationColumn::Register => declared.register.clone(),
            }),
            sets: SetColumn::ALL.map(|column| match column {
                SetColumn::FieldsTouched => FIELDS_TOUCHED.map(|(name, _)| name.to_owned()).into(),
                SetColumn::Classes | SetColumn::Established => classes.clone(),
            }),
            quantities: manifest.quantities.iter().map(|quantity| quantity.name.clone()).collect(),
            first_domain: manifest.first_domain(),
            classes: (0..manifest.classes.len()).filter_map(|at| manifest.class_id(at)).map(ClassId::index).collect(),
        }
    }

    /// Declared values of the enumeration in `column`.
    #[must_use]
    pub fn enumeration(&self, column: EnumerationColumn) -> &[String] {
        self.enumerations.get(column.index()).map_or(&[], Vec::as_slice)
    }

    /// Members of the set in `column`.
    #[must_use]
    pub fn set(&self, column: SetColumn) -> &[String] {
        self.sets.get(column.index()).map_or(&[], Vec::as_slice)
    }

    pub(crate) const fn first_domain(&self) -> u8 {
        self.first_domain
    }

    /// The number that stands for a value of the enumeration in `column` in descriptors.
    #[must_use]
    pub fn value_number(&self, column: EnumerationColumn, name: &str) -> Option<usize> {
        self.enumeration(column).iter().position(|known| known == name).map(|at| at + self.first_value(column))
    }

    /// The value of the enumeration in `column` for which `number` stands in descriptors.
    #[must_use]
    pub fn value_name(&self, column: EnumerationColumn, number: usize) -> Option<&str> {
        let at = number.checked_sub(self.first_value(column))?;
        self.enumeration(column).get(at).map(String::as_str)
    }

    /// The declared values of the enumeration in `column`, as a mask with one bit per value.
    pub(crate) fn value_mask(&self, column: EnumerationColumn) -> u32 {
        (prefix_mask(self.enumeration(column).len()) as u32).checked_shl(self.first_value(column) as u32).unwrap_or(0)
    }

    const fn first_value(&self, column: EnumerationColumn) -> usize {
        match column {
            EnumerationColumn::Domain => self.first_domain as usize,
            _ => 0,
        }
    }

    /// The number that stands for a member of the set in `column` in descriptors.
    #[must_use]
    pub fn member_number(&self, column: SetColumn, name: &str) -> Option<usize> {
        let at = self.set(column).iter().position(|known| known == name)?;
        match column {
            SetColumn::FieldsTouched => Some(at),
            SetColumn::Classes | SetColumn::Established => self.classes.get(at).copied(),
        }
    }

    /// The member of the set in `column` for which `number` stands in descriptors.
    #[must_use]
    pub fn member_name(&self, column: SetColumn, number: usize) -> Option<&str> {
        let at = match column {
            SetColumn::FieldsTouched => number,
            SetColumn::Classes | SetColumn::Established => self.classes.iter().position(|class| *class == number)?,
        };
        self.set(column).get(at).map(String::as_str)
    }

    /// The members of the set in `column`, as a mask with one bit per member.
    pub(crate) fn member_mask(&self, column: SetColumn) -> u128 {
        match column {
            SetColumn::FieldsTouched => prefix_mask(self.set(column).len()),
            SetColumn::Classes | SetColumn::Established => {
                self.classes.iter().fold(0, |mask, class| mask | bit(*class))
            }
        }
    }

    /// Names of the quantity slots.
    #[must_use]
    pub fn quantities(&self) -> &[String] {
        &self.quantities
    }

    /// The field of the context called `name`.
    pub(crate) fn field(name: &str) -> Option<ContextField> {
        fn named<C: Copy>(all: &[C], of: impl Fn(C) -> &'static str, name: &str) -> Option<C> {
            all.iter().copied().find(|column| of(*column) == name)
        }
        named(Self::CONTEXT_ENUMERATIONS, EnumerationColumn::name, name)
            .map(ContextField::Enumeration)
            .or_else(|| named(&FlagColumn::ALL, FlagColumn::name, name).map(ContextField::Flag))
            .or_else(|| named(&SetColumn::ALL, SetColumn::name, name).map(ContextField::Set))
            .or_else(|| named(&RangeColumn::FIELDS, RangeColumn::name, name).map(ContextField::Range))
    }

    /// Names of all fields of the context.
    pub(crate) fn field_names() -> impl Iterator<Item = &'static str> + Clone {
        let enumerations = Self::CONTEXT_ENUMERATIONS.iter().map(|column| column.name());
        let ranges = RangeColumn::FIELDS.map(RangeColumn::name);
        enumerations.chain(FlagColumn::NAMES).chain(SetColumn::NAMES).chain(ranges).chain(["quantity"])
    }
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
