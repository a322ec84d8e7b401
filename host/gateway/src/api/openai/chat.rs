//! OpenAI's chat completions (API reference, "Chat Completions").

use super::{data, done, error_object};
use crate::api::event::{AnswerHeader, EventWriter};
use crate::api::fields::{self, OneOrMany, OpenAiToolFunction, PortcullisExtension};
use crate::calls::IdentifiedCall;
use crate::error::ApiError;
use crate::output::{AnswerChannel, AnswerProvenance, FinishReason, GatedAnswerPart, TokenUsage};
use crate::request::{ClientRequest, ConversationMessage, MessageRole, RequestInput, SamplingParameters};
use portcullis_mapping::EngineToolCall;
use serde::Deserialize;
use serde_json::{Number, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of choices per request.
const CHOICES: u32 = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatCompletionRequest {
    messages: Vec<ChatMessage>,
    model: String,
    stream: Option<bool>,
    stream_options: Option<ChatStreamOptions>,
    n: Option<u32>,
    tools: Option<Vec<ChatTool>>,
    tool_choice: Option<Value>,
    parallel_tool_calls: Option<bool>,
    response_format: Option<Value>,
    reasoning_effort: Option<String>,
    verbosity: Option<String>,
    seed: Option<i64>,
    stop: Option<OneOrMany>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    temperature: Option<Number>,
    top_p: Option<Number>,
    presence_penalty: Option<Number>,
    frequency_penalty: Option<Number>,
    portcullis: Option<PortcullisExtension>,
    // Ignored: these fields do not change the text.
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
    // These fields are refused if they are set.
    logprobs: Option<Value>,
    top_logprobs: Option<Value>,
    logit_bias: Option<Value>,
    modalities: Option<Value>,
    audio: Option<Value>,
    store: Option<Value>,
    prediction: Option<Value>,
    web_search_options: Option<Value>,
    functions: Option<Value>,
    function_call: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatStreamOptions {
    include_usage: Option<bool>,
    #[serde(rename = "include_obfuscation")]
    _include_obfuscation: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatTool {
    r#type: String,
    function: OpenAiToolFunction,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatMessage {
    role: String,
    content: Option<Value>,
    tool_calls: Option<Vec<ChatCall>>,
    tool_call_id: Option<String>,
    #[serde(rename = "name")]
    _name: Option<Value>,
    // Earlier assistant text in channels that are not sent to the model again.
    #[serde(rename = "refusal")]
    _refusal: Option<Value>,
    #[serde(rename = "reasoning_content")]
    _reasoning_content: Option<Value>,
    #[serde(rename = "reasoning")]
    _reasoning: Option<Value>,
    #[serde(rename = "annotations")]
    _annotations: Option<Value>,
    audio: Option<Value>,
    function_call: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatCall {
    id: String,
    r#type: Option<String>,
    function: CalledFunction,
    #[serde(rename = "index")]
    _index: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CalledFunction {
    name: String,
    arguments: String,
}

pub(crate) fn parse(bytes: &[u8]) -> Result<ClientRequest, ApiError> {
    let body: ChatCompletionRequest = fields::read(bytes)?;
    let unjudged = "it asks for text that nothing judges";
    fields::refuse(&[
        ("logprobs", &body.logprobs, unjudged),
        ("top_logprobs", &body.top_logprobs, unjudged),
        ("audio", &body.audio, "audio cannot be judged"),
        ("store", &body.store, "the upstream would keep text that nothing judged"),
        ("prediction", &body.prediction, "it is not handed on"),
        ("web_search_options", &body.web_search_options, "it is not handed on"),
        ("logit_bias", &body.logit_bias, "it is not handed on"),
        ("functions", &body.functions, "use `tools`"),
        ("function_call", &body.function_call, "use `tool_choice`"),
    ])?;
    let is_text = |modalities: &Value| *modalities == json!(["text"]);
    if fields::is_set(&body.modalities) && !body.modalities.as_ref().is_some_and(is_text) {
        return Err(ApiError::invalid("modalities", "only text can be judged"));
    }
    let choices = body.n.unwrap_or(1);
    if !(1..=CHOICES).contains(&choices) {
        return Err(ApiError::invalid("n", format!("1 to {CHOICES} choices")));
    }
    let messages = body.messages.into_iter().enumerate().map(|(at, message)| read_message(at, message));
    let messages = fields::conversation(messages.collect::<Result<Vec<_>, _>>()?)?;
    let tools = body.tools.unwrap_or_default().into_iter().map(|tool| match tool.r#type.as_str() {
        "function" => Ok(tool.function.into()),
        _ => Err(ApiError::invalid("tools", "only tools of type `function` are handed on")),
    });
    let stream_options = body.stream_options;
    body.portcullis.unwrap_or_default().extend(ClientRequest {
        stream: body.stream.unwrap_or(false),
        include_usage: stream_options.and_then(|options| options.include_usage).unwrap_or(false),
        choices,
        sampling: SamplingParameters {
            max_tokens: body.max_completion_tokens.or(body.max_tokens),
            counts_reasoning: body.max_completion_tokens.is_some(),
            temperature: body.temperature,
            top_p: body.top_p,
            top_k: None,
            presence_penalty: body.presence_penalty,
            frequency_penalty: body.frequency_penalty,
            seed: body.seed,
            stop: body.stop.map(OneOrMany::all).unwrap_or_default(),
            logprobs: false,
        },
        tools: tools.collect::<Result<_, _>>()?,
        tool_choice: fields::tool_choice(body.tool_choice)?,
        parallel_tool_calls: body.parallel_tool_calls,
        response_format: body.response_format.filter(|format| !format.is_null()),
        reasoning_effort: body.reasoning_effort,
        verbosity: body.verbosity,
        ..ClientRequest::of(bytes, body.model, RequestInput::Messages(messages))
    })
}

fn read_message(at: usize, message: ChatMessage) -> Result<ConversationMessage, ApiError> {
    let param = |field: &str| format!("messages[{at}].{field}");
    fields::refuse(&[
        ("messages.audio", &message.audio, "audio cannot be judged"),
        ("messages.function_call", &message.function_call, "use `tool_calls`"),
    ])?;
    let role = match message.role.as_str() {
        "system" | "developer" => MessageRole::System,
        "user" => MessageRole::User,
        "assistant" => MessageRole::Assistant,
        "tool" => MessageRole::Tool,
        _ => return Err(ApiError::invalid(param("role"), "`system`, `developer`, `user`, `assistant` or `tool`")),
    };
    let calls = message.tool_calls.unwrap_or_default().into_iter().map(|call| match call.r#type.as_deref() {
        None | Some("function") => {
            let CalledFunction { name, arguments } = call.function;
            Ok(IdentifiedCall { id: call.id, call: EngineToolCall { name, arguments } })
        }
        Some(_) => Err(ApiError::invalid(param("tool_calls"), "only calls of type `function` are handed on")),
    });
    Ok(ConversationMessage {
        role,
        text: fields::text(message.content, &["text", "refusal"], &param("content"))?,
        calls: calls.collect::<Result<_, _>>()?,
        call_id: message.tool_call_id,
    })
}

fn finish_reason(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Refused | FinishReason::Failed => "content_filter",
    }
}

const fn field(channel: AnswerChannel) -> &'static str {
    match channel {
        AnswerChannel::Content => "content",
        AnswerChannel::Reasoning => "reasoning_content",
        AnswerChannel::Refusal => "refusal",
    }
}

pub(super) fn usage_object(usage: TokenUsage) -> Value {
    let TokenUsage { prompt, completion } = usage;
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt.saturating_add(completion)})
}

/// Writes chunks.
pub(crate) struct ChatEventWriter {
    header: AnswerHeader,
    /// Choices for which text was written.
    begun: BTreeSet<u32>,
}

impl ChatEventWriter {
    pub(crate) const fn new(header: AnswerHeader) -> Self {
        Self { header, begun: BTreeSet::new() }
    }

    fn chunk(&self, choices: Value) -> Value {
        let AnswerHeader { id, model, created, .. } = &self.header;
        json!({"id": id, "object": "chat.completion.chunk", "created": created, "model": model, "choices": choices})
    }

    fn delta(&mut self, choice: u32, delta: Value, finish: Option<FinishReason>) -> String {
        let mut written = String::new();
        if self.begun.insert(choice) {
            let role = json!([{"index": choice, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]);
            written.push_str(&data(&self.chunk(role)));
        }
        let choices = json!([{"index": choice, "delta": delta, "finish_reason": finish.map(finish_reason)}]);
        written + &data(&self.chunk(choices))
    }
}

impl EventWriter for ChatEventWriter {
    fn start(&mut self) -> String {
        String::new()
    }

    fn output(&mut self, output: &GatedAnswerPart) -> String {
        match output {
            GatedAnswerPart::Text { choice, channel, text } | GatedAnswerPart::Constant { choice, channel, text } => {
                self.delta(*choice, json!({field(*channel): text}), None)
            }
            GatedAnswerPart::Call {
                choice,
                index,
                call: IdentifiedCall { id, call: EngineToolCall { name, arguments } },
            } => {
                let function = json!({"name": name, "arguments": arguments});
                let call = json!({"index": index, "id": id, "type": "function", "function": function});
                self.delta(*choice, json!({"tool_calls": [call]}), None)
            }
            GatedAnswerPart::End { choice, finish } => self.delta(*choice, json!({}), Some(*finish)),
        }
    }

    fn end(&mut self, usage: TokenUsage, provenance: &AnswerProvenance) -> String {
        // Many clients read the first choice of every chunk, so every chunk has a choice. The only exception is the
        // chunk with the usage, which clients must request.
        let choice = json!({"index": 0, "delta": {}, "finish_reason": null});
        let last = self.chunk(if self.header.include_usage { json!([]) } else { json!([choice]) });
        done(last, self.header.include_usage.then_some(usage), provenance)
    }

    fn fail(&mut self, error: &ApiError, provenance: &AnswerProvenance) -> String {
        done(error_object(error), None, provenance)
    }
}

/// The content of one choice, by channel, with its calls and its end.
#[derive(Default)]
pub(super) struct WholeChoice {
    pub(super) texts: BTreeMap<AnswerChannel, String>,
    pub(super) calls: Vec<IdentifiedCall>,
    pub(super) finish: Option<FinishReason>,
}

/// Groups the outputs of an answer by choice.
pub(super) fn choices(outputs: &[GatedAnswerPart]) -> BTreeMap<u32, WholeChoice> {
    let mut choices: BTreeMap<u32, WholeChoice> = BTreeMap::new();
    for output in outputs {
        let choice = choices.entry(output.choice()).or_default();
        match output {
            GatedAnswerPart::Text { channel, text, .. } | GatedAnswerPart::Constant { channel, text, .. } => {
                choice.texts.entry(*channel).or_default().push_str(text);
            }
            GatedAnswerPart::Call { call, .. } => choice.calls.push(call.clone()),
            GatedAnswerPart::End { finish, .. } => choice.finish = Some(*finish),
        }
    }
    choices
}

pub(crate) fn body(
    header: &AnswerHeader,
    outputs: &[GatedAnswerPart],
    usage: TokenUsage,
    provenance: &AnswerProvenance,
) -> Value {
    let message = |choice: &WholeChoice| {
        let text = |channel| choice.texts.get(&channel);
        let mut message = json!({"role": "assistant", "content": text(AnswerChannel::Content)});
        let calls = choice.calls.iter().map(|IdentifiedCall { id, call: EngineToolCall { name, arguments } }| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        });
        let calls: Vec<Value> = calls.collect();
        if let Some(message) = message.as_object_mut() {
            for channel in [AnswerChannel::Reasoning, AnswerChannel::Refusal] {
                message.extend(text(channel).map(|text| (field(channel).to_owned(), json!(text))));
            }
            if calls.is_empty() {
                message.entry("content").and_modify(|content| {
                    if content.is_null() {
                        *content = json!("");
                    }
                });
            } else {
                message.insert("tool_calls".into(), json!(calls));
            }
        }
        message
    };
    let choices = choices(outputs).into_iter().map(|(index, choice)| {
        json!({"index": index, "message": message(&choice), "finish_reason": choice.finish.map(finish_reason)})
    });
    json!({
        "id": header.id, "object": "chat.completion", "created": header.created, "model": header.model,
        "choices": choices.collect::<Vec<_>>(), "usage": usage_object(usage), "portcullis": provenance,
    })
}
