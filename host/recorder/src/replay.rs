//! Replay of a bundle: every descriptor and determination is made again from the texts and compared with the records, byte by byte.

use portcullis_core::manifest::MAPPING_VERSION;
use portcullis_core::releases;
use portcullis_core::wire::{Fault, ImageHeader, LAYOUT_VERSION, MAP_DIGEST, Opcode, Record, RecordType};
use portcullis_evidence::bundle::{self, Bundle, BundleError, Directory};
use portcullis_evidence::record;
use portcullis_evidence::verify::mapping_version;
use portcullis_gate::anchor::{Store, StoreError};
use portcullis_gate::replay::{Input, ReplayError, Replayed, Replayer};
use portcullis_mapping::{Mapper, MappingError};
use portcullis_policy::{Package, PolicyError};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use zerocopy::FromBytes;

/// Why a bundle cannot be replayed; it says nothing about the evidence.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bundle cannot be read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A log cannot be read.
    #[error("cannot read the log: {0}")]
    Log(#[from] std::io::Error),
    /// The bundle has no policy package.
    #[error("the bundle holds no policy package: nothing can be replayed")]
    NoPackage,
    /// Another version wrote the bundle.
    #[error("{0}")]
    Version(String),
    /// The policy package does not compile.
    #[error("the policy package")]
    Policy(#[source] PolicyError),
    /// The policy package has no mapping.
    #[error("the policy package")]
    Mapping(#[from] MappingError),
    /// An anchor store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record of a type that this program does not know.
    #[error("record {index}: {what}")]
    Record {
        /// Its log index.
        index: u64,
        /// What is wrong.
        what: String,
    },
    /// An input that this program does not know.
    #[error("what the stream at {0} was given: {1}")]
    Input(Begin, serde_json::Error),
    /// The replay itself failed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl From<PolicyError> for Error {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

/// A draw of streams.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// How many.
    pub streams: u64,
    /// What the sample is drawn with; whoever checks chooses it, after the bundle was handed over.
    pub seed: &'a str,
}

/// What came of a replay.
#[derive(Debug, Default, serde::Serialize)]
pub struct Outcome {
    /// Streams in the logs.
    pub streams: u64,
    /// Streams that replay.
    pub replayed: u64,
    /// Records that are what the replay gives.
    pub records: u64,
    /// Streams of which something is withheld.
    pub withheld: Vec<Begin>,
    /// Streams that a fault of the card ended.
    pub faulted: Vec<Begin>,
    /// Streams whose records are not what the replay gives.
    pub differences: Vec<Difference>,
}

/// Where a stream began: its BEGIN record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Begin {
    /// Lane.
    pub lane: u8,
    /// Log index in the lane.
    pub index: u64,
}

impl fmt::Display for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}", self.index)?;
        if self.lane == 0 { Ok(()) } else { write!(f, " of lane {}", self.lane) }
    }
}

/// A stream whose records are not what the replay gives.
#[derive(Debug, serde::Serialize)]
pub struct Difference {
    /// The stream.
    pub stream: Begin,
    /// What differs.
    pub why: String,
}

/// A stream on its way through the log.
struct Open {
    begin: Begin,
    records: Vec<Record>,
    input: Option<Input>,
    salts: BTreeMap<u32, [u8; 16]>,
    /// Whether a salt is missing.
    withheld: bool,
}

/// Replays the bundle in `folder`, or a sample of its streams. `progress` is called after each stream. `None` means that the policy package
/// does not compile to the table image that was in force.
///
/// # Errors
/// [`Error`].
pub fn replay(folder: &Path, drawn: Option<Sample<'_>>, progress: &mut dyn FnMut()) -> Result<Option<Outcome>, Error> {
    let files = Directory::new(folder);
    let bundle = Bundle::open(&files)?;
    let package = |(name, path): (&str, &str)| Ok((path.to_owned(), bundle.read(name)?));
    let sources = bundle.below(bundle::PACKAGE).map(package).collect::<Result<BTreeMap<_, _>, BundleError>>()?;
    if sources.is_empty() {
        return Err(Error::NoPackage);
    }
    same_version(&bundle)?;
    let package = Package::from_listed(sources)?;
    let compiled = package.compile()?;
    let mapper = Mapper::new(package.manifest(), package.files())?;
    if compiled.image.as_bytes() != bundle.read(bundle::IMAGE)? {
        return Ok(None);
    }
    let store = |(name, _): (&str, &str)| Store::open_json_lines(&folder.join(name));
    let stores = bundle.below("anchors/").map(store).collect::<Result<Vec<_>, _>>()?;
    let mut replayer = Replayer::new(&package, &compiled, &mapper, stores).map_err(ReplayError::from)?;
    let chosen = drawn.map(|drawn| draw(&bundle, drawn)).transpose()?;
    let mut walk = Walk { bundle: &bundle, replayer: &mut replayer, outcome: Outcome::default(), progress };
    for lane in 0..bundle.lanes() {
        walk.lane(lane, chosen.as_ref())?;
    }
    Ok(Some(walk.outcome))
}

/// What another version made, this one cannot make again: that says nothing about the bundle.
fn same_version(bundle: &Bundle<'_>) -> Result<(), Error> {
    let image = bundle.read(bundle::IMAGE)?;
    let Ok((header, _)) = ImageHeader::read_from_prefix(&image) else { return Ok(()) };
    let mapping = mapping_version(bundle, &header.package_digest)?.unwrap_or(MAPPING_VERSION);
    let what = if header.version != LAYOUT_VERSION || header.map_digest != MAP_DIGEST {
        "the tables are of another version's layout".to_owned()
    } else if mapping != MAPPING_VERSION {
        format!(
            "the policy was compiled by another version (mapping {mapping}, this program maps by version {MAPPING_VERSION})"
        )
    } else {
        return Ok(());
    };
    Err(Error::Version(format!("{what}; replay with {}", releases::replaying(mapping, &header.map_digest))))
}

/// The BEGIN records of the streams that are drawn: those whose digest with the seed comes first.
fn draw(bundle: &Bundle<'_>, sample: Sample<'_>) -> Result<BTreeSet<Begin>, Error> {
    let mut drawn = BTreeSet::new();
    for lane in 0..bundle.lanes() {
        let mut records = bundle.records(lane)?;
        let mut index = 0u64;
        while let Some(record) = record::read(&mut records)? {
            if record.answer.record_type == u8::from(RecordType::Begin) {
                let of_seed =
                    Sha256::new().chain_update(sample.seed).chain_update([0]).chain_update(index.to_le_bytes());
                let lot: [u8; 32] = if lane == 0 { of_seed } else { of_seed.chain_update([lane]) }.finalize().into();
                drawn.insert((lot, Begin { lane, index }));
                if drawn.len() as u64 > sample.streams {
                    drawn.pop_last();
                }
            }
            index += 1;
        }
    }
    Ok(drawn.into_iter().map(|(_, begin)| begin).collect())
}

struct Walk<'a, 'b> {
    bundle: &'a Bundle<'a>,
    replayer: &'a mut Replayer<'b>,
    outcome: Outcome,
    progress: &'a mut dyn FnMut(),
}

impl Walk<'_, '_> {
    /// Streams are pinned to a lane, in which a slot has one stream at a time.
    fn lane(&mut self, lane: u8, chosen: Option<&BTreeSet<Begin>>) -> Result<(), Error> {
        let mut records = self.bundle.records(lane)?;
        let (mut spans, mut inputs) = (self.bundle.spans(lane)?, self.bundle.inputs(lane)?);
        let mut open: BTreeMap<u16, Open> = BTreeMap::new();
        let mut index = 0u64;
        while let Some(record) = record::read(&mut records)? {
            let (input, span) = (inputs.about(index)?, spans.about(index)?);
            let kind = RecordType::try_from(record.answer.record_type);
            let kind = kind.map_err(|error| Error::Record { index, what: error.to_string() })?;
            let slot = record.descriptor.slot.get();
            match kind {
                RecordType::Begin => {
                    self.outcome.streams += 1;
                    let begin = Begin { lane, index };
                    if chosen.is_none_or(|chosen| chosen.contains(&begin)) {
                        let input = input.map(|line| serde_json::from_str(line.input.get())).transpose();
                        let input = input.map_err(|error| Error::Input(begin, error))?;
                        let records = vec![record];
                        let stream = Open { begin, records, input, salts: BTreeMap::new(), withheld: false };
                        if let Some(before) = open.insert(slot, stream) {
                            self.finish(before)?;
                        }
                    }
                }
                RecordType::Verdict | RecordType::Refused | RecordType::Note | RecordType::End => {
                    if let Some(stream) = open.get_mut(&slot) {
                        match span {
                            Some(span) => drop(stream.salts.insert(record.descriptor.sequence.get(), span.salt.0)),
                            None if record.descriptor.opcode == u8::from(Opcode::Note) => {}
                            None => stream.withheld |= record.answer.fault.get() == u16::from(Fault::None),
                        }
                        stream.records.push(record);
                    }
                    if kind == RecordType::End
                        && let Some(stream) = open.remove(&slot)
                    {
                        self.finish(stream)?;
                        (self.progress)();
                    }
                }
                RecordType::Open | RecordType::Heartbeat | RecordType::Close | RecordType::Alarm => {}
            }
            index += 1;
        }
        open.into_values().try_for_each(|stream| self.finish(stream))
    }

    fn finish(&mut self, stream: Open) -> Result<(), Error> {
        let Open { begin, records, input, salts, withheld } = stream;
        let context = records.first().map(|begin| bundle::context(&begin.descriptor.commitment)).unwrap_or_default();
        let (Some(input), false, true) = (input, withheld, self.bundle.has(&context)) else {
            self.outcome.withheld.push(begin);
            return Ok(());
        };
        match self.replayer.stream(&self.bundle.read(&context)?, input, salts, &records) {
            Ok(Replayed { records, fault }) => {
                self.outcome.records += records;
                match fault {
                    None => self.outcome.replayed += 1,
                    Some(_) => self.outcome.faulted.push(begin),
                }
            }
            Err(ReplayError::Anchors(_)) => self.outcome.withheld.push(begin),
            Err(error @ (ReplayError::Differs { .. } | ReplayError::Context(_) | ReplayError::Profile(_))) => {
                self.outcome.differences.push(Difference { stream: begin, why: error.to_string() });
            }
            Err(error @ (ReplayError::Card(_) | ReplayError::Version { .. } | ReplayError::Mode(_))) => {
                return Err(error.into());
            }
        }
        Ok(())
    }
}
