//! The layouts of messages. All fields are little-endian and without padding.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Largest number of data bytes of a region access; both sides declare it in `VERSION`.
pub const DATA_MAX: usize = 1 << 16;
/// Largest number of bytes of a message after its header.
pub const PAYLOAD_MAX: usize = DATA_MAX + 64;
/// Largest number of files with a message. The version message announces a limit of one file; more are accepted.
pub const FILES_MAX: usize = 16;
/// Major version of the protocol; the minor version is 0.
pub const MAJOR: u16 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum VfioUserCommand {
    /// Version and capabilities; the first message.
    Version = 1,
    DmaMap = 2,
    /// Removes access to memory.
    DmaUnmap = 3,
    /// Kind of device, numbers of regions and interrupt indexes.
    GetInfo = 4,
    GetRegionInfo = 5,
    /// Kind of an interrupt index, and its number of vectors.
    GetIrqInfo = 7,
    SetIrqs = 8,
    RegionRead = 9,
    RegionWrite = 10,
    Reset = 13,
}

impl VfioUserCommand {
    const ALL: [Self; 10] = [
        Self::Version,
        Self::DmaMap,
        Self::DmaUnmap,
        Self::GetInfo,
        Self::GetRegionInfo,
        Self::GetIrqInfo,
        Self::SetIrqs,
        Self::RegionRead,
        Self::RegionWrite,
        Self::Reset,
    ];

    /// The command with the number `number`; `None` if it is not implemented.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|command| *command as u16 == number)
    }

    /// The command's name in the specification of vfio-user.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Version => "VERSION",
            Self::DmaMap => "DMA_MAP",
            Self::DmaUnmap => "DMA_UNMAP",
            Self::GetInfo => "DEVICE_GET_INFO",
            Self::GetRegionInfo => "DEVICE_GET_REGION_INFO",
            Self::GetIrqInfo => "DEVICE_GET_IRQ_INFO",
            Self::SetIrqs => "DEVICE_SET_IRQS",
            Self::RegionRead => "REGION_READ",
            Self::RegionWrite => "REGION_WRITE",
            Self::Reset => "DEVICE_RESET",
        }
    }
}

/// Bits of [`Header::flags`].
pub mod header_flags {
    /// Mask of the message type: the low four bits.
    pub const TYPE: u32 = 0xf;
    /// Type of a reply; a command has type 0.
    pub const REPLY: u32 = 1;
    /// The sender does not want a reply.
    pub const NO_REPLY: u32 = 1 << 4;
    /// The command was refused; `error` gives the reason.
    pub const ERROR: u32 = 1 << 5;
}

/// Bits of [`RegionInfo::flags`].
pub mod region_flags {
    pub const READ: u32 = 1;
    pub const WRITE: u32 = 1 << 1;
}

/// Bits of [`DeviceInfo::flags`].
pub mod device_flags {
    /// The device supports `DEVICE_RESET`.
    pub const RESET: u32 = 1;
    pub const PCI: u32 = 1 << 1;
}

/// Bits of [`DmaMap::flags`].
pub mod dma_flags {
    pub const READ: u32 = 1;
    pub const WRITE: u32 = 1 << 1;
    /// In `DMA_UNMAP`: the request applies to all memory.
    pub const UNMAP_ALL: u32 = 1 << 1;
}

/// Bits of [`IrqInfo::flags`] and [`SetIrqs::flags`].
pub mod irq_flags {
    pub const EVENTFD: u32 = 1;
    /// In `DEVICE_GET_IRQ_INFO`: all vectors must be set at once.
    pub const NORESIZE: u32 = 1 << 3;
    /// The request has no data and applies to all the vectors that it names.
    pub const DATA_NONE: u32 = 1;
    /// The data is one event file per vector.
    pub const DATA_EVENTFD: u32 = 1 << 2;
    pub const TRIGGER: u32 = 1 << 5;
}

/// Regions of a PCI device.
pub mod region {
    /// Base address register 0; registers 1 to 5 follow.
    pub const BAR0: u32 = 0;
    /// Base address register 2.
    pub const BAR2: u32 = 2;
    /// Base address register 4.
    pub const BAR4: u32 = 4;
    /// Configuration space.
    pub const CONFIG: u32 = 7;
    pub const COUNT: u32 = 9;
}

/// Interrupt indexes of a PCI device.
pub mod irq {
    pub const MSIX: u32 = 2;
    pub const ERR: u32 = 3;
    /// The system requests that the driver returns the device.
    pub const REQ: u32 = 4;
    pub const COUNT: u32 = 5;
}

macro_rules! layout {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
            #[repr(C)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

            impl $name {
                pub const BYTES: usize = size_of::<Self>();
            }
        )*
    };
}

layout! {
    /// The header of every message.
    Header {
        /// A number that the sender of a command chooses and the reply repeats.
        id: U16,
        command: U16,
        /// Number of bytes of the message, including the header.
        size: U32,
        /// [`header_flags`].
        flags: U32,
        /// An error number of the host system, in a reply with [`header_flags::ERROR`].
        error: U32,
    }
    /// `VERSION`; a zero-terminated JSON text may follow.
    Version {
        major: U16,
        minor: U16,
    }
    /// `DMA_MAP`; a file may come with it.
    DmaMap {
        argsz: U32,
        /// [`dma_flags`].
        flags: U32,
        offset: U64,
        /// First device address.
        address: U64,
        size: U64,
    }
    /// `DMA_UNMAP`, and its reply.
    DmaUnmap {
        argsz: U32,
        /// [`dma_flags`].
        flags: U32,
        /// First device address.
        address: U64,
        size: U64,
    }
    /// `DEVICE_GET_INFO`, and its reply.
    DeviceInfo {
        argsz: U32,
        /// [`device_flags`].
        flags: U32,
        regions: U32,
        irqs: U32,
    }
    /// `DEVICE_GET_REGION_INFO`, and its reply.
    RegionInfo {
        argsz: U32,
        /// [`region_flags`].
        flags: U32,
        index: U32,
        /// Offset of capabilities; 0, because there are none.
        capabilities: U32,
        size: U64,
        /// Offset for mapping; 0, because regions cannot be mapped.
        offset: U64,
    }
    /// `DEVICE_GET_IRQ_INFO`, and its reply.
    IrqInfo {
        argsz: U32,
        /// [`irq_flags`].
        flags: U32,
        index: U32,
        count: U32,
    }
    /// `DEVICE_SET_IRQS`; event files come with it.
    SetIrqs {
        argsz: U32,
        /// [`irq_flags`].
        flags: U32,
        index: U32,
        /// First vector.
        start: U32,
        count: U32,
    }
    /// `REGION_READ` and `REGION_WRITE`, and their replies; data follows in a write request and in a read reply.
    Access {
        /// Offset of the first byte.
        offset: U64,
        region: U32,
        count: U32,
    }
}
