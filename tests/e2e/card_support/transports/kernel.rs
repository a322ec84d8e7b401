//! A card behind the kernel's VFIO, with or without an IOMMU: in the virtual machine, the simulated one with its test bench.

use super::TestCard;
use portcullis_card::pci::{Bdf, Sysfs};
use portcullis_card::vfio::{Access, VfioCard};
use portcullis_card::{Card, CardError, CardKind, DmaBuffer, Watch};

/// Which function it is: `0000:00:03.0`.
const PLACE: &str = "PORTCULLIS_TEST_BDF";
/// The test bench (`sim/src/pci/bench.rs`) and its registers.
const BENCH: u32 = 4;
const DISTURB: u32 = 0;
const PASS: u32 = 4;

/// The card at [`PLACE`], reset when it is opened.
pub struct KernelCard(VfioCard);

impl KernelCard {
    fn bench(&mut self, register: u32, value: u32) {
        let bench = self.0.device().bar(BENCH, 8).unwrap();
        bench.write32(register, value).unwrap();
        // Writes are posted; what was asked for has happened when a read comes back.
        bench.read32(register).unwrap();
    }
}

impl Card for KernelCard {
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

impl TestCard for KernelCard {
    fn fresh() -> Self {
        let place = std::env::var(PLACE).unwrap_or_else(|_| panic!("{PLACE} names the card of the virtual machine"));
        let bdf: Bdf = place.parse().unwrap();
        let noiommu = Sysfs::default().function(bdf).unwrap().noiommu;
        Self(VfioCard::open(bdf, if noiommu { Access::NoIommu } else { Access::Iommu }).unwrap())
    }
    fn break_reads(&mut self) {
        self.bench(DISTURB, 0);
    }
    fn break_writes(&mut self) {
        self.bench(DISTURB, 1);
    }
    fn hang_reads(&mut self) {
        self.bench(DISTURB, 2);
    }
    fn hang_writes(&mut self) {
        self.bench(DISTURB, 3);
    }
    fn mend(&mut self) {
        self.bench(DISTURB, 4);
    }
    fn hardware_reset(&mut self) {
        self.0.device().reset().unwrap();
    }
    fn pass(&mut self, clocks: u64) {
        self.bench(PASS, clocks.try_into().unwrap());
    }
    fn assert_clean(&mut self) {
        assert_eq!(self.0.device().bar(BENCH, 8).unwrap().read32(DISTURB), Some(0), "the card broke a rule of its bus");
    }
}
