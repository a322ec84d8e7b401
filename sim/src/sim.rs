//! The simulated card.

use std::collections::BTreeMap;
use std::pin::Pin;

use cxx::UniquePtr;

use crate::config::CARDS;
use crate::ffi::bridge::{self, CardSim};
use crate::memory::FilePart;
use crate::{
    BusStall, DmaRegion, InjectedBusFault, MAX_LATENCY, SimConfig, SimError, SimStats, TableBit, WATCHDOG_CLOCKS,
    WatchedWord,
};

/// Number of clocks within which the card must answer a register access.
const REGISTER_BOUND: u64 = 10_000;
const REGISTER_WINDOW: u32 = 1 << 20;
/// Device address of the first region: above 4 GiB, so that every test uses more than 32 address bits.
const FIRST_ADDRESS: u64 = 0x27_0000_0000;
/// Number of unmapped bytes after each region, so that an access beyond a region's end is detected.
const GUARD: u64 = 0x1_0000;

/// The card's rights to read and to write a region; the C++ code uses the same numbers.
pub(crate) const READ: u8 = 1;
pub(crate) const WRITE: u8 = 2;

/// Runs the canary, a model that is built like the card and whose assertion must stop it. Returns the assertion's
/// message. `None` means that assertions are not compiled in, so simulations of this build prove nothing.
#[must_use]
pub fn canary() -> Option<String> {
    let text = bridge::canary();
    (!text.is_empty()).then_some(text)
}

/// The time to run a single bank of 256 rows for `clocks` clocks: a reference for the speed of a simulated card. `None`
/// if an assertion failed, or in a build without the feature `lanes`, which has no such bank.
#[must_use]
pub fn sweep_alone(clocks: u64) -> Option<std::time::Duration> {
    let nanoseconds = bridge::sweep_alone(clocks);
    (nanoseconds > 0).then(|| std::time::Duration::from_nanos(nanoseconds))
}

/// A simulated card, with the host memory that it can access.
pub struct SimulatedCard {
    // Declared before the regions that it points to, because fields are dropped in this order.
    card: UniquePtr<CardSim>,
    regions: Vec<DmaRegion>,
    files: BTreeMap<u64, FilePart>,
    next_address: u64,
}

// SAFETY: the model and the harness do not depend on the thread that made them: each entry point of `CardSim` sets the
// thread's simulation context and message sink before it evaluates the model. `&SimulatedCard` only gives access to
// counters.
unsafe impl Send for SimulatedCard {}

impl std::fmt::Debug for SimulatedCard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sim").field("regions", &self.regions.len()).field("stats", &self.stats()).finish()
    }
}

/// The stall pattern as (pattern, seed), in the numbering of the C++ code.
fn stall_code(stall: BusStall) -> (u8, u64) {
    match stall {
        BusStall::None => (0, 0),
        BusStall::EveryFourth => (1, 0),
        BusStall::Random(seed) => (2, seed),
    }
}

fn check_latency(clocks: u32) -> Result<(), SimError> {
    if clocks > MAX_LATENCY { Err(SimError::Latency(clocks)) } else { Ok(()) }
}

impl SimulatedCard {
    /// A card after its reset, without mapped memory. Errors: [`SimError::Lanes`], [`SimError::Latency`],
    /// [`SimError::TraceUnavailable`], [`SimError::Trace`], [`SimError::Assertion`].
    pub fn new(config: SimConfig) -> Result<Self, SimError> {
        if !CARDS.contains(&config.lanes) {
            return Err(SimError::Lanes(config.lanes));
        }
        check_latency(config.read_latency)?;
        check_latency(config.write_latency)?;
        if config.trace.is_some() && !cfg!(feature = "trace") {
            return Err(SimError::TraceUnavailable);
        }
        let trace = match &config.trace {
            Some(path) => {
                // The trace writer does not report whether it opened its file.
                std::fs::File::create(path).map_err(|_| SimError::Trace(path.clone()))?;
                path.to_str().ok_or_else(|| SimError::Trace(path.clone()))?
            }
            None => "",
        };
        let (stall, seed) = stall_code(config.stall);
        let (read, write) = (config.read_latency, config.write_latency);
        let card = bridge::new_card_sim(config.lanes, read, write, stall, seed, WATCHDOG_CLOCKS, trace);
        let sim = Self { card, regions: Vec::new(), files: BTreeMap::new(), next_address: FIRST_ADDRESS };
        if !sim.card.trace_ok() {
            return Err(SimError::Trace(config.trace.unwrap_or_default()));
        }
        sim.healthy()?;
        Ok(sim)
    }

    fn pin(&mut self) -> Pin<&mut CardSim> {
        self.card.pin_mut()
    }

    /// Returns the error if an assertion has failed.
    fn healthy(&self) -> Result<(), SimError> {
        if self.card.failed() {
            Err(SimError::Assertion { clock: self.card.failure_clock(), message: self.card.failure() })
        } else {
            Ok(())
        }
    }

    /// Allocates `len` zeroed bytes and maps them for the card at the region's address. Errors: [`SimError::Allocate`],
    /// [`SimError::Assertion`].
    pub fn map(&mut self, len: usize) -> Result<DmaRegion, SimError> {
        self.healthy()?;
        let region = DmaRegion::allocate(self.next_address, len)?;
        let (memory, size) = region.raw();
        self.next_address += size as u64 + GUARD;
        // SAFETY: `memory` is a page-aligned mapping of `size` bytes; `self.regions` keeps it alive until `unmap`, and
        // `self.card` is dropped before `self.regions`.
        unsafe { self.pin().map(region.address(), memory, size, READ | WRITE) };
        self.regions.push(region.clone());
        Ok(region)
    }

    /// Unmaps the region: later accesses by the card get SLVERR and are counted. The card must not be using the region.
    /// Errors: [`SimError::NotMapped`], [`SimError::Assertion`].
    pub fn unmap(&mut self, region: &DmaRegion) -> Result<(), SimError> {
        self.healthy()?;
        let address = region.address();
        if !self.pin().unmap(address) {
            return Err(SimError::NotMapped(address));
        }
        self.regions.retain(|kept| kept.address() != address);
        Ok(())
    }

    /// Maps a part of a file for the card at `address`. Parts and regions must not overlap.
    pub(crate) fn map_file(&mut self, address: u64, part: FilePart, rights: u8) {
        // SAFETY: the part is 8-byte aligned and mapped; `self.files` keeps it alive until `unmap_file`, and
        // `self.card` is dropped before.
        unsafe { self.pin().map(address, part.start(), part.size, rights) };
        self.files.insert(address, part);
    }

    /// Unmaps a part of a file. When this returns, the card no longer accesses the part.
    pub(crate) fn unmap_file(&mut self, address: u64) {
        self.pin().unmap(address);
        self.files.remove(&address);
    }

    /// Whether the word at this device address is mapped.
    #[cfg(test)]
    pub(crate) fn map_is(&self, address: u64) -> bool {
        let mapped = self.card.is_mapped(address);
        assert_eq!(mapped, self.files.contains_key(&address));
        mapped
    }

    /// Allows or forbids the card to use its bus. While this is forbidden, its requests get SLVERR and are counted.
    pub fn set_bus_master(&mut self, on: bool) {
        self.pin().set_master(on);
    }

    /// Reads the register at byte address `address`; takes a few clocks. Errors: [`SimError::RegisterAddress`],
    /// [`SimError::RegisterTimeout`], [`SimError::RegisterResponse`], [`SimError::Assertion`].
    pub fn read32(&mut self, address: u32) -> Result<u32, SimError> {
        self.register("read", address, |card| card.read32(address, REGISTER_BOUND))
    }

    /// Writes the register at byte address `address`; takes a few clocks. Errors: as [`SimulatedCard::read32`].
    pub fn write32(&mut self, address: u32, value: u32) -> Result<(), SimError> {
        self.register("write", address, |card| card.write32(address, value, REGISTER_BOUND)).map(|_| ())
    }

    /// Applies the hardware reset: the card is as after its first reset, and the bus drops all transfers in flight,
    /// like a PCIe link that goes down. Memory, injected faults and counters stay. Errors: [`SimError::Assertion`].
    pub fn hardware_reset(&mut self) -> Result<(), SimError> {
        self.healthy()?;
        self.pin().hardware_reset();
        self.healthy()
    }

    fn register(
        &mut self,
        access: &'static str,
        address: u32,
        go: impl FnOnce(Pin<&mut CardSim>) -> bridge::RegisterResult,
    ) -> Result<u32, SimError> {
        self.healthy()?;
        if !address.is_multiple_of(4) || address >= REGISTER_WINDOW {
            return Err(SimError::RegisterAddress(address));
        }
        let result = go(self.pin());
        self.healthy()?;
        match result {
            bridge::RegisterResult { answered: false, .. } => {
                Err(SimError::RegisterTimeout { access, address, clocks: REGISTER_BOUND })
            }
            bridge::RegisterResult { response: 0, value, .. } => Ok(value),
            bridge::RegisterResult { response, .. } => Err(SimError::RegisterResponse { access, address, response }),
        }
    }

    /// Runs `clocks` clocks. Errors: [`SimError::Assertion`].
    pub fn run(&mut self, clocks: u64) -> Result<(), SimError> {
        self.healthy()?;
        self.pin().run(clocks);
        self.healthy()
    }

    /// Runs until the watched value satisfies the condition, but at most `bound` clocks. Returns whether it satisfies
    /// the condition; if it does at once, no clock runs. Errors: [`SimError::NotMapped`], [`SimError::Assertion`].
    pub fn run_until(&mut self, watch: &WatchedWord, bound: u64) -> Result<bool, SimError> {
        self.healthy()?;
        let WatchedWord { address, mask, value, equal } = *watch;
        if !self.card.is_mapped(address) {
            return Err(SimError::NotMapped(address));
        }
        let fits = self.pin().run_until(address, mask, value, equal, bound);
        self.healthy()?;
        Ok(fits)
    }

    /// Prepares one fault of the bus. Errors: [`SimError::InjectedBusFault`] for an id over 31 or a bit over 4095,
    /// [`SimError::Assertion`].
    pub fn inject(&mut self, fault: InjectedBusFault) -> Result<(), SimError> {
        self.healthy()?;
        match fault {
            InjectedBusFault::ReadSpurious { id } | InjectedBusFault::WriteSpurious { id } if id > 31 => {
                return Err(SimError::Inject("ids are 0 to 31"));
            }
            InjectedBusFault::ReadCorrupt { bit, .. } if bit > 4095 => {
                return Err(SimError::Inject("bits are 0 to 4095"));
            }
            _ => {}
        }
        let (kind, nth, bit) = fault.code();
        self.pin().inject(kind, nth, bit);
        Ok(())
    }

    /// Inverts one bit of a RAM now, without a write access, as radiation does. Errors: [`SimError::TableBit`],
    /// [`SimError::Assertion`].
    pub fn upset_table(&mut self, at: TableBit) -> Result<(), SimError> {
        self.healthy()?;
        let (table, memory) = at.table.place();
        let upset = self.pin().upset_table(at.lane, table, memory, at.row, at.bit);
        if upset { Ok(()) } else { Err(SimError::TableBit(at)) }
    }

    /// Behaves as a shell whose fence is owed answers from before the last reset, or is not.
    pub fn set_stale(&mut self, on: bool) {
        self.pin().set_stale(on);
    }

    /// Changes latencies and stall pattern from the next clock on. Requests in flight keep their latency. Errors:
    /// [`SimError::Latency`], [`SimError::Assertion`].
    pub fn set_bus(&mut self, read_latency: u32, write_latency: u32, stall: BusStall) -> Result<(), SimError> {
        self.healthy()?;
        check_latency(read_latency)?;
        check_latency(write_latency)?;
        let (pattern, seed) = stall_code(stall);
        self.pin().set_bus(read_latency, write_latency, pattern, seed);
        Ok(())
    }

    /// Behaves as if an assertion of the RTL failed now, for tests.
    pub fn trip_assertion(&mut self) {
        self.pin().trip();
    }

    /// Counters since the simulation began.
    #[must_use]
    pub fn stats(&self) -> SimStats {
        let c = self.card.counters();
        SimStats {
            clocks: c.clocks,
            read_bursts: c.read_bursts,
            read_beats: c.read_beats,
            write_bursts: c.write_bursts,
            write_beats: c.write_beats,
            bus_busy_clocks: c.bus_busy_clocks,
            out_of_range: c.out_of_range,
            violations: c.violations,
            reads_in_flight_max: c.reads_in_flight_max,
        }
    }

    /// The first violations of the bus rules by the card, one per line; `None` if there are none.
    #[must_use]
    pub fn violations(&self) -> Option<String> {
        let text = self.card.violations();
        (!text.is_empty()).then_some(text)
    }
}
