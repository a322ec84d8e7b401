//! Engines behind HTTP, driven step by step: ask for one span, judge it, go on from what was admitted.
//!
//! Structural starvation: a request holds the operator's words, admitted text and sampling settings, and nothing else: no tools, no
//! retrieval, no conversation, no cache, no word of what was refused. Another alternative is the byte-identical request with another
//! seed. Each request has a connection of its own; nothing is kept between them. `ureq` speaks HTTP: its one deadline covers name
//! look-up, connection, request and the whole body.

use super::{Engine, EngineError, Proposal, View};
use crate::source::Candidate;
use portcullis_mapping::LogProbs;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::Duration;

/// Longest answer that is read, in bytes.
const ANSWER_MAX: u64 = 1 << 20;
/// Most bytes of verified facts in a prompt.
const FACTS_MAX: usize = 16 << 10;

/// Which protocol the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI-compatible `POST /v1/completions`.
    OpenAi,
    /// llama.cpp's `POST /completion`.
    Llama,
}

/// How a server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Which protocol.
    pub protocol: Protocol,
    /// `http://host:port`, without a path.
    pub address: String,
    /// Model, for servers that have several.
    pub model: Option<String>,
    /// Seed of the first candidate of each place; the next has the next.
    pub seed: u64,
    /// Sampling temperature, as decimal text.
    pub temperature: String,
    /// Tokens of one candidate at most.
    pub tokens: u32,
    /// Bound on one request and its answer.
    pub deadline: Duration,
}

/// A server as an engine.
pub struct Http {
    settings: HttpSettings,
    url: String,
    temperature: Box<RawValue>,
    agent: ureq::Agent,
}

#[derive(Serialize)]
struct OpenAiRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    prompt: &'a str,
    max_tokens: u32,
    temperature: &'a RawValue,
    n: u32,
    logprobs: u32,
    stream: bool,
    seed: u64,
}

#[derive(Serialize)]
struct LlamaRequest<'a> {
    prompt: &'a str,
    n_predict: u32,
    temperature: &'a RawValue,
    n_probs: u32,
    cache_prompt: bool,
    stream: bool,
    seed: u64,
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    text: String,
    #[serde(default)]
    logprobs: Option<TokenLogprobs>,
}

#[derive(Deserialize)]
struct TokenLogprobs {
    #[serde(default)]
    token_logprobs: Vec<Option<Box<RawValue>>>,
}

#[derive(Deserialize)]
struct LlamaAnswer {
    content: String,
    #[serde(default)]
    completion_probabilities: Vec<LlamaToken>,
}

#[derive(Deserialize)]
struct LlamaToken {
    #[serde(default)]
    logprob: Option<Box<RawValue>>,
}

impl Http {
    /// An engine that asks a server.
    ///
    /// # Errors
    /// The address is no `http://` address, or the temperature no number.
    pub fn new(settings: HttpSettings) -> Result<Self, EngineError> {
        let path = match settings.protocol {
            Protocol::OpenAi => "/v1/completions",
            Protocol::Llama => "/completion",
        };
        let address = settings.address.trim_end_matches('/');
        if !address.starts_with("http://") {
            let what = format!("`{address}` is no http:// address; for https put a local proxy in front");
            return Err(EngineError::Gone(what));
        }
        let number = settings.temperature.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let temperature = RawValue::from_string(settings.temperature.clone()).ok().filter(|_| number);
        let temperature =
            temperature.ok_or_else(|| EngineError::Gone(format!("`{}` is no temperature", settings.temperature)))?;
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(settings.deadline))
            .max_redirects(0)
            .http_status_as_error(false)
            .max_idle_connections(0)
            .proxy(None)
            .user_agent("portcullis")
            .build()
            .new_agent();
        Ok(Self { url: format!("{address}{path}"), temperature, agent, settings })
    }

    fn body(&self, prompt: &str, attempt: u32) -> Result<Vec<u8>, EngineError> {
        let seed = self.settings.seed.wrapping_add(u64::from(attempt));
        let (tokens, temperature) = (self.settings.tokens, &*self.temperature);
        let body = match self.settings.protocol {
            Protocol::OpenAi => serde_json::to_vec(&OpenAiRequest {
                model: self.settings.model.as_deref(),
                prompt,
                max_tokens: tokens,
                temperature,
                n: 1,
                logprobs: 1,
                stream: false,
                seed,
            }),
            Protocol::Llama => serde_json::to_vec(&LlamaRequest {
                prompt,
                n_predict: tokens,
                temperature,
                n_probs: 1,
                cache_prompt: false,
                stream: false,
                seed,
            }),
        };
        body.map_err(|e| EngineError::Answer(e.to_string()))
    }

    fn post(&self, body: &[u8]) -> Result<Vec<u8>, EngineError> {
        let failed = |error: ureq::Error| match error {
            ureq::Error::Timeout(_) => {
                EngineError::Deadline { millis: u64::try_from(self.settings.deadline.as_millis()).unwrap_or(u64::MAX) }
            }
            ureq::Error::BodyExceedsLimit(_) => EngineError::Answer(format!("it is longer than {ANSWER_MAX} bytes")),
            error => EngineError::Gone(format!("{}: {error}", self.url)),
        };
        let request =
            self.agent.post(&self.url).header("content-type", "application/json").header("connection", "close");
        let mut answer = request.send(body).map_err(failed)?;
        let status = answer.status().as_u16();
        let bytes = answer.body_mut().with_config().limit(ANSWER_MAX).read_to_vec().map_err(failed)?;
        if status == 200 {
            Ok(bytes)
        } else {
            Err(EngineError::Answer(format!("{} answered with status {status}", self.url)))
        }
    }
}

/// What a server's answer proposes: its first span. An alternative (`attempt` over 0) that is empty ends the alternatives.
///
/// # Errors
/// [`EngineError::Answer`]: bytes that are no answer of this protocol.
pub fn proposal(protocol: Protocol, answer: &[u8], attempt: u32) -> Result<Proposal, EngineError> {
    let (text, logprobs) = read(protocol, answer)?;
    let span = first_span(&text);
    if span.trim().is_empty() {
        return Ok(if attempt == 0 { Proposal::End } else { Proposal::Exhausted });
    }
    let logprobs = (!logprobs.is_empty()).then(|| LogProbs::parse(&logprobs));
    Ok(Proposal::Candidate(Candidate { text: span.to_owned(), logprobs, call: None }))
}

fn read(protocol: Protocol, bytes: &[u8]) -> Result<(String, Vec<String>), EngineError> {
    let bad = |e: serde_json::Error| EngineError::Answer(format!("the server gave no completion: {e}"));
    let texts = |raw: Vec<Option<Box<RawValue>>>| raw.into_iter().flatten().map(|r| r.get().to_owned()).collect();
    match protocol {
        Protocol::OpenAi => {
            let answer: OpenAiAnswer = serde_json::from_slice(bytes).map_err(bad)?;
            let mut choices = answer.choices.into_iter();
            let choice = choices.next().ok_or_else(|| EngineError::Answer("it has no choice".into()))?;
            Ok((choice.text, choice.logprobs.map(|l| texts(l.token_logprobs)).unwrap_or_default()))
        }
        Protocol::Llama => {
            let answer: LlamaAnswer = serde_json::from_slice(bytes).map_err(bad)?;
            Ok((answer.content, texts(answer.completion_probabilities.into_iter().map(|t| t.logprob).collect())))
        }
    }
}

/// The prompt: intent, facts, admitted text. Only these, and bounded.
fn prompt(view: &View<'_>) -> String {
    let mut prompt = view.intent.trim().to_owned();
    let mut room = FACTS_MAX;
    for fact in view.facts {
        let Some(left) = room.checked_sub(fact.len()) else { break };
        room = left;
        prompt.push_str(if prompt.is_empty() { "- " } else { "\n- " });
        prompt.push_str(fact);
    }
    if !prompt.is_empty() {
        prompt.push_str("\n\n");
    }
    prompt + view.admitted
}

/// The first sentence of a completion, with the white space before it. What follows is asked for again, after this was judged.
fn first_span(text: &str) -> &str {
    let begin = text.len() - text.trim_start().len();
    let mut characters = text.char_indices().skip_while(|(at, _)| *at < begin).peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, c)| *c);
        if c == '\n' || (matches!(c, '.' | '!' | '?') && next.is_none_or(char::is_whitespace)) {
            return text.get(..at + c.len_utf8()).unwrap_or(text);
        }
    }
    text
}

impl Engine for Http {
    fn name(&self) -> String {
        self.url.clone()
    }

    fn propose(&mut self, view: &View<'_>, attempt: u32) -> Result<Proposal, EngineError> {
        let answer = self.post(&self.body(&prompt(view), attempt)?)?;
        proposal(self.settings.protocol, &answer, attempt)
    }

    fn advance(&mut self, _admitted: &str) {}

    fn roll_back(&mut self, _steps: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(protocol: Protocol) -> Http {
        let settings = HttpSettings {
            protocol,
            address: "http://127.0.0.1:1".into(),
            model: None,
            seed: 40,
            temperature: "0.8".into(),
            tokens: 64,
            deadline: Duration::from_secs(1),
        };
        Http::new(settings).unwrap()
    }

    #[test]
    fn an_alternative_is_the_same_request_with_another_seed() {
        for protocol in [Protocol::OpenAi, Protocol::Llama] {
            let engine = engine(protocol);
            let facts = ["Ships float.".to_owned()];
            let prompt = prompt(&View { intent: "Tell of ships.", facts: &facts, admitted: "Ships sail." });
            assert_eq!(prompt, "Tell of ships.\n- Ships float.\n\nShips sail.");
            let of = |attempt| String::from_utf8(engine.body(&prompt, attempt).unwrap()).unwrap();
            assert_eq!(of(0).replace("\"seed\":40", "\"seed\":42"), of(2));
            for word in ["tool", "messages", "user", "session", "conversation", "reject"] {
                assert!(!of(0).contains(word), "{word}");
            }
        }
    }

    #[test]
    fn a_span_is_one_sentence() {
        assert_eq!(first_span(" It rained. Then it"), " It rained.");
        assert_eq!(first_span("3.5 mg"), "3.5 mg");
        assert_eq!(first_span("\n\nYes! No"), "\n\nYes!");
    }

    #[test]
    fn an_address_that_cannot_be_reached_is_an_error() {
        let view = View { intent: "x", facts: &[], admitted: "" };
        assert!(matches!(engine(Protocol::Llama).propose(&view, 0), Err(EngineError::Gone(_))));
    }
}
