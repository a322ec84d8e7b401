//! The routes of the service.

use crate::config::{IssuerClientEntry, IssuerConfig, IssuerConfigError, token};
use crate::refusal::{IssuerRefusal, json};
use crate::wire::{
    Base64Bytes, CLOSINGS, CheckpointReport, MAX_BODY, OPENINGS, ReportAnswer, TICKETS, TicketAnswer, TicketRequest,
};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use portcullis_authority::tickets::{IssueError, Issuer, TicketRecord};
use portcullis_evidence::ticket::SessionTicket;
use portcullis_http::server::{UnreadBody, read_body};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use subtle::{Choice, ConstantTimeEq};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

/// Longest wait for the answer to `/readyz`.
const READY: Duration = Duration::from_secs(3);

pub(crate) struct IssuerService {
    config: IssuerConfig,
    /// SHA-256 of the clients' tokens, in the order of the configuration.
    tokens: Vec<[u8; 32]>,
    issuer: Arc<Mutex<Issuer>>,
    /// Becomes true when the service accepts no more requests.
    stopping: watch::Receiver<bool>,
}

type Shared = State<Arc<IssuerService>>;

impl IssuerService {
    /// A service with the tokens of the configuration. Errors: a token cannot be read; two clients have the same one.
    pub(crate) fn new(
        config: &IssuerConfig,
        tokens: Vec<[u8; 32]>,
        issuer: Issuer,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self { config: config.clone(), tokens, issuer: Arc::new(Mutex::new(issuer)), stopping }
    }

    /// The client with the request's token. Neither the comparison nor the order of the clients shows in the time.
    fn client(&self, headers: &HeaderMap) -> Result<&IssuerClientEntry, IssuerRefusal> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return Err(IssuerRefusal::unauthorized()) };
        let token = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        let shown: [u8; 32] = Sha256::digest(token.ok_or_else(IssuerRefusal::unauthorized)?).into();
        let mut found = None;
        for (client, token) in self.config.clients.iter().zip(&self.tokens) {
            let is_same: Choice = token.ct_eq(&shown);
            if bool::from(is_same) {
                found = Some(client);
            }
        }
        found.ok_or_else(IssuerRefusal::unauthorized)
    }

    /// Reads a request's body as JSON, within the limits of size and time.
    async fn read<T: DeserializeOwned>(&self, headers: &HeaderMap, body: Body) -> Result<T, IssuerRefusal> {
        let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
        let kind = kinds.next().and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let (kind, parameters) = kind.split_once(';').unwrap_or((kind, ""));
        let is_utf8 = parameters.trim().is_empty() || parameters.trim().eq_ignore_ascii_case("charset=utf-8");
        if !kind.trim().eq_ignore_ascii_case("application/json") || !is_utf8 || kinds.next().is_some() {
            return Err(IssuerRefusal::wrong_type());
        }
        let body = read_body(body, MAX_BODY, self.config.limits.request()).await.map_err(|unread| match unread {
            UnreadBody::Late => IssuerRefusal::too_slow(),
            UnreadBody::Oversize | UnreadBody::Broken => IssuerRefusal::too_large(MAX_BODY),
        })?;
        serde_json::from_slice(&body).map_err(|error| IssuerRefusal::malformed(&error))
    }

    /// Runs `work` with the issuer, which one request at a time uses. The work goes on if the client goes away.
    async fn with_issuer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Issuer) -> Result<T, IssueError> + Send + 'static,
    ) -> Result<T, IssuerRefusal> {
        let waited = timeout(self.config.limits.store(), Arc::clone(&self.issuer).lock_owned()).await;
        let mut issuer = waited.map_err(|_| IssuerRefusal::busy())?;
        let done = tokio::task::spawn_blocking(move || work(&mut issuer)).await;
        Ok(done.map_err(|_| IssuerRefusal::internal("the work on the request failed"))??)
    }

    fn check_running(&self) -> Result<(), IssuerRefusal> {
        if *self.stopping.borrow() { Err(IssuerRefusal::stopping()) } else { Ok(()) }
    }

    async fn ticket(&self, headers: &HeaderMap, body: Body) -> Result<TicketAnswer, IssuerRefusal> {
        let client = self.client(headers)?;
        self.check_running()?;
        let asked: TicketRequest = self.read(headers, body).await?;
        // With a clock before 1970, no ticket is valid.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let request = self.config.terms(client, &asked, now)?;
        let ticket = self.with_issuer(move |issuer| issuer.issue_once(&request, &asked.to_bytes())).await?;
        let content =
            SessionTicket::parse(&ticket).map_err(|error| IssuerRefusal::internal(error.to_string()))?.content;
        let (serial, seat) = (content.serial, content.seat);
        tracing::info!(client = client.name, seat, serial, "ticket issued");
        Ok(TicketAnswer { serial, ticket: Base64Bytes(ticket) })
    }

    async fn report(&self, headers: &HeaderMap, body: Body, stage: Stage) -> Result<ReportAnswer, IssuerRefusal> {
        let client = self.client(headers)?;
        self.check_running()?;
        let CheckpointReport { public_key, checkpoint } = self.read(headers, body).await?;
        self.config.card(client, &public_key)?;
        let work = move |issuer: &mut Issuer| stage(issuer, &checkpoint.0, &public_key.0);
        let TicketRecord { chain, serial, state, .. } = self.with_issuer(work).await?;
        tracing::info!(client = client.name, seat = chain.seat, serial, state = state.name(), "session reported");
        Ok(ReportAnswer { seat: chain.seat, serial, state: state.name().to_owned() })
    }

    async fn readiness(&self) -> Result<(), IssuerRefusal> {
        self.check_running()?;
        timeout(READY, self.with_issuer(Issuer::check)).await.map_err(|_| IssuerRefusal::busy())?
    }
}

/// How a reported checkpoint is recorded.
type Stage = fn(&mut Issuer, &[u8], &[u8; 32]) -> Result<TicketRecord, IssueError>;

/// The routes of a service.
/// Digests of the clients' tokens, in the order of the configuration. Errors: a token cannot be read, or two clients
/// have one.
pub(crate) fn tokens(config: &IssuerConfig) -> Result<Vec<[u8; 32]>, IssuerConfigError> {
    let mut tokens: Vec<[u8; 32]> = Vec::new();
    for client in &config.clients {
        let token = Sha256::digest(token(&client.token)?).into();
        if tokens.contains(&token) {
            return Err(IssuerConfigError::Unfit(format!("client `{}` has the token of another client", client.name)));
        }
        tokens.push(token);
    }
    Ok(tokens)
}

pub(crate) fn router(service: Arc<IssuerService>) -> Router {
    Router::new()
        .route(TICKETS, post(post_ticket))
        .route(OPENINGS, post(post_opening))
        .route(CLOSINGS, post(post_closing))
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(get_ready))
        .fallback(|| async { IssuerRefusal::no_route() })
        .method_not_allowed_fallback(|| async { IssuerRefusal::wrong_method() })
        .with_state(service)
}

async fn post_ticket(State(service): Shared, headers: HeaderMap, body: Body) -> Response {
    answer(service.ticket(&headers, body).await)
}

async fn post_opening(State(service): Shared, headers: HeaderMap, body: Body) -> Response {
    answer(service.report(&headers, body, Issuer::redeem).await)
}

async fn post_closing(State(service): Shared, headers: HeaderMap, body: Body) -> Response {
    answer(service.report(&headers, body, Issuer::close).await)
}

/// This route needs no token, so its answer does not give the reason.
async fn get_ready(State(service): Shared) -> Response {
    match service.readiness().await {
        Ok(()) => "ready\n".into_response(),
        Err(refusal) => {
            tracing::warn!(code = refusal.code, why = %refusal, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response()
        }
    }
}

fn answer<T: serde::Serialize>(answered: Result<T, IssuerRefusal>) -> Response {
    match answered {
        Ok(answer) => json(StatusCode::OK, &answer),
        Err(refusal) => {
            tracing::warn!(status = refusal.status.as_u16(), code = refusal.code, why = %refusal, "request refused");
            refusal.into_response()
        }
    }
}
