//! Errors of the simulation.

use std::path::PathBuf;

/// An error of the simulated card, or of a call to it.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// An assertion in the RTL failed. From then on the simulation is invalid, so every later call returns this error.
    #[error("assertion failed in the simulated card at clock {clock}: {message}")]
    Assertion {
        clock: u64,
        /// The simulator's message: file, line, and the assertion.
        message: String,
    },
    #[error("the card did not answer a register {access} at {address:#x} within {clocks} clocks")]
    RegisterTimeout { access: &'static str, address: u32, clocks: u64 },
    #[error("the card refused a register {access} at {address:#x} (response {response})")]
    RegisterResponse {
        access: &'static str,
        address: u32,
        /// AXI response code of the register access: 2 is SLVERR, 3 is DECERR.
        response: u8,
    },
    /// A register address that is not a multiple of four, or above the register window.
    #[error("register address {0:#x} is not a word of the register window")]
    RegisterAddress(u32),
    #[error("access of {len} bytes at offset {offset} leaves a DMA region of {size} bytes")]
    OutsideRegion { offset: usize, len: usize, size: usize },
    #[error("watched value of {width} bytes at offset {offset} is not aligned")]
    Unaligned { offset: usize, width: usize },
    #[error("no DMA region is mapped at {0:#x}")]
    NotMapped(u64),
    /// A DMA region has zero bytes, or cannot be allocated.
    #[error("cannot allocate a DMA region of {len} bytes")]
    Allocate { len: usize, source: std::io::Error },
    #[error(
        "no simulated card of {0} lanes in this build, which has cards of {cards:?} (others: build with the feature `lanes` and PORTCULLIS_LANES=2, 4 or 8)",
        cards = crate::config::CARDS
    )]
    Lanes(u32),
    #[error("latency of {0} clocks is over the limit of {limit}", limit = crate::MAX_LATENCY)]
    Latency(u32),
    #[error("cannot inject: {0}")]
    Inject(&'static str),
    /// The card does not have this table bit, or its model, such as a netlist, does not expose the tables.
    #[error("there is no such bit in the simulated card's tables: {0:?}")]
    TableBit(crate::TableBit),
    /// A trace was requested, but the crate was built without the feature `trace`.
    #[error(
        "this simulator cannot write traces: build the program with `cargo build --release --package portcullis --features trace`"
    )]
    TraceUnavailable,
    #[error("cannot write the trace `{}`", .0.display())]
    Trace(PathBuf),
}
