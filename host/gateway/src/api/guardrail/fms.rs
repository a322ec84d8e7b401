//! The detector API of the FMS guardrails orchestrator (TrustyAI). The orchestrator asks which detections a text
//! contains, and decides the outcome itself.
//!
//! A detection is a span that the gate refuses, with its rule, and the policy's name as its type. Its score is 1,
//! because the orchestrator drops detections below a threshold. Every span is judged, even if the package stops after a
//! refusal, since a caller may mask the listed spans.

use super::{GuardrailInquiry, RefusedSpan, TEXTS, TextVerdict};
use crate::api::fields;
use crate::api::reply::json_response;
use crate::calls::judged_call;
use crate::error::ApiError;
use crate::request::MessageRole;
use crate::service::GatewayService;
use crate::sources;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use portcullis_core::context::OnRefuse;
use portcullis_mapping::EngineToolCall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::future::Future;
use std::sync::Arc;

/// Type of detections by the pre-execution filter, which has no policy name.
const PREFILTER: &str = "prefilter";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentsRequest {
    contents: Vec<String>,
    /// Settings of other detectors. They have no effect, because the policy decides.
    #[serde(default, rename = "detector_params")]
    _params: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChatRequest {
    messages: Vec<FmsChatMessage>,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default, rename = "detector_params")]
    _params: Map<String, Value>,
}

/// A message. Unknown fields are refused, since they might contain text that is not judged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FmsChatMessage {
    role: String,
    content: Option<Value>,
    #[serde(default)]
    tool_calls: Vec<FmsToolCall>,
    refusal: Option<String>,
    name: Option<String>,
    #[serde(rename = "tool_call_id")]
    _tool_call_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FmsToolCall {
    function: FmsCalledFunction,
    #[serde(rename = "id")]
    _id: Option<String>,
    #[serde(rename = "type")]
    _kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FmsCalledFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

impl From<FmsToolCall> for EngineToolCall {
    fn from(FmsToolCall { function: FmsCalledFunction { name, arguments }, .. }: FmsToolCall) -> Self {
        judged_call(name, arguments)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GenerationRequest {
    prompt: String,
    generated_text: String,
    #[serde(default, rename = "detector_params")]
    _params: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextRequest {
    content: String,
    context_type: String,
    context: Vec<String>,
    #[serde(default, rename = "detector_params")]
    _params: Map<String, Value>,
}

/// A detection in a conversation or in a generated text.
#[derive(Serialize)]
struct FmsDetection {
    detection: String,
    detection_type: String,
    score: f64,
    metadata: Value,
}

/// A detection at a place in a content.
#[derive(Serialize)]
struct ContentDetection {
    /// First code point.
    start: usize,
    /// End of the detection in code points, exclusive.
    end: usize,
    text: String,
    #[serde(flatten)]
    detection: FmsDetection,
}

pub(super) fn router() -> Router<Arc<GatewayService>> {
    Router::new()
        .route("/api/v1/text/contents", post(contents))
        .route("/api/v1/text/chat", post(chat))
        .route("/api/v1/text/generation", post(generation))
        .route("/api/v1/text/context/doc", post(context))
        .route("/health", get(health))
}

async fn health(State(service): State<Arc<GatewayService>>) -> Response {
    service.readiness()
}

async fn contents(State(service): State<Arc<GatewayService>>, headers: HeaderMap, body: Body) -> Response {
    respond(detect_contents(&service, &headers, body)).await
}

async fn chat(State(service): State<Arc<GatewayService>>, headers: HeaderMap, body: Body) -> Response {
    respond(detect_chat(&service, &headers, body)).await
}

async fn generation(State(service): State<Arc<GatewayService>>, headers: HeaderMap, body: Body) -> Response {
    respond(detect_generation(&service, &headers, body)).await
}

async fn context(State(service): State<Arc<GatewayService>>, headers: HeaderMap, body: Body) -> Response {
    respond(detect_in_context(&service, &headers, body)).await
}

/// The response, or the API's error `{code, message}`; an invalid request has status 422.
async fn respond<T: Serialize>(detected: impl Future<Output = Result<T, ApiError>>) -> Response {
    let written = detected.await.and_then(|detected| {
        serde_json::to_string(&detected).map_err(|_| ApiError::gate("the answer cannot be written"))
    });
    match written {
        Ok(body) => json_response(StatusCode::OK, body, "detections"),
        Err(error) => {
            let is_wrong = [StatusCode::BAD_REQUEST, StatusCode::PAYLOAD_TOO_LARGE].contains(&error.status);
            let status = if is_wrong { StatusCode::UNPROCESSABLE_ENTITY } else { error.status };
            let field = error.param.map(|param| format!("{param}: ")).unwrap_or_default();
            let body = json!({"code": status.as_u16(), "message": format!("{field}{}", error.message)});
            json_response(status, body.to_string(), "error")
        }
    }
}

/// An inquiry under the policy of the model that the header `detector-id` names.
fn inquiry(service: &Arc<GatewayService>, headers: &HeaderMap, body: &[u8]) -> Result<GuardrailInquiry, ApiError> {
    let detector = headers.get("detector-id").and_then(|value| value.to_str().ok());
    GuardrailInquiry::new(service, headers, (body, detector, "fms_"))
}

async fn detect_contents(
    service: &Arc<GatewayService>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<Vec<ContentDetection>>, ApiError> {
    let body = super::body_of(service, headers, body).await?;
    let request: ContentsRequest = fields::read(&body)?;
    bounded("contents", request.contents.len())?;
    let mut inquiry = inquiry(service, headers, &body)?;
    let mut all = Vec::new();
    // One list per content: the orchestrator would treat a content without a list as clean.
    for content in request.contents {
        let verdict = inquiry.text(content.clone(), Some(OnRefuse::Skip)).await?;
        let place = |span: &RefusedSpan| {
            let count = |to: usize| content.get(..to).unwrap_or(&content).chars().count();
            ContentDetection {
                start: count(span.range.start),
                end: count(span.range.end),
                text: content.get(span.range.clone()).unwrap_or_default().to_owned(),
                detection: detection(&verdict, span),
            }
        };
        all.push(verdict.refused.iter().map(place).collect());
    }
    Ok(all)
}

async fn detect_chat(
    service: &Arc<GatewayService>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<FmsDetection>, ApiError> {
    let body = super::body_of(service, headers, body).await?;
    let request: ChatRequest = fields::read(&body)?;
    bounded("messages", request.messages.len())?;
    let mut inquiry = inquiry(service, headers, &body)?;
    let mut input: Vec<(MessageRole, String)> =
        request.tools.iter().map(|tool| (MessageRole::System, tool.to_string())).collect();
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for FmsChatMessage { role, content, tool_calls, refusal, name, .. } in request.messages {
        let role = match role.as_str() {
            "system" | "developer" => MessageRole::System,
            "user" => MessageRole::User,
            "assistant" => MessageRole::Assistant,
            "tool" | "function" => MessageRole::Tool,
            _ => return Err(ApiError::invalid("messages", "a role that this API does not have")),
        };
        let text = fields::text(content, &["text", "refusal"], "messages")?;
        input.extend(name.map(|name| (role, name)));
        for text in [Some(text), refusal].into_iter().flatten().filter(|text| !text.is_empty()) {
            input.push((role, text.clone()));
            texts.extend((role == MessageRole::Assistant).then_some(text));
        }
        for call in tool_calls.into_iter().map(EngineToolCall::from) {
            input.push((role, format!("{} {}", call.name, call.arguments)));
            calls.push(call);
        }
    }
    bounded("messages", texts.len() + calls.len())?;
    let mut found = prefiltered(&mut inquiry, input).await?;
    for text in texts {
        found.extend(detections(&inquiry.text(text, Some(OnRefuse::Skip)).await?));
    }
    for call in &calls {
        found.extend(detections(&inquiry.call(call, Some(OnRefuse::Skip)).await?));
    }
    Ok(found)
}

async fn detect_generation(
    service: &Arc<GatewayService>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<FmsDetection>, ApiError> {
    let body = super::body_of(service, headers, body).await?;
    let request: GenerationRequest = fields::read(&body)?;
    let mut inquiry = inquiry(service, headers, &body)?;
    let mut found = prefiltered(&mut inquiry, vec![(MessageRole::User, request.prompt)]).await?;
    found.extend(detections(&inquiry.text(request.generated_text, Some(OnRefuse::Skip)).await?));
    Ok(found)
}

/// Detects the parts of a text that the given documents do not support, under a policy with a closed world. The
/// documents are the sources.
async fn detect_in_context(
    service: &Arc<GatewayService>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<FmsDetection>, ApiError> {
    let body = super::body_of(service, headers, body).await?;
    let request: ContextRequest = fields::read(&body)?;
    match request.context_type.as_str() {
        // The orchestrator sends `docs`; its documentation names the other values.
        "docs" | "chunks" | "document" => {}
        "url" => return Err(ApiError::invalid("context_type", "this gate fetches nothing: give the documents' texts")),
        _ => return Err(ApiError::invalid("context_type", "`docs`, `chunks` or `document`")),
    }
    bounded("context", request.context.len())?;
    let mut inquiry = inquiry(service, headers, &body)?;
    let read = request.context.iter().map(|document| (MessageRole::Assistant, document.clone())).collect();
    let session = service.session(&inquiry.id, None).await?;
    let governor = session.governors.get(inquiry.place).ok_or_else(ApiError::no_model)?;
    let (governor, context) = (Arc::clone(governor), request.context);
    let sources = tokio::task::spawn_blocking(move || {
        let documents = (1..).zip(&context).filter(|(_, document)| !document.trim().is_empty());
        documents.map(|(number, document)| sources::document(number, document, &governor.policy().mapper)).collect()
    });
    let sources: Vec<_> = sources.await.map_err(|_| ApiError::gate("the documents could not be read"))?;
    service.check_sources(service.caller(headers)?, &sources)?;
    let mut found = documented(&mut inquiry, read).await?;
    inquiry.sources = sources.into();
    found.extend(detections(&inquiry.text(request.content, Some(OnRefuse::Skip)).await?));
    Ok(found)
}

fn bounded(field: &str, count: usize) -> Result<(), ApiError> {
    if count > TEXTS { Err(ApiError::invalid(field, format!("more than {TEXTS}"))) } else { Ok(()) }
}

/// The report of the pre-execution filter about the input.
async fn prefiltered(
    inquiry: &mut GuardrailInquiry,
    input: Vec<(MessageRole, String)>,
) -> Result<Vec<FmsDetection>, ApiError> {
    let rules = inquiry.input(input).await?;
    Ok(refused_input(inquiry, rules))
}

/// The filter's report about documents.
async fn documented(
    inquiry: &mut GuardrailInquiry,
    documents: Vec<(MessageRole, String)>,
) -> Result<Vec<FmsDetection>, ApiError> {
    let rules = inquiry.documents(documents).await?;
    Ok(refused_input(inquiry, rules))
}

fn refused_input(inquiry: &GuardrailInquiry, rules: Vec<String>) -> Vec<FmsDetection> {
    let found = |rule: String| FmsDetection {
        detection: rule,
        detection_type: PREFILTER.into(),
        score: 1.0,
        metadata: json!({"request": inquiry.id}),
    };
    rules.into_iter().map(found).collect()
}

fn detections(verdict: &TextVerdict) -> Vec<FmsDetection> {
    verdict.refused.iter().map(|span| detection(verdict, span)).collect()
}

fn detection(verdict: &TextVerdict, span: &RefusedSpan) -> FmsDetection {
    let record = span.record.map(|(index, lane)| json!({"lane": lane, "index": index}));
    FmsDetection {
        detection: span.rule.clone(),
        detection_type: verdict.governor.policy().package.manifest().package.name.clone(),
        score: 1.0,
        metadata: json!({"session": verdict.session, "stream": verdict.stream, "record": record}),
    }
}
