//! The witness over HTTP/1.1, on the loopback interface, one request per connection: `POST /add-checkpoint` for the
//! checkpoints of cards, and `POST /log/add-checkpoint` for the heads of other logs (C2SP `tlog-witness`).
//!
//! | status | body |
//! | --- | --- |
//! | 200 | the note (`portcullis_evidence::note`); for other logs, the signature line |
//! | 400, 405, 408, 413 | why the request is invalid; empty if its head is not HTTP/1.1 |
//! | 403 | the signature, the key or the ticket's validity is wrong |
//! | 404 | another path; a ticket of an unknown issuer; an unknown log |
//! | 409 | a contradiction; if a lane or a log has a wrong old size: the right sizes only, with type `text/x.tlog.size`
//! |
//! | 422 | the proof that the log continues is wrong |
//! | 431 | empty: the head is too long |
//! | 500, 503 | an internal error; too many connections |
//!
//! If the head does not come in time, the connection is closed without an answer.
//!
//! It listens on loopback addresses only. For access from a network, a server with TLS must be put in front of it.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version};
use portcullis_evidence::ticket::TicketError;
use portcullis_http::server::{BoundedListener, ListenerLimits, read_body};
use tokio::sync::oneshot;

use super::http::HttpError;
use super::{
    AddCheckpoint, CheckpointPost, CheckpointWitness, CosignRefusal, MAX_BODY, PostConflict, PostRefusal, cosign,
    spaced,
};
use crate::shown::ShownError;

/// Longest time to send an answer, and then to read what the client still sends.
const ANSWER: Duration = Duration::from_secs(1);
/// Largest head of a request, in bytes.
const MAX_HEAD: usize = 8 * 1024;
/// Largest number of header fields.
const MAX_FIELDS: usize = 64;
/// The whole answer to a client above the limit of connections.
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 37\r\nConnection: close\r\n\r\nthe witness has too many connections\n";

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct WitnessServerLimits {
    /// Longest time to receive the head of a request, and again for its body.
    pub request: Duration,
    /// Largest number of connections; further ones get status 503.
    pub connections: usize,
}

impl Default for WitnessServerLimits {
    fn default() -> Self {
        Self { request: Duration::from_secs(10), connections: 256 }
    }
}

/// A running server. Dropping it stops the server.
pub struct WitnessServer {
    address: SocketAddr,
    /// Dropping it stops the server.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A port that is bound for a witness. Clients that connect wait until the server runs.
pub struct WitnessPort(TcpListener);

impl WitnessPort {
    /// Binds `port` of 127.0.0.1; 0 selects a free port. Errors: the port is not available.
    pub fn bind(port: u16) -> io::Result<Self> {
        let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let bound = TcpListener::bind(asked);
        bound.map(Self).map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {asked}: {error}")))
    }
}

impl WitnessServer {
    /// Serves `witness` on `port` of 127.0.0.1; 0 selects a free port. Errors: the port is not available.
    pub fn start(witness: Arc<CheckpointWitness>, port: u16, limits: WitnessServerLimits) -> io::Result<Self> {
        Self::on(WitnessPort::bind(port)?, witness, limits)
    }

    /// Serves `witness` on this port. Errors: the thread or the asynchronous runtime cannot be started.
    pub fn on(
        WitnessPort(listener): WitnessPort,
        witness: Arc<CheckpointWitness>,
        limits: WitnessServerLimits,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        // Each request may wait for the file of the state.
        let threads = limits.connections.max(1);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(threads).build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("witness".to_owned())
            .spawn(move || runtime.block_on(serve(listener, witness, limits, stopped)))?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// The address on which the server listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the server thread, which does not end by itself.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // An error means that the thread panicked. The panic hook has reported that, and the server has ended.
            let _ = thread.join();
        }
    }
}

impl Drop for WitnessServer {
    /// Stops accepting connections, and waits for the open ones, whose time is limited.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    listener: tokio::net::TcpListener,
    witness: Arc<CheckpointWitness>,
    limits: WitnessServerLimits,
    stopped: oneshot::Receiver<()>,
) {
    let time = limits.request;
    let service = service_fn(move |request| {
        let witness = Arc::clone(&witness);
        async move { Ok::<_, Infallible>(respond(request, witness, time).await.into_response()) }
    });
    let bounds = ListenerLimits {
        connections: limits.connections,
        head: time,
        head_bytes: MAX_HEAD,
        head_fields: MAX_FIELDS,
        write: ANSWER,
    };
    let listener = BoundedListener::new(listener, bounds).with_bare_heads();
    let listener = listener.with_busy_response(BUSY).with_linger(ANSWER);
    let stop = async {
        // Nothing is ever sent: the sender is dropped.
        let _ = stopped.await;
    };
    let open = listener.serve(service, stop).await;
    // If a client has gone, its checkpoint stays accepted, and can be posted again.
    open.finish(time * 2 + ANSWER * 2).await;
}

struct WitnessHttpAnswer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl WitnessHttpAnswer {
    fn text(status: u16, body: impl std::fmt::Display) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }

    /// What a client needs to know to ask again.
    fn sizes(sizes: &[u64]) -> Self {
        Self { status: 409, kind: "text/x.tlog.size", body: spaced(sizes) + "\n" }
    }

    /// There is one exchange per connection.
    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::from(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }
}

async fn respond(request: Request<Incoming>, witness: Arc<CheckpointWitness>, time: Duration) -> WitnessHttpAnswer {
    let (head, body) = request.into_parts();
    let most = MAX_BODY.max(cosign::MAX_BODY);
    let body = if head.headers.contains_key(TRANSFER_ENCODING) {
        Err(HttpError::Malformed("has a transfer encoding"))
    } else if body.size_hint().lower() > most as u64 {
        // The connection lingers, so the client sees the answer even if it still writes.
        Err(HttpError::Oversize)
    } else {
        read_body(body, most, time).await.map_err(HttpError::from)
    };
    let body = match body {
        Ok(body) => body,
        Err(error) => {
            let status = match error {
                HttpError::Deadline => 408,
                HttpError::Oversize => 413,
                _ => 400,
            };
            return WitnessHttpAnswer::text(status, error);
        }
    };
    if head.version != Version::HTTP_11 {
        return WitnessHttpAnswer::text(400, "the request line is not one of HTTP/1.1");
    }
    let (is_post, target) = (head.method == Method::POST, head.uri.to_string());
    let answered = tokio::task::spawn_blocking(move || answer(&witness, is_post, &target, &body)).await;
    answered.unwrap_or_else(|_| WitnessHttpAnswer::text(500, "the work on the request failed"))
}

fn answer(witness: &CheckpointWitness, is_post: bool, target: &str, body: &[u8]) -> WitnessHttpAnswer {
    // With a clock before 1970, no ticket is valid.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    match (is_post, target) {
        (true, "/add-checkpoint") => add(witness, body, now),
        (true, "/log/add-checkpoint") => cosign_log(witness, body, now),
        (false, "/add-checkpoint" | "/log/add-checkpoint") => WitnessHttpAnswer::text(405, "post checkpoints here"),
        _ => WitnessHttpAnswer::text(404, "there is nothing here but /add-checkpoint and /log/add-checkpoint"),
    }
}

fn add(witness: &CheckpointWitness, body: &[u8], now: u64) -> WitnessHttpAnswer {
    match CheckpointPost::from_body(body).and_then(|post| witness.add(&post, now)) {
        Ok(note) => WitnessHttpAnswer { status: 200, kind: "text/plain; charset=utf-8", body: note },
        Err(PostRefusal::Conflict(PostConflict::Size(sizes))) => WitnessHttpAnswer::sizes(&sizes),
        Err(refusal) => WitnessHttpAnswer::text(status(&refusal), refusal),
    }
}

fn cosign_log(witness: &CheckpointWitness, body: &[u8], now: u64) -> WitnessHttpAnswer {
    let refusal = match AddCheckpoint::from_body(body).and_then(|request| witness.cosign(&request, now)) {
        Ok(line) => return WitnessHttpAnswer { status: 200, kind: "text/plain; charset=utf-8", body: line },
        Err(refusal) => refusal,
    };
    let status = match &refusal {
        CosignRefusal::Size(size) => return WitnessHttpAnswer::sizes(&[*size]),
        CosignRefusal::Malformed(_) => 400,
        CosignRefusal::Signature => 403,
        CosignRefusal::Unknown(_) => 404,
        CosignRefusal::Split => 409,
        CosignRefusal::Inconsistent => 422,
        CosignRefusal::Internal(_) => 500,
    };
    WitnessHttpAnswer::text(status, refusal)
}

fn status(refusal: &PostRefusal) -> u16 {
    match refusal {
        PostRefusal::Ticket(TicketError::UnknownIssuer(_)) | PostRefusal::SelfIssued => 404,
        PostRefusal::Ticket(TicketError::Signature) => 403,
        PostRefusal::Shown(ShownError::Key | ShownError::Signature) | PostRefusal::Validity(..) => 403,
        PostRefusal::Malformed(_) | PostRefusal::Ticket(_) | PostRefusal::Shown(_) => 400,
        PostRefusal::Conflict(_) => 409,
        PostRefusal::Inconsistent => 422,
        PostRefusal::Internal(_) => 500,
    }
}
