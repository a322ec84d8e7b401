//! Engines for `run`.

use crate::failure::CommandFailure;
use anyhow::{Context, anyhow};
use portcullis_gate::engine::{
    CandidateEngine, DeadlineEngine, EngineError, HttpEngine, HttpSettings, ModelServerProtocol, NgramEngine,
    PromptTemplate,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which engine items that are tasks (`{"id", "intent", "facts"}`) are driven with.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Engine options")]
pub(crate) struct EngineArgs {
    /// Engine for tasks: `ngram:FILE` (n-grams of a text), `openai:http://HOST:PORT` (`/v1/completions`) or
    /// `llama:http://HOST:PORT` (llama.cpp's `/completion`); both also with `https://`.
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
    /// File of certificates (PEM) that may vouch for an `https://` server. Default: those of Mozilla's programme.
    #[arg(long, value_name = "FILE")]
    engine_ca: Option<PathBuf>,
    /// Chat template: a file with `{prompt}` once, where intent and facts go and after which the answer begins; or
    /// `server`, which asks llama.cpp's server to render its model's own. Default: none, for models that complete text.
    #[arg(long, value_name = "FILE|server")]
    engine_template: Option<String>,
    /// Text at which the server stops; may be given several times.
    #[arg(long, value_name = "TEXT")]
    engine_stop: Vec<String>,
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

pub(crate) enum EngineFactory {
    Ngram(NgramEngine, Duration),
    Http(HttpSettings),
}

impl EngineArgs {
    /// Makes the engines; `None` if no engine was requested.
    pub(crate) fn maker(&self) -> Result<Option<EngineFactory>, CommandFailure> {
        let Some(engine) = &self.engine else { return Ok(None) };
        let deadline = Duration::from_millis(self.engine_deadline);
        let (kind, rest) = engine.split_once(':').unwrap_or((engine, ""));
        let protocol = match kind {
            "ngram" => {
                let text = std::fs::read_to_string(rest).with_context(|| format!("cannot read `{rest}`"))?;
                let model = NgramEngine::new(&text, self.ngram_order, self.engine_seed, self.ngram_bytes);
                return Ok(Some(EngineFactory::Ngram(model.map_err(anyhow::Error::from)?, deadline)));
            }
            "openai" => ModelServerProtocol::OpenAi,
            "llama" => ModelServerProtocol::Llama,
            _ => return Err(anyhow!("`{engine}`: expected `ngram:FILE`, `openai:URL` or `llama:URL`").into()),
        };
        let read =
            |path: &Path| std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()));
        let settings = HttpSettings {
            protocol,
            address: rest.to_owned(),
            authorities: self.engine_ca.as_deref().map(read).transpose()?,
            template: match self.engine_template.as_deref() {
                None => PromptTemplate::None,
                Some("server") => PromptTemplate::Server,
                Some(file) => PromptTemplate::Text(read(Path::new(file))?),
            },
            stop: self.engine_stop.clone(),
            model: self.engine_model.clone(),
            seed: self.engine_seed,
            temperature: self.engine_temperature.clone(),
            tokens: self.engine_tokens,
            deadline,
        };
        // Report an unusable address before anything is governed.
        HttpEngine::new(settings.clone()).map_err(anyhow::Error::from)?;
        Ok(Some(EngineFactory::Http(settings)))
    }
}

impl EngineFactory {
    pub(crate) fn make(&self) -> Result<Box<dyn CandidateEngine>, EngineError> {
        Ok(match self {
            Self::Ngram(model, deadline) => Box::new(DeadlineEngine::new(Box::new(model.clone()), *deadline)),
            // The request has its own, earlier deadline. This deadline is for delays that the request's does not cover.
            Self::Http(settings) => {
                let bound = settings.deadline.saturating_mul(2);
                Box::new(DeadlineEngine::new(Box::new(HttpEngine::new(settings.clone())?), bound))
            }
        })
    }
}
