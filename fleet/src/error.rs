//! The errors of the library. They are not results about evidence.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::object_store;
use datafusion::parquet::errors::ParquetError;
use portcullis_evidence::bundle::BundleError;
use portcullis_fleet_core::WorkError;
use std::path::PathBuf;

/// Why a command could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
    #[error("the audit was stopped; run it again with the same folder of results, and it goes on")]
    Stopped,
}
