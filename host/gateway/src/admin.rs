//! The admin listener: liveness, readiness, metrics, drain and the live page, for the gateway's operators. It shows
//! no text of a request or an answer.

use crate::api::dialect::ApiDialect;
use crate::api::reply::{error_response, json_response};
use crate::config::{AdminSettings, ConfigError};
use crate::error::ApiError;
use crate::service::{GatewayService, bearer_or_key};
use crate::ui::CounterHistory;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use base64ct::{Base64, Encoding};
use portcullis_report::live;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tokio::sync::Notify;

/// Largest number of connections at the same time.
pub(crate) const CONNECTIONS: usize = 32;

/// State that the admin routes share.
struct AdminService {
    service: Arc<GatewayService>,
    /// SHA-256 of the key.
    key: [u8; 32],
    drain: Arc<Notify>,
    history: Arc<CounterHistory>,
}

/// The admin routes. `POST /drain` notifies `drain`.
///
/// # Errors
/// The key cannot be read.
pub(crate) fn router(
    admin: &AdminSettings,
    service: Arc<GatewayService>,
    drain: Arc<Notify>,
    history: Arc<CounterHistory>,
) -> Result<Router, ConfigError> {
    let key = Sha256::digest(admin.key.read_key()?).into();
    let state = Arc::new(AdminService { service, key, drain, history });
    let page = Router::new()
        .route("/ui", get(page))
        .route("/ui/state", get(page_state))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&state), check_password));
    Ok(Router::new()
        .route("/metrics", get(metrics))
        .route("/drain", post(ask_drain))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&state), check_key))
        .merge(page)
        // This route needs no key, because process supervisors have none.
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .fallback(|| async { error_response(ApiDialect::Chat, &ApiError::no_route()) })
        .with_state(state))
}

impl AdminService {
    fn is_key(&self, shown: Option<&str>) -> bool {
        shown.map(|key| <[u8; 32]>::from(Sha256::digest(key))) == Some(self.key)
    }
}

async fn check_key(State(admin): State<Arc<AdminService>>, request: Request, next: Next) -> Response {
    if admin.is_key(bearer_or_key(request.headers())) {
        return next.run(request).await;
    }
    error_response(ApiDialect::Chat, &ApiError::unauthorized())
}

/// Like [`check_key`], but accepts the key also as the password of any user (RFC 7617), for browsers. A browser adds a
/// stored password also to requests that another site's page causes, so this check is only for routes that change
/// nothing.
async fn check_password(State(admin): State<Arc<AdminService>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if admin.is_key(bearer_or_key(headers)) || admin.is_key(password(headers).as_deref()) {
        return next.run(request).await;
    }
    let mut response = error_response(ApiDialect::Chat, &ApiError::unauthorized());
    let challenge = HeaderValue::from_static("Basic realm=\"portcullis\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// The password in a request's basic authentication.
fn password(headers: &HeaderMap) -> Option<String> {
    let (scheme, credentials) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let credentials = scheme.eq_ignore_ascii_case("basic").then(|| Base64::decode_vec(credentials.trim()).ok())??;
    let credentials = String::from_utf8(credentials).ok()?;
    credentials.split_once(':').map(|(_, password)| password.to_owned())
}

/// The live page.
async fn page(State(admin): State<Arc<AdminService>>) -> Response {
    let mut response = Response::new(Body::from(admin.history.live(&admin.service).page()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    // The content security policy protects the page; without it, the page is not served.
    let Ok(policy) = HeaderValue::from_str(&live::header_policy()) else {
        return error_response(ApiDialect::Chat, &ApiError::gate("the live page has no content security policy"));
    };
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    guard(headers);
    response
}

/// The texts of the page's cells, as JSON.
async fn page_state(State(admin): State<Arc<AdminService>>) -> Response {
    let cells = admin.history.live(&admin.service).cells();
    let mut response = json_response(StatusCode::OK, serde_json::json!(cells).to_string(), "ui");
    guard(response.headers_mut());
    response
}

/// Sets headers against caching, content sniffing and referrers.
fn guard(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

async fn metrics(State(admin): State<Arc<AdminService>>) -> Response {
    let mut response = Response::new(Body::from(admin.service.metrics_text()));
    let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn ready(State(admin): State<Arc<AdminService>>) -> Response {
    admin.service.readiness()
}

async fn ask_drain(State(admin): State<Arc<AdminService>>) -> Response {
    tracing::info!("drain asked for");
    admin.drain.notify_one();
    json_response(StatusCode::ACCEPTED, r#"{"draining":true}"#.into(), "drain")
}
