//! Sizes of the model, which are the RTL's defaults.

use portcullis_core::wire::key_flags;

use crate::registers::{ENTROPY_WINDOW, POLICY_WINDOW};

/// Rows of the policy bank.
pub const POLICY_ROWS: u16 = 256;
/// Rows of the entropy bank.
pub const ENTROPY_ROWS: u16 = 64;
/// Stream slots.
pub const MAX_STREAMS: u32 = 1024;
/// Largest log2 of ring entries.
pub(super) const RING_LOG2_MAX: u8 = 15;
/// Largest log2 of log entries.
pub(super) const LOG_LOG2_MAX: u8 = 20;
/// Reads that the RTL keeps in flight; the model only reports the number.
pub(super) const READS: u32 = 32;
/// The key flags of the simulated card, so that the model's evidence never looks genuine.
pub(super) const KEY_FLAGS: u8 = (key_flags::SIM | key_flags::NO_TRNG) as u8;
/// The text lane: number of engines, log2 of the states of an engine, and byte classes of an engine.
pub(super) const TEXT_ENGINES: u8 = 3;
pub(super) const TEXT_STATES_LOG2: u8 = 12;
pub(super) const TEXT_BYTE_CLASSES: u8 = 64;
/// Blocks of text windows.
pub(super) const TEXT_BLOCKS: u8 = 32;
pub(super) const REGISTER_WINDOW: u32 = 1 << 20;
pub(super) const BANK_WINDOW: u32 = 0x4_0000;
const _: () = assert!(POLICY_WINDOW + BANK_WINDOW <= ENTROPY_WINDOW);
