//! Where records go.

use portcullis_core::wire::Record;

/// Why a record was not kept.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Takes every record of a session, in the order of the log, each once, before its entry's outcome is given out.
pub trait RecordSink: Send {
    /// Keeps `record`.
    ///
    /// # Errors
    /// Whatever prevented it; the session is lost then, because what has no record is not released.
    fn record(&mut self, record: &Record) -> Result<(), SinkError>;
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
