//! What an audit of many bundles computes, without the SQL engine: subtrees that merge in any order, the columns of a
//! record, the unit of work over one bundle, and the answer.
//!
//! Everything here is a function of evidence. The engine in `fleet/` decides where and in which order these functions
//! run, so neither order nor place can change a result.

mod answer;
mod chain;
mod columns;
mod content;
mod finding;
mod session;
mod subtrees;
mod trees;
mod unit;
mod work;

pub use answer::{AuditAnswer, AuditedChain, ChainDay, SessionTotals};
pub use columns::RecordColumns;
pub use content::{BundleSmallFiles, CheckpointFile, SegmentEnds, digest};
pub use finding::{AuditFinding, AuditFindingSource, FleetCode};
pub use session::AuditedSession;
pub use subtrees::{DecodeError, SubtreeSet, TilingError};
pub use trees::{LaneSegments, check_trees};
pub use unit::{
    BundleVerifySettings, ChainBundle, ReplayOutcome, UnreadBundleError, VerifyTaskOutcome, broken, failed, replay,
    verify,
};
pub use work::{ResultKey, WorkError, WorkFolder};
