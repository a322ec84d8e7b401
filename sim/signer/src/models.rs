//! The models to build, for the build script and for the library.

/// A Verilated `signer_tb`, by its RTL parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Rounds of SHA-256 per clock.
    pub rounds: u32,
    /// Length of the message to sign, in bytes.
    pub message_bytes: usize,
}

/// The models. The card signs 215 bytes. The other lengths are at the borders of the padding of the message hashes:
/// with 101 bytes the last block of PRF_msg is exactly full, with 38 bytes one more block is needed.
pub const MODELS: [Model; 4] = [
    Model { rounds: 1, message_bytes: 215 },
    Model { rounds: 2, message_bytes: 38 },
    Model { rounds: 4, message_bytes: 101 },
    Model { rounds: 16, message_bytes: 215 },
];
