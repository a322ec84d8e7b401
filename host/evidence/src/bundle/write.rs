//! Writes a bundle into a new folder.

use super::line::Indexed;
use super::name::{self, cap, line_max};
use super::{BundleError, Directory, Manifest};
use serde::Serialize;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A bundle holds texts and salts: only its user may read it.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A bundle that is being written. It is whole once [`Writer::finish`] returned.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
}

impl Writer {
    /// A bundle in a new folder.
    ///
    /// # Errors
    /// [`BundleError::Io`], a folder that exists already included.
    pub fn create(folder: impl Into<PathBuf>) -> Result<Self, BundleError> {
        let folder = folder.into();
        let new = DirBuilder::new().mode(FOLDER_MODE).create(&folder);
        new.map_err(BundleError::io(&folder.to_string_lossy()))?;
        Ok(Self { folder })
    }

    /// Folder of the bundle.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new file, to be streamed into.
    ///
    /// # Errors
    /// [`BundleError`]: `Name` for a name that no bundle has, `Io`.
    pub fn file(&self, name: &str) -> Result<BufWriter<File>, BundleError> {
        if cap(name).is_none() || name == name::MANIFEST {
            return Err(BundleError::Name(name.to_owned()));
        }
        self.create_file(name).map(BufWriter::new).map_err(BundleError::io(name))
    }

    /// A new file of JSON lines about records of `lane`, called `name` in lane 0.
    ///
    /// # Errors
    /// As [`Writer::file`].
    pub fn lines(&self, name: &str, lane: u8) -> Result<LineFile, BundleError> {
        let name = name::in_lane(name, lane);
        Ok(LineFile { file: self.file(&name)?, name })
    }

    /// A new file with this content.
    ///
    /// # Errors
    /// As [`Writer::file`], and `Size` for content that no bundle may hold under this name.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<(), BundleError> {
        fits(name, content.len() as u64)?;
        let mut file = self.file(name)?;
        file.write_all(content).and_then(|()| file.flush()).map_err(BundleError::io(name))
    }

    /// Writes the manifest over every file, and what was written to the disk.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn finish(self) -> Result<(), BundleError> {
        let manifest = Manifest::of(&Directory::new(&self.folder))?;
        for file in &manifest.files {
            fits(&file.path, file.size)?;
            let synced = File::open(self.folder.join(&file.path)).and_then(|file| file.sync_all());
            synced.map_err(BundleError::io(&file.path))?;
        }
        let json = manifest.to_json()?;
        let written = self.create_file(name::MANIFEST).and_then(|mut file| {
            file.write_all(&json)?;
            file.sync_all()
        });
        written.map_err(BundleError::io(name::MANIFEST))
    }

    fn create_file(&self, name: &str) -> io::Result<File> {
        let path = self.folder.join(name);
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        }
        OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
    }
}

/// A bundle that a verifier would refuse is not finished.
fn fits(name: &str, size: u64) -> Result<(), BundleError> {
    match cap(name) {
        Some(cap) if size > cap => Err(BundleError::Size { name: name.to_owned(), cap }),
        _ => Ok(()),
    }
}

/// A file of JSON lines that is being written. What a reader would refuse is not written.
#[derive(Debug)]
pub struct LineFile {
    name: String,
    file: BufWriter<File>,
}

impl LineFile {
    /// Adds a line.
    ///
    /// # Errors
    /// [`BundleError`]: `Line` for one that is too long, with nothing written; `Content`, `Io`.
    pub fn push(&mut self, line: &(impl Indexed + Serialize)) -> Result<(), BundleError> {
        let mut json = serde_json::to_vec(line).map_err(|error| BundleError::content(&self.name, error))?;
        json.push(b'\n');
        let (name, bytes, cap) = (&self.name, json.len() as u64, line_max(&self.name));
        if bytes > cap {
            return Err(BundleError::Line { name: name.clone(), index: line.index(), bytes, cap });
        }
        self.file.write_all(&json).map_err(BundleError::io(name))
    }

    /// Hands what was added to the system.
    ///
    /// # Errors
    /// [`BundleError::Io`].
    pub fn flush(&mut self) -> Result<(), BundleError> {
        self.file.flush().map_err(BundleError::io(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bundle, Span, Stream};
    use super::*;
    use crate::hex::Hex;

    #[test]
    fn only_the_user_reads_a_bundle() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::create(folder.path().join("b")).unwrap();
        writer.put(&name::checkpoint(0), b"").unwrap();
        for (path, mode) in [("", 0o700), ("checkpoints", 0o700), ("checkpoints/00000000.cose", 0o600)] {
            let found = std::fs::metadata(writer.folder().join(path)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "{path}");
        }
    }

    /// The longest line that is written is read, and one byte more is refused with nothing written.
    #[test]
    fn writer_and_reader_agree_on_the_longest_line() {
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::create(folder.path().join("b")).unwrap();
        let span = |length: usize| Span { index: 3, salt: Hex([0; 16]), held: String::new(), text: "a".repeat(length) };
        let stream = |length: usize| Stream { index: 3, stream: 0, id: "a".repeat(length) };
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
        let files = Directory::new(folder);
        let bundle = Bundle::open(&files).unwrap();
        assert_eq!(bundle.spans(0).unwrap().about(3).unwrap().unwrap().text.len(), whole);
        assert_eq!(bundle.streams(0).unwrap().about(3).unwrap().unwrap().id.len(), id);
    }
}
