//! The simulated card as a PCI function: configuration space, registers in BAR0, MSI-X, and the memory of a driver in
//! another process.

mod bench;
mod config_space;
mod dma;
#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portcullis_vfio_user::message::{irq, region, region_flags};
use portcullis_vfio_user::{DmaRange, Errno, VfioUserDevice, VfioUserRegion};

use crate::{SimConfig, SimError, SimulatedCard};
use config_space::{BAR0_SIZE, BAR2_SIZE, BAR4_SIZE, ConfigSpace, PENDING, VECTORS};
use dma::DmaTable;

const WORD: usize = size_of::<u32>();
const ALL_ONES: [u8; WORD] = [0xff; WORD];
const TABLE: usize = VECTORS as usize * 16;

/// A simulated card in a PCI slot. Its clock advances only in [`PciCard::run`] and in register accesses.
#[derive(Debug)]
pub struct PciCard {
    config: SimConfig,
    sim: Arc<Mutex<SimulatedCard>>,
    space: ConfigSpace,
    /// Whether the card has BAR4, with registers that disturb the bus.
    bench: bool,
    /// The MSI-X table as the host wrote it. It has no effect, because interrupts are signalled through event files.
    table: Vec<u8>,
    maps: DmaTable,
    vector: Option<OwnedFd>,
    /// The card's number of write bursts when the last interrupt was signalled.
    signalled: u64,
    /// Whether a driver accessed the card since its reset.
    used: bool,
    /// A failure of the simulation, or a violation of the bus rules. It is permanent.
    failure: Option<String>,
}

impl PciCard {
    /// A card after power-up. Errors: those of [`SimulatedCard::new`].
    pub fn new(config: SimConfig) -> Result<Self, SimError> {
        let mut sim = SimulatedCard::new(config.clone())?;
        sim.set_bus_master(false);
        Ok(Self {
            config,
            sim: Arc::new(Mutex::new(sim)),
            space: ConfigSpace::new(false),
            bench: false,
            table: vec![0; TABLE],
            maps: DmaTable::default(),
            vector: None,
            signalled: 0,
            used: false,
            failure: None,
        })
    }

    /// Adds BAR4, through which a test in another process disturbs the bus. Must be called before the card is used.
    #[must_use]
    pub fn with_bench(mut self) -> Self {
        self.bench = true;
        self.space = ConfigSpace::new(true);
        self
    }

    /// The simulation of the card, for tests that disturb the card. A reset replaces the simulation.
    #[must_use]
    pub fn sim(&self) -> Arc<Mutex<SimulatedCard>> {
        Arc::clone(&self.sim)
    }

    fn lock(&self) -> MutexGuard<'_, SimulatedCard> {
        self.sim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reason why the simulation is no longer valid.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Runs the clock, and signals an interrupt if the card has written. Returns true if the card used its bus.
    pub fn run(&mut self, clocks: u64) -> bool {
        let (result, before, after) = {
            let mut sim = self.lock();
            let before = sim.stats();
            (sim.run(clocks), before, sim.stats())
        };
        self.keep_failure(result);
        // The shell around a card signals an interrupt after a write of the card. The interrupt is only a hint.
        if after.write_bursts != self.signalled {
            self.signalled = after.write_bursts;
            self.signal();
        }
        after.read_bursts != before.read_bursts || after.write_bursts != before.write_bursts
    }

    fn signal(&self) {
        if let (Some(event), true) = (&self.vector, self.space.master()) {
            // Writing does not block. If it fails, the counter is full, so the driver has an unread signal already.
            let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
        }
    }

    fn keep_failure<T>(&mut self, result: Result<T, SimError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error @ SimError::Assertion { .. }) => {
                self.failure.get_or_insert(error.to_string());
                None
            }
            // The card did not answer; the caller then returns the value that a root complex would return.
            Err(_) => None,
        }
    }

    /// Ends a driver's connection: removes first its memory, so that the card no longer writes to it, then the rest.
    pub fn disconnect(&mut self) {
        self.unmap_all_between(0, u128::MAX);
        self.vector = None;
        if self.used {
            self.power_cycle();
        }
    }

    fn unmap_all_between(&mut self, from: u128, to: u128) {
        let sim = Arc::clone(&self.sim);
        let mut sim = sim.lock().unwrap_or_else(PoisonError::into_inner);
        // The range covers all addresses, so this cannot fail.
        let _ = self.maps.unmap(&mut sim, from, to);
    }

    /// A function-level reset: replaces the card by a new card with the same memory maps.
    fn power_cycle(&mut self) {
        let broken = self.lock().violations();
        if let Some(rules) = broken {
            self.failure.get_or_insert(format!("the card broke the rules of its bus: {rules}"));
        }
        let made = SimulatedCard::new(self.config.clone());
        if let Err(error) = &made {
            self.failure.get_or_insert(format!("no new card after a reset: {error}"));
        }
        if let Ok(mut sim) = made {
            sim.set_bus_master(false);
            self.maps.map_again(&mut sim);
            *self.lock() = sim;
        }
        self.space = ConfigSpace::new(self.bench);
        self.table = vec![0; TABLE];
        self.signalled = 0;
        self.used = false;
    }

    fn read_register(&mut self, address: u32) -> [u8; WORD] {
        let result = self.lock().read32(address);
        // If there is no answer, or an error response, a root complex returns a value of all ones.
        self.keep_failure(result).map_or(ALL_ONES, u32::to_le_bytes)
    }

    fn write_register(&mut self, address: u32, value: [u8; WORD]) {
        let result = self.lock().write32(address, u32::from_le_bytes(value));
        self.keep_failure(result);
    }
}

/// The addresses of an access's words; an access must consist of whole words.
fn words(offset: u64, bytes: usize) -> Result<impl Iterator<Item = u32>, Errno> {
    let aligned = offset.is_multiple_of(WORD as u64) && bytes.is_multiple_of(WORD);
    let first = u32::try_from(offset).ok().filter(|_| aligned).ok_or(Errno::INVAL)?;
    Ok((first..).step_by(WORD))
}

impl VfioUserDevice for PciCard {
    fn region(&self, index: u32) -> VfioUserRegion {
        let size = match index {
            region::BAR0 => u64::from(BAR0_SIZE),
            region::BAR2 => u64::from(BAR2_SIZE),
            region::BAR4 if self.bench => u64::from(BAR4_SIZE),
            region::CONFIG => config_space::SIZE as u64,
            _ => return VfioUserRegion::default(),
        };
        VfioUserRegion { size, flags: region_flags::READ | region_flags::WRITE }
    }

    fn irqs(&self, index: u32) -> u32 {
        match index {
            irq::MSIX => VECTORS,
            irq::ERR | irq::REQ => 1,
            _ => 0,
        }
    }

    fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        if region == region::CONFIG {
            self.space.read(offset as usize, into);
            return Ok(());
        }
        if !self.space.memory() {
            into.fill(0xff);
            return Ok(());
        }
        if region == region::BAR2 {
            into.fill(0);
            for (to, from) in into.iter_mut().zip(self.table.iter().skip(offset as usize)) {
                *to = *from;
            }
            return Ok(());
        }
        self.used = true;
        if region == region::BAR4 {
            let value = bench::read(&self.lock(), offset).to_le_bytes();
            return into.try_into().map(|into: &mut [u8; WORD]| *into = value).map_err(|_| Errno::INVAL);
        }
        for (address, word) in words(offset, into.len())?.zip(into.chunks_exact_mut(WORD)) {
            word.copy_from_slice(&self.read_register(address));
        }
        Ok(())
    }

    fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno> {
        self.used = true;
        if region == region::CONFIG {
            if self.space.write(offset as usize, from) {
                self.power_cycle();
            }
            let master = self.space.master();
            self.lock().set_bus_master(master);
            return Ok(());
        }
        if !self.space.memory() {
            return Ok(());
        }
        if region == region::BAR2 {
            for (to, from) in self.table.iter_mut().skip(offset as usize).zip(from) {
                *to = *from;
            }
            return Ok(());
        }
        if region == region::BAR4 {
            let value = from.try_into().map(u32::from_le_bytes).map_err(|_| Errno::INVAL)?;
            return bench::write(&mut self.lock(), offset, value);
        }
        for (address, word) in words(offset, from.len())?.zip(from.chunks_exact(WORD)) {
            self.write_register(address, word.try_into().unwrap_or_default());
        }
        Ok(())
    }

    fn map(&mut self, map: DmaRange, file: Option<OwnedFd>) -> Result<(), Errno> {
        let sim = Arc::clone(&self.sim);
        let mut sim = sim.lock().unwrap_or_else(PoisonError::into_inner);
        self.maps.map(&mut sim, map, file)
    }

    fn unmap(&mut self, from: u128, to: u128) -> Result<(), Errno> {
        let sim = Arc::clone(&self.sim);
        let mut sim = sim.lock().unwrap_or_else(PoisonError::into_inner);
        self.maps.unmap(&mut sim, from, to)
    }

    fn connect_irqs(&mut self, index: u32, _start: u32, files: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        let Some(event) = files.into_iter().next() else { return Ok(()) };
        if let Some(event) = &event {
            // The owner of a blocking file could stop the card by filling the file.
            let flags = rustix::fs::fcntl_getfl(event)?;
            rustix::fs::fcntl_setfl(event, flags | rustix::fs::OFlags::NONBLOCK)?;
        }
        // The simulated card reports errors only in its registers, and never requests that the driver releases it.
        if index == irq::MSIX {
            self.vector = event;
        }
        Ok(())
    }

    fn fire_irqs(&mut self, index: u32, _start: u32, _count: u32) -> Result<(), Errno> {
        if index == irq::MSIX {
            self.signal();
        }
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Errno> {
        if self.used {
            self.power_cycle();
        }
        if self.failure.is_some() { Err(Errno::IO) } else { Ok(()) }
    }
}

const _: () = assert!(TABLE <= PENDING as usize);
