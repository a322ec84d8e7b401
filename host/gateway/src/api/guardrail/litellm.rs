//! LiteLLM's Generic Guardrail API. LiteLLM's proxy sends the texts of a request before it calls the model, and the
//! texts of the answer afterwards.
//!
//! LiteLLM lets a text pass if the response has no known `action`, or the status 502, 503 or 504. So every error after
//! the check of the key gives status 200 and `BLOCKED`. End users see `blocked_reason` word for word, so it contains
//! rule ids but no text.
//!
//! LiteLLM's request does not show whether the answer is streamed. A LiteLLM that streams drops the texts of the action
//! `GUARDRAIL_INTERVENED` in most modes, and sends its own chunks. So this interface never uses that action: a refused
//! answer is blocked, even if the package redacts.

use super::{GuardrailInquiry, TEXTS, TextVerdict};
use crate::api::dialect::ApiDialect;
use crate::api::fields;
use crate::api::reply::{error_response, json_response};
use crate::calls::judged_call;
use crate::error::ApiError;
use crate::reading::reading;
use crate::request::MessageRole;
use crate::service::GatewayService;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use portcullis_gate::PartReader;
use portcullis_mapping::EngineToolCall;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// LiteLLM's request. An unknown field might contain text that is not judged, so such a request is blocked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuardrailRequest {
    input_type: InputType,
    texts: Option<Vec<String>>,
    /// The messages that contain the texts of a request.
    structured_messages: Option<Vec<StructuredMessage>>,
    images: Option<Vec<Value>>,
    tools: Option<Vec<Value>>,
    tool_calls: Option<Vec<LiteLlmToolCall>>,
    model: Option<String>,
    litellm_call_id: Option<String>,
    #[serde(rename = "litellm_trace_id")]
    _trace_id: Option<Value>,
    #[serde(rename = "request_data")]
    _request_data: Option<Value>,
    #[serde(rename = "request_headers")]
    _request_headers: Option<Value>,
    #[serde(rename = "litellm_version")]
    _version: Option<Value>,
    #[serde(rename = "additional_provider_specific_params")]
    _params: Option<Value>,
}

/// Whether the texts are a request or an answer.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InputType {
    Request,
    Response,
}

/// A message of the conversation. Its texts are also in [`GuardrailRequest::texts`].
#[derive(Deserialize)]
struct StructuredMessage {
    role: Option<String>,
    content: Option<Value>,
    tool_calls: Option<Vec<LiteLlmToolCall>>,
}

/// A tool call in OpenAI's form.
#[derive(Deserialize)]
struct LiteLlmToolCall {
    function: LiteLlmCalledFunction,
}

#[derive(Deserialize)]
struct LiteLlmCalledFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

impl From<LiteLlmToolCall> for EngineToolCall {
    fn from(LiteLlmToolCall { function: LiteLlmCalledFunction { name, arguments } }: LiteLlmToolCall) -> Self {
        judged_call(name, arguments)
    }
}

/// The response that LiteLLM expects.
#[derive(Serialize)]
struct GuardrailAnswer {
    action: GuardrailAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_reason: Option<String>,
    /// For each text, the number of characters at its end whose verdict can still change.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_holdback_chars: Option<Vec<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum GuardrailAction {
    /// The request or the answer is blocked.
    Blocked,
    /// The texts stay unchanged.
    None,
}

pub(super) fn router() -> Router<Arc<GatewayService>> {
    Router::new().route("/beta/litellm_basic_guardrail_api", post(guardrail))
}

async fn guardrail(State(service): State<Arc<GatewayService>>, headers: HeaderMap, body: Body) -> Response {
    if let Err(error) = service.caller(&headers) {
        return error_response(ApiDialect::Chat, &error);
    }
    let (id, answer) = match judge(&service, &headers, body).await {
        Ok(judged) => judged,
        Err(error) => (String::new(), GuardrailAnswer::blocked(failure(&error))),
    };
    let blocked = || r#"{"action":"BLOCKED","blocked_reason":"portcullis: gate_failed"}"#.to_owned();
    json_response(StatusCode::OK, serde_json::to_string(&answer).unwrap_or_else(|_| blocked()), &id)
}

/// Why the texts could not be judged, for end users.
fn failure(error: &ApiError) -> String {
    format!("portcullis: {}", error.code)
}

impl GuardrailAnswer {
    fn blocked(reason: String) -> Self {
        Self { action: GuardrailAction::Blocked, blocked_reason: Some(reason), stream_holdback_chars: None }
    }

    fn refused(rules: &[String]) -> Self {
        Self::blocked(format!("portcullis: refused by {}", rules.join(", ")))
    }
}

async fn judge(
    service: &Arc<GatewayService>,
    headers: &HeaderMap,
    body: Body,
) -> Result<(String, GuardrailAnswer), ApiError> {
    let body = super::body_of(service, headers, body).await?;
    let request: GuardrailRequest = fields::read(&body)?;
    let mut inquiry = GuardrailInquiry::new(service, headers, (&body, request.model.as_deref(), "ltm_"))?;
    // LiteLLM's own ids are valid nonces. An invalid id comes from an end user, and the records do not bind it.
    inquiry.nonce = fields::nonce(request.litellm_call_id.clone(), "litellm_call_id").unwrap_or(None);
    if request.images.as_ref().is_some_and(|images| !images.is_empty()) {
        return Err(ApiError::invalid("images", "an image cannot be judged here"));
    }
    let counted = |count: Option<usize>| count.unwrap_or(0);
    let calls = request.tool_calls.as_ref().map(Vec::len);
    if counted(request.texts.as_ref().map(Vec::len)) + counted(calls) > TEXTS {
        return Err(ApiError::invalid("texts", format!("more than {TEXTS} texts")));
    }
    let id = inquiry.id.clone();
    let answer = match request.input_type {
        InputType::Request => {
            let rules = inquiry.input(input(request)?).await?;
            if rules.is_empty() { GuardrailAnswer::passed(None) } else { GuardrailAnswer::refused(&rules) }
        }
        InputType::Response => answer(&mut inquiry, request).await?,
    };
    Ok((id, answer))
}

impl GuardrailAnswer {
    fn passed(stream_holdback_chars: Option<Vec<usize>>) -> Self {
        Self { action: GuardrailAction::None, blocked_reason: None, stream_holdback_chars }
    }
}

/// Every text of a request with its speaker. A text that is not in a message counts as the user's.
fn input(request: GuardrailRequest) -> Result<Vec<(MessageRole, String)>, ApiError> {
    let written = |call: &LiteLlmToolCall| format!("{} {}", call.function.name, call.function.arguments);
    let mut texts: Vec<(MessageRole, String)> = Vec::new();
    texts.extend(request.tools.iter().flatten().map(|tool| (MessageRole::System, tool.to_string())));
    for StructuredMessage { role, content, tool_calls } in request.structured_messages.iter().flatten() {
        let role = match role.as_deref() {
            Some("system" | "developer") => MessageRole::System,
            Some("assistant") => MessageRole::Assistant,
            Some("tool" | "function") => MessageRole::Tool,
            _ => MessageRole::User,
        };
        for text in message_texts(content.as_ref())? {
            texts.push((role, text));
        }
        texts.extend(tool_calls.iter().flatten().map(|call| (MessageRole::Assistant, written(call))));
    }
    let of_messages = texts.len();
    for text in request.texts.into_iter().flatten() {
        if !texts.iter().take(of_messages).any(|(_, known)| *known == text) {
            texts.push((MessageRole::User, text));
        }
    }
    texts.extend(request.tool_calls.iter().flatten().map(|call| (MessageRole::Assistant, written(call))));
    texts.retain(|(_, text)| !text.is_empty());
    Ok(texts)
}

/// The texts of a message, one per part, as LiteLLM lists them.
fn message_texts(content: Option<&Value>) -> Result<Vec<String>, ApiError> {
    let wrong = || ApiError::invalid("structured_messages", "a part that is not text: it cannot be judged here");
    match content {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(Value::Array(parts)) => {
            let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned).ok_or_else(wrong);
            parts.iter().map(text).collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// Judges the texts and the tool calls of an answer.
async fn answer(inquiry: &mut GuardrailInquiry, request: GuardrailRequest) -> Result<GuardrailAnswer, ApiError> {
    let mut rules: Vec<String> = Vec::new();
    let mut add = |verdict: &TextVerdict| {
        for rule in verdict.rules() {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    };
    let (mut holdback, mut is_refused) = (Vec::new(), false);
    for text in request.texts.into_iter().flatten() {
        let verdict = inquiry.text(text.clone(), None).await?;
        add(&verdict);
        is_refused |= verdict.shown != text || !verdict.refused.is_empty();
        holdback.push(open_end(&verdict, inquiry.owner, text)?);
    }
    for call in request.tool_calls.into_iter().flatten() {
        let verdict = inquiry.call(&call.into(), None).await?;
        add(&verdict);
        is_refused |= !verdict.refused.is_empty();
    }
    Ok(if is_refused { GuardrailAnswer::refused(&rules) } else { GuardrailAnswer::passed(Some(holdback)) })
}

/// Number of characters in the last, incomplete sentence of a text. In a stream, later text can change the sentence's
/// verdict.
fn open_end(verdict: &TextVerdict, owner: u64, text: String) -> Result<usize, ApiError> {
    let mut reader = PartReader::new(Arc::clone(&verdict.governor));
    let bytes = text.len();
    let read = move || {
        let pending = reader.text(&text, None).map_or(text.len(), |_| reader.pending());
        text.get(text.len().saturating_sub(pending)..).unwrap_or(&text).chars().count()
    };
    reading(owner, bytes, read).map_err(|failed| ApiError::gate(&failed.to_string()))
}
