//! Servers that speak OpenAI's chat completions and completions.

use super::{DeltaDecoder, DeltaQueue, SseEvent, UpstreamDelta, UpstreamError};
use crate::calls::{CallFragment, IdentifiedCall};
use crate::config::UpstreamKind;
use crate::output::{AnswerChannel, FinishReason, TokenUsage};
use crate::request::{ClientRequest, ConversationMessage, MessageRole, ToolChoice};
use portcullis_gate::engine::chunk_tokens;
use serde_json::{Map, Value, json};

/// Fields that both APIs share. The upstream is always asked for a stream with usage.
fn common(request: &ClientRequest, model: &str) -> Map<String, Value> {
    let sampling = &request.sampling;
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("stream".into(), json!(true));
    body.insert("stream_options".into(), json!({"include_usage": true}));
    let mut put = |name: &str, value: Option<Value>| body.extend(value.map(|value| (name.to_owned(), value)));
    let most = if sampling.counts_reasoning { "max_completion_tokens" } else { "max_tokens" };
    put(most, sampling.max_tokens.map(|n| json!(n)));
    put("temperature", sampling.temperature.as_ref().map(|n| json!(n)));
    put("top_p", sampling.top_p.as_ref().map(|n| json!(n)));
    put("top_k", sampling.top_k.map(|n| json!(n)));
    put("presence_penalty", sampling.presence_penalty.as_ref().map(|n| json!(n)));
    put("frequency_penalty", sampling.frequency_penalty.as_ref().map(|n| json!(n)));
    put("seed", sampling.seed.map(|n| json!(n)));
    put("stop", (!sampling.stop.is_empty()).then(|| json!(sampling.stop)));
    put("n", (request.choices > 1).then(|| json!(request.choices)));
    body
}

pub(super) fn completions_body(request: &ClientRequest, prompt: &str, model: &str) -> Value {
    let mut body = common(request, model);
    body.insert("prompt".into(), json!(prompt));
    body.extend(request.sampling.logprobs.then(|| ("logprobs".to_owned(), json!(1))));
    Value::Object(body)
}

/// Makes the server continue the text `begun`, the beginning of its answer.
pub(super) fn go_on(body: &mut Map<String, Value>, begun: &str, kind: UpstreamKind) {
    if let Some(Value::Array(messages)) = body.get_mut("messages") {
        messages.push(json!({"role": "assistant", "content": begun}));
    }
    // llama.cpp's server continues by default, also in versions that do not have these fields.
    if kind != UpstreamKind::LlamaCpp {
        body.insert("continue_final_message".into(), json!(true));
        body.insert("add_generation_prompt".into(), json!(false));
    }
}

pub(super) fn chat_body(request: &ClientRequest, messages: &[ConversationMessage], model: &str) -> Map<String, Value> {
    let mut body = common(request, model);
    body.insert("messages".into(), messages.iter().map(message).collect());
    if !request.tools.is_empty() {
        let tool = |tool: &crate::request::ToolDefinition| {
            let mut function = Map::from_iter([("name".to_owned(), json!(tool.name))]);
            function.extend(tool.description.as_ref().map(|text| ("description".to_owned(), json!(text))));
            function.extend(tool.parameters.as_ref().map(|schema| ("parameters".to_owned(), schema.clone())));
            function.extend(tool.strict.map(|strict| ("strict".to_owned(), json!(strict))));
            json!({"type": "function", "function": function})
        };
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    let choice = request.tool_choice.as_ref().map(|choice| match choice {
        ToolChoice::None => json!("none"),
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
    });
    body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    body.extend(request.parallel_tool_calls.map(|parallel| ("parallel_tool_calls".to_owned(), json!(parallel))));
    body.extend(request.sampling.logprobs.then(|| ("logprobs".to_owned(), json!(true))));
    body.extend(request.response_format.clone().map(|format| ("response_format".to_owned(), format)));
    body.extend(request.reasoning_effort.as_ref().map(|effort| ("reasoning_effort".to_owned(), json!(effort))));
    body.extend(request.verbosity.as_ref().map(|verbosity| ("verbosity".to_owned(), json!(verbosity))));
    body
}

fn message(message: &ConversationMessage) -> Value {
    let role = match message.role {
        MessageRole::System => "system",
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
        MessageRole::Tool => "tool",
    };
    let mut fields = Map::from_iter([("role".to_owned(), json!(role)), ("content".to_owned(), json!(message.text))]);
    fields.extend(message.call_id.as_ref().map(|id| ("tool_call_id".to_owned(), json!(id))));
    if !message.calls.is_empty() {
        let calls = message.calls.iter().map(|IdentifiedCall { id, call }| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            json!({"id": id, "type": "function", "function": function})
        });
        fields.insert("tool_calls".into(), calls.collect());
    }
    Value::Object(fields)
}

const NOT_AN_OBJECT: UpstreamError = UpstreamError::Malformed("a chunk that is not a JSON object");
const NOT_TEXT: UpstreamError = UpstreamError::Malformed("a text that is not a string");

/// The choices of a chunk; `None` at the end of the stream. Also reads the other fields of the chunk.
fn choices(event: &SseEvent, deltas: &mut DeltaQueue) -> Result<Option<Vec<Map<String, Value>>>, UpstreamError> {
    if event.data.trim() == "[DONE]" {
        deltas.done = true;
        return Ok(None);
    }
    let Ok(Value::Object(chunk)) = serde_json::from_str(&event.data) else { return Err(NOT_AN_OBJECT) };
    if chunk.get("error").is_some_and(|error| !error.is_null()) {
        return Err(UpstreamError::Reported);
    }
    let mut found = None;
    for (name, value) in chunk {
        match (name.as_str(), value) {
            (_, Value::Null) => {}
            ("choices", Value::Array(choices)) => {
                let object = |choice| if let Value::Object(choice) = choice { Ok(choice) } else { Err(NOT_AN_OBJECT) };
                found = Some(choices.into_iter().map(object).collect::<Result<Vec<_>, _>>()?);
            }
            ("choices", _) => return Err(UpstreamError::Malformed("choices that are not a list")),
            ("usage", usage) => {
                let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
                let usage = TokenUsage { prompt: count("prompt_tokens"), completion: count("completion_tokens") };
                deltas.push(UpstreamDelta::Usage(usage))?;
            }
            // Known fields without content for the client: the gateway writes its own values.
            (
                "id" | "object" | "created" | "model" | "system_fingerprint" | "service_tier" | "obfuscation"
                | "timings",
                _,
            ) => {}
            _ => deltas.unknown += 1,
        }
    }
    match found {
        Some(choices) => Ok(Some(choices)),
        None => Err(UpstreamError::Malformed("a chunk without choices")),
    }
}

fn index(choice: &Map<String, Value>) -> Result<u32, UpstreamError> {
    match choice.get("index") {
        None | Some(Value::Null) => Ok(0),
        Some(index) => index
            .as_u64()
            .and_then(|index| u32::try_from(index).ok())
            .ok_or(UpstreamError::Malformed("the index of a choice that is not a number")),
    }
}

fn finish(choice: u32, reason: &Value, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
    let finish = match reason.as_str() {
        None if reason.is_null() => return Ok(()),
        None => return Err(NOT_TEXT),
        Some("stop") => FinishReason::Stop,
        Some("length") => FinishReason::Length,
        Some("tool_calls" | "function_call") => FinishReason::ToolCalls,
        Some("content_filter") => FinishReason::Refused,
        Some(_) => return Err(UpstreamError::Malformed("an end whose reason this program does not know")),
    };
    deltas.push(UpstreamDelta::Finish { choice, finish })
}

/// Reads the choices of a chunk. `read` gets each field that this function does not know, and returns whether it knows
/// the field.
fn read_choices(
    event: &SseEvent,
    deltas: &mut DeltaQueue,
    read: impl Fn(u32, &str, &Value, &mut DeltaQueue) -> Result<bool, UpstreamError>,
) -> Result<(), UpstreamError> {
    for choice in choices(event, deltas)?.into_iter().flatten() {
        let at = index(&choice)?;
        for (name, value) in &choice {
            let is_known = match (name.as_str(), value) {
                ("index" | "finish_reason" | "logprobs" | "stop_reason" | "matched_stop", _) | (_, Value::Null) => true,
                (name, value) => read(at, name, value, deltas)?,
            };
            deltas.unknown += u64::from(!is_known);
        }
        finish(at, choice.get("finish_reason").unwrap_or(&Value::Null), deltas)?;
    }
    Ok(())
}

/// Reads the tokens of a chunk, if log-probabilities were requested. It must run before the chunk's text is read.
fn read_tokens(asked: bool, event: &SseEvent, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
    if !asked || !event.data.contains("\"logprobs\"") {
        return Ok(());
    }
    let wrong = UpstreamError::Malformed("log-probabilities in no form that this program knows");
    let tokens = chunk_tokens(&event.data).map_err(|_| wrong)?;
    tokens.into_iter().try_for_each(|(choice, tokens)| deltas.push(UpstreamDelta::Tokens { choice, tokens }))
}

/// Decodes chunks of chat completions. The flag is whether log-probabilities were requested.
pub(super) struct ChatChunks(pub(super) bool);

impl DeltaDecoder for ChatChunks {
    fn event(&mut self, event: &SseEvent, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
        read_tokens(self.0, event, deltas)?;
        read_choices(event, deltas, |choice, name, value, deltas| match (name, value) {
            ("delta", Value::Object(delta)) => read_delta(choice, delta, deltas).map(|()| true),
            ("delta", _) => Err(NOT_AN_OBJECT),
            _ => Ok(false),
        })
    }
}

fn read_delta(choice: u32, delta: &Map<String, Value>, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
    for (name, value) in delta {
        let channel = match (name.as_str(), value) {
            (_, Value::Null) | ("role", _) => continue,
            ("content", _) => AnswerChannel::Content,
            ("refusal", _) => AnswerChannel::Refusal,
            // Some servers write the same text as `reasoning` and as `reasoning_content`.
            ("reasoning", _) if delta.get("reasoning_content").is_some_and(|other| !other.is_null()) => continue,
            ("reasoning_content" | "reasoning", _) => AnswerChannel::Reasoning,
            ("tool_calls", Value::Array(calls)) => {
                calls.iter().try_for_each(|call| read_call(choice, call, deltas))?;
                continue;
            }
            ("tool_calls" | "function_call" | "audio", _) => {
                return Err(UpstreamError::Malformed("a part of an answer that cannot be judged"));
            }
            _ => {
                deltas.unknown += 1;
                continue;
            }
        };
        let text = value.as_str().ok_or(NOT_TEXT)?;
        if !text.is_empty() {
            deltas.push(UpstreamDelta::Text { choice, channel, text: text.to_owned() })?;
        }
    }
    Ok(())
}

fn read_call(choice: u32, call: &Value, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
    let wrong = UpstreamError::Malformed("a tool call that is not one");
    let index = match call.get("index") {
        None | Some(Value::Null) => 0,
        Some(index) => index.as_u64().ok_or(wrong.clone())?,
    };
    let kind = call.get("type").filter(|kind| !kind.is_null());
    if kind.is_some_and(|kind| !matches!(kind.as_str(), Some("function" | ""))) {
        return Err(wrong);
    }
    let function = call.get("function").and_then(Value::as_object).ok_or(wrong.clone())?;
    // Another field could hold the arguments. Without it, the client would get a call that the model did not make.
    if function.iter().any(|(name, value)| !value.is_null() && name != "name" && name != "arguments") {
        return Err(wrong);
    }
    let text = |from: &Map<String, Value>, name: &str| match from.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(NOT_TEXT),
    };
    let id = call.as_object().map(|call| text(call, "id")).transpose()?.flatten();
    let arguments = text(function, "arguments")?.unwrap_or_default();
    let fragment = CallFragment { index, id, name: text(function, "name")?, arguments };
    deltas.push(UpstreamDelta::Call { choice, fragment })
}

/// Decodes chunks of completions. The flag is whether log-probabilities were requested.
pub(super) struct CompletionChunks(pub(super) bool);

impl DeltaDecoder for CompletionChunks {
    fn event(&mut self, event: &SseEvent, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
        read_tokens(self.0, event, deltas)?;
        read_choices(event, deltas, |choice, name, value, deltas| match (name, value) {
            ("text", Value::String(text)) if text.is_empty() => Ok(true),
            ("text", Value::String(text)) => deltas
                .push(UpstreamDelta::Text { choice, channel: AnswerChannel::Content, text: text.clone() })
                .map(|()| true),
            ("text", _) => Err(NOT_TEXT),
            _ => Ok(false),
        })
    }
}
