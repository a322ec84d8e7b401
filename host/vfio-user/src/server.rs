//! The device's side: each request gets one answer.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use rustix::io::Errno;

use crate::channel::{ChannelError, VfioUserChannel, VfioUserMessage};
use crate::message::{
    self, Access, DATA_MAX, DeviceInfo, Header, IrqInfo, MAJOR, SetIrqs, Version, VfioUserCommand, device_flags,
    dma_flags, header_flags, irq, irq_flags, region,
};
use crate::region::VfioUserRegion;

/// Memory that a device may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DmaRange {
    pub read: bool,
    pub write: bool,
    pub offset: u64,
    /// First device address.
    pub address: u64,
    pub size: u64,
}

/// A PCI device. For a refused request the driver gets an error number, and the connection continues.
pub trait VfioUserDevice {
    fn region(&self, index: u32) -> VfioUserRegion;
    fn irqs(&self, index: u32) -> u32;
    /// Reads bytes inside the region.
    fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno>;
    /// Writes bytes inside the region.
    fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), Errno>;
    /// Maps memory. Without a file the call succeeds, but the device cannot access the memory.
    fn map(&mut self, map: DmaRange, file: Option<OwnedFd>) -> Result<(), Errno>;
    /// Removes access to all memory between two addresses, which need not be those of a mapping. When this returns, the
    /// device has no more access.
    fn unmap(&mut self, from: u128, to: u128) -> Result<(), Errno>;
    /// Connects existing vectors to event files; `None` disconnects.
    fn connect_irqs(&mut self, index: u32, start: u32, files: Vec<Option<OwnedFd>>) -> Result<(), Errno>;
    /// Triggers existing vectors.
    fn fire_irqs(&mut self, index: u32, start: u32, count: u32) -> Result<(), Errno>;
    /// Resets the device; memory stays mapped.
    fn reset(&mut self) -> Result<(), Errno>;
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceServeError {
    #[error("the driver left")]
    Left,
    #[error(transparent)]
    Channel(ChannelError),
}

impl From<ChannelError> for DeviceServeError {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Closed => Self::Left,
            other => Self::Channel(other),
        }
    }
}

fn broken(what: &'static str) -> DeviceServeError {
    DeviceServeError::Channel(ChannelError::Protocol(what))
}

/// The connection to one driver.
#[derive(Debug)]
pub struct DriverConnection {
    channel: VfioUserChannel,
    agreed: bool,
}

impl DriverConnection {
    /// A connection before the negotiation of the version.
    #[must_use]
    pub const fn new(channel: VfioUserChannel) -> Self {
        Self { channel, agreed: false }
    }

    /// Receives one request and answers it. The whole message must arrive within the channel's deadline, so call this
    /// function when the socket is readable. Errors: [`DeviceServeError`]: the connection has ended.
    pub fn serve<D: VfioUserDevice>(&mut self, device: &mut D) -> Result<(), DeviceServeError> {
        let message = self.channel.receive()?;
        let header = message.header;
        let flags = header.flags.get();
        if flags & header_flags::TYPE != 0 || flags & !(header_flags::TYPE | header_flags::NO_REPLY) != 0 {
            return Err(broken("not a command"));
        }
        let wants_reply = flags & header_flags::NO_REPLY == 0;
        let command = VfioUserCommand::from_number(header.command.get());
        if self.agreed == (command == Some(VfioUserCommand::Version)) {
            return Err(broken("the version is agreed on once, and first"));
        }
        let answer = match command {
            Some(VfioUserCommand::Version) => {
                let answer = version(&message.payload)?;
                self.agreed = true;
                Ok(answer)
            }
            Some(command) => answer(command, message, device),
            None => Err(Errno::NOTSUP),
        };
        if !wants_reply {
            return Ok(());
        }
        let (flags, error, payload) = match answer {
            Ok(payload) => (header_flags::REPLY, 0, payload),
            Err(errno) => (header_flags::REPLY | header_flags::ERROR, errno.raw_os_error().unsigned_abs(), Vec::new()),
        };
        let header = Header { flags: flags.into(), error: error.into(), ..header };
        Ok(self.channel.send(header, &[&payload], &[])?)
    }
}

impl AsFd for DriverConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// The capabilities that a driver offers. No capability is required, but the text must be JSON.
#[derive(serde::Deserialize)]
struct Offer {
    #[serde(default, rename = "capabilities")]
    _capabilities: serde_json::Map<String, serde_json::Value>,
}

fn version(payload: &[u8]) -> Result<Vec<u8>, DeviceServeError> {
    let (theirs, rest) = Version::read_from_prefix(payload).map_err(|_| broken("a VERSION without a version"))?;
    if theirs.major.get() != MAJOR {
        return Err(broken("another major version"));
    }
    let text = rest.strip_suffix(b"\0").unwrap_or(rest);
    if !text.is_empty() && serde_json::from_slice::<Offer>(text).is_err() {
        return Err(broken("capabilities that are not JSON"));
    }
    let ours = Version { major: MAJOR.into(), minor: 0.into() };
    let capabilities =
        format!("{{\"capabilities\":{{\"max_msg_fds\":1,\"max_data_xfer_size\":{DATA_MAX},\"pgsizes\":4096}}}}\0");
    Ok([ours.as_bytes(), capabilities.as_bytes()].concat())
}

/// The structure at the start of the payload, and the bytes after it.
fn open<T: FromBytes + KnownLayout + Immutable>(payload: &[u8]) -> Result<(T, &[u8]), Errno> {
    T::read_from_prefix(payload).map_err(|_| Errno::INVAL)
}

fn answer<D: VfioUserDevice>(
    command: VfioUserCommand,
    message: VfioUserMessage,
    device: &mut D,
) -> Result<Vec<u8>, Errno> {
    let VfioUserMessage { payload, files, .. } = message;
    let takes_files = matches!(command, VfioUserCommand::DmaMap | VfioUserCommand::SetIrqs);
    if !takes_files && !files.is_empty() {
        return Err(Errno::INVAL);
    }
    match command {
        VfioUserCommand::Version => Err(Errno::INVAL),
        VfioUserCommand::GetInfo => {
            let (_, _): (DeviceInfo, _) = open(&payload)?;
            let info = DeviceInfo {
                argsz: (DeviceInfo::BYTES as u32).into(),
                flags: (device_flags::RESET | device_flags::PCI).into(),
                regions: region::COUNT.into(),
                irqs: irq::COUNT.into(),
            };
            Ok(info.as_bytes().to_vec())
        }
        VfioUserCommand::GetRegionInfo => {
            let (ask, _): (message::RegionInfo, _) = open(&payload)?;
            if ask.index.get() >= region::COUNT {
                return Err(Errno::INVAL);
            }
            let found = device.region(ask.index.get());
            let info = message::RegionInfo {
                argsz: (message::RegionInfo::BYTES as u32).into(),
                flags: found.flags.into(),
                index: ask.index,
                size: found.size.into(),
                ..message::RegionInfo::default()
            };
            Ok(info.as_bytes().to_vec())
        }
        VfioUserCommand::GetIrqInfo => {
            let (ask, _): (IrqInfo, _) = open(&payload)?;
            if ask.index.get() >= irq::COUNT {
                return Err(Errno::INVAL);
            }
            let info = IrqInfo {
                argsz: (IrqInfo::BYTES as u32).into(),
                flags: (irq_flags::EVENTFD | irq_flags::NORESIZE).into(),
                index: ask.index,
                count: device.irqs(ask.index.get()).into(),
            };
            Ok(info.as_bytes().to_vec())
        }
        VfioUserCommand::RegionRead => {
            let (ask, rest): (Access, _) = open(&payload)?;
            let count = inside(device, &ask)?;
            if !rest.is_empty() {
                return Err(Errno::INVAL);
            }
            let mut reply = ask.as_bytes().to_vec();
            reply.resize(Access::BYTES + count, 0);
            device.read(ask.region.get(), ask.offset.get(), reply.get_mut(Access::BYTES..).unwrap_or_default())?;
            Ok(reply)
        }
        VfioUserCommand::RegionWrite => {
            let (ask, data): (Access, _) = open(&payload)?;
            if inside(device, &ask)? != data.len() {
                return Err(Errno::INVAL);
            }
            device.write(ask.region.get(), ask.offset.get(), data)?;
            Ok(ask.as_bytes().to_vec())
        }
        VfioUserCommand::DmaMap => map(&payload, files, device),
        VfioUserCommand::DmaUnmap => {
            let (ask, _): (message::DmaUnmap, _) = open(&payload)?;
            let from = u128::from(ask.address.get());
            match ask.flags.get() {
                0 => device.unmap(from, from + u128::from(ask.size.get()))?,
                dma_flags::UNMAP_ALL => device.unmap(0, u128::MAX)?,
                _ => return Err(Errno::NOTSUP),
            }
            Ok(ask.as_bytes().to_vec())
        }
        VfioUserCommand::SetIrqs => set_irqs(&payload, files, device).map(|()| Vec::new()),
        VfioUserCommand::Reset => device.reset().map(|()| Vec::new()),
    }
}

/// Number of bytes of an access. Errors: the access is not inside its region.
fn inside<D: VfioUserDevice>(device: &D, access: &Access) -> Result<usize, Errno> {
    let (index, count) = (access.region.get(), access.count.get());
    let size = if index < region::COUNT { device.region(index).size } else { 0 };
    let end = access.offset.get().checked_add(count.into()).ok_or(Errno::INVAL)?;
    if count == 0 || count as usize > DATA_MAX || end > size { Err(Errno::INVAL) } else { Ok(count as usize) }
}

fn map<D: VfioUserDevice>(payload: &[u8], files: Vec<OwnedFd>, device: &mut D) -> Result<Vec<u8>, Errno> {
    let (ask, _): (message::DmaMap, _) = open(payload)?;
    let flags = ask.flags.get();
    if files.len() > 1 || flags & !(dma_flags::READ | dma_flags::WRITE) != 0 {
        return Err(Errno::INVAL);
    }
    let map = DmaRange {
        read: flags & dma_flags::READ != 0,
        write: flags & dma_flags::WRITE != 0,
        offset: ask.offset.get(),
        address: ask.address.get(),
        size: ask.size.get(),
    };
    device.map(map, files.into_iter().next()).map(|()| Vec::new())
}

fn set_irqs<D: VfioUserDevice>(payload: &[u8], files: Vec<OwnedFd>, device: &mut D) -> Result<(), Errno> {
    let (ask, data): (SetIrqs, _) = open(payload)?;
    let (index, start, count) = (ask.index.get(), ask.start.get(), ask.count.get());
    let vectors = if index < irq::COUNT { device.irqs(index) } else { 0 };
    let fits = start.checked_add(count).is_some_and(|end| end <= vectors);
    if !fits || !data.is_empty() {
        return Err(Errno::INVAL);
    }
    const CONNECT: u32 = irq_flags::DATA_EVENTFD | irq_flags::TRIGGER;
    const FIRE: u32 = irq_flags::DATA_NONE | irq_flags::TRIGGER;
    match (ask.flags.get(), files.len()) {
        // A request without vectors disconnects all vectors of the index.
        (FIRE, 0) if count == 0 && start == 0 => device.connect_irqs(index, 0, (0..vectors).map(|_| None).collect()),
        (FIRE, 0) if count > 0 => device.fire_irqs(index, start, count),
        (CONNECT, 0) if count > 0 => device.connect_irqs(index, start, (0..count).map(|_| None).collect()),
        (CONNECT, n) if n == count as usize && n > 0 => {
            device.connect_irqs(index, start, files.into_iter().map(Some).collect())
        }
        _ => Err(Errno::INVAL),
    }
}
