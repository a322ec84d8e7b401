//! The model with `N` lanes.

use super::TestCard;
use portcullis_card::model::ModelCard;
use portcullis_card::{Card, CardError, CardKind, DmaBuffer, Watch};

pub struct Lanes<const N: u8>(pub ModelCard);

impl<const N: u8> Card for Lanes<N> {
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
}

impl<const N: u8> TestCard for Lanes<N> {
    fn fresh() -> Self {
        Self(ModelCard::with_lanes(N).unwrap())
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
    fn pass(&mut self, clocks: u64) {
        self.0.pass(clocks);
    }
    fn assert_clean(&mut self) {
        self.0.assert_clean();
    }
}
