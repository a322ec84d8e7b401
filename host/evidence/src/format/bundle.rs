//! Bundles: the evidence of one session, as files with fixed names.
//!
//! The reader checks every name, size and line before it uses the content. An unknown name, a symbolic link, a file
//! over its size limit, or a line with unknown or duplicate keys is an error. Large files are streamed.
//!
//! Data about a record is in a file of the record's lane. These files are written and read in the order of the log.
//! A card with one lane has the files of lane 0 only.

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
mod staging;
mod withhold;
mod write;

pub use archive::{ArchiveFiles, at, is_unfinished};
pub use disk::GrowingFile;
pub use error::BundleError;
pub use files::{BundleFiles, DirectoryFiles, MemoryFiles};
pub use finish::{FinishError, FinishReport, finish};
pub use folder::README_TEXT;
pub use heads::LaneHeadReader;
pub use line::{IndexedLine, IndexedLineReader, InputLine, Receipt, SpanLine, StreamLine};
pub use manifest::{BundleManifest, ManifestFile, SCHEMA};
pub use name::{
    APPROVAL, CERTIFICATE, CHAIN, HEADS, IMAGE, INPUTS, MANIFEST, PACKAGE, README, RECEIPTS, RECORDS, SPANS, STREAMS,
    TICKET, anchor, checkpoint, context, in_lane, package, withheld, witness,
};
pub use read::Bundle;
pub use snapshot::SnapshotFiles;
pub use withhold::{StreamChoice, WithholdError, WithholdReason, WithholdReport, withhold, withhold_in_place};
pub use write::{BundleWriter, LineFile};
