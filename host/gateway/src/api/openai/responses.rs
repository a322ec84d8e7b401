//! OpenAI's responses (API reference, "Responses"), without the parts that store data at the upstream.

use crate::api::event::{AnswerHeader, EventWriter, named};
use crate::api::fields::{self, PortcullisExtension};
use crate::calls::IdentifiedCall;
use crate::error::ApiError;
use crate::output::{AnswerChannel, AnswerProvenance, FinishReason, GatedAnswerPart, TokenUsage};
use crate::request::{
    ClientRequest, ConversationMessage, MessageRole, RequestInput, SamplingParameters, ToolDefinition,
};
use portcullis_mapping::EngineToolCall;
use serde::Deserialize;
use serde_json::{Number, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponsesRequest {
    model: String,
    input: Value,
    instructions: Option<String>,
    stream: Option<bool>,
    max_output_tokens: Option<u64>,
    temperature: Option<Number>,
    top_p: Option<Number>,
    tools: Option<Vec<FunctionTool>>,
    tool_choice: Option<Value>,
    parallel_tool_calls: Option<bool>,
    text: Option<TextConfig>,
    reasoning: Option<ResponsesReasoning>,
    portcullis: Option<PortcullisExtension>,
    #[serde(rename = "user")]
    _user: Option<Value>,
    #[serde(rename = "metadata")]
    _metadata: Option<Value>,
    #[serde(rename = "service_tier")]
    _service_tier: Option<Value>,
    #[serde(rename = "safety_identifier")]
    _safety_identifier: Option<Value>,
    #[serde(rename = "prompt_cache_key")]
    _prompt_cache_key: Option<Value>,
    #[serde(rename = "truncation")]
    _truncation: Option<Value>,
    store: Option<Value>,
    previous_response_id: Option<Value>,
    conversation: Option<Value>,
    background: Option<Value>,
    include: Option<Value>,
    prompt: Option<Value>,
    top_logprobs: Option<Value>,
    max_tool_calls: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionTool {
    r#type: String,
    name: Option<String>,
    description: Option<String>,
    parameters: Option<Value>,
    strict: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextConfig {
    format: Option<Value>,
    verbosity: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponsesReasoning {
    effort: Option<String>,
    #[serde(rename = "summary")]
    _summary: Option<Value>,
}

/// An item of the input.
#[derive(Deserialize)]
struct ResponsesInputItem {
    r#type: Option<String>,
    role: Option<String>,
    content: Option<Value>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    output: Option<Value>,
}

pub(crate) fn parse(bytes: &[u8]) -> Result<ClientRequest, ApiError> {
    let body: ResponsesRequest = fields::read(bytes)?;
    let kept = "the gateway keeps no conversation: send it whole";
    fields::refuse(&[
        ("store", &body.store, "the upstream would keep text that nothing judged"),
        ("previous_response_id", &body.previous_response_id, kept),
        ("conversation", &body.conversation, kept),
        ("background", &body.background, "an answer leaves as it is judged, not later"),
        ("include", &body.include, "it asks for text that nothing judges"),
        ("prompt", &body.prompt, "it is not handed on"),
        ("top_logprobs", &body.top_logprobs, "it asks for text that nothing judges"),
        ("max_tool_calls", &body.max_tool_calls, "it is not handed on"),
    ])?;
    let said = |role, text| ConversationMessage { role, text, calls: Vec::new(), call_id: None };
    let mut messages: Vec<ConversationMessage> =
        body.instructions.map(|text| said(MessageRole::System, text)).into_iter().collect();
    match body.input {
        Value::String(text) => messages.push(said(MessageRole::User, text)),
        Value::Array(items) => {
            for (at, item) in items.into_iter().enumerate() {
                read_item(at, item, &mut messages)?;
            }
        }
        _ => return Err(ApiError::invalid("input", "a string or a list of items")),
    }
    let tools = body.tools.unwrap_or_default().into_iter().map(|tool| match (tool.r#type.as_str(), tool.name) {
        ("function", Some(name)) => {
            Ok(ToolDefinition { name, description: tool.description, parameters: tool.parameters, strict: tool.strict })
        }
        _ => Err(ApiError::invalid(
            "tools",
            "the upstream would run this tool; only functions of the client are handed on",
        )),
    });
    body.portcullis.unwrap_or_default().extend(ClientRequest {
        stream: body.stream.unwrap_or(false),
        include_usage: true,
        sampling: SamplingParameters {
            max_tokens: body.max_output_tokens,
            temperature: body.temperature,
            top_p: body.top_p,
            ..SamplingParameters::default()
        },
        tools: tools.collect::<Result<_, _>>()?,
        tool_choice: fields::tool_choice(body.tool_choice)?,
        parallel_tool_calls: body.parallel_tool_calls,
        verbosity: body.text.as_ref().and_then(|text| text.verbosity.clone()),
        response_format: body.text.and_then(|text| text.format).map(chat_format),
        reasoning_effort: body.reasoning.and_then(|reasoning| reasoning.effort),
        ..ClientRequest::of(bytes, body.model, RequestInput::Messages(fields::conversation(messages)?))
    })
}

/// Converts `text.format` to the form of chat completions, where the fields of the schema are in an inner object.
fn chat_format(format: Value) -> Value {
    match format {
        Value::Object(mut fields) if fields.get("type").and_then(Value::as_str) == Some("json_schema") => {
            fields.remove("type");
            json!({"type": "json_schema", "json_schema": fields})
        }
        format => format,
    }
}

fn read_item(at: usize, item: Value, messages: &mut Vec<ConversationMessage>) -> Result<(), ApiError> {
    let param = format!("input[{at}]");
    let wrong = |why: &str| ApiError::invalid(param.clone(), why);
    let item: ResponsesInputItem = serde_json::from_value(item).map_err(|_| wrong("an item that is not one"))?;
    let texts = ["input_text", "output_text", "text", "refusal"];
    match item.r#type.as_deref() {
        None | Some("message") => {
            let role = match item.role.as_deref() {
                Some("system" | "developer") => MessageRole::System,
                Some("user") => MessageRole::User,
                Some("assistant") => MessageRole::Assistant,
                _ => return Err(wrong("the role is `system`, `developer`, `user` or `assistant`")),
            };
            let text = fields::text(item.content, &texts, &param)?;
            messages.push(ConversationMessage { role, text, calls: Vec::new(), call_id: None });
        }
        Some("function_call") => {
            let (Some(id), Some(name), Some(arguments)) = (item.call_id, item.name, item.arguments) else {
                return Err(wrong("a call has `call_id`, `name` and `arguments`"));
            };
            let call = IdentifiedCall { id, call: EngineToolCall { name, arguments } };
            match messages.last_mut().filter(|last| last.role == MessageRole::Assistant) {
                Some(last) => last.calls.push(call),
                None => messages.push(ConversationMessage {
                    role: MessageRole::Assistant,
                    text: String::new(),
                    calls: vec![call],
                    call_id: None,
                }),
            }
        }
        Some("function_call_output") => {
            let text = fields::text(item.output, &texts, &param)?;
            messages.push(ConversationMessage {
                role: MessageRole::Tool,
                text,
                calls: Vec::new(),
                call_id: item.call_id,
            });
        }
        // Earlier reasoning is not sent to the model again.
        Some("reasoning") => {}
        Some(_) => {
            return Err(wrong("messages, function calls and their outputs can be judged here, other items cannot"));
        }
    }
    Ok(())
}

fn usage_object(usage: TokenUsage) -> Value {
    let TokenUsage { prompt, completion } = usage;
    json!({
        "input_tokens": prompt, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": completion, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": prompt.saturating_add(completion),
    })
}

/// An output item in progress.
#[derive(Clone)]
enum ResponsesOutputItem {
    Message {
        text: String,
    },
    /// The model's refusal: a message of its own, whose part is not text, so that no client joins it to the text.
    Refusal {
        text: String,
    },
    Reasoning {
        text: String,
    },
    Call(IdentifiedCall),
}

impl ResponsesOutputItem {
    const fn channel(&self) -> Option<AnswerChannel> {
        match self {
            Self::Message { .. } => Some(AnswerChannel::Content),
            Self::Refusal { .. } => Some(AnswerChannel::Refusal),
            Self::Reasoning { .. } => Some(AnswerChannel::Reasoning),
            Self::Call(_) => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Message { text } | Self::Refusal { text } | Self::Reasoning { text } => Some(text),
            Self::Call(_) => None,
        }
    }

    /// The part of a message with this text; `None` if the item is not a message.
    fn piece(&self, text: &str) -> Option<Value> {
        match self {
            Self::Message { .. } => Some(json!({"type": "output_text", "text": text, "annotations": []})),
            Self::Refusal { .. } => Some(json!({"type": "refusal", "refusal": text})),
            Self::Reasoning { .. } | Self::Call(_) => None,
        }
    }

    fn item(&self, id: &str, status: &str) -> Value {
        match self {
            Self::Message { text } | Self::Refusal { text } => {
                let content: Vec<Value> = self.piece(text).into_iter().collect();
                json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
            }
            Self::Reasoning { text } => {
                let content = json!([{"type": "reasoning_text", "text": text}]);
                json!({"id": id, "type": "reasoning", "summary": [], "content": content, "status": status})
            }
            Self::Call(IdentifiedCall { id: call, call: EngineToolCall { name, arguments } }) => json!({
                "id": id, "type": "function_call", "status": status, "call_id": call, "name": name, "arguments": arguments,
            }),
        }
    }
}

/// Writes events.
pub(crate) struct ResponsesEventWriter {
    header: AnswerHeader,
    sequence: u64,
    done: Vec<Value>,
    open: Option<ResponsesOutputItem>,
    finish: FinishReason,
}

impl ResponsesEventWriter {
    pub(crate) const fn new(header: AnswerHeader) -> Self {
        Self { header, sequence: 0, done: Vec::new(), open: None, finish: FinishReason::Stop }
    }

    fn event(&mut self, kind: &str, mut fields: Value) -> String {
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("type".into(), json!(kind));
            fields.insert("sequence_number".into(), json!(self.sequence));
        }
        self.sequence += 1;
        named(kind, &fields)
    }

    fn item_id(&self) -> String {
        format!("{}_{}", self.header.id, self.done.len())
    }

    fn begin(&mut self, part: ResponsesOutputItem) -> String {
        let (id, index) = (self.item_id(), self.done.len());
        let empty = match &part {
            ResponsesOutputItem::Call(IdentifiedCall { id, call }) => {
                let call = EngineToolCall { name: call.name.clone(), arguments: String::new() };
                ResponsesOutputItem::Call(IdentifiedCall { id: id.clone(), call })
            }
            part => part.clone(),
        };
        let mut item = empty.item(&id, "in_progress");
        if let Some(content) = item.get_mut("content") {
            *content = json!([]);
        }
        let mut written = self.event("response.output_item.added", json!({"output_index": index, "item": item}));
        if let Some(piece) = part.piece("") {
            let fields = json!({"item_id": id, "output_index": index, "content_index": 0, "part": piece});
            written.push_str(&self.event("response.content_part.added", fields));
        }
        self.open = Some(part);
        written
    }

    fn close(&mut self) -> String {
        let Some(part) = self.open.take() else { return String::new() };
        let (id, index) = (self.item_id(), self.done.len());
        let mut written = String::new();
        match &part {
            ResponsesOutputItem::Message { text } => {
                let at =
                    json!({"item_id": id, "output_index": index, "content_index": 0, "text": text, "logprobs": []});
                written.push_str(&self.event("response.output_text.done", at));
            }
            ResponsesOutputItem::Refusal { text } => {
                let at = json!({"item_id": id, "output_index": index, "content_index": 0, "refusal": text});
                written.push_str(&self.event("response.refusal.done", at));
            }
            ResponsesOutputItem::Reasoning { text } => {
                let at = json!({"item_id": id, "output_index": index, "content_index": 0, "text": text});
                written.push_str(&self.event("response.reasoning_text.done", at));
            }
            ResponsesOutputItem::Call(IdentifiedCall { call: EngineToolCall { name, arguments }, .. }) => {
                let at = json!({"item_id": id, "output_index": index, "name": name, "arguments": arguments});
                written.push_str(&self.event("response.function_call_arguments.done", at));
            }
        }
        if let Some(piece) = part.text().and_then(|text| part.piece(text)) {
            let at = json!({"item_id": id, "output_index": index, "content_index": 0, "part": piece});
            written.push_str(&self.event("response.content_part.done", at));
        }
        let item = part.item(&id, "completed");
        written.push_str(&self.event("response.output_item.done", json!({"output_index": index, "item": item})));
        self.done.push(item);
        written
    }

    fn text(&mut self, channel: AnswerChannel, piece: &str) -> String {
        let mut written = String::new();
        if self.open.as_ref().and_then(ResponsesOutputItem::channel) != Some(channel) {
            written.push_str(&self.close());
            let text = String::new();
            written.push_str(&self.begin(match channel {
                AnswerChannel::Content => ResponsesOutputItem::Message { text },
                AnswerChannel::Reasoning => ResponsesOutputItem::Reasoning { text },
                AnswerChannel::Refusal => ResponsesOutputItem::Refusal { text },
            }));
        }
        if let Some(
            ResponsesOutputItem::Message { text }
            | ResponsesOutputItem::Reasoning { text }
            | ResponsesOutputItem::Refusal { text },
        ) = &mut self.open
        {
            text.push_str(piece);
        }
        let kind = match channel {
            AnswerChannel::Content => "response.output_text.delta",
            AnswerChannel::Reasoning => "response.reasoning_text.delta",
            AnswerChannel::Refusal => "response.refusal.delta",
        };
        let (id, index) = (self.item_id(), self.done.len());
        let mut at = json!({"item_id": id, "output_index": index, "content_index": 0, "delta": piece});
        if let Some(at) = at.as_object_mut().filter(|_| channel == AnswerChannel::Content) {
            at.insert("logprobs".into(), json!([]));
        }
        written + &self.event(kind, at)
    }
}

impl EventWriter for ResponsesEventWriter {
    fn start(&mut self) -> String {
        let response = response(&self.header, "in_progress", &[], None);
        let created = self.event("response.created", json!({"response": response}));
        created + &self.event("response.in_progress", json!({"response": response}))
    }

    fn output(&mut self, output: &GatedAnswerPart) -> String {
        match output {
            GatedAnswerPart::Text { channel, text, .. } | GatedAnswerPart::Constant { channel, text, .. } => {
                self.text(*channel, text)
            }
            GatedAnswerPart::Call { call, .. } => {
                let closed = self.close();
                let begun = self.begin(ResponsesOutputItem::Call(call.clone()));
                let at =
                    json!({"item_id": self.item_id(), "output_index": self.done.len(), "delta": call.call.arguments});
                let delta = self.event("response.function_call_arguments.delta", at);
                closed + &begun + &delta + &self.close()
            }
            GatedAnswerPart::End { finish, .. } => {
                self.finish = *finish;
                self.close()
            }
        }
    }

    fn end(&mut self, usage: TokenUsage, provenance: &AnswerProvenance) -> String {
        let closed = self.close();
        let status = status(self.finish);
        let mut response = response(&self.header, status, &self.done, Some(usage));
        complete(&mut response, self.finish, provenance);
        closed + &self.event(&format!("response.{status}"), json!({"response": response}))
    }

    fn fail(&mut self, error: &ApiError, provenance: &AnswerProvenance) -> String {
        let closed = self.close();
        let mut response = response(&self.header, "failed", &self.done, None);
        complete(&mut response, FinishReason::Failed, provenance);
        if let Some(fields) = response.as_object_mut() {
            fields.insert("error".into(), json!({"code": "server_error", "message": error.message}));
        }
        closed + &self.event("response.failed", json!({"response": response}))
    }
}

const fn status(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop | FinishReason::ToolCalls => "completed",
        FinishReason::Length | FinishReason::Refused | FinishReason::Failed => "incomplete",
    }
}

fn complete(response: &mut Value, finish: FinishReason, provenance: &AnswerProvenance) {
    let reason = match finish {
        FinishReason::Length => json!({"reason": "max_output_tokens"}),
        FinishReason::Refused => json!({"reason": "content_filter"}),
        _ => Value::Null,
    };
    if let Some(fields) = response.as_object_mut() {
        fields.insert("incomplete_details".into(), reason);
        fields.insert("portcullis".into(), json!(provenance));
    }
}

fn response(header: &AnswerHeader, status: &str, output: &[Value], usage: Option<TokenUsage>) -> Value {
    json!({
        "id": header.id, "object": "response", "created_at": header.created, "status": status, "model": header.model,
        "output": output, "usage": usage.map(usage_object), "error": null, "incomplete_details": null,
        "instructions": null, "metadata": {}, "parallel_tool_calls": true, "temperature": null, "top_p": null,
        "tool_choice": "auto", "tools": [], "store": false,
    })
}

pub(crate) fn body(
    header: &AnswerHeader,
    outputs: &[GatedAnswerPart],
    usage: TokenUsage,
    provenance: &AnswerProvenance,
) -> Value {
    let mut events = ResponsesEventWriter::new(header.clone());
    for output in outputs {
        events.output(output);
    }
    events.close();
    let mut response = response(header, status(events.finish), &events.done, Some(usage));
    complete(&mut response, events.finish, provenance);
    response
}
