//! The witness over HTTP/1.1, on the loopback interface, one request per connection: `POST /add-checkpoint` for the
//! checkpoints of cards, and `POST /log/add-checkpoint` for the heads of other logs (C2SP `tlog-witness`).
//!
//! | status | body |
//! | --- | --- |
//! | 200 | the note (`portcullis_evidence::note`); for other logs, the signature line |
//! | 400, 405, 408, 413 | why the request is invalid |
//! | 403 | the signature, the key or the ticket's validity is wrong |
//! | 404 | another path; a ticket of an unknown issuer; an unknown log |
//! | 409 | a contradiction; if a lane or a log has a wrong old size: the right sizes only, with type `text/x.tlog.size` |
//! | 422 | the proof that the log continues is wrong |
//! | 500, 503 | an internal error; too many connections |
//!
//! It listens on loopback addresses only. For access from a network, a server with TLS must be put in front of it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portcullis_evidence::ticket::TicketError;

use super::http::{DeadlineStream, HttpError, read_message};
use super::{AddCheckpoint, Conflict, CosignRefusal, MAX_BODY, Post, Refusal, Witness, cosign, spaced};
use crate::shown::ShownError;

/// Pause after a failed `accept`, so that a lack of file descriptors does not cause a busy loop.
const PAUSE: Duration = Duration::from_millis(20);

/// Longest time to send an answer. It starts when the request was read, or failed.
const ANSWER: Duration = Duration::from_secs(1);

/// The limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest time to receive a request.
    pub request: Duration,
    /// Largest number of connections; further ones get status 503.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { request: Duration::from_secs(10), connections: 256 }
    }
}

/// A running server. Dropping it stops the server.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A port that is bound for a witness. Clients that connect wait until the server runs.
pub struct Port(TcpListener);

impl Port {
    /// Binds `port` of 127.0.0.1; 0 selects a free port. Errors: the port is not available.
    pub fn bind(port: u16) -> io::Result<Self> {
        let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let bound = TcpListener::bind(asked);
        bound.map(Self).map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {asked}: {error}")))
    }
}

impl Server {
    /// Serves `witness` on `port` of 127.0.0.1; 0 selects a free port. Errors: the port is not available.
    pub fn start(witness: Arc<Witness>, port: u16, limits: Limits) -> io::Result<Self> {
        Self::on(Port::bind(port)?, witness, limits)
    }

    /// Serves `witness` on this port. Errors: no thread can be started.
    pub fn on(Port(listener): Port, witness: Arc<Witness>, limits: Limits) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("witness".to_owned()).spawn({
            let stop = Arc::clone(&stop);
            move || accept(&listener, &witness, limits, &stop)
        })?;
        Ok(Self { address, stop, thread: Some(thread) })
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

impl Drop for Server {
    /// Stops accepting connections, and waits for the open ones, whose time is limited.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // A connection wakes the thread from `accept`.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, witness: &Witness, limits: Limits, stop: &AtomicBool) {
    let open = AtomicUsize::new(0);
    thread::scope(|scope| {
        while !stop.load(Ordering::Acquire) {
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            let busy = open.fetch_add(1, Ordering::AcqRel) >= limits.connections;
            // Refuse at once in this thread: the answer fits the socket's buffer.
            if busy {
                let answer = Answer::text(503, "the witness has too many connections");
                let _ = answer.send(&mut DeadlineStream::new(stream, PAUSE));
                open.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let serve = || {
                let mut connection = DeadlineStream::new(stream, limits.request);
                let answer = answer(&mut connection, witness);
                connection.allow(ANSWER);
                // If the client has gone, its checkpoint stays accepted, and can be posted again.
                if answer.send(&mut connection).is_ok() {
                    connection.finish();
                }
                open.fetch_sub(1, Ordering::AcqRel);
            };
            if thread::Builder::new().spawn_scoped(scope, serve).is_err() {
                open.fetch_sub(1, Ordering::AcqRel);
                thread::sleep(PAUSE);
            }
        }
    });
}

struct Answer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn text(status: u16, body: impl std::fmt::Display) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }

    /// What a client needs to know to ask again.
    fn sizes(sizes: &[u64]) -> Self {
        Self { status: 409, kind: "text/x.tlog.size", body: spaced(sizes) + "\n" }
    }

    fn send(&self, to: &mut DeadlineStream) -> Result<(), HttpError> {
        let Self { status, kind, body } = self;
        let reason = match status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            409 => "Conflict",
            413 => "Content Too Large",
            422 => "Unprocessable Content",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        to.write(format!("{head}{body}").as_bytes())
    }
}

fn answer(connection: &mut DeadlineStream, witness: &Witness) -> Answer {
    let message = match read_message(connection, MAX_BODY.max(cosign::MAX_BODY)) {
        Ok(message) => message,
        Err(error) => {
            let status = match error {
                HttpError::Deadline => 408,
                HttpError::Oversize => 413,
                _ => 400,
            };
            return Answer::text(status, error);
        }
    };
    let mut parts = message.first.split(' ');
    // With a clock before 1970, no ticket is valid.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("POST"), Some("/add-checkpoint"), Some("HTTP/1.1"), None) => add(witness, &message.body, now),
        (Some("POST"), Some("/log/add-checkpoint"), Some("HTTP/1.1"), None) => cosign_log(witness, &message.body, now),
        (Some(_), Some("/add-checkpoint" | "/log/add-checkpoint"), Some("HTTP/1.1"), None) => {
            Answer::text(405, "post checkpoints here")
        }
        (Some(_), Some(_), Some("HTTP/1.1"), None) => {
            Answer::text(404, "there is nothing here but /add-checkpoint and /log/add-checkpoint")
        }
        _ => Answer::text(400, "the request line is not one of HTTP/1.1"),
    }
}

fn add(witness: &Witness, body: &[u8], now: u64) -> Answer {
    match Post::from_body(body).and_then(|post| witness.add(&post, now)) {
        Ok(note) => Answer { status: 200, kind: "text/plain; charset=utf-8", body: note },
        Err(Refusal::Conflict(Conflict::Size(sizes))) => Answer::sizes(&sizes),
        Err(refusal) => Answer::text(status(&refusal), refusal),
    }
}

fn cosign_log(witness: &Witness, body: &[u8], now: u64) -> Answer {
    let refusal = match AddCheckpoint::from_body(body).and_then(|request| witness.cosign(&request, now)) {
        Ok(line) => return Answer { status: 200, kind: "text/plain; charset=utf-8", body: line },
        Err(refusal) => refusal,
    };
    let status = match &refusal {
        CosignRefusal::Size(size) => return Answer::sizes(&[*size]),
        CosignRefusal::Malformed(_) => 400,
        CosignRefusal::Signature => 403,
        CosignRefusal::Unknown(_) => 404,
        CosignRefusal::Split => 409,
        CosignRefusal::Inconsistent => 422,
        CosignRefusal::Internal(_) => 500,
    };
    Answer::text(status, refusal)
}

fn status(refusal: &Refusal) -> u16 {
    match refusal {
        Refusal::Ticket(TicketError::UnknownIssuer(_)) | Refusal::SelfIssued => 404,
        Refusal::Ticket(TicketError::Signature) => 403,
        Refusal::Shown(ShownError::Key | ShownError::Signature) | Refusal::Validity(..) => 403,
        Refusal::Malformed(_) | Refusal::Ticket(_) | Refusal::Shown(_) => 400,
        Refusal::Conflict(_) => 409,
        Refusal::Inconsistent => 422,
        Refusal::Internal(_) => 500,
    }
}
