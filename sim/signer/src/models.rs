//! The models that are built; the build script and the library both use this list.

/// A Verilated `signer_tb`, by its RTL parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignerParameters {
    /// Rounds of SHA-256 per clock.
    pub rounds: u32,
    /// Length of the message to sign, in bytes.
    pub message_bytes: usize,
}

/// The models. The card signs 215 bytes. The other lengths are limits of the padding of the message hashes: with 101
/// bytes, PRF_msg has exactly one full last block; with 38 bytes, it needs one more block.
pub const MODELS: [SignerParameters; 4] = [
    SignerParameters { rounds: 1, message_bytes: 215 },
    SignerParameters { rounds: 2, message_bytes: 38 },
    SignerParameters { rounds: 4, message_bytes: 101 },
    SignerParameters { rounds: 16, message_bytes: 215 },
];
