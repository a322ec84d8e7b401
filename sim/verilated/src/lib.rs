//! The Verilated RTL as a C++ library. It has no Rust interface of its own but its parameters: `portcullis-sim`
//! includes its headers (build-script metadata `include`, `defines`) and links it.

mod params;

// Named so that they are linked: only C++ calls them.
#[cfg(feature = "trace")]
use libz_sys as _;
#[cfg(feature = "trace")]
use lz4_sys as _;

pub use params::WATCHDOG_LOG2;

/// SHA-256 rounds per clock that the cards were built with: 16, or what the build's environment says in
/// `PORTCULLIS_ROUNDS`.
pub const ROUNDS: u64 = number(env!("PORTCULLIS_ROUNDS")) as u64;
/// Lanes of the second card, beside the one with a single lane: 4, or what the build's environment says in
/// `PORTCULLIS_LANES`.
pub const LANES: u32 = number(env!("PORTCULLIS_LANES"));
/// Clocks that the cards pause in RUN before they hash their tables again: 2^17, or 2 to the power that the build's
/// environment says in `PORTCULLIS_PATROL`.
pub const PATROL_CLOCKS: u64 = 1 << number(env!("PORTCULLIS_PATROL"));

const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => 0,
    }
}
