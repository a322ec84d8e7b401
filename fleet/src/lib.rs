//! Audits the bundles of many cards: bundles become Parquet tables, and one SQL engine runs the verifier, the trees
//! and the comparisons over all of them, in this process or on a cluster.
//!
//! The bundles stay the evidence. The tables are an index, which an audit compares with what the cards signed.
//!
//! Long functions return boxed futures: those of `async fn` would make each crate that calls them compile the engine's
//! futures again.

mod audit;
mod bundle_uri;
mod chains;
#[cfg(feature = "cluster")]
pub mod cluster;
mod columns;
mod damage;
mod engine;
mod error;
mod functions;
mod ingest;
mod options;
mod page;
mod progress;
mod readable;
mod replays;
mod rows;
mod run;
mod stores;
mod tables;
mod trees;
mod trust;
mod units;

pub use audit::audit;
pub use damage::unread;
pub use engine::{QueryPlace, SqlEngine, rows_as_json, rows_as_text};
pub use error::FleetError;
pub use ingest::{IngestInput, IngestOutcome, ingest, replace};
pub use options::AuditOptions;
pub use page::page;
pub use progress::AuditStep;
pub use rows::{RecordRows, write_options};
pub use tables::FleetTableStore;
pub use trust::TrustFolder;
