//! The request of a client, in any dialect.

use serde::Deserialize;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use utoipa::ToSchema;

/// A request, read and checked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name of the model.
    pub model: String,
    /// The model's input.
    pub input: Input,
    /// Whether the answer is a stream of events.
    pub stream: bool,
    /// Whether a stream ends with the usage.
    pub include_usage: bool,
    /// How many choices are asked for.
    pub choices: u32,
    /// Bounds and settings of the sampling.
    pub sampling: Sampling,
    /// Tools that the model may call.
    pub tools: Vec<Tool>,
    /// Which tools it must or must not call.
    pub tool_choice: Option<ToolChoice>,
    /// Whether it may call several at once.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer: an object in OpenAI's `response_format`.
    pub response_format: Option<Value>,
    /// How much the model thinks, in OpenAI's words.
    pub reasoning_effort: Option<String>,
    /// How much the model says, in OpenAI's words.
    pub verbosity: Option<String>,
    /// The client's value that is bound to its answer's records: at most 64 letters, digits, `-` or `_`.
    pub nonce: Option<String>,
    /// Whether the answer's last part waits for the proofs of its streams, and holds them.
    pub receipt: bool,
    /// The client's sources for the request: the anchor store of its answer.
    pub sources: Arc<[Source]>,
    /// SHA-256 of the body.
    pub digest: [u8; 32],
}

/// The model's input.
#[derive(Clone, Debug)]
pub enum Input {
    /// A conversation.
    Messages(Vec<Message>),
    /// A text to continue from.
    Prompt(String),
}

/// A text that counts as true. Each whole sentence is a fact about the title's entity, and about every other title that
/// the sentence names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The subject of the text, by the name that answers use.
    pub title: String,
    /// Its other names.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Whole sentences.
    pub text: String,
    /// Where the text comes from: a URL, a DOI, a file. An answer may cite it in these words.
    #[serde(default)]
    pub source: Option<String>,
}

/// Bounds and settings of the sampling; what is absent is the server's choice. The gate hands numbers on as they are
/// written.
#[derive(Clone, Debug, Default)]
pub struct Sampling {
    /// Most tokens.
    pub max_tokens: Option<u64>,
    /// Whether the bound is the newer one, which counts reasoning, too (`max_completion_tokens`).
    pub counts_reasoning: bool,
    /// Temperature.
    pub temperature: Option<Number>,
    /// Nucleus.
    pub top_p: Option<Number>,
    /// Most likely tokens that are sampled from.
    pub top_k: Option<u64>,
    /// Penalty on tokens that are there.
    pub presence_penalty: Option<Number>,
    /// Penalty on tokens by how often they occur.
    pub frequency_penalty: Option<Number>,
    /// Seed.
    pub seed: Option<i64>,
    /// Texts at which the answer ends.
    pub stop: Vec<String>,
    /// Log-probabilities of the tokens, which the gate itself asks for. They never leave.
    pub logprobs: bool,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The application.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The text; the parts of a message are joined by line feeds.
    pub text: String,
    /// The calls of an assistant.
    pub calls: Vec<ToolCall>,
    /// The call that a tool answers.
    pub call_id: Option<String>,
}

/// A call in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The client's name for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments, JSON as text.
    pub arguments: String,
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON schema of its arguments.
    pub parameters: Option<Value>,
    /// Whether the arguments must fit the schema.
    pub strict: Option<bool>,
}

/// Which tools a model must or must not call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// None.
    None,
    /// As it likes.
    Auto,
    /// Some.
    Required,
    /// This one.
    Named(String),
}

impl Request {
    /// A request before its fields are read.
    #[must_use]
    pub fn of(body: &[u8], model: String, input: Input) -> Self {
        Self {
            model,
            input,
            stream: false,
            include_usage: false,
            choices: 1,
            sampling: Sampling::default(),
            tools: Vec::new(),
            tool_choice: None,
            parallel_tool_calls: None,
            response_format: None,
            reasoning_effort: None,
            verbosity: None,
            nonce: None,
            receipt: false,
            sources: Arc::default(),
            digest: Sha256::digest(body).into(),
        }
    }

    /// Every text that the model is given, with who speaks it: what the pre-execution filter judges.
    pub fn texts(&self) -> Vec<(Role, String)> {
        match &self.input {
            Input::Prompt(text) => vec![(Role::User, text.clone())],
            Input::Messages(messages) => {
                let tools = self.tools.iter().map(|tool| {
                    let parameters = tool.parameters.as_ref().map(Value::to_string).unwrap_or_default();
                    let description = tool.description.as_deref().unwrap_or_default();
                    (Role::System, format!("{}\n{description}\n{parameters}", tool.name))
                });
                let said = messages.iter().map(|message| {
                    let calls = message.calls.iter().map(|call| format!("\n{} {}", call.name, call.arguments));
                    (message.role, message.text.clone() + &calls.collect::<String>())
                });
                let format = self.response_format.as_ref().map(|format| (Role::System, format.to_string()));
                // The end of the conversation comes last, because the task of a stream holds only the end.
                tools.chain(format).chain(said).filter(|(_, text)| !text.is_empty()).collect()
            }
        }
    }

    /// Whether the answer is one JSON value, in which no part may be missing.
    #[must_use]
    pub fn is_json(&self) -> bool {
        let kind = self.response_format.as_ref().and_then(|format| format.get("type")).and_then(Value::as_str);
        kind.is_some_and(|kind| kind != "text")
    }
}
