//! The Verilated card as a [`CardTransport`].

use std::collections::BTreeMap;

use portcullis_sim::{DmaRegion, SimConfig, SimError, SimulatedCard, WATCHDOG_CLOCKS};

use crate::card::{CardTransport, DmaBuffer, WatchedByte};
use crate::error::CardError;

impl From<SimError> for CardError {
    fn from(error: SimError) -> Self {
        Self::transport(error)
    }
}

/// Clocks per wait for a watched byte.
const QUANTUM: u64 = 4096;
/// Clocks per wait without a watch.
const SHORT: u64 = 256;

/// The Verilated RTL in this process. Its clock runs only inside calls.
#[derive(Debug)]
pub struct SimCard {
    sim: SimulatedCard,
    regions: BTreeMap<u64, DmaRegion>,
}

impl SimCard {
    /// A card after reset.
    pub fn new(config: SimConfig) -> Result<Self, CardError> {
        Ok(Self { sim: SimulatedCard::new(config)?, regions: BTreeMap::new() })
    }

    /// The simulation, for fault injection, statistics and checks of bus rules.
    #[cfg(feature = "test-hooks")]
    pub fn sim(&mut self) -> &mut SimulatedCard {
        &mut self.sim
    }

    fn region(&self, buffer: &DmaBuffer) -> Result<&DmaRegion, CardError> {
        self.regions.get(&buffer.address()).ok_or(CardError::UnknownBuffer(buffer.address()))
    }
}

impl CardTransport for SimCard {
    fn describe(&self) -> String {
        "Verilated card in this process".into()
    }

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        Ok(self.sim.read32(address)?)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        Ok(self.sim.write32(address, value)?)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError> {
        let region = self.sim.map(bytes)?;
        let buffer = DmaBuffer::new(region.address(), bytes);
        self.regions.insert(region.address(), region);
        Ok(buffer)
    }

    fn release(&mut self, buffer: DmaBuffer) -> Result<(), CardError> {
        let region = self.regions.remove(&buffer.address()).ok_or(CardError::UnknownBuffer(buffer.address()))?;
        Ok(self.sim.unmap(&region)?)
    }

    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        Ok(self.region(buffer)?.read(offset, into)?)
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        Ok(self.region(buffer)?.write(offset, from)?)
    }

    fn wait(&mut self, watch: Option<&WatchedByte<'_>>) -> Result<(), CardError> {
        match watch {
            Some(watch) => {
                let watch =
                    portcullis_sim::WatchedWord::u8_becomes(self.region(watch.buffer)?, watch.offset, watch.value)?;
                self.sim.run_until(&watch, QUANTUM)?;
            }
            None => self.sim.run(SHORT)?,
        }
        Ok(())
    }

    fn quantum(&self) -> &'static str {
        "256 to 4096 clocks"
    }

    fn patience(&self) -> u32 {
        // Twice the card's own watchdog, so that the card reports an error first; longer if the card hashes slowly,
        // because reading its tables back then takes longer.
        let slower = (16 / portcullis_sim::ROUNDS).max(1);
        u32::try_from(2 * WATCHDOG_CLOCKS * slower / SHORT).unwrap_or(u32::MAX)
    }

    fn clocks(&self) -> Option<u64> {
        Some(self.sim.stats().clocks)
    }
}
