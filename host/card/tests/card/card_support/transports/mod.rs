//! All transports behind one trait, which can also make their bus fail.

mod kernel;
mod lanes;

pub use kernel::KernelCard;
pub use lanes::{Laned, Lanes};

use portcullis_card::transport::model::ModelCard;
#[cfg(feature = "sim")]
use portcullis_card::transport::sim::SimCard;
use portcullis_card::{CardError, CardTransport, DmaBuffer, WatchedByte, forward_card};
use portcullis_core::wire::Fault;

/// A card whose bus a test can disturb.
pub trait TestCard: CardTransport + Sized {
    fn fresh() -> Self;
    /// Makes reads of the card fail with an error.
    fn break_reads(&mut self);
    /// Makes writes of the card fail with an error.
    fn break_writes(&mut self);
    /// Makes the bus leave reads of the card unanswered.
    fn hang_reads(&mut self);
    /// Makes the bus leave writes of the card unanswered.
    fn hang_writes(&mut self);
    fn mend(&mut self);
    fn hardware_reset(&mut self);
    /// Runs the clock for `clocks` clocks.
    fn pass(&mut self, clocks: u64);
    /// Asserts that the card has not violated a bus rule.
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
    fn hardware_reset(&mut self) {
        Self::hardware_reset(self);
    }
    fn pass(&mut self, clocks: u64) {
        for _ in 0..clocks {
            self.read32(0).unwrap();
        }
    }
    fn assert_clean(&mut self) {}
}

/// Implements the disturbances for cards that have a simulation.
#[cfg(feature = "sim")]
macro_rules! hooks_of_the_simulation {
    () => {
        fn break_reads(&mut self) {
            self.sim().inject(portcullis_sim::InjectedBusFault::ReadError { nth: 0 }).unwrap();
        }
        fn break_writes(&mut self) {
            self.sim().inject(portcullis_sim::InjectedBusFault::WriteError { nth: 0 }).unwrap();
        }
        fn hang_reads(&mut self) {
            self.sim().inject(portcullis_sim::InjectedBusFault::ReadRequestsHang).unwrap();
        }
        fn hang_writes(&mut self) {
            self.sim().inject(portcullis_sim::InjectedBusFault::WriteRequestsHang).unwrap();
        }
        fn mend(&mut self) {
            self.sim().inject(portcullis_sim::InjectedBusFault::Unhang).unwrap();
        }
        fn hardware_reset(&mut self) {
            self.sim().hardware_reset().unwrap();
        }
        fn pass(&mut self, clocks: u64) {
            self.sim().run(clocks).unwrap();
        }
    };
}

#[cfg(feature = "sim")]
impl TestCard for SimCard {
    fn fresh() -> Self {
        Self::new(portcullis_sim::SimConfig { read_latency: 20, write_latency: 20, ..Default::default() }).unwrap()
    }
    hooks_of_the_simulation!();
    fn assert_clean(&mut self) {
        assert_eq!(self.sim().violations(), None);
        assert_eq!(self.sim().stats().violations, 0);
        assert_eq!(self.sim().stats().out_of_range, 0);
    }
}

/// The simulated card behind a socket, served by a thread of this process.
#[cfg(feature = "sim")]
pub struct Served {
    pub path: std::path::PathBuf,
    pub sim: std::sync::Arc<std::sync::Mutex<portcullis_sim::SimulatedCard>>,
    /// The reasons why drivers were disconnected.
    pub ends: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
    stop: Option<std::os::unix::net::UnixStream>,
    thread: Option<std::thread::JoinHandle<()>>,
    _dir: tempfile::TempDir,
}

#[cfg(feature = "sim")]
impl Served {
    pub fn new(config: portcullis_sim::SimConfig) -> Self {
        use std::os::fd::AsFd;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("card.sock");
        let mut card = portcullis_sim::pci::PciCard::new(config).unwrap();
        let sim = card.sim();
        let socket = portcullis_sim::serve::CardServerSocket::bind(&path).unwrap();
        let (stop, stopped) = std::os::unix::net::UnixStream::pair().unwrap();
        let ends = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = std::sync::Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            socket.serve(&mut card, stopped.as_fd(), |end| told.lock().unwrap().push(end.to_string())).unwrap();
        });
        Self { path, sim, ends, stop: Some(stop), thread: Some(thread), _dir: dir }
    }

    pub fn connect(&self) -> portcullis_card::transport::vfio_user::VfioUserCard {
        portcullis_card::transport::vfio_user::VfioUserCard::connect(&self.path).unwrap()
    }

    /// Stops the server, even while a driver is active.
    pub fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

#[cfg(feature = "sim")]
impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}

/// A driver of [`Served`], together with the server.
#[cfg(feature = "sim")]
pub struct UserCard {
    // Declared before the server, because fields are dropped in this order.
    pub card: portcullis_card::transport::vfio_user::VfioUserCard,
    pub served: Served,
}

#[cfg(feature = "sim")]
impl UserCard {
    fn sim(&self) -> std::sync::MutexGuard<'_, portcullis_sim::SimulatedCard> {
        self.served.sim.lock().unwrap()
    }
}

#[cfg(feature = "sim")]
impl CardTransport for UserCard {
    forward_card!(card: describe, read32, write32, allocate, release, dma_read, dma_write, wait, quantum, patience);
}

#[cfg(feature = "sim")]
impl TestCard for UserCard {
    fn fresh() -> Self {
        let config = portcullis_sim::SimConfig { read_latency: 20, write_latency: 20, ..Default::default() };
        let served = Served::new(config);
        Self { card: served.connect(), served }
    }
    hooks_of_the_simulation!();
    fn assert_clean(&mut self) {
        let sim = self.sim();
        assert_eq!(sim.violations(), None);
        assert_eq!(sim.stats().violations, 0);
        assert_eq!(sim.stats().out_of_range, 0);
    }
}
