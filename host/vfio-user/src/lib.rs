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
//! Not implemented: DMA without a file (`DMA_READ` and `DMA_WRITE` from the device), mapped regions, migration.

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
