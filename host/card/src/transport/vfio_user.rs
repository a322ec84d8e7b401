//! A card that is a PCI device in another process, behind a UNIX socket (vfio-user).
//!
//! Registers are messages, memory is shared by files, and completions are seen in memory; the interrupt is a hint that
//! ends a wait early. Every request has a deadline, and after the first one that fails the device is given up: each
//! later call says so at once.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use portcullis_vfio_user::message::{irq, region};
use portcullis_vfio_user::{ClientError, DeviceClient};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

use super::memory::{DmaMemory, PageSize};
use crate::card::{Card, DmaBuffer, Watch};
use crate::error::CardError;
use crate::registers::GONE;

/// Time for the device to answer a request.
pub const DEADLINE: Duration = Duration::from_secs(5);
/// One wait for a watched byte.
const QUANTUM: Duration = Duration::from_millis(20);
/// One wait for anything else.
const SHORT: Duration = Duration::from_millis(1);
/// At least four seconds of waiting; the simulated card's own watchdog needs a tenth of one.
const PATIENCE: u32 = 4_000;

/// Device address of the first buffer: above the addresses that machines use below 4 GiB, and within 39 bits.
const FIRST_ADDRESS: u64 = 0x10_0000_0000;
/// Unmapped bytes after each buffer, so that an access past its end does not reach the next.
const GUARD: u64 = 0x1_0000;

const REGISTER_WINDOW: u32 = 1 << 20;
/// Command register of PCI configuration space: memory and bus master.
const COMMAND: u64 = 4;
const ENABLED: [u8; 2] = [0x06, 0];

impl From<ClientError> for CardError {
    fn from(error: ClientError) -> Self {
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
    /// The card that is served at `path`, after a reset, as a bus master. Errors: [`CardError::Transport`] when no one
    /// serves there, or the peer breaks the protocol; [`CardError::Device`] when it is not a card.
    pub fn connect(path: &Path) -> Result<Self, CardError> {
        Self::connect_within(path, DEADLINE)
    }

    /// [`VfioUserCard::connect`] with another deadline for each request. Errors: as [`VfioUserCard::connect`].
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

    fn read_raw(&mut self, offset: u64) -> Result<u32, ClientError> {
        let mut bytes = [0; 4];
        self.client.read(region::BAR0, offset, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Waits for an interrupt, but not for long.
    fn doze(&self, time: Duration) {
        let time = Timespec::try_from(time).ok();
        // Whatever comes of it, the caller looks again.
        let _ = rustix::event::poll(&mut [PollFd::new(&self.event, PollFlags::IN)], time.as_ref());
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}

impl Card for VfioUserCard {
    fn describe(&self) -> String {
        self.described.clone()
    }

    fn read32(&mut self, address: u32) -> Result<u32, CardError> {
        let value = self.read_raw(Self::register(address)?)?;
        // Some register may hold all ones; the one at 0 does not.
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
        // Kept until the device has said that it reaches it no more.
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

    fn wait(&mut self, watch: Option<&Watch<'_>>) -> Result<(), CardError> {
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
        // No bus master first: then nothing is written any more, whatever comes of the rest. A device that does not
        // answer costs one deadline, and keeps its own hold on the files.
        let _ = self.client.write(region::CONFIG, COMMAND, &[0; 2]);
        let _ = self.client.reset();
        for (address, shared) in std::mem::take(&mut self.buffers) {
            let _ = self.client.unmap(address, shared.len() as u64);
        }
    }
}
