//! Writes a bundle into a new folder.
//!
//! The process can die, the disk can be full, and the power can fail at any moment. Therefore a file with a fixed
//! content gets its name only when it is complete, a growing file grows by whole units, and the manifest is written
//! last. A folder without a manifest is an unfinished bundle, which [`finish`](super::finish()) completes.

use super::disk::{Disk, GrowingFile};
use super::error::BundleError;
use super::finish::{self, FinishError, FinishReport};
use super::folder::{FOLDER_MODE, FolderLock, PART, create_file, fits, seal, sync, sync_folder};
use super::line::IndexedLine;
use super::name::{self, cap, line_max};
use serde::Serialize;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most bytes that the manifest needs per file; file names are short enough for this.
const LISTED: u64 = 512;

/// Writes a bundle. The bundle is complete once [`BundleWriter::finish`] has returned.
#[derive(Debug)]
pub struct BundleWriter {
    folder: PathBuf,
    disk: Arc<Disk>,
    files: AtomicU64,
    /// The lock on the folder, held until the writer is dropped.
    _lock: FolderLock,
}

impl BundleWriter {
    /// Creates a bundle in a new folder. Errors: [`BundleError::Io`], also if the folder exists.
    pub fn create(folder: impl Into<PathBuf>) -> Result<Self, BundleError> {
        let folder = folder.into();
        let new = DirBuilder::new().mode(FOLDER_MODE).create(&folder).and_then(|()| FolderLock::take(&folder));
        let lock = new.map_err(BundleError::io(&folder.to_string_lossy()))?;
        Ok(Self { folder, disk: Arc::default(), files: AtomicU64::new(0), _lock: lock })
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reserves `closing` bytes of the disk for the end of the session, besides the space for the manifest. Errors:
    /// [`BundleError::Io`]: the disk does not have enough space.
    pub fn reserve(&self, closing: u64) -> Result<(), BundleError> {
        let reserved = self.disk.reserve(&self.folder, closing, self.last(0));
        reserved.map_err(BundleError::io(&self.folder.to_string_lossy()))
    }

    /// Grows the space that is reserved for the files written last to `more` bytes, besides the manifest.
    pub fn keep(&self, more: u64) {
        self.disk.keep(self.last(more));
    }

    fn last(&self, more: u64) -> u64 {
        let listed = self.files.load(Ordering::Relaxed).saturating_mul(LISTED);
        // 32 KiB more, so that a few checkpoints can still follow.
        listed.saturating_add(more).saturating_add(1 << 15)
    }

    /// Whether the disk has been full. The reserve is then in use, and the session must be closed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.disk.is_full()
    }

    /// Creates a file that grows by whole units. Errors: [`BundleError`]: `Name` for an unknown name, `Io`.
    pub fn grow(&self, name: &str) -> Result<GrowingFile, BundleError> {
        let file = known(name).and_then(|()| self.create_file(name).map_err(BundleError::io(name)))?;
        Ok(GrowingFile::new(file, Arc::clone(&self.disk)))
    }

    /// Creates a file of JSON lines about records of `lane`. `name` is its name in lane 0. Errors: as
    /// [`BundleWriter::grow`].
    pub fn lines(&self, name: &str, lane: u8) -> Result<LineFile, BundleError> {
        let name = name::in_lane(name, lane);
        Ok(LineFile { file: self.grow(&name)?, name })
    }

    /// Writes a file, and replaces an existing one. Errors: as [`BundleWriter::grow`], and `Size` for content over the
    /// limit of the name.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<(), BundleError> {
        self.put_with(name, content, |_| Ok(()))
    }

    /// Like [`BundleWriter::put`], but the file is synced when this returns. Errors: as [`BundleWriter::put`].
    pub fn put_synced(&self, name: &str, content: &[u8]) -> Result<(), BundleError> {
        self.put_with(name, content, File::sync_all)?;
        sync_folder(&self.folder.join(name)).map_err(BundleError::io(name))
    }

    fn put_with(&self, name: &str, content: &[u8], then: impl Fn(&File) -> io::Result<()>) -> Result<(), BundleError> {
        known(name)?;
        fits(name, content.len() as u64)?;
        let part = format!("{name}{PART}");
        let written = self.disk.with_room(|| {
            // If this is the second attempt, the first attempt left an incomplete file on a full disk.
            let _ = fs::remove_file(self.folder.join(&part));
            let mut file = self.create_file(&part)?;
            file.write_all(content)?;
            then(&file)?;
            fs::rename(self.folder.join(&part), self.folder.join(name))
        });
        written.map_err(|source| {
            let _ = fs::remove_file(self.folder.join(&part));
            BundleError::Io { name: name.to_owned(), source }
        })?;
        self.files.fetch_add(1, Ordering::Relaxed);
        self.keep(0);
        Ok(())
    }

    /// Sorts the receipts of a lane by record. They were written in order of release.
    pub fn sort_receipts(&self, lane: u8) -> Result<(), BundleError> {
        let name = name::in_lane(name::RECEIPTS, lane);
        let file = File::open(self.folder.join(&name)).map_err(BundleError::io(&name))?;
        let sorted = finish::sorted_receipts(&name, file, u64::MAX)?;
        if !sorted.changed {
            return Ok(());
        }
        self.disk.give_all();
        self.put(&name, &sorted.content)
    }

    /// Syncs every file.
    pub fn sync(&self) -> Result<(), BundleError> {
        sync(&self.folder)
    }

    /// Writes the manifest, which lists every other file, and syncs the bundle.
    pub fn finish(self) -> Result<(), BundleError> {
        self.disk.give_all();
        seal(&self.folder)
    }

    /// As [`BundleWriter::finish`], for use after a write failed: completes the bundle as [`finish`](super::finish())
    /// does.
    pub fn mend(self) -> Result<FinishReport, FinishError> {
        self.disk.give_all();
        finish::complete(&self.folder, false)
    }

    /// Removes the whole folder, for a session that did not open.
    pub fn discard(self) -> Result<(), BundleError> {
        fs::remove_dir_all(&self.folder).map_err(BundleError::io(&self.folder.to_string_lossy()))
    }

    fn create_file(&self, name: &str) -> io::Result<File> {
        create_file(&self.folder, name)
    }
}

/// Accepts any file name of a bundle except the manifest's.
fn known(name: &str) -> Result<(), BundleError> {
    match cap(name) {
        Some(_) if name != name::MANIFEST => Ok(()),
        _ => Err(BundleError::Name(name.to_owned())),
    }
}

/// Writes a file of JSON lines. It refuses lines that a reader would refuse.
#[derive(Debug)]
pub struct LineFile {
    name: String,
    file: GrowingFile,
}

impl LineFile {
    /// Appends a line. Errors: [`BundleError`]: `Line` for a line over the limit, which is not written; `Content`,
    /// `Io`.
    pub fn push(&mut self, line: &(impl IndexedLine + Serialize)) -> Result<(), BundleError> {
        let mut json = serde_json::to_vec(line).map_err(|error| BundleError::content(&self.name, error))?;
        json.push(b'\n');
        let (name, bytes, cap) = (&self.name, json.len() as u64, line_max(&self.name));
        if bytes > cap {
            return Err(BundleError::Line { name: name.clone(), index: line.index(), bytes, cap });
        }
        self.file.push(&json).map_err(BundleError::io(name))
    }

    #[must_use]
    pub fn len(&self) -> u64 {
        self.file.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.file.is_empty()
    }

    /// Writes the buffered lines to the operating system.
    pub fn flush(&mut self) -> Result<(), BundleError> {
        self.file.flush().map_err(BundleError::io(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::DirectoryFiles;
    use super::super::line::{SpanLine, StreamLine};
    use super::super::read::Bundle;
    use super::*;
    use portcullis_core::hex::HexBytes;

    #[test]
    fn only_the_user_reads_a_bundle() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let writer = BundleWriter::create(folder.path().join("b")).unwrap();
        writer.put(&name::checkpoint(0), b"").unwrap();
        for (path, mode) in [("", 0o700), ("checkpoints", 0o700), ("checkpoints/00000000.cose", 0o600)] {
            let found = fs::metadata(writer.folder().join(path)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "{path}");
        }
    }

    /// The reader accepts the longest line that can be written. One byte more is refused, and nothing is written.
    #[test]
    fn writer_and_reader_agree_on_the_longest_line() {
        let folder = tempfile::tempdir().unwrap();
        let writer = BundleWriter::create(folder.path().join("b")).unwrap();
        let span = |length: usize| SpanLine {
            index: 3,
            salt: HexBytes([0; 16]),
            kind: Default::default(),
            held: String::new(),
            text: "a".repeat(length),
        };
        let stream = |length: usize| StreamLine { index: 3, stream: 0, id: "a".repeat(length) };
        let frame = |json: String| json.len() + 1;
        let longest = 64 << 20;
        let whole = longest - frame(serde_json::to_string(&span(0)).unwrap());
        let mut spans = writer.lines(name::SPANS, 0).unwrap();
        assert!(matches!(spans.push(&span(whole + 1)), Err(BundleError::Line { index: 3, .. })));
        spans.push(&span(whole)).unwrap();
        spans.flush().unwrap();
        let mut streams = writer.lines(name::STREAMS, 0).unwrap();
        let id = (1 << 20) - frame(serde_json::to_string(&stream(0)).unwrap());
        assert!(matches!(streams.push(&stream(id + 1)), Err(BundleError::Line { .. })));
        streams.push(&stream(id)).unwrap();
        streams.flush().unwrap();
        for needed in [name::TICKET, name::CERTIFICATE, name::CHAIN, name::IMAGE, name::RECORDS] {
            writer.put(needed, b"").unwrap();
        }
        writer.put(&name::checkpoint(0), b"").unwrap();
        let folder = writer.folder().to_owned();
        writer.finish().unwrap();
        let files = DirectoryFiles::new(folder);
        let bundle = Bundle::open(&files).unwrap();
        assert_eq!(bundle.spans(0).unwrap().about(3).unwrap().unwrap().text.len(), whole);
        assert_eq!(bundle.streams(0).unwrap().about(3).unwrap().unwrap().id.len(), id);
    }
}
