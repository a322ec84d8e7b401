//! Audits finished bundles, offline: replays them, checks them, and tries other policies on them.
//!
//! - [`replay()`] computes the records of a bundle again from its texts, and compares them byte by byte.
//! - [`check()`] verifies a bundle and replays it. Its report has the worse status of the two.
//! - [`trial()`] governs the streams of a bundle again under another policy, and lists the decisions that differ.
//!
//! A fault of a bundle is a finding in a report. An [`AuditError`] means that the audit itself could not run.
//!
//! This crate needs no card, no network and no database, and depends on no crate that opens one. `cargo xtask lint`
//! checks this.
//!
//! ```no_run
//! use portcullis_audit::{check, replay};
//! use portcullis_evidence::bundle::{DirectoryFiles, SnapshotFiles};
//! use portcullis_evidence::verify::{TrustedParties, VerifyOptions};
//! use std::path::Path;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = DirectoryFiles::new(Path::new("first.bundle"));
//! let replayed = replay(&SnapshotFiles::new(&files), None, &mut || {})?;
//! println!("{replayed}");
//!
//! // The trusted keys come from a folder of the auditor, not from the bundle.
//! let trust = TrustedParties::load(Path::new("trust"), false)?;
//! let checked = check(&files, &trust, VerifyOptions::default(), &mut |_records| {}, &mut || {})?;
//! println!("{}, exit code {}", checked.status, checked.exit_code);
//! # Ok(())
//! # }
//! ```

mod check;
mod error;
mod replay;
mod trial;

pub use check::{CheckReport, check, check_after};
pub use error::AuditError;
pub use replay::{EarlierBundles, ReplayReport, StreamSample, replay, replay_after};
pub use trial::{ChangedStreamDecisions, SpanChange, SpanOutcome, TrialReport, trial};
