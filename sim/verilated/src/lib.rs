//! The Verilated RTL as a C++ library. Rust code only uses its parameters. `portcullis-sim` includes its headers
//! (build-script metadata `include`, `defines`) and links the library.

mod params;

// Imported only so that it is linked; the C++ code calls it.
#[cfg(feature = "trace")]
use libz_sys as _;
#[cfg(feature = "trace")]
use lz4_sys as _;

pub use params::{TEXT_ENGINES, WATCHDOG_LOG2};

/// SHA-256 rounds per clock in these cards: 16, or `PORTCULLIS_ROUNDS` in the environment of the build.
pub const ROUNDS: u64 = number(env!("PORTCULLIS_ROUNDS")) as u64;
/// Lanes of the second card; the first card has one lane. 4, or `PORTCULLIS_LANES` in the environment of the build.
#[cfg(feature = "lanes")]
pub const LANES: u32 = number(env!("PORTCULLIS_LANES"));
/// Clocks in RUN after which the cards hash their tables again: 2^17, or 2 to the power of `PORTCULLIS_PATROL` in the
/// environment of the build.
pub const PATROL_CLOCKS: u64 = 1 << number(env!("PORTCULLIS_PATROL"));

const fn number(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => 0,
    }
}
