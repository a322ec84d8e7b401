//! Engines behind HTTP, driven step by step: request one span, judge it, continue from the admitted text.
//!
//! Structural starvation: a request contains the operator's words, admitted text and sampling settings, and nothing
//! else: no tools, no retrieval, no conversation, no cache, no refused text. An alternative is requested with the same
//! bytes and another seed. Each request uses its own connection; nothing is kept between requests. One
//! deadline covers name look-up, connection, request and the whole body.

use super::completion::proposal;
use super::{CandidateEngine, EngineError, EngineProposal, EngineView, ModelServerProtocol};
use portcullis_http::client::{
    BoundedClient, ExchangeError, ExchangeFault, ExchangeLimits, HttpAnswer, RootsError, TrustedRoots,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest accepted answer, in bytes.
const ANSWER_MAX: u64 = 1 << 20;
/// Largest size of the verified facts in a prompt, in bytes.
const FACTS_MAX: usize = 16 << 10;
/// The placeholder for the operator's words in templates.
const PROMPT: &str = "{prompt}";

impl ModelServerProtocol {
    const fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/completions",
            Self::Llama => "/completion",
        }
    }
}

/// Settings of a model server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    pub protocol: ModelServerProtocol,
    /// `http://host:port` or `https://host:port`, without a path.
    pub address: String,
    /// Certificates (PEM) to trust for an `https` server; `None` trusts the authorities of Mozilla's programme.
    pub authorities: Option<String>,
    /// The text around the prompt.
    pub template: PromptTemplate,
    /// Texts at which the server stops.
    pub stop: Vec<String>,
    /// Model name, for servers with several models.
    pub model: Option<String>,
    /// Seed of the first request with a prompt. Each further request with the same prompt uses the next number.
    pub seed: u64,
    /// Sampling temperature, as decimal text.
    pub temperature: String,
    /// Largest number of tokens of a candidate.
    pub tokens: u32,
    /// Time limit of one request with its answer.
    pub deadline: Duration,
}

/// The form of the operator's words before the admitted text. With a template, a model that was trained on
/// conversations continues in the role of the assistant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PromptTemplate {
    /// No template: the words, a blank line, the admitted text.
    #[default]
    None,
    /// A text that contains `{prompt}` once. The admitted text follows this text.
    Text(String),
    /// The server's own chat template: llama.cpp's `POST /apply-template` renders the words as a user message.
    Server,
}

/// A server as an engine.
pub struct HttpEngine {
    settings: HttpSettings,
    temperature: Box<RawValue>,
    http: BoundedClient,
    /// Number of requests so far, by the digest of the prompt. It is added to the seed: equal prompts get different
    /// seeds.
    asked: BTreeMap<[u8; 32], u64>,
    /// The operator's words as the server rendered them.
    rendered: Option<String>,
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
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
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
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
}

#[derive(Deserialize)]
struct Rendered {
    prompt: String,
}

impl HttpEngine {
    /// Makes an engine for a server. Errors: the address, the temperature, a certificate or the template is unusable.
    pub fn new(settings: HttpSettings) -> Result<Self, EngineError> {
        let unusable = |what: String| Err(EngineError::Gone(what));
        let address = settings.address.trim_end_matches('/').to_owned();
        if !address.starts_with("http://") && !address.starts_with("https://") {
            return unusable(format!("`{address}` is no http:// or https:// address"));
        }
        let number = settings.temperature.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let temperature = RawValue::from_string(settings.temperature.clone()).ok().filter(|_| number);
        let Some(temperature) = temperature else {
            return unusable(format!("`{}` is no temperature", settings.temperature));
        };
        match &settings.template {
            PromptTemplate::Text(text) if text.matches(PROMPT).count() != 1 => {
                return unusable(format!("the template does not hold `{PROMPT}` once"));
            }
            PromptTemplate::Server if settings.protocol != ModelServerProtocol::Llama => {
                return unusable("only llama.cpp's server renders a template: give its text".to_owned());
            }
            _ => {}
        }
        let roots = settings.authorities.as_deref().map(TrustedRoots::from_pem).transpose().map_err(|error| {
            let what = match error {
                RootsError::Pem(error) => error.to_string(),
                RootsError::Empty => "it holds no certificate in PEM".to_owned(),
            };
            EngineError::Gone(format!("the file of authorities: {what}"))
        })?;
        let limits = ExchangeLimits { time: settings.deadline, answer_bytes: ANSWER_MAX };
        let http = BoundedClient::direct(limits, roots.unwrap_or(TrustedRoots::mozilla()));
        let settings = HttpSettings { address, ..settings };
        Ok(Self { settings, temperature, http, asked: BTreeMap::new(), rendered: None })
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.settings.address)
    }

    /// The whole prompt: the operator's words in the template, then the admitted text.
    fn prompt(&mut self, view: &EngineView<'_>) -> Result<String, EngineError> {
        let words = words(view);
        let before = match &self.settings.template {
            PromptTemplate::None if words.is_empty() => words,
            PromptTemplate::None => words + "\n\n",
            PromptTemplate::Text(text) => text.replace(PROMPT, &words),
            PromptTemplate::Server => match &self.rendered {
                Some(rendered) => rendered.clone(),
                None => self.rendered.insert(self.render(&words)?).clone(),
            },
        };
        Ok(before + view.admitted)
    }

    /// Requests the words in the server's own template.
    fn render(&self, words: &str) -> Result<String, EngineError> {
        let unusable = |e: serde_json::Error| EngineError::Answer(format!("the server rendered no template: {e}"));
        let request = serde_json::json!({"messages": [{"role": "user", "content": words}]});
        let answer = self.post("/apply-template", &serde_json::to_vec(&request).map_err(unusable)?)?;
        let Rendered { prompt } = serde_json::from_slice(&answer).map_err(unusable)?;
        Ok(prompt)
    }

    fn body(&self, prompt: &str, asked: u64) -> Result<Vec<u8>, EngineError> {
        let seed = self.settings.seed.wrapping_add(asked);
        let (tokens, temperature) = (self.settings.tokens, &*self.temperature);
        let body = match self.settings.protocol {
            ModelServerProtocol::OpenAi => serde_json::to_vec(&OpenAiRequest {
                model: self.settings.model.as_deref(),
                prompt,
                max_tokens: tokens,
                temperature,
                n: 1,
                logprobs: 1,
                stream: false,
                seed,
                stop: &self.settings.stop,
            }),
            ModelServerProtocol::Llama => serde_json::to_vec(&LlamaRequest {
                prompt,
                n_predict: tokens,
                temperature,
                n_probs: 1,
                cache_prompt: false,
                stream: false,
                seed,
                stop: &self.settings.stop,
            }),
        };
        body.map_err(|e| EngineError::Answer(e.to_string()))
    }

    fn post(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, EngineError> {
        let url = self.url(path);
        let failed = |error: ExchangeError| {
            let gone = format!("{url}: {error}");
            match error.into_fault() {
                ExchangeFault::Deadline => EngineError::Deadline {
                    millis: u64::try_from(self.settings.deadline.as_millis()).unwrap_or(u64::MAX),
                },
                ExchangeFault::Oversize => EngineError::Answer(format!("it is longer than {ANSWER_MAX} bytes")),
                _ => EngineError::Gone(gone),
            }
        };
        let headers = [("content-type", "application/json"), ("connection", "close")];
        let HttpAnswer { status, body: bytes } = self.http.post(&url, &headers, body).map_err(failed)?;
        if status == 200 { Ok(bytes) } else { Err(EngineError::Answer(format!("{url} answered with status {status}"))) }
    }
}

/// The operator's words: the intent and the facts, with limited length.
fn words(view: &EngineView<'_>) -> String {
    let mut words = view.intent.trim().to_owned();
    let mut room = FACTS_MAX;
    for fact in view.facts {
        let Some(left) = room.checked_sub(fact.len()) else { break };
        room = left;
        words.push_str(if words.is_empty() { "- " } else { "\n- " });
        words.push_str(fact);
    }
    words
}

impl CandidateEngine for HttpEngine {
    fn name(&self) -> String {
        self.url(self.settings.protocol.path())
    }

    fn propose(&mut self, view: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
        let prompt = self.prompt(view)?;
        // In most models, a token begins with the space before its word. The spaces at the end of the prompt are cut
        // off here, because they belong to the next token.
        let (prompt, space) = prompt.split_at(prompt.trim_end_matches(' ').len());
        let digest = Sha256::digest(prompt).into();
        let asked = self.asked.get(&digest).copied().unwrap_or(0);
        let answer = self.post(self.settings.protocol.path(), &self.body(prompt, asked)?)?;
        self.asked.insert(digest, asked + 1);
        proposal(self.settings.protocol, &answer, attempt, space)
    }

    fn advance(&mut self, _admitted: &str) {}

    fn roll_back(&mut self, _steps: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(protocol: ModelServerProtocol) -> HttpEngine {
        let settings = HttpSettings {
            protocol,
            address: "http://127.0.0.1:1".into(),
            authorities: None,
            template: PromptTemplate::None,
            stop: Vec::new(),
            model: None,
            seed: 40,
            temperature: "0.8".into(),
            tokens: 64,
            deadline: Duration::from_secs(1),
        };
        HttpEngine::new(settings).unwrap()
    }

    #[test]
    fn an_alternative_is_the_same_request_with_another_seed() {
        for protocol in [ModelServerProtocol::OpenAi, ModelServerProtocol::Llama] {
            let mut engine = engine(protocol);
            let facts = ["Ships float.".to_owned()];
            let view = EngineView { intent: "Tell of ships.", facts: &facts, admitted: "Ships sail." };
            let prompt = engine.prompt(&view).unwrap();
            assert_eq!(prompt, "Tell of ships.\n- Ships float.\n\nShips sail.");
            engine.settings.template = PromptTemplate::Text("<user>{prompt}<model>".to_owned());
            assert_eq!(engine.prompt(&view).unwrap(), "<user>Tell of ships.\n- Ships float.<model>Ships sail.");
            let of = |attempt| String::from_utf8(engine.body(&prompt, attempt).unwrap()).unwrap();
            assert_eq!(of(0).replace("\"seed\":40", "\"seed\":42"), of(2));
            for word in ["tool", "messages", "user", "session", "conversation", "reject"] {
                assert!(!of(0).contains(word), "{word}");
            }
        }
    }

    #[test]
    fn settings_that_cannot_be_used_are_said_before_anything_is_asked() {
        let settings = engine(ModelServerProtocol::OpenAi).settings;
        let template = |text: &str| PromptTemplate::Text(text.to_owned());
        for (bad, why) in [
            (HttpSettings { address: "ftp://a".into(), ..settings.clone() }, "no http:// or https:// address"),
            (HttpSettings { temperature: "hot".into(), ..settings.clone() }, "no temperature"),
            (HttpSettings { template: template("none"), ..settings.clone() }, "`{prompt}` once"),
            (HttpSettings { template: template("{prompt}{prompt}"), ..settings.clone() }, "`{prompt}` once"),
            (HttpSettings { template: PromptTemplate::Server, ..settings.clone() }, "give its text"),
            (HttpSettings { authorities: Some("x".into()), ..settings.clone() }, "no certificate in PEM"),
        ] {
            let error = HttpEngine::new(bad).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_reached_is_an_error() {
        let view = EngineView { intent: "x", facts: &[], admitted: "" };
        assert!(matches!(engine(ModelServerProtocol::Llama).propose(&view, 0), Err(EngineError::Gone(_))));
    }
}
