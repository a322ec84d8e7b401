//! Bundles: what a session leaves behind, as files under fixed names.
//!
//! Every name, size and line is checked before its content is looked at: an unknown name, a symbolic link, a file over
//! its cap or a line with unknown or duplicate keys is an error, never skipped. Large files are streamed.
//!
//! Everything with a log index is in files of its lane: they are written and read as the log is, and a bundle of one
//! lane is lane 0's.

mod archive;
mod disk;
mod error;
mod files;
mod finish;
mod folder;
mod heads;
mod line;
mod manifest;
mod name;
mod read;
mod snapshot;
mod withhold;
mod write;

pub use archive::{Archive, at};
pub use disk::GrowingFile;
pub use error::BundleError;
pub use files::{Directory, Files, MemoryFiles};
pub use finish::{FinishError, FinishReport, finish};
pub use folder::README_TEXT;
pub use heads::Heads;
pub use line::{InputLine, Lines, Receipt, SpanLine, StreamLine};
pub use manifest::{Manifest, ManifestFile, SCHEMA};
pub use name::{
    APPROVAL, CERTIFICATE, CHAIN, HEADS, IMAGE, INPUTS, MANIFEST, PACKAGE, README, RECEIPTS, RECORDS, SPANS, STREAMS,
    TICKET, anchor, checkpoint, context, in_lane, package, withheld, witness,
};
pub use read::Bundle;
pub use snapshot::Snapshot;
pub use withhold::{StreamChoice, WithholdError, WithholdReason, WithholdReport, withhold, withhold_in_place};
pub use write::{LineFile, Writer};
