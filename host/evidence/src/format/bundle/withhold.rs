//! Removes the texts of streams from a bundle: spans, salts, receipts, inputs and context documents. The records stay,
//! so everything else still verifies. A signed statement names the removed texts and the reason.

use super::error::BundleError;
use super::files::DirectoryFiles;
use super::finish;
use super::folder::{self, FolderLock};
use super::line::{IndexedLine, IndexedLineReader};
use super::name;
use super::read::Bundle;
use super::staging::{self, Staging};
use crate::format::log::read;
use crate::format::note::{SignedNote, WitnessProof};
use crate::format::ticket::SessionTicket;
use crate::format::withholding::{StreamAt, Withholding, WithholdingTerms};
use ed25519_dalek::SigningKey;
use portcullis_core::wire::RecordType;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamChoice {
    Streams(BTreeSet<String>),
    AllBut(BTreeSet<String>),
    /// Streams whose records a witness had seen completely before this Unix second.
    Before(u64),
}

/// The signer and the reason of a removal.
#[derive(Clone, Copy, Debug)]
pub struct WithholdReason<'a> {
    /// Name of the signer, in one line.
    pub name: &'a str,
    /// The reason, in one line.
    pub reason: &'a str,
    pub key: &'a SigningKey,
    /// Whether to remove the ids of the streams too.
    pub names: bool,
}

/// Counts of what was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WithholdReport {
    pub streams: u64,
    pub lines: u64,
    pub contexts: u64,
}

/// Why no texts were removed; the bundle was not changed.
#[derive(Debug, thiserror::Error)]
pub enum WithholdError {
    #[error("no stream of the bundle is called `{0}`")]
    Unknown(String),
    #[error("the choice matches no stream of the bundle; nothing was taken out")]
    Nothing,
    /// Without a witness note, the times of the streams are unknown.
    #[error(
        "the bundle has no witness note, so the times of its streams are not known; choose them with --stream or --all-but"
    )]
    NoWitness,
    #[error("`--name` takes one line of 1 to 200 bytes, `--reason` one line of 1 to 4096 bytes")]
    WithholdReason,
    #[error("`ticket.cose`: {0}")]
    Ticket(#[from] crate::format::ticket::TicketError),
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

impl WithholdError {
    /// Whether the error is about the request or the system. Otherwise it is a result about the files.
    #[must_use]
    pub const fn is_operational(&self) -> bool {
        match self {
            Self::Bundle(error) => error.is_operational(),
            Self::Ticket(_) => false,
            Self::Unknown(_) | Self::Nothing | Self::NoWitness | Self::WithholdReason => true,
        }
    }
}

/// Writes a copy of the bundle in `from`, without the chosen texts, to the new folder `to`. The copy is made in the
/// folder `to` with the suffix `.part`; `mended` receives a line if a stopped command had left that folder, which is
/// then removed. Errors: [`WithholdError`]; the folder `to` does not exist then.
pub fn withhold(
    from: &Path,
    to: &Path,
    choice: &StreamChoice,
    reason: WithholdReason<'_>,
    mended: &mut dyn FnMut(String),
) -> Result<WithholdReport, WithholdError> {
    let at = to.to_string_lossy();
    let io = || BundleError::io(&at);
    if fs::symlink_metadata(to).is_ok() {
        return Err(io()(io::ErrorKind::AlreadyExists.into()).into());
    }
    let (done, copy) = copy(from, to, choice, reason, mended)?;
    copy.place(to).map_err(|error| {
        let _ = copy.remove();
        io()(error)
    })?;
    Ok(done)
}

/// Like [`withhold`], but replaces the bundle in `folder` and deletes the original. If the process is stopped, the
/// folder holds either the old bundle or the new one. The other one can remain beside it, with the suffix `.part`: the
/// next call, or [`finish`](super::finish()), removes it.
pub fn withhold_in_place(
    folder: &Path,
    choice: &StreamChoice,
    reason: WithholdReason<'_>,
    mended: &mut dyn FnMut(String),
) -> Result<WithholdReport, WithholdError> {
    let at = folder.to_string_lossy().into_owned();
    let io = || BundleError::io(&at);
    // The copy is made beside the folder. That needs the real path: a link or `.` has another parent or name.
    let folder = fs::canonicalize(folder)
        .map_err(|source| BundleError::Nothing { path: folder.to_owned(), what: source.to_string() })?;
    let _lock = FolderLock::take(&folder).map_err(io())?;
    let (done, copy) = copy(&folder, &folder, choice, reason, mended)?;
    copy.replace(&folder).map_err(io())?;
    Ok(done)
}

/// Makes a complete copy of the bundle in `from` without the chosen texts, for the place `target`.
fn copy(
    from: &Path,
    target: &Path,
    choice: &StreamChoice,
    reason: WithholdReason<'_>,
    mended: &mut dyn FnMut(String),
) -> Result<(WithholdReport, Staging), WithholdError> {
    let directory = DirectoryFiles::new(from);
    let bundle = Bundle::open(&directory)?;
    // What remains beside a bundle may be removed only if the bundle itself is whole.
    bundle.check_manifest()?;
    let ticket = bundle.read(name::TICKET)?;
    staging::clear(target, &ticket, false)?.into_iter().for_each(mended);
    let streams = streams(&bundle)?;
    let chosen = choose(&bundle, &streams, choice)?;
    let terms = WithholdingTerms {
        ticket: SessionTicket::parse(&ticket)?.digest,
        before: bundle.digest(name::MANIFEST)?,
        name: reason.name.to_owned(),
        reason: reason.reason.to_owned(),
        streams: chosen.clone(),
    };
    let statement = Withholding::sign(&terms, reason.key).ok_or(WithholdError::WithholdReason)?;
    let staging = Staging::create(target, &ticket)?;
    let to = staging.path();
    let copy = Copy { bundle: &bundle, from, to, streams: &streams, chosen: &chosen, names: reason.names };
    match copy.all(&statement).and_then(|done| folder::seal(to).map(|()| done)) {
        Ok(done) => Ok((done, staging)),
        Err(error) => {
            // An incomplete copy must not remain.
            let _ = staging.remove();
            Err(error.into())
        }
    }
}

#[derive(Default)]
struct WithholdableStream {
    id: Option<String>,
    context: [u8; 32],
    /// Log indices of the stream's records, BEGIN first.
    records: Vec<u64>,
    last: u64,
}

type Streams = BTreeMap<StreamAt, WithholdableStream>;

/// The streams of a bundle, with their records.
fn streams(bundle: &Bundle<'_>) -> Result<Streams, BundleError> {
    let mut streams = Streams::new();
    for lane in 0..bundle.lanes() {
        let mut log = bundle.records(lane)?;
        let mut names = bundle.streams(lane)?;
        let mut slots = BTreeMap::new();
        let mut index = 0;
        while let Some(record) = read(&mut log).map_err(BundleError::io(&name::in_lane(name::RECORDS, lane)))? {
            let slot = record.descriptor.slot.get();
            let kind = RecordType::try_from(record.answer.record_type).ok();
            if kind == Some(RecordType::Begin) {
                slots.insert(slot, index);
                let id = names.about(index)?.map(|line| line.id);
                let context = record.descriptor.commitment;
                streams.insert((lane, index), WithholdableStream { id, context, ..WithholdableStream::default() });
            }
            let about = matches!(
                kind,
                Some(
                    RecordType::Begin | RecordType::Verdict | RecordType::End | RecordType::Refused | RecordType::Note
                )
            );
            let stream = slots.get(&slot).filter(|_| about).and_then(|begin| streams.get_mut(&(lane, *begin)));
            if let Some(stream) = stream {
                stream.records.push(index);
                stream.last = index;
            }
            index += 1;
        }
    }
    Ok(streams)
}

fn choose(bundle: &Bundle<'_>, streams: &Streams, choice: &StreamChoice) -> Result<BTreeSet<StreamAt>, WithholdError> {
    if let StreamChoice::Streams(ids) | StreamChoice::AllBut(ids) = choice {
        let known: BTreeSet<_> = streams.values().filter_map(|known| known.id.as_ref()).collect();
        if let Some(unknown) = ids.iter().find(|id| !known.contains(id)) {
            return Err(WithholdError::Unknown(unknown.clone()));
        }
    }
    let seen = if let StreamChoice::Before(second) = choice { seen_before(bundle, *second)? } else { Vec::new() };
    let is_meant = |(lane, _): &StreamAt, known: &WithholdableStream| match choice {
        StreamChoice::Streams(ids) => known.id.as_ref().is_some_and(|id| ids.contains(id)),
        StreamChoice::AllBut(ids) => known.id.as_ref().is_none_or(|id| !ids.contains(id)),
        StreamChoice::Before(_) => seen.get(usize::from(*lane)).is_some_and(|size| known.last < *size),
    };
    let chosen: BTreeSet<_> = streams.iter().filter(|(at, known)| is_meant(at, known)).map(|(at, _)| *at).collect();
    if chosen.is_empty() { Err(WithholdError::Nothing) } else { Ok(chosen) }
}

/// Number of records of each lane under the last checkpoint whose note has a time before `second`.
fn seen_before(bundle: &Bundle<'_>, second: u64) -> Result<Vec<u64>, WithholdError> {
    let (mut sizes, mut witnessed) = (Vec::new(), false);
    let mut heads = bundle.heads()?;
    for serial in 0..bundle.checkpoints() {
        let heads = heads.as_mut().map(|heads| heads.read()).transpose()?;
        let note = name::witness(serial);
        if !bundle.has(&note) {
            continue;
        }
        witnessed = true;
        let proof = WitnessProof::parse(&bundle.read(&note)?).map_err(|error| BundleError::content(&note, error))?;
        let parsed = SignedNote::parse(&proof.note).map_err(|error| BundleError::content(&note, error))?;
        if parsed.claimed_time().is_none_or(|time| time >= second) {
            break;
        }
        let name = name::checkpoint(serial);
        let signed = crate::format::checkpoint::CoseCheckpoint::parse(&bundle.read(&name)?);
        let signed = signed.map_err(|error| BundleError::content(&name, error))?;
        sizes = heads.map_or_else(
            || vec![signed.checkpoint.wire.size.get()],
            |heads| heads.iter().map(|head| head.size.get()).collect(),
        );
    }
    if witnessed { Ok(sizes) } else { Err(WithholdError::NoWitness) }
}

/// Copies a bundle without the texts of some streams.
struct Copy<'a, 'b> {
    bundle: &'b Bundle<'a>,
    from: &'b Path,
    to: &'b Path,
    streams: &'b Streams,
    chosen: &'b BTreeSet<StreamAt>,
    names: bool,
}

impl Copy<'_, '_> {
    fn all(&self, statement: &[u8]) -> Result<WithholdReport, BundleError> {
        let mut done = WithholdReport { streams: self.chosen.len() as u64, ..WithholdReport::default() };
        let lines = [name::STREAMS, name::INPUTS, name::SPANS, name::RECEIPTS];
        let of_lines: BTreeSet<_> =
            (0..self.bundle.lanes()).flat_map(|lane| lines.map(|name| name::in_lane(name, lane))).collect();
        // A remaining stream can share a context document with a removed stream.
        let contexts = |meant: bool| {
            let streams = self.streams.iter().filter(move |(at, _)| self.chosen.contains(at) == meant);
            streams.map(|(_, known)| known.context).collect::<BTreeSet<_>>()
        };
        let gone: BTreeSet<_> = contexts(true).difference(&contexts(false)).map(name::context).collect();
        for name in self.bundle.names().keys() {
            if [name::MANIFEST, name::TICKET].contains(&&**name) || of_lines.contains(name) {
                continue;
            }
            if gone.contains(name) {
                done.contexts += 1;
                continue;
            }
            self.whole(name).map_err(BundleError::io(name))?;
        }
        for lane in 0..self.bundle.lanes() {
            if self.names {
                done.lines += self.lines(name::STREAMS, lane, self.bundle.streams(lane)?)?;
            } else {
                self.if_there(&name::in_lane(name::STREAMS, lane))?;
            }
            done.lines += self.lines(name::INPUTS, lane, self.bundle.inputs(lane)?)?;
            done.lines += self.lines(name::SPANS, lane, self.bundle.spans(lane)?)?;
            done.lines += self.lines(name::RECEIPTS, lane, self.bundle.receipts(lane)?)?;
        }
        let number = self.bundle.below("withheld/").count() as u64;
        let name = name::withheld(number);
        finish::replace(self.to, &name, statement).map_err(BundleError::io(&name))?;
        Ok(done)
    }

    fn whole(&self, name: &str) -> io::Result<()> {
        let mut to = folder::create_file(self.to, name)?;
        io::copy(&mut File::open(self.from.join(name))?, &mut to).map(|_| ())
    }

    fn if_there(&self, name: &str) -> Result<(), BundleError> {
        if self.bundle.has(name) { self.whole(name).map_err(BundleError::io(name)) } else { Ok(()) }
    }

    /// Copies the lines about the remaining streams. Returns how many lines were left out.
    fn lines<T>(&self, plain: &str, lane: u8, mut lines: IndexedLineReader<'_, T>) -> Result<u64, BundleError>
    where
        T: IndexedLine + DeserializeOwned + Serialize,
    {
        let name = name::in_lane(plain, lane);
        if !self.bundle.has(&name) {
            return Ok(0);
        }
        let chosen = self.streams.iter().filter(|(at, _)| at.0 == lane && self.chosen.contains(at));
        let records: BTreeSet<u64> = chosen.flat_map(|(_, known)| known.records.iter().copied()).collect();
        let mut to = BufWriter::new(folder::create_file(self.to, &name).map_err(BundleError::io(&name))?);
        let mut left_out = 0;
        while let Some(index) = lines.rest()? {
            let Some(line) = lines.about(index)? else { break };
            if records.contains(&index) {
                left_out += 1;
                continue;
            }
            let mut json = serde_json::to_vec(&line).map_err(|error| BundleError::content(&name, error))?;
            json.push(b'\n');
            to.write_all(&json).map_err(BundleError::io(&name))?;
        }
        to.flush().map_err(BundleError::io(&name))?;
        Ok(left_out)
    }
}
