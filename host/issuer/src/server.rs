//! The listener: connections, and shutdown.

use crate::config::{Config, ConfigError};
use crate::service::{Service, router, tokens};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use portcullis_authority::tickets::Issuer;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

/// Pause after a failed `accept`: file descriptors may become free meanwhile.
const PAUSE: Duration = Duration::from_millis(50);
/// Largest head of a request, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// Largest number of header fields.
const MAX_FIELDS: usize = 64;

/// Why the service could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The asynchronous runtime could not start.
    #[error("the runtime: {0}")]
    Runtime(io::Error),
}

/// Checks the configuration, reads the clients' tokens and binds the address. Only then `open` opens the issuer, which
/// can make its key and its store: a service that cannot start leaves nothing. Serves clients until `stop` completes;
/// requests in progress are then answered, within the limits of time. Calls `listening` once, with the bound address.
///
/// # Errors
/// [`ServeError`], or the error of `open`.
pub fn serve<E: From<ServeError>>(
    config: &Config,
    open: impl FnOnce() -> Result<Issuer, E>,
    stop: impl Future<Output = ()> + Send + 'static,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), E> {
    config.check().map_err(ServeError::from)?;
    let tokens = tokens(config).map_err(ServeError::from)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(ServeError::Runtime)?;
    let listen = |error| ServeError::Listen(config.listen, error);
    let listener = runtime.block_on(TcpListener::bind(config.listen)).map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let issuer = open()?;
    let serving = async {
        listening(address);
        run(listener, config, (tokens, issuer), stop).await;
    };
    runtime.block_on(serving);
    // An event that is being written is written to its end, or the store's own time limit is over.
    runtime.shutdown_timeout(config.limits.store());
    Ok(())
}

async fn run(
    listener: TcpListener,
    config: &Config,
    (tokens, issuer): (Vec<[u8; 32]>, Issuer),
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let (drain, stopping) = watch::channel(false);
    let router = router(Arc::new(Service::new(config, tokens, issuer, stopping)));
    let room = Arc::new(Semaphore::new(config.limits.connections));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let Ok((stream, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        // Above the connection limit, a new connection is closed at once.
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else { continue };
        let (watcher, router) = (graceful.watcher(), router.clone());
        let (limit, patience) = (config.limits.request(), config.limits.client());
        tokio::spawn(async move {
            let _place = place;
            let _ = stream.set_nodelay(true);
            let mut stream = Box::pin(TimeoutStream::new(stream));
            stream.as_mut().set_write_timeout_pinned(Some(patience));
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(limit).max_headers(MAX_FIELDS).max_buf_size(MAX_HEAD);
            // An error here only means that the client closed the connection.
            let served = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
            let _ = watcher.watch(served).await;
        });
    }
    drop(listener);
    drain.send_replace(true);
    let _ = timeout(config.limits.request() + config.limits.store(), graceful.shutdown()).await;
}
