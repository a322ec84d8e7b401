//! A PCI device in this process: configuration space, registers, memory, interrupts, reset.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use memmap2::MmapOptions;
use vfio_bindings::bindings::vfio::{
    VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD, VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSI_IRQ_INDEX,
    VFIO_PCI_MSIX_IRQ_INDEX, VFIO_REGION_INFO_FLAG_MMAP, vfio_region_info,
};
use vmm_sys_util::eventfd::EventFd;
use vmm_sys_util::ioctl::{ioctl, ioctl_with_mut_ref, ioctl_with_ptr};

use super::error::VfioError;
use super::iommu;
use super::open::{DeviceHandle, IommuMode, open};
use super::ranges::Ranges;
use super::request;
use crate::machine::bar::PciBar;
use crate::machine::pci::{Bdf, Sysfs};
use crate::transport::memory::{DmaMemory, PageSize};

/// PCI command register (PCI 3.0, 6.2.2) and its bits.
const COMMAND: u64 = 4;
const MEMORY_SPACE: u16 = 1 << 1;
const BUS_MASTER: u16 = 1 << 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptKind {
    Msi,
    Msix,
}

/// An open device. Dropping it stops its DMA before its memory is freed.
pub struct PciDevice {
    bdf: Bdf,
    /// First field, so that it is dropped first: closing the device stops it before the memory is freed.
    opened: DeviceHandle,
    config: u64,
    bars: BTreeMap<u32, PciBar>,
    ranges: Ranges,
    mapped: BTreeMap<u64, DmaMemory>,
}

impl std::fmt::Debug for PciDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PciDevice").field("bdf", &self.bdf).field("mapped", &self.mapped.keys()).finish_non_exhaustive()
    }
}

impl PciDevice {
    /// Opens a function that is bound to `vfio-pci`, resets it if it can be reset, and enables its registers and DMA.
    /// Errors: [`VfioError`], with a remedy.
    pub fn open(bdf: Bdf, access: IommuMode) -> Result<Self, VfioError> {
        let opened = open(bdf, access, &Sysfs::default())?;
        let config = region(&opened, VFIO_PCI_CONFIG_REGION_INDEX)?.offset;
        let ranges = Ranges::new(match &opened {
            DeviceHandle::Iommu { container, .. } => iommu::ranges(container.as_ref())?,
            DeviceHandle::NoIommu { .. } => Vec::new(),
        });
        let mut device = Self { bdf, opened, config, bars: BTreeMap::new(), ranges, mapped: BTreeMap::new() };
        device.enable(true)?;
        Ok(device)
    }

    #[must_use]
    pub const fn bdf(&self) -> Bdf {
        self.bdf
    }

    /// Whether an IOMMU limits the device's access to memory.
    #[must_use]
    pub const fn access(&self) -> IommuMode {
        match self.opened {
            DeviceHandle::Iommu { .. } => IommuMode::Iommu,
            DeviceHandle::NoIommu { .. } => IommuMode::NoIommu,
        }
    }

    pub fn config_read<const N: usize>(&self, offset: u64) -> Result<[u8; N], VfioError> {
        let mut bytes = [0; N];
        let file = self.file()?;
        file.read_exact_at(&mut bytes, self.config + offset)
            .map_err(|source| VfioError::Ioctl { what: "read configuration space", source })?;
        Ok(bytes)
    }

    pub fn config_write(&self, offset: u64, bytes: &[u8]) -> Result<(), VfioError> {
        let file = self.file()?;
        file.write_all_at(bytes, self.config + offset)
            .map_err(|source| VfioError::Ioctl { what: "write configuration space", source })
    }

    pub fn ids(&self) -> Result<(u16, u16), VfioError> {
        let [a, b, c, d] = self.config_read::<4>(0)?;
        Ok((u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])))
    }

    /// Enables the device's memory space, and enables or disables (`master`) its DMA and interrupts.
    pub fn enable(&mut self, master: bool) -> Result<(), VfioError> {
        let old = u16::from_le_bytes(self.config_read(COMMAND)?);
        let both = MEMORY_SPACE | BUS_MASTER;
        let new = if master { old | both } else { (old | MEMORY_SPACE) & !BUS_MASTER };
        self.config_write(COMMAND, &new.to_le_bytes())?;
        // Reading back ensures that the write has arrived.
        let now = u16::from_le_bytes(self.config_read(COMMAND)?);
        if now & both != new & both {
            let source =
                io::Error::other(format!("the command register reads {now:#06x} after {new:#06x} was written"));
            return Err(VfioError::Ioctl { what: "change the command register", source });
        }
        Ok(())
    }

    /// Resets the function; its registers and DMA stay enabled. Errors: [`VfioError::Ioctl`], also for a device without
    /// a reset.
    pub fn reset(&mut self) -> Result<(), VfioError> {
        // SAFETY: the request takes no argument.
        if unsafe { ioctl(&self.opened.fd(), request::VFIO_DEVICE_RESET()) } < 0 {
            return Err(VfioError::Ioctl { what: "reset the device", source: io::Error::last_os_error() });
        }
        self.enable(true)
    }

    /// Maps a BAR of at least `needed` bytes. Errors: [`VfioError::Region`], [`VfioError::Ioctl`].
    pub fn bar(&mut self, index: u32, needed: u64) -> Result<&PciBar, VfioError> {
        if !self.bars.contains_key(&index) {
            let info = region(&self.opened, index)?;
            if info.size < needed || info.flags & VFIO_REGION_INFO_FLAG_MMAP == 0 {
                return Err(VfioError::Region { bdf: self.bdf, region: index, size: info.size, needed });
            }
            let len = usize::try_from(info.size).unwrap_or(usize::MAX);
            let map = MmapOptions::new().offset(info.offset).len(len).map_raw(&self.opened.fd());
            let map = map.map_err(|source| VfioError::Ioctl { what: "map the registers", source })?;
            self.bars.insert(index, PciBar::of(map));
        }
        self.bars.get(&index).ok_or(VfioError::Region { bdf: self.bdf, region: index, size: 0, needed })
    }

    /// A BAR that [`PciDevice::bar`] has mapped.
    #[must_use]
    pub fn mapped_bar(&self, index: u32) -> Option<&PciBar> {
        self.bars.get(&index)
    }

    /// Allocates zeroed memory and returns its device address; the last byte is at most at `highest`. Errors:
    /// [`VfioError::Memory`], [`VfioError::Addresses`], [`VfioError::Open`].
    pub fn allocate(&mut self, bytes: usize, highest: u64) -> Result<u64, VfioError> {
        let (pages, remedy) = match self.access() {
            IommuMode::Iommu => (PageSize::Small, "is there enough memory?"),
            IommuMode::NoIommu => (PageSize::Huge, "reserve huge pages: `sysctl vm.nr_hugepages=64`"),
        };
        let memory = || DmaMemory::new(bytes, pages).map_err(|source| VfioError::Memory { bytes, remedy, source });
        let (address, memory) = match &self.opened {
            DeviceHandle::Iommu { container, .. } => {
                // Reserves the address first: memory without a device address would be useless.
                let size = bytes.max(1).checked_next_multiple_of(pages.bytes()).ok_or(VfioError::Addresses(bytes))?;
                let address = self.ranges.take(size as u64, highest).ok_or(VfioError::Addresses(bytes))?;
                let mapped = memory().and_then(|memory| {
                    // SAFETY: the mapping consists of whole pages, is accessed atomically only, and outlives the
                    // device's access to it: `release` and `drop` remove the access first.
                    let mapped = unsafe { container.vfio_dma_map(address, memory.len(), memory.start()) };
                    mapped.map(|()| memory).map_err(|error| VfioError::Open {
                        step: format!("map {size} bytes for the card"),
                        remedy: "raise the limit of locked memory: `ulimit -l unlimited`".into(),
                        source: error.into(),
                    })
                });
                if mapped.is_err() {
                    self.ranges.give(address);
                }
                (address, mapped?)
            }
            DeviceHandle::NoIommu { .. } => {
                let memory = memory()?;
                let address = iommu::physical(&memory)
                    .map_err(|source| VfioError::Memory { bytes, remedy: "buffers without an IOMMU lie within neighbouring huge pages, and physical addresses need CAP_SYS_ADMIN", source })?;
                if address.checked_add(memory.len() as u64 - 1).is_none_or(|last| last > highest) {
                    return Err(VfioError::Addresses(bytes));
                }
                (address, memory)
            }
        };
        self.mapped.insert(address, memory);
        Ok(address)
    }

    /// The memory at a device address. Errors: [`VfioError::Unmapped`].
    pub fn memory(&self, address: u64) -> Result<&DmaMemory, VfioError> {
        self.mapped.get(&address).ok_or(VfioError::Unmapped(address))
    }

    /// Removes the device's access to memory. Without an IOMMU, the device must be idle.
    ///
    /// Returns the memory, so that a test can check that the device does not reach it any more. Errors:
    /// [`VfioError::Unmapped`], [`VfioError::Open`].
    pub fn release(&mut self, address: u64) -> Result<DmaMemory, VfioError> {
        let size = self.memory(address)?.len();
        if let DeviceHandle::Iommu { container, .. } = &self.opened {
            container.vfio_dma_unmap(address, size).map_err(|error| VfioError::Open {
                step: format!("take {size} bytes away from the card"),
                remedy: "they stay mapped until the process ends".into(),
                source: error.into(),
            })?;
            self.ranges.give(address);
        }
        self.mapped.remove(&address).ok_or(VfioError::Unmapped(address))
    }

    /// Connects the first interrupt to an event. The event is only a hint: no result may depend on it.
    pub fn interrupt(&mut self, kind: InterruptKind) -> Result<EventFd, VfioError> {
        let failed = |source| VfioError::Ioctl { what: "set up interrupts", source };
        let event = EventFd::new(rustix::event::EventfdFlags::NONBLOCK.bits().cast_signed()).map_err(failed)?;
        let index = match kind {
            InterruptKind::Msi => VFIO_PCI_MSI_IRQ_INDEX,
            InterruptKind::Msix => VFIO_PCI_MSIX_IRQ_INDEX,
        };
        let fd = std::os::fd::AsRawFd::as_raw_fd(&event);
        // struct vfio_irq_set: argsz, flags, index, start, count, then one descriptor.
        let flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
        let set: [u32; 6] = [24, flags, index, 0, 1, fd.cast_unsigned()];
        // SAFETY: the request reads `argsz` bytes, and `set` has that many.
        if unsafe { ioctl_with_ptr(&self.opened.fd(), request::VFIO_DEVICE_SET_IRQS(), set.as_ptr()) } < 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        Ok(event)
    }

    fn file(&self) -> Result<fs::File, VfioError> {
        let fd = self.opened.fd().as_fd().try_clone_to_owned();
        Ok(fd.map_err(|source| VfioError::Ioctl { what: "use the device's descriptor", source })?.into())
    }
}

impl Drop for PciDevice {
    fn drop(&mut self) {
        // Without bus mastering, the device cannot access memory. If disabling fails, the device may still write.
        let stopped = self.enable(false).is_ok();
        // A register block that stays mapped would keep the device open.
        self.bars.clear();
        let addresses: Vec<u64> = self.mapped.keys().copied().collect();
        for address in addresses {
            // An IOMMU blocks access to unmapped memory. Without an IOMMU, memory is freed only if the device was
            // stopped.
            let out = (stopped || self.access() == IommuMode::Iommu) && self.release(address).is_ok();
            if !out && let Some(memory) = self.mapped.remove(&address) {
                // The device may use the memory until the process ends; the kernel then closes and resets the device.
                std::mem::forget(memory);
            }
        }
    }
}

fn region(opened: &DeviceHandle, index: u32) -> Result<vfio_region_info, VfioError> {
    let mut info = vfio_region_info { argsz: size_of::<vfio_region_info>() as u32, index, ..Default::default() };
    // SAFETY: the request fills the structure, which contains its size.
    if unsafe { ioctl_with_mut_ref(&opened.fd(), request::VFIO_DEVICE_GET_REGION_INFO(), &mut info) } < 0 {
        return Err(VfioError::Ioctl { what: "say what regions the device has", source: io::Error::last_os_error() });
    }
    Ok(info)
}
