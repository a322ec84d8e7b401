//! The text lane: tables that find the patterns and phrases of a policy's classes in the bytes of a text, byte by byte,
//! and a walk over these tables in software.
//!
//! [`compile`] makes the tables from a [`LaneSource`]. The tables contain automata, which report for each byte whether
//! a match ends there, and the data of the units that find card numbers and account numbers. The tables have the form
//! of a card's memories. `docs/explanation/text-lane.md` explains what the tables find and miss.

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
