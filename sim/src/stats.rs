//! Counters of the bus.

/// Counters since the simulation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SimStats {
    /// Clocks since the end of the reset.
    pub clocks: u64,
    pub read_bursts: u64,
    /// Number of read data beats (64 bytes each).
    pub read_beats: u64,
    pub write_bursts: u64,
    /// Number of write data beats (64 bytes each).
    pub write_beats: u64,
    /// Number of clocks in which at least one data beat was transferred, in either direction.
    pub bus_busy_clocks: u64,
    /// Number of bursts outside all mapped regions; they are answered with SLVERR.
    pub out_of_range: u64,
    /// Number of the card's violations of the bus rules; any value but 0 is a fault of the RTL.
    pub violations: u64,
    /// Largest number of read bursts that were in flight at the same time.
    pub reads_in_flight_max: u64,
}
