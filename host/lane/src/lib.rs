//! The text lane: tables that find the patterns and phrases of a policy's classes in the bytes of a text, byte by byte,
//! and a walk over these tables in software.
//!
//! [`compile()`] makes the tables from a [`LaneSource`]. The tables contain automata, which report for each byte
//! whether a match ends there, and the data of the units that find card numbers and account numbers. The tables have
//! the form of a card's memories. [`LaneScanner`] walks them. The lane reads a text as it is: it does not decode
//! markup, and does not judge whether a sentence denies something. `docs/explanation/text-lane.md` explains what the
//! tables find and miss.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let manifest = portcullis_test_support::manifest!("example", "[[class]]\nname = \"mail\"\n\
//! #     pattern = [{ regex = '[a-z]{1,9}@example\\.org' }]\n");
//! # let manifest = toml::from_str(manifest)?;
//! use portcullis_core::class::ClassId;
//! use portcullis_lane::{LaneScanner, LaneTableLimits, ScanState, compile};
//!
//! // The package has one class: addresses of example.org.
//! let source = portcullis_mapping::lane_source(&manifest, &Default::default())?;
//! let lane = compile(&source, &LaneTableLimits::default());
//! let scanner = LaneScanner::new(lane.tables).ok_or("more engines than a walk supports")?;
//! let mail = ClassId::try_from(0u8)?;
//! assert!(scanner.classes("Write to ana@example.org.").contains(mail));
//!
//! // A match may begin in one entry and end in the next.
//! let mut state = ScanState::START;
//! assert!(!scanner.scan(&mut state, b"Write to ana@exam").classes.contains(mail));
//! assert!(scanner.scan(&mut state, b"ple.org.").classes.contains(mail));
//! # Ok(())
//! # }
//! ```

mod check;
mod compile;
mod context;
mod dfa;
mod error;
mod form;
mod gap;
mod hash;
mod iban;
mod luhn;
mod machine;
mod prefixes;
mod proof;
mod relax;
mod source;
mod tables;
mod utf8;
mod walk;

pub use compile::{ClassSight, CompiledLane, FormSight, LaneCoverage, LaneTableLimits, LaneUnit, compile};
pub use error::TablesError;
pub use source::{
    ClassForm, ClassSource, FormBorder, IbanCountryLength, LaneSource, LeftOut, MatchRelation, PaymentNetworkRange,
};
pub use tables::TextLaneTables;
pub use walk::{EntryScan, EntryScanResult, LaneScanner, ScanState};
