//! The audit on a [Ballista](https://datafusion.apache.org/ballista) cluster: one scheduler plans the queries, and
//! executors run them. All of them are this program.
//!
//! Functions travel with the queries (see `codec`), so an executor needs nothing but the program and the same view of
//! bundles and tables. A cluster has no authentication: whoever reaches its ports can run queries.

mod codec;
mod executor;
mod probe;
mod scheduler;
mod stores;

pub use executor::{ExecutorOptions, executor};
pub use scheduler::{SchedulerOptions, scheduler};

use crate::error::FleetError;
use crate::functions::{Aggregate, Definition};
use ballista_core::extension::{SessionConfigExt, SessionStateExt};
use codec::LogicalCodec;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use probe::SchedulerHealth;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use url::{Host, Url};

/// Largest message between processes, in bytes. The facts of a query travel in one.
const MESSAGE: u32 = 256 << 20;
/// Attempts of a query whose result was lost with an executor.
const ATTEMPTS: u32 = 3;
/// Time between two looks at the scheduler while a query runs.
const WATCH: Duration = Duration::from_secs(5);
/// A query ends after the cluster could not run anything for this long.
const LOST: Duration = Duration::from_secs(60);

/// Receives the address of a process once it is ready.
pub type Ready = dyn Fn(SocketAddr) + Send + Sync;

/// Where a scheduler is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerAddress {
    host: String,
    port: u16,
}

impl SchedulerAddress {
    /// Reads `http://HOST:PORT`. Errors: [`FleetError::SchedulerAddress`], and [`FleetError::Network`] for an address
    /// outside the loopback interface without `allow_network`.
    pub fn parse(url: &str, allow_network: bool) -> Result<Self, FleetError> {
        let wrong = || FleetError::SchedulerAddress(url.to_owned());
        let parsed = Url::parse(url).map_err(|_| wrong())?;
        let (Some(host), Some(port)) = (parsed.host(), parsed.port_or_known_default()) else { return Err(wrong()) };
        if parsed.scheme() != "http"
            || parsed.path() != "/"
            || parsed.query().is_some()
            || !parsed.username().is_empty()
        {
            return Err(wrong());
        }
        let loopback = match &host {
            Host::Domain(name) => *name == "localhost",
            Host::Ipv4(ip) => ip.is_loopback(),
            Host::Ipv6(ip) => ip.is_loopback(),
        };
        if !loopback && !allow_network {
            return Err(FleetError::Network(url.to_owned()));
        }
        Ok(Self { host: host.to_string(), port })
    }

    /// The address as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}:{}", self.host, self.port)
    }
}

/// Errors: an address outside the loopback interface without `allow_network`, and one that has no meaning for others.
fn check_bind(bind: SocketAddr, allow_network: bool) -> Result<(), FleetError> {
    if bind.ip().is_unspecified() {
        return Err(FleetError::Unspecified(bind));
    }
    if bind.ip().is_loopback() || allow_network { Ok(()) } else { Err(FleetError::Network(bind.to_string())) }
}

/// An address as the host of a URL.
fn host_of(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// The functions of every query, for a process that finds them by name.
fn register(registry: &mut dyn FunctionRegistry) -> Result<(), DataFusionError> {
    for definition in Definition::PLAIN {
        registry.register_udf(Arc::new(definition.function()))?;
    }
    registry.register_udaf(Arc::new(Aggregate::Tree.function()))?;
    Ok(())
}

/// Completes at the first SIGTERM or SIGINT.
async fn stop_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

/// A cluster, as one who asks it sees it.
#[derive(Clone, Debug)]
pub struct ClusterClient {
    scheduler: SchedulerAddress,
    program: String,
    wait: Duration,
}

impl ClusterClient {
    /// The cluster of this scheduler. Its processes must have the same `program` as this one, which is the digest of
    /// the program file. A query waits at most `wait` for the first executor.
    #[must_use]
    pub fn new(scheduler: SchedulerAddress, program: String, wait: Duration) -> Self {
        Self { scheduler, program, wait }
    }

    /// A context whose queries run on the cluster. Errors: the scheduler cannot be reached, or has no executor.
    pub(crate) async fn context(&self, config: SessionConfig) -> Result<SessionContext, FleetError> {
        self.ready().await?;
        let config = config
            .upgrade_for_ballista()
            .with_ballista_logical_extension_codec(Arc::new(LogicalCodec::new(&self.program)))
            .with_ballista_grpc_client_max_message_size(MESSAGE as usize)
            // A scheduler may outlive the tables, so nothing that it knows of their files may outlive a query.
            .set_bool("ballista.scheduler.share_file_statistics_cache", false)
            // Under the adaptive planner of Ballista 55.0.0, one of the checks never ended. The cause is not known.
            .with_ballista_adaptive_query_planner(false)
            // These bound the wait for a process that is gone.
            .set_u64("ballista.client.grpc_connect_timeout_seconds", 5)
            .set_u64("ballista.client.grpc_http2_keepalive_interval_seconds", 5)
            .set_u64("ballista.client.io_retries_times", 2)
            .set_u64("ballista.client.io_retry_wait_time_ms", 500);
        let state = SessionStateBuilder::new().with_default_features().with_config(config).build();
        // The upgrade replaces the lists of functions, so ours are registered on the context after it.
        Ok(SessionContext::new_with_state(state.upgrade_for_ballista(self.scheduler.url())?))
    }

    /// Waits for an executor. Errors: the scheduler cannot be reached, or it has no executor in time.
    async fn ready(&self) -> Result<(), FleetError> {
        let begin = Instant::now();
        while probe::health(&self.scheduler).await? == SchedulerHealth::Empty {
            if begin.elapsed() >= self.wait {
                return Err(self.no_executor(self.wait));
            }
            sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }

    fn no_executor(&self, wait: Duration) -> FleetError {
        FleetError::NoExecutor { scheduler: self.scheduler.url(), seconds: wait.as_secs() }
    }

    /// Runs a query. Errors: the query failed, or the cluster cannot run it.
    pub(crate) async fn collect(&self, query: DataFrame) -> Result<Vec<RecordBatch>, FleetError> {
        let mut attempt = 1;
        loop {
            let failed = tokio::select! {
                done = query.clone().collect() => match done {
                    Ok(rows) => return Ok(rows),
                    Err(error) => error.strip_backtrace(),
                },
                error = self.watch() => return Err(error),
            };
            let scheduler = self.scheduler.url();
            if codec::is_foreign(&failed) {
                return Err(FleetError::OtherProgram { scheduler, why: failed });
            }
            // A result can be lost between its end and its reading, with the executor that held it.
            if !is_lost(&failed) || attempt == ATTEMPTS {
                return Err(FleetError::Cluster { scheduler, why: failed });
            }
            self.ready().await?;
            attempt += 1;
        }
    }

    /// Looks at the scheduler while a query runs. Completes once the cluster could not run anything for [`LOST`].
    async fn watch(&self) -> FleetError {
        let mut well = Instant::now();
        loop {
            sleep(WATCH).await;
            let error = match probe::health(&self.scheduler).await {
                Ok(SchedulerHealth::Ready) => {
                    well = Instant::now();
                    continue;
                }
                Ok(SchedulerHealth::Empty) => self.no_executor(LOST),
                Err(error) => error,
            };
            if well.elapsed() >= LOST {
                return error;
            }
        }
    }
}

/// Whether a failure is one of a connection, and not the scheduler's verdict about a query.
fn is_lost(failed: &str) -> bool {
    let connection = [
        "transport error",
        "GrpcConnectionError",
        "Grpc connection error",
        "FetchFailed",
        "Shuffle fetch",
        "Stream closed",
    ];
    !failed.contains(" failed: ") && connection.iter().any(|word| failed.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_taken_without_the_option() {
        for url in ["http://127.0.0.1:50050", "http://localhost:50050/", "http://[::1]:50050"] {
            let address = SchedulerAddress::parse(url, false).unwrap();
            assert_eq!(address.url(), url.trim_end_matches('/'));
        }
        for url in ["http://10.0.0.7:50050", "http://scheduler.example:50050", "http://localhost.example:1"] {
            assert!(matches!(SchedulerAddress::parse(url, false), Err(FleetError::Network(_))), "{url}");
            assert!(SchedulerAddress::parse(url, true).is_ok(), "{url}");
        }
        for url in
            ["127.0.0.1:50050", "https://127.0.0.1:1", "http://127.0.0.1:1/x", "http://a@127.0.0.1:1", "", "http:"]
        {
            assert!(matches!(SchedulerAddress::parse(url, true), Err(FleetError::SchedulerAddress(_))), "{url}");
        }
        assert!(check_bind(([127, 0, 0, 1], 0).into(), false).is_ok());
        assert!(matches!(check_bind(([10, 0, 0, 7], 0).into(), false), Err(FleetError::Network(_))));
        assert!(check_bind(([10, 0, 0, 7], 0).into(), true).is_ok());
        assert!(matches!(check_bind(([0, 0, 0, 0], 0).into(), true), Err(FleetError::Unspecified(_))));
    }
}
