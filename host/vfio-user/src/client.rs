//! The driver's side: sends one request at a time, and checks that the answer fits the request.

use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::channel::{ChannelError, VfioUserChannel};
use crate::message::{
    Access, DATA_MAX, DeviceInfo, DmaMap, DmaUnmap, Header, IrqInfo, MAJOR, RegionInfo, SetIrqs, Version,
    VfioUserCommand, device_flags, dma_flags, header_flags, irq_flags, region,
};
use crate::region::VfioUserRegion;

#[derive(Debug, thiserror::Error)]
pub enum DeviceClientError {
    #[error("cannot connect to `{path}`: {source}; is `portcullis card serve` running there?")]
    Connect { path: String, source: std::io::Error },
    #[error("no version was agreed on: {0}; another driver may hold the card, or no card listens there")]
    Handshake(ChannelError),
    #[error("the device refused {}: {}", command.name(), std::io::Error::from_raw_os_error(*errno))]
    Refused { command: VfioUserCommand, errno: i32 },
    #[error("{}: {source}", command.name())]
    Channel { command: VfioUserCommand, source: ChannelError },
    #[error("the connection to the device was lost before")]
    Lost,
    #[error("the device is not a card: {0}")]
    Device(&'static str),
}

/// A connection to a device.
#[derive(Debug)]
pub struct DeviceClient {
    /// `None` after the peer has violated the protocol.
    channel: Option<VfioUserChannel>,
    next_id: u16,
}

impl DeviceClient {
    /// Connects and negotiates the version. `deadline` is the time limit for every request. Errors:
    /// [`DeviceClientError::Connect`], [`DeviceClientError::Handshake`], [`DeviceClientError::Device`].
    pub fn connect(path: &Path, deadline: Duration) -> Result<Self, DeviceClientError> {
        let failed = |source| DeviceClientError::Connect { path: path.display().to_string(), source };
        let socket = UnixStream::connect(path).map_err(failed)?;
        Self::from_stream(socket, deadline)
    }

    /// As [`DeviceClient::connect`], over a connected socket. Errors: [`DeviceClientError::Handshake`],
    /// [`DeviceClientError::Device`].
    pub fn from_stream(socket: UnixStream, deadline: Duration) -> Result<Self, DeviceClientError> {
        let channel = VfioUserChannel::new(socket, deadline).map_err(DeviceClientError::Handshake)?;
        let mut client = Self { channel: Some(channel), next_id: 0 };
        let capabilities = format!("{{\"capabilities\":{{\"max_msg_fds\":1,\"max_data_xfer_size\":{DATA_MAX}}}}}\0");
        let ours = Version { major: MAJOR.into(), minor: 0.into() };
        let reply = client
            .request(VfioUserCommand::Version, &[ours.as_bytes(), capabilities.as_bytes()], &[])
            .map_err(|error| match error {
                DeviceClientError::Channel { source, .. } => DeviceClientError::Handshake(source),
                other => other,
            })?;
        let (theirs, _) = Version::read_from_prefix(&reply)
            .map_err(|_| DeviceClientError::Handshake(ChannelError::Protocol("a reply without a version")))?;
        if theirs.major.get() != MAJOR {
            return Err(DeviceClientError::Device("it speaks another major version of vfio-user"));
        }
        let info = DeviceInfo { argsz: (DeviceInfo::BYTES as u32).into(), ..DeviceInfo::default() };
        let info: DeviceInfo = client.structure(VfioUserCommand::GetInfo, &info)?;
        if info.flags.get() & device_flags::PCI == 0 || info.regions.get() <= region::CONFIG {
            return Err(DeviceClientError::Device("it is not a PCI device"));
        }
        if info.flags.get() & device_flags::RESET == 0 {
            return Err(DeviceClientError::Device("it cannot be reset"));
        }
        Ok(client)
    }

    /// The description of region `index`.
    pub fn region(&mut self, index: u32) -> Result<VfioUserRegion, DeviceClientError> {
        let ask = RegionInfo { argsz: (RegionInfo::BYTES as u32).into(), index: index.into(), ..RegionInfo::default() };
        let found: RegionInfo = self.structure(VfioUserCommand::GetRegionInfo, &ask)?;
        self.require(VfioUserCommand::GetRegionInfo, found.index == ask.index, "a reply about another region")?;
        Ok(VfioUserRegion { size: found.size.get(), flags: found.flags.get() })
    }

    /// Number of vectors of interrupt index `index`.
    pub fn irqs(&mut self, index: u32) -> Result<u32, DeviceClientError> {
        let ask = IrqInfo { argsz: (IrqInfo::BYTES as u32).into(), index: index.into(), ..IrqInfo::default() };
        let found: IrqInfo = self.structure(VfioUserCommand::GetIrqInfo, &ask)?;
        self.require(VfioUserCommand::GetIrqInfo, found.index == ask.index, "a reply about another interrupt index")?;
        Ok(found.count.get())
    }

    /// Fills `into` with bytes of a region.
    pub fn read(&mut self, region: u32, offset: u64, into: &mut [u8]) -> Result<(), DeviceClientError> {
        let ask = Access { offset: offset.into(), region: region.into(), count: (into.len() as u32).into() };
        let reply = self.request(VfioUserCommand::RegionRead, &[ask.as_bytes()], &[])?;
        let fits = match Access::read_from_prefix(&reply) {
            Ok((access, data)) if access == ask && data.len() == into.len() => {
                into.copy_from_slice(data);
                true
            }
            _ => false,
        };
        self.require(VfioUserCommand::RegionRead, fits, "a reply that does not fit the read")
    }

    /// Writes `from` to a region.
    pub fn write(&mut self, region: u32, offset: u64, from: &[u8]) -> Result<(), DeviceClientError> {
        let ask = Access { offset: offset.into(), region: region.into(), count: (from.len() as u32).into() };
        let reply = self.request(VfioUserCommand::RegionWrite, &[ask.as_bytes(), from], &[])?;
        self.require(VfioUserCommand::RegionWrite, reply == ask.as_bytes(), "a reply that does not fit the write")
    }

    /// Gives the device access to the first `size` bytes of `file`, at address `address`.
    pub fn map(&mut self, address: u64, size: u64, file: BorrowedFd<'_>) -> Result<(), DeviceClientError> {
        let ask = DmaMap {
            argsz: (DmaMap::BYTES as u32).into(),
            flags: (dma_flags::READ | dma_flags::WRITE).into(),
            offset: 0.into(),
            address: address.into(),
            size: size.into(),
        };
        let reply = self.request(VfioUserCommand::DmaMap, &[ask.as_bytes()], &[file])?;
        self.require(VfioUserCommand::DmaMap, reply.is_empty(), "a reply that is too long")
    }

    /// Removes the device's access to memory. When this returns, the device has no more access.
    pub fn unmap(&mut self, address: u64, size: u64) -> Result<(), DeviceClientError> {
        let ask = DmaUnmap {
            argsz: (DmaUnmap::BYTES as u32).into(),
            flags: 0.into(),
            address: address.into(),
            size: size.into(),
        };
        let done: DmaUnmap = self.structure(VfioUserCommand::DmaUnmap, &ask)?;
        self.require(
            VfioUserCommand::DmaUnmap,
            done.address == ask.address && done.size == ask.size,
            "another range was unmapped",
        )
    }

    /// Connects vector `vector` of interrupt index `index` to `event`.
    pub fn set_irq(&mut self, index: u32, vector: u32, event: BorrowedFd<'_>) -> Result<(), DeviceClientError> {
        let ask = SetIrqs {
            argsz: (SetIrqs::BYTES as u32).into(),
            flags: (irq_flags::DATA_EVENTFD | irq_flags::TRIGGER).into(),
            index: index.into(),
            start: vector.into(),
            count: 1.into(),
        };
        let reply = self.request(VfioUserCommand::SetIrqs, &[ask.as_bytes()], &[event])?;
        self.require(VfioUserCommand::SetIrqs, reply.is_empty(), "a reply that is too long")
    }

    /// Resets the device.
    pub fn reset(&mut self) -> Result<(), DeviceClientError> {
        let reply = self.request(VfioUserCommand::Reset, &[], &[])?;
        self.require(VfioUserCommand::Reset, reply.is_empty(), "a reply that is too long")
    }

    /// Sends a request whose reply is the same structure, filled in by the device.
    fn structure<T>(&mut self, command: VfioUserCommand, ask: &T) -> Result<T, DeviceClientError>
    where
        T: FromBytes + IntoBytes + KnownLayout + Immutable,
    {
        let reply = self.request(command, &[ask.as_bytes()], &[])?;
        match T::read_from_bytes(&reply) {
            Ok(found) => Ok(found),
            Err(_) => Err(self.close(command, ChannelError::Protocol("a reply of another length"))),
        }
    }

    fn request(
        &mut self,
        command: VfioUserCommand,
        payload: &[&[u8]],
        files: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, DeviceClientError> {
        let channel = self.channel.as_mut().ok_or(DeviceClientError::Lost)?;
        self.next_id = self.next_id.wrapping_add(1);
        let id = self.next_id.into();
        let header = Header { id, command: (command as u16).into(), ..Header::default() };
        let answered = channel.send(header, payload, files).and_then(|()| channel.receive());
        let reply = answered.map_err(|source| self.close(command, source))?;
        let flags = reply.header.flags.get();
        let fits = reply.header.id == id && reply.header.command == header.command;
        self.require(command, fits, "a reply to another request")?;
        self.require(command, flags & header_flags::TYPE == header_flags::REPLY, "a command where a reply is due")?;
        self.require(command, flags & !(header_flags::TYPE | header_flags::ERROR) == 0, "a reply with unknown flags")?;
        self.require(command, reply.files.is_empty(), "a reply with files")?;
        if flags & header_flags::ERROR != 0 {
            self.require(command, reply.payload.is_empty(), "a refusal with data")?;
            // Error number zero could be mistaken for success, so 5 (EIO) replaces it.
            let errno = i32::try_from(reply.header.error.get()).ok().filter(|errno| *errno != 0).unwrap_or(5);
            return Err(DeviceClientError::Refused { command, errno });
        }
        Ok(reply.payload)
    }

    fn require(&mut self, command: VfioUserCommand, holds: bool, what: &'static str) -> Result<(), DeviceClientError> {
        if holds { Ok(()) } else { Err(self.close(command, ChannelError::Protocol(what))) }
    }

    fn close(&mut self, command: VfioUserCommand, source: ChannelError) -> DeviceClientError {
        self.channel = None;
        DeviceClientError::Channel { command, source }
    }
}
