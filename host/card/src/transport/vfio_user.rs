//! A card that is a PCI device in another process, behind a UNIX socket (vfio-user).
//!
//! Register accesses are messages, and memory is shared through files. Completions are read from memory; an interrupt
//! only ends a wait early. Every request has a deadline. After the first failed request the device is not used any
//! more, and each later call fails at once.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use portcullis_vfio_user::message::{irq, region};
use portcullis_vfio_user::{DeviceClient, DeviceClientError};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

use super::memory::{DmaMemory, PageSize};
use crate::card::{CardTransport, DmaBuffer, WatchedByte};
use crate::error::CardError;
use crate::registers::GONE;

/// Time limit for the device's answer to a request.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// Length of one wait for a watched byte.
const QUANTUM: Duration = Duration::from_millis(20);
/// Length of one wait without a watch.
const SHORT: Duration = Duration::from_millis(1);
/// At least four seconds of waiting; the simulated card's own watchdog takes a tenth of a second.
const PATIENCE: u32 = 4_000;

/// Device address of the first buffer: above 4 GiB, where machines place devices, and within 39 bits.
const FIRST_ADDRESS: u64 = 0x10_0000_0000;
/// Unmapped bytes after each buffer, so that an access past its end does not reach the next buffer.
const GUARD: u64 = 0x1_0000;

const REGISTER_WINDOW: u32 = 1 << 20;
/// Command register of PCI configuration space, and the value that enables memory and bus mastering.
const COMMAND: u64 = 4;
const ENABLED: [u8; 2] = [0x06, 0];

impl From<DeviceClientError> for CardError {
    fn from(error: DeviceClientError) -> Self {
        Self::transport(error)
    }
}

/// A card behind a socket.
#[derive(Debug)]
pub struct VfioUserCard {
    client: DeviceClient,
    buffers: BTreeMap<u64, DmaMemory>,
    next_address: u64,
    event: OwnedFd,
    described: String,
}

impl VfioUserCard {
    /// Connects to the card that is served at `path`, resets it and makes it bus master. Errors:
    /// [`CardError::Transport`] without a server or for a violation of the protocol; [`CardError::Device`] for a device
    /// that is not a card.
    pub fn connect(path: &Path) -> Result<Self, CardError> {
        Self::connect_within(path, DEADLINE)
    }

    /// As [`VfioUserCard::connect`], with another deadline per request. Errors: as [`VfioUserCard::connect`].
    pub fn connect_within(path: &Path, deadline: Duration) -> Result<Self, CardError> {
        let mut client = DeviceClient::connect(path, deadline)?;
        if client.region(region::BAR0)?.size < REGISTER_WINDOW.into() {
            return Err(CardError::Device("its register window is too small"));
        }
        client.reset()?;
        client.write(region::CONFIG, COMMAND, &ENABLED)?;
        let mut command = [0; 2];
        client.read(region::CONFIG, COMMAND, &mut command)?;
        if command != ENABLED {
            return Err(CardError::Device("it does not become a bus master"));
        }
        let event = rustix::event::eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|_| CardError::Allocate(size_of::<u64>()))?;
        if client.irqs(irq::MSIX)? > 0 {
            client.set_irq(irq::MSIX, 0, event.as_fd())?;
        }
        let described = format!("PCI device behind the socket {}", path.display());
        Ok(Self { client, buffers: BTreeMap::new(), next_address: FIRST_ADDRESS, event, described })
    }

    fn buffer(&self, buffer: &DmaBuffer) -> Result<&DmaMemory, CardError> {
        self.buffers.get(&buffer.address()).ok_or(CardError::UnknownBuffer(buffer.address()))
    }

    fn register(address: u32) -> Result<u64, CardError> {
        let known = address.is_multiple_of(4) && address < REGISTER_WINDOW;
        if known { Ok(address.into()) } else { Err(CardError::Address(address)) }
    }

    fn read_raw(&mut self, offset: u64) -> Result<u32, DeviceClientError> {
        let mut bytes = [0; 4];
        self.client.read(region::BAR0, offset, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Waits for an interrupt, at most for `time`.
    fn doze(&self, time: Duration) {
        let time = Timespec::try_from(time).ok();
        // The result is ignored: the caller checks again.
        let _ = rustix::event::poll(&mut [PollFd::new(&self.event, PollFlags::IN)], time.as_ref());
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}

impl CardTransport for VfioUserCard {
    fn describe(&self) -> String {
        self.described.clone()
    }

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        let value = self.read_raw(Self::register(address)?)?;
        // Other registers may read as all ones; register 0 never does.
        if value == GONE && self.read_raw(0)? == GONE { Err(CardError::Gone(address)) } else { Ok(value) }
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        Ok(self.client.write(region::BAR0, Self::register(address)?, &value.to_le_bytes())?)
    }

    fn allocate(&mut self, bytes: usize) -> Result<DmaBuffer, CardError> {
        let memory = DmaMemory::new(bytes, PageSize::Small).map_err(|_| CardError::Allocate(bytes))?;
        let (address, size) = (self.next_address, memory.len() as u64);
        self.client.map(address, size, memory.file())?;
        self.next_address = address + size + GUARD;
        self.buffers.insert(address, memory);
        Ok(DmaBuffer::new(address, bytes))
    }

    fn release(&mut self, buffer: DmaBuffer) -> Result<(), CardError> {
        let size = self.buffer(&buffer)?.len() as u64;
        // The memory is kept until the device has confirmed the unmapping.
        self.client.unmap(buffer.address(), size)?;
        self.buffers.remove(&buffer.address());
        Ok(())
    }

    fn dma_read(&self, buffer: &DmaBuffer, offset: usize, into: &mut [u8]) -> Result<(), CardError> {
        self.buffer(buffer)?.read_buffer(buffer, offset, into)
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, from: &[u8]) -> Result<(), CardError> {
        self.buffer(buffer)?.write_buffer(buffer, offset, from)
    }

    fn wait(&mut self, watch: Option<&WatchedByte<'_>>) -> Result<(), CardError> {
        let Some(watch) = watch else {
            self.doze(SHORT);
            return Ok(());
        };
        let until = Instant::now() + QUANTUM;
        loop {
            let mut byte = [0];
            self.dma_read(watch.buffer, watch.offset, &mut byte)?;
            let left = until.saturating_duration_since(Instant::now());
            if byte == [watch.value] || left.is_zero() {
                return Ok(());
            }
            self.doze(left);
        }
    }

    fn quantum(&self) -> &'static str {
        "a millisecond or more"
    }

    fn patience(&self) -> u32 {
        PATIENCE
    }
}

impl Drop for VfioUserCard {
    fn drop(&mut self) {
        // Disables bus mastering first, so that no more writes happen even if a later step fails. A device that does
        // not answer delays the drop by one deadline; it keeps its own references to the files.
        let _ = self.client.write(region::CONFIG, COMMAND, &[0; 2]);
        let _ = self.client.reset();
        for (address, shared) in std::mem::take(&mut self.buffers) {
            let _ = self.client.unmap(address, shared.len() as u64);
        }
    }
}
