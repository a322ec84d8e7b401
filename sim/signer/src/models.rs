//! The parts that are built, for the build script and for the library.

/// One Verilated `signer_tb`: parameters of the RTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Rounds of SHA-256 per clock.
    pub rounds: u32,
    /// Bytes of a message to sign.
    pub message_bytes: usize,
}

/// The models. 215 bytes is what the card signs; the other lengths are where the padding of the message hashes
/// turns: with 101 bytes PRF_msg's last block is full to the last byte, with 38 it needs another block.
pub const MODELS: [Model; 4] = [
    Model { rounds: 1, message_bytes: 215 },
    Model { rounds: 2, message_bytes: 38 },
    Model { rounds: 4, message_bytes: 101 },
    Model { rounds: 16, message_bytes: 215 },
];
