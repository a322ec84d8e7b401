//! Both cards behind one trait, with the ways in which a bus can fail.

use portcullis_card::Card;
use portcullis_card::model::ModelCard;
#[cfg(feature = "sim")]
use portcullis_card::sim::SimCard;
use portcullis_core::wire::Fault;

/// A card that a test can disturb.
pub trait TestCard: Card + Sized {
    /// A new one.
    fn fresh() -> Self;
    /// From now on a read of the card is answered with an error.
    fn break_reads(&mut self);
    /// From now on a write of the card is answered with an error.
    fn break_writes(&mut self);
    /// From now on no read of the card is answered.
    fn hang_reads(&mut self);
    /// From now on no write of the card is answered.
    fn hang_writes(&mut self);
    /// Ends hanging.
    fn mend(&mut self);
    /// Lets clocks pass, unwatched.
    fn pass(&mut self, clocks: u64);
    /// Nothing that the card did broke a rule of its bus.
    fn assert_clean(&mut self);
}

impl TestCard for ModelCard {
    fn fresh() -> Self {
        Self::new()
    }
    fn break_reads(&mut self) {
        self.break_bus(Fault::ReadResponse);
    }
    fn break_writes(&mut self) {
        self.break_bus(Fault::WriteResponse);
    }
    fn hang_reads(&mut self) {
        self.break_bus(Fault::Watchdog);
    }
    fn hang_writes(&mut self) {
        self.break_bus(Fault::Watchdog);
    }
    fn mend(&mut self) {}
    /// Its tick counts steps.
    fn pass(&mut self, clocks: u64) {
        for _ in 0..clocks {
            self.read32(0).unwrap();
        }
    }
    fn assert_clean(&mut self) {}
}

#[cfg(feature = "sim")]
impl TestCard for SimCard {
    fn fresh() -> Self {
        Self::new(portcullis_sim::SimConfig { read_latency: 20, write_latency: 20, ..Default::default() }).unwrap()
    }
    fn break_reads(&mut self) {
        self.sim().inject(portcullis_sim::Inject::ReadError { nth: 0 }).unwrap();
    }
    fn break_writes(&mut self) {
        self.sim().inject(portcullis_sim::Inject::WriteError { nth: 0 }).unwrap();
    }
    fn hang_reads(&mut self) {
        self.sim().inject(portcullis_sim::Inject::ReadRequestsHang).unwrap();
    }
    fn hang_writes(&mut self) {
        self.sim().inject(portcullis_sim::Inject::WriteRequestsHang).unwrap();
    }
    fn mend(&mut self) {
        self.sim().inject(portcullis_sim::Inject::Unhang).unwrap();
    }
    fn pass(&mut self, clocks: u64) {
        self.sim().run(clocks).unwrap();
    }
    fn assert_clean(&mut self) {
        assert_eq!(self.sim().violations(), None);
        assert_eq!(self.sim().stats().violations, 0);
        assert_eq!(self.sim().stats().out_of_range, 0);
    }
}
