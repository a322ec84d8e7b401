//! `portcullis replay`: makes every descriptor and determination of a bundle again from its texts, and compares them byte by byte.

use crate::failure::{Failure, SUCCESS};
use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_core::manifest::MAPPING_VERSION;
use portcullis_core::wire::{Fault, ImageHeader, LAYOUT_VERSION, MAP_DIGEST, Opcode, Record, RecordType};
use portcullis_evidence::bundle::{self, Bundle, Directory};
use portcullis_evidence::record;
use portcullis_evidence::verify::mapping_version;
use portcullis_gate::anchor::Store;
use portcullis_gate::replay::{Input, ReplayError, Replayed, Replayer};
use portcullis_mapping::Mapper;
use portcullis_policy::Package;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::IsTerminal;
use std::path::PathBuf;
use zerocopy::FromBytes;

/// A record differs from the replay, or the package is not the image's.
const CONTRADICTED: u8 = 3;
/// Something was not disclosed, or ended in a fault: it could not be replayed.
const WARNED: u8 = 5;

/// Replays text by text: policy, settings, anchors, texts and salts give the descriptors and determinations on record, or not.
///
/// Exit codes: 0 every stream replays; 5 some could not be replayed, because something of them is withheld or a fault ended them;
/// 3 a record is not what the replay gives; 1 an error; 2 usage. Whether the records are the card's is what `verify` tells.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of the bundle.
    bundle: PathBuf,
    /// Replay so many streams, drawn with `--seed`, instead of all.
    #[arg(long, value_name = "STREAMS", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
    /// What the sample is drawn with; whoever checks chooses it, and not before the bundle is handed over.
    #[arg(long, value_name = "TEXT", default_value = "", requires = "sample")]
    seed: String,
    /// The result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// What came of it.
#[derive(Default, serde::Serialize)]
struct Outcome {
    streams: u64,
    replayed: u64,
    records: u64,
    withheld: Vec<Begin>,
    faulted: Vec<Begin>,
    differences: Vec<Difference>,
}

/// Where a stream began: its BEGIN record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
struct Begin {
    lane: u8,
    index: u64,
}

impl fmt::Display for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}", self.index)?;
        if self.lane == 0 { Ok(()) } else { write!(f, " of lane {}", self.lane) }
    }
}

#[derive(serde::Serialize)]
struct Difference {
    stream: Begin,
    why: String,
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

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let files = Directory::new(&args.bundle);
    let bundle = Bundle::open(&files).with_context(|| format!("`{}`", args.bundle.display()))?;
    let package = |(name, path): (&str, &str)| Ok((path.to_owned(), bundle.read(name)?));
    let sources = bundle.below(bundle::PACKAGE).map(package).collect::<Result<BTreeMap<_, _>, bundle::BundleError>>();
    let sources = sources.map_err(anyhow::Error::from)?;
    if sources.is_empty() {
        return Err(anyhow!("the bundle holds no policy package: nothing can be replayed").into());
    }
    same_version(&bundle)?;
    let package = Package::from_listed(sources)?;
    let compiled = package.compile()?;
    let mapper = Mapper::new(package.manifest(), package.files()).context("the policy package")?;
    if compiled.image.as_bytes() != bundle.read(bundle::IMAGE).map_err(anyhow::Error::from)? {
        errln!("the policy package does not compile to the table image that was in force");
        return Ok(CONTRADICTED);
    }
    let store = |(name, _): (&str, &str)| Store::open_json_lines(&args.bundle.join(name));
    let stores = bundle.below("anchors/").map(store).collect::<Result<Vec<_>, _>>().map_err(anyhow::Error::from)?;
    let mut replayer = Replayer::new(&package, &compiled, &mapper, stores)?;

    let chosen = args.sample.map(|count| sample(&bundle, count, &args.seed)).transpose()?;
    let outcome = walk(&bundle, &mut replayer, chosen.as_ref())?;
    report(&outcome, args.json)
}

/// What another version made, this one cannot make again: that says nothing about the bundle.
fn same_version(bundle: &Bundle<'_>) -> anyhow::Result<()> {
    let image = bundle.read(bundle::IMAGE)?;
    let Ok((header, _)) = ImageHeader::read_from_prefix(&image) else { return Ok(()) };
    if header.version != LAYOUT_VERSION || header.map_digest != MAP_DIGEST {
        bail!("the tables are of another version's layout; replay with the release that wrote the bundle");
    }
    match mapping_version(bundle, &header.package_digest)? {
        Some(version) if version != MAPPING_VERSION => bail!(
            "the policy was compiled by another version (mapping {version}, this program maps by version {MAPPING_VERSION}); replay with the \
             release that wrote the bundle"
        ),
        _ => Ok(()),
    }
}

/// The BEGIN records of the streams that are drawn: those whose digest with the seed comes first.
fn sample(bundle: &Bundle<'_>, count: u64, seed: &str) -> anyhow::Result<BTreeSet<Begin>> {
    let mut drawn = BTreeSet::new();
    for lane in 0..bundle.lanes() {
        let mut records = bundle.records(lane)?;
        let mut index = 0u64;
        while let Some(record) = record::read(&mut records)? {
            if is_begin(&record) {
                let of_seed = Sha256::new().chain_update(seed).chain_update([0]).chain_update(index.to_le_bytes());
                let lot: [u8; 32] = if lane == 0 { of_seed } else { of_seed.chain_update([lane]) }.finalize().into();
                drawn.insert((lot, Begin { lane, index }));
                if drawn.len() as u64 > count {
                    drawn.pop_last();
                }
            }
            index += 1;
        }
    }
    Ok(drawn.into_iter().map(|(_, begin)| begin).collect())
}

fn is_begin(record: &Record) -> bool {
    record.answer.record_type == u8::from(RecordType::Begin)
}

fn walk(bundle: &Bundle<'_>, replayer: &mut Replayer<'_>, chosen: Option<&BTreeSet<Begin>>) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    let progress = progress();
    for lane in 0..bundle.lanes() {
        walk_lane(bundle, lane, replayer, chosen, &mut outcome, &progress)?;
    }
    progress.finish_and_clear();
    Ok(outcome)
}

/// Streams are pinned to a lane, in which a slot has one stream at a time.
fn walk_lane(
    bundle: &Bundle<'_>,
    lane: u8,
    replayer: &mut Replayer<'_>,
    chosen: Option<&BTreeSet<Begin>>,
    outcome: &mut Outcome,
    progress: &ProgressBar,
) -> anyhow::Result<()> {
    let mut records = bundle.records(lane)?;
    let (mut spans, mut inputs) = (bundle.spans(lane)?, bundle.inputs(lane)?);
    let mut open: BTreeMap<u16, Open> = BTreeMap::new();
    let mut index = 0u64;
    while let Some(record) = record::read(&mut records)? {
        let (input, span) = (inputs.about(index)?, spans.about(index)?);
        let kind = RecordType::try_from(record.answer.record_type).map_err(|e| anyhow!("record {index}: {e}"))?;
        let slot = record.descriptor.slot.get();
        match kind {
            RecordType::Begin => {
                outcome.streams += 1;
                let begin = Begin { lane, index };
                if chosen.is_none_or(|chosen| chosen.contains(&begin)) {
                    let input = input.map(|line| serde_json::from_str(line.input.get())).transpose();
                    let input = input.with_context(|| format!("what the stream at {begin} was given"))?;
                    let records = vec![record];
                    let stream = Open { begin, records, input, salts: BTreeMap::new(), withheld: false };
                    if let Some(before) = open.insert(slot, stream) {
                        finish(replayer, bundle, before, outcome)?;
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
                    finish(replayer, bundle, stream, outcome)?;
                    progress.inc(1);
                }
            }
            RecordType::Open | RecordType::Heartbeat | RecordType::Close | RecordType::Alarm => {}
        }
        index += 1;
    }
    for stream in open.into_values() {
        finish(replayer, bundle, stream, outcome)?;
    }
    Ok(())
}

fn finish(replayer: &mut Replayer<'_>, bundle: &Bundle<'_>, stream: Open, outcome: &mut Outcome) -> anyhow::Result<()> {
    let Open { begin, records, input, salts, withheld } = stream;
    let context = records.first().map(|begin| bundle::context(&begin.descriptor.commitment)).unwrap_or_default();
    let (Some(input), false, true) = (input, withheld, bundle.has(&context)) else {
        outcome.withheld.push(begin);
        return Ok(());
    };
    match replayer.stream(&bundle.read(&context)?, input, salts, &records) {
        Ok(Replayed { records, fault }) => {
            outcome.records += records;
            match fault {
                None => outcome.replayed += 1,
                Some(_) => outcome.faulted.push(begin),
            }
        }
        Err(ReplayError::Anchors(_)) => outcome.withheld.push(begin),
        Err(error @ (ReplayError::Differs { .. } | ReplayError::Context(_) | ReplayError::Profile(_))) => {
            outcome.differences.push(Difference { stream: begin, why: error.to_string() });
        }
        Err(error @ (ReplayError::Card(_) | ReplayError::Version { .. } | ReplayError::Mode(_))) => {
            return Err(error.into());
        }
    }
    Ok(())
}

fn report(outcome: &Outcome, json: bool) -> Result<u8, Failure> {
    if json {
        outln!("{}", serde_json::to_string(outcome)?);
    } else {
        outln!("{} of {} streams replay, {} records byte by byte", outcome.replayed, outcome.streams, outcome.records);
        for (what, streams) in
            [("something of it is withheld", &outcome.withheld), ("a fault of the card ended it", &outcome.faulted)]
        {
            for begin in streams {
                outln!("stream at {begin}: not replayable: {what}");
            }
        }
        for Difference { stream, why } in &outcome.differences {
            outln!("stream at {stream}: {why}");
        }
    }
    Ok(if !outcome.differences.is_empty() {
        CONTRADICTED
    } else if !outcome.withheld.is_empty() || !outcome.faulted.is_empty() {
        WARNED
    } else {
        SUCCESS
    })
}

fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {pos} streams replayed, {elapsed}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}
