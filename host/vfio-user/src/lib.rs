//! The vfio-user protocol, version 0.0: a PCI device over a UNIX socket (QEMU, `docs/interop/vfio-user.rst`).
//!
//! | part | content |
//! | --- | --- |
//! | [`message`] | commands, their layouts, their flags |
//! | [`VfioUserChannel`] | complete messages with their files, each within a deadline |
//! | [`DeviceClient`] | the driver's side: one request at a time, every answer checked |
//! | [`DriverConnection`], [`VfioUserDevice`] | the device's side: each request gets one answer |
//! | [`words`] | memory that driver and device access at the same time |
//!
//! Neither side trusts the other. Lengths are limited before memory is allocated, an answer must fit its request in
//! every field, and a wait for an incomplete message ends at a deadline. The first violation closes the connection.
//!
//! The existing crate for the protocol is not used: it loses error replies, waits without a limit, and does not check
//! lengths. This one implements ten messages.
//!
//! Not implemented: DMA without a file (`DMA_READ` and `DMA_WRITE` from the device), mapped regions, migration.
//!
//! ```
//! # use std::{os::fd::OwnedFd, os::unix::net::UnixStream, time::Duration};
//! use portcullis_vfio_user::message::{region, region_flags};
//! use portcullis_vfio_user::{DeviceClient, DriverConnection, VfioUserChannel, VfioUserDevice, VfioUserRegion};
//! # use portcullis_vfio_user::{DmaRange, Errno};
//!
//! /// A device with one region of four bytes.
//! struct FourBytes([u8; 4]);
//!
//! impl VfioUserDevice for FourBytes {
//!     fn region(&self, index: u32) -> VfioUserRegion {
//!         let size = if index == region::BAR0 { 4 } else { 0 };
//!         VfioUserRegion { size, flags: region_flags::READ }
//!     }
//!
//!     fn read(&mut self, _region: u32, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
//!         into.iter_mut().zip(self.0.iter().skip(offset as usize)).for_each(|(to, from)| *to = *from);
//!         Ok(())
//!     }
//!
//!     // … and writes, memory, interrupts, reset.
//! #   fn irqs(&self, _: u32) -> u32 { 0 }
//! #   fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), Errno> { Err(Errno::PERM) }
//! #   fn map(&mut self, _: DmaRange, _: Option<OwnedFd>) -> Result<(), Errno> { Err(Errno::PERM) }
//! #   fn unmap(&mut self, _: u128, _: u128) -> Result<(), Errno> { Ok(()) }
//! #   fn connect_irqs(&mut self, _: u32, _: u32, _: Vec<Option<OwnedFd>>) -> Result<(), Errno> { Err(Errno::PERM) }
//! #   fn fire_irqs(&mut self, _: u32, _: u32, _: u32) -> Result<(), Errno> { Err(Errno::PERM) }
//! #   fn reset(&mut self) -> Result<(), Errno> { Ok(()) }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let deadline = Duration::from_secs(10);
//! let (driver, device) = UnixStream::pair()?;
//! let mut connection = DriverConnection::new(VfioUserChannel::new(device, deadline)?);
//! std::thread::spawn(move || while connection.serve(&mut FourBytes(*b"gate")).is_ok() {});
//!
//! let mut client = DeviceClient::from_stream(driver, deadline)?;
//! let mut bytes = [0; 4];
//! client.read(region::BAR0, 0, &mut bytes)?;
//! assert_eq!(&bytes, b"gate");
//! # Ok(())
//! # }
//! ```

mod channel;
mod client;
pub mod message;
mod region;
mod server;
#[cfg(test)]
mod tests;
pub mod words;

pub use channel::{ChannelError, VfioUserChannel, VfioUserMessage};
pub use client::{DeviceClient, DeviceClientError};
pub use region::VfioUserRegion;
pub use server::{DeviceServeError, DmaRange, DriverConnection, Errno, VfioUserDevice};
