//! A statement about a period: what the bundles of one card or of a fleet show about it, and what they do not.
//!
//! [`attest`] verifies every bundle, replays a sample of the streams of each, and returns a [`PeriodStatement`]. The
//! statement is a function of the bundles, the trust folder and the [`AttestationRequest`]: whoever has these can make
//! it again and compare. [`page()`] writes it for people; [`sign`] signs its JSON. A statement lists the clauses of
//! regulations that the evidence supports. It does not state that the operator complies with a regulation.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let world = portcullis_test_support::world::World::new();
//! # let (files, trust) = (world.honest().files(), world.trust(false));
//! use portcullis_attestation::{AttestationPeriod, AttestationRequest, NamedBundle, attest};
//!
//! // `files` is the bundle of a session on 21 September 2026, and `trust` are the trusted keys.
//! let bundles = [NamedBundle { name: "first".to_owned(), files: Ok(Box::new(files)) }];
//! let request = AttestationRequest {
//!     by: "Operator".to_owned(),
//!     program: "example 1.0.0".to_owned(),
//!     period: AttestationPeriod::new("2026-09-01".parse()?, "2026-09-30".parse()?)?,
//!     dated: "2026-10-01".parse()?,
//!     sample: 0,
//!     seed: None,
//! };
//! let statement = attest(&request, &bundles, &trust, None, Default::default(), &mut |_progress| {})?;
//! assert_eq!(statement.sessions.len(), 1);
//! assert!(statement.findings.iter().any(|finding| finding.code == "not-replayed"));
//! # Ok(())
//! # }
//! ```

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
