//! The API dialects of clients: reading requests and writing answers. Every byte of an answer is written here from
//! [`Output`]s; bytes from an upstream are never copied.

mod chat;
mod completions;
pub(crate) mod fields;
mod messages;
mod responses;

use crate::error::ApiError;
use crate::output::{Output, Provenance, Usage};
use crate::request::Request;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Which API a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
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
pub struct Header {
    /// Id of the answer.
    pub id: String,
    /// Name of the model in the request.
    pub model: String,
    /// Seconds since 1970.
    pub created: u64,
    /// Whether a stream ends with a usage event.
    pub include_usage: bool,
}

/// Writes one answer as a stream of events. Each method returns the bytes of its events; they are empty if the output
/// needs no event.
pub trait EventWriter: Send {
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
    pub const ALL: [Self; 4] = [Self::Chat, Self::Completions, Self::Responses, Self::Messages];

    /// Path of the API.
    #[must_use]
    pub const fn path(self) -> &'static str {
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
    pub fn parse(self, body: &[u8]) -> Result<Request, ApiError> {
        match self {
            Self::Chat => chat::parse(body),
            Self::Completions => completions::parse(body),
            Self::Responses => responses::parse(body),
            Self::Messages => messages::parse(body),
        }
    }

    /// A new id for an answer.
    #[must_use]
    pub fn identity(self, random: &str) -> String {
        let prefix = match self {
            Self::Chat => "chatcmpl-",
            Self::Completions => "cmpl-",
            Self::Responses => "resp_",
            Self::Messages => "msg_",
        };
        format!("{prefix}{random}")
    }

    /// A writer for a stream of events.
    #[must_use]
    pub fn events(self, header: Header) -> Box<dyn EventWriter> {
        match self {
            Self::Chat => Box::new(chat::Events::new(header)),
            Self::Completions => Box::new(completions::Events::new(header)),
            Self::Responses => Box::new(responses::Events::new(header)),
            Self::Messages => Box::new(messages::Events::new(header)),
        }
    }

    /// A complete answer as one JSON object.
    #[must_use]
    pub fn body(self, header: &Header, outputs: &[Output], usage: Usage, provenance: &Provenance) -> String {
        match self {
            Self::Chat => chat::body(header, outputs, usage, provenance).to_string(),
            Self::Completions => completions::body(header, outputs, usage, provenance).to_string(),
            Self::Responses => responses::body(header, outputs, usage, provenance).to_string(),
            Self::Messages => messages::body(header, outputs, usage, provenance),
        }
    }

    /// An error as a JSON object.
    #[must_use]
    pub fn error(self, error: &ApiError) -> Value {
        match self {
            Self::Messages => json!({"type": "error", "error": {"type": error.kind, "message": error.message}}),
            _ => openai_error(error),
        }
    }
}

fn openai_error(error: &ApiError) -> Value {
    let ApiError { kind, code, param, message, .. } = error;
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

/// The last events of OpenAI's streams: the provenance, then `[DONE]`.
fn done(mut last: Value, usage: Option<Usage>, provenance: &Provenance) -> String {
    if let Some(last) = last.as_object_mut() {
        last.extend(usage.map(|usage| ("usage".to_owned(), chat::usage_object(usage))));
        last.insert("portcullis".into(), json!(provenance));
    }
    data(&last) + "data: [DONE]\n\n"
}

/// An event without a name: a data line and a blank line.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event with a name.
fn named(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// Seconds since 1970, for answers and for the end of tickets. No decision about a text depends on this time.
#[must_use]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
