//! Where the files of a bundle come from, and the checked bundle over them.

use super::heads::Heads;
use super::line::{Indexed, Input, Lines, Receipt, Span, Stream};
use super::name::{self, cap};
use super::{BundleError, Manifest, SCHEMA};
use crate::checkpoint::LANES_MAX;
use portcullis_core::json;
use portcullis_core::wire::LaneHead;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Deepest folder in a bundle.
pub(super) const DEPTH_MAX: usize = 12;
const BUFFER: u64 = 1 << 18;

/// A set of files.
pub trait Files {
    /// Names, with `/` between their parts, and sizes in bytes.
    ///
    /// # Errors
    /// [`BundleError`]: `Io`, `Kind`, `Name`, `Size`.
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError>;

    /// A file's content from its start.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError>;
}

/// The files below a folder.
#[derive(Clone, Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// The files below `path`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn list(
        &self,
        folder: &Path,
        prefix: &str,
        depth: usize,
        into: &mut BTreeMap<String, u64>,
    ) -> Result<(), BundleError> {
        let at = folder.to_string_lossy();
        let before = into.len();
        for entry in fs::read_dir(folder).map_err(BundleError::io(&at))? {
            let entry = entry.map_err(BundleError::io(&at))?;
            let file_name = entry.file_name();
            let name = format!("{prefix}{}", file_name.to_string_lossy());
            if file_name.to_str().is_none() || depth > DEPTH_MAX || into.len() >= name::FILES_MAX {
                return Err(BundleError::Name(name));
            }
            if name::is_litter(&file_name.to_string_lossy()) {
                return Err(BundleError::Litter(name));
            }
            // Of the entry itself: a link is not followed.
            let about = entry.metadata().map_err(BundleError::io(&name))?;
            if about.is_dir() {
                self.list(&entry.path(), &format!("{name}/"), depth + 1, into)?;
            } else if about.is_file() {
                into.insert(name, about.len());
            } else {
                return Err(BundleError::Kind(name));
            }
        }
        // A folder is the name of the files in it.
        if into.len() == before && !prefix.is_empty() {
            return Err(BundleError::Name(prefix.to_owned()));
        }
        Ok(())
    }
}

impl Files for Directory {
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
        let nothing = |what: &str| BundleError::Nothing { path: self.0.clone(), what: what.to_owned() };
        match fs::metadata(&self.0) {
            Err(error) => return Err(nothing(&error.to_string())),
            Ok(about) if !about.is_dir() => return Err(nothing("it is not a folder")),
            Ok(_) => {}
        }
        let mut names = BTreeMap::new();
        self.list(&self.0, "", 0, &mut names)?;
        if names.is_empty() {
            return Err(nothing("the folder is empty"));
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
        let file = File::open(self.0.join(name)).map_err(BundleError::io(name))?;
        Ok(Box::new(file))
    }
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory(pub BTreeMap<String, Vec<u8>>);

impl Files for Memory {
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
        Ok(self.0.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect())
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let bytes = self.0.get(name).ok_or_else(missing).map_err(BundleError::io(name))?;
        Ok(Box::new(&**bytes))
    }
}

/// Files whose names and sizes are those of a bundle.
pub struct Bundle<'a> {
    files: &'a dyn Files,
    names: BTreeMap<String, u64>,
    checkpoints: u64,
    lanes: u8,
}

impl<'a> Bundle<'a> {
    /// The bundle in `files`. Content is not looked at.
    ///
    /// # Errors
    /// A name that no bundle has, a file over its cap, a file that is missing, or one of a lane that has no log.
    pub fn open(files: &'a dyn Files) -> Result<Self, BundleError> {
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
        let last = name::checkpoint(checkpoints.saturating_sub(1));
        // As many checkpoints as the last one's serial says: none is missing before it.
        let needed = [name::MANIFEST, name::TICKET, name::CERTIFICATE, name::CHAIN, name::IMAGE, &last];
        let missing = needed.iter().find(|name| !names.contains_key(**name));
        if let Some(missing) = missing {
            return Err(BundleError::Missing((*missing).to_owned()));
        }
        let heads = names.get(name::HEADS).copied();
        // The heads of one lane follow from its checkpoints: there is one form of a bundle.
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

    /// Number of lanes: 1, 2, 4 or 8. Whether they are the card's, its checkpoints tell.
    #[must_use]
    pub const fn lanes(&self) -> u8 {
        self.lanes
    }

    /// Names and sizes in bytes.
    #[must_use]
    pub const fn names(&self) -> &BTreeMap<String, u64> {
        &self.names
    }

    /// Number of checkpoints; their serials run from 0.
    #[must_use]
    pub const fn checkpoints(&self) -> u64 {
        self.checkpoints
    }

    /// Whether there is a file of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Names and the rest of them, of all files below a folder, which ends with `/`.
    pub fn below(&self, folder: &'a str) -> impl Iterator<Item = (&str, &str)> {
        self.names.keys().filter_map(move |name| Some((&**name, name.strip_prefix(folder)?)))
    }

    /// The file's content, to be streamed. A file that grew since it was listed is cut at its listed size.
    ///
    /// # Errors
    /// [`BundleError`]: `Missing`, `Io`.
    pub fn stream(&self, name: &str) -> Result<Box<dyn BufRead + 'a>, BundleError> {
        let size = self.names.get(name).ok_or_else(|| BundleError::Missing(name.to_owned()))?;
        Ok(buffered(self.files.open(name)?, *size))
    }

    /// The file's whole content. For the small ones.
    ///
    /// # Errors
    /// [`BundleError`]: `Missing`, `Io`.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, BundleError> {
        let size = self.names.get(name).ok_or_else(|| BundleError::Missing(name.to_owned()))?;
        let mut bytes = Vec::new();
        self.files.open(name)?.take(*size).read_to_end(&mut bytes).map_err(BundleError::io(name))?;
        Ok(bytes)
    }

    /// SHA-256 of a file.
    ///
    /// # Errors
    /// [`BundleError`]: `Missing`, `Io`.
    pub fn digest(&self, name: &str) -> Result<[u8; 32], BundleError> {
        digest(name, &mut *self.stream(name)?)
    }

    /// The lines of `streams.jsonl` of a lane.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn streams(&self, lane: u8) -> Result<Lines<'a, Stream>, BundleError> {
        self.lines(name::STREAMS, lane)
    }

    /// The lines of `inputs.jsonl` of a lane.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn inputs(&self, lane: u8) -> Result<Lines<'a, Input>, BundleError> {
        self.lines(name::INPUTS, lane)
    }

    /// The lines of `spans.jsonl` of a lane.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn spans(&self, lane: u8) -> Result<Lines<'a, Span>, BundleError> {
        self.lines(name::SPANS, lane)
    }

    /// The lines of `receipts.jsonl` of a lane.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn receipts(&self, lane: u8) -> Result<Lines<'a, Receipt>, BundleError> {
        self.lines(name::RECEIPTS, lane)
    }

    /// The log of a lane, to be streamed.
    ///
    /// # Errors
    /// [`BundleError`]: `Missing`, `Io`.
    pub fn records(&self, lane: u8) -> Result<Box<dyn BufRead + 'a>, BundleError> {
        self.stream(&name::in_lane(name::RECORDS, lane))
    }

    /// The heads under each checkpoint; `None` where there is one lane, whose head follows from the checkpoint.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn heads(&self) -> Result<Option<Heads<'a>>, BundleError> {
        if self.lanes == 1 {
            return Ok(None);
        }
        Ok(Some(Heads::new(self.stream(name::HEADS)?, self.lanes)))
    }

    fn lines<T: Indexed + DeserializeOwned>(&self, name: &str, lane: u8) -> Result<Lines<'a, T>, BundleError> {
        let name = name::in_lane(name, lane);
        let from = if self.has(&name) { Some(self.stream(&name)?) } else { None };
        Ok(Lines::new(name, from))
    }

    /// Compares every file with the manifest.
    ///
    /// # Errors
    /// A manifest that is not one, or that lists other files, sizes or digests.
    pub fn check_manifest(&self) -> Result<(), BundleError> {
        let wrong = |what: &str| BundleError::content(name::MANIFEST, what);
        let manifest: Manifest = json::from_slice(&self.read(name::MANIFEST)?)
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

/// The number of lanes that have a log. It is one that a card can have, and no other lane has lines.
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

/// At most `size` bytes of a file. Most files of a bundle are far smaller than the buffer of a large one.
pub(super) fn buffered<'a>(from: Box<dyn Read + 'a>, size: u64) -> Box<dyn BufRead + 'a> {
    let capacity = usize::try_from(size.clamp(1, BUFFER)).unwrap_or(1);
    Box::new(BufReader::with_capacity(capacity, from.take(size)))
}

/// SHA-256 of a file's content.
pub(super) fn digest(name: &str, from: &mut dyn BufRead) -> Result<[u8; 32], BundleError> {
    let mut hash = Sha256::new();
    loop {
        let bytes = from.fill_buf().map_err(BundleError::io(name))?;
        if bytes.is_empty() {
            return Ok(hash.finalize().into());
        }
        hash.update(bytes);
        let length = bytes.len();
        from.consume(length);
    }
}
