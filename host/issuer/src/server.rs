//! The listener: connections, and shutdown.

use crate::config::{IssuerConfig, IssuerConfigError};
use crate::service::{IssuerService, router, tokens};
use portcullis_authority::tickets::Issuer;
use portcullis_http::server::{BoundedListener, ListenerLimits, TowerToHyperService};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Largest head of a request, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// Largest number of header fields.
const MAX_FIELDS: usize = 64;

/// Why the service could not start.
#[derive(Debug, thiserror::Error)]
pub enum IssuerServeError {
    #[error(transparent)]
    Config(#[from] IssuerConfigError),
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
/// [`IssuerServeError`], or the error of `open`.
pub fn serve<E: From<IssuerServeError>>(
    config: &IssuerConfig,
    open: impl FnOnce() -> Result<Issuer, E>,
    stop: impl Future<Output = ()> + Send + 'static,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), E> {
    config.check().map_err(IssuerServeError::from)?;
    let tokens = tokens(config).map_err(IssuerServeError::from)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(IssuerServeError::Runtime)?;
    let listen = |error| IssuerServeError::Listen(config.listen, error);
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
    config: &IssuerConfig,
    (tokens, issuer): (Vec<[u8; 32]>, Issuer),
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let (drain, stopping) = watch::channel(false);
    let router = router(Arc::new(IssuerService::new(config, tokens, issuer, stopping)));
    let limits = ListenerLimits {
        connections: config.limits.connections,
        head: config.limits.request(),
        head_bytes: MAX_HEAD,
        head_fields: MAX_FIELDS,
        write: config.limits.client(),
    };
    let open = BoundedListener::new(listener, limits).serve(TowerToHyperService::new(router), stop).await;
    drain.send_replace(true);
    open.finish(config.limits.request() + config.limits.store()).await;
}
