//! Configuration of a session.

use super::checkpoint_ring::CheckpointConfig;
use super::sink::RecordSink;
#[cfg(doc)]
use crate::limits::{TEXT_STRIDE_MAX, TEXT_STRIDE_MIN};

/// Limits of a card's work without a heartbeat. Above either limit, the card refuses every entry with the credit
/// fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeartbeatLimits {
    /// Accepted entries; 0 means no limit.
    pub records: u32,
    /// Time, in units of 2^16 clocks; 0 means no limit.
    pub ticks: u32,
}

/// Sizes and identity of a session.
pub struct SessionConfig {
    /// log2 of the entries of the submission and the completion ring.
    pub ring_log2: u8,
    /// log2 of the entries of the log ring.
    pub log_log2: u8,
    /// Epoch; `None` draws one from the operating system. Fixed epochs are for tests.
    pub epoch: Option<u32>,
    /// Digest of the session's ticket, bound into the OPEN record; zero means no ticket.
    pub ticket_digest: [u8; 32],
    /// Heartbeat limits; latched at OPEN and recorded.
    pub heartbeat: HeartbeatLimits,
    /// log2 of the bytes of a stream's text window, for an image with a text part: [`TEXT_STRIDE_MIN`] to
    /// [`TEXT_STRIDE_MAX`].
    pub text_stride_log2: u8,
    /// Signed checkpoints; `None` means that the session leaves no evidence.
    pub checkpoints: Option<CheckpointConfig>,
    /// Receives every record and every checkpoint.
    pub sink: Box<dyn RecordSink>,
}

impl Default for SessionConfig {
    /// Rings of 1,024 entries, a random epoch, no ticket, no heartbeats, text windows of 4 KiB, no checkpoints. Records
    /// are kept only in [`crate::CompletedEntry`].
    fn default() -> Self {
        Self {
            ring_log2: 10,
            log_log2: 10,
            epoch: None,
            ticket_digest: [0; 32],
            heartbeat: HeartbeatLimits::default(),
            text_stride_log2: 12,
            checkpoints: None,
            sink: Box::new(()),
        }
    }
}

impl std::fmt::Debug for SessionConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionConfig")
            .field("ring_log2", &self.ring_log2)
            .field("log_log2", &self.log_log2)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}
