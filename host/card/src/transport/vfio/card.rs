//! The card behind VFIO as a [`CardTransport`].

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use vmm_sys_util::eventfd::EventFd;

use super::device::{InterruptKind, PciDevice};
use super::error::VfioError;
use super::open::IommuMode;
use crate::card::{CardTransport, DmaBuffer, WatchedByte};
use crate::error::CardError;
use crate::machine::bar::PciBar;
use crate::machine::pci::Bdf;
use crate::transport::memory::DmaMemory;

/// Number of the base address register (BAR) with the card's registers.
const REGISTERS: u32 = 0;
const MAP_BYTES: u64 = 0x2000;
/// BAR and offset of the interrupt block in Amazon's shell and the XDMA bridge (PG195, "IRQ Block Registers"), and the
/// vendor ids of devices with such a block.
const IRQ_BLOCK: (u32, u32) = (2, 0x2000);
const IRQ_BLOCK_VENDORS: [u16; 2] = [0x1d0f, 0x10ee];
/// Expected upper half of the block's first register.
const IRQ_BLOCK_ID: u32 = 0x1fc2;

/// Length of one wait.
const QUANTUM: Duration = Duration::from_millis(1);
/// Time for which the watched byte is polled before the process sleeps.
const SPIN: Duration = Duration::from_micros(20);

/// A card that this process uses through the kernel's VFIO.
#[derive(Debug)]
pub struct VfioCard {
    device: PciDevice,
    event: Option<EventFd>,
}

impl VfioCard {
    /// Opens the card and resets it.
    pub fn open(bdf: Bdf, access: IommuMode) -> Result<Self, VfioError> {
        let mut device = PciDevice::open(bdf, access)?;
        // Removes the last user's state, if the function has a reset. The driver resets the design in any case.
        let _ = device.reset();
        device.bar(REGISTERS, MAP_BYTES)?;
        // Interrupts are only hints: a card without them is polled.
        let event = device.interrupt(InterruptKind::Msix).ok();
        if event.is_some() && IRQ_BLOCK_VENDORS.contains(&device.ids()?.0) {
            open_irq_block(&mut device);
        }
        Ok(Self { device, event })
    }

    /// The PCI function, for access beyond the card's registers.
    pub const fn device(&mut self) -> &mut PciDevice {
        &mut self.device
    }

    fn bar(&self) -> Result<&PciBar, CardError> {
        self.device.mapped_bar(REGISTERS).ok_or(CardError::Gone(0))
    }

    fn memory(&self, buffer: &DmaBuffer) -> Result<&DmaMemory, CardError> {
        self.device.memory(buffer.address()).map_err(|_| CardError::UnknownBuffer(buffer.address()))
    }
}

/// Enables the first interrupt in the interrupt block, if there is one; after reset the block masks all interrupts.
fn open_irq_block(device: &mut PciDevice) {
    let (index, base) = IRQ_BLOCK;
    if let Ok(bar) = device.bar(index, u64::from(base) + 0x100)
        && bar.read32(base).is_some_and(|id| id >> 16 == IRQ_BLOCK_ID)
    {
        // Maps request 0 to vector 0, then unmasks it. Both registers are inside the mapped BAR.
        let _ = bar.write32(base + 0x80, 0x0302_0100);
        let _ = bar.write32(base + 0x04, 1);
    }
}

impl CardTransport for VfioCard {
    fn describe(&self) -> String {
        let behind = match self.device.access() {
            IommuMode::Iommu => "behind an IOMMU",
            IommuMode::NoIommu => "without an IOMMU: it reaches all memory of this machine",
        };
        format!("PCI card {} {behind}", self.device.bdf())
    }

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        let bar = self.bar()?;
        let value = bar.read32(address).ok_or(CardError::Address(address))?;
        // A lost device reads as all ones everywhere; the first register of a working card never does.
        if value == u32::MAX && bar.read32(0).is_none_or(|first| first == u32::MAX) {
            return Err(CardError::Gone(address));
        }
        Ok(value)
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.bar()?.write32(address, value).ok_or(CardError::Address(address))
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError> {
        let address = self.device.allocate(bytes, u64::MAX)?;
        Ok(DmaBuffer::new(address, bytes))
    }

    fn release(&mut self, buffer: DmaBuffer) -> Result<(), CardError> {
        self.device.release(buffer.address())?;
        Ok(())
    }

    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.memory(buffer)?.read_buffer(buffer, offset, into)
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        self.memory(buffer)?.write_buffer(buffer, offset, from)
    }

    fn wait(&mut self, watch: Option<&WatchedByte<'_>>) -> Result<(), CardError> {
        let start = Instant::now();
        if let Some(watch) = watch {
            while start.elapsed() < SPIN {
                let mut byte = [0];
                self.dma_read(watch.buffer, watch.offset, &mut byte)?;
                if byte == [watch.value] {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
        }
        let rest = Timespec::try_from(QUANTUM).unwrap_or_default();
        match &self.event {
            Some(event) => {
                // A signal or an interrupt of another source may end the wait early: the caller checks again.
                // SAFETY: the descriptor belongs to `event`, which outlives the call.
                let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(event)) };
                let _ = poll(&mut [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)], Some(&rest));
                let _ = event.read();
            }
            None => std::thread::sleep(QUANTUM),
        }
        Ok(())
    }

    fn quantum(&self) -> &'static str {
        "1 ms"
    }

    fn patience(&self) -> u32 {
        // Thousands of times the card's own watchdog, which takes milliseconds, because a simulated card behind a
        // virtual machine is slow.
        30_000
    }
}
