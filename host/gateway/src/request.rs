//! The request of a client, in any dialect.

use crate::calls::IdentifiedCall;
use serde::Deserialize;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use utoipa::ToSchema;

/// A parsed and checked request.
#[derive(Clone, Debug)]
pub struct ClientRequest {
    /// Name of the model.
    pub model: String,
    /// The model's input.
    pub input: RequestInput,
    /// Whether the answer is a stream of events.
    pub stream: bool,
    /// Whether the stream ends with a usage event.
    pub include_usage: bool,
    /// Number of choices.
    pub choices: u32,
    /// Limits and settings of the sampling.
    pub sampling: SamplingParameters,
    /// Tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Which tools the model must or must not call.
    pub tool_choice: Option<ToolChoice>,
    /// Whether the model may call several tools at once.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer: an object as in OpenAI's `response_format`.
    pub response_format: Option<Value>,
    /// How much the model reasons, as in OpenAI's `reasoning_effort`.
    pub reasoning_effort: Option<String>,
    /// How long the answer is, as in OpenAI's `verbosity`.
    pub verbosity: Option<String>,
    /// The client's value that the records bind: at most 64 letters, digits, `-` or `_`.
    pub nonce: Option<String>,
    /// Whether the last part of the answer waits for the proofs of its streams and contains them.
    pub receipt: bool,
    /// The client's sources for the request: the anchor store of its answer.
    pub sources: Arc<[RequestSource]>,
    /// Whether the API has no place of its own for the model's refusal. Its text is then a part of the content, since
    /// clients join the two.
    pub refusal_is_content: bool,
    /// SHA-256 of the body.
    pub digest: [u8; 32],
}

/// The model's input.
#[derive(Clone, Debug)]
pub enum RequestInput {
    /// A conversation.
    Messages(Vec<ConversationMessage>),
    /// A text to continue from.
    Prompt(String),
}

/// A text that counts as true. Each whole sentence is a fact about the title's entity, and about every other entity
/// whose title the sentence contains.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Source)]
pub struct RequestSource {
    /// The subject of the text, under the name that answers use.
    pub title: String,
    /// Other names of the subject.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Whole sentences.
    pub text: String,
    /// Origin of the text: a URL, a DOI, a file. An answer may cite it in these words.
    #[serde(default)]
    pub source: Option<String>,
}

/// Limits and settings of the sampling; the server chooses absent values. Numbers are passed on exactly as they were
/// written.
#[derive(Clone, Debug, Default)]
pub struct SamplingParameters {
    /// Largest number of tokens.
    pub max_tokens: Option<u64>,
    /// Whether the limit also counts reasoning tokens (`max_completion_tokens`).
    pub counts_reasoning: bool,
    pub temperature: Option<Number>,
    /// Nucleus sampling.
    pub top_p: Option<Number>,
    /// Number of most likely tokens to sample from.
    pub top_k: Option<u64>,
    /// Penalty on tokens that have occurred.
    pub presence_penalty: Option<Number>,
    /// Penalty on tokens in proportion to how often they have occurred.
    pub frequency_penalty: Option<Number>,
    pub seed: Option<i64>,
    /// Texts at which the answer ends.
    pub stop: Vec<String>,
    /// Whether the gate requests log-probabilities. They are not sent to the client.
    pub logprobs: bool,
}

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRole {
    /// The application.
    System,
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationMessage {
    pub role: MessageRole,
    /// The text; the parts of a message are joined by line feeds.
    pub text: String,
    /// The calls of an assistant.
    pub calls: Vec<IdentifiedCall>,
    /// Id of the call that a tool message answers.
    pub call_id: Option<String>,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON schema of the tool's arguments.
    pub parameters: Option<Value>,
    /// Whether the arguments must fit the schema.
    pub strict: Option<bool>,
}

/// Which tools a model must or must not call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// No tool.
    None,
    /// The model decides.
    Auto,
    /// At least one tool.
    Required,
    /// The named tool.
    Named(String),
}

impl ClientRequest {
    /// A request with default fields.
    #[must_use]
    pub fn of(body: &[u8], model: String, input: RequestInput) -> Self {
        Self {
            model,
            input,
            stream: false,
            include_usage: false,
            choices: 1,
            sampling: SamplingParameters::default(),
            tools: Vec::new(),
            tool_choice: None,
            parallel_tool_calls: None,
            response_format: None,
            reasoning_effort: None,
            verbosity: None,
            nonce: None,
            receipt: false,
            sources: Arc::default(),
            refusal_is_content: false,
            digest: Sha256::digest(body).into(),
        }
    }

    /// Every text that the model receives, with its speaker, for the pre-execution filter.
    pub fn texts(&self) -> Vec<(MessageRole, String)> {
        match &self.input {
            RequestInput::Prompt(text) => vec![(MessageRole::User, text.clone())],
            RequestInput::Messages(messages) => {
                let tools = self.tools.iter().map(|tool| {
                    let parameters = tool.parameters.as_ref().map(Value::to_string).unwrap_or_default();
                    let description = tool.description.as_deref().unwrap_or_default();
                    (MessageRole::System, format!("{}\n{description}\n{parameters}", tool.name))
                });
                let said = messages.iter().map(|message| {
                    let calls = message
                        .calls
                        .iter()
                        .map(|IdentifiedCall { call, .. }| format!("\n{} {}", call.name, call.arguments));
                    (message.role, message.text.clone() + &calls.collect::<String>())
                });
                let format = self.response_format.as_ref().map(|format| (MessageRole::System, format.to_string()));
                // The conversation comes last, because a stream's task is the end of these texts.
                tools.chain(format).chain(said).filter(|(_, text)| !text.is_empty()).collect()
            }
        }
    }

    /// Whether the client offered this tool for its answer.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.tool_choice != Some(ToolChoice::None) && self.tools.iter().any(|tool| tool.name == name)
    }

    /// Whether the answer is one JSON value, of which no part may be missing.
    #[must_use]
    pub fn is_json(&self) -> bool {
        let kind = self.response_format.as_ref().and_then(|format| format.get("type")).and_then(Value::as_str);
        kind.is_some_and(|kind| kind != "text")
    }
}
