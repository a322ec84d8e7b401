//! Cards of `N` lanes.

use super::TestCard;
use portcullis_card::model::ModelCard;
use portcullis_card::{Card, CardError, CardKind, DmaBuffer, Watch};

/// A card that can have more than one lane.
pub trait Laned: TestCard {
    fn of_lanes(lanes: u8) -> Self;
}

impl Laned for ModelCard {
    fn of_lanes(lanes: u8) -> Self {
        Self::with_lanes(lanes).unwrap()
    }
}

#[cfg(feature = "sim")]
impl Laned for portcullis_card::sim::SimCard {
    fn of_lanes(lanes: u8) -> Self {
        let lanes = lanes.into();
        Self::new(portcullis_sim::SimConfig { lanes, read_latency: 20, write_latency: 20, ..Default::default() })
            .unwrap()
    }
}

/// A card of `N` lanes.
pub struct Lanes<C, const N: u8>(pub C);

impl<C: Laned, const N: u8> Card for Lanes<C, N> {
    fn kind(&self) -> CardKind {
        self.0.kind()
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        self.0.read32(address)
    }
    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.0.write32(address, value)
    }
    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError> {
        self.0.allocate(bytes)
    }
    fn release(&mut self, buffer: DmaBuffer) -> Result<(), CardError> {
        self.0.release(buffer)
    }
    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.0.dma_read(buffer, offset, into)
    }
    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        self.0.dma_write(buffer, offset, from)
    }
    fn wait(&mut self, watch: Option<&Watch<'_>>) -> Result<(), CardError> {
        self.0.wait(watch)
    }
    fn quantum(&self) -> &'static str {
        self.0.quantum()
    }
    fn patience(&self) -> u32 {
        self.0.patience()
    }
    fn clocks(&self) -> Option<u64> {
        self.0.clocks()
    }
}

impl<C: Laned, const N: u8> TestCard for Lanes<C, N> {
    fn fresh() -> Self {
        Self(C::of_lanes(N))
    }
    fn break_reads(&mut self) {
        self.0.break_reads();
    }
    fn break_writes(&mut self) {
        self.0.break_writes();
    }
    fn hang_reads(&mut self) {
        self.0.hang_reads();
    }
    fn hang_writes(&mut self) {
        self.0.hang_writes();
    }
    fn mend(&mut self) {
        self.0.mend();
    }
    fn hardware_reset(&mut self) {
        self.0.hardware_reset();
    }
    fn pass(&mut self, clocks: u64) {
        self.0.pass(clocks);
    }
    fn assert_clean(&mut self) {
        self.0.assert_clean();
    }
}
