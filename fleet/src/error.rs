//! The errors of the library. They are not results about evidence.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::object_store;
use datafusion::parquet::errors::ParquetError;
use portcullis_evidence::bundle::BundleError;
use portcullis_fleet_core::WorkError;
use std::path::PathBuf;

/// What to do about an address outside the loopback interface.
const NETWORK: &str = "whoever reaches a port can run queries, can read files and use buckets with the rights of the \
    process, and can change answers. Use loopback, or say `--allow-network` on a network that only the auditor reaches";

/// Why a command could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("`{place}` is not a place for tables: {why}")]
    Place { place: String, why: String },
    #[error("`{0}` holds no tables: run `fleet ingest BUNDLE... --to {0}` first")]
    NoTables(String),
    #[error("{what} took longer than {seconds} s")]
    Timeout { what: String, seconds: u64 },
    #[error(transparent)]
    Store(#[from] object_store::Error),
    #[error("the SQL engine failed: {0}")]
    Engine(#[from] DataFusionError),
    #[error("a Parquet file failed: {0}")]
    Parquet(#[from] ParquetError),
    #[error("a table failed: {0}")]
    Arrow(#[from] ArrowError),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Work(#[from] WorkError),
    #[error("cannot read `{path}`: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the column `{0}` is not as these tables have it: ingest into new tables with this program")]
    Column(&'static str),
    #[error("a result is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("`{0}` is not the address of a scheduler: write http://HOST:PORT")]
    SchedulerAddress(String),
    #[error("`{0}` is not on the loopback interface, and a cluster has no authentication: {remedy}", remedy = NETWORK)]
    Network(String),
    #[error("`{0}` is not an address that other processes can use: name the address of one interface")]
    Unspecified(std::net::SocketAddr),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
    #[error(
        "the scheduler at {scheduler} cannot be reached ({why}): start it with `fleet scheduler --bind HOST:PORT`, and \
         give its address here"
    )]
    NoScheduler { scheduler: String, why: String },
    #[error("what answers at {0} is not a scheduler of a cluster: give the address that `fleet scheduler` prints")]
    NotScheduler(String),
    #[error(
        "the scheduler at {scheduler} has had no executor for {seconds} s: start one with `fleet executor --scheduler \
         {scheduler}`"
    )]
    NoExecutor { scheduler: String, seconds: u64 },
    #[error(
        "a process of the cluster at {scheduler} is another build of fleet, or not fleet: start the scheduler, all \
         executors and this command from the same program file (the cluster's own words: {why})"
    )]
    OtherProgram { scheduler: String, why: String },
    #[error("the cluster at {scheduler} failed; its processes write more to their stderr: {why}")]
    Cluster { scheduler: String, why: String },
    #[error(
        "an executor cannot read `{0}` as this machine can: the scheduler, all executors and this machine must see the \
         bundles and the tables under the same paths"
    )]
    NotShared(String),
    #[error("the audit was stopped; run it again with the same folder of results, and it goes on")]
    Stopped,
}
