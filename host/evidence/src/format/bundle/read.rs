//! Opens a bundle and checks its names and sizes.

use super::error::BundleError;
use super::files::{BundleFiles, buffered, digest};
use super::heads::LaneHeadReader;
use super::line::{IndexedLine, IndexedLineReader, InputLine, Receipt, SpanLine, StreamLine};
use super::manifest::{BundleManifest, SCHEMA};
use super::name::{self, cap};
use crate::format::checkpoint::LANES_MAX;
use portcullis_core::json;
use portcullis_core::wire::LaneHead;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

/// Files whose names and sizes are those of a bundle.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let world = portcullis_test_support::world::World::new();
/// # let files = world.honest().files();
/// use portcullis_evidence::bundle::Bundle;
///
/// // `files` are the files of a bundle, in memory, in a folder or in an archive.
/// let bundle = Bundle::open(&files)?;
/// let mut streams = bundle.streams(0)?;
/// let mut ids = Vec::new();
/// while let Some(index) = streams.rest()? {
///     ids.extend(streams.about(index)?.map(|line| line.id));
/// }
/// assert_eq!(ids, ["a", "b"]);
/// # Ok(())
/// # }
/// ```
pub struct Bundle<'a> {
    files: &'a dyn BundleFiles,
    names: BTreeMap<String, u64>,
    checkpoints: u64,
    lanes: u8,
}

impl<'a> Bundle<'a> {
    /// Opens the bundle in `files` without reading content. Errors: an unknown name, a file over its limit, a missing
    /// file, or a file of a lane that has no log.
    pub fn open(files: &'a dyn BundleFiles) -> Result<Self, BundleError> {
        let names = files.names()?;
        for (name, size) in &names {
            let cap = cap(name).ok_or_else(|| BundleError::Name(name.clone()))?;
            if *size > cap {
                return Err(BundleError::Size { name: name.clone(), cap });
            }
        }
        let package = names.keys().filter(|name| name.starts_with(name::PACKAGE)).count();
        if package > name::PACKAGE_FILES_MAX {
            let what = format!("more than {} files", name::PACKAGE_FILES_MAX);
            return Err(BundleError::content(name::PACKAGE, what));
        }
        let checkpoints = names.keys().filter(|name| name.starts_with("checkpoints/")).count() as u64;
        let lanes = lanes(&names)?;
        // Serials start at 0, so this name must exist if no checkpoint is missing. Other gaps are found when the
        // checkpoints are read.
        let last = name::checkpoint(checkpoints.saturating_sub(1));
        let needed = [name::MANIFEST, name::TICKET, name::CERTIFICATE, name::CHAIN, name::IMAGE, &last];
        let missing = needed.iter().find(|name| !names.contains_key(**name));
        if let Some(missing) = missing {
            return Err(BundleError::Missing((*missing).to_owned()));
        }
        let heads = names.get(name::HEADS).copied();
        // With one lane, the heads follow from the checkpoints. `heads.bin` must then be absent, so that a bundle has
        // one form only.
        let expected = (lanes > 1).then(|| checkpoints * u64::from(lanes) * LaneHead::BYTES as u64);
        match (heads, expected) {
            (None, Some(_)) => Err(BundleError::Missing(name::HEADS.to_owned())),
            (Some(_), None) => Err(BundleError::Name(name::HEADS.to_owned())),
            (found, expected) if found != expected => {
                let what = format!("it does not hold {lanes} heads for each of {checkpoints} checkpoints");
                Err(BundleError::content(name::HEADS, what))
            }
            _ => Ok(Self { files, names, checkpoints, lanes }),
        }
    }

    /// Number of lanes with a log: 1, 2, 4 or 8. The verifier compares it with the checkpoints.
    #[must_use]
    pub const fn lanes(&self) -> u8 {
        self.lanes
    }

    /// Names and sizes in bytes.
    #[must_use]
    pub const fn names(&self) -> &BTreeMap<String, u64> {
        &self.names
    }

    /// Number of checkpoints; their serials start at 0.
    #[must_use]
    pub const fn checkpoints(&self) -> u64 {
        self.checkpoints
    }

    /// Whether the bundle contains a file of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Files below a folder, whose name ends with `/`: the full name, and the part after the folder.
    pub fn below(&self, folder: &'a str) -> impl Iterator<Item = (&str, &str)> {
        self.names.keys().filter_map(move |name| Some((&**name, name.strip_prefix(folder)?)))
    }

    /// A reader of the file's content. A file that grew after it was listed is cut at its listed size.
    pub fn stream(&self, name: &str) -> Result<Box<dyn BufRead + 'a>, BundleError> {
        let size = self.names.get(name).ok_or_else(|| BundleError::Missing(name.to_owned()))?;
        Ok(buffered(self.files.open(name)?, *size))
    }

    /// The whole content of a small file.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, BundleError> {
        let size = self.names.get(name).ok_or_else(|| BundleError::Missing(name.to_owned()))?;
        let mut bytes = Vec::new();
        self.files.open(name)?.take(*size).read_to_end(&mut bytes).map_err(BundleError::io(name))?;
        Ok(bytes)
    }

    pub fn digest(&self, name: &str) -> Result<[u8; 32], BundleError> {
        digest(name, &mut *self.stream(name)?)
    }

    /// The lines of `streams.jsonl` of a lane.
    pub fn streams(&self, lane: u8) -> Result<IndexedLineReader<'a, StreamLine>, BundleError> {
        self.lines(name::STREAMS, lane)
    }

    /// The lines of `inputs.jsonl` of a lane.
    pub fn inputs(&self, lane: u8) -> Result<IndexedLineReader<'a, InputLine>, BundleError> {
        self.lines(name::INPUTS, lane)
    }

    /// The lines of `spans.jsonl` of a lane.
    pub fn spans(&self, lane: u8) -> Result<IndexedLineReader<'a, SpanLine>, BundleError> {
        self.lines(name::SPANS, lane)
    }

    /// The lines of `receipts.jsonl` of a lane.
    pub fn receipts(&self, lane: u8) -> Result<IndexedLineReader<'a, Receipt>, BundleError> {
        self.lines(name::RECEIPTS, lane)
    }

    /// A reader of the log of a lane.
    pub fn records(&self, lane: u8) -> Result<Box<dyn BufRead + 'a>, BundleError> {
        self.stream(&name::in_lane(name::RECORDS, lane))
    }

    /// The heads under each checkpoint. `None` with one lane, whose head follows from the checkpoint.
    pub fn heads(&self) -> Result<Option<LaneHeadReader<'a>>, BundleError> {
        if self.lanes == 1 {
            return Ok(None);
        }
        Ok(Some(LaneHeadReader::new(self.stream(name::HEADS)?, self.lanes)))
    }

    fn lines<T: IndexedLine + DeserializeOwned>(
        &self,
        name: &str,
        lane: u8,
    ) -> Result<IndexedLineReader<'a, T>, BundleError> {
        let name = name::in_lane(name, lane);
        let from = if self.has(&name) { Some(self.stream(&name)?) } else { None };
        Ok(IndexedLineReader::new(name, from))
    }

    /// Compares every file with the manifest. Errors: a malformed manifest, or one that lists other files, sizes or
    /// digests.
    pub fn check_manifest(&self) -> Result<(), BundleError> {
        let wrong = |what: &str| BundleError::content(name::MANIFEST, what);
        let manifest: BundleManifest = json::from_slice(&self.read(name::MANIFEST)?)
            .map_err(|error| BundleError::content(name::MANIFEST, error))?;
        if manifest.schema != SCHEMA {
            return Err(wrong("another schema"));
        }
        let mut listed = manifest.files.iter();
        for (name, size) in self.names.iter().filter(|(name, _)| *name != name::MANIFEST) {
            let file = listed.next().filter(|file| file.path == *name && file.size == *size);
            let file = file.ok_or_else(|| wrong(&format!("`{name}` is not listed with its size, in order")))?;
            if file.sha256.0 != self.digest(name)? {
                return Err(wrong(&format!("`{name}` has another digest")));
            }
        }
        if listed.next().is_some() {
            return Err(wrong("it lists a file that is not there"));
        }
        Ok(())
    }
}

/// The number of lanes that have a log. It must be a possible number of a card's lanes, and a lane without a log must
/// not have lines.
fn lanes(names: &BTreeMap<String, u64>) -> Result<u8, BundleError> {
    let has_log = |lane: &u8| names.contains_key(&name::in_lane(name::RECORDS, *lane));
    let logs = (0..LANES_MAX).filter(has_log).count();
    let lanes =
        (1..=LANES_MAX).find(|lanes| usize::from(*lanes) >= logs && lanes.is_power_of_two()).unwrap_or(LANES_MAX);
    if let Some(missing) = (0..lanes).find(|lane| !has_log(lane)) {
        return Err(BundleError::Missing(name::in_lane(name::RECORDS, missing)));
    }
    match names.keys().find(|name| name::of_lane(name).is_some_and(|(_, lane)| lane >= lanes)) {
        Some(stray) => Err(BundleError::Name(stray.clone())),
        None => Ok(lanes),
    }
}
