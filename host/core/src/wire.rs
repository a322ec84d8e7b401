//! Wire layouts: plain integers, and checked conversions into types.
//!
//! The structs, enumerations and constants are generated from `rtl/layout/layout.toml`;
//! `docs/reference/wire-formats.md` shows them as tables. Every struct is little-endian, unaligned and without padding,
//! so it can be read from and written to ring memory.

mod column;
mod columns;
mod fault;
mod lane;
mod layout;

pub use column::{RangeUnit, SetMasks};
pub use columns::{EnumerationColumn, FlagColumn, RangeColumn, SetColumn};
pub use fault::FaultClass;
pub use lane::lane_of;
pub use layout::*;

/// A wire integer that its enumeration does not define. A word with such a value is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is not a value of enumeration `{enumeration}`")]
pub struct UnknownValue {
    /// Name of the enumeration in the layout source.
    pub enumeration: &'static str,
    pub value: u16,
}
