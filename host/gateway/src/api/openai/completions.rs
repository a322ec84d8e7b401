//! OpenAI's completions (API reference, "Completions").

use super::chat::{choices, usage_object};
use super::{data, done, error_object};
use crate::api::event::{AnswerHeader, EventWriter};
use crate::api::fields::{self, OneOrMany, PortcullisExtension};
use crate::error::ApiError;
use crate::output::{AnswerChannel, AnswerProvenance, FinishReason, GatedAnswerPart, TokenUsage};
use crate::request::{ClientRequest, RequestInput, SamplingParameters};
use serde::Deserialize;
use serde_json::{Number, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompletionsRequest {
    prompt: Value,
    model: String,
    stream: Option<bool>,
    stream_options: Option<CompletionsStreamOptions>,
    n: Option<u32>,
    seed: Option<i64>,
    stop: Option<OneOrMany>,
    max_tokens: Option<u64>,
    temperature: Option<Number>,
    top_p: Option<Number>,
    presence_penalty: Option<Number>,
    frequency_penalty: Option<Number>,
    portcullis: Option<PortcullisExtension>,
    #[serde(rename = "user")]
    _user: Option<Value>,
    logprobs: Option<Value>,
    echo: Option<Value>,
    suffix: Option<Value>,
    best_of: Option<u32>,
    logit_bias: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompletionsStreamOptions {
    include_usage: Option<bool>,
    #[serde(rename = "include_obfuscation")]
    _include_obfuscation: Option<bool>,
}

pub(crate) fn parse(bytes: &[u8]) -> Result<ClientRequest, ApiError> {
    let body: CompletionsRequest = fields::read(bytes)?;
    fields::refuse(&[
        ("logprobs", &body.logprobs, "it asks for text that nothing judges"),
        ("echo", &body.echo, "it asks for text that nothing judges"),
        ("suffix", &body.suffix, "it is not handed on"),
        ("logit_bias", &body.logit_bias, "it is not handed on"),
    ])?;
    if body.n.unwrap_or(1) != 1 || body.best_of.unwrap_or(1) != 1 {
        return Err(ApiError::invalid("n", "one choice for each request"));
    }
    let Value::String(prompt) = body.prompt else {
        return Err(ApiError::invalid("prompt", "one string; lists and token ids are not taken"));
    };
    body.portcullis.unwrap_or_default().extend(ClientRequest {
        stream: body.stream.unwrap_or(false),
        include_usage: body.stream_options.and_then(|options| options.include_usage).unwrap_or(false),
        sampling: SamplingParameters {
            max_tokens: body.max_tokens,
            counts_reasoning: false,
            temperature: body.temperature,
            top_p: body.top_p,
            top_k: None,
            presence_penalty: body.presence_penalty,
            frequency_penalty: body.frequency_penalty,
            seed: body.seed,
            stop: body.stop.map(OneOrMany::all).unwrap_or_default(),
            logprobs: false,
        },
        ..ClientRequest::of(bytes, body.model, RequestInput::Prompt(prompt))
    })
}

const fn finish_reason(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop | FinishReason::ToolCalls => "stop",
        FinishReason::Length => "length",
        FinishReason::Refused | FinishReason::Failed => "content_filter",
    }
}

/// Writes chunks.
pub(crate) struct CompletionsEventWriter {
    header: AnswerHeader,
}

impl CompletionsEventWriter {
    pub(crate) const fn new(header: AnswerHeader) -> Self {
        Self { header }
    }

    fn chunk(&self, choices: Value) -> Value {
        let AnswerHeader { id, model, created, .. } = &self.header;
        json!({"id": id, "object": "text_completion", "created": created, "model": model, "choices": choices})
    }

    fn text(&self, choice: u32, text: &str, finish: Option<FinishReason>) -> String {
        let finish = finish.map(finish_reason);
        let choice = json!({"index": choice, "text": text, "logprobs": null, "finish_reason": finish});
        data(&self.chunk(json!([choice])))
    }
}

impl EventWriter for CompletionsEventWriter {
    fn start(&mut self) -> String {
        String::new()
    }

    fn output(&mut self, output: &GatedAnswerPart) -> String {
        match output {
            GatedAnswerPart::Text { choice, channel: AnswerChannel::Content, text }
            | GatedAnswerPart::Constant { choice, channel: AnswerChannel::Content, text } => {
                self.text(*choice, text, None)
            }
            // Completions have only the content channel.
            GatedAnswerPart::Text { .. } | GatedAnswerPart::Constant { .. } | GatedAnswerPart::Call { .. } => {
                String::new()
            }
            GatedAnswerPart::End { choice, finish } => self.text(*choice, "", Some(*finish)),
        }
    }

    fn end(&mut self, usage: TokenUsage, provenance: &AnswerProvenance) -> String {
        let choice = json!({"index": 0, "text": "", "logprobs": null, "finish_reason": null});
        let last = self.chunk(if self.header.include_usage { json!([]) } else { json!([choice]) });
        done(last, self.header.include_usage.then_some(usage), provenance)
    }

    fn fail(&mut self, error: &ApiError, provenance: &AnswerProvenance) -> String {
        done(error_object(error), None, provenance)
    }
}

pub(crate) fn body(
    header: &AnswerHeader,
    outputs: &[GatedAnswerPart],
    usage: TokenUsage,
    provenance: &AnswerProvenance,
) -> Value {
    let choices = choices(outputs).into_iter().map(|(index, choice)| {
        let text = choice.texts.get(&AnswerChannel::Content).cloned().unwrap_or_default();
        json!({"index": index, "text": text, "logprobs": null, "finish_reason": choice.finish.map(finish_reason)})
    });
    json!({
        "id": header.id, "object": "text_completion", "created": header.created, "model": header.model,
        "choices": choices.collect::<Vec<_>>(), "usage": usage_object(usage), "portcullis": provenance,
    })
}
