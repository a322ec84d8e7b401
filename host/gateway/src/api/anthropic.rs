//! Anthropic's messages (API reference, "Messages").

use super::event::{AnswerHeader, EventWriter, named};
use super::fields::{self, PortcullisExtension};
use crate::calls::IdentifiedCall;
use crate::error::ApiError;
use crate::output::{AnswerChannel, AnswerProvenance, FinishReason, GatedAnswerPart, TokenUsage};
use crate::request::{
    ClientRequest, ConversationMessage, MessageRole, RequestInput, SamplingParameters, ToolChoice, ToolDefinition,
};
use portcullis_mapping::EngineToolCall;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnthropicMessagesRequest {
    model: String,
    messages: Vec<AnthropicMessage>,
    max_tokens: u64,
    system: Option<Value>,
    stream: Option<bool>,
    temperature: Option<Number>,
    top_p: Option<Number>,
    top_k: Option<u64>,
    stop_sequences: Option<Vec<String>>,
    tools: Option<Vec<MessagesTool>>,
    tool_choice: Option<AnthropicToolChoice>,
    portcullis: Option<PortcullisExtension>,
    #[serde(rename = "metadata")]
    _metadata: Option<Value>,
    #[serde(rename = "service_tier")]
    _service_tier: Option<Value>,
    #[serde(rename = "cache_control")]
    _cache_control: Option<Value>,
    thinking: Option<Value>,
    output_config: Option<Value>,
    container: Option<Value>,
    mcp_servers: Option<Value>,
    context_management: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnthropicMessage {
    role: String,
    content: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessagesTool {
    name: String,
    description: Option<String>,
    input_schema: Option<Value>,
    r#type: Option<String>,
    strict: Option<bool>,
    #[serde(rename = "cache_control")]
    _cache_control: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnthropicToolChoice {
    r#type: String,
    name: Option<String>,
    disable_parallel_tool_use: Option<bool>,
}

/// The blocks of a turn that the model receives.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicContentBlock {
    Text { text: String },
    ToolUse { id: String, name: String, input: Value },
    ToolResult { tool_use_id: String, content: Option<Value> },
    Thinking {},
    RedactedThinking {},
}

pub(super) fn parse(bytes: &[u8]) -> Result<ClientRequest, ApiError> {
    let body: AnthropicMessagesRequest = fields::read(bytes)?;
    let is_off = |thinking: &Value| thinking.get("type").and_then(Value::as_str) == Some("disabled");
    let thinking = body.thinking.filter(|thinking| !is_off(thinking));
    fields::refuse(&[
        ("thinking", &thinking, "it is not handed on"),
        ("output_config", &body.output_config, "it is not handed on"),
        ("container", &body.container, "it is not handed on"),
        ("mcp_servers", &body.mcp_servers, "the upstream would call tools whose results nothing judged"),
        ("context_management", &body.context_management, "it is not handed on"),
    ])?;
    let system = fields::text(body.system, &["text"], "system")?;
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(ConversationMessage {
            role: MessageRole::System,
            text: system,
            calls: Vec::new(),
            call_id: None,
        });
    }
    for (at, turn) in body.messages.into_iter().enumerate() {
        read_turn(at, turn, &mut messages)?;
    }
    let tools = body.tools.unwrap_or_default().into_iter().map(|tool| match tool.r#type.as_deref() {
        None | Some("custom") => Ok(ToolDefinition {
            name: tool.name,
            description: tool.description,
            parameters: tool.input_schema,
            strict: tool.strict,
        }),
        Some(_) => {
            Err(ApiError::invalid("tools", "the upstream would run this tool; only tools of the client are handed on"))
        }
    });
    let tools = tools.collect::<Result<_, _>>()?;
    let mut tool_choice = None;
    let mut parallel_tool_calls = None;
    if let Some(AnthropicToolChoice { r#type, name, disable_parallel_tool_use }) = body.tool_choice {
        parallel_tool_calls = disable_parallel_tool_use.map(|disabled| !disabled);
        tool_choice = Some(match (r#type.as_str(), name) {
            ("auto", None) => ToolChoice::Auto,
            ("any", None) => ToolChoice::Required,
            ("none", None) => ToolChoice::None,
            ("tool", Some(name)) => ToolChoice::Named(name),
            _ => return Err(ApiError::invalid("tool_choice", "`auto`, `any`, `none`, or `tool` with a name")),
        });
    }
    body.portcullis.unwrap_or_default().extend(ClientRequest {
        stream: body.stream.unwrap_or(false),
        include_usage: true,
        sampling: SamplingParameters {
            max_tokens: Some(body.max_tokens),
            temperature: body.temperature,
            top_p: body.top_p,
            top_k: body.top_k,
            stop: body.stop_sequences.unwrap_or_default(),
            ..SamplingParameters::default()
        },
        tools,
        tool_choice,
        parallel_tool_calls,
        refusal_is_content: true,
        ..ClientRequest::of(bytes, body.model, RequestInput::Messages(fields::conversation(messages)?))
    })
}

/// Converts a turn to messages. Tool results come before the turn's other content.
fn read_turn(at: usize, turn: AnthropicMessage, messages: &mut Vec<ConversationMessage>) -> Result<(), ApiError> {
    let param = || format!("messages[{at}]");
    let role = match turn.role.as_str() {
        "user" => MessageRole::User,
        "assistant" => MessageRole::Assistant,
        _ => return Err(ApiError::invalid(param(), "the role is `user` or `assistant`")),
    };
    let blocks = match turn.content {
        Value::String(text) => vec![AnthropicContentBlock::Text { text }],
        content => serde_json::from_value(content).map_err(|_| {
            let why = "blocks of type `text`, `tool_use` and `tool_result` can be judged here, others cannot";
            ApiError::invalid(param(), why)
        })?,
    };
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            AnthropicContentBlock::Text { text } => texts.push(text),
            AnthropicContentBlock::ToolUse { id, name, input } => {
                calls.push(IdentifiedCall { id, call: EngineToolCall { name, arguments: input.to_string() } });
            }
            AnthropicContentBlock::ToolResult { tool_use_id, content } => {
                let text = fields::text(content, &["text"], &param())?;
                messages.push(ConversationMessage {
                    role: MessageRole::Tool,
                    text,
                    calls: Vec::new(),
                    call_id: Some(tool_use_id),
                });
            }
            AnthropicContentBlock::Thinking {} | AnthropicContentBlock::RedactedThinking {} => {}
        }
    }
    if !texts.is_empty() || !calls.is_empty() {
        messages.push(ConversationMessage { role, text: texts.join("\n"), calls, call_id: None });
    }
    Ok(())
}

const fn stop_reason(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop => "end_turn",
        FinishReason::Length => "max_tokens",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::Refused | FinishReason::Failed => "refusal",
    }
}

fn usage_object(usage: TokenUsage) -> Value {
    json!({"input_tokens": usage.prompt, "output_tokens": usage.completion})
}

fn stop_details(finish: FinishReason) -> Value {
    match finish {
        FinishReason::Refused => {
            let why = "a part of the answer was refused; `portcullis` names the rules, where the gate did";
            json!({"type": "refusal", "category": null, "explanation": why})
        }
        _ => Value::Null,
    }
}

/// Kind of the open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnthropicBlockKind {
    Text,
    Thinking,
}

/// Writes events.
pub(super) struct AnthropicEventWriter {
    header: AnswerHeader,
    open: Option<AnthropicBlockKind>,
    /// Number of blocks that were opened.
    blocks: u32,
    finish: FinishReason,
}

impl AnthropicEventWriter {
    pub(super) const fn new(header: AnswerHeader) -> Self {
        Self { header, open: None, blocks: 0, finish: FinishReason::Stop }
    }

    fn close(&mut self) -> String {
        match self.open.take() {
            Some(_) => named(
                "content_block_stop",
                &json!({"type": "content_block_stop", "index": self.blocks.saturating_sub(1)}),
            ),
            None => String::new(),
        }
    }

    fn begin(&mut self, block: &Value) -> String {
        let start = json!({"type": "content_block_start", "index": self.blocks, "content_block": block});
        self.blocks += 1;
        named("content_block_start", &start)
    }

    fn delta(&self, delta: &Value) -> String {
        let index = self.blocks.saturating_sub(1);
        named("content_block_delta", &json!({"type": "content_block_delta", "index": index, "delta": delta}))
    }

    fn text(&mut self, kind: AnthropicBlockKind, text: &str) -> String {
        let (block, delta) = match kind {
            AnthropicBlockKind::Text => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
            }
            AnthropicBlockKind::Thinking => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                json!({"type": "thinking_delta", "thinking": text}),
            ),
        };
        let mut written = String::new();
        if self.open != Some(kind) {
            written.push_str(&self.close());
            written.push_str(&self.begin(&block));
            self.open = Some(kind);
        }
        written + &self.delta(&delta)
    }
}

impl EventWriter for AnthropicEventWriter {
    fn start(&mut self) -> String {
        let message = json!({
            "id": self.header.id, "type": "message", "role": "assistant", "model": self.header.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage_object(TokenUsage::default()),
        });
        named("message_start", &json!({"type": "message_start", "message": message}))
    }

    fn output(&mut self, output: &GatedAnswerPart) -> String {
        match output {
            GatedAnswerPart::Text { channel: AnswerChannel::Reasoning, text, .. }
            | GatedAnswerPart::Constant { channel: AnswerChannel::Reasoning, text, .. } => {
                self.text(AnthropicBlockKind::Thinking, text)
            }
            GatedAnswerPart::Text { text, .. } | GatedAnswerPart::Constant { text, .. } => {
                self.text(AnthropicBlockKind::Text, text)
            }
            GatedAnswerPart::Call { call: IdentifiedCall { id, call: EngineToolCall { name, arguments } }, .. } => {
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                let delta = json!({"type": "input_json_delta", "partial_json": arguments});
                let closed = self.close();
                let begun = self.begin(&block);
                self.open = Some(AnthropicBlockKind::Text);
                let delta = self.delta(&delta);
                closed + &begun + &delta + &self.close()
            }
            GatedAnswerPart::End { finish, .. } => {
                self.finish = *finish;
                self.close()
            }
        }
    }

    fn end(&mut self, usage: TokenUsage, provenance: &AnswerProvenance) -> String {
        let delta = json!({
            "stop_reason": stop_reason(self.finish), "stop_sequence": null, "stop_details": stop_details(self.finish),
        });
        let delta = json!({
            "type": "message_delta", "delta": delta, "usage": usage_object(usage), "portcullis": provenance,
        });
        self.close() + &named("message_delta", &delta) + &named("message_stop", &json!({"type": "message_stop"}))
    }

    fn fail(&mut self, error: &ApiError, provenance: &AnswerProvenance) -> String {
        let inner = json!({"type": error.kind, "message": error.message});
        self.close() + &named("error", &json!({"type": "error", "error": inner, "portcullis": provenance}))
    }
}

/// A block of a whole answer. Arguments of a call are written exactly as they were judged.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WholeBlock {
    Text { text: String },
    Thinking { thinking: String, signature: &'static str },
    ToolUse { id: String, name: String, input: Box<RawValue> },
}

/// A whole answer.
#[derive(Serialize)]
struct WholeMessage<'a> {
    id: &'a str,
    r#type: &'static str,
    role: &'static str,
    model: &'a str,
    content: Vec<WholeBlock>,
    stop_reason: &'static str,
    stop_sequence: Option<String>,
    stop_details: Value,
    usage: Value,
    portcullis: &'a AnswerProvenance,
}

pub(super) fn body(
    header: &AnswerHeader,
    outputs: &[GatedAnswerPart],
    usage: TokenUsage,
    provenance: &AnswerProvenance,
) -> String {
    let mut content: Vec<WholeBlock> = Vec::new();
    let mut finish = FinishReason::Stop;
    for output in outputs {
        match output {
            GatedAnswerPart::Text { channel, text, .. } | GatedAnswerPart::Constant { channel, text, .. } => {
                match (content.last_mut(), *channel == AnswerChannel::Reasoning) {
                    (Some(WholeBlock::Thinking { thinking: said, .. }), true)
                    | (Some(WholeBlock::Text { text: said }), false) => said.push_str(text),
                    (_, true) => content.push(WholeBlock::Thinking { thinking: text.clone(), signature: "" }),
                    (_, false) => content.push(WholeBlock::Text { text: text.clone() }),
                }
            }
            GatedAnswerPart::Call { call: IdentifiedCall { id, call: EngineToolCall { name, arguments } }, .. } => {
                // The arguments were parsed before they were judged, so this cannot fail.
                let input = RawValue::from_string(arguments.clone()).unwrap_or_default();
                content.push(WholeBlock::ToolUse { id: id.clone(), name: name.clone(), input });
            }
            GatedAnswerPart::End { finish: why, .. } => finish = *why,
        }
    }
    let whole = WholeMessage {
        id: &header.id,
        r#type: "message",
        role: "assistant",
        model: &header.model,
        content,
        stop_reason: stop_reason(finish),
        stop_sequence: None,
        stop_details: stop_details(finish),
        usage: usage_object(usage),
        portcullis: provenance,
    };
    // Strings and JSON values can always be serialised.
    serde_json::to_string(&whole).unwrap_or_default()
}
