//! The issuer's public log: every event, in a C2SP `tlog-tiles` log of static files that any web server can serve.
//!
//! ```text
//! checkpoint                 the signed head of the log (C2SP tlog-checkpoint, Ed25519)
//! tile/<level>/<tile>        256 hashes of RFC 9162's tree; a tile that is not full has the suffix .p/<hashes>
//! tile/entries/<tile>        the entries below a tile of level 0, each after its length
//! ```
//!
//! An entry has the hash of an event, not its body, because the body of a ticket names contexts and profiles. An event
//! is in the log before the ticket leaves the issuer. So a store that was restored from an old backup, or a standby
//! server that lacks events, is behind the log, and the issuer refuses to start on this store.
//!
//! New tiles are on the disk before the checkpoint covers them; after a crash, the log is unchanged or longer. A
//! writer has the log locked only while it appends, so several issuers and other commands can use one log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64ct::{Base64, Encoding};
use ed25519_dalek::Signature;
use portcullis_evidence::note::{Head, is_key_name, key_id};
use portcullis_evidence::signing::{SigningError, StatementKey};
use portcullis_evidence::ticket::Chain;
use portcullis_evidence::tree::{self, Frontier, Hash};

use crate::keys::Key;
use crate::store::{self, Event, Kind};

/// Number of hashes in a full tile.
const WIDTH: usize = 256;
/// Bytes of an entry.
const ENTRY: usize = 118;
/// Version of the entries.
const VERSION: u8 = 1;
/// The signature type of a log's own signature (C2SP signed-note).
const ED25519: u8 = 1;
/// Longest wait while another process has the log locked.
const BUSY: Duration = Duration::from_secs(5);
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

/// The entry of the log for one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) chain: Chain,
    /// Number of the event in the chain.
    pub(crate) place: u64,
    pub(crate) serial: u64,
    pub(crate) kind: Kind,
    /// Digest of the session's ticket.
    pub(crate) ticket: Hash,
    /// Hash of the event.
    pub(crate) hash: Hash,
}

impl Entry {
    pub(crate) fn of(event: &Event, place: u64, hash: Hash) -> Self {
        let Event { chain, serial, kind, ticket, .. } = *event;
        Self { chain, place, serial, kind, ticket, hash }
    }

    fn to_bytes(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        let parts: [&[u8]; 8] = [
            &[VERSION],
            &self.chain.key,
            &u32::from(self.chain.seat).to_be_bytes(),
            &self.place.to_be_bytes(),
            &self.serial.to_be_bytes(),
            &[self.kind as u8],
            &self.ticket,
            &self.hash,
        ];
        bytes.iter_mut().zip(parts.concat()).for_each(|(to, from)| *to = from);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (seat, rest) = rest.split_first_chunk()?;
        let (place, rest) = rest.split_first_chunk()?;
        let (serial, rest) = rest.split_first_chunk()?;
        let (kind, rest) = rest.split_first()?;
        let (ticket, hash) = rest.split_first_chunk()?;
        let seat = u16::try_from(u32::from_be_bytes(*seat)).ok()?;
        let entry = Self {
            chain: Chain { key: *key, seat },
            place: u64::from_be_bytes(*place),
            serial: u64::from_be_bytes(*serial),
            kind: Kind::of(i64::from(*kind)).ok()?,
            ticket: *ticket,
            hash: hash.try_into().ok()?,
        };
        (*version == VERSION).then_some(entry)
    }
}

/// A log in a folder.
///
/// Several processes can write it. Each takes the lock for one append, and first reads what the others have appended.
pub(crate) struct PublicLog {
    folder: PathBuf,
    name: String,
    key: Key,
    contents: Contents,
}

/// The entries of a log, as of the last checkpoint that this process has read or written.
#[derive(Default)]
struct Contents {
    entries: Vec<Entry>,
    tree: Frontier,
    /// The hashes of each level: at level 0 of each entry, at higher levels of each full tile of the level below.
    levels: Vec<Vec<Hash>>,
    /// For each chain, the head after its last event in the log.
    ends: BTreeMap<Chain, store::Head>,
}

/// A log that no other process can write meanwhile.
pub(crate) struct LockedLog<'a> {
    log: &'a mut PublicLog,
    /// Keeps the lock until the value is dropped.
    _lock: File,
}

impl PublicLog {
    /// The log in `folder`, which is made if it is not there. Errors: `name` cannot be the name of a log.
    pub(crate) fn new(folder: &Path, name: &str, key: Key) -> Result<Self, PublicLogError> {
        if !is_key_name(name) {
            return Err(PublicLogError::Name(name.to_owned()));
        }
        fs::create_dir_all(folder).map_err(at(folder))?;
        Ok(Self { folder: folder.to_owned(), name: name.to_owned(), key, contents: Contents::default() })
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
            // Forget what no checkpoint covers. The next call then compares with the same log again.
            self.contents.shorten(known);
            return Err(error);
        }
        Ok(LockedLog { log: self, _lock: lock })
    }

    /// The head of a chain in the log, as of the last call of [`PublicLog::lock`] or [`LockedLog::append`].
    pub(crate) fn end(&self, chain: Chain) -> store::Head {
        self.contents.ends.get(&chain).copied().unwrap_or(store::Head::NEW)
    }

    /// The key by which readers check the log (C2SP signed-note).
    pub(crate) fn verifier_key(&self) -> String {
        let public = self.key.verifying_key().to_bytes();
        let id = u32::from_be_bytes(key_id(&self.name, ED25519, &public));
        let key = [&[ED25519][..], &public].concat();
        format!("{}+{id:08x}+{}", self.name, Base64::encode_string(&key))
    }

    /// The error for a store that lacks an event of the log. `place` is the place of the event.
    pub(crate) fn behind(&self, chain: Chain, place: u64) -> PublicLogError {
        let entry = self.contents.entries.iter().find(|entry| (entry.chain, entry.place) == (chain, place));
        PublicLogError::Behind { seat: chain.seat, place, serial: entry.map_or(0, |entry| entry.serial) }
    }

    /// The signed head of the log.
    fn checkpoint(&self) -> Result<String, SigningError> {
        let Contents { entries, tree, .. } = &self.contents;
        let head = Head { origin: self.name.clone(), size: entries.len() as u64, root: tree.root() };
        let text = head.text();
        let id = key_id(&self.name, ED25519, self.key.verifying_key().as_bytes());
        let signature = [&id[..], &self.key.signature(text.as_bytes())?.to_bytes()].concat();
        Ok(format!("{text}\n\u{2014} {} {}\n", self.name, Base64::encode_string(&signature)))
    }

    /// The head of the log on the disk; `None` if there is no log yet.
    fn read_head(&self) -> Result<Option<Head>, PublicLogError> {
        let path = self.folder.join("checkpoint");
        let damaged = |what| damaged_at(&path, what);
        let note = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            note => note.map_err(at(&path))?,
        };
        let (text, signature) = note.split_once("\n\n").ok_or_else(|| damaged("it is no signed note"))?;
        let text = format!("{text}\n");
        let head = Head::parse(&text).map_err(|_| damaged("it is no head of a log"))?;
        let signature = signature.strip_prefix(&format!("\u{2014} {} ", self.name)).and_then(|s| s.strip_suffix('\n'));
        let signature = signature.and_then(|line| Base64::decode_vec(line).ok()).ok_or(PublicLogError::Signature)?;
        let id = key_id(&self.name, ED25519, self.key.verifying_key().as_bytes());
        let signature = signature.strip_prefix(&id[..]).and_then(|bytes| Signature::from_slice(bytes).ok());
        let signed = signature
            .is_some_and(|signature| self.key.verifying_key().verify_strict(text.as_bytes(), &signature).is_ok());
        if !signed || head.origin != self.name {
            return Err(PublicLogError::Signature);
        }
        Ok(Some(head))
    }

    /// Reads the entries that the checkpoint on the disk covers and that are not known yet, and checks the root.
    fn read(&mut self) -> Result<(), PublicLogError> {
        let path = self.folder.join("checkpoint");
        let damaged = |what| damaged_at(&path, what);
        let known = self.contents.entries.len();
        let Some(head) = self.read_head()? else {
            return if known == 0 { Ok(()) } else { Err(damaged("it is not there any more")) };
        };
        let size = usize::try_from(head.size).map_err(|_| damaged("it is too long"))?;
        if size < known {
            return Err(damaged("it covers fewer entries than before"));
        }
        let tiles = if size == known { 0..0 } else { known / WIDTH..size.div_ceil(WIDTH) };
        for tile in tiles {
            let width = (size - tile * WIDTH).min(WIDTH);
            let path = self.tile("entries", tile, width);
            let bytes = fs::read(&path).map_err(at(&path))?;
            let entries = bytes.chunks(2 + ENTRY);
            if entries.len() != width {
                return Err(damaged_at(&path, "the number of its entries"));
            }
            for entry in entries.skip(self.contents.entries.len() - tile * WIDTH) {
                let entry = entry.strip_prefix(&(ENTRY as u16).to_be_bytes()).and_then(Entry::parse);
                let entry = entry.ok_or_else(|| damaged_at(&path, "an entry of another form"))?;
                if !self.contents.push(entry) {
                    return Err(damaged_at(&path, "an entry that does not follow the one before it in its chain"));
                }
            }
        }
        if self.contents.tree.root() == head.root {
            Ok(())
        } else {
            Err(damaged("its root is not that of the entries"))
        }
    }

    /// Writes what the log has beyond its first `published` entries, and the checkpoint over it.
    fn write_from(&self, mut published: usize) -> Result<(), PublicLogError> {
        let (mut full, mut tiles) = (Vec::new(), Vec::new());
        let mut add_tile = |level: &str, tile: usize, width: usize, bytes: &[u8]| {
            let path = self.tile(level, tile, width);
            if width == WIDTH {
                full.push(path.clone());
            }
            tiles.push((path, bytes.to_vec()));
        };
        for (tile, own) in self.contents.entries.chunks(WIDTH).enumerate().skip(published / WIDTH) {
            let length = (ENTRY as u16).to_be_bytes();
            let bundle = own.iter().flat_map(|entry| length.into_iter().chain(entry.to_bytes()));
            add_tile("entries", tile, own.len(), &bundle.collect::<Vec<_>>());
        }
        for (level, hashes) in self.contents.levels.iter().enumerate() {
            for (tile, own) in hashes.chunks(WIDTH).enumerate().skip(published / WIDTH) {
                add_tile(&level.to_string(), tile, own.len(), own.as_flattened());
            }
            published /= WIDTH;
        }
        self.write_tiles(&tiles)?;
        self.write(&self.folder.join("checkpoint"), self.checkpoint()?.as_bytes())?;
        for tile in full {
            // No checkpoint covers the earlier, partial tile any more, so it does not matter if its removal fails.
            let mut partial = tile.into_os_string();
            partial.push(".p");
            let _ = fs::remove_dir_all(partial);
        }
        Ok(())
    }

    /// The path of a tile. Its number is split into groups of three digits, each a part of the path; all but the last
    /// begin with `x`.
    fn tile(&self, level: &str, number: usize, width: usize) -> PathBuf {
        let mut digits = vec![format!("{:03}", number % 1_000)];
        let mut rest = number / 1_000;
        while rest > 0 {
            digits.insert(0, format!("x{:03}", rest % 1_000));
            rest /= 1_000;
        }
        let mut path = self.folder.join("tile").join(level);
        path.extend(digits);
        if width == WIDTH {
            return path;
        }
        path.as_mut_os_string().push(".p");
        path.join(width.to_string())
    }

    /// Writes tiles that no checkpoint covers yet, and returns when they and their folders are on the disk. The disk is
    /// asked for all of them at the same time, which takes hardly longer than for one.
    fn write_tiles(&self, tiles: &[(PathBuf, Vec<u8>)]) -> Result<(), PublicLogError> {
        let (mut written, mut folders) = (Vec::new(), BTreeSet::new());
        for (path, bytes) in tiles {
            let folder = path.parent().unwrap_or(&self.folder);
            let file = fs::create_dir_all(folder)
                .and_then(|()| File::create(path))
                .and_then(|mut file| file.write_all(bytes).map(|()| file))
                .map_err(at(path))?;
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

    /// Writes a file under a temporary name, and renames it after all of it is on the disk.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), PublicLogError> {
        let folder = path.parent().unwrap_or(&self.folder);
        let unfinished = self.folder.join(".unfinished");
        let written = fs::create_dir_all(folder)
            .and_then(|()| File::create(&unfinished))
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&unfinished, path))
            .and_then(|()| File::open(folder)?.sync_all());
        written.map_err(at(path))
    }
}

impl LockedLog<'_> {
    /// The entries, in order.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.log.contents.entries
    }

    /// The head of each chain in the log.
    pub(crate) fn ends(&self) -> &BTreeMap<Chain, store::Head> {
        &self.log.contents.ends
    }

    /// See [`PublicLog::end`].
    pub(crate) fn end(&self, chain: Chain) -> store::Head {
        self.log.end(chain)
    }

    /// See [`PublicLog::behind`].
    pub(crate) fn behind(&self, chain: Chain, place: u64) -> PublicLogError {
        self.log.behind(chain, place)
    }

    /// Appends entries; they are on the disk when it returns `Ok`. Errors: they could not be written, and the log is
    /// as it was; an entry does not follow the log's last entry of its chain.
    pub(crate) fn append(&mut self, entries: &[Entry]) -> Result<(), PublicLogError> {
        if entries.is_empty() {
            return Ok(());
        }
        let contents = &mut self.log.contents;
        let published = contents.entries.len();
        let written = if entries.iter().all(|entry| contents.push(*entry)) {
            self.log.write_from(published)
        } else {
            Err(damaged_at(&self.log.folder, "an event that does not follow it"))
        };
        if written.is_err() {
            self.log.contents.shorten(published);
        }
        written
    }
}

impl Contents {
    /// Appends an entry. Returns `false`, and changes nothing, if it is not the next of its chain.
    fn push(&mut self, entry: Entry) -> bool {
        if self.ends.get(&entry.chain).map_or(0, |end| end.size) != entry.place {
            return false;
        }
        self.ends.insert(entry.chain, store::Head { size: entry.place + 1, hash: entry.hash });
        self.entries.push(entry);
        let mut hash = tree::leaf(&entry.to_bytes());
        self.tree.push(hash);
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let Some(hashes) = self.levels.get_mut(level) else { break };
            hashes.push(hash);
            if !hashes.len().is_multiple_of(WIDTH) {
                break;
            }
            let tile = hashes.len() - WIDTH;
            hash = tree::root(hashes.get(tile..).unwrap_or_default().iter().copied());
        }
        true
    }

    /// Removes all entries but the first `size`. The trees cannot be shortened, so they are made again; this happens
    /// only after an error.
    fn shorten(&mut self, size: usize) {
        if size < self.entries.len() {
            let kept = std::mem::take(self).entries;
            kept.into_iter().take(size).for_each(|entry| {
                let _ = self.push(entry);
            });
        }
    }
}
