//! The simulated card: the Verilated RTL, a model of host memory and of the bus, and the clock loop.
//!
//! [`SimulatedCard`] owns these three parts. The clock loop, the AXI4 memory model and its rule checker are C++
//! (`cpp/`); this crate is their safe interface. The card's clock advances only inside methods of [`SimulatedCard`], so
//! the card does nothing between calls.
//!
//! ```no_run
//! use portcullis_sim::{SimConfig, SimulatedCard, WatchedWord};
//! # fn main() -> Result<(), portcullis_sim::SimError> {
//! let mut sim = SimulatedCard::new(SimConfig::default())?;
//! let ring = sim.map(4096)?;
//! ring.write(0, &[1, 2, 3])?;
//! let magic = sim.read32(0x000)?;
//! let changed = sim.run_until(&WatchedWord::u8_becomes(&ring, 2, 1)?, 10_000)?;
//! # let _ = (magic, changed);
//! # Ok(())
//! # }
//! ```

#![allow(unsafe_code, reason = "memory is shared with C++")]

mod config;
mod error;
#[allow(unreachable_pub, unused_qualifications, reason = "cxx generates public and qualified names")]
mod ffi;
mod inject;
mod memory;
pub mod pci;
pub mod serve;
mod sim;
mod stats;
mod watch;

#[cfg(feature = "lanes")]
pub use config::LANES;
pub use config::{BusStall, MAX_LATENCY, PATROL_CLOCKS, ROUNDS, SimConfig, WATCHDOG_CLOCKS};
pub use error::SimError;
pub use inject::{InjectedBusFault, LaneRam, TableBit};
pub use memory::DmaRegion;
pub use sim::{SimulatedCard, canary, sweep_alone};
pub use stats::SimStats;
pub use watch::WatchedWord;
