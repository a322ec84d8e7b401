//! Completes the bundle of a session that died: the process was killed, the disk was full, or the power failed.
//!
//! Completing keeps the longest run of checkpoints, from the first on, whose records are complete. It also keeps the
//! records after them that follow the rules of a log, and the lines about kept records. A crash can leave half a
//! record, half a line, or a line about a record that was not written; these are removed and reported. Nothing is
//! invented, so the bundle verifies as the bundle of a session that was not closed.

use super::disk::RESERVE;
use super::error::BundleError;
use super::files::{DEPTH_MAX, DirectoryFiles};
use super::folder::{self, FolderLock, PART};
use super::line::{IndexedLine, Receipt};
use super::manifest::BundleManifest;
use super::name::{self, cap, line_max};
use super::read::Bundle;
use super::staging;
use crate::format::checkpoint::{CoseCheckpoint, head, root_of_heads};
use crate::format::log::{LogChecker, LogEvent, read};
use crate::format::tree::{MerkleFrontier, leaf};
use portcullis_core::hex;
use portcullis_core::json;
use portcullis_core::wire::{ImageHeader, LaneHead, Record, RecordType};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use zerocopy::{FromBytes, IntoBytes};

/// The changes made to the bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinishReport {
    /// The bundle was finished before, so no file of it was changed.
    pub already: bool,
    /// Number of checkpoints kept.
    pub checkpoints: u64,
    /// Number of records kept, over all lanes.
    pub records: u64,
    /// Number of kept records that the last checkpoint covers.
    pub signed: u64,
    /// One line per file that was removed, cut or sorted, and about a folder that a stopped command left beside the
    /// bundle.
    pub mended: Vec<String>,
}

/// The reasons why a bundle cannot be completed. Nothing was changed, except with [`FinishError::Io`].
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    #[error("`{0}` is being written: a session runs there, or another `bundle finish`")]
    Busy(String),
    #[error(
        "the session ended before its card signed anything ({0}): nothing was judged or released, and there is no evidence to complete"
    )]
    NothingSigned(String),
    #[error(
        "the bundle was finished, and its files were changed afterwards: {0}. A crash does not do that, so nothing is mended; see `portcullis verify`"
    )]
    Sealed(BundleError),
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

impl FinishError {
    /// Whether the error is about the system. Otherwise it is a result about the files.
    #[must_use]
    pub const fn is_operational(&self) -> bool {
        match self {
            Self::Busy(_) => true,
            Self::Bundle(error) => error.is_operational(),
            Self::NothingSigned(_) | Self::Sealed(_) => false,
        }
    }
}

/// Completes the bundle in `folder`. With `dry`, it reports the changes without making them.
pub fn finish(folder: &Path, dry: bool) -> Result<FinishReport, FinishError> {
    let at = folder.to_string_lossy();
    let _lock = FolderLock::take(folder).map_err(|source| match source.kind() {
        io::ErrorKind::ResourceBusy => FinishError::Busy(at.to_string()),
        _ => BundleError::Nothing { path: folder.to_owned(), what: source.to_string() }.into(),
    })?;
    let mut done = complete(folder, dry)?;
    // An unfinished bundle was never copied: no command but this one takes it.
    if done.already {
        let ticket = fs::read(folder.join(name::TICKET)).map_err(BundleError::io(name::TICKET))?;
        let real = fs::canonicalize(folder).map_err(BundleError::io(&at))?;
        match staging::clear(&real, &ticket, dry) {
            // The bundle is finished, whatever the user keeps beside it.
            Err(BundleError::Foreign(_)) => {}
            cleared => done.mended.extend(cleared?),
        }
    }
    Ok(done)
}

/// Like [`finish`], for a caller that holds the lock.
pub(super) fn complete(folder: &Path, dry: bool) -> Result<FinishReport, FinishError> {
    let files = UnfinishedBundle::list(folder)?;
    if let Some(finished) = files.sealed()? {
        return Ok(finished);
    }
    let logs = files.logs()?;
    let mut plan = FinishPlan::default();
    files.leftovers(&mut plan);
    logs.plan(&files, &mut plan);
    files.torn(logs.checkpoints, &mut plan)?;
    for (lane, size) in (0..).zip(&logs.sizes) {
        files.lines(lane, *size, &mut plan)?;
    }
    if !dry {
        plan.carry_out(folder)?;
        folder::seal(folder)?;
    }
    let records = logs.sizes.iter().sum();
    let signed = logs.signed.iter().sum();
    let mended = plan.steps.into_iter().map(|step| step.why).collect();
    Ok(FinishReport { already: false, checkpoints: logs.checkpoints, records, signed, mended })
}

/// A change to one file, with its reason.
#[derive(Debug)]
struct FinishStep {
    file: String,
    change: FileRepair,
    why: String,
}

#[derive(Debug)]
enum FileRepair {
    Remove,
    /// Keeps only this many bytes.
    Cut(u64),
    Write(Vec<u8>),
}

#[derive(Debug, Default)]
struct FinishPlan {
    steps: Vec<FinishStep>,
    /// Folders to remove if they are empty, the deepest first.
    folders: Vec<String>,
}

impl FinishPlan {
    fn push(&mut self, file: &str, change: FileRepair, why: impl Into<String>) {
        self.steps.push(FinishStep { file: file.to_owned(), change, why: why.into() });
    }

    fn carry_out(&self, folder: &Path) -> Result<(), BundleError> {
        for FinishStep { file, change, .. } in &self.steps {
            let path = folder.join(file);
            let done = match change {
                FileRepair::Remove => fs::remove_file(&path),
                FileRepair::Cut(bytes) => OpenOptions::new().write(true).open(&path).and_then(|f| f.set_len(*bytes)),
                FileRepair::Write(content) => replace(folder, file, content),
            };
            done.map_err(BundleError::io(file))?;
        }
        for name in &self.folders {
            match fs::remove_dir(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                    return Err(BundleError::Io { name: name.clone(), source: error });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Replaces the content of a file atomically.
pub(super) fn replace(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let part = format!("{name}{PART}");
    match fs::remove_file(folder.join(&part)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = folder::create_file(folder, &part)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(folder.join(&part), folder.join(name))
}

/// The files of an unfinished bundle.
struct UnfinishedBundle<'a> {
    folder: &'a Path,
    names: BTreeMap<String, u64>,
    /// Temporary files that the writer had not renamed yet.
    parts: Vec<String>,
    /// Folders, the deepest first.
    folders: Vec<String>,
}

impl<'a> UnfinishedBundle<'a> {
    fn list(folder: &'a Path) -> Result<Self, FinishError> {
        let mut files = Self { folder, names: BTreeMap::new(), parts: Vec::new(), folders: Vec::new() };
        files.add(folder, "", 0)?;
        if files.names.is_empty() {
            let what = "the folder is empty".to_owned();
            return Err(BundleError::Nothing { path: folder.to_owned(), what }.into());
        }
        Ok(files)
    }

    fn add(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), BundleError> {
        let at = folder.to_string_lossy();
        for entry in fs::read_dir(folder).map_err(BundleError::io(&at))? {
            let entry = entry.map_err(BundleError::io(&at))?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let about = entry.metadata().map_err(BundleError::io(&name))?;
            let whole = name.strip_suffix(PART).unwrap_or(&name);
            if about.is_dir() && depth < DEPTH_MAX {
                self.add(&entry.path(), &format!("{name}/"), depth + 1)?;
                self.folders.push(name);
            } else if !about.is_file() {
                return Err(BundleError::Kind(name));
            } else if cap(&name).is_some() {
                self.names.insert(name, about.len());
            } else if cap(whole).is_some() || name == RESERVE {
                self.parts.push(name);
            } else {
                return Err(BundleError::Name(name));
            }
        }
        Ok(())
    }

    fn size(&self, name: &str) -> Option<u64> {
        self.names.get(name).copied()
    }

    fn open(&self, name: &str) -> Result<File, BundleError> {
        File::open(self.folder.join(name)).map_err(BundleError::io(name))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, BundleError> {
        fs::read(self.folder.join(name)).map_err(BundleError::io(name))
    }

    /// The counts of a bundle that is already finished; `None` if it is not finished.
    fn sealed(&self) -> Result<Option<FinishReport>, FinishError> {
        let Some(_) = self.size(name::MANIFEST) else { return Ok(None) };
        if json::from_slice::<BundleManifest>(&self.read(name::MANIFEST)?).is_err() {
            return Ok(None);
        }
        let directory = DirectoryFiles::new(self.folder);
        let checked = Bundle::open(&directory).and_then(|bundle| bundle.check_manifest().map(|()| bundle));
        match checked {
            Ok(bundle) => {
                let records = (0..bundle.lanes()).filter_map(|lane| self.size(&name::in_lane(name::RECORDS, lane)));
                let records = records.map(|size| size / Record::BYTES as u64).sum();
                let checkpoints = bundle.checkpoints();
                Ok(Some(FinishReport { already: true, checkpoints, records, ..FinishReport::default() }))
            }
            Err(error) if error.is_operational() => Err(error.into()),
            Err(error) => Err(FinishError::Sealed(error)),
        }
    }

    /// Reads the logs up to each checkpoint, and the records after the last checkpoint.
    fn logs(&self) -> Result<UnfinishedLogs, FinishError> {
        for needed in [name::TICKET, name::CERTIFICATE, name::CHAIN, name::IMAGE, name::RECORDS] {
            if self.size(needed).is_none() {
                return Err(FinishError::NothingSigned(format!("`{needed}` is missing")));
            }
        }
        let image = self.read(name::IMAGE)?;
        let rows = ImageHeader::read_from_prefix(&image).ok();
        let rows = rows.map_or((u16::MAX, u16::MAX), |(h, _)| (h.policy_rows.get(), h.entropy_rows.get()));
        let count = (0..crate::format::checkpoint::LANES_MAX)
            .take_while(|lane| self.size(&name::in_lane(name::RECORDS, *lane)).is_some())
            .count() as u8;
        let mut lanes = Vec::new();
        for number in 0..count {
            let log = BufReader::with_capacity(1 << 16, self.open(&name::in_lane(name::RECORDS, number))?);
            lanes.push(UnfinishedLane::new(log, rows, number, count));
        }
        let mut heads = (count > 1).then(|| self.open(name::HEADS).map(BufReader::new)).transpose()?;
        let (mut checkpoints, mut signed) = (0, vec![0; lanes.len()]);
        while self.size(&name::checkpoint(checkpoints)).is_some() {
            let Ok(message) = CoseCheckpoint::parse(&self.read(&name::checkpoint(checkpoints))?) else { break };
            let wire = &message.checkpoint.wire;
            let sizes = match &mut heads {
                None => vec![wire.size.get()],
                Some(from) => {
                    let mut heads = vec![LaneHead::ZERO; lanes.len()];
                    match from.read_exact(heads.as_mut_slice().as_mut_bytes()) {
                        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                        done => done.map_err(BundleError::io(name::HEADS))?,
                    }
                    heads.iter().map(|head| head.size.get()).collect()
                }
            };
            let mut there = true;
            for (lane, size) in lanes.iter_mut().zip(&sizes) {
                there &= lane.read_to(*size)?;
            }
            let found: Vec<_> = lanes.iter().map(UnfinishedLane::head).collect();
            if !there || root_of_heads(&found) != wire.root {
                break;
            }
            (checkpoints, signed) = (checkpoints + 1, sizes);
        }
        if checkpoints == 0 {
            return Err(FinishError::NothingSigned("no checkpoint with its records".to_owned()));
        }
        for (lane, signed) in lanes.iter_mut().zip(&signed) {
            lane.read_tail(*signed)?;
        }
        // Every lane records a heartbeat before the card accepts the next one, so no lane has two heartbeats more than
        // another. A file that has more was written further than the files of other lanes, and its surplus is cut.
        let beats = lanes.iter().map(|lane| lane.beats.len()).min().unwrap_or_default();
        let sizes = lanes.iter().zip(&signed).map(|(lane, signed)| {
            lane.beats.get(beats + 1).map_or(lane.good, |extra| lane.good.min(*extra)).max(*signed)
        });
        Ok(UnfinishedLogs { checkpoints, sizes: sizes.collect(), signed })
    }

    fn leftovers(&self, plan: &mut FinishPlan) {
        for part in &self.parts {
            plan.push(part, FileRepair::Remove, format!("`{part}` was not whole: removed"));
        }
        if self.size(name::MANIFEST).is_some() {
            plan.push(name::MANIFEST, FileRepair::Remove, "`manifest.json` was not whole: written anew");
        }
        if self.size(name::README).is_none() {
            plan.push(
                name::README,
                FileRepair::Write(folder::README_TEXT.as_bytes().to_vec()),
                "`README.md` was missing: written",
            );
        }
        plan.folders.clone_from(&self.folders);
    }

    /// Plans the removal of small files that a loss of power left empty or incomplete, and of files that belong to
    /// checkpoints that are not kept.
    fn torn(&self, checkpoints: u64, plan: &mut FinishPlan) -> Result<(), BundleError> {
        for (name, size) in &self.names {
            let Some((folder, file)) = name.split_once('/') else { continue };
            let serial = |suffix| name::serial(file, suffix);
            match folder {
                "checkpoints" if serial(".cose").is_none_or(|serial| serial >= checkpoints) => {
                    plan.push(name, FileRepair::Remove, format!("`{name}` signs records that are not there: removed"));
                }
                "witness" if *size == 0 || serial(".note").is_none_or(|serial| serial >= checkpoints) => {
                    plan.push(name, FileRepair::Remove, format!("`{name}` is of no checkpoint that is there: removed"));
                }
                "contexts" | "anchors" => {
                    let digest = file.strip_suffix(".json").unwrap_or(file);
                    let mut content = BufReader::new(self.open(name)?);
                    if hex::decode::<32>(digest) != Some(super::files::digest(name, &mut content)?) {
                        plan.push(name, FileRepair::Remove, format!("`{name}` was not whole: removed"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Plans the changes to the files of lines of `lane`, whose first `size` records are kept.
    fn lines(&self, lane: u8, size: u64, plan: &mut FinishPlan) -> Result<(), BundleError> {
        for plain in [name::STREAMS, name::INPUTS, name::SPANS] {
            let name = name::in_lane(plain, lane);
            let Some(bytes) = self.size(&name) else { continue };
            let (good, cut) = good_lines(&name, self.open(&name)?, size)?;
            if good < bytes {
                plan.push(&name, FileRepair::Cut(good), format!("`{name}` {cut}: cut after {good} of {bytes} bytes"));
            }
        }
        let name = name::in_lane(name::RECEIPTS, lane);
        let Some(bytes) = self.size(&name) else { return Ok(()) };
        let sorted = sorted_receipts(&name, self.open(&name)?, size)?;
        if sorted.changed || sorted.content.len() as u64 != bytes {
            let why = format!("`{name}`: {} receipts put in order", sorted.count);
            plan.push(&name, FileRepair::Write(sorted.content), why);
        }
        Ok(())
    }
}

struct UnfinishedLogs {
    checkpoints: u64,
    /// Number of records kept, by lane.
    sizes: Vec<u64>,
    /// Number of records under the last checkpoint, by lane.
    signed: Vec<u64>,
}

impl UnfinishedLogs {
    fn plan(&self, files: &UnfinishedBundle<'_>, plan: &mut FinishPlan) {
        let cut = |plan: &mut FinishPlan, name: &str, good: u64, what: &str| {
            if let Some(bytes) = files.size(name).filter(|bytes| *bytes > good) {
                plan.push(name, FileRepair::Cut(good), format!("`{name}` {what}: cut after {good} of {bytes} bytes"));
            }
        };
        for (lane, size) in (0..).zip(&self.sizes) {
            let name = name::in_lane(name::RECORDS, lane);
            cut(plan, &name, size.saturating_mul(Record::BYTES as u64), "ends with what is not a record");
        }
        let heads = self.checkpoints.saturating_mul((self.sizes.len() * LaneHead::BYTES) as u64);
        cut(plan, name::HEADS, heads, "has heads of a checkpoint that is not there");
    }
}

/// The log of a lane, and how far it has been read.
struct UnfinishedLane {
    log: BufReader<File>,
    number: u8,
    rules: LogChecker,
    tree: MerkleFrontier,
    beats: Vec<u64>,
    /// Number of records read that are complete and follow the rules.
    good: u64,
    broken: bool,
}

impl UnfinishedLane {
    fn new(log: BufReader<File>, rows: (u16, u16), number: u8, lanes: u8) -> Self {
        let rules = LogChecker::of_lane(rows, number, lanes);
        Self { log, number, rules, tree: MerkleFrontier::new(), beats: Vec::new(), good: 0, broken: false }
    }

    fn head(&self) -> LaneHead {
        head(self.number, self.tree.size(), self.tree.root())
    }

    fn next(&mut self) -> Result<Option<Record>, BundleError> {
        match read(&mut self.log) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            done => done.map_err(BundleError::io(&name::in_lane(name::RECORDS, self.number))),
        }
    }

    /// Reads until `size` records are read. Returns whether the log has that many.
    fn read_to(&mut self, size: u64) -> Result<bool, BundleError> {
        while self.tree.size() < size {
            let Some(record) = self.next()? else { return Ok(false) };
            self.take(&record);
        }
        Ok(true)
    }

    /// Adds a record, and checks it against the rules.
    fn take(&mut self, record: &Record) {
        let index = self.tree.size();
        self.tree.push(leaf(record.as_bytes()));
        self.broken = self.broken
            || match self.rules.next(record) {
                Ok(seen) => {
                    if matches!(seen, LogEvent::Session(RecordType::Heartbeat, _)) {
                        self.beats.push(index);
                    }
                    self.good = index + 1;
                    false
                }
                Err(_) => true,
            };
    }

    /// Reads the records after the first `signed` records, until a record breaks a rule.
    fn read_tail(&mut self, signed: u64) -> Result<(), BundleError> {
        while !self.broken {
            let Some(record) = self.next()? else { break };
            self.take(&record);
        }
        // Signed records are kept, even if they break a rule: the verifier reports that.
        self.good = self.good.max(signed);
        Ok(())
    }
}

/// The length in bytes of the leading valid lines, and why the next line is invalid. Valid lines are complete, in
/// order, and about one of the first `size` records.
fn good_lines(name: &str, file: File, size: u64) -> Result<(u64, &'static str), BundleError> {
    #[derive(Deserialize)]
    struct About {
        index: u64,
    }
    let mut from = BufReader::with_capacity(1 << 16, file);
    let (mut good, mut last) = (0, None);
    loop {
        let mut line = Vec::new();
        let read = from.by_ref().take(line_max(name)).read_until(b'\n', &mut line).map_err(BundleError::io(name))?;
        let about = serde_json::from_slice::<About>(&line).ok().filter(|_| line.ends_with(b"\n"));
        match about {
            None => return Ok((good, "ends within a line")),
            Some(about) if about.index >= size => return Ok((good, "goes on about records that are not there")),
            Some(about) if last.is_some_and(|last| last >= about.index) => {
                return Ok((good, "has a line out of order"));
            }
            Some(about) => last = Some(about.index),
        }
        good += read as u64;
    }
}

/// Receipts sorted by record.
pub(super) struct SortedReceipts {
    pub(super) content: Vec<u8>,
    count: usize,
    pub(super) changed: bool,
}

/// Sorts receipts by record, since they are written in order of release. Keeps those about the first `size` records.
pub(super) fn sorted_receipts(name: &str, file: File, size: u64) -> Result<SortedReceipts, BundleError> {
    let mut receipts = BTreeMap::new();
    let mut changed = false;
    let mut last = None;
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(BundleError::io(name))?;
        match Receipt::parse(&line) {
            Ok(receipt) if receipt.index() < size => {
                changed |= last.is_some_and(|last| last >= receipt.index());
                last = Some(receipt.index());
                receipts.insert(receipt.index(), line);
            }
            _ => changed = true,
        }
    }
    let mut content = Vec::new();
    for line in receipts.values() {
        content.extend_from_slice(line);
        content.push(b'\n');
    }
    Ok(SortedReceipts { content, count: receipts.len(), changed })
}
