//! Servers that speak Anthropic's messages.

use super::{DeltaDecoder, DeltaQueue, SseEvent, UpstreamDelta, UpstreamError};
use crate::calls::{CallFragment, IdentifiedCall};
use crate::output::{AnswerChannel, FinishReason, TokenUsage};
use crate::request::{ClientRequest, ConversationMessage, MessageRole, ToolChoice};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Token limit if the client sets none; the API requires a limit.
const MAX_TOKENS: u64 = 4096;

pub(super) fn body(request: &ClientRequest, messages: &[ConversationMessage], model: &str) -> Value {
    let sampling = &request.sampling;
    let said = |role| messages.iter().filter(move |message| (message.role == MessageRole::System) == role);
    let system = said(true).map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n\n");
    let mut body = Map::new();
    body.insert("model".into(), json!(model));
    body.insert("stream".into(), json!(true));
    body.insert("max_tokens".into(), json!(sampling.max_tokens.unwrap_or(MAX_TOKENS)));
    body.insert("messages".into(), said(false).map(turn).collect());
    let mut put = |name: &str, value: Option<Value>| body.extend(value.map(|value| (name.to_owned(), value)));
    put("system", (!system.is_empty()).then(|| json!(system)));
    put("temperature", sampling.temperature.as_ref().map(|n| json!(n)));
    put("top_p", sampling.top_p.as_ref().map(|n| json!(n)));
    put("top_k", sampling.top_k.map(|n| json!(n)));
    put("stop_sequences", (!sampling.stop.is_empty()).then(|| json!(sampling.stop)));
    let tools = request.tools.iter().map(|tool| {
        let schema = tool.parameters.clone().unwrap_or_else(|| json!({"type": "object"}));
        let mut fields = Map::from_iter([("name".to_owned(), json!(tool.name)), ("input_schema".to_owned(), schema)]);
        fields.extend(tool.description.as_ref().map(|text| ("description".to_owned(), json!(text))));
        fields.extend(tool.strict.map(|strict| ("strict".to_owned(), json!(strict))));
        Value::Object(fields)
    });
    let tools: Vec<Value> = tools.collect();
    let alone = request.parallel_tool_calls == Some(false);
    let choice = match &request.tool_choice {
        Some(ToolChoice::None) => Some(json!({"type": "none"})),
        Some(ToolChoice::Auto) => Some(json!({"type": "auto", "disable_parallel_tool_use": alone})),
        Some(ToolChoice::Required) => Some(json!({"type": "any", "disable_parallel_tool_use": alone})),
        Some(ToolChoice::Named(name)) => {
            Some(json!({"type": "tool", "name": name, "disable_parallel_tool_use": alone}))
        }
        None => None,
    };
    put("tool_choice", choice.filter(|_| !tools.is_empty()));
    put("tools", (!tools.is_empty()).then(|| json!(tools)));
    Value::Object(body)
}

fn turn(message: &ConversationMessage) -> Value {
    if message.role == MessageRole::Tool {
        let result = json!({"type": "tool_result", "tool_use_id": message.call_id, "content": message.text});
        return json!({"role": "user", "content": [result]});
    }
    let text = (!message.text.is_empty()).then(|| json!({"type": "text", "text": message.text}));
    let calls = message.calls.iter().map(|IdentifiedCall { id, call }| {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": id, "name": call.name, "input": input})
    });
    let role = if message.role == MessageRole::Assistant { "assistant" } else { "user" };
    json!({"role": role, "content": text.into_iter().chain(calls).collect::<Vec<_>>()})
}

/// An open block.
#[derive(Debug)]
enum UpstreamOpenBlock {
    Text,
    Thinking,
    /// A tool call.
    Call {
        number: u64,
        /// The arguments came in the block's first event.
        is_whole: bool,
    },
}

/// Events of messages.
#[derive(Debug, Default)]
pub(super) struct AnthropicEventDecoder {
    /// The open blocks by their index.
    open: BTreeMap<u64, UpstreamOpenBlock>,
    /// Index of the latest block.
    latest: u64,
    /// Number of tool calls that were begun.
    calls: u64,
    usage: TokenUsage,
}

impl DeltaDecoder for AnthropicEventDecoder {
    fn event(&mut self, event: &SseEvent, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
        let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(&event.data) else {
            return Err(UpstreamError::Malformed("an event that is not a JSON object"));
        };
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
        let at = |pointer: &[&str]| {
            let mut found = fields.get(*pointer.first()?)?;
            for name in pointer.iter().skip(1) {
                found = found.get(name)?;
            }
            Some(found)
        };
        let count = |pointer: &[&str]| at(pointer).and_then(Value::as_u64);
        let index = match fields.get("index") {
            None | Some(Value::Null) => None,
            Some(index) => {
                Some(index.as_u64().ok_or(UpstreamError::Malformed("the index of a block is not a number"))?)
            }
        };
        match kind {
            "message_start" => {
                if at(&["message", "content"]).and_then(Value::as_array).is_some_and(|content| !content.is_empty()) {
                    return Err(UpstreamError::Malformed("content before its blocks"));
                }
                self.usage.prompt = count(&["message", "usage", "input_tokens"]).unwrap_or(0);
            }
            "content_block_start" => {
                self.latest = index.unwrap_or(self.latest + 1);
                self.begin(at(&["content_block"]).unwrap_or(&Value::Null), deltas)?;
            }
            "content_block_delta" => {
                let index = index.unwrap_or(self.latest);
                self.delta(index, at(&["delta"]).unwrap_or(&Value::Null), deltas)?;
            }
            "content_block_stop" => {
                self.open.remove(&index.unwrap_or(self.latest));
            }
            "message_delta" => {
                self.usage.completion = count(&["usage", "output_tokens"]).unwrap_or(self.usage.completion);
                let finish = match at(&["delta", "stop_reason"]).and_then(Value::as_str) {
                    None => return Ok(()),
                    Some("end_turn" | "stop_sequence") => FinishReason::Stop,
                    Some("max_tokens" | "model_context_window_exceeded") => FinishReason::Length,
                    Some("tool_use") => FinishReason::ToolCalls,
                    Some("refusal") => FinishReason::Refused,
                    Some(_) => return Err(UpstreamError::Malformed("an end whose reason this program does not know")),
                };
                deltas.push(UpstreamDelta::Usage(self.usage))?;
                deltas.push(UpstreamDelta::Finish { choice: 0, finish })?;
            }
            "message_stop" => deltas.done = true,
            "ping" => {}
            "error" => return Err(UpstreamError::Reported),
            _ => deltas.unknown += 1,
        }
        Ok(())
    }
}

impl AnthropicEventDecoder {
    fn begin(&mut self, block: &Value, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (open, delta) = match block.get("type").and_then(Value::as_str) {
            Some("text") => (
                UpstreamOpenBlock::Text,
                UpstreamDelta::Text { choice: 0, channel: AnswerChannel::Content, text: text("text") },
            ),
            Some("thinking") => (
                UpstreamOpenBlock::Thinking,
                UpstreamDelta::Text { choice: 0, channel: AnswerChannel::Reasoning, text: text("thinking") },
            ),
            Some("tool_use") => {
                // Some servers send the arguments here, and no deltas.
                let arguments = match block.get("input") {
                    None | Some(Value::Null) => String::new(),
                    Some(Value::Object(input)) if input.is_empty() => String::new(),
                    Some(input @ Value::Object(_)) => input.to_string(),
                    Some(_) => return Err(UpstreamError::Malformed("a tool call whose arguments are not an object")),
                };
                let (number, is_whole) = (self.calls, !arguments.is_empty());
                self.calls += 1;
                let fragment = CallFragment { index: number, id: None, name: Some(text("name")), arguments };
                (UpstreamOpenBlock::Call { number, is_whole }, UpstreamDelta::Call { choice: 0, fragment })
            }
            _ => return Err(UpstreamError::Malformed("a part of an answer that cannot be judged")),
        };
        if self.open.insert(self.latest, open).is_some() {
            return Err(UpstreamError::Malformed("a block that begins twice"));
        }
        match &delta {
            UpstreamDelta::Text { text, .. } if text.is_empty() => Ok(()),
            _ => deltas.push(delta),
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, deltas: &mut DeltaQueue) -> Result<(), UpstreamError> {
        let text = |name: &str| {
            let text = delta.get(name).and_then(Value::as_str).map(str::to_owned);
            text.ok_or(UpstreamError::Malformed("a text that is not a string"))
        };
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default();
        match (kind, self.open.get(&index)) {
            ("text_delta", Some(UpstreamOpenBlock::Text)) => {
                deltas.push(UpstreamDelta::Text { choice: 0, channel: AnswerChannel::Content, text: text("text")? })
            }
            ("thinking_delta", Some(UpstreamOpenBlock::Thinking)) => deltas.push(UpstreamDelta::Text {
                choice: 0,
                channel: AnswerChannel::Reasoning,
                text: text("thinking")?,
            }),
            ("input_json_delta", Some(UpstreamOpenBlock::Call { number, is_whole })) => {
                let arguments = text("partial_json")?;
                if *is_whole && !arguments.is_empty() {
                    return Err(UpstreamError::Malformed("a tool call whose arguments come twice"));
                }
                let fragment = CallFragment { index: *number, arguments, ..CallFragment::default() };
                deltas.push(UpstreamDelta::Call { choice: 0, fragment })
            }
            ("signature_delta" | "citations_delta", _) => Ok(()),
            ("text_delta" | "thinking_delta" | "input_json_delta", _) => {
                Err(UpstreamError::Malformed("a delta that does not fit its block"))
            }
            _ => {
                deltas.unknown += 1;
                Ok(())
            }
        }
    }
}
