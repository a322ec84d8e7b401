//! Parameters of the simulated card, for the build script and for the tests.

/// log2 of the clocks after which the simulated card's bus watchdog expires. The card's default is 22. The value here
/// is small enough for a test, and 16 times the longest latency of the bus model.
pub const WATCHDOG_LOG2: u32 = 14;

/// Engines of the simulated card's text lane.
pub const TEXT_ENGINES: u32 = 3;
