//! Tests the VFIO layer on QEMU's `edu` device (QEMU: `docs/specs/edu.rst`), with a real kernel and IOMMU.
//!
//! Usage: `vfio-edu BDF`. Each check prints a line; the first failed check ends the program with code 1.

use anyhow::{Context, Result, bail, ensure};
use portcullis_card::machine::bar::PciBar;
use portcullis_card::transport::vfio::{InterruptKind, IommuMode, PciDevice, VfioError};
use std::time::{Duration, Instant};

const IDENTITY: u32 = 0x00;
const LIVENESS: u32 = 0x04;
const INTERRUPT_STATUS: u32 = 0x24;
const INTERRUPT_RAISE: u32 = 0x60;
const INTERRUPT_ACKNOWLEDGE: u32 = 0x64;
const DMA_SOURCE: u32 = 0x80;
const DMA_DESTINATION: u32 = 0x88;
const DMA_COUNT: u32 = 0x90;
const DMA_COMMAND: u32 = 0x98;
/// Command bits: start, direction to memory, interrupt at the end.
const START: u32 = 1;
const TO_MEMORY: u32 = 2;
const INTERRUPT: u32 = 4;
/// Place of the device's 4 KiB buffer, and the part that is used: some versions of QEMU crash at the last byte.
const BUFFER: u32 = 0x40000;
const BYTES: u32 = 4088;
/// The device has 28 address lines.
const HIGHEST: u64 = 0x0fff_ffff;
/// Longest wait for a transfer; a transfer takes 100 ms.
const DEADLINE: Duration = Duration::from_secs(20);

fn main() -> Result<()> {
    let bdf = std::env::args().nth(1).context("usage: vfio-edu BDF")?.parse()?;
    let mut device = PciDevice::open(bdf, IommuMode::Iommu)?;
    ensure!(device.ids()? == (0x1234, 0x11e8), "{bdf} is {:x?}, not QEMU's edu", device.ids()?);
    let id = get(device.bar(0, 0x1000)?, IDENTITY)?;
    ensure!(id & 0xffff == 0x00ed, "identity {id:#x}");
    put(bar(&device)?, LIVENESS, 0x1234_5678)?;
    ensure!(get(bar(&device)?, LIVENESS)? == !0x1234_5678, "the liveness register does not invert");
    ensure!(
        bar(&device)?.read32(0x10_0000).is_none() && bar(&device)?.read32(2).is_none(),
        "access outside the register"
    );
    println!("ok registers");

    let event = device.interrupt(InterruptKind::Msi)?;
    put(bar(&device)?, INTERRUPT_RAISE, 0x100)?;
    ensure!(wait(|| event.read().ok())? == 1, "one interrupt is one event");
    put(bar(&device)?, INTERRUPT_ACKNOWLEDGE, 0x100)?;
    ensure!(get(bar(&device)?, INTERRUPT_STATUS)? == 0, "the interrupt is acknowledged");
    println!("ok interrupt");

    let (source, target) = (device.allocate(8192, HIGHEST)?, device.allocate(4096, HIGHEST)?);
    ensure!(source != target && source % 4096 == 0 && target + 4096 <= HIGHEST, "addresses {source:#x}, {target:#x}");
    let pattern: Vec<u8> = (0..BYTES).map(|n| (n * 7 + n / 256) as u8).collect();
    ensure!(device.memory(source)?.write(0, &pattern), "access of memory that was allocated");
    transfer(&device, source, 0)?;
    transfer(&device, target, TO_MEMORY)?;
    let mut back = vec![0; pattern.len()];
    ensure!(device.memory(target)?.read(0, &mut back), "access of memory that was allocated");
    ensure!(back == pattern, "what went into the device came back otherwise");
    let mut tail = [0xff; 8];
    ensure!(device.memory(target)?.read(BYTES as usize, &mut tail), "access of memory that was allocated");
    ensure!(tail == [0; 8], "the device wrote past its count");
    ensure!(wait(|| event.read().ok())? >= 1, "a transfer ends with an interrupt");
    put(bar(&device)?, INTERRUPT_ACKNOWLEDGE, 0x100)?;
    println!("ok DMA both ways");

    // While bus mastering is off, the device cannot access even mapped memory.
    ensure!(device.memory(target)?.write(0, &vec![0xa5; pattern.len()]), "access of memory that was allocated");
    device.enable(false)?;
    transfer(&device, target, TO_MEMORY)?;
    ensure!(device.memory(target)?.read(0, &mut back), "access of memory that was allocated");
    ensure!(back.iter().all(|b| *b == 0xa5), "DMA without bus mastering");
    device.enable(true)?;
    println!("ok no DMA without bus mastering");

    // The device cannot access memory that was unmapped, so the guard pattern is unchanged.
    let freed = device.release(target)?;
    transfer(&device, target, TO_MEMORY)?;
    ensure!(freed.read(0, &mut back), "access of memory that was allocated");
    ensure!(back.iter().all(|b| *b == 0xa5), "DMA into memory that was taken away");
    ensure!(matches!(device.release(target), Err(VfioError::Unmapped(_))), "memory is taken away once");
    println!("ok no DMA after unmap");

    // The device does not support reset: this must give an error.
    ensure!(matches!(device.reset(), Err(VfioError::Ioctl { .. })), "a reset that did not happen is reported");
    ensure!(matches!(device.allocate(1 << 29, HIGHEST), Err(VfioError::Addresses(_))), "no address above the highest");
    println!("ok errors are reported");
    let wrong = PciDevice::open(bdf, IommuMode::NoIommu).err().map(|e| e.to_string()).unwrap_or_default();
    ensure!(wrong.contains(&format!("--card vfio:{bdf}")), "the remedy of the wrong kind: {wrong}");
    let busy = PciDevice::open(bdf, IommuMode::Iommu).err().map(|e| e.to_string()).unwrap_or_default();
    ensure!(busy.contains("another process"), "the remedy of a device in use: {busy}");
    println!("ok remedies are named");
    Ok(())
}

fn transfer(device: &PciDevice, memory: u64, direction: u32) -> Result<()> {
    let memory = u32::try_from(memory)?;
    let (from, to) = if direction == TO_MEMORY { (BUFFER, memory) } else { (memory, BUFFER) };
    let bar = bar(device)?;
    put(bar, DMA_SOURCE, from)?;
    put(bar, DMA_DESTINATION, to)?;
    put(bar, DMA_COUNT, BYTES)?;
    put(bar, DMA_COMMAND, START | direction | INTERRUPT)?;
    wait(|| (get(bar, DMA_COMMAND).ok()? & START == 0).then_some(()))
}

fn bar(device: &PciDevice) -> Result<&PciBar> {
    device.mapped_bar(0).context("the registers are mapped")
}

fn get(bar: &PciBar, register: u32) -> Result<u32> {
    bar.read32(register).with_context(|| format!("no register {register:#x}"))
}

fn put(bar: &PciBar, register: u32, value: u32) -> Result<()> {
    bar.write32(register, value).with_context(|| format!("no register {register:#x}"))
}

fn wait<T>(mut ready: impl FnMut() -> Option<T>) -> Result<T> {
    let end = Instant::now() + DEADLINE;
    while Instant::now() < end {
        if let Some(value) = ready() {
            return Ok(value);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    bail!("nothing happened within {DEADLINE:?}")
}
