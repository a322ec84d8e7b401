//! Tests the PCI function without a socket: valid and invalid requests of a driver.

use std::os::fd::{AsFd, OwnedFd};

use portcullis_vfio_user::message::{irq, region};
use portcullis_vfio_user::{DmaRange, Errno, VfioUserDevice};
use rustix::fs::{MemfdFlags, SealFlags};

use super::PciCard;
use crate::SimConfig;

const BASE: u64 = 0x10_0000_0000;

fn memory(bytes: u64) -> OwnedFd {
    let file = unsealed(bytes);
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    file
}

fn unsealed(bytes: u64) -> OwnedFd {
    let file = rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&file, bytes).unwrap();
    file
}

fn again(file: &OwnedFd) -> Option<OwnedFd> {
    Some(file.as_fd().try_clone_to_owned().unwrap())
}

fn at(address: u64, size: u64) -> DmaRange {
    DmaRange { read: true, write: true, offset: 0, address, size }
}

fn register(card: &mut PciCard, address: u64) -> u32 {
    let mut bytes = [0; 4];
    card.read(region::BAR0, address, &mut bytes).unwrap();
    u32::from_le_bytes(bytes)
}

fn enable(card: &mut PciCard, command: u8) {
    card.write(region::CONFIG, 4, &[command, 0]).unwrap();
}

#[test]
fn registers_answer_only_while_memory_is_enabled() {
    let mut card = PciCard::new(SimConfig::default()).unwrap();
    assert_eq!(register(&mut card, 0), u32::MAX);
    enable(&mut card, 2);
    assert_eq!(register(&mut card, 0), 0x4c55_4350);
    // Accesses two words at once; then tries accesses that are not whole words.
    let mut two = [0; 8];
    card.read(region::BAR0, 0, &mut two).unwrap();
    assert_eq!(two[..4], 0x4c55_4350_u32.to_le_bytes());
    assert_eq!(card.read(region::BAR0, 2, &mut [0; 4]), Err(Errno::INVAL));
    assert_eq!(card.read(region::BAR0, 0, &mut [0; 2]), Err(Errno::INVAL));
    assert_eq!(card.write(region::BAR0, 0, &[0]), Err(Errno::INVAL));
    // The MSI-X table is plain memory; it has no effect on the card.
    card.write(region::BAR2, 8, &[1, 2, 3, 4]).unwrap();
    let mut back = [9; 16];
    card.read(region::BAR2, 8, &mut back).unwrap();
    assert_eq!(back, [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    enable(&mut card, 0);
    assert_eq!(register(&mut card, 0), u32::MAX);
}

#[test]
fn a_reset_makes_a_new_card_that_sees_the_same_memory() {
    let mut card = PciCard::new(SimConfig::default()).unwrap();
    let file = memory(4096);
    card.map(at(BASE, 4096), again(&file)).unwrap();
    for reset in [true, false] {
        enable(&mut card, 6);
        card.write(region::BAR0, 0x50, &7_u32.to_le_bytes()).unwrap();
        let epoch = register(&mut card, 0x50);
        assert_eq!(epoch, 7);
        if reset {
            card.reset().unwrap();
        } else {
            // Requests a function-level reset.
            card.write(region::CONFIG, 0x48, &[0, 0x80]).unwrap();
        }
        let mut command = [0xff; 2];
        card.read(region::CONFIG, 4, &mut command).unwrap();
        assert_eq!(command, [0, 0], "no memory, no bus master");
        enable(&mut card, 6);
        assert_eq!(register(&mut card, 0), 0x4c55_4350);
        assert_eq!(register(&mut card, 0x50), 0);
        assert!(card.lock().map_is(BASE));
    }
    card.disconnect();
    assert!(!card.lock().map_is(BASE));
}

#[test]
fn memory_is_taken_only_where_it_is_safe() {
    let mut card = PciCard::new(SimConfig::default()).unwrap();
    let file = memory(8192);
    let mut refuse = |map: DmaRange, file: Option<OwnedFd>, errno: Errno| {
        assert_eq!(card.map(map, file), Err(errno), "{map:x?}");
    };
    refuse(at(BASE, 0), again(&file), Errno::INVAL);
    refuse(at(BASE + 8, 4096), again(&file), Errno::INVAL);
    refuse(at(BASE, 4097), again(&file), Errno::INVAL);
    refuse(DmaRange { offset: 1, ..at(BASE, 4096) }, again(&file), Errno::INVAL);
    // Tries a range beyond the end of the file, and a range whose end does not fit into 64 bits.
    refuse(at(BASE, 12288), again(&file), Errno::INVAL);
    refuse(DmaRange { offset: 8192, ..at(BASE, 4096) }, again(&file), Errno::INVAL);
    refuse(DmaRange { offset: u64::MAX - 4095, ..at(BASE, 8192) }, again(&file), Errno::INVAL);
    refuse(at(u64::MAX - 4095, 8192), again(&file), Errno::INVAL);
    // If the file could shrink, its owner could crash the server.
    refuse(at(BASE, 4096), Some(unsealed(4096)), Errno::PERM);
    let plain = tempfile();
    refuse(at(BASE, 4096), Some(plain), Errno::INVAL);
    card.map(at(BASE, 8192), again(&file)).unwrap();
    for overlap in [at(BASE, 4096), at(BASE + 4096, 4096), at(BASE - 4096, 8192), at(BASE - 4096, 16384)] {
        assert_eq!(card.map(overlap, again(&file)), Err(Errno::EXIST), "{overlap:x?}");
    }
    card.map(DmaRange { offset: 4096, ..at(BASE + 8192, 4096) }, again(&file)).unwrap();
    // A range without a file is recorded, although the card cannot access it.
    card.map(at(0xc0000, 4096), None).unwrap();
    assert!(card.lock().map_is(BASE + 8192) && !card.lock().map_is(0xc0000));
    assert_eq!(card.unmap((BASE + 4096).into(), (BASE + 8192).into()), Err(Errno::INVAL), "half of a range");
    assert_eq!(card.unmap(BASE.into(), (BASE + 4096).into()), Err(Errno::INVAL), "the other half");
    assert!(card.lock().map_is(BASE));
    // Unmaps a larger range than exists, up to the end of the address space.
    card.unmap(0, 1 << 64).unwrap();
    assert!(!card.lock().map_is(BASE) && !card.lock().map_is(BASE + 8192));
    card.unmap(0xfef0_0000, 1 << 64).unwrap();
    card.unmap(5, 5).unwrap();
    card.unmap(1 << 65, 1 << 66).unwrap();
}

fn tempfile() -> OwnedFd {
    // A file on a file system that does not support seals.
    std::fs::File::open("/proc/self/exe").unwrap().into()
}

#[test]
fn a_file_is_mapped_once_however_many_ranges_lie_in_it() {
    let maps = || std::fs::read_to_string("/proc/self/maps").unwrap();
    let count = || maps().lines().filter(|line| line.contains("memfd:once-only")).count();
    let mut card = PciCard::new(SimConfig::default()).unwrap();
    let file = rustix::fs::memfd_create("once-only", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&file, 1 << 20).unwrap();
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    for page in 0..256 {
        let offset = page * 4096;
        card.map(DmaRange { offset, ..at(BASE + 2 * offset, 4096) }, again(&file)).unwrap();
    }
    assert_eq!(count(), 1);
    card.unmap(BASE.into(), (BASE + 2 * 255 * 4096).into()).unwrap();
    assert_eq!(count(), 1);
    card.unmap(BASE.into(), (BASE + (1 << 21)).into()).unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn an_interrupt_reaches_its_event_file_and_only_of_a_bus_master() {
    let mut card = PciCard::new(SimConfig::default()).unwrap();
    let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap();
    card.connect_irqs(irq::MSIX, 0, vec![again(&event)]).unwrap();
    let fired = || rustix::io::read(&event, &mut [0; 8]).is_ok();
    card.fire_irqs(irq::MSIX, 0, 1).unwrap();
    assert!(!fired());
    enable(&mut card, 6);
    card.fire_irqs(irq::MSIX, 0, 1).unwrap();
    assert!(fired());
    card.connect_irqs(irq::MSIX, 0, vec![None]).unwrap();
    card.fire_irqs(irq::MSIX, 0, 1).unwrap();
    assert!(!fired());
}
