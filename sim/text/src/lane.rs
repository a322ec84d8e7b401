//! The bench of the text lane, which reads the texts of its entries from windows in a memory.

use crate::TextBenchError;
use crate::ffi::bridge::{self, LaneBench};
use cxx::UniquePtr;
use std::pin::Pin;

pub use bridge::{Bus, BusFault, LaneAnswer as Answer, LaneEntry as Entry, LaneTables as Tables};

/// Number of clocks without progress after which the model gives up a read.
pub const WATCHDOG: u32 = 1 << 10;

/// The causes of `text_pkg::cause_e`, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextFaultCause {
    None,
    Window,
    Bus,
    Tag,
    Utf8,
    Commitment,
}

impl TextFaultCause {
    pub const ALL: [Self; 6] = [Self::None, Self::Window, Self::Bus, Self::Tag, Self::Utf8, Self::Commitment];

    /// The cause with this number; `None` if there is none.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// `text_pkg::load_result_e`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLoadResult {
    Good,
    Bus,
    Digest,
    Bad,
}

/// The simulated lane and its clock loop.
pub struct SimulatedTextLane(UniquePtr<LaneBench>);

impl Default for SimulatedTextLane {
    fn default() -> Self {
        Self(bridge::new_lane_bench())
    }
}

impl SimulatedTextLane {
    /// A reset of one clock: the bus drops its bursts, and tables must be loaded again. Errors: a failed assertion.
    pub fn reset(&mut self) -> Result<(), TextBenchError> {
        self.top().reset();
        self.checked(())
    }

    /// Makes the lane load tables from memory, then locks them. Errors: the lane gives no answer; a failed assertion.
    pub fn load(&mut self, tables: &Tables) -> Result<TextLoadResult, TextBenchError> {
        let result = self.top().load(tables);
        self.checked(())?;
        let results = [TextLoadResult::Good, TextLoadResult::Bus, TextLoadResult::Digest, TextLoadResult::Bad];
        results.get(usize::from(result)).copied().ok_or(TextBenchError::Stuck("load the tables"))
    }

    pub fn set_bus(&mut self, bus: Bus) {
        self.top().set_bus(bus);
    }

    /// Makes one of the next beats faulty; the next beat is 1.
    pub fn fault_at(&mut self, fault: BusFault, beats: u32) {
        self.top().fault_at(fault, beats);
    }

    #[must_use]
    pub fn fault_met(&self) -> bool {
        self.0.fault_met()
    }

    /// Writes to the memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        self.top().write(address, bytes);
    }

    /// Starts a new stream in a slot. Errors: the lane does not accept it; a failed assertion.
    pub fn renew(&mut self, slot: u16) -> Result<(), TextBenchError> {
        let clocks = self.top().renew(slot, 10);
        self.taken(clocks, "renew a slot")
    }

    /// Offers an entry until the lane accepts it. Errors: the lane does not accept it; a failed assertion.
    pub fn enter(&mut self, entry: &Entry) -> Result<(), TextBenchError> {
        let clocks = self.top().enter(entry);
        self.taken(clocks, "take an entry")
    }

    /// Waits for the answer to the oldest entry. Errors: no answer comes; a failed assertion.
    pub fn answer(&mut self) -> Result<Answer, TextBenchError> {
        let answer = self.top().answer();
        self.checked(())?;
        if answer.came { Ok(answer) } else { Err(TextBenchError::Stuck("answer")) }
    }

    /// Passes on the verdict for the entry that was answered. Errors: a failed assertion.
    pub fn settle(&mut self, admit: bool) -> Result<(), TextBenchError> {
        self.top().settle(admit);
        self.checked(())
    }

    /// Runs this many clocks. Errors: a failed assertion.
    pub fn idle(&mut self, clocks: u32) -> Result<(), TextBenchError> {
        self.top().idle(clocks);
        self.checked(())
    }

    /// Addresses of the beats that the lane has requested since the last call, in order.
    pub fn reads(&mut self) -> Vec<u64> {
        self.top().reads()
    }

    /// Whether the lane's tables are complete.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.0.complete()
    }

    /// Whether the lane has no entry under way, no read in flight and no answer without a verdict.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.0.idle_now()
    }

    #[must_use]
    pub fn broken(&self) -> bool {
        self.0.broken()
    }

    /// Clocks since the model was made.
    #[must_use]
    pub fn clocks(&self) -> u64 {
        self.0.clocks()
    }

    fn top(&mut self) -> Pin<&mut LaneBench> {
        self.0.pin_mut()
    }

    fn taken(&self, clocks: u32, what: &'static str) -> Result<(), TextBenchError> {
        self.checked(())?;
        if clocks > 0 { Ok(()) } else { Err(TextBenchError::Stuck(what)) }
    }

    fn checked<T>(&self, value: T) -> Result<T, TextBenchError> {
        let failure = self.0.failure();
        if failure.is_empty() { Ok(value) } else { Err(TextBenchError::Assertion(failure)) }
    }
}
