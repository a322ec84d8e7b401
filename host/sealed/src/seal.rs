//! Seals the texts of streams while the session runs.

use crate::format::{Aead, CONTENT_MAX, Kdf, Kem, MAGIC, OpeningKind, Sender, StreamAt, info, place};
use crate::keys::PublicKey;
use hpke::{OpModeS, Serializable, setup_sender};
use portcullis_evidence::bundle::{InputLine, Receipt, SpanLine};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A part of a stream's data: a document or a line that a bundle with texts would contain.
#[derive(Clone, Copy, Debug)]
pub enum CommitmentOpening<'a> {
    /// The context document.
    Context(&'a [u8]),
    /// The anchor store that came with the stream, as JSON Lines.
    Store(&'a [u8]),
    /// A span with its salt.
    Span(&'a SpanLine),
    /// An input of the stream.
    Input(&'a InputLine),
    /// The receipt of a released span.
    Receipt(&'a Receipt),
}

/// A file of sealed texts of one session that is being written.
pub struct TextSealer {
    path: PathBuf,
    file: BufWriter<File>,
    key: PublicKey,
    ticket: [u8; 32],
    /// The streams that have not ended yet.
    open: BTreeMap<StreamAt, Sender>,
}

impl TextSealer {
    /// Creates the file at `path`, for the session with this ticket digest. Only the current user may read it.
    ///
    /// # Errors
    /// Errors of the system; also if the file exists.
    pub fn create(path: &Path, key: PublicKey, ticket: [u8; 32]) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mut file = BufWriter::new(file);
        file.write_all(&[MAGIC.as_slice(), &ticket, &key.id()].concat())?;
        file.flush()?;
        Ok(Self { path: path.to_owned(), file, key, ticket, open: BTreeMap::new() })
    }

    /// Adds an opening of the stream that began with record `begin` of `lane`.
    ///
    /// # Errors
    /// Errors of the system; also if the opening is too long.
    pub fn seal(&mut self, lane: u8, begin: u64, opening: CommitmentOpening<'_>) -> io::Result<()> {
        let at = (lane, begin);
        let (kind, content) = match opening {
            CommitmentOpening::Context(document) => (OpeningKind::Context, document.to_vec()),
            CommitmentOpening::Store(store) => (OpeningKind::Store, store.to_vec()),
            CommitmentOpening::Span(line) => (OpeningKind::Span, json(line)?),
            CommitmentOpening::Input(line) => (OpeningKind::Input, json(line)?),
            CommitmentOpening::Receipt(receipt) => (OpeningKind::Receipt, json(receipt)?),
        };
        if content.len() > CONTENT_MAX {
            let what = format!("a text of {} bytes is too long to be sealed", content.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let sender = match self.open.entry(at) {
            std::collections::btree_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                let (encapsulated, sender) =
                    setup_sender::<Aead, Kdf, Kem>(&OpModeS::Base, &self.key.0, &info(&self.ticket, at))
                        .map_err(io::Error::other)?;
                frame(&mut self.file, at, &encapsulated.to_bytes())?;
                new.insert(sender)
            }
        };
        let message = [&[kind as u8], content.as_slice()].concat();
        let sealed = sender.seal(&message, &[]).map_err(io::Error::other)?;
        frame(&mut self.file, at, &sealed)
    }

    /// Ends a stream, which must not get further openings.
    pub fn end(&mut self, lane: u8, begin: u64) {
        self.open.remove(&(lane, begin));
    }

    /// Passes all data to the system, so that it survives the end of this process.
    ///
    /// # Errors
    /// Those of the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Ends the file; when this returns, its content is on the disk.
    ///
    /// # Errors
    /// Those of the system.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }

    /// Removes the file, because the session did not begin.
    ///
    /// # Errors
    /// Those of the system.
    pub fn discard(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn json(line: &impl Serialize) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(line)?)
}

fn frame(file: &mut impl Write, at: StreamAt, rest: &[u8]) -> io::Result<()> {
    let place = place(at);
    let length = u32::try_from(place.len() + rest.len()).map_err(io::Error::other)?;
    file.write_all(&length.to_le_bytes())?;
    file.write_all(&place)?;
    file.write_all(rest)
}
