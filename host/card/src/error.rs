//! Errors of an access to a card.

use std::error::Error;

#[derive(Debug, thiserror::Error)]
pub enum CardError {
    #[error("the card is gone: register {0:#x} reads all ones")]
    Gone(u32),
    #[error("{0:#x} is not the address of a register word")]
    Address(u32),
    #[error("the register map has no lane {0}")]
    Lane(u8),
    #[error("register access of {bytes} bytes at {address:#x}; the card has 32-bit registers only")]
    Width { address: u32, bytes: usize },
    #[error("no buffer of this card stands at {0:#x}")]
    UnknownBuffer(u64),
    #[error("access of {bytes} bytes at offset {offset} leaves a buffer of {len} bytes")]
    OutsideBuffer { offset: usize, bytes: usize, len: usize },
    #[error("cannot allocate {0} bytes that the card reaches")]
    Allocate(usize),
    #[error("the device does not work: {0}")]
    Device(&'static str),
    #[error(transparent)]
    Transport(Box<dyn Error + Send + Sync>),
}

impl CardError {
    /// Wraps the error of a transport.
    pub(crate) fn transport(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Transport(Box::new(error))
    }
}
