//! How an access to a card fails.

use std::error::Error;

/// A transport failed.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The device is gone: a register reads all ones.
    #[error("the card is gone: register {0:#x} reads all ones")]
    Gone(u32),
    /// No such register.
    #[error("{0:#x} is not the address of a register word")]
    Address(u32),
    /// A lane that the register map does not have.
    #[error("the register map has no lane {0}")]
    Lane(u8),
    /// A register access of another width.
    #[error("register access of {bytes} bytes at {address:#x}; the card has 32-bit registers only")]
    Width {
        /// Byte address.
        address: u32,
        /// Width asked for.
        bytes: usize,
    },
    /// A buffer of another card, or one that was released.
    #[error("no buffer of this card stands at {0:#x}")]
    UnknownBuffer(u64),
    /// An access over the end of a buffer.
    #[error("access of {bytes} bytes at offset {offset} leaves a buffer of {len} bytes")]
    OutsideBuffer {
        /// Offset of the first byte.
        offset: usize,
        /// Bytes.
        bytes: usize,
        /// Length of the buffer.
        len: usize,
    },
    /// No memory for a buffer.
    #[error("cannot allocate {0} bytes that the card reaches")]
    Allocate(usize),
    /// A device that does not do what it is asked.
    #[error("the device does not work: {0}")]
    Device(&'static str),
    /// The transport's own failure.
    #[error(transparent)]
    Transport(Box<dyn Error + Send + Sync>),
}

impl CardError {
    /// The failure of a transport, as the transport reports it.
    pub(crate) fn transport(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Transport(Box::new(error))
    }
}
