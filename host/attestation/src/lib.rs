//! A statement about a period: what the bundles of one card or of a fleet show about it, and what they do not.
//!
//! [`attest`] verifies every bundle, replays a sample of the streams of each, and returns a [`PeriodStatement`]. The
//! statement is a function of the bundles, the trust folder and the question: whoever has these can make it again and
//! compare. [`page`] writes it for people; [`sign`] signs its JSON.

mod clause;
mod compose;
mod page;
mod period;
mod policy;
mod signature;
mod statement;

pub use clause::{RegulationTopic, table as clauses};
pub use compose::{AttestationError, AttestationProgress, AttestationRequest, NamedBundle, attest};
pub use page::page;
pub use period::{AttestationPeriod, DayError, PeriodError, UtcDay};
pub use signature::{SIGNATURE_BYTES, check_signature, sign};
pub use statement::{
    AttestationFinding, AttestationFindingSource, AttestedChain, AttestedClause, AttestedPackage, AttestedReplay,
    AttestedRule, AttestedSession, AttestedTopic, AttestedTotals, AttestedWithholding, KIND, PeriodStatement,
    PolicyChange, PolicyUse, RuleRefusalCount,
};
