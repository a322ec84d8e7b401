//! Engines for `run`, and a small server that speaks their protocols from recorded steps.

use crate::failure::{Failure, SUCCESS};
use anyhow::{Context, anyhow};
use portcullis_gate::engine::{DeadlineEngine, Engine, EngineError, Http, HttpSettings, Ngram, Protocol};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// Which engine items that are tasks (`{"id", "intent", "facts"}`) are driven with.
#[derive(clap::Args, Clone)]
pub(crate) struct EngineArgs {
    /// Engine for tasks: `ngram:FILE` (n-grams of a text), `openai:http://HOST:PORT` (`/v1/completions`) or `llama:http://HOST:PORT`
    /// (llama.cpp's `/completion`).
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Seed of the first candidate of each place.
    #[arg(long, value_name = "N", default_value_t = 1)]
    engine_seed: u64,
    /// Bound on one proposal, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    engine_deadline: u64,
    /// Model, for servers that have several.
    #[arg(long, value_name = "NAME")]
    engine_model: Option<String>,
    /// Sampling temperature.
    #[arg(long, value_name = "DECIMAL", default_value = "0.8")]
    engine_temperature: String,
    /// Tokens of one candidate at most.
    #[arg(long, value_name = "N", default_value_t = 96)]
    engine_tokens: u32,
    /// `ngram`: words of a context and its next word.
    #[arg(long, value_name = "N", default_value_t = 3)]
    ngram_order: usize,
    /// `ngram`: bytes of admitted text after which the text is complete.
    #[arg(long, value_name = "BYTES", default_value_t = 600)]
    ngram_bytes: usize,
}

/// Makes engines, one a stream.
pub(crate) enum EngineFactory {
    Ngram(Ngram, Duration),
    Http(HttpSettings),
}

impl EngineArgs {
    /// What makes the engines; `None` when none is asked for.
    pub(crate) fn maker(&self) -> Result<Option<EngineFactory>, Failure> {
        let Some(engine) = &self.engine else { return Ok(None) };
        let deadline = Duration::from_millis(self.engine_deadline);
        let (kind, rest) = engine.split_once(':').unwrap_or((engine, ""));
        let protocol = match kind {
            "ngram" => {
                let text = std::fs::read_to_string(rest).with_context(|| format!("cannot read `{rest}`"))?;
                let model = Ngram::new(&text, self.ngram_order, self.engine_seed, self.ngram_bytes);
                return Ok(Some(EngineFactory::Ngram(model.map_err(anyhow::Error::from)?, deadline)));
            }
            "openai" => Protocol::OpenAi,
            "llama" => Protocol::Llama,
            _ => return Err(anyhow!("`{engine}`: expected `ngram:FILE`, `openai:URL` or `llama:URL`").into()),
        };
        let settings = HttpSettings {
            protocol,
            address: rest.to_owned(),
            model: self.engine_model.clone(),
            seed: self.engine_seed,
            temperature: self.engine_temperature.clone(),
            tokens: self.engine_tokens,
            deadline,
        };
        // An address that cannot be used is said before anything is governed.
        Http::new(settings.clone()).map_err(anyhow::Error::from)?;
        Ok(Some(EngineFactory::Http(settings)))
    }
}

impl EngineFactory {
    /// An engine for one stream.
    pub(crate) fn make(&self) -> Result<Box<dyn Engine>, EngineError> {
        Ok(match self {
            Self::Ngram(model, deadline) => Box::new(DeadlineEngine::new(Box::new(model.clone()), *deadline)),
            // The request's own deadline comes first; this one bounds what it might not.
            Self::Http(settings) => {
                let bound = settings.deadline.saturating_mul(2);
                Box::new(DeadlineEngine::new(Box::new(Http::new(settings.clone())?), bound))
            }
        })
    }
}

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Serve recorded steps as `/v1/completions` and `/completion`: for trying out the loop, and for tests.
    Serve {
        /// Steps, one JSON list of alternatives a line: `["text", {"text", "logprobs": [-0.1]}]`. The first prompt gets the first step,
        /// a prompt that was seen before gets its step again, and the seed chooses the alternative.
        #[arg(long, value_name = "FILE")]
        steps: PathBuf,
        /// Address; port 0 takes a free one. The address is printed.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
        listen: String,
        /// What goes wrong, from the request `--fault-after` on.
        #[arg(long)]
        fault: Option<Fault>,
        /// Requests that are answered well before the fault.
        #[arg(long, value_name = "N", default_value_t = 0)]
        fault_after: usize,
        /// Write every request's body to a file, one a line.
        #[arg(long, value_name = "FILE")]
        log: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fault {
    /// No answer for an hour.
    Slow,
    /// The connection is closed without an answer.
    Drop,
    /// The body ends in its middle.
    Cut,
    /// The body is no JSON.
    Garbage,
    /// The body is JSON of another form.
    Shape,
    /// The text is not UTF-8.
    Utf8,
    /// The body never ends.
    Endless,
    /// Status 500.
    Status,
    /// Log-probabilities that are none.
    Logprobs,
}

#[derive(serde::Deserialize, Clone)]
#[serde(untagged)]
enum Alternative {
    Bare(String),
    Full {
        text: String,
        #[serde(default)]
        logprobs: Vec<serde_json::Number>,
    },
}

struct Server {
    steps: Vec<Vec<Alternative>>,
    /// Prompts in the order in which they came, each with the first seed that it came with.
    prompts: Mutex<Vec<(String, u64)>>,
    fault: Option<Fault>,
    fault_after: usize,
    requests: Mutex<usize>,
    log: Option<Mutex<std::fs::File>>,
}

pub(crate) fn run(command: &Command) -> Result<u8, Failure> {
    let Command::Serve { steps, listen, fault, fault_after, log } = command;
    let text = std::fs::read_to_string(steps).with_context(|| format!("cannot read `{}`", steps.display()))?;
    let mut list = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let step = serde_json::from_str(line);
        list.push(
            step.with_context(|| format!("{}, line {}: expected a list of alternatives", steps.display(), number + 1))?,
        );
    }
    let server = Server {
        steps: list,
        prompts: Mutex::default(),
        fault: *fault,
        fault_after: *fault_after,
        requests: Mutex::default(),
        log: log.as_ref().map(std::fs::File::create).transpose()?.map(Mutex::new),
    };
    let listener = TcpListener::bind(listen).with_context(|| format!("cannot listen on {listen}"))?;
    outln!("http://{}", listener.local_addr()?);
    std::thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            let server = &server;
            scope.spawn(move || {
                if let Err(error) = server.answer(stream) {
                    errln!("client: {error:#}");
                }
            });
        }
    });
    Ok(SUCCESS)
}

impl Server {
    fn answer(&self, mut stream: TcpStream) -> anyhow::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            }
        }
        let mut body = Vec::new();
        reader.take(length).read_to_end(&mut body)?;
        if let Some(log) = &self.log
            && let Ok(mut log) = log.lock()
        {
            log.write_all(&[&body[..], b"\n"].concat())?;
        }
        let request: serde_json::Value = serde_json::from_slice(&body)?;
        let number = {
            let mut requests = self.requests.lock().map_err(|_| anyhow!("a request panicked"))?;
            *requests += 1;
            *requests
        };
        let fault = self.fault.filter(|_| number > self.fault_after);
        let (text, logprobs) = self.step(&request)?;
        let logprobs = if fault == Some(Fault::Logprobs) { serde_json::json!([7.5, -0.1]) } else { logprobs };
        let answer = if first.contains("/v1/completions") {
            let choice =
                serde_json::json!({"text": text, "finish_reason": "stop", "logprobs": {"token_logprobs": logprobs}});
            serde_json::json!({"object": "text_completion", "choices": [choice]})
        } else {
            let tokens: Vec<_> =
                logprobs.as_array().into_iter().flatten().map(|l| serde_json::json!({"logprob": l})).collect();
            serde_json::json!({"content": text, "stop": true, "completion_probabilities": tokens})
        };
        let mut bytes = serde_json::to_vec(&answer)?;
        let mut status = "200 OK";
        let whole = bytes.len();
        match fault {
            Some(Fault::Slow) => std::thread::sleep(Duration::from_secs(3600)),
            Some(Fault::Drop) => return Ok(()),
            Some(Fault::Cut) => bytes.truncate(whole / 2),
            Some(Fault::Garbage) => bytes = vec![b'?'; whole],
            Some(Fault::Shape) => bytes = br#"{"choices": "none", "content": 7}"#.to_vec(),
            Some(Fault::Utf8) => {
                bytes = if first.contains("/v1/") {
                    b"{\"choices\":[{\"text\":\"\xff\"}]}".to_vec()
                } else {
                    b"{\"content\":\"\xff\"}".to_vec()
                };
            }
            Some(Fault::Status) => status = "500 Internal Server Error",
            Some(Fault::Endless) => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")?;
                loop {
                    stream.write_all(&[b' '; 4096])?;
                }
            }
            Some(Fault::Logprobs) | None => {}
        }
        let length = if fault == Some(Fault::Cut) { whole } else { bytes.len() };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&bytes)?;
        Ok(())
    }

    /// The text for a request; empty when there is no (further) step or alternative.
    fn step(&self, request: &serde_json::Value) -> anyhow::Result<(String, serde_json::Value)> {
        let prompt = request["prompt"].as_str().context("a request without a prompt")?;
        let seed = request["seed"].as_u64().context("a request without a seed")?;
        let mut prompts = self.prompts.lock().map_err(|_| anyhow!("a request panicked"))?;
        let at = match prompts.iter().position(|(p, _)| p == prompt) {
            Some(at) => at,
            None => {
                prompts.push((prompt.to_owned(), seed));
                prompts.len() - 1
            }
        };
        let first = prompts.get(at).map_or(seed, |(_, s)| *s);
        let alternative = usize::try_from(seed.saturating_sub(first))?;
        Ok(match self.steps.get(at).and_then(|s| s.get(alternative)) {
            Some(Alternative::Bare(text)) => (text.clone(), serde_json::json!([])),
            Some(Alternative::Full { text, logprobs }) => (text.clone(), serde_json::json!(logprobs)),
            None => (String::new(), serde_json::json!([])),
        })
    }
}
