//! Computes from the rows of an image which classes open a gate and which close one. Compiler and verifier both use it.

use crate::class::ClassSet;
use crate::wire::{Row, RowKind};

/// How the rows of an image use classes, both those of the entry and the established ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassDirections {
    /// Classes whose presence can open a gate.
    pub opening: ClassSet,
    /// Classes whose presence can close a gate.
    pub closing: ClassSet,
}

impl ClassDirections {
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Self {
        let mut directions = Self::default();
        for row in rows {
            let present = [row.classes_all, row.classes_any, row.established_all, row.established_any];
            let present = present.iter().fold(0, |set, classes| set | classes.get());
            let absent = row.classes_none.get() | row.established_none.get();
            let permits = row.kind == u8::from(RowKind::Permit);
            let (opening, closing) = if permits { (present, absent) } else { (absent, present) };
            directions.opening = directions.opening.union(ClassSet(opening));
            directions.closing = directions.closing.union(ClassSet(closing));
        }
        directions
    }

    /// Whether the text part of an image may have this set `opening`: each class in it must open a gate in some row,
    /// and close a gate in none.
    #[must_use]
    pub const fn permit(&self, opening: ClassSet) -> bool {
        opening.0 & !(self.opening.0 & !self.closing.0) == 0
    }
}
