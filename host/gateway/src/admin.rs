//! The admin listener: liveness, readiness, metrics and drain, for those who run the gateway. It shows no text.

use crate::config::{Admin, ConfigError};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::service::{Service, bearer_or_key, error_response, json_response};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::time::sleep;

/// Connections at the same time.
const CONNECTIONS: usize = 32;
/// Pause after a connection that cannot be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// Shared by the admin's routes.
struct AdminService {
    service: Arc<Service>,
    /// SHA-256 of the key.
    key: [u8; 32],
    drain: Arc<Notify>,
}

/// The routes; `drain` is notified when the gateway is asked to end.
///
/// # Errors
/// The key cannot be read.
pub(crate) fn router(admin: &Admin, service: Arc<Service>, drain: Arc<Notify>) -> Result<Router, ConfigError> {
    let key = Sha256::digest(admin.key.read()?).into();
    let state = Arc::new(AdminService { service, key, drain });
    Ok(Router::new()
        .route("/metrics", get(metrics))
        .route("/drain", post(ask_drain))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&state), check_key))
        // Programs that watch over processes have no key.
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .fallback(|| async { error_response(Dialect::Chat, &ApiError::no_route()) })
        .with_state(state))
}

/// Serves until its task is ended.
pub(crate) async fn serve(listener: TcpListener, router: Router, head: Duration) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let _place = place;
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(head).max_headers(100);
            // Why a connection ends early is the client's matter.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn check_key(State(admin): State<Arc<AdminService>>, request: Request, next: Next) -> Response {
    let shown = bearer_or_key(request.headers()).map(|key| <[u8; 32]>::from(Sha256::digest(key)));
    if shown != Some(admin.key) {
        return error_response(Dialect::Chat, &ApiError::unauthorized());
    }
    next.run(request).await
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
