//! Benches of the text lane (`rtl/text`). The models have three engines and 16 stream slots: [`SimulatedTextScan`]
//! contains the scan alone, [`lane::SimulatedTextLane`] the whole lane, which reads its texts from a memory.
//!
//! States are the little-endian bytes of the RTL's vector, padded to whole 32-bit words. If an assertion of the RTL
//! fails, the current call and all later calls return an error.

#![allow(unsafe_code, reason = "the model is C++")]

#[allow(unreachable_pub, unused_qualifications, reason = "cxx generates public and qualified names")]
mod ffi;
pub mod lane;

use cxx::UniquePtr;
use ffi::bridge::{self, TextBench};
use std::pin::Pin;

/// Number of engines in the model.
pub const ENGINES: usize = 3;
/// Number of stream slots in the model.
pub const SLOTS: u16 = 16;

/// Errors of a bench.
#[derive(Debug, thiserror::Error)]
pub enum TextBenchError {
    #[error("the scan is busy {0} clocks after its last item")]
    Busy(u32),
    #[error("the lane does not {0}")]
    Stuck(&'static str),
    #[error("an assertion of the RTL failed: {0}")]
    Assertion(String),
}

/// Outputs of the top module after the last clock.
pub type Seen = bridge::Seen;

/// The state with which an entry starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanStart {
    /// The state at the start of a stream.
    New,
    /// The state that this slot has saved.
    Slot(u16),
}

/// The rate of bytes: in `idle_of_8` of 8 clocks, on average and at random with this seed, the bench offers no byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BytePace {
    pub idle_of_8: u8,
    pub seed: u64,
}

/// The model and the loop that drives its clock.
pub struct SimulatedTextScan(UniquePtr<TextBench>);

impl Default for SimulatedTextScan {
    fn default() -> Self {
        Self(bridge::new_text_bench())
    }
}

impl SimulatedTextScan {
    pub fn lock(&mut self, locked: bool) {
        self.top().lock(locked);
    }

    /// Clears the tables, so that others can be loaded. Errors: a failed assertion.
    pub fn clear(&mut self) -> Result<(), TextBenchError> {
        self.top().clear();
        self.checked(())
    }

    /// Offers bytes of the tables. Errors: a failed assertion.
    pub fn load(&mut self, bytes: &[u8], pace: BytePace) -> Result<Seen, TextBenchError> {
        let seen = self.top().load(bytes, pace.idle_of_8, pace.seed);
        self.checked(seen)
    }

    /// Inverts one bit of a memory, as radiation would. `part` is the instance in `text_scan`, in Verilator's form.
    /// False if the memory does not have that bit.
    pub fn upset(&mut self, part: &str, memory: &str, word: u32, bit: u32) -> bool {
        self.top().upset(part, memory, word, bit)
    }

    /// Starts an entry. Errors: a failed assertion.
    pub fn start(&mut self, at: ScanStart) -> Result<(), TextBenchError> {
        match at {
            ScanStart::New => self.top().start(true, 0),
            ScanStart::Slot(slot) => self.top().start(false, slot),
        }
        self.checked(())
    }

    /// Offers bytes of an entry. Errors: a failed assertion.
    pub fn read(&mut self, bytes: &[u8], pace: BytePace) -> Result<(), TextBenchError> {
        self.top().read(bytes, pace.idle_of_8, pace.seed);
        self.checked(())
    }

    /// Ends an entry. Errors: a failed assertion.
    pub fn end(&mut self) -> Result<(), TextBenchError> {
        self.top().end();
        self.checked(())
    }

    /// Waits until no item is in progress; returns the clocks. Errors: it takes too long; a failed assertion.
    pub fn drain(&mut self) -> Result<u32, TextBenchError> {
        let clocks = self.top().drain();
        if self.0.seen().busy { Err(TextBenchError::Busy(clocks)) } else { self.checked(clocks) }
    }

    /// Saves the state to a slot. Errors: a failed assertion.
    pub fn save(&mut self, slot: u16) -> Result<(), TextBenchError> {
        self.top().save(slot);
        self.checked(())
    }

    /// The state that a slot has saved. Errors: a failed assertion.
    pub fn saved(&mut self, slot: u16) -> Result<Vec<u8>, TextBenchError> {
        let saved = self.top().saved(slot);
        self.checked(saved)
    }

    #[must_use]
    pub fn state(&self) -> Vec<u8> {
        self.0.state()
    }

    #[must_use]
    pub fn seen(&self) -> Seen {
        self.0.seen()
    }

    /// Clocks since the model was made.
    #[must_use]
    pub fn clocks(&self) -> u64 {
        self.0.clocks()
    }

    fn top(&mut self) -> Pin<&mut TextBench> {
        self.0.pin_mut()
    }

    fn checked<T>(&self, value: T) -> Result<T, TextBenchError> {
        let failure = self.0.failure();
        if failure.is_empty() { Ok(value) } else { Err(TextBenchError::Assertion(failure)) }
    }
}
