//! The card in Rust: the same registers, rings, life and answers as the RTL, with [`portcullis_policy::evaluate`] as its
//! banks.
//!
//! It works synchronously: what a register write allows to happen has happened when the write returns. So it shows one of
//! the orders in which the RTL may work, never a partial one. Its tick counts register accesses and entries, not clocks.

mod decode;
mod entry;
mod heartbeat;
mod lane;
mod life;
mod memory;
mod tables;

use portcullis_core::wire::{Fault, MAP_DIGEST, key_flags};

use crate::registers::{self, ENTROPY_WINDOW, HEADER_WINDOW, POLICY_WINDOW};
use crate::{Card, CardError, CardKind, DmaBuffer, Watch};
use decode::{Decoder, Queue, Register};
use lane::{Bus, Lane, Opened};
use life::Life;
use tables::Tables;

/// Rows of the policy bank, as the RTL's default.
pub const POLICY_ROWS: u16 = 256;
/// Rows of the entropy bank, as the RTL's default.
pub const ENTROPY_ROWS: u16 = 64;
/// Stream slots, as the RTL's default.
pub const MAX_STREAMS: u32 = 1024;
/// Numbers of lanes that a card can have.
pub const LANES: [u8; 4] = [1, 2, 4, 8];
/// Largest log2 of ring entries.
const RING_LOG2_MAX: u8 = 15;
/// Largest log2 of log entries.
const LOG_LOG2_MAX: u8 = 20;
/// Reads that the RTL has in flight; the model has none.
const READS: u32 = 32;
/// The model's evidence is nobody's: its key flags say so like the simulated card's.
const KEY_FLAGS: u8 = (key_flags::SIM | key_flags::NO_TRNG) as u8;
/// Bytes of the register window.
const REGISTER_WINDOW: u32 = 1 << 20;

/// The card in Rust.
#[derive(Debug)]
pub struct ModelCard {
    decoder: Decoder,
    bus: Bus,
    /// Values of the registers that the host writes.
    written: std::collections::BTreeMap<Register, u32>,
    tables: Tables,
    life: Life,
    /// What the lanes have in common while a session lasts.
    opened: Opened,
    lanes: Vec<Lane>,
}

impl Default for ModelCard {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelCard {
    /// A card of one lane after its reset.
    #[must_use]
    pub fn new() -> Self {
        Self::of_lanes(1)
    }

    /// A card of this many lanes after its reset; `None` where no card has as many.
    #[must_use]
    pub fn with_lanes(lanes: u8) -> Option<Self> {
        LANES.contains(&lanes).then(|| Self::of_lanes(lanes))
    }

    fn of_lanes(lanes: u8) -> Self {
        Self {
            decoder: Decoder::new(),
            bus: Bus::default(),
            written: std::collections::BTreeMap::new(),
            tables: Tables::default(),
            life: Life::default(),
            opened: Opened::default(),
            lanes: (0..lanes).map(Lane::new).collect(),
        }
    }

    /// As if the bus had failed with `fault` now, for tests: what is in flight is dropped, nothing is written any more.
    pub fn break_bus(&mut self, fault: Fault) {
        self.fail(fault, true);
    }

    /// The hardware reset: everything but memory is as after power-up.
    pub fn hardware_reset(&mut self) {
        let fresh = Self::of_lanes(self.lanes.len() as u8);
        let bus = std::mem::replace(self, fresh).bus;
        self.bus = Bus { tick: 0, ..bus };
    }

    fn value(&self, register: Register) -> u32 {
        self.written.get(&register).copied().unwrap_or_default()
    }

    /// A value in two registers.
    fn pair(&self, low: Register, high: Register) -> u64 {
        u64::from(self.value(high)) << 32 | u64::from(self.value(low))
    }

    /// A counter that the card sums over its lanes.
    fn sum(&self, count: fn(&Lane) -> u32) -> u32 {
        self.lanes.iter().map(count).fold(0, u32::wrapping_add)
    }

    fn digest(&self, word: fn(u8) -> Register) -> [u8; 32] {
        let mut digest = [0; 32];
        for (i, chunk) in (0u8..).zip(digest.chunks_exact_mut(4)) {
            chunk.copy_from_slice(&self.value(word(i)).to_le_bytes());
        }
        digest
    }

    fn read_register(&self, register: Register) -> u32 {
        let lanes = self.lanes.len() as u32;
        let busy: u64 = self.lanes.iter().map(|lane| lane.counters.busy_clocks).sum();
        match register {
            Register::Magic => registers::magic(),
            Register::MapVersion => peakrdl_rust::reg::Register::to_raw(registers::map_version()),
            Register::MapDigest(word) => {
                let at = usize::from(word) * 4;
                let bytes = MAP_DIGEST.get(at..at + 4).and_then(|b| b.try_into().ok()).unwrap_or_default();
                u32::from_le_bytes(bytes)
            }
            // One row a clock, table digest and heartbeats; no signer.
            Register::Capabilities => lanes | 1 << 8 | 1 << 16 | 1 << 18,
            Register::Rows => u32::from(POLICY_ROWS) | u32::from(ENTROPY_ROWS) << 16,
            Register::MaxStreams => MAX_STREAMS,
            Register::QueueLimits => u32::from(RING_LOG2_MAX) | u32::from(LOG_LOG2_MAX) << 8 | READS << 16,
            Register::KeyFlags => KEY_FLAGS.into(),
            Register::Status => self.status(),
            Register::Fault => u32::from(u16::from(self.life.fault)),
            Register::LoadFault => u32::from(u16::from(self.life.load_fault)),
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
            register if register.is_config() && self.life.configurable() => {
                // Eight bits each; every other one has 32.
                let bits = match register {
                    Register::Lane(_, Queue::SqSize | Queue::LogSize) | Register::CheckpointSize => 0xff,
                    _ => u32::MAX,
                };
                self.written.insert(register, value & bits);
            }
            Register::HeartbeatNonceLo => {
                self.written.insert(register, value);
            }
            Register::HeartbeatNonceHi => {
                self.written.insert(register, value);
                self.beat();
            }
            _ => {}
        }
    }

    fn checked(address: u32) -> Result<(), CardError> {
        if address.is_multiple_of(4) && address < REGISTER_WINDOW { Ok(()) } else { Err(CardError::Address(address)) }
    }
}

impl Card for ModelCard {
    fn kind(&self) -> CardKind {
        CardKind::Model
    }

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
            if self.life.tables_writable() {
                self.tables.write(address, value);
            }
        } else if let Some(register) = self.decoder.decode(address) {
            self.write_register(register, value);
            self.work();
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

    fn wait(&mut self, _watch: Option<&Watch<'_>>) -> Result<(), CardError> {
        self.bus.tick += 1;
        self.work();
        Ok(())
    }

    fn quantum(&self) -> &'static str {
        "one step"
    }

    fn patience(&self) -> u32 {
        // Everything that can happen happens at once; the second look is for good measure.
        2
    }
}

/// Bytes of a bank's window.
const BANK_WINDOW: u32 = 0x4_0000;
const _: () = assert!(POLICY_WINDOW + BANK_WINDOW <= ENTROPY_WINDOW);
