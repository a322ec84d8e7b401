//! An executor of a cluster.

use super::codec::{LogicalCodec, PhysicalCodec};
use super::stores::Stores;
use super::{MESSAGE, Ready, SchedulerAddress, check_bind, host_of, probe, stop_signal};
use crate::error::FleetError;
use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::RuntimeProducer;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::extension::ballista_scalar_functions;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::utils::create_grpc_server;
use ballista_executor::ArrowFlightServerProvider;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::flight_service::BallistaFlightService;
use ballista_executor::health::ExecutorHealth;
use datafusion::error::DataFusionError;
use futures::future::LocalBoxFuture;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::server::TcpIncoming;

/// How long an executor that has to stop waits for its tasks.
const DRAIN: Duration = Duration::from_secs(10);
/// How often an executor shows that it lives, in seconds.
const HEARTBEAT: u64 = 2;
/// How long the registration may take.
const REGISTRATION: Duration = Duration::from_secs(30);

/// How to run an executor.
#[derive(Clone, Debug)]
pub struct ExecutorOptions {
    pub scheduler: SchedulerAddress,
    /// Where it listens: the port gives results, and the next one takes tasks. With port 0, two free ports.
    pub bind: SocketAddr,
    /// Whether `bind` may be outside the loopback interface.
    pub allow_network: bool,
    /// Number of tasks at one time.
    pub threads: usize,
    /// Folder for intermediate results; without it, the system's folder for temporary files. The executor makes a
    /// folder of its own in it, and removes that at its end.
    pub work: Option<PathBuf>,
    /// Identifies this program: functions of another program are refused.
    pub program: String,
    /// How long to wait for the scheduler at the start.
    pub wait: Duration,
}

/// Runs an executor until SIGTERM or SIGINT. `ready` receives the address once the scheduler knows the executor.
/// Errors: it cannot listen, or the scheduler cannot be reached or was lost.
pub fn executor<'a>(options: &'a ExecutorOptions, ready: &'a Ready) -> LocalBoxFuture<'a, Result<(), FleetError>> {
    Box::pin(serve(options, ready))
}

async fn serve(options: &ExecutorOptions, ready: &Ready) -> Result<(), FleetError> {
    check_bind(options.bind, options.allow_network)?;
    let mut stop = Box::pin(stop_signal());
    tokio::select! {
        _ = &mut stop => return Ok(()),
        there = scheduler_is_there(options) => there?,
    }
    let folder = work_folder(options)?;
    let (address, listener, control) = listen(options.bind)?;
    let health = ExecutorHealth::new();
    let config = config(options, &folder, (address, listener, control), health.clone())?;
    let mut process = tokio::spawn(start_executor_process(Arc::new(config)));
    let ended = |why: String| FleetError::Cluster { scheduler: options.scheduler.url(), why };
    let lost = |done: Result<Result<(), BallistaError>, tokio::task::JoinError>| match done {
        Ok(Ok(())) => ended("the executor ended, because it lost the scheduler".to_owned()),
        Ok(Err(error)) => ended(format!("the executor ended: {error}")),
        Err(error) => ended(format!("the executor ended: {error}")),
    };
    tokio::select! {
        biased;
        _ = &mut stop => return drained(process).await,
        done = &mut process => return Err(lost(done)),
        registered = registered(&health) => if !registered {
            process.abort();
            return Err(ended(format!("it did not register this executor within {} s", REGISTRATION.as_secs())));
        },
    }
    ready(address);
    tokio::select! {
        biased;
        _ = &mut stop => drained(process).await,
        done = &mut process => Err(lost(done)),
    }
}

/// Waits for the tasks of an executor that has to stop, at most [`DRAIN`]. What is not finished then, the
/// scheduler gives to other executors.
async fn drained(mut process: tokio::task::JoinHandle<Result<(), BallistaError>>) -> Result<(), FleetError> {
    if timeout(DRAIN, &mut process).await.is_err() {
        process.abort();
    }
    Ok(())
}

async fn scheduler_is_there(options: &ExecutorOptions) -> Result<(), FleetError> {
    let begin = Instant::now();
    loop {
        match probe::health(&options.scheduler).await {
            Ok(_) => return Ok(()),
            Err(FleetError::NoScheduler { .. }) if begin.elapsed() < options.wait => {
                sleep(Duration::from_millis(200)).await;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn registered(health: &ExecutorHealth) -> bool {
    let begin = Instant::now();
    while !health.is_ready() {
        if begin.elapsed() >= REGISTRATION {
            return false;
        }
        sleep(Duration::from_millis(50)).await;
    }
    true
}

fn work_folder(options: &ExecutorOptions) -> Result<TempDir, FleetError> {
    let place = options.work.clone().unwrap_or_else(std::env::temp_dir);
    let made = std::fs::create_dir_all(&place)
        .and_then(|()| tempfile::Builder::new().prefix("fleet-executor-").tempdir_in(&place));
    made.map_err(|source| FleetError::Read { path: place, source })
}

/// Listens for those who read results, and finds a port for tasks.
fn listen(bind: SocketAddr) -> Result<(SocketAddr, TcpListener, u16), FleetError> {
    let failed = |address: SocketAddr| move |source| FleetError::Listen { address, source };
    let listener = TcpListener::bind(bind).map_err(failed(bind))?;
    listener.set_nonblocking(true).map_err(failed(bind))?;
    let address = listener.local_addr().map_err(failed(bind))?;
    // The library opens the port for tasks itself, so it is free here for a moment.
    let next = if bind.port() == 0 { 0 } else { bind.port().saturating_add(1) };
    let control = SocketAddr::new(bind.ip(), next);
    let port = TcpListener::bind(control).and_then(|probe| probe.local_addr()).map_err(failed(control))?.port();
    Ok((address, listener, port))
}

fn config(
    options: &ExecutorOptions,
    folder: &TempDir,
    (address, listener, control): (SocketAddr, TcpListener, u16),
    health: ExecutorHealth,
) -> Result<ExecutorProcessConfig, FleetError> {
    Ok(ExecutorProcessConfig {
        bind_host: host_of(address.ip()),
        external_host: Some(host_of(address.ip())),
        port: address.port(),
        grpc_port: control,
        scheduler_host: options.scheduler.host.clone(),
        scheduler_port: options.scheduler.port,
        vcores: options.threads.max(1),
        task_scheduling_policy: TaskSchedulingPolicy::PushStaged,
        work_dir: Some(folder.path().display().to_string()),
        override_runtime_producer: Some(runtime(folder.path())),
        // A result whose client is gone is removed in the end.
        job_data_ttl_seconds: 24 * 3600,
        job_data_clean_up_interval_seconds: 3600,
        grpc_max_decoding_message_size: MESSAGE,
        grpc_max_encoding_message_size: MESSAGE,
        executor_heartbeat_interval_seconds: HEARTBEAT,
        override_function_registry: Some(Arc::new(functions()?)),
        override_logical_codec: Some(Arc::new(LogicalCodec::new(&options.program))),
        override_physical_codec: Some(Arc::new(PhysicalCodec::new(&options.program))),
        override_arrow_flight_service: Some(results(listener)),
        health,
        ..ExecutorProcessConfig::default()
    })
}

/// The environment of queries: temporary files go to the work folder, and [`Stores`] opens the places of tables.
fn runtime(folder: &Path) -> RuntimeProducer {
    let folder = folder.display().to_string();
    Arc::new(move |_| Ok(Arc::new(Stores::runtime().with_temp_file_path(folder.clone()).build()?)))
}

/// The functions that plans name: those of the engine, and ours.
fn functions() -> Result<BallistaFunctionRegistry, DataFusionError> {
    let mut registry = BallistaFunctionRegistry::default();
    let known = ballista_scalar_functions().into_iter().map(|function| (function.name().to_owned(), function));
    registry.scalar_functions.extend(known);
    for definition in crate::functions::Definition::PLAIN {
        let function = Arc::new(definition.function());
        registry.scalar_functions.insert(function.name().to_owned(), function);
    }
    let tree = Arc::new(crate::functions::Aggregate::Tree.function());
    registry.aggregate_functions.insert(tree.name().to_owned(), tree);
    Ok(registry)
}

/// The service that gives results, on a listener that is open already.
fn results(listener: TcpListener) -> Arc<ArrowFlightServerProvider> {
    let listener = Mutex::new(Some(listener));
    Arc::new(move |folder, _, mut shutdown, grpc| {
        let listener = listener.lock().ok().and_then(|mut listener| listener.take());
        tokio::spawn(async move {
            let Some(listener) = listener else {
                return Err(BallistaError::General("the results are served already".to_owned()));
            };
            let incoming = TcpIncoming::from(tokio::net::TcpListener::from_std(listener)?).with_nodelay(Some(true));
            let service = FlightServiceServer::new(BallistaFlightService::new(folder))
                .max_decoding_message_size(MESSAGE as usize)
                .max_encoding_message_size(MESSAGE as usize);
            let server = create_grpc_server(&grpc).add_service(service);
            server.serve_with_incoming_shutdown(incoming, shutdown.recv()).await.map_err(BallistaError::TonicError)
        })
    })
}
