//! Cards of `N` lanes.

use super::TestCard;
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardError, CardTransport, DmaBuffer, WatchedByte, forward_card};

pub trait Laned: TestCard {
    fn of_lanes(lanes: u8) -> Self;
}

impl Laned for ModelCard {
    fn of_lanes(lanes: u8) -> Self {
        Self::with_lanes(lanes).unwrap()
    }
}

#[cfg(feature = "sim")]
impl Laned for portcullis_card::transport::sim::SimCard {
    fn of_lanes(lanes: u8) -> Self {
        let lanes = lanes.into();
        Self::new(portcullis_sim::SimConfig { lanes, read_latency: 20, write_latency: 20, ..Default::default() })
            .unwrap()
    }
}

/// A card of `N` lanes.
pub struct Lanes<C, const N: u8>(pub C);

impl<C: Laned, const N: u8> CardTransport for Lanes<C, N> {
    forward_card!(0: describe, read32, write32, allocate, release, dma_read, dma_write, wait, quantum, patience, clocks);
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
