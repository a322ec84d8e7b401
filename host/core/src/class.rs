//! Sets of declared classes, one bit per class in the order of the policy's list.

use crate::wire::CLASSES;
use serde::{Deserialize, Serialize};

/// Index of a class in the policy's list, 0 to 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct ClassId(u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("class {0} is over the last class, {last}", last = CLASSES - 1)]
pub struct ClassIdError(pub u8);

impl TryFrom<u8> for ClassId {
    type Error = ClassIdError;
    fn try_from(value: u8) -> Result<Self, ClassIdError> {
        if usize::from(value) < CLASSES { Ok(Self(value)) } else { Err(ClassIdError(value)) }
    }
}

impl From<ClassId> for u8 {
    fn from(value: ClassId) -> Self {
        value.0
    }
}

impl ClassId {
    /// Position in the policy's list.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of classes.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use portcullis_core::class::{ClassId, ClassSet};
///
/// let (mail, phone) = (ClassId::try_from(0u8)?, ClassId::try_from(1u8)?);
/// let set = ClassSet::EMPTY.with(mail);
/// assert!(set.contains(mail) && !set.contains(phone));
/// assert_eq!(set.union(ClassSet::EMPTY.with(phone)).iter().collect::<Vec<_>>(), [mail, phone]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClassSet(pub u128);

impl ClassSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Whether the set holds `class`.
    #[must_use]
    pub const fn contains(self, class: ClassId) -> bool {
        self.0 >> class.0 & 1 == 1
    }

    /// The set with `class` added.
    #[must_use]
    pub const fn with(self, class: ClassId) -> Self {
        Self(self.0 | 1 << class.0)
    }

    /// Classes that are in at least one of the two sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The classes that the banks compare. `self` are the classes that the host describes, `lane` those that the text
    /// lane finds. A class in `opening` counts only if both have it; any other class counts if one of them has it.
    #[must_use]
    pub const fn joined(self, lane: Self, opening: Self) -> Self {
        Self((self.0 | lane.0 & !opening.0) & !(opening.0 & !lane.0))
    }

    /// The classes, lowest first.
    pub fn iter(self) -> impl Iterator<Item = ClassId> {
        (0..CLASSES as u8).map(ClassId).filter(move |c| self.contains(*c))
    }
}

impl FromIterator<ClassId> for ClassSet {
    fn from_iter<I: IntoIterator<Item = ClassId>>(classes: I) -> Self {
        classes.into_iter().fold(Self::EMPTY, Self::with)
    }
}

// JSON numbers stop at 53 bits in most readers, so a set is a list of class indexes.
impl Serialize for ClassSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for ClassSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<ClassId>::deserialize(deserializer)?.into_iter().collect())
    }
}
