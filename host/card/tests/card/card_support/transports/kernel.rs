//! A card behind the kernel's VFIO, with or without an IOMMU. In the virtual machine, this is the simulated card with
//! its test registers.

use super::TestCard;
use portcullis_card::machine::pci::{Bdf, Sysfs};
use portcullis_card::transport::vfio::{IommuMode, VfioCard};
use portcullis_card::{CardError, CardTransport, DmaBuffer, WatchedByte, forward_card};

/// Environment variable with the PCI address of the card, such as `0000:00:03.0`.
const PLACE: &str = "PORTCULLIS_TEST_BDF";
/// The BAR with the test registers (`sim/src/pci/bench.rs`).
const BENCH: u32 = 4;
const DISTURB: u32 = 0;
const PASS: u32 = 4;

/// The card at [`PLACE`], reset when it is opened.
pub struct KernelCard(VfioCard);

impl KernelCard {
    fn bench(&mut self, register: u32, value: u32) {
        let bench = self.0.device().bar(BENCH, 8).unwrap();
        bench.write32(register, value).unwrap();
        // Writes are posted; reading ensures that the write has taken effect.
        bench.read32(register).unwrap();
    }
}

impl CardTransport for KernelCard {
    forward_card!(0: describe, read32, write32, allocate, release, dma_read, dma_write, wait, quantum, patience);
}

impl TestCard for KernelCard {
    fn fresh() -> Self {
        let place = std::env::var(PLACE).unwrap_or_else(|_| panic!("{PLACE} names the card of the virtual machine"));
        let bdf: Bdf = place.parse().unwrap();
        let noiommu = Sysfs::default().function(bdf).unwrap().noiommu;
        Self(VfioCard::open(bdf, if noiommu { IommuMode::NoIommu } else { IommuMode::Iommu }).unwrap())
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
