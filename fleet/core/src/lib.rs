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

pub use answer::{Answer, Chain, Day, Totals};
pub use columns::Columns;
pub use content::{CheckpointFile, Content, SegmentEnds, digest};
pub use finding::{Finding, FleetCode, Source};
pub use session::Session;
pub use subtrees::{DecodeError, Subtrees, TilingError};
pub use trees::{Lane, check_trees};
pub use unit::{ChainBundle, Outcome, Question, ReplayOutcome, Unread, broken, failed, replay, verify};
pub use work::{Key, Work, WorkError};
