//! Replays a bundle: computes every descriptor and determination again from the texts, and compares them with the
//! records byte by byte.

mod earlier;
mod report;

pub use earlier::EarlierBundles;
pub use report::ReplayReport;

use crate::AuditError;
use portcullis_core::context::{ContextDocument, ContextDocumentError};
use portcullis_core::hex::HexBytes;
use portcullis_core::manifest::MAPPING_VERSION;
use portcullis_core::releases;
use portcullis_core::wire::{
    Fault, IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, MAP_DIGEST, Opcode, Record, RecordType, image_parts,
};
use portcullis_evidence::bundle::{self, Bundle, BundleError, SnapshotFiles};
use portcullis_evidence::log;
use portcullis_evidence::verify::{ReplayCode, mapping_version, other_layout};
use portcullis_gate::GatePolicy;
use portcullis_gate::anchor::AnchorStore;
use portcullis_gate::replay::{
    EndStateIndex, ReplayError, ReplayInput, StreamJudgements, StreamReplayer, predecessor_name,
};
use portcullis_mapping::MappingError;
use portcullis_policy::ImagePolicySet;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use zerocopy::FromBytes;

/// A random sample of streams.
#[derive(Clone, Copy, Debug)]
pub struct StreamSample<'a> {
    /// Number of streams to draw. If the bundle has fewer, all are drawn.
    pub streams: u64,
    /// Seed of the sample. The checker chooses it after it has received the bundle.
    pub seed: &'a str,
}

/// The place of a BEGIN record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StreamBegin {
    lane: u8,
    index: u64,
}

impl fmt::Display for StreamBegin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}", self.index)?;
        if self.lane == 0 { Ok(()) } else { write!(f, " of lane {}", self.lane) }
    }
}

/// A stream that is being read from the log.
struct OpenLogStream {
    begin: StreamBegin,
    records: Vec<Record>,
    /// The stream's input, as JSON.
    input: Option<String>,
    salts: BTreeMap<u32, [u8; 16]>,
    withheld: bool,
}

/// A stream whose replay gave exactly its records.
pub(crate) struct ReplayedStream<'a> {
    pub(crate) stores: &'a [AnchorStore],
    /// The end states of streams that later streams continue; each stream is replayed only once.
    pub(crate) ends: &'a EndStateIndex,
    pub(crate) name: Option<HexBytes<32>>,
    pub(crate) context: &'a [u8],
    pub(crate) input: ReplayInput,
    pub(crate) course: StreamJudgements,
}

pub(crate) type OnStream<'a> = &'a mut dyn FnMut(ReplayedStream<'_>) -> Result<(), AuditError>;

/// Replays a bundle, or a sample of its streams. `progress` is called after each stream. Faults of the bundle are
/// findings. Errors: [`AuditError`]: there is no bundle, reading it failed, or this program failed.
pub fn replay(
    files: &SnapshotFiles<'_>,
    drawn: Option<StreamSample<'_>>,
    progress: &mut dyn FnMut(),
) -> Result<ReplayReport, AuditError> {
    replay_each(files, drawn, progress, &mut |_| Ok(()))
}

/// Like [`replay()`], but streams may continue streams of the `earlier` bundles, which are ordered from the earliest.
/// Earlier bundles are not reported; only their streams that replay can be continued. Errors: as [`replay()`].
pub fn replay_after(
    earlier: &[SnapshotFiles<'_>],
    files: &SnapshotFiles<'_>,
    drawn: Option<StreamSample<'_>>,
    progress: &mut dyn FnMut(),
) -> Result<ReplayReport, AuditError> {
    let mut before = EarlierBundles::default();
    earlier.iter().chain([files]).try_for_each(|files| before.want(files))?;
    earlier.iter().try_for_each(|files| before.add(files, progress))?;
    before.replay(files, drawn, progress)
}

/// Like [`replay()`]; calls `each` for every stream that replays.
pub(crate) fn replay_each(
    files: &SnapshotFiles<'_>,
    drawn: Option<StreamSample<'_>>,
    progress: &mut dyn FnMut(),
    each: OnStream<'_>,
) -> Result<ReplayReport, AuditError> {
    replay_from(&mut EndStateIndex::default(), files, drawn, (progress, each))
}

fn replay_from(
    ends: &mut EndStateIndex,
    files: &SnapshotFiles<'_>,
    drawn: Option<StreamSample<'_>>,
    (progress, each): (&mut dyn FnMut(), OnStream<'_>),
) -> Result<ReplayReport, AuditError> {
    let mut outcome = ReplayReport { seed: drawn.map(|drawn| drawn.seed.to_owned()), ..ReplayReport::default() };
    match attempt(files, drawn, &mut outcome, ends, (progress, each)) {
        Err(AuditError::Bundle(error)) if !error.is_operational() => outcome.add(ReplayCode::ReplayBundle, error),
        attempted => attempted?,
    }
    if let Some(name) = files.changed() {
        outcome.add(ReplayCode::FileChanged, format!("`{name}` changed while it was read"));
    }
    Ok(outcome)
}

/// Replays a bundle. `ends` gets the end states of its streams that are wanted, and keeps all others, even if the
/// bundle has a fault.
fn attempt(
    files: &SnapshotFiles<'_>,
    drawn: Option<StreamSample<'_>>,
    outcome: &mut ReplayReport,
    ends: &mut EndStateIndex,
    (progress, each): (&mut dyn FnMut(), OnStream<'_>),
) -> Result<(), AuditError> {
    let bundle = Bundle::open(files)?;
    let package = |(name, path): (&str, &str)| Ok((path.to_owned(), bundle.read(name)?));
    let sources = bundle.below(bundle::PACKAGE).map(package).collect::<Result<BTreeMap<_, _>, BundleError>>()?;
    if sources.is_empty() {
        outcome.add(ReplayCode::ReplayWithheld, "the bundle holds no policy package");
        return Ok(());
    }
    if let Some(why) = other_version(&bundle)? {
        outcome.add(ReplayCode::UnknownVersion, why);
        return Ok(());
    }
    let image = bundle.read(bundle::IMAGE)?;
    let (policies, ready) = match compile(sources, &image) {
        Ok(compiled) => compiled,
        Err(why) => {
            outcome.add(ReplayCode::ReplayPackage, why);
            return Ok(());
        }
    };
    let mut stores = Vec::new();
    for (name, _) in bundle.below("anchors/") {
        match AnchorStore::from_json_lines(Path::new(name), &bundle.read(name)?) {
            Ok(store) => stores.push(store),
            Err(error) => outcome.add(ReplayCode::ReplayAnchors, error),
        }
    }
    let named = predecessors(&bundle)?;
    ends.want(named.values().copied());
    let mut replayer = StreamReplayer::new(policies.image(), ready, stores.clone()).map_err(ReplayError::from)?;
    let mut chosen = drawn.map(|drawn| draw(&bundle, drawn)).transpose()?;
    if let Some(chosen) = chosen.as_mut().filter(|_| !named.is_empty()) {
        add_predecessors(&bundle, &named, chosen)?;
    }
    let mut wanted = EndStateIndex::default();
    wanted.want(named.into_values());
    replayer = replayer.with_ends(std::mem::take(ends));
    let mut walk = LogReplay {
        bundle: &bundle,
        stores: &stores,
        ends: &wanted,
        replayer: &mut replayer,
        outcome,
        progress,
        each,
        waiting: BTreeMap::new(),
        may_wait: bundle.lanes() > 1,
    };
    let walked = (0..bundle.lanes()).try_for_each(|lane| walk.lane(lane, chosen.as_ref())).and_then(|()| walk.rest());
    *ends = replayer.into_ends();
    walked
}

/// The predecessors that context documents name, by the document's digest. Malformed documents are skipped here, and
/// reported when their stream is replayed.
fn predecessors(bundle: &Bundle<'_>) -> Result<BTreeMap<[u8; 32], HexBytes<32>>, BundleError> {
    let mut named = BTreeMap::new();
    for (name, _) in bundle.below("contexts/") {
        let document = bundle.read(name)?;
        if let Ok(ContextDocument { predecessor: Some(leaf), .. }) = ContextDocument::parse(&document) {
            named.insert(Sha256::digest(&document).into(), leaf);
        }
    }
    Ok(named)
}

/// Adds all predecessors of the chosen streams, which cannot be replayed without them.
fn add_predecessors(
    bundle: &Bundle<'_>,
    named: &BTreeMap<[u8; 32], HexBytes<32>>,
    chosen: &mut BTreeSet<StreamBegin>,
) -> Result<(), BundleError> {
    let wanted: BTreeSet<HexBytes<32>> = named.values().copied().collect();
    let (mut continued, mut begun) = (BTreeMap::new(), BTreeMap::new());
    for lane in 0..bundle.lanes() {
        let (mut records, mut open, mut index) = (bundle.records(lane)?, BTreeMap::new(), 0u64);
        while let Some(record) = next(&mut records, lane)? {
            let (kind, slot) = (record.answer.record_type, record.descriptor.slot.get());
            if kind == u8::from(RecordType::Begin) {
                let begin = StreamBegin { lane, index };
                open.insert(slot, begin);
                if let Some(leaf) = named.get(&record.descriptor.commitment) {
                    continued.insert(begin, *leaf);
                }
            } else if kind == u8::from(RecordType::End)
                && let Some(begin) = open.remove(&slot)
            {
                let leaf = predecessor_name(&record);
                if wanted.contains(&leaf) {
                    begun.insert(leaf, begin);
                }
            }
            index += 1;
        }
    }
    let mut looked_at: Vec<StreamBegin> = chosen.iter().copied().collect();
    while let Some(begin) = looked_at.pop() {
        let before = continued.get(&begin).and_then(|leaf| begun.get(leaf)).copied();
        looked_at.extend(before.filter(|before| chosen.insert(*before)));
    }
    Ok(())
}

/// Why this version cannot replay the bundle of another version; `None` if it can. This says nothing about the
/// evidence.
fn other_version(bundle: &Bundle<'_>) -> Result<Option<String>, BundleError> {
    let image = bundle.read(bundle::IMAGE)?;
    if let Some(version) = other_layout(&image) {
        let what = format!("the tables are of layout version {version}, this program reads version {LAYOUT_VERSION}");
        return Ok(Some(format!("{what}; replay with the release that wrote the bundle")));
    }
    let header = ImageHeader::read_from_prefix(&image).ok().map(|(header, _)| header);
    // Bytes that are not an image of any version are reported later, since they differ from the compiled package.
    let Some(header) = header.filter(|header| header.magic.get() == IMAGE_MAGIC && header.version == LAYOUT_VERSION)
    else {
        return Ok(None);
    };
    let mapping = mapping_version(bundle, &header.package_digest)?.unwrap_or(MAPPING_VERSION);
    let what = if header.map_digest != MAP_DIGEST {
        "the tables are of another version's layout".to_owned()
    } else if mapping != MAPPING_VERSION {
        format!(
            "the policy was compiled by another version (mapping {mapping}, this program maps by version {MAPPING_VERSION})"
        )
    } else {
        return Ok(None);
    };
    Ok(Some(format!("{what}; replay with {}", releases::replaying(mapping, &header.map_digest))))
}

/// Compiles the policies of the package. Errors: the result is not the image that was in force.
fn compile(sources: BTreeMap<String, Vec<u8>>, image: &[u8]) -> Result<(ImagePolicySet, Vec<Arc<GatePolicy>>), String> {
    let policies = ImagePolicySet::from_listed(sources);
    let mut policies = policies.map_err(|error| format!("the policy package does not compile: {error}"))?;
    let parts = ImageHeader::read_from_prefix(image).map_or(0, |(header, _)| u16::from(header.parts));
    if parts & image_parts::TEXT != 0 {
        policies = policies.with_text_lane().map_err(|error| format!("the text lane does not compile: {error}"))?;
    }
    if policies.image().as_bytes() != image {
        return Err("the policy package does not compile to the table image that was in force".to_owned());
    }
    let ready = |policy: &portcullis_policy::ImagePolicy| {
        Ok(Arc::new(GatePolicy::new(policy.package.clone(), policy.compiled.clone())?))
    };
    let ready = policies.iter().map(ready).collect::<Result<_, MappingError>>();
    Ok((policies, ready.map_err(|error| format!("the policy package cannot map text: {error}"))?))
}

/// The BEGIN records of the sampled streams: those with the smallest digests over seed and place.
fn draw(bundle: &Bundle<'_>, sample: StreamSample<'_>) -> Result<BTreeSet<StreamBegin>, BundleError> {
    let mut drawn = BTreeSet::new();
    for lane in 0..bundle.lanes() {
        let mut records = bundle.records(lane)?;
        let mut index = 0u64;
        while let Some(record) = next(&mut records, lane)? {
            if record.answer.record_type == u8::from(RecordType::Begin) {
                let of_seed =
                    Sha256::new().chain_update(sample.seed).chain_update([0]).chain_update(index.to_le_bytes());
                let lot: [u8; 32] = if lane == 0 { of_seed } else { of_seed.chain_update([lane]) }.finalize().into();
                drawn.insert((lot, StreamBegin { lane, index }));
                if drawn.len() as u64 > sample.streams {
                    drawn.pop_last();
                }
            }
            index += 1;
        }
    }
    Ok(drawn.into_iter().map(|(_, begin)| begin).collect())
}

/// The next record of a log. An incomplete record is a fault of the bundle.
fn next(records: &mut impl Read, lane: u8) -> Result<Option<Record>, BundleError> {
    log::read(records).map_err(|source| {
        let name = bundle::in_lane(bundle::RECORDS, lane);
        match source.kind() {
            ErrorKind::UnexpectedEof => BundleError::Content { name, what: "the log ends within a record".to_owned() },
            _ => BundleError::Io { name, source },
        }
    })
}

struct LogReplay<'a> {
    bundle: &'a Bundle<'a>,
    stores: &'a [AnchorStore],
    /// The end states of streams that later streams continue; each stream is replayed only once.
    ends: &'a EndStateIndex,
    replayer: &'a mut StreamReplayer,
    outcome: &'a mut ReplayReport,
    progress: &'a mut dyn FnMut(),
    each: OnStream<'a>,
    /// Streams whose predecessor was not replayed yet, by its name; the predecessor can be in another lane.
    waiting: BTreeMap<HexBytes<32>, Vec<OpenLogStream>>,
    may_wait: bool,
}

impl LogReplay<'_> {
    /// Replays one lane. A stream stays in its lane, and a slot has one stream at a time.
    fn lane(&mut self, lane: u8, chosen: Option<&BTreeSet<StreamBegin>>) -> Result<(), AuditError> {
        let mut records = self.bundle.records(lane)?;
        let (mut spans, mut inputs) = (self.bundle.spans(lane)?, self.bundle.inputs(lane)?);
        let mut open: BTreeMap<u16, OpenLogStream> = BTreeMap::new();
        let mut index = 0u64;
        while let Some(record) = next(&mut records, lane)? {
            let (input, span) = (inputs.about(index)?, spans.about(index)?);
            let begin = StreamBegin { lane, index };
            let Ok(kind) = RecordType::try_from(record.answer.record_type) else {
                self.outcome.add(ReplayCode::ReplayBundle, format!("{begin} is of no type"));
                break;
            };
            let slot = record.descriptor.slot.get();
            match kind {
                RecordType::Begin => {
                    self.outcome.streams += 1;
                    if chosen.is_none_or(|chosen| chosen.contains(&begin)) {
                        let input = input.map(|line| line.input.get().to_owned());
                        let records = vec![record];
                        let stream = OpenLogStream { begin, records, input, salts: BTreeMap::new(), withheld: false };
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

    /// Replays the streams that still wait. No stream that they continue was replayed.
    fn rest(&mut self) -> Result<(), AuditError> {
        self.may_wait = false;
        let mut waiting: Vec<_> = std::mem::take(&mut self.waiting).into_values().flatten().collect();
        waiting.sort_by_key(|stream| stream.begin);
        waiting.into_iter().try_for_each(|stream| self.finish(stream))
    }

    /// The name of the stream that this one continues, if that stream may still be replayed.
    fn awaited(&self, stream: &OpenLogStream) -> Result<Option<HexBytes<32>>, AuditError> {
        let Some(begin) = stream.records.first().filter(|_| self.may_wait && !self.ends.is_empty()) else {
            return Ok(None);
        };
        let name = bundle::context(&begin.descriptor.commitment);
        if !self.bundle.has(&name) {
            return Ok(None);
        }
        let named = ContextDocument::parse(&self.bundle.read(&name)?).ok().and_then(|document| document.predecessor);
        Ok(named.filter(|leaf| !self.replayer.has_end(leaf)))
    }

    /// Replays a stream, and those that waited for it; or lets it wait. Each stream waits once at most.
    fn finish(&mut self, stream: OpenLogStream) -> Result<(), AuditError> {
        let mut ready = vec![stream];
        while let Some(stream) = ready.pop() {
            if let Some(leaf) = self.awaited(&stream)? {
                self.waiting.entry(leaf).or_default().push(stream);
                continue;
            }
            let name = stream.records.last().filter(|_| !self.waiting.is_empty()).map(predecessor_name);
            self.replay(stream)?;
            if let Some(name) = name.filter(|name| self.replayer.has_end(name)) {
                ready.extend(self.waiting.remove(&name).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn replay(&mut self, stream: OpenLogStream) -> Result<(), AuditError> {
        let OpenLogStream { begin, records, input, salts, withheld } = stream;
        let of = |what: &dyn fmt::Display| format!("stream at {begin}: {what}");
        if records.last().is_none_or(|last| last.answer.record_type != u8::from(RecordType::End)) {
            self.outcome
                .add(ReplayCode::StreamUnfinished, of(&"it did not end: what it was given was not judged to its end"));
        }
        let context = records.first().map(|begin| bundle::context(&begin.descriptor.commitment)).unwrap_or_default();
        let (Some(input), false, true) = (input, withheld, self.bundle.has(&context)) else {
            self.outcome.add(ReplayCode::ReplayWithheld, of(&"something of it is withheld"));
            return Ok(());
        };
        let context = self.bundle.read(&context)?;
        let input: ReplayInput = match (serde_json::from_str(&input), ContextDocument::parse(&context)) {
            (Ok(input), _) => input,
            // A context of another version may describe another input.
            (Err(_), Err(ContextDocumentError::Version { found })) => {
                self.outcome.add(ReplayCode::UnknownVersion, of(&ReplayError::Version { found }));
                return Ok(());
            }
            (Err(error), _) => {
                self.outcome.add(ReplayCode::ReplayInput, of(&format_args!("what it was given: {error}")));
                return Ok(());
            }
        };
        match self.replayer.stream(&context, input.clone(), salts, &records) {
            Ok((stream, course)) => {
                self.outcome.records += stream.records;
                if !stream.consumed {
                    let what = "no one asked for a part of what it was given, and no record judges that";
                    self.outcome.add(ReplayCode::InputUnconsumed, of(&what));
                }
                match stream.fault {
                    None => {
                        self.outcome.replayed += 1;
                        let (stores, ends) = (self.stores, self.ends);
                        let name = records.last().map(predecessor_name).filter(|name| ends.is_wanted(name));
                        (self.each)(ReplayedStream { stores, ends, name, context: &context, input, course })?;
                    }
                    Some(_) => self.outcome.add(ReplayCode::ReplayFault, of(&"a fault of the card ended it")),
                }
            }
            Err(error @ ReplayError::Anchors(_)) => self.outcome.add(ReplayCode::ReplayWithheld, of(&error)),
            Err(error @ ReplayError::Predecessor(_)) => {
                self.outcome.add(ReplayCode::ReplayPredecessor, of(&error));
            }
            Err(error @ ReplayError::Version { .. }) => {
                self.outcome.add(ReplayCode::UnknownVersion, of(&error));
            }
            Err(
                error @ (ReplayError::Differs { .. }
                | ReplayError::Context(_)
                | ReplayError::Policy(_)
                | ReplayError::Profile(_)),
            ) => self.outcome.add(ReplayCode::ReplayDiffers, of(&error)),
            Err(error @ ReplayError::Card(_)) => return Err(error.into()),
        }
        Ok(())
    }
}
