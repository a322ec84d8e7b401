//! The vfio-user protocol, version 0.0: a PCI device over a UNIX socket (QEMU, `docs/interop/vfio-user.rst`).
//!
//! | part | content |
//! | --- | --- |
//! | [`message`] | commands, their bytes, the bits in them |
//! | [`Channel`] | whole messages with their files, each within a deadline |
//! | [`DeviceClient`] | the driver's end: one request at a time, every answer checked |
//! | [`Connection`], [`Device`] | the device's end: one request in, one answer out |
//! | [`words`] | memory that driver and device touch at the same time |
//!
//! Neither end trusts the other: lengths are bounded before memory is allocated, an answer must fit its request in
//! every field, and waiting for a peer that stops in the middle of a message ends at a deadline. After the first
//! violation the connection is closed.
//!
//! Not served: DMA without a file (`DMA_READ` and `DMA_WRITE` from the device), mapped regions, migration.

mod channel;
mod client;
pub mod message;
mod region;
mod server;
#[cfg(test)]
mod tests;
pub mod words;

pub use channel::{Channel, ChannelError, Message};
pub use client::{ClientError, DeviceClient};
pub use region::Region;
pub use server::{Connection, Device, DmaRange, Errno, ServeError};
