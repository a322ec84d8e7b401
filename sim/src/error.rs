//! What can go wrong in a simulation.

use std::path::PathBuf;

/// An error of the simulated card or of its use.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// An assertion in the RTL failed. The simulation is not trustworthy any more: every later call gives this error
    /// again.
    #[error("assertion failed in the simulated card at clock {clock}: {message}")]
    Assertion {
        /// Clock in which it failed.
        clock: u64,
        /// What the simulator printed: file, line, and the failed assertion.
        message: String,
    },
    /// The register bus did not answer.
    #[error("the card did not answer a register {access} at {address:#x} within {clocks} clocks")]
    RegisterTimeout {
        /// `read` or `write`.
        access: &'static str,
        /// Byte address of the register.
        address: u32,
        /// Clocks waited.
        clocks: u64,
    },
    /// The register bus answered with an error response.
    #[error("the card refused a register {access} at {address:#x} (response {response})")]
    RegisterResponse {
        /// `read` or `write`.
        access: &'static str,
        /// Byte address of the register.
        address: u32,
        /// AXI response code: 2 is SLVERR, 3 is DECERR.
        response: u8,
    },
    /// A register address that is not a multiple of four, or above the register window.
    #[error("register address {0:#x} is not a word of the register window")]
    RegisterAddress(u32),
    /// An access outside a DMA region.
    #[error("access of {len} bytes at offset {offset} leaves a DMA region of {size} bytes")]
    OutsideRegion {
        /// First byte.
        offset: usize,
        /// Bytes.
        len: usize,
        /// Size of the region.
        size: usize,
    },
    /// A watched value that is not aligned to its own size.
    #[error("watched value of {width} bytes at offset {offset} is not aligned")]
    Unaligned {
        /// Offset in the region.
        offset: usize,
        /// Bytes of the value.
        width: usize,
    },
    /// A region that this simulation does not map (any more).
    #[error("no DMA region is mapped at {0:#x}")]
    NotMapped(u64),
    /// A DMA region of no bytes, or one for which there is no memory.
    #[error("cannot allocate a DMA region of {len} bytes")]
    Allocate {
        /// Bytes asked for.
        len: usize,
        /// Reason.
        source: std::io::Error,
    },
    /// A number of lanes that this build simulates no card of.
    #[error(
        "no simulated card of {0} lanes in this build: it has 1 and {more} (build with PORTCULLIS_LANES=2, 4 or 8 for others)",
        more = crate::LANES
    )]
    Lanes(u32),
    /// A latency over [`crate::MAX_LATENCY`].
    #[error("latency of {0} clocks is over the limit of {limit}", limit = crate::MAX_LATENCY)]
    Latency(u32),
    /// A fault injection that cannot be carried out.
    #[error("cannot inject: {0}")]
    Inject(&'static str),
    /// A bit that no table of this card has, or a card whose model hides its tables (a netlist's).
    #[error("there is no such bit in the simulated card's tables: {0:?}")]
    TableBit(crate::TableBit),
    /// A trace was asked for, but the crate was built without its feature `trace`.
    #[error("this simulator cannot write traces: build it with `--features portcullis-sim/trace`")]
    TraceUnavailable,
    /// The trace file cannot be written.
    #[error("cannot write the trace `{}`", .0.display())]
    Trace(PathBuf),
}
