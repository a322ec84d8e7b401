//! The listener: connections, TLS, and shutdown.

use crate::admin;
use crate::config::{ConfigError, GatewayConfig, TlsSettings};
use crate::placement::SessionStates;
use crate::routes;
use crate::service::{GatewayService, ServiceError};
use crate::session::{GatewaySessions, RotationRequest, SessionFailure};
use crate::ui::{self, CounterHistory};
use axum::Router;
use portcullis_http::server::{BoundedListener, ListenerLimits, TlsAcceptor, TowerToHyperService};
use portcullis_settings::secret;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Largest head of a request, in bytes.
const MAX_HEAD: usize = 408 << 10;
/// Largest number of header fields.
const MAX_FIELDS: usize = 100;
/// Threads for blocking work beside those that the requests may take.
const SPARE_THREADS: usize = 128;
/// Time for the last event of an answer that is cut off.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why the service ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(transparent)]
    Session(#[from] SessionFailure),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The certificate or its key is invalid.
    #[error("TLS: {0}")]
    Tls(String),
    /// The asynchronous runtime could not start.
    #[error("the runtime: {0}")]
    Runtime(io::Error),
}

/// Serves clients until `stop` completes or the sessions of every card have ended. Calls `listening` once, with the
/// bound address.
///
/// The sessions are started last: whatever is wrong with the configuration, the keys, the certificates or the addresses
/// ends this function before a session has used a ticket.
///
/// # Errors
/// [`ServeError`].
pub fn serve(
    config: &GatewayConfig,
    mut sessions: GatewaySessions,
    stop: impl Future<Output = ()> + Send + 'static,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    config.check()?;
    // Each request may wait for the reading of a long text.
    let threads = config.limits.requests.saturating_add(SPARE_THREADS);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_all().max_blocking_threads(threads).build().map_err(ServeError::Runtime)?;
    let served = runtime.block_on(async {
        let doors = GatewayListeners::open(config, &sessions).await?;
        sessions.start().map_err(ServeError::Runtime)?;
        run(config, &sessions, doors, stop, listening).await
    });
    let drain = Duration::from_millis(config.rotation.drain_ms);
    // Answers in progress end together with their session.
    let ended = sessions.stop(drain);
    runtime.shutdown_timeout(LAST_WORDS);
    served.and(ended.map_err(ServeError::Session))
}

/// The listeners and what they serve: everything that can fail before a session.
struct GatewayListeners {
    listener: TcpListener,
    address: SocketAddr,
    acceptor: Option<TlsAcceptor>,
    service: Arc<GatewayService>,
    drain: watch::Sender<bool>,
    admin: Option<AdminDoor>,
    /// Notified when an operator asks for the end of the service.
    asked_to_end: Arc<Notify>,
}

struct AdminDoor {
    listener: TcpListener,
    router: Router,
    history: Arc<CounterHistory>,
}

impl GatewayListeners {
    /// Reads keys and certificates, and binds the addresses. Clients that connect wait until [`run`] accepts them.
    async fn open(config: &GatewayConfig, sessions: &GatewaySessions) -> Result<Self, ServeError> {
        let acceptor = config.tls.as_ref().map(acceptor).transpose()?;
        let (drain, draining) = watch::channel(false);
        let service = Arc::new(GatewayService::new(config, sessions.states(), draining, sessions.metrics())?);
        let asked_to_end = Arc::new(Notify::new());
        let bind = async |address| TcpListener::bind(address).await.map_err(|error| ServeError::Listen(address, error));
        let listener = bind(config.listen).await?;
        let address = listener.local_addr().map_err(|error| ServeError::Listen(config.listen, error))?;
        let admin = match &config.admin {
            Some(admin) => {
                let history = Arc::new(CounterHistory::default());
                let (asked, kept) = (Arc::clone(&asked_to_end), Arc::clone(&history));
                let router = admin::router(admin, Arc::clone(&service), asked, kept)?;
                Some(AdminDoor { listener: bind(admin.listen).await?, router, history })
            }
            None => None,
        };
        Ok(Self { listener, address, acceptor, service, drain, admin, asked_to_end })
    }
}

async fn run(
    config: &GatewayConfig,
    sessions: &GatewaySessions,
    doors: GatewayListeners,
    stop: impl Future<Output = ()> + Send + 'static,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let GatewayListeners { listener, address, acceptor, service, drain, admin, asked_to_end } = doors;
    let mut states = sessions.states();
    let router = routes::router(Arc::clone(&service));
    let admin = admin.map(|AdminDoor { listener, router, history }| {
        let sampled = ui::sample(sessions.metrics(), history);
        let listener = BoundedListener::new(listener, limits(config, admin::CONNECTIONS));
        let served = listener.serve(TowerToHyperService::new(router), std::future::pending());
        tokio::spawn(async move {
            tokio::join!(sampled, served);
        })
    });
    let probes = service.probe_servers();
    let mut stop = std::pin::pin!(stop);
    let is_open = tokio::select! {
        opened = states.wait_for(|states| states.open().next().is_some() || states.is_over()) => {
            opened.is_ok_and(|states| !states.is_over())
        }
        // The session that is being opened ends at once.
        () = &mut stop => false,
        () = asked_to_end.notified() => false,
    };
    if !is_open {
        // The caller gets the reason from the cards' threads.
        return Ok(());
    }
    listening(address);
    let timers = rotate(sessions, config);
    let ended = async {
        tokio::select! {
            () = &mut stop => {}
            () = asked_to_end.notified() => {}
            _ = states.wait_for(SessionStates::is_over) => {}
        }
    };
    let listener = BoundedListener::new(listener, limits(config, config.limits.connections)).with_tls(acceptor);
    let open = listener.serve(TowerToHyperService::new(router), ended).await;
    drain.send_replace(true);
    drop((timers, probes));
    // Answers get the same time as at a rotation, and a moment more to send their last event.
    let patience = Duration::from_millis(config.rotation.drain_ms);
    sessions.drain(patience);
    open.finish(patience + LAST_WORDS).await;
    admin.inspect(tokio::task::JoinHandle::abort);
    // This blocks while the last traces are exported, for a bounded time.
    let _ = tokio::task::spawn_blocking(move || service.end_traces()).await;
    Ok(())
}

/// The limits of a listener with this largest number of connections.
const fn limits(config: &GatewayConfig, connections: usize) -> ListenerLimits {
    let (head, write) = (config.limits.request(), config.limits.client());
    ListenerLimits { connections, head, head_bytes: MAX_HEAD, head_fields: MAX_FIELDS, write }
}

/// Ends each session when its time limit is reached. The first sessions of several cards end one after the other within
/// the time limit, so that most cards take streams while one changes its session.
fn rotate(sessions: &GatewaySessions, config: &GatewayConfig) -> JoinSet<()> {
    let seconds = Duration::from_secs(config.rotation.seconds);
    let limit = if seconds.is_zero() { Duration::MAX } else { seconds };
    let mut timers = JoinSet::new();
    let requests: Vec<_> = sessions.rotations(Duration::from_millis(config.rotation.drain_ms)).collect();
    let count = u32::try_from(requests.len()).unwrap_or(u32::MAX).max(1);
    for (card, request) in requests.into_iter().enumerate() {
        let share = u32::try_from(card).unwrap_or(u32::MAX).saturating_add(1);
        timers.spawn(rotate_card(sessions.states(), card, request, limit, (share, count)));
    }
    timers
}

/// Ends each session of a card after the time `limit`, or before its ticket ends; the first one after the share `.0` of
/// `.1` of that time. A session that follows one that ended earlier counts as the first, since the sessions of all
/// cards may have ended together.
async fn rotate_card(
    mut states: watch::Receiver<SessionStates>,
    card: usize,
    request: RotationRequest,
    limit: Duration,
    (share, count): (u32, u32),
) {
    let mut is_first = true;
    loop {
        let session = |states: &SessionStates| {
            states.open().find(|(of, _)| *of == card).map(|(_, open)| (open.name.clone(), open.ends))
        };
        let Ok(open) = states.wait_for(|states| session(states).is_some()).await.map(|states| session(&states)) else {
            return;
        };
        let ends = open.as_ref().and_then(|(_, ends)| *ends);
        let left = ends.map_or(Duration::MAX, |ends| ends.saturating_duration_since(Instant::now()));
        let whole = limit.min(left);
        let time = if is_first { whole.saturating_mul(share) / count } else { whole };
        is_first = timeout(time, states.wait_for(|states| session(states) != open)).await.is_ok();
        if !is_first {
            request.ask();
        }
    }
}

fn acceptor(tls: &TlsSettings) -> Result<TlsAcceptor, ServeError> {
    let wrong = |error: &dyn std::fmt::Display| ServeError::Tls(error.to_string());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let of_file = |error: rustls::pki_types::pem::Error| {
        ServeError::Tls(format!("the certificate `{}`: {error}", tls.certificate.display()))
    };
    let chain = CertificateDer::pem_file_iter(&tls.certificate).map_err(of_file)?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(of_file)?;
    let key = secret::text(&tls.key).map_err(ConfigError::from)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|error| ServeError::Tls(format!("`{}`: {error}", tls.key.display())))?;
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
    Ok(TlsAcceptor::from(Arc::new(config.map_err(|error| wrong(&error))?)))
}
