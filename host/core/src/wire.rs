//! Wire layouts: plain integers on the wire, types after a checked conversion.
//!
//! The structs, enumerations and constants are generated from `rtl/layout/layout.toml`;
//! `docs/reference/wire-formats.md` shows them as tables. Every struct is little-endian, unaligned and without padding,
//! so it can be read from and written to ring memory.

mod fault;
mod lane;
mod layout;

pub use fault::FaultClass;
pub use lane::lane_of;
pub use layout::*;

/// An integer on the wire that its enumeration does not define. Such a word is a refusal, never a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} is not a value of enumeration `{enumeration}`")]
pub struct UnknownValue {
    /// Name of the enumeration in the layout source.
    pub enumeration: &'static str,
    pub value: u16,
}
