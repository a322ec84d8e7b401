//! LiteLLM's Generic Guardrail API: its proxy asks with the texts of a request before the model is called, and with
//! those of the answer after it.
//!
//! An answer without a known `action` passes there, and so does status 502, 503 or 504. So whatever goes wrong after
//! the check of the key is answered with status 200 and `BLOCKED`. `blocked_reason` reaches end users word for word: it
//! holds rule ids, and no text.

use super::{Inquiry, TEXTS, TextVerdict};
use crate::dialect::{Dialect, fields};
use crate::error::ApiError;
use crate::request::Role;
use crate::section::placeholder;
use crate::service::{Service, error_response, json_response};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use portcullis_gate::PartReader;
use portcullis_mapping::Call;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The request of LiteLLM. An unknown field might hold text that is not judged: such a request is blocked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuardrailRequest {
    input_type: InputType,
    texts: Option<Vec<String>>,
    /// The messages that the texts of a request come from.
    structured_messages: Option<Vec<StructuredMessage>>,
    images: Option<Vec<Value>>,
    tools: Option<Vec<Value>>,
    tool_calls: Option<Vec<ToolCall>>,
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

/// Kind of the texts.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InputType {
    Request,
    Response,
}

/// A message of the conversation; its texts are among [`GuardrailRequest::texts`].
#[derive(Deserialize)]
struct StructuredMessage {
    role: Option<String>,
    content: Option<Value>,
    tool_calls: Option<Vec<ToolCall>>,
}

/// A tool call in OpenAI's form.
#[derive(Deserialize)]
struct ToolCall {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: String,
}

/// What LiteLLM takes.
#[derive(Serialize)]
struct GuardrailAnswer {
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    texts: Option<Vec<String>>,
    /// Characters at the end of each text that what follows may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_holdback_chars: Option<Vec<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Action {
    /// The request, or the answer, ends here.
    Blocked,
    /// It continues as it is.
    None,
    /// It continues with other texts.
    GuardrailIntervened,
}

pub(super) fn router() -> Router<Arc<Service>> {
    Router::new().route("/beta/litellm_basic_guardrail_api", post(guardrail))
}

async fn guardrail(State(service): State<Arc<Service>>, headers: HeaderMap, body: Body) -> Response {
    if let Err(error) = service.caller(&headers) {
        return error_response(Dialect::Chat, &error);
    }
    let (id, answer) = match judge(&service, &headers, body).await {
        Ok(judged) => judged,
        Err(error) => (String::new(), GuardrailAnswer::blocked(failure(&error))),
    };
    let blocked = || r#"{"action":"BLOCKED","blocked_reason":"portcullis: gate_failed"}"#.to_owned();
    json_response(StatusCode::OK, serde_json::to_string(&answer).unwrap_or_else(|_| blocked()), &id)
}

/// Why nothing can be said of the texts, for end users.
fn failure(error: &ApiError) -> String {
    format!("portcullis: {}", error.code)
}

impl GuardrailAnswer {
    fn blocked(reason: String) -> Self {
        let (texts, stream_holdback_chars) = (None, None);
        Self { action: Action::Blocked, blocked_reason: Some(reason), texts, stream_holdback_chars }
    }

    fn refused(rules: &[String]) -> Self {
        Self::blocked(format!("portcullis: refused by {}", rules.join(", ")))
    }
}

async fn judge(service: &Arc<Service>, headers: &HeaderMap, body: Body) -> Result<(String, GuardrailAnswer), ApiError> {
    let body = super::body_of(service, headers, body).await?;
    let request: GuardrailRequest = fields::read(&body)?;
    let mut inquiry = Inquiry::new(service, headers, (&body, request.model.as_deref(), "ltm_"))?;
    // LiteLLM's own identities have a valid form. If an end user chooses an invalid one, it is not bound.
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
        Self { action: Action::None, blocked_reason: None, texts: None, stream_holdback_chars }
    }
}

/// Every text of a request with who speaks it. A text that is in no message is the user's.
fn input(request: GuardrailRequest) -> Result<Vec<(Role, String)>, ApiError> {
    let written = |call: &ToolCall| format!("{} {}", call.function.name, call.function.arguments);
    let mut texts: Vec<(Role, String)> = Vec::new();
    texts.extend(request.tools.iter().flatten().map(|tool| (Role::System, tool.to_string())));
    for StructuredMessage { role, content, tool_calls } in request.structured_messages.iter().flatten() {
        let role = match role.as_deref() {
            Some("system" | "developer") => Role::System,
            Some("assistant") => Role::Assistant,
            Some("tool" | "function") => Role::Tool,
            _ => Role::User,
        };
        for text in message_texts(content.as_ref())? {
            texts.push((role, text));
        }
        texts.extend(tool_calls.iter().flatten().map(|call| (Role::Assistant, written(call))));
    }
    let of_messages = texts.len();
    for text in request.texts.into_iter().flatten() {
        if !texts.iter().take(of_messages).any(|(_, known)| *known == text) {
            texts.push((Role::User, text));
        }
    }
    texts.extend(request.tool_calls.iter().flatten().map(|call| (Role::Assistant, written(call))));
    texts.retain(|(_, text)| !text.is_empty());
    Ok(texts)
}

/// The texts of a message: each part of its own, as LiteLLM lists them.
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
async fn answer(inquiry: &mut Inquiry, request: GuardrailRequest) -> Result<GuardrailAnswer, ApiError> {
    let mut rules: Vec<String> = Vec::new();
    let mut add = |verdict: &TextVerdict| {
        for rule in verdict.rules() {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    };
    let (mut shown, mut holdback, mut is_changed, mut may_change) = (Vec::new(), Vec::new(), false, true);
    for text in request.texts.into_iter().flatten() {
        let verdict = inquiry.text(text.clone(), None).await?;
        add(&verdict);
        let is_other = verdict.shown != text || !verdict.refused.is_empty();
        is_changed |= is_other;
        // A refusal that the package does not let a placeholder stand for blocks the whole answer.
        may_change &= !is_other || placeholder(&verdict.governor).is_some();
        holdback.push(if is_other { verdict.shown.chars().count() } else { open_end(&verdict, &text) });
        shown.push(verdict.shown);
    }
    for ToolCall { function: Function { name, arguments } } in request.tool_calls.into_iter().flatten() {
        let arguments = if arguments.trim().is_empty() { "{}".into() } else { arguments };
        let verdict = inquiry.call(&Call { name, arguments }, None).await?;
        add(&verdict);
        may_change &= verdict.refused.is_empty();
        is_changed |= !verdict.refused.is_empty();
    }
    if !is_changed {
        return Ok(GuardrailAnswer::passed(Some(holdback)));
    }
    if !may_change {
        return Ok(GuardrailAnswer::refused(&rules));
    }
    let (action, blocked_reason) = (Action::GuardrailIntervened, None);
    Ok(GuardrailAnswer { action, blocked_reason, texts: Some(shown), stream_holdback_chars: Some(holdback) })
}

/// Characters at the end of a text whose sentence is not complete: in a stream, the following text may change their
/// verdict.
fn open_end(verdict: &TextVerdict, text: &str) -> usize {
    let mut reader = PartReader::new(Arc::clone(&verdict.governor));
    let pending = match reader.text(text, None) {
        Ok(_) => reader.pending(),
        Err(_) => text.len(),
    };
    text.get(text.len().saturating_sub(pending)..).unwrap_or(text).chars().count()
}
