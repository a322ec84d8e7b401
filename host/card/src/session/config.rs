//! How a session is set up.

use super::RecordSink;

/// Smallest log2 of submission ring entries: rings are made of whole pages.
pub const RING_LOG2_MIN: u8 = 5;
/// Smallest log2 of log ring entries.
pub const LOG_LOG2_MIN: u8 = 4;

/// Sizes and identity of a session.
pub struct SessionConfig {
    /// log2 of the entries of the submission and the completion ring.
    pub ring_log2: u8,
    /// log2 of the entries of the log ring.
    pub log_log2: u8,
    /// Epoch; `None` takes one from the operating system. Fixed ones are for tests.
    pub epoch: Option<u32>,
    /// Digest of the session's ticket, bound into the OPEN record; zero is no ticket.
    pub ticket_digest: [u8; 32],
    /// Takes every record.
    pub sink: Box<dyn RecordSink>,
}

impl Default for SessionConfig {
    /// Rings of 1,024 entries, a random epoch, no ticket, records kept nowhere but in [`crate::Completed`].
    fn default() -> Self {
        Self { ring_log2: 10, log_log2: 10, epoch: None, ticket_digest: [0; 32], sink: Box::new(()) }
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
