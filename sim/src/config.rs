//! Configuration of the simulated card and its bus.

use std::path::PathBuf;

/// Longest latency that the bus model accepts, in clocks.
pub const MAX_LATENCY: u32 = 1_000;

/// Number of clocks without progress after which the simulated card's bus watchdog expires.
///
/// The card's default is 2^22. The simulated card has a smaller value, so that tests can wait for it. The value is
/// still far above the longest gap that [`MAX_LATENCY`] and any [`BusStall`] can cause.
pub const WATCHDOG_CLOCKS: u64 = 1 << portcullis_verilated::WATCHDOG_LOG2;
/// SHA-256 rounds per clock in the simulated card.
pub const ROUNDS: u64 = portcullis_verilated::ROUNDS;
/// Clocks in RUN after which the simulated card hashes its tables again; the card's default is 2^24.
pub const PATROL_CLOCKS: u64 = portcullis_verilated::PATROL_CLOCKS;
/// Lanes of the second of the two cards in this build: 4, or `PORTCULLIS_LANES` in the environment of the build. The
/// first card has one lane.
#[cfg(feature = "lanes")]
pub const LANES: u32 = portcullis_verilated::LANES;
/// Lanes of each card in this build.
#[cfg(feature = "lanes")]
pub(crate) const CARDS: &[u32] = &[1, LANES];
#[cfg(not(feature = "lanes"))]
pub(crate) const CARDS: &[u32] = &[1];

/// When the bus model stalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BusStall {
    /// The bus never stalls: every channel is ready in every clock, and responses come in the order of the requests.
    #[default]
    None,
    /// The bus stalls in three of every four clocks; a channel only transfers in the fourth.
    EveryFourth,
    /// Each channel stalls at random, in about half of the clocks, independently of the others. Responses to different
    /// reads are reordered and interleaved. The same seed gives the same stalls in every clock.
    Random(
        /// Seed of the random generator.
        u64,
    ),
}

/// Configuration of a simulated card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimConfig {
    pub lanes: u32,
    /// Clocks from the acceptance of a read request to its first data beat, 0 to [`MAX_LATENCY`]. With 0, it is still
    /// one clock.
    pub read_latency: u32,
    /// Clocks from the acceptance of the last data beat of a write to its response, 0 to [`MAX_LATENCY`].
    pub write_latency: u32,
    /// Stall pattern.
    pub stall: BusStall,
    /// File for an FST trace of every clock; needs the crate's feature `trace`.
    pub trace: Option<PathBuf>,
}

impl Default for SimConfig {
    /// One lane, 100 clocks each way (0.4 µs at 250 MHz), no stalls, no trace.
    fn default() -> Self {
        Self { lanes: 1, read_latency: 100, write_latency: 100, stall: BusStall::None, trace: None }
    }
}
