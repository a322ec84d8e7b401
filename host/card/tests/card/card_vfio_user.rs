//! Requirements C3 and C5 over a socket: the simulated card as a PCI device in another thread or process. Peers on both
//! sides send false data or garbage, stall or die. Each such peer costs a bounded time, and nothing is admitted because
//! of it. Every entry in flight is answered once, as refused.
#![cfg(feature = "sim")]

use crate::card_support;

use std::io::{BufRead, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use card_support::{Random, Served, TestCard, UserCard, World, gate, keeping, long, placed, small};
use portcullis_card::diagnostics::{bench, selftest};
use portcullis_card::driver::{LossCause, reset};
use portcullis_card::transport::model::ModelCard;
use portcullis_card::transport::sim::SimCard;
use portcullis_card::transport::vfio_user::VfioUserCard;
use portcullis_card::{
    CardError, CardInfo, CardSession, CardTransport, CompletedEntry, DmaBuffer, EntryOutcome, SessionConfig,
    SessionError, WatchedByte, forward_card,
};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{self, Descriptor, Opcode};
use portcullis_sim::pci::PciCard;
use portcullis_sim::serve::{BindError, CardServerSocket};
use portcullis_sim::{BusStall, InjectedBusFault, SimConfig};
use portcullis_vfio_user::message::region;
use portcullis_vfio_user::{DmaRange, DriverConnection, Errno, VfioUserChannel, VfioUserDevice, VfioUserRegion};

const QUICK: SimConfig =
    SimConfig { lanes: 1, read_latency: 20, write_latency: 20, stall: BusStall::None, trace: None };

fn begin(slot: u16) -> Descriptor {
    Descriptor::entry(Opcode::Begin, SlotSequence { slot, sequence: 0 }, [0; 32]).sealed()
}

/// Asserts that the card opens for a new driver, and judges an entry.
fn assert_serves(path: &Path) {
    let world = World::permitting();
    let mut session =
        CardSession::open_tables(VfioUserCard::connect(path).unwrap(), &world.tables(), small(0x5e5e)).unwrap();
    let (stream, _) = session.begin([0; 32]).unwrap();
    let mut good = gate(&mut Random::new(1), &world.header);
    (good.validation_outcome, good.validation_reason, good.lineage_outcome, good.lineage_reason) = (1, 0, 1, 0);
    assert!(session.gate_descriptor(&stream, good).unwrap().outcome.is_admit());
    session.close().unwrap();
}

#[test]
fn the_self_test_and_the_benchmark_run() {
    let served = Served::new(QUICK);
    let report = selftest::run(served.connect()).unwrap();
    assert!(report.passed(), "{report:?}");
    let config = bench::BenchConfig { verdicts: 200, streams: 64, attest: false };
    let report = bench::run(served.connect(), &bench::full_image().unwrap(), config).unwrap();
    assert_eq!(report.verdicts, 200);
    assert!(served.connect().describe().contains("card.sock"));
}

#[test]
fn checkpoints_are_signed_over_the_socket() {
    let served = Served::new(QUICK);
    let config = bench::BenchConfig { verdicts: 40, streams: 8, attest: true };
    let report = bench::run(served.connect(), &bench::full_image().unwrap(), config).unwrap();
    assert_eq!(report.verdicts, 40);
}

/// An answer without the fields that may differ between transports: epoch, log index, tick and lane.
fn essence(completed: &CompletedEntry) -> (Descriptor, EntryOutcome, Option<wire::Answer>) {
    let record = completed.record.map(|record| {
        let blank = 0.into();
        wire::Answer { epoch: 0.into(), log_index: blank, tick: blank, lane: 0, ..record.answer }
    });
    (completed.entry, completed.outcome, record)
}

/// Submits batches of random entries, some of them broken, with random tables; returns the answers.
fn answers<C: TestCard>(seed: u64) -> Vec<(Descriptor, EntryOutcome, Option<wire::Answer>)> {
    let mut random = Random::new(seed);
    let world = if seed == 1 { World::permitting() } else { World::random(&mut random, 24, 9) };
    let mut session = CardSession::open_tables(C::fresh(), &world.tables(), small(seed as u32)).unwrap();
    let mut all = Vec::new();
    session.submit(&(0..12).map(begin).collect::<Vec<_>>()).unwrap();
    all.extend(session.drain().unwrap());
    let mut next = [1_u32; 12];
    for _ in 0..30 {
        let mut batch = Vec::new();
        for slot in 0..12 {
            let whole = placed(gate(&mut random, &world.header), slot, next[usize::from(slot)]);
            batch.push(if random.one_in(4) { card_support::break_entry(&mut random, &whole) } else { whole });
        }
        session.submit_raw(&batch).unwrap();
        for completed in session.drain().unwrap() {
            if completed.outcome.fault().is_none() && completed.entry.opcode == Opcode::Gate as u8 {
                next[usize::from(completed.entry.slot.get())] += 1;
            }
            all.push(completed);
        }
    }
    session.close().unwrap();
    all.iter().map(essence).collect()
}

#[test]
fn every_transport_gives_the_same_answers() {
    for seed in [1, 2, 3] {
        let model = answers::<ModelCard>(seed);
        assert!(model.iter().any(|(_, outcome, _)| outcome.is_admit()) || seed != 1);
        assert!(model.iter().any(|(_, outcome, _)| outcome.fault().is_some()));
        assert_eq!(answers::<SimCard>(seed), model, "sim, seed {seed}");
        assert_eq!(answers::<UserCard>(seed), model, "vfio-user, seed {seed}");
    }
}

/// A card that counts register accesses.
struct Counting<C> {
    card: C,
    reads: u64,
    writes: u64,
    /// Number of waits that ended before the awaited value arrived.
    vain: u64,
}

impl<C: CardTransport> CardTransport for Counting<C> {
    forward_card!(card: describe, allocate, release, dma_read, dma_write, quantum, patience);

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        self.reads += 1;
        self.card.read32(address)
    }
    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.writes += 1;
        self.card.write32(address, value)
    }
    fn wait(&mut self, watch: Option<&WatchedByte<'_>>) -> Result<(), CardError> {
        self.card.wait(watch)?;
        if let Some(watch) = watch {
            let mut byte = [0];
            self.card.dma_read(watch.buffer, watch.offset, &mut byte)?;
            self.vain += u64::from(byte != [watch.value]);
        }
        Ok(())
    }
}

/// The numbers of register reads, register writes and vain waits for `verdicts` verdicts with 64 open streams.
fn traffic<C: TestCard>(verdicts: u64) -> (u64, u64, u64) {
    let world = World::permitting();
    let card = Counting { card: C::fresh(), reads: 0, writes: 0, vain: 0 };
    let config = SessionConfig { epoch: Some(1), ..SessionConfig::default() };
    let mut session = CardSession::open_tables(card, &world.tables(), config).unwrap();
    session.submit(&(0..64).map(begin).collect::<Vec<_>>()).unwrap();
    session.drain().unwrap();
    let template = gate(&mut Random::new(5), &world.header);
    let mut batch: Vec<_> = (0..64).map(|slot| placed(template, slot, 1)).collect();
    let counted = |card: &Counting<C>| (card.reads, card.writes, card.vain);
    let before = counted(session.card());
    let mut taken = 0;
    while taken < verdicts {
        session.submit(&batch).unwrap();
        let answered = session.wait().unwrap();
        taken += answered.len() as u64;
        let next = |c: &CompletedEntry| placed(template, c.entry.slot.get(), c.entry.sequence.get() + 1);
        batch = answered.iter().map(next).collect();
    }
    let after = counted(session.card());
    session.drain().unwrap();
    session.close().unwrap();
    (after.0 - before.0, after.1 - before.1, after.2 - before.2)
}

#[test]
fn under_load_registers_are_not_read_and_rarely_written() {
    const VERDICTS: u64 = 2_000;
    let (reads, writes, vain) = traffic::<SimCard>(VERDICTS);
    assert_eq!((reads, vain), (0, 0));
    assert!(writes <= VERDICTS / 16, "{writes} writes for {VERDICTS} verdicts");
    // If the other process is not scheduled for a while, the driver checks the card more often; so the message shows
    // all counts.
    let (reads, writes, vain) = traffic::<UserCard>(VERDICTS);
    assert!(reads <= vain, "{reads} reads for {vain} quanta in vain");
    assert!(writes <= VERDICTS / 16 + 3 * vain, "{writes} writes for {VERDICTS} verdicts, {vain} quanta in vain");
}

#[test]
fn a_socket_is_private_takes_over_what_is_stale_and_goes_with_its_card() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("card.sock");
    {
        let _socket = CardServerSocket::bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let taken = CardServerSocket::bind(&path).unwrap_err();
        assert!(matches!(taken, BindError::InUse(_)), "{taken}");
    }
    assert!(!path.exists());
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    drop(CardServerSocket::bind(&path).unwrap());
    std::fs::write(&path, "precious").unwrap();
    let other = CardServerSocket::bind(&path).unwrap_err();
    assert!(matches!(other, BindError::NotASocket(_)), "{other}");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    // Dropping a socket does not remove another file that has replaced the socket at its path.
    let socket = CardServerSocket::bind(&dir.path().join("b.sock")).unwrap();
    std::fs::remove_file(dir.path().join("b.sock")).unwrap();
    std::fs::write(dir.path().join("b.sock"), "other").unwrap();
    drop(socket);
    assert!(dir.path().join("b.sock").exists());
}

#[test]
fn garbage_ends_one_driver_and_the_next_is_served() {
    let served = Served::new(QUICK);
    let mut random = Random::new(77);
    let version = [1_u8, 0, 1, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for round in 0..40 {
        let mut driver = UnixStream::connect(&served.path).unwrap();
        driver.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        if round % 2 == 0 {
            driver.write_all(&version).unwrap();
        }
        // Headers with a plausible length and random fields; then the connection ends.
        for _ in 0..random.below(20) {
            let bytes = random.below(200);
            let mut message: Vec<u8> = (0..16 + bytes).map(|_| random.bits() as u8).collect();
            message[2..4].copy_from_slice(&(random.below(15) as u16).to_le_bytes());
            message[4..8].copy_from_slice(&(16 + bytes as u32).to_le_bytes());
            message[8..12].copy_from_slice(&(if random.one_in(8) { 1_u32 } else { 0 }).to_le_bytes());
            if driver.write_all(&message).is_err() {
                break;
            }
        }
        let _ = driver.shutdown(std::net::Shutdown::Write);
        // The server may answer, and closes the connection in any case.
        let _ = driver.read_to_end(&mut Vec::new());
    }
    assert_serves(&served.path);
    let ends = served.ends.lock().unwrap();
    assert!(ends.iter().any(|end| end.contains("broke the protocol")), "{ends:?}");
}

#[test]
fn a_driver_that_says_nothing_is_dropped_for_the_next() {
    let served = Served::new(QUICK);
    let started = Instant::now();
    let silent = UnixStream::connect(&served.path).unwrap();
    // The first driver keeps the card until the deadline of its handshake. After that, the next driver gets the card.
    let next = loop {
        match VfioUserCard::connect(&served.path) {
            Ok(card) => break card,
            Err(error) => assert!(error.to_string().contains("another driver"), "{error}"),
        }
        assert!(started.elapsed() < Duration::from_secs(60));
    };
    drop((next, silent));
    assert_serves(&served.path);
    assert!(served.ends.lock().unwrap().iter().any(|end| end.contains("say its version")));
}

/// Opens a session and leaves one GATE per stream in flight.
fn in_flight<C: CardTransport>(card: C, streams: u16, epoch: u32) -> CardSession<C> {
    let world = World::permitting();
    let mut session = CardSession::open_tables(card, &world.tables(), small(epoch)).unwrap();
    session.submit(&(0..streams).map(begin).collect::<Vec<_>>()).unwrap();
    assert_eq!(session.drain().unwrap().len(), usize::from(streams));
    let template = gate(&mut Random::new(9), &world.header);
    session.submit(&(0..streams).map(|slot| placed(template, slot, 1)).collect::<Vec<_>>()).unwrap();
    session
}

/// Asserts that the card is lost: entries in flight are answered once, as refused, and the session accepts no more.
fn assert_lost<C: CardTransport>(session: &mut CardSession<C>, answered: usize, mut submitted: usize) {
    let mut seen = answered;
    let lost = loop {
        match session.wait() {
            Ok(more) if more.is_empty() => {
                // The card answered everything before its end: a further entry finds that it is lost, at once, while
                // it waits for its answer, or when the card ends after that answer, too.
                assert_eq!((session.in_flight(), seen), (0, submitted));
                let _ = session.submit(&[begin(30)]);
                submitted += session.in_flight();
            }
            Ok(more) => seen += more.len(),
            Err(error) => break error,
        }
    };
    assert!(matches!(lost, SessionError::Lost(LossCause::Broken(_))), "{lost}");
    let refused = session.abandon();
    assert!(refused.iter().all(|c| c.outcome.fault().is_some() && c.record.is_none()));
    assert_eq!(seen + refused.len(), submitted);
    assert!(session.abandon().is_empty());
    assert!(matches!(session.submit(&[begin(31)]), Err(SessionError::Lost(_))));
}

#[test]
fn a_server_that_ends_loses_the_card_and_refuses_what_was_in_flight() {
    let mut served = Served::new(SimConfig { read_latency: 1_000, write_latency: 1_000, ..QUICK });
    let mut session = in_flight(served.connect(), 24, 1);
    served.end();
    let started = Instant::now();
    assert_lost(&mut session, 0, 24);
    drop(session);
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// A card that, from some time on, returns all ones, like a card that has left its bus.
struct Vanishing {
    card: PciCard,
    gone: bool,
}

impl VfioUserDevice for Vanishing {
    fn region(&self, index: u32) -> VfioUserRegion {
        self.card.region(index)
    }
    fn irqs(&self, index: u32) -> u32 {
        self.card.irqs(index)
    }
    fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        if self.gone {
            into.fill(0xff);
            return Ok(());
        }
        self.card.read(region, offset, into)
    }
    fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno> {
        if self.gone { Ok(()) } else { self.card.write(region, offset, from) }
    }
    fn map(&mut self, map: DmaRange, file: Option<OwnedFd>) -> Result<(), Errno> {
        self.card.map(map, file)
    }
    fn unmap(&mut self, from: u128, to: u128) -> Result<(), Errno> {
        self.card.unmap(from, to)
    }
    fn connect_irqs(&mut self, index: u32, start: u32, files: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        self.card.connect_irqs(index, start, files)
    }
    fn fire_irqs(&mut self, index: u32, start: u32, count: u32) -> Result<(), Errno> {
        self.card.fire_irqs(index, start, count)
    }
    fn reset(&mut self) -> Result<(), Errno> {
        self.card.reset()
    }
}

#[test]
fn a_card_that_vanishes_is_said_to_be_gone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("card.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (vanish, told) = std::sync::mpsc::channel::<()>();
    let server = std::thread::spawn(move || {
        let (driver, _) = listener.accept().unwrap();
        let seen = driver.try_clone().unwrap();
        let mut connection = DriverConnection::new(VfioUserChannel::new(driver, Duration::from_secs(5)).unwrap());
        let mut device = Vanishing { card: PciCard::new(QUICK).unwrap(), gone: false };
        loop {
            let mut ready = [rustix::event::PollFd::new(&seen, rustix::event::PollFlags::IN)];
            let none = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            if rustix::event::poll(&mut ready, Some(&none)).unwrap() > 0 {
                if connection.serve(&mut device).is_err() {
                    return;
                }
            } else if !device.gone {
                device.card.run(16);
            }
            device.gone |= told.try_recv().is_ok();
        }
    });
    let mut session = in_flight(VfioUserCard::connect(&path).unwrap(), 24, 2);
    vanish.send(()).unwrap();
    let started = Instant::now();
    assert_lost(&mut session, 0, 24);
    let gone = CardInfo::read(session.card_mut()).unwrap_err();
    assert!(matches!(gone, SessionError::Card(CardError::Gone(_))), "{gone}");
    assert!(started.elapsed() < Duration::from_secs(20));
    drop(session);
    server.join().unwrap();
}

/// A part of this test program, run as a separate process. It prints a line on stdout when it is ready.
struct Process(Child);

impl Process {
    fn new(test: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("card_vfio_user::{test}"), "--nocapture", "--ignored"])
            .env(SOCKET, path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = std::io::BufReader::new(child.stdout.take().unwrap());
        let ready = out.lines().map_while(Result::ok).any(|line| line.contains(READY));
        assert!(ready, "{test} did not start");
        Self(child)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).unwrap();
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const SOCKET: &str = "PORTCULLIS_TEST_SOCKET";
const READY: &str = "process is ready";

fn socket() -> Option<PathBuf> {
    std::env::var_os(SOCKET).map(PathBuf::from)
}

#[test]
#[ignore = "a process of the tests below"]
fn serving_process() {
    let Some(path) = socket() else { return };
    let mut card = PciCard::new(SimConfig { stall: BusStall::Random(3), ..QUICK }).unwrap();
    let socket = CardServerSocket::bind(&path).unwrap();
    let (stop, _held) = UnixStream::pair().unwrap();
    println!("{READY}");
    socket.serve(&mut card, stop.as_fd(), |_| {}).unwrap();
}

#[test]
#[ignore = "a process of the tests below"]
fn driving_process() {
    let Some(path) = socket() else { return };
    let mut epoch = 0;
    loop {
        epoch += 1;
        let mut session = in_flight(VfioUserCard::connect(&path).unwrap(), 24, epoch);
        if epoch == 1 {
            println!("{READY}");
        }
        session.drain().unwrap();
        session.close().unwrap();
    }
}

fn rounds() -> u64 {
    if long() { 100 } else { 5 }
}

#[test]
fn a_card_process_may_die_at_any_moment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("card.sock");
    let mut random = Random::new(5);
    for round in 0..rounds() {
        // The socket of the previous server is stale by now.
        let server = Process::new("serving_process", &path);
        let mut session = in_flight(VfioUserCard::connect(&path).unwrap(), 24, round as u32);
        let moment = Duration::from_micros(random.bits() % 6_000);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(moment);
            server.kill();
        });
        let started = Instant::now();
        let world = World::permitting();
        let mut answered = 0;
        let mut submitted = 24;
        // Keeps the card busy until the server has ended.
        while let Ok(completed) = session.wait() {
            answered += completed.len();
            assert!(completed.iter().all(|c| c.outcome.fault().is_none()));
            let template = gate(&mut random, &world.header);
            let next = |c: &CompletedEntry| placed(template, c.entry.slot.get(), c.entry.sequence.get() + 1);
            let batch: Vec<_> = completed.iter().map(next).collect();
            match session.submit(&batch) {
                Ok(_) => submitted += batch.len(),
                // Entries that were written before the doorbell failed count as in flight.
                Err(_) => {
                    submitted = answered + session.in_flight();
                    break;
                }
            }
        }
        killer.join().unwrap();
        assert_lost(&mut session, answered, submitted);
        drop(session);
        assert!(started.elapsed() < Duration::from_secs(20), "round {round}");
    }
}

/// The card has its own process, so all memory mapped there belongs to its drivers and not to other tests.
#[test]
fn a_driver_process_may_die_at_any_moment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("card.sock");
    let server = Process::new("serving_process", &path);
    let mut random = Random::new(6);
    for _ in 0..rounds() {
        let driver = Process::new("driving_process", &path);
        std::thread::sleep(Duration::from_micros(random.bits() % 30_000));
        driver.kill();
        assert_serves(&path);
    }
    let maps = format!("/proc/{}/maps", server.0.id());
    let mapped = || std::fs::read_to_string(&maps).unwrap().contains("memfd:portcullis");
    let becomes = |wanted: bool| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while mapped() != wanted && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        deadline > Instant::now()
    };
    // The server notices a driver's end with a delay.
    assert!(becomes(false), "memory of a dead driver is still mapped");
    // Shows that the memory of a living driver is found by this name.
    let _driver = Process::new("driving_process", &path);
    assert!(becomes(true), "memory of a living driver is not mapped");
}

#[test]
fn a_card_process_that_stands_still_costs_one_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("card.sock");
    let server = Process::new("serving_process", &path);
    let card = VfioUserCard::connect_within(&path, Duration::from_millis(700)).unwrap();
    let mut session = in_flight(card, 24, 3);
    server.signal(rustix::process::Signal::STOP);
    let started = Instant::now();
    assert_lost(&mut session, 0, 24);
    drop(session);
    assert!(started.elapsed() < Duration::from_secs(10));
    // After SIGCONT, the server sees that its driver has gone, and serves the next driver.
    server.signal(rustix::process::Signal::CONT);
    assert_serves(&path);
}

/// A card without a socket, whose driver's memory is in files that the test can read.
struct Bare {
    pci: PciCard,
    files: Vec<(u64, std::fs::File)>,
    next: u64,
}

impl Bare {
    fn new() -> Self {
        let mut pci = PciCard::new(SimConfig { stall: BusStall::Random(8), ..QUICK }).unwrap();
        pci.write(region::CONFIG, 4, &[6, 0]).unwrap();
        Self { pci, files: Vec::new(), next: 1 << 36 }
    }

    fn file(&self, buffer: &DmaBuffer) -> &std::fs::File {
        &self.files.iter().find(|(at, _)| *at == buffer.address()).unwrap().1
    }
}

impl CardTransport for Bare {
    fn describe(&self) -> String {
        "without a socket".into()
    }
    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        let mut bytes = [0; 4];
        self.pci.read(region::BAR0, address.into(), &mut bytes).map_err(|_| CardError::Address(address))?;
        Ok(u32::from_le_bytes(bytes))
    }
    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        let written = self.pci.write(region::BAR0, address.into(), &value.to_le_bytes());
        written.map_err(|_| CardError::Address(address))
    }
    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError> {
        use rustix::fs::{MemfdFlags, SealFlags};
        let size = bytes.next_multiple_of(4096) as u64;
        let file = rustix::fs::memfd_create("kept", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&file, size).unwrap();
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        let map = DmaRange { read: true, write: true, offset: 0, address: self.next, size };
        self.pci.map(map, Some(file.try_clone().unwrap())).unwrap();
        self.files.push((self.next, file.into()));
        self.next += size;
        Ok(DmaBuffer::new(map.address, bytes))
    }
    fn release(&mut self, buffer: DmaBuffer) -> Result<(), CardError> {
        let end = u128::from(buffer.address()) + buffer.len().next_multiple_of(4096) as u128;
        self.pci.unmap(buffer.address().into(), end).unwrap();
        Ok(())
    }
    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.file(buffer).read_exact_at(into, offset as u64).unwrap();
        Ok(())
    }
    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        self.file(buffer).write_all_at(from, offset as u64).unwrap();
        Ok(())
    }
    fn wait(&mut self, _watch: Option<&WatchedByte<'_>>) -> Result<(), CardError> {
        self.pci.run(64);
        Ok(())
    }
    fn quantum(&self) -> &'static str {
        "64 clocks"
    }
    fn patience(&self) -> u32 {
        10_000
    }
}

/// Memory is removed while the card works: by unmapping, by disabling bus mastering, by a reset, or because the driver
/// ends. From that moment on, the card does not change the memory.
#[test]
fn memory_that_was_taken_back_is_never_written() {
    let mut random = Random::new(21);
    for round in 0..40_u32 {
        let mut session = in_flight(Bare::new(), 24, round);
        let card = session.card_mut();
        card.pci.run(random.bits() % 3_000);
        match round % 4 {
            0 => card.pci.unmap(0, 1 << 64).unwrap(),
            1 => card.pci.write(region::CONFIG, 4, &[2, 0]).unwrap(),
            2 => card.pci.reset().unwrap(),
            _ => card.pci.disconnect(),
        }
        let pattern: Vec<u8> = (0..4096).map(|_| random.bits() as u8).collect();
        let pages = |file: &std::fs::File| file.metadata().unwrap().len() / 4096;
        for (_, file) in &card.files {
            for page in 0..pages(file) {
                file.write_all_at(&pattern, page * 4096).unwrap();
            }
        }
        card.pci.run(40_000);
        for (_, file) in &card.files {
            for page in 0..pages(file) {
                let mut found = vec![0; 4096];
                file.read_exact_at(&mut found, page * 4096).unwrap();
                assert!(found == pattern, "round {round}, page {page}");
            }
        }
        assert_eq!(card.pci.failure(), None);
    }
}

/// Runs sessions with random stalls, bus faults, resets by other programs, and ends while the card works. Every entry
/// is answered exactly once, and the software evaluator also admits every admitted entry.
#[test]
fn every_descriptor_is_answered_once_whatever_happens() {
    let wanted = if long() { 100_000 } else { 4_000 };
    let served = Served::new(QUICK);
    let mut random = Random::new(0xfee1);
    let (mut answered, mut admits, mut faults, mut lost) = (0, 0, 0, 0);
    let mut epoch = 0;
    // The exact time of a disturbance depends on the machine, so the test repeats until each kind of end has occurred.
    while answered < wanted || (answered < 20 * wanted && [admits, faults, lost].contains(&0)) {
        epoch += 1;
        let world = if random.one_in(3) { World::permitting() } else { World::random(&mut random, 12, 4) };
        let evaluator = world.evaluator();
        let (config, kept) = keeping(SessionConfig { ring_log2: 6, log_log2: 6, ..small(epoch) });
        let mut session = CardSession::open_tables(served.connect(), &world.tables(), config).unwrap();
        let stall = [BusStall::None, BusStall::EveryFourth, BusStall::Random(random.bits())][random.below(3)];
        served.sim.lock().unwrap().set_bus(random.below(300) as u32, random.below(300) as u32, stall).unwrap();
        let streams = 1 + random.below(64) as u16;
        // The answers by ticket; at the end, each ticket must have one.
        let mut given: Vec<Option<EntryOutcome>> = Vec::new();
        let mut submitted: Vec<Descriptor> = Vec::new();
        let mut take = |completed: Vec<CompletedEntry>, given: &mut Vec<Option<EntryOutcome>>| {
            for c in completed {
                let place = &mut given[c.ticket as usize];
                assert_eq!(*place, None, "ticket {} was answered twice", c.ticket);
                *place = Some(c.outcome);
                match c.outcome {
                    EntryOutcome::Judged(verdict) => {
                        assert_eq!(verdict, evaluator.judge(&c.entry));
                        admits += u32::from(c.outcome.is_admit());
                        assert!(c.record.is_some());
                    }
                    EntryOutcome::Accepted => {}
                    EntryOutcome::Fault(_) => faults += 1,
                }
            }
        };
        let batches = 2 + random.below(12);
        let mischief = random.below(batches + 6);
        let mut over = None;
        for number in 0..batches {
            let batch: Vec<_> = (0..streams)
                .map(|slot| match number {
                    0 => begin(slot),
                    _ => placed(gate(&mut random, &world.header), slot, number as u32),
                })
                .collect();
            // The batch is in the ring, even if writing the doorbell failed.
            let before = session.in_flight();
            let pushed = session.submit(&batch);
            let taken = session.in_flight() - before;
            submitted.extend(&batch[..taken]);
            given.resize(submitted.len(), None);
            if number == mischief {
                std::thread::sleep(Duration::from_micros(random.bits() % 2_000));
                let mut sim = served.sim.lock().unwrap();
                match random.below(6) {
                    0 => sim.inject(InjectedBusFault::ReadError { nth: 0 }).unwrap(),
                    1 => sim.inject(InjectedBusFault::WriteError { nth: random.below(4) as u32 }).unwrap(),
                    2 => sim.inject(InjectedBusFault::ReadLost { nth: 0 }).unwrap(),
                    3 => sim.inject(InjectedBusFault::ReadCorrupt { nth: 0, bit: random.below(1024) as u32 }).unwrap(),
                    // Writes the command register: another driver resets the card.
                    4 => sim.write32(0x040, 4).unwrap(),
                    _ => sim.inject(InjectedBusFault::WriteLost { nth: 0 }).unwrap(),
                }
            }
            let done = pushed.and_then(|_| session.drain());
            match done {
                Ok(completed) => take(completed, &mut given),
                Err(error) => {
                    over = Some(error);
                    break;
                }
            }
        }
        if matches!(over, Some(SessionError::Lost(_))) {
            lost += 1;
            take(session.abandon(), &mut given);
        }
        for (ticket, outcome) in given.iter().enumerate() {
            assert!(outcome.is_some(), "epoch {epoch}: ticket {ticket} was not answered ({over:?})");
        }
        answered += given.len();
        if random.one_in(2) {
            let _ = session.close();
        } else {
            drop(session);
        }
        let kept = kept.lock().unwrap();
        let recorded = kept.iter().filter(|r| r.answer.determination == wire::Determination::Admit as u8);
        for record in recorded {
            assert!(EntryOutcome::Judged(evaluator.judge(&record.descriptor)).is_admit());
        }
    }
    println!("{answered} answered in {epoch} sessions: {admits} admits, {faults} faults, {lost} cards lost");
    assert!(admits > 0 && faults > 0 && lost > 0);
    assert_serves(&served.path);
}

#[test]
fn two_drivers_take_turns() {
    let served = Served::new(QUICK);
    let first = served.connect();
    let path = served.path.clone();
    let second = std::thread::spawn(move || VfioUserCard::connect(&path).map(|mut card| reset(&mut card).is_ok()));
    std::thread::sleep(Duration::from_millis(50));
    drop(first);
    assert!(second.join().unwrap().unwrap());
}
