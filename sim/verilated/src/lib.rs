//! The Verilated RTL as a C++ library. It has no Rust interface of its own but its parameters: `portcullis-sim` includes
//! its headers (build-script metadata `include`, `defines`) and links it.

mod params;

// Named so that they are linked: only C++ calls them.
#[cfg(feature = "trace")]
use libz_sys as _;
#[cfg(feature = "trace")]
use lz4_sys as _;

pub use params::WATCHDOG_LOG2;

/// SHA-256 rounds a clock that the card was built with: 16, or what the build's environment says in `PORTCULLIS_ROUNDS`.
pub const ROUNDS: u64 = match u64::from_str_radix(env!("PORTCULLIS_ROUNDS"), 10) {
    Ok(rounds) => rounds,
    Err(_) => 0,
};
