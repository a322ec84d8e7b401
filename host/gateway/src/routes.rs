//! The routes, and the layers that all of them share: the check of the host name, and the counters.

use crate::api::dialect::ApiDialect;
use crate::api::reply::{error_response, json_response};
use crate::api::{exchange, guardrail, native};
use crate::error::ApiError;
use crate::loopback::is_meant_for_loopback;
use crate::metrics::with_model;
use crate::service::GatewayService;
use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// The routes of a service.
pub(crate) fn router(service: Arc<GatewayService>) -> Router {
    let mut router = Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(|State(service): State<Arc<GatewayService>>| async move { service.readiness() }))
        .route("/v1/models", get(models))
        .route("/v1/portcullis/receipts/{answer}", get(receipt))
        .merge(native::router())
        .merge(guardrail::router());
    for dialect in ApiDialect::ALL {
        let ask = move |State(service): State<Arc<GatewayService>>, headers: HeaderMap, body: Body| async move {
            exchange::answer(&service, dialect, &headers, body).await
        };
        router = router.route(dialect.path(), post(ask));
    }
    let router = router.fallback(|| async { error_response(ApiDialect::Chat, &ApiError::no_route()) });
    let router = if service.is_open() { router.layer(from_fn(check_host)) } else { router };
    router.layer(from_fn_with_state(Arc::clone(&service), observe)).with_state(service)
}

/// Refuses a request for another host with status 403.
async fn check_host(request: Request, next: Next) -> Response {
    if is_meant_for_loopback(request.uri(), request.headers()) {
        return next.run(request).await;
    }
    let path = request.uri().path();
    let dialect = ApiDialect::ALL.into_iter().find(|dialect| dialect.path() == path);
    error_response(dialect.unwrap_or(ApiDialect::Chat), &ApiError::wrong_host())
}

/// Counts and logs a request: its route, its model, its status, and the time until its head was sent. No text from the
/// client is logged.
async fn observe(State(service): State<Arc<GatewayService>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let begun = Instant::now();
    let (response, place) = with_model(next.run(request)).await;
    let model = place.and_then(|place| service.model_name(place)).unwrap_or("none");
    service.metrics().request(&route, model, response.status());
    let (status, milliseconds) =
        (response.status().as_u16(), u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
    tracing::info!(route, model, status, milliseconds, "request");
    response
}

async fn models(State(service): State<Arc<GatewayService>>, headers: HeaderMap) -> Response {
    let caller = match service.caller(&headers) {
        Ok(caller) => caller,
        Err(error) => return error_response(ApiDialect::Chat, &error),
    };
    let shown: Vec<Value> = service
        .models(caller)
        .map(|name| json!({"id": name, "object": "model", "created": service.started(), "owned_by": "portcullis"}))
        .collect();
    json_response(StatusCode::OK, json!({"object": "list", "data": shown}).to_string(), "models")
}

/// The proofs of an answer's streams, for the client that received the answer.
async fn receipt(State(service): State<Arc<GatewayService>>, Path(id): Path<String>, headers: HeaderMap) -> Response {
    let proofs = match service.caller(&headers) {
        Ok(caller) => service.proofs(&id, caller).await,
        Err(error) => Err(error),
    };
    match proofs {
        Ok(proofs) => json_response(StatusCode::OK, json!({"answer": id, "proofs": proofs}).to_string(), &id),
        Err(error) => error_response(ApiDialect::Chat, &error),
    }
}
