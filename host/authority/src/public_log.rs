//! Writes the issuer's public log (`portcullis_evidence::public_log`), which any web server can serve.
//!
//! An event is in the log before the ticket leaves the issuer. So a store that was restored from an old backup, or a
//! standby server that lacks events, is behind the log, and the issuer refuses to start on this store.
//!
//! New tiles are on the disk before the checkpoint covers them; after a crash, the log is unchanged or longer. A
//! writer has the log locked only while it appends, so several issuers and other commands can use one log.
//!
//! If a policy demands cosignatures of witnesses ([`PublicLogWriter::demand`]), a new head is first written to `.next`,
//! then cosigned, and then published as `checkpoint`. What a witness has seen is therefore never given up: after a
//! crash, or if no quorum answers, the log goes on from `.next`.

mod cosigners;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosigners::Cosigners;
pub use cosigners::QuorumError;
use portcullis_evidence::note::{LogKey, LogTreeHead, NoteError, SignedNote};
pub(crate) use portcullis_evidence::public_log::PublicLogEntry;
use portcullis_evidence::public_log::{LogPolicy, TILE, tile_path};
use portcullis_evidence::signing::{SigningError, StatementKey};
use portcullis_evidence::ticket::ChainId;
use portcullis_evidence::tree::{Hash, MerkleTree};

use crate::keys::AuthorityKey;
use crate::store::{self, ChainEvent};

/// The published head of the log.
const CHECKPOINT: &str = "checkpoint";
/// The head of the log that witnesses are asked to cosign.
const NEXT: &str = ".next";
/// Longest wait while another process has the log locked.
const BUSY: Duration = Duration::from_secs(10);
/// Interval between two attempts to lock the log.
const RETRY: Duration = Duration::from_millis(2);

#[derive(Debug, thiserror::Error)]
pub enum PublicLogError {
    #[error("the public log: `{path}`: {error}")]
    Io { path: String, error: io::Error },
    #[error("the public log in `{0}` is in use")]
    Busy(String),
    #[error("the public log: `{path}` is damaged: {what}")]
    Damaged { path: String, what: &'static str },
    #[error("the checkpoint of the public log is not signed by this issuer")]
    Signature,
    #[error("a log cannot be called `{0}`")]
    Name(String),
    /// The store lacks an event of the log.
    #[error(
        "the store is behind the public log: it has not the event {place} of seat {seat} (session {serial}). It is an old \
         copy; bring back the newest one"
    )]
    Behind { seat: u16, place: u64, serial: u64 },
    /// Witnesses cosign the log, and this writer does not know them.
    #[error("witnesses cosign the public log: name them with `--log-policy`")]
    Cosigned,
    #[error("the policy of the public log: {0}")]
    Policy(String),
    /// Witnesses have seen more of this log than there is.
    #[error(
        "the public log is an old copy; bring back the newest one, with the files whose names begin with a dot: {0}"
    )]
    OldCopy(QuorumError),
    /// The events are in the log. They are published as soon as a quorum cosigns.
    #[error("the quorum of witnesses did not cosign the public log: {0}")]
    Quorum(QuorumError),
    #[error(transparent)]
    Signing(#[from] SigningError),
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> PublicLogError {
    let path = path.display().to_string();
    move |error| PublicLogError::Io { path, error }
}

fn damaged_at(path: &Path, what: &'static str) -> PublicLogError {
    PublicLogError::Damaged { path: path.display().to_string(), what }
}

/// The entry for an event at this place of its chain.
pub(crate) fn entry(event: &ChainEvent, place: u64, hash: Hash) -> PublicLogEntry {
    let ChainEvent { chain, serial, kind, ticket, .. } = *event;
    PublicLogEntry { chain, place, serial, kind, ticket, hash }
}

/// A log in a folder.
///
/// Several processes can write it. Each takes the lock for one append, and first reads what the others have appended.
pub(crate) struct PublicLogWriter {
    folder: PathBuf,
    log: LogKey,
    key: AuthorityKey,
    /// `None` if the log is published without witnesses.
    cosigners: Option<Cosigners>,
    contents: PublicLogContents,
    /// Number of entries under the published checkpoint, if it has the signatures that it needs.
    published: usize,
    /// Whether the witnesses have confirmed that this log is the newest.
    is_newest: bool,
}

/// The entries of a log, as of the last head that this process has read or written.
#[derive(Default)]
struct PublicLogContents {
    entries: Vec<PublicLogEntry>,
    /// The tree over the entries. Threads that ask slow witnesses can have it for a while.
    tree: Arc<MerkleTree>,
    /// For each chain, the head after its last event in the log.
    ends: BTreeMap<ChainId, store::ChainHead>,
}

/// A log that no other process can write meanwhile.
pub(crate) struct LockedLog<'a> {
    log: &'a mut PublicLogWriter,
    /// Keeps the lock until the value is dropped.
    _lock: File,
}

impl PublicLogWriter {
    /// The log in `folder`, which is made if it is not there. Errors: `name` cannot be the name of a log.
    pub(crate) fn new(folder: &Path, name: &str, key: AuthorityKey) -> Result<Self, PublicLogError> {
        let log = LogKey::new(name, key.verifying_key()).map_err(|_| PublicLogError::Name(name.to_owned()))?;
        fs::create_dir_all(folder).map_err(at(folder))?;
        let (folder, contents) = (folder.to_owned(), PublicLogContents::default());
        Ok(Self { folder, log, key, cosigners: None, contents, published: 0, is_newest: false })
    }

    /// The same log, which is published only with the cosignatures that `policy` demands. Errors: the policy lacks the
    /// URL of a witness.
    pub(crate) fn demand(mut self, policy: LogPolicy) -> Result<Self, PublicLogError> {
        self.cosigners = Some(Cosigners::new(policy, &self.log).map_err(PublicLogError::Policy)?);
        Ok(self)
    }

    /// Locks the log, and reads and checks what other processes have appended. Errors: another process has it locked
    /// too long; it is damaged; it belongs to another issuer; it does not continue the log that was read before.
    pub(crate) fn lock(&mut self) -> Result<LockedLog<'_>, PublicLogError> {
        let path = self.folder.join(".lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(at(&path))?;
        let begun = Instant::now();
        while lock.try_lock().is_err() {
            if begun.elapsed() > BUSY {
                return Err(PublicLogError::Busy(self.folder.display().to_string()));
            }
            std::thread::sleep(RETRY);
        }
        let known = self.contents.entries.len();
        if let Err(error) = self.read() {
            // Forget what no head covers. The next call then compares with the same log again.
            self.contents.shorten(known);
            return Err(error);
        }
        Ok(LockedLog { log: self, _lock: lock })
    }

    /// The head of a chain in the log, as of the last call of [`PublicLogWriter::lock`] or [`LockedLog::append`].
    pub(crate) fn end(&self, chain: ChainId) -> store::ChainHead {
        self.contents.ends.get(&chain).copied().unwrap_or(store::ChainHead::NEW)
    }

    /// The key by which readers check the log.
    pub(crate) const fn verifier_key(&self) -> &LogKey {
        &self.log
    }

    /// The error for a store that lacks an event of the log. `place` is the place of the event.
    pub(crate) fn behind(&self, chain: ChainId, place: u64) -> PublicLogError {
        let entry = self.contents.entries.iter().find(|entry| (entry.chain, entry.place) == (chain, place));
        PublicLogError::Behind { seat: chain.seat, place, serial: entry.map_or(0, |entry| entry.serial) }
    }

    /// The signed head of all entries.
    fn signed_head(&self) -> Result<String, PublicLogError> {
        let (size, origin) = (self.contents.tree.size(), self.log.name().to_owned());
        let head = LogTreeHead { origin, size, root: self.contents.tree.root(size).unwrap_or_default() };
        self.log.sign(&head.text(), &self.key).map_err(|error| match error {
            NoteError::Signing(error) => error.into(),
            _ => PublicLogError::Name(self.log.name().to_owned()),
        })
    }

    /// A signed head of the log on the disk, with its note; `None` if it is not there.
    fn read_head(&self, file: &str) -> Result<Option<(LogTreeHead, String)>, PublicLogError> {
        let path = self.folder.join(file);
        let damaged = |what| damaged_at(&path, what);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(at(&path))?,
        };
        let note = SignedNote::parse_head(&text).map_err(|_| damaged("it is no signed note"))?;
        let head = LogTreeHead::parse(note.text).map_err(|_| damaged("it is no head of a log"))?;
        if note.is_signed_by(&self.log) != Ok(true) || head.origin != self.log.name() {
            return Err(PublicLogError::Signature);
        }
        if self.cosigners.is_none() && note.signatures() > 1 {
            return Err(PublicLogError::Cosigned);
        }
        Ok(Some((head, text)))
    }

    /// Reads the entries that the newest head on the disk covers and that are not known yet, and checks the roots.
    fn read(&mut self) -> Result<(), PublicLogError> {
        let path = self.folder.join(CHECKPOINT);
        let damaged = |what| damaged_at(&path, what);
        let known = self.contents.entries.len();
        let (public, next) = (self.read_head(CHECKPOINT)?, self.read_head(NEXT)?);
        let size_of = |head: &Option<(LogTreeHead, String)>| head.as_ref().map_or(0, |(head, _)| head.size);
        if self.cosigners.is_none() && size_of(&next) > size_of(&public) {
            return Err(PublicLogError::Cosigned);
        }
        if public.is_none() && next.is_none() && known > 0 {
            return Err(damaged("it is not there any more"));
        }
        let sizes = [&public, &next].map(|head| usize::try_from(size_of(head)).unwrap_or(usize::MAX));
        let size = sizes.into_iter().max().unwrap_or_default();
        if size < known {
            return Err(damaged("it covers fewer entries than before"));
        }
        let tiles = if size == known { 0..0 } else { known / TILE..size.div_ceil(TILE) };
        for tile in tiles {
            let width = (size - tile * TILE).min(TILE);
            let path = self.folder.join(tile_path("entries", tile, width));
            let bytes = fs::read(&path).map_err(at(&path))?;
            let entries =
                PublicLogEntry::from_tile(&bytes).ok_or_else(|| damaged_at(&path, "an entry of another form"))?;
            if entries.len() != width {
                return Err(damaged_at(&path, "the number of its entries"));
            }
            for entry in entries.into_iter().skip(self.contents.entries.len() - tile * TILE) {
                if !self.contents.push(entry) {
                    return Err(damaged_at(&path, "an entry that does not follow the one before it in its chain"));
                }
            }
        }
        for (head, _) in [&public, &next].into_iter().flatten() {
            if self.contents.tree.root(head.size) != Some(head.root) {
                return Err(damaged("its root is not that of the entries"));
            }
        }
        self.published = match &public {
            Some((_, note)) if self.cosigners.as_ref().is_none_or(|cosigners| cosigners.has_quorum(note)) => sizes[0],
            _ => 0,
        };
        Ok(())
    }

    /// Writes the tiles that the log has beyond its first `old` entries. No head covers them yet.
    fn write_from(&self, mut old: usize) -> Result<(), PublicLogError> {
        let mut tiles = Vec::new();
        for (tile, own) in self.contents.entries.chunks(TILE).enumerate().skip(old / TILE) {
            tiles.push((self.folder.join(tile_path("entries", tile, own.len())), PublicLogEntry::to_tile(own)));
        }
        for (level, hashes) in self.contents.levels() {
            for (tile, own) in hashes.chunks(TILE).enumerate().skip(old / TILE) {
                let path = self.folder.join(tile_path(&level.to_string(), tile, own.len()));
                tiles.push((path, own.as_flattened().to_vec()));
            }
            old /= TILE;
        }
        self.write_tiles(&tiles)
    }

    /// Asks the witnesses, once, whether they have seen more of the log than there is. A log that is an old copy must
    /// not be signed with other entries than they have seen. Errors: [`PublicLogError::OldCopy`]; no quorum answers.
    fn confirm(&mut self) -> Result<(), PublicLogError> {
        if let Some(cosigners) = self.cosigners.as_ref().filter(|_| !self.is_newest) {
            cosigners.confirm(&self.signed_head()?, &self.contents.tree).map_err(|missing| match missing {
                missing if missing.is_ahead() => PublicLogError::OldCopy(missing),
                missing => PublicLogError::Quorum(missing),
            })?;
            self.is_newest = true;
        }
        Ok(())
    }

    /// Publishes the head of all entries, whose tiles are written: with cosignatures, if a policy demands them.
    fn publish(&mut self) -> Result<(), PublicLogError> {
        let mut note = self.signed_head()?;
        if let Some(cosigners) = &self.cosigners {
            self.write(NEXT, note.as_bytes())?;
            note = cosigners.collect(&note, &self.contents.tree).map_err(PublicLogError::Quorum)?;
        }
        self.write(CHECKPOINT, note.as_bytes())?;
        let old = std::mem::replace(&mut self.published, self.contents.entries.len());
        self.remove_partial_tiles(old);
        Ok(())
    }

    /// Removes the partial forms of the tiles that have become full since the log had `old` entries. No head covers
    /// them any more, so it does not matter if a removal fails.
    fn remove_partial_tiles(&self, mut old: usize) {
        let full = |old: usize, new: usize| old / TILE..new / TILE;
        let entries = full(old, self.contents.entries.len()).map(|tile| ("entries".to_owned(), tile));
        let mut tiles: Vec<(String, usize)> = entries.collect();
        for (level, hashes) in self.contents.levels() {
            tiles.extend(full(old, hashes.len()).map(|tile| (level.to_string(), tile)));
            old /= TILE;
        }
        for (level, tile) in tiles {
            let mut partial = self.folder.join(tile_path(&level, tile, TILE)).into_os_string();
            partial.push(".p");
            let _ = fs::remove_dir_all(partial);
        }
    }

    /// Writes tiles, and returns when they and their folders are on the disk. A tile that a head covers has this
    /// content already, and is left as it is. The disk is asked for all of them at the same time, which takes hardly
    /// longer than for one.
    fn write_tiles(&self, tiles: &[(PathBuf, Vec<u8>)]) -> Result<(), PublicLogError> {
        let (mut written, mut folders) = (Vec::new(), BTreeSet::new());
        for (path, bytes) in tiles {
            let folder = path.parent().unwrap_or(&self.folder);
            let file = if fs::read(path).is_ok_and(|known| known == *bytes) {
                File::open(path)
            } else {
                fs::create_dir_all(folder)
                    .and_then(|()| File::create(path))
                    .and_then(|mut file| file.write_all(bytes).map(|()| file))
            };
            let file = file.map_err(at(path))?;
            written.push((path.as_path(), file));
            folders.extend(folder.ancestors().take_while(|folder| folder.starts_with(&self.folder)));
        }
        for folder in folders {
            written.push((folder, File::open(folder).map_err(at(folder))?));
        }
        std::thread::scope(|scope| {
            let waits = written.iter().map(|(path, file)| scope.spawn(|| file.sync_all().map_err(at(path))));
            let waits: Vec<_> = waits.collect();
            waits.into_iter().try_for_each(|wait| match wait.join() {
                Ok(synced) => synced,
                Err(_) => Err(damaged_at(&self.folder, "a thread that waits for the disk has ended early")),
            })
        })
    }

    /// Writes a file of the folder under a temporary name, and renames it after all of it is on the disk.
    fn write(&self, file: &str, bytes: &[u8]) -> Result<(), PublicLogError> {
        let path = self.folder.join(file);
        let unfinished = self.folder.join(".unfinished");
        let written = File::create(&unfinished)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&unfinished, &path))
            .and_then(|()| File::open(&self.folder)?.sync_all());
        written.map_err(at(&path))
    }
}

impl LockedLog<'_> {
    /// The entries, in order.
    pub(crate) fn entries(&self) -> &[PublicLogEntry] {
        &self.log.contents.entries
    }

    /// The head of each chain in the log.
    pub(crate) fn ends(&self) -> &BTreeMap<ChainId, store::ChainHead> {
        &self.log.contents.ends
    }

    /// See [`PublicLogWriter::end`].
    pub(crate) fn end(&self, chain: ChainId) -> store::ChainHead {
        self.log.end(chain)
    }

    /// See [`PublicLogWriter::behind`].
    pub(crate) fn behind(&self, chain: ChainId, place: u64) -> PublicLogError {
        self.log.behind(chain, place)
    }

    /// Publishes the log again, with new cosignatures. Errors: as [`LockedLog::append`].
    pub(crate) fn refresh(&mut self) -> Result<(), PublicLogError> {
        match self.log.contents.entries.len() {
            0 => Ok(()),
            _ => self.log.publish(),
        }
    }

    /// Appends entries, and publishes all that is not published yet; the whole log is on the disk and has its
    /// signatures when it returns `Ok`. Errors: the log is an old copy; [`PublicLogError::Quorum`], after which the
    /// entries can be in the log and are not published; they could not be written, and the log is as it was; an entry
    /// does not follow the log's last entry of its chain.
    pub(crate) fn append(&mut self, entries: &[PublicLogEntry]) -> Result<(), PublicLogError> {
        let old = self.log.contents.entries.len();
        if entries.is_empty() {
            return if self.log.published == old { Ok(()) } else { self.log.publish() };
        }
        self.log.confirm()?;
        let contents = &mut self.log.contents;
        let written = if entries.iter().all(|entry| contents.push(*entry)) {
            self.log.write_from(old).and_then(|()| self.log.publish())
        } else {
            Err(damaged_at(&self.log.folder, "an event that does not follow it"))
        };
        if !matches!(written, Ok(()) | Err(PublicLogError::Quorum(_))) {
            self.log.contents.shorten(old);
        }
        written
    }
}

impl PublicLogContents {
    /// Appends an entry. Returns `false`, and changes nothing, if it is not the next of its chain.
    fn push(&mut self, entry: PublicLogEntry) -> bool {
        if self.ends.get(&entry.chain).map_or(0, |end| end.size) != entry.place {
            return false;
        }
        self.ends.insert(entry.chain, store::ChainHead { size: entry.place + 1, hash: entry.hash });
        self.entries.push(entry);
        Arc::make_mut(&mut self.tree).push(entry.leaf());
        true
    }

    /// Removes all entries but the first `size`.
    fn shorten(&mut self, size: usize) {
        self.entries.truncate(size);
        Arc::make_mut(&mut self.tree).truncate(size as u64);
        let end = |entry: &PublicLogEntry| (entry.chain, store::ChainHead { size: entry.place + 1, hash: entry.hash });
        self.ends = self.entries.iter().map(end).collect();
    }

    /// The hashes of the tiles, by level: at level 0 of each entry, at higher levels of each full tile of the level
    /// below.
    fn levels(&self) -> impl Iterator<Item = (usize, &[Hash])> {
        let levels = (0..).map(|level| (level, self.tree.level(level * TILE.ilog2() as usize)));
        levels.take_while(|(_, hashes)| !hashes.is_empty())
    }
}
