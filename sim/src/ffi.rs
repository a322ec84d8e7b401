//! The bridge to `cpp/`.

/// The result of one register access, from C++.
#[cxx::bridge(namespace = "portcullis")]
pub(crate) mod bridge {
    struct RegisterResult {
        /// False if the card did not answer within the bound.
        answered: bool,
        response: u8,
        value: u32,
    }

    /// Counters; see `SimStats`.
    struct SimulatedBusCounters {
        clocks: u64,
        read_bursts: u64,
        read_beats: u64,
        write_bursts: u64,
        write_beats: u64,
        bus_busy_clocks: u64,
        out_of_range: u64,
        violations: u64,
        reads_in_flight_max: u64,
    }

    unsafe extern "C++" {
        include!("portcullis-sim/cpp/card_sim.h");

        type CardSim;

        /// A card after its reset. `lanes` is 1 or the number of the build's second card. `stall`: 0 none, 1 every
        /// fourth, 2 random. `watchdog`: clocks after which the card may withdraw a refused request.
        fn new_card_sim(
            lanes: u32,
            read_latency: u32,
            write_latency: u32,
            stall: u8,
            seed: u64,
            watchdog: u64,
            trace: &str,
        ) -> UniquePtr<CardSim>;
        /// Applies the hardware reset; the card and the bus drop all transfers in flight.
        fn hardware_reset(self: Pin<&mut CardSim>);
        /// True if the trace file was opened, or no trace was requested.
        fn trace_ok(self: &CardSim) -> bool;

        /// Makes `size` bytes at `memory` accessible to the card at device address `address`, which must be unmapped.
        /// `rights`: 1 to read, 2 to write, 3 both.
        ///
        /// # Safety
        /// `memory` is 8-byte aligned and valid for atomic access until `unmap` of the same address or the end of the
        /// simulation.
        unsafe fn map(self: Pin<&mut CardSim>, address: u64, memory: *mut u8, size: usize, rights: u8);
        /// Removes a mapping; false if there is no mapping at this address.
        fn unmap(self: Pin<&mut CardSim>, address: u64) -> bool;
        /// Allows or forbids the card to use its bus. While this is forbidden, its requests are answered with SLVERR.
        fn set_master(self: Pin<&mut CardSim>, on: bool);
        /// Whether the 8-byte word at this device address is mapped.
        fn is_mapped(self: &CardSim, address: u64) -> bool;

        fn read32(self: Pin<&mut CardSim>, address: u32, bound: u64) -> RegisterResult;
        fn write32(self: Pin<&mut CardSim>, address: u32, value: u32, bound: u64) -> RegisterResult;
        /// Runs until `clocks` have passed or an assertion failed.
        fn run(self: Pin<&mut CardSim>, clocks: u64);
        /// Runs until the watched word satisfies the condition, an assertion fails, or `bound` clocks have passed; true
        /// only if the condition is satisfied.
        fn run_until(self: Pin<&mut CardSim>, address: u64, mask: u64, value: u64, equal: bool, bound: u64) -> bool;
        /// Prepares a fault; `inject.h` gives the numbers of the kinds.
        fn inject(self: Pin<&mut CardSim>, kind: u8, nth: u32, bit: u32);
        /// Inverts one bit in a lane's policy or entropy table; false if the bit does not exist.
        fn set_stale(self: Pin<&mut CardSim>, on: bool);
        fn upset_table(self: Pin<&mut CardSim>, lane: u32, table: &str, memory: &str, row: u32, bit: u32) -> bool;
        /// Changes latencies and stall pattern from the next clock on.
        fn set_bus(self: Pin<&mut CardSim>, read_latency: u32, write_latency: u32, stall: u8, seed: u64);

        fn counters(self: &CardSim) -> SimulatedBusCounters;
        /// The first violations of the bus rules, one per line; empty if there are none.
        fn violations(self: &CardSim) -> String;
        /// Time in nanoseconds for a single bank to sweep its rows for this many clocks; 0 if an assertion failed.
        fn sweep_alone(clocks: u64) -> u64;
        /// Runs a model whose only assertion fails. Returns the simulator's message; it is empty if the assertion did
        /// not stop the model.
        fn canary() -> String;
        /// Behaves as if an assertion of the RTL failed now.
        fn trip(self: Pin<&mut CardSim>);

        /// True once an assertion of the RTL has failed.
        fn failed(self: &CardSim) -> bool;
        /// Clock of the first failed assertion.
        fn failure_clock(self: &CardSim) -> u64;
        /// Text of the first failed assertions.
        fn failure(self: &CardSim) -> String;
    }
}
