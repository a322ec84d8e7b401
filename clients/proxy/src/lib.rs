//! A proxy in front of a gateway, run by the readers of its answers.
//!
//! It passes on only text that the card admitted for the client's request, and only after the proof has arrived. It
//! supports the gateway's four APIs; clients only change their base URL. [`program`] is the program `portcullis-proxy`;
//! [`serve`] runs the proxy in another program, with [`ProxySettings`]. The proxy serves plain HTTP, so it is for
//! programs on its own machine. The checks are those of `portcullis-client`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use portcullis_client::AnswerExpectations;
//! use portcullis_proxy::{ProxyError, ProxySettings, serve};
//! use std::{future::pending, time::Duration};
//!
//! let settings = ProxySettings {
//!     listen: "0.0.0.0:8090".parse()?,
//!     gateway: "https://gate.example.org/v1".to_owned(),
//!     authorities: None,
//!     expected: AnswerExpectations { trust: Default::default(), options: Default::default(), constants: Vec::new() },
//!     patience: Duration::from_secs(60),
//! };
//! // Other machines could reach this address. With `127.0.0.1:8090`, the proxy would serve until the future completes.
//! let refused = serve(settings, pending(), |address| println!("listening on {address}"));
//! assert!(matches!(refused, Err(ProxyError::Unfit(_))));
//! # Ok(())
//! # }
//! ```

pub mod program;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::serve::ListenerExt;
use portcullis_client::{AnswerExpectations, CheckedApi, ClientQuestion};
use portcullis_core::hex;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Largest request in bytes.
const BODY: usize = 4 << 20;
/// Largest answer of the gateway in bytes.
const ANSWER: usize = 128 << 20;
const REQUESTS: usize = 256;
/// Longest time for connecting to the gateway.
const CONNECT: Duration = Duration::from_secs(10);
/// Header fields that are sent to the gateway: the client's key, and the version of an API.
const FORWARDED: [&str; 4] = ["authorization", "x-api-key", "anthropic-version", "openai-organization"];
/// Error codes of the gateway that are passed on to clients.
const CODES: [&str; 6] =
    ["content_filter", "invalid_api_key", "invalid_request", "model_not_found", "request_too_large", "unavailable"];

/// The addresses and the trust of a proxy.
pub struct ProxySettings {
    /// The address to which clients connect: a loopback address.
    pub listen: SocketAddr,
    /// Base URL of the gateway's APIs, such as `https://gate.example.org/v1`.
    pub gateway: String,
    /// CA certificates in PEM for the gateway; by default the system's.
    pub authorities: Option<Vec<u8>>,
    /// The trusted keys, and the policy's constants.
    pub expected: AnswerExpectations,
    /// Longest time for an answer and its proof.
    pub patience: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error("{0}")]
    Unfit(String),
    #[error("the client for the gateway: {0}")]
    Client(#[from] reqwest::Error),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
}

struct CheckingProxy {
    gateway: String,
    client: reqwest::Client,
    expected: AnswerExpectations,
    patience: Duration,
    room: Semaphore,
}

/// An error that the client gets in place of an answer. It contains no text from the gateway.
struct ProxyErrorAnswer(StatusCode, &'static str, String);

/// Serves until `stop` completes. Calls `listening` once, with the bound address.
pub fn serve(
    settings: ProxySettings,
    stop: impl Future<Output = ()> + Send + 'static,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), ProxyError> {
    let ProxySettings { listen, gateway, authorities, expected, patience } = settings;
    if !listen.ip().is_loopback() {
        let why = "keys and texts would cross the network in the clear; listen on 127.0.0.1";
        return Err(ProxyError::Unfit(format!("{listen} is not of the loopback interface: {why}")));
    }
    let url = url::Url::parse(&gateway).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    if url.is_none() {
        return Err(ProxyError::Unfit(format!("`{gateway}` is not a URL of http or https")));
    }
    // This fails only if the program has installed a TLS provider already; the program uses no other than `ring`.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .timeout(patience)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .http1_only();
    if let Some(authorities) = &authorities {
        client = client.tls_certs_only(reqwest::Certificate::from_pem_bundle(authorities)?);
    }
    let gateway = gateway.trim_end_matches('/').to_owned();
    let proxy = Arc::new(CheckingProxy {
        gateway,
        client: client.build()?,
        expected,
        patience,
        room: Semaphore::new(REQUESTS),
    });
    let failed = |error| ProxyError::Listen(listen, error);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        listening(listener.local_addr().map_err(failed)?);
        let router = Router::new().fallback(answer).with_state(proxy);
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).with_graceful_shutdown(stop).await.map_err(failed)
    })
}

async fn answer(State(proxy): State<Arc<CheckingProxy>>, request: Request) -> Response {
    proxy.pass(request).await.unwrap_or_else(|ProxyErrorAnswer(status, code, message)| {
        let error = json!({"message": message, "type": code, "code": code, "param": null});
        respond(status, "application/json", json!({"type": "error", "error": error}).to_string().into_bytes())
    })
}

fn respond(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

impl CheckingProxy {
    async fn pass(self: Arc<Self>, request: Request) -> Result<Response, ProxyErrorAnswer> {
        let (head, body) = request.into_parts();
        let Some(api) = CheckedApi::of(head.uri.path()).filter(|_| head.method == "POST") else {
            let why = "the proxy passes answers of models only: chat completions, completions, responses, messages";
            return Err(ProxyErrorAnswer(StatusCode::NOT_FOUND, "not_found", why.to_owned()));
        };
        let busy =
            |_| ProxyErrorAnswer(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the proxy has no room".to_owned());
        let _room = self.room.try_acquire().map_err(busy)?;
        let late = |_| {
            ProxyErrorAnswer(StatusCode::REQUEST_TIMEOUT, "invalid_request", "the body did not come in time".into())
        };
        let body = timeout(self.patience, to_bytes(body, BODY)).await.map_err(late)?;
        let too_large = |_| {
            let message = format!("the body is longer than {BODY} bytes, or broke off");
            ProxyErrorAnswer(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
        };
        let body = body.map_err(too_large)?;
        let mut nonce = [0; 16];
        let random = getrandom::fill(&mut nonce);
        let failed =
            |_| ProxyErrorAnswer(StatusCode::INTERNAL_SERVER_ERROR, "error", "there is no randomness".to_owned());
        random.map_err(failed)?;
        let question = ClientQuestion::new(api, &body, &hex::encode(&nonce));
        let question = question
            .map_err(|error| ProxyErrorAnswer(StatusCode::BAD_REQUEST, "invalid_request", error.to_string()))?;
        let (status, body) = self.ask(api, &head.headers, &question).await?;
        if status != StatusCode::OK {
            let code = serde_json::from_slice::<Value>(&body).unwrap_or_default();
            let code = code.pointer("/error/code").and_then(Value::as_str).unwrap_or_default();
            let code = CODES.into_iter().find(|known| *known == code).unwrap_or("error");
            return Err(ProxyErrorAnswer(status, code, format!("the gateway refused the request ({code})")));
        }
        let checking = Arc::clone(&self);
        let checked = tokio::task::spawn_blocking(move || question.check(&body, &checking.expected)).await;
        let broken = |_| ProxyErrorAnswer(StatusCode::INTERNAL_SERVER_ERROR, "error", "the check failed".to_owned());
        match checked.map_err(broken)? {
            Ok(checked) => Ok(respond(StatusCode::OK, checked.content_type, checked.body)),
            Err(error) => {
                // Text from the gateway must not reach a terminal unescaped.
                eprintln!("an answer was not passed: {}", error.to_string().escape_debug());
                let message = "the answer is not proven: nothing of it is passed".to_owned();
                Err(ProxyErrorAnswer(StatusCode::BAD_GATEWAY, "not_proven", message))
            }
        }
    }

    /// Sends a request; returns status and body of the gateway's answer.
    async fn ask(
        &self,
        api: CheckedApi,
        head: &HeaderMap,
        question: &ClientQuestion,
    ) -> Result<(StatusCode, Vec<u8>), ProxyErrorAnswer> {
        let mut asked = self.client.post(format!("{}{}", self.gateway, api.path())).body(question.body().to_vec());
        for name in FORWARDED {
            if let Some(value) = head.get(name) {
                asked = asked.header(name, value);
            }
        }
        let gone = |_| ProxyErrorAnswer(StatusCode::BAD_GATEWAY, "error", "the gateway does not answer".to_owned());
        let mut response = asked.header(header::CONTENT_TYPE, "application/json").send().await.map_err(gone)?;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(gone)? {
            body.extend_from_slice(&piece);
            if body.len() > ANSWER {
                let message = format!("the gateway's answer is longer than {ANSWER} bytes");
                return Err(ProxyErrorAnswer(StatusCode::BAD_GATEWAY, "error", message));
            }
        }
        Ok((response.status(), body))
    }
}
