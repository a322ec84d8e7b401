//! The scheduler of a cluster.

use super::codec::{LogicalCodec, PhysicalCodec};
use super::stores::Stores;
use super::{MESSAGE, Ready, check_bind, host_of, register, stop_signal};
use crate::error::FleetError;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::utils::default_session_builder;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures::future::LocalBoxFuture;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// How to run a scheduler.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Where it listens; with port 0, at a free port.
    pub bind: SocketAddr,
    /// Whether `bind` may be outside the loopback interface.
    pub allow_network: bool,
    /// After this many seconds without a sign of life, the work of an executor goes to others.
    pub executor_timeout: u64,
    /// Identifies this program: executors and users of another program are refused.
    pub program: String,
}

/// Runs a scheduler until SIGTERM or SIGINT. `ready` receives the address at which it listens. Errors: it cannot
/// listen, or its service failed.
pub fn scheduler<'a>(options: &'a SchedulerOptions, ready: &'a Ready) -> LocalBoxFuture<'a, Result<(), FleetError>> {
    Box::pin(serve(options, ready))
}

async fn serve(options: &SchedulerOptions, ready: &Ready) -> Result<(), FleetError> {
    check_bind(options.bind, options.allow_network)?;
    let listen = |source| FleetError::Listen { address: options.bind, source };
    let listener = TcpListener::bind(options.bind).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let failed =
        |error: BallistaError| FleetError::Cluster { scheduler: format!("http://{address}"), why: error.to_string() };
    let config = Arc::new(SchedulerConfig {
        external_host: host_of(address.ip()),
        bind_host: host_of(address.ip()),
        bind_port: address.port(),
        scheduling_policy: TaskSchedulingPolicy::PushStaged,
        grpc_server_max_decoding_message_size: MESSAGE,
        grpc_server_max_encoding_message_size: MESSAGE,
        grpc_client_max_message_size: MESSAGE,
        executor_timeout_seconds: options.executor_timeout,
        expire_dead_executor_interval_seconds: 1,
        no_executors_grace_period_seconds: options.executor_timeout.saturating_mul(2),
        // Each finished job holds its plan until then.
        finished_job_state_clean_up_interval_seconds: 600,
        override_session_builder: Some(Arc::new(|config: SessionConfig| {
            let state = default_session_builder(config)?;
            let runtime = Arc::new(Stores::runtime().build()?);
            let mut state = SessionStateBuilder::new_from_existing(state).with_runtime_env(runtime).build();
            register(&mut state)?;
            Ok(state)
        })),
        override_logical_codec: Some(Arc::new(LogicalCodec::new(&options.program))),
        override_physical_codec: Some(Arc::new(PhysicalCodec::new(&options.program))),
        ..SchedulerConfig::default()
    });
    config.validate().map_err(failed)?;
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(failed)?;
    let service = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, config).await.map_err(failed)?;
    let stop = stop_signal();
    ready(address);
    tokio::select! {
        stopped = stop => stopped.map_err(listen),
        ended = start_grpc_service_with_listener(listener, service) => ended.map_err(failed),
    }
}
