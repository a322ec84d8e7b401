//! Answers as streams of events.

use crate::error::ApiError;
use crate::output::{AnswerProvenance, GatedAnswerPart, TokenUsage};
use serde_json::Value;

/// Fields that every dialect writes in its answers.
#[derive(Clone, Debug)]
pub(crate) struct AnswerHeader {
    /// Id of the answer.
    pub(crate) id: String,
    /// Name of the model in the request.
    pub(crate) model: String,
    /// Seconds since 1970.
    pub(crate) created: u64,
    /// Whether a stream ends with a usage event.
    pub(crate) include_usage: bool,
}

/// Writes one answer as a stream of events. Each method returns the bytes of its events; they are empty if the output
/// needs no event.
pub(crate) trait EventWriter: Send {
    /// The first events.
    fn start(&mut self) -> String;

    /// The events for one output.
    fn output(&mut self, output: &GatedAnswerPart) -> String;

    /// The last events of a complete answer.
    fn end(&mut self, usage: TokenUsage, provenance: &AnswerProvenance) -> String;

    /// The last events of an answer that was cut off.
    fn fail(&mut self, error: &ApiError, provenance: &AnswerProvenance) -> String;
}

/// An event with a name.
pub(super) fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}
