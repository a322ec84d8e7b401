//! The trait of record sinks, which keep records and checkpoints.

use portcullis_core::wire::Record;

use super::checkpoint_ring::CardSignedCheckpoint;

/// Why a sink could not keep a record or checkpoint.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Receives every record and every checkpoint of a session: each record once, in log order, before the outcome of its
/// entry is returned.
pub trait RecordSink: Send {
    /// Keeps `record`. Errors: the reason why it could not be kept. The session is then lost, because text without a
    /// record is not released.
    fn record(&mut self, record: &Record) -> Result<(), SinkError>;

    /// Keeps a checkpoint. Called for every checkpoint of a session, in order of serial. Its signature is not verified
    /// yet. Errors: the reason why it could not be kept; the session is then lost.
    fn checkpoint(&mut self, checkpoint: &CardSignedCheckpoint) -> Result<(), SinkError> {
        let _ = checkpoint;
        Ok(())
    }

    /// Returns the nonce of the next heartbeat once the witness has answered a checkpoint; the session presents it to
    /// the card. Called after the sink got records and checkpoints. Errors: the reason of the failure; the session is
    /// then lost.
    fn nonce(&mut self) -> Result<Option<u64>, SinkError> {
        Ok(None)
    }
}

/// Discards everything.
impl RecordSink for () {
    fn record(&mut self, _record: &Record) -> Result<(), SinkError> {
        Ok(())
    }
}

impl<F: FnMut(&Record) -> Result<(), SinkError> + Send> RecordSink for F {
    fn record(&mut self, record: &Record) -> Result<(), SinkError> {
        self(record)
    }
}
