//! Model servers: requests to them, and reading their answers. Their text goes only to the gate.

mod anthropic;
mod openai;
mod sse;

pub use sse::{SseError, SseEvent, SseReader};

use crate::config::{Limits, UpstreamKind};
use crate::error::ApiError;
use crate::output::{Channel, Finish, Usage};
use crate::request::{Input, Request};
use portcullis_gate::engine::Token;
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Something that a model server wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Text of a channel.
    Text {
        /// Choice.
        choice: u32,
        /// Channel.
        channel: Channel,
        /// The text.
        text: String,
    },
    /// A piece of a tool call. `index` distinguishes calls; one is whole when another begins or its choice ends.
    Call {
        /// Choice.
        choice: u32,
        /// Which call.
        index: u64,
        /// The tool's name; comes once.
        name: Option<String>,
        /// A piece of its arguments.
        arguments: String,
    },
    /// Tokens of a choice's text, which comes after them, where the gate asked for their log-probabilities.
    Tokens {
        /// Choice.
        choice: u32,
        /// In order.
        tokens: Vec<Token>,
    },
    /// A choice is over.
    Finish {
        /// Choice.
        choice: u32,
        /// Why.
        finish: Finish,
    },
    /// Tokens of the whole answer.
    Usage(Usage),
}

/// Why a model server gives no (further) answer. No message holds what it wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// No connection.
    #[error("the model's server cannot be reached")]
    Unreachable,
    /// It refused the request.
    #[error("the model's server answered with status {0}")]
    Status(u16),
    /// It did not answer in time.
    #[error("the model's server did not give {0} in time")]
    Late(&'static str),
    /// Its answer is not a stream of events.
    #[error("the model's server did not answer with a stream of events")]
    NotEvents,
    /// Its answer cannot be read.
    #[error("the answer of the model's server cannot be read: {0}")]
    Malformed(&'static str),
    /// An event is out of bounds.
    #[error("the answer of the model's server cannot be read: {0}")]
    Events(SseError),
    /// It reported an error while it answered.
    #[error("the model's server reported an error while it answered")]
    Reported,
    /// Its answer broke off.
    #[error("the answer of the model's server broke off")]
    Cut,
}

impl UpstreamError {
    /// Its kind, as metrics and logs name it.
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
pub struct Upstream {
    client: reqwest::Client,
    kind: UpstreamKind,
    /// Base of its paths, without a slash at the end.
    base: String,
    key: Option<String>,
    /// Its own name for the model; without it, the client's is handed on.
    model: Option<String>,
    strict: bool,
    limits: Limits,
}

/// Turns events into deltas.
trait Decoder: Send {
    /// Reads one event.
    fn event(&mut self, event: &SseEvent, deltas: &mut Deltas) -> Result<(), UpstreamError>;
}

/// The content that a decoder has read.
#[derive(Debug, Default)]
struct Deltas {
    queue: VecDeque<Delta>,
    /// Nothing more counts.
    done: bool,
    /// Choices that are over: what still comes for them is dropped.
    finished: BTreeSet<u32>,
    /// Choices that were asked for.
    choices: u32,
    /// Fields that this program does not know.
    unknown: u64,
}

impl Deltas {
    fn push(&mut self, delta: Delta) -> Result<(), UpstreamError> {
        let choice = match &delta {
            Delta::Text { choice, .. }
            | Delta::Call { choice, .. }
            | Delta::Tokens { choice, .. }
            | Delta::Finish { choice, .. } => *choice,
            Delta::Usage(_) => {
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
        if matches!(delta, Delta::Finish { .. }) {
            self.finished.insert(choice);
        }
        self.queue.push_back(delta);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        u32::try_from(self.finished.len()).is_ok_and(|finished| finished >= self.choices)
    }
}

/// The answer of a model server while it is written.
pub struct DeltaStream {
    response: reqwest::Response,
    reader: SseReader,
    decoder: Box<dyn Decoder>,
    deltas: Deltas,
    strict: bool,
    limits: Limits,
    /// When the next byte must be there.
    due: Instant,
    what: &'static str,
    /// When everything must be there.
    ends: Instant,
    bytes: usize,
}

impl Upstream {
    /// A server at this address.
    #[must_use]
    pub fn new(client: reqwest::Client, settings: UpstreamSettings, limits: Limits) -> Self {
        let UpstreamSettings { kind, base, key, model, strict } = settings;
        Self { client, kind, base, key, model, strict, limits }
    }

    /// Refuses what this server cannot be asked, before anything begins.
    ///
    /// # Errors
    /// [`ApiError`] names the field.
    pub fn check(&self, request: &Request) -> Result<(), ApiError> {
        if self.kind != UpstreamKind::Anthropic {
            return Ok(());
        }
        let sampling = &request.sampling;
        let fields = [
            ("prompt", matches!(request.input, Input::Prompt(_))),
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

    /// Whether this server can be asked for the log-probabilities of the tokens of this request's answer.
    #[must_use]
    pub fn gives_logprobs(&self, request: &Request) -> bool {
        // llama.cpp's server refuses log-probabilities together with tools in a stream.
        self.kind != UpstreamKind::LlamaCpp || request.tools.is_empty()
    }

    /// Asks for an answer that begins with `begun`, which may be empty. The stream returns only the text after `begun`.
    ///
    /// # Errors
    /// [`UpstreamError`].
    pub async fn ask(&self, request: &Request, begun: &str) -> Result<DeltaStream, UpstreamError> {
        let model = self.model.as_deref().unwrap_or(&request.model);
        if !begun.is_empty() && !self.kind.continues() {
            return Err(UpstreamError::Malformed("this upstream begins every answer anew"));
        }
        let (path, body, decoder): (&str, Value, Box<dyn Decoder>) = match (self.kind, &request.input) {
            (UpstreamKind::Anthropic, Input::Messages(messages)) => {
                ("/messages", anthropic::body(request, messages, model), Box::new(anthropic::Events::default()))
            }
            (UpstreamKind::Anthropic, Input::Prompt(_)) => {
                return Err(UpstreamError::Malformed("this upstream has no completions"));
            }
            (_, Input::Messages(messages)) => {
                let mut body = openai::chat_body(request, messages, model);
                if !begun.is_empty() {
                    openai::go_on(&mut body, begun, self.kind);
                }
                ("/chat/completions", Value::Object(body), Box::new(openai::ChatChunks(request.sampling.logprobs)))
            }
            (_, Input::Prompt(prompt)) => {
                let prompt = format!("{prompt}{begun}");
                let decoder = Box::new(openai::CompletionChunks(request.sampling.logprobs));
                ("/completions", openai::completions_body(request, &prompt, model), decoder)
            }
        };
        let mut asked = self.client.post(format!("{}{path}", self.base));
        asked = asked.header("content-type", "application/json").header("accept", "text/event-stream");
        asked = match (&self.key, self.kind) {
            (Some(key), UpstreamKind::Anthropic) => asked.header("x-api-key", key),
            (Some(key), _) => asked.bearer_auth(key),
            (None, _) => asked,
        };
        if self.kind == UpstreamKind::Anthropic {
            asked = asked.header("anthropic-version", "2023-06-01");
        }
        let start = Instant::now();
        let ends = start + self.limits.whole();
        let due = (start + self.limits.first_token()).min(ends);
        let sent = timeout_at(due, asked.body(body.to_string()).send()).await;
        let response = sent.map_err(|_| UpstreamError::Late("the head of its answer"))?;
        let response = response.map_err(|error| match error.is_timeout() {
            true => UpstreamError::Late("a connection"),
            false => UpstreamError::Unreachable,
        })?;
        if response.status() != reqwest::StatusCode::OK {
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
            deltas: Deltas { choices: request.choices, ..Deltas::default() },
            strict: self.strict,
            limits: self.limits.clone(),
            due,
            what: "the first token",
            ends,
            bytes: 0,
        })
    }
}

/// How a model server is asked.
#[derive(Clone, Debug)]
pub struct UpstreamSettings {
    /// What it speaks.
    pub kind: UpstreamKind,
    /// Base of its paths, without a slash at the end.
    pub base: String,
    /// Its key for the gateway.
    pub key: Option<String>,
    /// Its own name for the model.
    pub model: Option<String>,
    /// Whether a field that this program does not know ends the answer.
    pub strict: bool,
}

impl Upstream {
    /// What it speaks, and where it is: its host and its port.
    pub(crate) fn server(&self) -> (UpstreamKind, Option<(String, u16)>) {
        let url = url::Url::parse(&self.base).ok();
        let place = url.and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
        (self.kind, place)
    }
}

impl DeltaStream {
    /// What comes next; `None` when the answer is whole.
    ///
    /// # Errors
    /// [`UpstreamError`]: nothing more comes.
    pub async fn next(&mut self) -> Result<Option<Delta>, UpstreamError> {
        loop {
            if let Some(delta) = self.deltas.queue.pop_front() {
                return Ok(Some(delta));
            }
            if self.deltas.done {
                return if self.deltas.is_complete() { Ok(None) } else { Err(UpstreamError::Cut) };
            }
            let chunk = timeout_at(self.due.min(self.ends), self.response.chunk()).await;
            let chunk = chunk.map_err(|_| UpstreamError::Late(self.what))?.map_err(|_| UpstreamError::Cut)?;
            let Some(chunk) = chunk else {
                // The end of the body without `[DONE]`: whole if every choice is.
                self.deltas.done = true;
                continue;
            };
            self.bytes = self.bytes.saturating_add(chunk.len());
            if self.bytes > self.limits.stream_bytes {
                return Err(UpstreamError::Malformed("it is longer than the bound"));
            }
            for event in self.reader.push(&chunk).map_err(UpstreamError::Events)? {
                // Comments keep a connection alive; an event is progress.
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

    /// Reading continues after a pause that was not the server's: it has its time again.
    pub fn resume(&mut self) {
        self.due = self.due.max(Instant::now() + self.limits.between_tokens());
    }

    /// Fields that this program does not know, which were dropped.
    #[must_use]
    pub const fn unknown(&self) -> u64 {
        self.deltas.unknown
    }
}

/// A client for model servers. `authorities` are the certificates (PEM) that may vouch for them, where the system's do
/// not.
///
/// # Errors
/// The certificates cannot be read.
pub fn client(connect: Duration, authorities: Option<&[u8]>) -> Result<reqwest::Client, reqwest::Error> {
    // Another part of the program may have chosen it already: it is the same.
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
