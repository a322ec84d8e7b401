//! What an audit of many bundles computes, without the SQL engine: subtrees that merge in any order, the columns of a
//! record, the unit of work over one bundle, and the answer.
//!
//! Everything here is a function of evidence. The engine in `fleet/` decides where and in which order these functions
//! run, so neither order nor place can change a result. [`verify`] and [`replay`] are the units of work, [`SubtreeSet`]
//! is the Merkle tree of a log as an aggregate, and [`AuditAnswer`] is the result of an audit.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use portcullis_evidence::tree;
//! use portcullis_fleet_core::SubtreeSet;
//!
//! // Two workers read parts of one log.
//! let leaf = |index: u64| tree::leaf(&index.to_le_bytes());
//! let (mut early, mut late) = (SubtreeSet::new(), SubtreeSet::new());
//! (0..3).for_each(|index| early.push(index, leaf(index)));
//! (3..5).for_each(|index| late.push(index, leaf(index)));
//! assert!(late.root().is_err(), "records 0 to 2 are missing");
//!
//! late.merge(&early);
//! assert_eq!(late.root()?, (5, tree::root((0..5).map(leaf))));
//! # Ok(())
//! # }
//! ```

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
