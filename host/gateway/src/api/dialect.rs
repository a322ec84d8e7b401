//! The APIs of models: reading requests and writing answers. Every byte of an answer is written from [`Output`]s; bytes
//! from an upstream are never copied.

use super::anthropic;
use super::openai::{self, chat, completions, responses};
use crate::error::ApiError;
use crate::output::{Output, Provenance, Usage};
use crate::request::Request;
use serde_json::{Value, json};

/// Which API a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Dialect {
    /// OpenAI's `/v1/chat/completions`.
    Chat,
    /// OpenAI's `/v1/completions`.
    Completions,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// Anthropic's `/v1/messages`.
    Messages,
}

/// Fields that every dialect writes in its answers.
#[derive(Clone, Debug)]
pub(crate) struct Header {
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
    fn output(&mut self, output: &Output) -> String;

    /// The last events of a complete answer.
    fn end(&mut self, usage: Usage, provenance: &Provenance) -> String;

    /// The last events of an answer that was cut off.
    fn fail(&mut self, error: &ApiError, provenance: &Provenance) -> String;
}

impl Dialect {
    pub(crate) const ALL: [Self; 4] = [Self::Chat, Self::Completions, Self::Responses, Self::Messages];

    /// Path of the API.
    #[must_use]
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }

    /// Parses a request.
    ///
    /// # Errors
    /// The request has unknown fields, fields that ask for text that the gate does not judge, or invalid values.
    pub(crate) fn parse(self, body: &[u8]) -> Result<Request, ApiError> {
        match self {
            Self::Chat => chat::parse(body),
            Self::Completions => completions::parse(body),
            Self::Responses => responses::parse(body),
            Self::Messages => anthropic::parse(body),
        }
    }

    /// How the ids of answers begin.
    #[must_use]
    pub(crate) const fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat => "chatcmpl-",
            Self::Completions => "cmpl-",
            Self::Responses => "resp_",
            Self::Messages => "msg_",
        }
    }

    /// Name of the operation in traces (OpenTelemetry's conventions for generative models).
    #[must_use]
    pub(crate) const fn operation(self) -> &'static str {
        match self {
            Self::Completions => "text_completion",
            Self::Chat | Self::Responses | Self::Messages => "chat",
        }
    }

    /// A writer for a stream of events.
    #[must_use]
    pub(crate) fn events(self, header: Header) -> Box<dyn EventWriter> {
        match self {
            Self::Chat => Box::new(chat::Events::new(header)),
            Self::Completions => Box::new(completions::Events::new(header)),
            Self::Responses => Box::new(responses::Events::new(header)),
            Self::Messages => Box::new(anthropic::Events::new(header)),
        }
    }

    /// A complete answer as one JSON object.
    #[must_use]
    pub(crate) fn body(self, header: &Header, outputs: &[Output], usage: Usage, provenance: &Provenance) -> String {
        match self {
            Self::Chat => chat::body(header, outputs, usage, provenance).to_string(),
            Self::Completions => completions::body(header, outputs, usage, provenance).to_string(),
            Self::Responses => responses::body(header, outputs, usage, provenance).to_string(),
            Self::Messages => anthropic::body(header, outputs, usage, provenance),
        }
    }

    /// An error as a JSON object.
    #[must_use]
    pub(crate) fn error(self, error: &ApiError) -> Value {
        match self {
            Self::Messages => json!({"type": "error", "error": {"type": error.kind, "message": error.message}}),
            _ => openai::error_object(error),
        }
    }
}

/// An event with a name.
pub(super) fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}
