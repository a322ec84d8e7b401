//! Counters of the bus.

/// Counters since the simulation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SimStats {
    /// Clocks since the end of the reset.
    pub clocks: u64,
    pub read_bursts: u64,
    /// Read data beats (64 bytes each) moved.
    pub read_beats: u64,
    pub write_bursts: u64,
    /// Write data beats (64 bytes each) moved.
    pub write_beats: u64,
    /// Clocks in which at least one data beat was transferred in either direction.
    pub bus_busy_clocks: u64,
    /// Bursts outside all mapped regions, which are answered with SLVERR.
    pub out_of_range: u64,
    /// Violations of the bus rules by the card; any value but 0 is a fault of the RTL.
    pub violations: u64,
    /// Largest number of read bursts that were in flight at once.
    pub reads_in_flight_max: u64,
}
