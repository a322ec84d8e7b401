//! The native API, for callers that have the text themselves. A caller opens a governed stream, submits candidate texts
//! and tool calls, and gets the determination of each with the place of its record. The caller must show its readers
//! only released text.
//!
//! The routes and their OpenAPI document are generated from the same declarations.

mod wire;

use crate::api::dialect::ApiDialect;
use crate::api::fields;
use crate::api::reply::{error_response, json_response};
use crate::error::ApiError;
use crate::governed::GovernedStreamRequest;
use crate::observe::SectionInput;
use crate::request::MessageRole;
use crate::service::{GatewayService, KeyedClient, random};
use crate::session::is_drained;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::get;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::{ApiErrorBody, OpenRequest, OpenedStream, StreamCandidate, StreamCloseRequest, StreamProgress};

/// Path of the OpenAPI document of this API.
const DOCUMENT: &str = "/v1/portcullis/openapi.json";
/// Largest candidate in bytes, together with earlier text that still waits.
const CANDIDATE_BYTES: usize = 512 << 10;

/// Metadata of the document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Portcullis",
        description = "Has candidate texts and tool calls judged before a reader sees them.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    modifiers(&BearerKey),
    security(("key" = []))
)]
struct NativeApiDocument;

/// How a caller sends its key.
struct BearerKey;

impl utoipa::Modify for BearerKey {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        document.components.get_or_insert_default().add_security_scheme("key", scheme);
    }
}

fn routes_and_document() -> (Router<Arc<GatewayService>>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(NativeApiDocument::openapi())
        .routes(routes!(open))
        .routes(routes!(candidate))
        .routes(routes!(close))
        .split_for_parts()
}

/// The routes, including that of the document.
pub(crate) fn router() -> Router<Arc<GatewayService>> {
    let (router, document) = routes_and_document();
    // The document consists of strings, numbers and lists, so this cannot fail.
    let document = document.to_json().unwrap_or_default();
    router.route(DOCUMENT, get(move || async move { json_response(StatusCode::OK, document, "openapi") }))
}

/// The response to an API call.
fn respond(answered: Result<(StatusCode, String, String), ApiError>) -> Response {
    match answered {
        Ok((status, body, id)) => json_response(status, body, &id),
        Err(error) => error_response(ApiDialect::Chat, &error),
    }
}

fn body_of(value: &impl serde::Serialize) -> Result<String, ApiError> {
    serde_json::to_string(value).map_err(|_| ApiError::gate("the answer cannot be written"))
}

/// Opens a governed stream.
///
/// The pre-execution filter judges the task first. A refused task gets status 400 and the code
/// `content_filter`; its stream is recorded with BEGIN, a NOTE of the filter's report, and END.
#[utoipa::path(
    post,
    path = "/v1/portcullis/streams",
    request_body = OpenRequest,
    responses(
        (status = 201, description = "the stream has begun on the card", body = OpenedStream),
        (status = 400, description = "a wrong field, or a task that was refused", body = ApiErrorBody),
        (status = 401, description = "no key, or a wrong one", body = ApiErrorBody),
        (status = 404, description = "no such model for this key", body = ApiErrorBody),
        (status = 503, description = "no room, or no session", body = ApiErrorBody),
    )
)]
async fn open(State(service): State<Arc<GatewayService>>, headers: HeaderMap, body: Body) -> Response {
    respond(open_stream(&service, &headers, body).await)
}

async fn open_stream(
    service: &Arc<GatewayService>,
    headers: &HeaderMap,
    body: Body,
) -> Result<(StatusCode, String, String), ApiError> {
    let caller = service.caller(headers)?;
    service.check_running()?;
    let body = service.body(body).await?;
    let request: OpenRequest = fields::read(&body)?;
    let nonce = fields::nonce(request.nonce, "nonce")?;
    let place = service.model(caller, &request.model)?;
    service.check_sources(caller, &request.sources)?;
    let owner = caller.map(KeyedClient::place);
    let room = service.open_streams().room(owner)?;
    let (task, verdict) = service.judge_input(vec![(MessageRole::User, request.task)]).await?;
    let id = format!("ptc_{}", random()?);
    let opening = GovernedStreamRequest {
        id: id.clone(),
        place,
        task,
        note: verdict.note,
        refusal: (!verdict.rules.is_empty()).then(|| verdict.rules.join(", ")),
        text: None,
        on_refuse: None,
        digest: Sha256::digest(&body).into(),
        nonce,
        sources: request.sources.into(),
        owner: crate::governed::owner(owner),
    };
    let stream = service.govern(&opening).await?;
    if !verdict.rules.is_empty() {
        return Err(ApiError::input_refused(&verdict.rules));
    }
    let opened =
        OpenedStream { stream: id.clone(), idle_ms: service.limits().decide_idle_ms, portcullis: stream.provenance() };
    let body = body_of(&opened)?;
    service.open_streams().keep(id.clone(), owner, stream, room);
    Ok((StatusCode::CREATED, body, id))
}

/// Submits the next candidate: a text, or a whole tool call.
///
/// Texts are joined and cut into sentences. The end of a text waits (`pending`) until the following text shows
/// where the sentence ends. A tool call completes the text before it.
#[utoipa::path(
    post,
    path = "/v1/portcullis/streams/{stream}/candidates",
    params(("stream" = String, Path, description = "name of the stream")),
    request_body = StreamCandidate,
    responses(
        (status = 200, description = "what was determined, and what may be shown", body = StreamProgress),
        (status = 400, description = "a wrong field", body = ApiErrorBody),
        (status = 401, description = "no key, or a wrong one", body = ApiErrorBody),
        (status = 404, description = "no such stream for this key", body = ApiErrorBody),
        (status = 409, description = "the stream is over, or another request of it is being answered", body = ApiErrorBody),
        (status = 413, description = "the candidate is longer than the bound", body = ApiErrorBody),
        (status = 503, description = "the card did not answer in time", body = ApiErrorBody),
    )
)]
async fn candidate(
    State(service): State<Arc<GatewayService>>,
    Path(stream): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(submit(&service, &stream, &headers, body).await)
}

async fn submit(
    service: &Arc<GatewayService>,
    name: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<(StatusCode, String, String), ApiError> {
    let owner = service.caller(headers)?.map(KeyedClient::place);
    let body = service.body(body).await?;
    let candidate: StreamCandidate = fields::read(&body)?;
    let kept = service.open_streams().find(name, owner)?;
    let mut stream = kept.take_turn()?;
    if stream.end().is_some() {
        if is_drained(stream.report().stopped.as_deref()) {
            return Err(ApiError::shutting_down());
        }
        return Err(ApiError::conflict("stream_over", "the stream is over; close it to see how it ended"));
    }
    match candidate {
        StreamCandidate { text: Some(text), call: None } if !text.is_empty() => {
            if text.len() + stream.section().pending() > CANDIDATE_BYTES {
                return Err(ApiError::too_large(CANDIDATE_BYTES));
            }
            stream.give(&SectionInput::Text(&text))?;
        }
        StreamCandidate { text: None, call: Some(call) } if !call.name.is_empty() => {
            if call.name.len() + call.arguments.len() > CANDIDATE_BYTES {
                return Err(ApiError::too_large(CANDIDATE_BYTES));
            }
            stream.give(&SectionInput::Call(&call.into()))?;
        }
        _ => return Err(ApiError::invalid("text", "either `text` or `call`, and not empty")),
    }
    stream.settle(service.limits().client(), false).await?;
    let body = body_of(&StreamProgress::of(name, &mut stream))?;
    Ok((StatusCode::OK, body, name.to_owned()))
}

/// Closes a stream: text that still waits is judged, END is recorded, and the name becomes free.
#[utoipa::path(
    post,
    path = "/v1/portcullis/streams/{stream}/close",
    params(("stream" = String, Path, description = "name of the stream")),
    request_body = StreamCloseRequest,
    responses(
        (status = 200, description = "what was determined since the last answer, and how it ended", body = StreamProgress),
        (status = 401, description = "no key, or a wrong one", body = ApiErrorBody),
        (status = 404, description = "no such stream for this key", body = ApiErrorBody),
        (status = 409, description = "another request of the stream is being answered", body = ApiErrorBody),
        (status = 503, description = "the card did not answer in time", body = ApiErrorBody),
    )
)]
async fn close(
    State(service): State<Arc<GatewayService>>,
    Path(stream): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    respond(end(&service, &stream, &headers, body).await)
}

async fn end(
    service: &Arc<GatewayService>,
    name: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<(StatusCode, String, String), ApiError> {
    let owner = service.caller(headers)?.map(KeyedClient::place);
    let body = service.body(body).await?;
    if !body.is_empty() {
        let StreamCloseRequest {} = fields::read(&body)?;
    }
    let kept = service.open_streams().find(name, owner)?;
    let mut stream = kept.take_turn()?;
    stream.finish()?;
    let settled = stream.settle(service.limits().client(), false).await;
    service.open_streams().remove(name);
    settled?;
    service.keep_receipt(owner, stream.session(), &stream.provenance());
    let body = body_of(&StreamProgress::of(name, &mut stream))?;
    Ok((StatusCode::OK, body, name.to_owned()))
}
