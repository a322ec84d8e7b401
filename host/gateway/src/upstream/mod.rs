//! Model servers: sends requests to them and parses their answers. The text of the answers goes only to the gate.

mod anthropic;
mod openai;
mod probe;
mod sse;

pub use sse::{SseError, SseEvent, SseReader};

use crate::calls::CallFragment;
use crate::config::{GatewayLimits, UpstreamKind};
use crate::error::ApiError;
use crate::output::{AnswerChannel, FinishReason, TokenUsage};
use crate::request::{ClientRequest, RequestInput};
use portcullis_gate::engine::CompletionToken;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Longest wait for the usage after the end of the answer.
const USAGE: Duration = Duration::from_secs(1);

/// A piece of a model server's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamDelta {
    /// Text of a channel.
    Text {
        /// Index of the choice.
        choice: u32,
        channel: AnswerChannel,
        text: String,
    },
    /// A fragment of a tool call.
    Call {
        /// Index of the choice.
        choice: u32,
        fragment: CallFragment,
    },
    /// Tokens of a choice's text, with log-probabilities. Sent before that text, if the gate requested them.
    Tokens {
        /// Index of the choice.
        choice: u32,
        tokens: Vec<CompletionToken>,
    },
    /// The end of a choice.
    Finish {
        /// Index of the choice.
        choice: u32,
        finish: FinishReason,
    },
    /// Token counts of the whole answer: not more than the bytes that the gateway sent and received.
    Usage(TokenUsage),
}

/// Why a model server's answer failed. Messages contain no text from the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    #[error("the model's server cannot be reached")]
    Unreachable,
    #[error("the model's server answered with status {0}")]
    Status(u16),
    #[error("the model's server did not give {0} in time")]
    Late(&'static str),
    #[error("the model's server did not answer with a stream of events")]
    NotEvents,
    /// The answer is malformed.
    #[error("the answer of the model's server cannot be read: {0}")]
    Malformed(&'static str),
    /// An event exceeds its limits.
    #[error("the answer of the model's server cannot be read: {0}")]
    Events(SseError),
    #[error("the model's server reported an error while it answered")]
    Reported,
    #[error("the answer of the model's server broke off")]
    Cut,
}

impl UpstreamError {
    /// The kind of error, for metrics and logs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Status(_) => "status",
            Self::Late(_) => "late",
            Self::NotEvents => "not_events",
            Self::Malformed(_) => "malformed",
            Self::Events(_) => "events",
            Self::Reported => "reported",
            Self::Cut => "cut",
        }
    }
}

/// A model server.
#[derive(Clone, Debug)]
pub struct UpstreamClient {
    client: reqwest::Client,
    kind: UpstreamKind,
    /// Base URL of the server's API, without a slash at the end.
    base: String,
    key: Option<String>,
    /// The server's name for the model; `None` if the client's name is used.
    model: Option<String>,
    strict: bool,
    limits: GatewayLimits,
}

/// Turns events into deltas.
trait DeltaDecoder: Send {
    /// Reads one event.
    fn event(&mut self, event: &SseEvent, deltas: &mut DeltaQueue) -> Result<(), UpstreamError>;
}

/// The result of a decoder.
#[derive(Debug, Default)]
struct DeltaQueue {
    queue: VecDeque<UpstreamDelta>,
    /// The answer is complete; later data is ignored.
    done: bool,
    /// Choices that have ended; later data for them is dropped.
    finished: BTreeSet<u32>,
    /// Number of requested choices.
    choices: u32,
    /// Number of unknown fields.
    unknown: u64,
    /// Whether the model's refusal belongs to its content.
    refusal_is_content: bool,
    /// Number of bytes in the request to the server.
    asked: u64,
    /// Number of bytes and pieces of the answer's texts and calls.
    answered: u64,
}

impl DeltaQueue {
    fn push(&mut self, mut delta: UpstreamDelta) -> Result<(), UpstreamError> {
        if let UpstreamDelta::Text { channel: channel @ AnswerChannel::Refusal, .. } = &mut delta
            && self.refusal_is_content
        {
            *channel = AnswerChannel::Content;
        }
        let choice = match &delta {
            UpstreamDelta::Text { choice, .. }
            | UpstreamDelta::Call { choice, .. }
            | UpstreamDelta::Tokens { choice, .. }
            | UpstreamDelta::Finish { choice, .. } => *choice,
            UpstreamDelta::Usage(_) => {
                self.queue.push_back(delta);
                return Ok(());
            }
        };
        if choice >= self.choices {
            return Err(UpstreamError::Malformed("a choice that was not asked for"));
        }
        if self.finished.contains(&choice) {
            return Ok(());
        }
        let bytes = match &delta {
            UpstreamDelta::Text { text, .. } => text.len(),
            UpstreamDelta::Call { fragment: CallFragment { name, arguments, .. }, .. } => {
                name.as_ref().map_or(0, String::len) + arguments.len()
            }
            UpstreamDelta::Tokens { .. } | UpstreamDelta::Finish { .. } | UpstreamDelta::Usage(_) => 0,
        };
        if matches!(delta, UpstreamDelta::Finish { .. }) {
            self.finished.insert(choice);
        } else {
            self.answered = self.answered.saturating_add(bytes as u64).saturating_add(1);
        }
        self.queue.push_back(delta);
        Ok(())
    }

    /// The next delta. The server chooses its counts, so they are bounded by what the gateway saw: a token has at least
    /// one byte, or is a piece of its own.
    fn pop(&mut self) -> Option<UpstreamDelta> {
        let delta = self.queue.pop_front()?;
        Some(match delta {
            UpstreamDelta::Usage(TokenUsage { prompt, completion }) => UpstreamDelta::Usage(TokenUsage {
                prompt: prompt.min(self.asked),
                completion: completion.min(self.answered),
            }),
            delta => delta,
        })
    }

    fn is_complete(&self) -> bool {
        u32::try_from(self.finished.len()).is_ok_and(|finished| finished >= self.choices)
    }
}

/// A model server's answer in progress.
pub struct DeltaStream {
    response: reqwest::Response,
    reader: SseReader,
    decoder: Box<dyn DeltaDecoder>,
    deltas: DeltaQueue,
    strict: bool,
    limits: GatewayLimits,
    /// Deadline of the next byte.
    due: Instant,
    what: &'static str,
    /// Deadline of the whole answer.
    ends: Instant,
    bytes: usize,
}

impl UpstreamClient {
    /// A server at this address.
    #[must_use]
    pub fn new(client: reqwest::Client, settings: UpstreamSettings, limits: GatewayLimits) -> Self {
        let UpstreamSettings { kind, base, key, model, strict } = settings;
        Self { client, kind, base, key, model, strict, limits }
    }

    /// Refuses requests that this server does not support, before a stream begins.
    ///
    /// # Errors
    /// [`ApiError`] names the field.
    pub fn check(&self, request: &ClientRequest) -> Result<(), ApiError> {
        if self.kind != UpstreamKind::Anthropic {
            return Ok(());
        }
        let sampling = &request.sampling;
        let fields = [
            ("prompt", matches!(request.input, RequestInput::Prompt(_))),
            ("n", request.choices != 1),
            ("response_format", request.response_format.is_some()),
            ("reasoning_effort", request.reasoning_effort.is_some()),
            ("verbosity", request.verbosity.is_some()),
            ("seed", sampling.seed.is_some()),
            ("presence_penalty", sampling.presence_penalty.is_some()),
            ("frequency_penalty", sampling.frequency_penalty.is_some()),
        ];
        match fields.iter().find(|(_, is_set)| *is_set) {
            Some((field, _)) => Err(ApiError::invalid(*field, "the server of this model has no such field")),
            None => Ok(()),
        }
    }

    /// Whether this server returns log-probabilities for the answer to this request.
    #[must_use]
    pub fn gives_logprobs(&self, request: &ClientRequest) -> bool {
        // llama.cpp's server refuses streams with both log-probabilities and tools.
        self.kind != UpstreamKind::LlamaCpp || request.tools.is_empty()
    }

    /// Requests an answer that begins with `begun`, which can be empty. The returned stream starts after `begun`.
    ///
    /// # Errors
    /// [`UpstreamError`].
    pub async fn ask(&self, request: &ClientRequest, begun: &str) -> Result<DeltaStream, UpstreamError> {
        let model = self.model.as_deref().unwrap_or(&request.model);
        if !begun.is_empty() && !self.kind.continues() {
            return Err(UpstreamError::Malformed("this upstream begins every answer anew"));
        }
        let (path, body, decoder): (&str, Value, Box<dyn DeltaDecoder>) = match (self.kind, &request.input) {
            (UpstreamKind::Anthropic, RequestInput::Messages(messages)) => (
                "/messages",
                anthropic::body(request, messages, model),
                Box::new(anthropic::AnthropicEventDecoder::default()),
            ),
            (UpstreamKind::Anthropic, RequestInput::Prompt(_)) => {
                return Err(UpstreamError::Malformed("this upstream has no completions"));
            }
            (_, RequestInput::Messages(messages)) => {
                let mut body = openai::chat_body(request, messages, model);
                if !begun.is_empty() {
                    openai::go_on(&mut body, begun, self.kind);
                }
                ("/chat/completions", Value::Object(body), Box::new(openai::ChatChunks(request.sampling.logprobs)))
            }
            (_, RequestInput::Prompt(prompt)) => {
                let prompt = format!("{prompt}{begun}");
                let decoder = Box::new(openai::CompletionChunks(request.sampling.logprobs));
                ("/completions", openai::completions_body(request, &prompt, model), decoder)
            }
        };
        let asked = self.authorize(self.client.post(format!("{}{path}", self.base)));
        let asked = asked.header("content-type", "application/json").header("accept", "text/event-stream");
        let start = Instant::now();
        let ends = start + self.limits.whole();
        let due = (start + self.limits.first_token()).min(ends);
        let body = body.to_string();
        let deltas = DeltaQueue {
            choices: request.choices,
            refusal_is_content: request.refusal_is_content,
            asked: body.len() as u64,
            ..DeltaQueue::default()
        };
        let sent = timeout_at(due, asked.body(body).send()).await;
        let response = sent.map_err(|_| UpstreamError::Late("the head of its answer"))?;
        let response = response.map_err(|error| {
            tracing::warn!(url = self.shown(path), "the model's server cannot be reached");
            match error.is_timeout() {
                true => UpstreamError::Late("a connection"),
                false => UpstreamError::Unreachable,
            }
        })?;
        if response.status() != reqwest::StatusCode::OK {
            let status = response.status().as_u16();
            tracing::warn!(url = self.shown(path), status, "the model's server answered with an error");
            return Err(UpstreamError::Status(response.status().as_u16()));
        }
        let is = |name: &str, value: &str| {
            let found = response.headers().get(name).and_then(|found| found.to_str().ok()).unwrap_or_default();
            found.split(';').next().is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
        };
        let coded = response.headers().contains_key("content-encoding") && !is("content-encoding", "identity");
        if coded || !is("content-type", "text/event-stream") {
            return Err(UpstreamError::NotEvents);
        }
        Ok(DeltaStream {
            response,
            reader: SseReader::new(self.limits.line_bytes),
            decoder,
            deltas,
            strict: self.strict,
            limits: self.limits.clone(),
            due,
            what: "the first token",
            ends,
            bytes: 0,
        })
    }
}

/// Settings of a model server.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// The API of the server.
    pub kind: UpstreamKind,
    /// Base URL of the server's API, without a slash at the end.
    pub base: String,
    /// Key that the gateway sends.
    pub key: Option<String>,
    /// The server's name for the model.
    pub model: Option<String>,
    /// Whether an unknown field ends the answer.
    pub strict: bool,
}

impl UpstreamClient {
    /// The API of the server, with its host and port.
    pub(crate) fn server(&self) -> (UpstreamKind, Option<(String, u16)>) {
        let url = url::Url::parse(&self.base).ok();
        let place = url.and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
        (self.kind, place)
    }
}

impl DeltaStream {
    /// The next delta; `None` when the answer is complete.
    ///
    /// # Errors
    /// [`UpstreamError`]; no delta follows.
    pub async fn next(&mut self) -> Result<Option<UpstreamDelta>, UpstreamError> {
        loop {
            if let Some(delta) = self.deltas.pop() {
                return Ok(Some(delta));
            }
            if self.deltas.done {
                return if self.deltas.is_complete() { Ok(None) } else { Err(UpstreamError::Cut) };
            }
            let chunk = timeout_at(self.due.min(self.ends), self.response.chunk()).await;
            let chunk = chunk.map_err(|_| UpstreamError::Late(self.what))?.map_err(|_| UpstreamError::Cut)?;
            let Some(chunk) = chunk else {
                // The body ended without `[DONE]`; the answer is complete if every choice has ended.
                self.deltas.done = true;
                continue;
            };
            self.bytes = self.bytes.saturating_add(chunk.len());
            if self.bytes > self.limits.stream_bytes {
                return Err(UpstreamError::Malformed("it is longer than the bound"));
            }
            for event in self.reader.push(&chunk).map_err(UpstreamError::Events)? {
                // Comments only keep the connection alive; events reset the deadline.
                self.what = "the next token";
                self.due = Instant::now() + self.limits.between_tokens();
                if !self.deltas.done {
                    self.decoder.event(&event, &mut self.deltas)?;
                }
            }
            if self.strict && self.deltas.unknown > 0 {
                return Err(UpstreamError::Malformed("a field that this program does not know"));
            }
        }
    }

    /// Reads on after the end of the answer, for a limited time, and gives each usage to `each` until that breaks.
    /// Other deltas and errors are ignored.
    pub(crate) async fn usages(&mut self, mut each: impl FnMut(TokenUsage) -> ControlFlow<()>) {
        let read = async {
            while let Ok(Some(delta)) = self.next().await {
                if let UpstreamDelta::Usage(usage) = delta
                    && each(usage).is_break()
                {
                    return;
                }
            }
        };
        let _ = timeout(USAGE, read).await;
    }

    /// Restarts the timeout after a pause that the server did not cause.
    pub fn resume(&mut self) {
        self.due = self.due.max(Instant::now() + self.limits.between_tokens());
    }

    /// Number of unknown fields that were dropped.
    #[must_use]
    pub const fn unknown(&self) -> u64 {
        self.deltas.unknown
    }
}

/// An HTTP client for model servers. `authorities` are CA certificates in PEM; `None` uses the system's.
///
/// # Errors
/// The certificates cannot be read.
pub fn client(connect: Duration, authorities: Option<&[u8]>) -> Result<reqwest::Client, reqwest::Error> {
    // An error means that a provider is installed already, and all parts of the program install this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")));
    if let Some(authorities) = authorities {
        builder = builder.tls_certs_only(reqwest::Certificate::from_pem_bundle(authorities)?);
    }
    builder.build()
}
