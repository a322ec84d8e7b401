//! Where records go.

use portcullis_core::wire::Record;

use super::checkpoint_ring::SignedCheckpoint;

/// Why a record was not kept.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Takes every record and every checkpoint of a session: records in the order of the log, each once, before its entry's
/// outcome is given out.
pub trait RecordSink: Send {
    /// Keeps `record`. Errors: anything that prevents it. The session is then lost, because text without a record is
    /// not released.
    fn record(&mut self, record: &Record) -> Result<(), SinkError>;

    /// Keeps a checkpoint. Called for every checkpoint of a session, in the order of their serials. Its signature was
    /// not verified. Errors: the reason why it could not be kept; the session is then lost.
    fn checkpoint(&mut self, checkpoint: &SignedCheckpoint) -> Result<(), SinkError> {
        let _ = checkpoint;
        Ok(())
    }

    /// The nonce of the next heartbeat, when the witness has answered a checkpoint; the session presents it to the
    /// card. Called after the sink got records and checkpoints. Errors: the reason of the failure; the session is then
    /// lost.
    fn nonce(&mut self) -> Result<Option<u64>, SinkError> {
        Ok(None)
    }
}

/// Keeps nothing.
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
