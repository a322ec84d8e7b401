//! The listener: accepts connections up to a limit, and serves HTTP/1.1 on them within limits of time and size.
//!
//! A service reads a body with [`read_body`].

use crate::linger::LingeringStream;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
pub use hyper_util::service::TowerToHyperService;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
#[cfg(feature = "tls")]
pub use tokio_rustls::TlsAcceptor;

type BoxedError = Box<dyn Error + Send + Sync>;

/// Pause after a failed `accept`: file descriptors may become free meanwhile.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest time to write the answer to a client above the limit of connections. It fits the socket's buffer.
const TURN_AWAY: Duration = Duration::from_millis(20);

/// The limits of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ListenerLimits {
    /// Largest number of connections at the same time.
    pub connections: usize,
    /// Longest time for the head of a request, and for the handshake of TLS.
    pub head: Duration,
    /// Largest head of a request, in bytes; at least 8 KiB.
    pub head_bytes: usize,
    /// Largest number of header fields.
    pub head_fields: usize,
    /// Longest wait for a client that does not read its answer.
    pub write: Duration,
}

/// A listener with its limits.
pub struct BoundedListener {
    listener: TcpListener,
    limits: ListenerLimits,
    busy: Option<&'static str>,
    linger: Duration,
    has_bare_heads: bool,
    #[cfg(feature = "tls")]
    tls: Option<TlsAcceptor>,
}

/// The connections that were open when a listener stopped.
pub struct OpenConnections(GracefulShutdown);

impl OpenConnections {
    /// Lets the requests in progress end, for at most `patience`.
    pub async fn finish(self, patience: Duration) {
        let _ = timeout(patience, self.0.shutdown()).await;
    }
}

impl BoundedListener {
    #[must_use]
    pub const fn new(listener: TcpListener, limits: ListenerLimits) -> Self {
        Self {
            listener,
            limits,
            busy: None,
            linger: Duration::ZERO,
            has_bare_heads: false,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Serves TLS.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(self, acceptor: Option<TlsAcceptor>) -> Self {
        Self { tls: acceptor, ..self }
    }

    /// Sends a client above the limit of connections this whole response. Without it, the connection is closed at once.
    #[must_use]
    pub fn with_busy_response(self, response: &'static str) -> Self {
        Self { busy: Some(response), ..self }
    }

    /// After the last response on a connection, reads for at most this time what the client still sends. The client
    /// then gets the response even if its request was not read.
    #[must_use]
    pub fn with_linger(self, time: Duration) -> Self {
        Self { linger: time, ..self }
    }

    /// Writes the names of header fields as `Content-Type`, for clients that compare them byte by byte, and no date.
    #[must_use]
    pub fn with_bare_heads(self) -> Self {
        Self { has_bare_heads: true, ..self }
    }

    /// Serves connections until `stop` completes. The address is then free; the connections that are still open are
    /// the result.
    pub async fn serve<S>(self, service: S, stop: impl Future<Output = ()>) -> OpenConnections
    where
        S: HttpService<Incoming> + Clone + Send + 'static,
        S::Future: Send,
        S::ResBody: Send + 'static,
        <S::ResBody as Body>::Data: Send,
        <S::ResBody as Body>::Error: Into<BoxedError>,
    {
        let ListenerLimits { connections, head, head_bytes, head_fields, write } = self.limits;
        let room = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
        let graceful = GracefulShutdown::new();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(head).max_headers(head_fields).max_buf_size(head_bytes);
        http.title_case_headers(self.has_bare_heads).auto_date_header(!self.has_bare_heads);
        let mut stop = pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            let Ok((stream, _)) = accepted else {
                sleep(PAUSE).await;
                continue;
            };
            let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
                self.turn_away(stream).await;
                continue;
            };
            let (watcher, service, http) = (graceful.watcher(), service.clone(), http.clone());
            let _ = stream.set_nodelay(true);
            // hyper polls a body only when it can write. Only a timeout on the stream can therefore stop serving a
            // client that does not read.
            let mut stream = Box::pin(TimeoutStream::new(LingeringStream::new(stream, self.linger)));
            stream.as_mut().set_write_timeout_pinned(Some(write));
            #[cfg(feature = "tls")]
            if let Some(acceptor) = self.tls.clone() {
                tokio::spawn(async move {
                    let _place = place;
                    if let Ok(Ok(stream)) = timeout(head, acceptor.accept(stream)).await {
                        let _ = watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await;
                    }
                });
                continue;
            }
            tokio::spawn(async move {
                let _place = place;
                // An error here only means that the client closed the connection.
                let _ = watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await;
            });
        }
        OpenConnections(graceful)
    }

    /// Closes a connection above the limit.
    async fn turn_away(&self, mut stream: TcpStream) {
        if let Some(response) = self.busy {
            let _ = timeout(TURN_AWAY, stream.write_all(response.as_bytes())).await;
        }
    }
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadBody {
    #[error("the body did not come in time")]
    Late,
    #[error("the body is longer than the limit")]
    Oversize,
    #[error("the connection ended within the body")]
    Broken,
}

/// Reads a body of at most `most` bytes, for at most `time`. A longer one is refused once its first `most` bytes came,
/// even if its head announced it: a client that writes a whole request before it reads would not see an earlier answer.
///
/// # Errors
/// [`UnreadBody`].
pub async fn read_body<B>(body: B, most: usize, time: Duration) -> Result<Bytes, UnreadBody>
where
    B: Body,
    B::Error: Into<BoxedError>,
{
    let read = timeout(time, Limited::new(body, most).collect()).await.map_err(|_| UnreadBody::Late)?;
    let is_oversize = |error: &BoxedError| error.is::<LengthLimitError>();
    let read = read.map_err(|error| if is_oversize(&error) { UnreadBody::Oversize } else { UnreadBody::Broken })?;
    Ok(read.to_bytes())
}
