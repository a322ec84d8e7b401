//! Reads a bundle together with its sealed texts.

use crate::format::{
    Aead, CONTENT_MAX, FRAME_MAX, HEAD_BYTES, KEY_BYTES, Kdf, Kem, MAGIC, OpeningKind, PLACE_BYTES, Receiver, StreamAt,
    info,
};
use crate::keys::PrivateKey;
use hpke::{Deserializable, OpModeR, setup_receiver};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::bundle::{
    self, BundleError, BundleFiles, BundleManifest, INPUTS, MANIFEST, ManifestFile, RECEIPTS, SPANS, TICKET,
};
use portcullis_evidence::ticket::SessionTicket;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The path of a bundle's sealed texts: `NAME.sealed`, next to the bundle.
#[must_use]
pub fn beside(bundle: &Path) -> PathBuf {
    // Removes a `/` at the end of the path.
    let mut name = bundle.components().collect::<PathBuf>().into_os_string();
    name.push(OsString::from(".sealed"));
    name.into()
}

/// Whether a path has the name of a file of sealed texts.
#[must_use]
pub fn is_sealed_texts(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sealed") && path.is_file()
}

/// The files of a bundle together with the texts of a sealed file, which are kept in memory.
pub struct UnsealedFiles {
    files: Box<dyn BundleFiles>,
    /// The files from the sealed texts, and the manifest over all files.
    opened: BTreeMap<String, Vec<u8>>,
    report: UnsealReport,
}

/// Summary of a sealed file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnsealReport {
    /// Number of streams whose data was opened.
    pub streams: u64,
    /// Length in bytes of an incomplete frame at the end. The writer stopped early, or the file was shortened.
    pub torn: u64,
}

/// The data from a sealed file: documents by name, and lines by file and record.
#[derive(Default)]
struct UnsealedOpenings {
    documents: BTreeMap<String, Vec<u8>>,
    lines: BTreeMap<String, BTreeMap<u64, Vec<u8>>>,
}

impl UnsealedFiles {
    /// Opens the texts in the file `sealed` for the bundle in `files`.
    ///
    /// If the file ends inside a frame, the frames before it are used; the texts of later streams are missing.
    ///
    /// # Errors
    /// [`BundleError`]: `Io` if a file cannot be read, or the key does not fit the file; `Content` if the file belongs
    /// to another session, or was changed.
    pub fn open(files: Box<dyn BundleFiles>, sealed: &Path, key: &PrivateKey) -> Result<Self, BundleError> {
        let name = sealed.to_string_lossy().into_owned();
        let from = File::open(sealed).map_err(|source| BundleError::Io { name: name.clone(), source })?;
        let mut reader = FrameReader { name, from: BufReader::new(from), torn: 0 };
        let names = files.names()?;
        let ticket = read(&*files, &names, TICKET)?;
        let ticket = SessionTicket::parse(&ticket)
            .map_err(|error| BundleError::Content { name: TICKET.to_owned(), what: error.to_string() })?;
        reader.head(&ticket.digest, key)?;
        let mut openings = UnsealedOpenings::default();
        let streams = reader.all(&ticket.digest, key, &mut openings)?;
        let mut opened = openings.documents;
        for (name, lines) in openings.lines {
            opened.insert(name, lines.into_values().flatten().collect());
        }
        for (name, content) in &opened {
            let there = names.contains_key(name).then(|| read(&*files, &names, name)).transpose()?;
            if there.is_some_and(|there| there != *content) {
                let what = format!("the bundle has another `{name}`");
                return Err(BundleError::Content { name: reader.name, what });
            }
        }
        let report = UnsealReport { streams, torn: reader.torn };
        let manifest = manifest(&*files, &names, &opened)?;
        opened.extend(manifest.map(|manifest| (MANIFEST.to_owned(), manifest)));
        Ok(Self { files, opened, report })
    }

    #[must_use]
    pub const fn report(&self) -> UnsealReport {
        self.report
    }
}

impl BundleFiles for UnsealedFiles {
    fn names(&self) -> Result<BTreeMap<String, u64>, BundleError> {
        let mut names = self.files.names()?;
        names.extend(self.opened.iter().map(|(name, content)| (name.clone(), content.len() as u64)));
        Ok(names)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, BundleError> {
        match self.opened.get(name) {
            Some(content) => Ok(Box::new(content.as_slice())),
            None => self.files.open(name),
        }
    }
}

/// The bundle's manifest with the opened files added. The entries of the bundle's own files do not change.
fn manifest(
    files: &dyn BundleFiles,
    names: &BTreeMap<String, u64>,
    opened: &BTreeMap<String, Vec<u8>>,
) -> Result<Option<Vec<u8>>, BundleError> {
    if !names.contains_key(MANIFEST) {
        return Ok(None);
    }
    // An invalid manifest is left to the verifier, which reports it.
    let Ok(mut manifest) = serde_json::from_slice::<BundleManifest>(&read(files, names, MANIFEST)?) else {
        return Ok(None);
    };
    for (name, content) in opened.iter().filter(|(name, _)| !names.contains_key(*name)) {
        let sha256 = HexBytes(Sha256::digest(content).into());
        manifest.files.push(ManifestFile { path: name.clone(), size: content.len() as u64, sha256 });
    }
    manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    manifest.to_json().map(Some)
}

fn read(files: &dyn BundleFiles, names: &BTreeMap<String, u64>, name: &str) -> Result<Vec<u8>, BundleError> {
    let size = names.get(name).copied().ok_or_else(|| BundleError::Missing(name.to_owned()))?;
    let mut content = Vec::new();
    let read = files.open(name)?.take(size).read_to_end(&mut content);
    read.map_err(|source| BundleError::Io { name: name.to_owned(), source })?;
    Ok(content)
}

/// Reads the frames of a sealed file.
struct FrameReader<R> {
    name: String,
    from: R,
    torn: u64,
}

impl<R: Read> FrameReader<R> {
    fn wrong(&self, what: impl Into<String>) -> BundleError {
        BundleError::Content { name: self.name.clone(), what: what.into() }
    }

    /// Reads `length` bytes, or fewer if the file ends earlier.
    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, BundleError> {
        let mut bytes = Vec::new();
        let read = self.from.by_ref().take(length as u64).read_to_end(&mut bytes);
        read.map_err(|source| BundleError::Io { name: self.name.clone(), source })?;
        Ok(bytes)
    }

    /// Reads the head, and checks that it belongs to this session and this key.
    fn head(&mut self, ticket: &[u8; 32], key: &PrivateKey) -> Result<(), BundleError> {
        let head = self.bytes(HEAD_BYTES)?;
        let Some(rest) = head.strip_prefix(&MAGIC).filter(|_| head.len() == HEAD_BYTES) else {
            return Err(self.wrong("it does not begin as a file of sealed texts does"));
        };
        let (session, id) = rest.split_at(32);
        if session != ticket {
            return Err(self.wrong("it belongs to another session"));
        }
        if id != key.public.id() {
            let source = io::Error::new(io::ErrorKind::PermissionDenied, "it is sealed to another key");
            return Err(BundleError::Io { name: self.name.clone(), source });
        }
        Ok(())
    }

    /// The next frame; `None` at the end, or before an incomplete frame.
    fn frame(&mut self) -> Result<Option<(StreamAt, Vec<u8>)>, BundleError> {
        let length = self.bytes(4)?;
        let Ok(prefix) = <[u8; 4]>::try_from(length.as_slice()) else {
            self.torn = length.len() as u64;
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes(prefix)).unwrap_or(usize::MAX);
        if !(PLACE_BYTES..=FRAME_MAX).contains(&length) {
            return Err(self.wrong(format!("a frame has a length of {length} bytes")));
        }
        let frame = self.bytes(length)?;
        if frame.len() < length {
            self.torn = (prefix.len() + frame.len()) as u64;
            return Ok(None);
        }
        let (place, rest) = frame.split_at(PLACE_BYTES);
        let [lane, begin @ ..] = place else { return Err(self.wrong("a frame has no place")) };
        let begin = begin.try_into().map_err(|_| self.wrong("a frame has no place"))?;
        Ok(Some(((*lane, u64::from_le_bytes(begin)), rest.to_vec())))
    }

    /// Opens every frame. Returns the number of streams.
    fn all(&mut self, ticket: &[u8; 32], key: &PrivateKey, into: &mut UnsealedOpenings) -> Result<u64, BundleError> {
        let mut streams: BTreeMap<StreamAt, Receiver> = BTreeMap::new();
        let mut number = 0u64;
        while let Some((at, rest)) = self.frame()? {
            let not_sealed = |this: &Self| this.wrong(format!("frame {number} is not what was sealed"));
            match streams.entry(at) {
                Entry::Vacant(new) => {
                    let bytes = Some(rest.as_slice()).filter(|bytes| bytes.len() == KEY_BYTES);
                    let encapsulated = bytes.and_then(|bytes| <Kem as hpke::Kem>::EncappedKey::from_bytes(bytes).ok());
                    let receiver = encapsulated.and_then(|encapsulated| {
                        let info = info(ticket, at);
                        setup_receiver::<Aead, Kdf, Kem>(&OpModeR::Base, &key.secret, &encapsulated, &info).ok()
                    });
                    new.insert(receiver.ok_or_else(|| not_sealed(self))?);
                }
                Entry::Occupied(mut receiver) => {
                    let message = receiver.get_mut().open(&rest, &[]).map_err(|_| not_sealed(self))?;
                    let opened = into.add(at.0, &message).map_err(|what| self.wrong(format!("frame {number}: {what}")));
                    opened?;
                }
            }
            number += 1;
        }
        Ok(streams.len() as u64)
    }
}

impl UnsealedOpenings {
    /// Adds one message of a stream in `lane`.
    fn add(&mut self, lane: u8, message: &[u8]) -> Result<(), String> {
        let (kind, content) = message.split_first().ok_or("an empty message")?;
        let kind = OpeningKind::of(*kind).ok_or("an opening of an unknown kind")?;
        if content.len() > CONTENT_MAX {
            return Err("a message that is too long".into());
        }
        let digest = || <[u8; 32]>::from(Sha256::digest(content));
        let name = match kind {
            OpeningKind::Context => return self.document(bundle::context(&digest()), content),
            OpeningKind::Store => return self.document(bundle::anchor(&digest()), content),
            OpeningKind::Span => SPANS,
            OpeningKind::Input => INPUTS,
            OpeningKind::Receipt => RECEIPTS,
        };
        let index = serde_json::from_slice::<AnyLine>(content).map_err(|error| error.to_string())?.index;
        let mut line = content.to_vec();
        line.push(b'\n');
        match self.lines.entry(bundle::in_lane(name, lane)).or_default().insert(index, line) {
            None => Ok(()),
            Some(_) => Err(format!("a second line about record {index}")),
        }
    }

    fn document(&mut self, name: String, content: &[u8]) -> Result<(), String> {
        self.documents.insert(name, content.to_vec());
        Ok(())
    }
}

/// The field that every line has. The reader of the bundle checks the other fields.
#[derive(serde::Deserialize)]
struct AnyLine {
    index: u64,
}
