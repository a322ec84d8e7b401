//! Bench of the card's hash core, key derivation and signer (`rtl/hash`, `rtl/attest`). All models are made from one
//! top module, with different parameters. Each call returns the RTL's result and the number of clocks.
//!
//! Byte strings are in the order of the standards. If an assertion of the RTL fails, the current call and all later
//! calls return an error.

#![allow(unsafe_code, reason = "the models are C++")]

#[allow(unreachable_pub, unused_qualifications, reason = "cxx generates public and qualified names")]
mod ffi;
mod models;

use cxx::UniquePtr;
use ffi::bridge::{self, SignerBench};
pub use models::{MODELS, SignerParameters};
use std::pin::Pin;

/// Bytes of a SHA-256 block.
pub const BLOCK_BYTES: usize = 64;
/// Bytes of a SLH-DSA-SHA2-128f signature (FIPS 205, table 2).
pub const SIGNATURE_BYTES: usize = 17_088;
/// SHA-256's initial hash value (FIPS 180-4, 5.3.3).
pub const INITIAL_HASH: [u8; 32] = [
    0x6a, 0x09, 0xe6, 0x67, 0xbb, 0x67, 0xae, 0x85, 0x3c, 0x6e, 0xf3, 0x72, 0xa5, 0x4f, 0xf5, 0x3a, 0x51, 0x0e, 0x52,
    0x7f, 0x9b, 0x05, 0x68, 0x8c, 0x1f, 0x83, 0xd9, 0xab, 0x5b, 0xe0, 0xcd, 0x19,
];

/// Errors of a bench.
#[derive(Debug, thiserror::Error)]
pub enum SignerBenchError {
    #[error("there is no model with {0} rounds a clock")]
    NoModel(u32),
    #[error("the model takes {expected} bytes, not {given}")]
    Length { expected: usize, given: usize },
    #[error("no whole result of `{0}` within 100,000,000 clocks")]
    NoResult(&'static str),
    #[error("an assertion of the RTL failed: {0}")]
    Assertion(String),
}

/// A result, and the number of clocks from the command to the result, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedResult<T> {
    pub value: T,
    pub clocks: u64,
}

/// SK.seed, SK.prf and PK.seed (FIPS 205, 9.1).
pub type Seeds = [u8; 48];

/// A command for one of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SignerCommand {
    /// `device_key`: derive the seeds.
    Derive = 0,
    /// `slh_dsa`: compute PK.root.
    Keygen = 1,
    /// `slh_dsa`: sign.
    Sign = 2,
}

/// When the receiver of a signature is ready, and when the hash core is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SignerStall {
    /// The receiver is always ready.
    None = 0,
    /// The receiver is ready in every second clock.
    Alternating = 1,
    /// The receiver is ready in half of the clocks, at random.
    Random = 2,
    /// The receiver is ready only while a word is offered, except in the first clock of a word.
    AfterValid = 3,
    /// The receiver is ready for a few words, and then not ready for up to 4,095 clocks.
    Long = 4,
    /// The receiver is always ready, but another user holds the hash core in half of the clocks.
    Shared = 5,
}

/// Outputs of the top module after the last clock.
pub type Outputs = bridge::Outputs;

/// A Verilated model and the loop that drives its clock.
pub struct SimulatedSigner {
    model: SignerParameters,
    top: UniquePtr<SignerBench>,
}

impl SimulatedSigner {
    /// The model with `rounds` rounds of SHA-256 per clock, after its reset. Errors: there is no such model.
    pub fn new(rounds: u32) -> Result<Self, SignerBenchError> {
        let model = MODELS.into_iter().find(|m| m.rounds == rounds).ok_or(SignerBenchError::NoModel(rounds))?;
        Ok(Self { model, top: bridge::new_signer_bench(rounds) })
    }

    #[must_use]
    pub fn model(&self) -> SignerParameters {
        self.model
    }

    /// Resets everything for one clock. Errors: a failed assertion.
    pub fn reset(&mut self) -> Result<(), SignerBenchError> {
        self.top().reset();
        self.checked(())
    }

    /// Runs `clocks` clocks without a command; words of a signature are accepted and dropped. Errors: a failed
    /// assertion.
    pub fn run(&mut self, clocks: u64) -> Result<(), SignerBenchError> {
        self.top().run(clocks);
        self.checked(())
    }

    /// Gives a command for one clock; the inputs keep the values of the last full call. Errors: a failed assertion.
    pub fn command(&mut self, command: SignerCommand) -> Result<(), SignerBenchError> {
        self.top().command(command as u8);
        self.checked(())
    }

    #[must_use]
    pub fn outputs(&self) -> Outputs {
        self.top.outputs()
    }

    /// Hashes blocks into a state. Each block starts in the clock of the previous block's result. Errors: `blocks` is
    /// empty or not a multiple of the block size; no result; a failed assertion.
    pub fn compress(&mut self, state: [u8; 32], blocks: &[u8]) -> Result<TimedResult<[u8; 32]>, SignerBenchError> {
        if blocks.is_empty() || !blocks.len().is_multiple_of(BLOCK_BYTES) {
            return Err(SignerBenchError::Length { expected: BLOCK_BYTES, given: blocks.len() });
        }
        let mut value = state;
        let clocks = self.top().hash(&mut value, blocks);
        self.timed("hash", value, clocks)
    }

    /// SHA-256 of a message, which is padded here (FIPS 180-4, 5.1.1). Errors: no result; a failed assertion.
    pub fn sha256(&mut self, message: &[u8]) -> Result<TimedResult<[u8; 32]>, SignerBenchError> {
        let mut padded = message.to_vec();
        padded.push(0x80);
        while padded.len() % BLOCK_BYTES != BLOCK_BYTES - 8 {
            padded.push(0);
        }
        padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
        self.compress(INITIAL_HASH, &padded)
    }

    /// `device_key`: derives the seeds from a device secret and a design id. The only stall that matters is
    /// [`SignerStall::Shared`]; `random_seed` is its seed. Errors: no result; a failed assertion.
    pub fn derive(
        &mut self,
        secret: &[u8; 32],
        design_id: &[u8; 16],
        stall: SignerStall,
        random_seed: u64,
    ) -> Result<TimedResult<Seeds>, SignerBenchError> {
        let mut value = [0; 48];
        let clocks = self.top().derive(secret, design_id, stall as u8, random_seed, &mut value);
        self.timed("derive", value, clocks)
    }

    /// `slh_dsa`: computes PK.root from `seeds`, or from the seeds of `device_key`. Errors: no result; a failed
    /// assertion.
    pub fn keygen(&mut self, seeds: Option<&Seeds>) -> Result<TimedResult<[u8; 16]>, SignerBenchError> {
        let mut value = [0; 16];
        let clocks = self.top().keygen(seeds.map_or(&[], |seeds| seeds.as_slice()), &mut value);
        self.timed("keygen", value, clocks)
    }

    /// `slh_dsa`: signs a message with the seeds of the last keygen. `random_seed` is the seed for `stall`.
    ///
    /// # Errors
    /// The model is made for another message length; no result; a wrong number of words; a failed assertion.
    pub fn sign(
        &mut self,
        message: &[u8],
        stall: SignerStall,
        random_seed: u64,
    ) -> Result<TimedResult<Vec<u8>>, SignerBenchError> {
        if message.len() != self.model.message_bytes {
            return Err(SignerBenchError::Length { expected: self.model.message_bytes, given: message.len() });
        }
        let mut value = vec![0; SIGNATURE_BYTES];
        let clocks = self.top().sign(message, stall as u8, random_seed, &mut value);
        self.timed("sign", value, clocks)
    }

    fn top(&mut self) -> Pin<&mut SignerBench> {
        self.top.pin_mut()
    }

    fn checked<T>(&self, value: T) -> Result<T, SignerBenchError> {
        let failure = self.top.failure();
        if failure.is_empty() { Ok(value) } else { Err(SignerBenchError::Assertion(failure)) }
    }

    fn timed<T>(&self, what: &'static str, value: T, clocks: u64) -> Result<TimedResult<T>, SignerBenchError> {
        let value = self.checked(value)?;
        if clocks == 0 { Err(SignerBenchError::NoResult(what)) } else { Ok(TimedResult { value, clocks }) }
    }
}
