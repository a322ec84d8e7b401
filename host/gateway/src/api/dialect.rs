//! The APIs of models: reading requests and writing answers. Every byte of an answer is written from
//! [`GatedAnswerPart`]s; bytes from an upstream are never copied.

use super::anthropic;
use super::event::{AnswerHeader, EventWriter};
use super::openai::{self, chat, completions, responses};
use crate::error::ApiError;
use crate::output::{AnswerProvenance, GatedAnswerPart, TokenUsage};
use crate::request::ClientRequest;
use serde_json::{Value, json};

/// Which API a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ApiDialect {
    /// OpenAI's `/v1/chat/completions`.
    Chat,
    /// OpenAI's `/v1/completions`.
    Completions,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// Anthropic's `/v1/messages`.
    Messages,
}

impl ApiDialect {
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
    pub(crate) fn parse(self, body: &[u8]) -> Result<ClientRequest, ApiError> {
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
    pub(crate) fn events(self, header: AnswerHeader) -> Box<dyn EventWriter> {
        match self {
            Self::Chat => Box::new(chat::ChatEventWriter::new(header)),
            Self::Completions => Box::new(completions::CompletionsEventWriter::new(header)),
            Self::Responses => Box::new(responses::ResponsesEventWriter::new(header)),
            Self::Messages => Box::new(anthropic::AnthropicEventWriter::new(header)),
        }
    }

    /// A complete answer as one JSON object.
    #[must_use]
    pub(crate) fn body(
        self,
        header: &AnswerHeader,
        outputs: &[GatedAnswerPart],
        usage: TokenUsage,
        provenance: &AnswerProvenance,
    ) -> String {
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
