//! A statement about a period: what the bundles of one card or of a fleet show about it, and what they do not.
//!
//! [`attest`] verifies every bundle, replays a sample of the streams of each, and returns a [`Statement`]. The
//! statement is a function of the bundles, the trust folder and the question: whoever has these can make it again and
//! compare. [`page`] writes it for people; [`sign`] signs its JSON.

mod clause;
mod compose;
mod page;
mod period;
mod policy;
mod signature;
mod statement;

pub use clause::{Topic, table as clauses};
pub use compose::{Error, Given, Question, Step, attest};
pub use page::page;
pub use period::{Day, DayError, Period, PeriodError};
pub use signature::{SIGNATURE_BYTES, check_signature, sign};
pub use statement::{
    Chain, Clause, Finding, KIND, Package, PolicyChange, PolicyUse, Replay, Rule, RuleUse, Session, Shown, Source,
    Statement, Totals, Withheld,
};
