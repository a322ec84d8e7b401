//! The model's registers and memory, and its implementation of [`CardTransport`].

mod control;

use std::collections::BTreeMap;

use portcullis_core::wire::MAP_DIGEST;

use super::capacity::{
    ENTROPY_ROWS, KEY_FLAGS, LOG_LOG2_MAX, MAX_STREAMS, POLICY_ROWS, READS, REGISTER_WINDOW, RING_LOG2_MAX,
    TEXT_BLOCKS, TEXT_BYTE_CLASSES, TEXT_ENGINES, TEXT_STATES_LOG2,
};
use super::decode::{Queue, Register, RegisterDecoder};
use super::lane::{HostBus, LaneModel, SessionLatch};
use super::lifecycle::Lifecycle;
use super::tables::TableMemory;
use crate::card::{CardTransport, DmaBuffer, WatchedByte};
use crate::error::CardError;
use crate::limits::LANES;
use crate::registers::{self, HEADER_WINDOW};

/// The card in Rust.
#[derive(Debug)]
pub struct ModelCard {
    decoder: RegisterDecoder,
    bus: HostBus,
    /// Values of the registers that the host writes.
    written: BTreeMap<Register, u32>,
    tables: TableMemory,
    lifecycle: Lifecycle,
    /// State that all lanes share during a session.
    opened: SessionLatch,
    lanes: Vec<LaneModel>,
}

impl Default for ModelCard {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelCard {
    /// A card with one lane, after reset.
    #[must_use]
    pub fn new() -> Self {
        Self::of_lanes(1)
    }

    /// A card with this number of lanes, after reset; `None` if cards cannot have that number.
    #[must_use]
    pub fn with_lanes(lanes: u8) -> Option<Self> {
        LANES.contains(&lanes).then(|| Self::of_lanes(lanes))
    }

    fn of_lanes(lanes: u8) -> Self {
        Self {
            decoder: RegisterDecoder::new(),
            bus: HostBus::default(),
            written: BTreeMap::new(),
            tables: TableMemory::default(),
            lifecycle: Lifecycle::default(),
            opened: SessionLatch::default(),
            lanes: (0..lanes).map(LaneModel::new).collect(),
        }
    }

    /// Acts as if the bus had failed with `fault`, for tests: requests in flight are dropped, and the card does not
    /// write any more.
    #[cfg(feature = "test-hooks")]
    pub fn break_bus(&mut self, fault: portcullis_core::wire::Fault) {
        self.fail(fault, true);
    }

    /// The hardware reset: everything except memory returns to its state after power-up.
    #[cfg(feature = "test-hooks")]
    pub fn hardware_reset(&mut self) {
        let fresh = Self::of_lanes(self.lanes.len() as u8);
        let bus = std::mem::replace(self, fresh).bus;
        self.bus = HostBus { tick: 0, ..bus };
    }

    fn value(&self, register: Register) -> u32 {
        self.written.get(&register).copied().unwrap_or_default()
    }

    fn pair(&self, low: Register, high: Register) -> u64 {
        u64::from(self.value(high)) << 32 | u64::from(self.value(low))
    }

    /// The sum of a counter over all lanes.
    fn sum(&self, count: fn(&LaneModel) -> u32) -> u32 {
        self.lanes.iter().map(count).fold(0, u32::wrapping_add)
    }

    fn digest(&self, word: fn(u8) -> Register) -> [u8; 32] {
        let words: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| self.value(word(i)));
        registers::bytes_of(words)
    }

    fn read_register(&self, register: Register) -> u32 {
        let lanes = self.lanes.len() as u32;
        let busy: u64 = self.lanes.iter().map(|lane| lane.counters.busy_clocks).sum();
        match register {
            Register::Magic => registers::magic(),
            Register::MapVersion => peakrdl_rust::reg::Register::to_raw(registers::map_version()),
            Register::MapDigest(word) => {
                let words = registers::words_of::<32, 8>(MAP_DIGEST);
                words.get(usize::from(word)).copied().unwrap_or_default()
            }
            // Lanes, one row per clock, table digest, heartbeats, text lane; no signer.
            Register::Capabilities => lanes | 1 << 8 | 1 << 16 | 1 << 18 | 1 << 19,
            Register::TextLimits => {
                u32::from_le_bytes([TEXT_ENGINES, TEXT_STATES_LOG2, TEXT_BYTE_CLASSES, TEXT_BLOCKS])
            }
            Register::Rows => u32::from(POLICY_ROWS) | u32::from(ENTROPY_ROWS) << 16,
            Register::MaxStreams => MAX_STREAMS,
            Register::QueueLimits => u32::from(RING_LOG2_MAX) | u32::from(LOG_LOG2_MAX) << 8 | READS << 16,
            Register::KeyFlags => KEY_FLAGS.into(),
            Register::Status => self.status(),
            Register::Fault => u32::from(u16::from(self.lifecycle.fault)),
            Register::LoadFault => u32::from(u16::from(self.lifecycle.load_fault)),
            Register::TickLo => (self.bus.tick & 0xffff_ffff) as u32,
            Register::TickHi => (self.bus.tick >> 32) as u32,
            Register::Records => self.sum(|lane| (lane.records & 0xffff_ffff) as u32),
            Register::Verdicts => self.sum(|lane| lane.counters.verdicts),
            Register::Admits => self.sum(|lane| lane.counters.admits),
            Register::Rejects => self.sum(|lane| lane.counters.rejects),
            Register::Decomposes => self.sum(|lane| lane.counters.decomposes),
            Register::Refused => self.sum(|lane| lane.counters.refused),
            Register::OpenStreams => self.sum(|lane| lane.open_streams),
            Register::BusyClocksLo => (busy & 0xffff_ffff) as u32,
            Register::BusyClocksHi => (busy >> 32) as u32,
            Register::Lane(lane, queue) => match (self.lanes.get(usize::from(lane)), queue) {
                (Some(lane), Queue::LogTail) => lane.log_issued,
                (Some(lane), Queue::SqHead) => lane.fetched.into(),
                (Some(lane), Queue::CqTail) => lane.cq_issued.into(),
                _ => self.value(register),
            },
            Register::PolicyDigest(word) => self.opened.policy_digest_word(word),
            Register::HeartbeatCredit => self.lanes.iter().map(|lane| lane.credit.left()).min().unwrap_or_default(),
            Register::Command => 0,
            other => self.value(other),
        }
    }

    fn write_register(&mut self, register: Register, value: u32) {
        match register {
            Register::Command => self.command((value & 0xff) as u8),
            Register::Lane(lane, _) if usize::from(lane) >= self.lanes.len() => {}
            Register::Lane(lane, queue @ (Queue::SqTail | Queue::CqHead | Queue::LogHead)) => {
                self.written.insert(register, value);
                self.doorbell(lane, queue, value);
            }
            register if register.is_config() && self.lifecycle.configurable() => {
                // These registers have eight bits, all others 32.
                let bits = match register {
                    Register::Lane(_, Queue::SqSize | Queue::LogSize)
                    | Register::CheckpointSize
                    | Register::TextStride => 0xff,
                    _ => u32::MAX,
                };
                self.written.insert(register, value & bits);
            }
            Register::HeartbeatNonceLo => {
                self.written.insert(register, value);
            }
            Register::HeartbeatNonceHi => {
                self.written.insert(register, value);
                self.present_heartbeat();
            }
            _ => {}
        }
    }

    fn checked(address: u32) -> Result<(), CardError> {
        if address.is_multiple_of(4) && address < REGISTER_WINDOW { Ok(()) } else { Err(CardError::Address(address)) }
    }
}

impl CardTransport for ModelCard {
    fn describe(&self) -> String {
        match self.lanes.len() {
            1 => "software model in this process".into(),
            lanes => format!("software model of {lanes} lanes in this process"),
        }
    }

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        Self::checked(address)?;
        self.bus.tick += 1;
        Ok(match address {
            HEADER_WINDOW.. => self.tables.read(address),
            _ => self.decoder.decode(address).map_or(0, |register| self.read_register(register)),
        })
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        Self::checked(address)?;
        self.bus.tick += 1;
        if address >= HEADER_WINDOW {
            if self.lifecycle.tables_writable() {
                self.tables.write(address, value);
            }
        } else if let Some(register) = self.decoder.decode(address) {
            self.write_register(register, value);
            self.advance();
        }
        Ok(())
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError> {
        self.bus.memory.allocate(bytes)
    }

    fn release(&mut self, buffer: DmaBuffer) -> Result<(), CardError> {
        self.bus.memory.release(&buffer)
    }

    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.bus.memory.read_buffer(buffer, offset, into)
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        self.bus.memory.write_buffer(buffer, offset, from)
    }

    fn wait(&mut self, _watch: Option<&WatchedByte<'_>>) -> Result<(), CardError> {
        self.bus.tick += 1;
        self.advance();
        Ok(())
    }

    fn quantum(&self) -> &'static str {
        "one step"
    }

    fn patience(&self) -> u32 {
        // Every effect is immediate, so one wait suffices; the second is a reserve.
        2
    }
}
