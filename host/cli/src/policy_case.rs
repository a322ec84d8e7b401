//! `portcullis policy case`: makes a judged text on record a test of a package.

use crate::failure::{CommandFailure, SUCCESS};
use crate::open::{self, MemberArg, TextLaneArg};
use anyhow::{Context, anyhow, ensure};
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardSession, SessionConfig};
use portcullis_core::commitment::SpanKind;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::{Determination, Opcode, Record};
use portcullis_evidence::bundle::{self, Bundle, BundleError, IndexedLine, IndexedLineReader, SnapshotFiles, SpanLine};
use portcullis_evidence::log;
use portcullis_gate::{GateSettings, SaltKey, StreamGovernor, judge_text};
use portcullis_policy::{TESTS_FILE, is_composition};
use portcullis_verify::console::json_line;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Add the text of a record to the tests of a package: what must leave whole from now on, or must not.
///
/// A refusal names its record as `STREAM/SEQUENCE` (`portcullis.streams[].refusals` of an answer). On a card with
/// several lanes, streams are counted in each lane, as in `streams.jsonl`: compare the text that is printed. The bundle
/// is not verified. Prints whether the package passes the test already.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  portcullis policy case policies/pii --bundle first.bundle --record 1/3 --harmful
  portcullis policy case policies/pii --bundle first.bundle --record 0/1 --harmless --name 'a line of a timetable'")]
#[command(group = clap::ArgGroup::new("kind").required(true))]
pub(crate) struct PolicyCaseArgs {
    /// Folder of the package, whose `tests.jsonl` gets the text.
    dir: PathBuf,
    /// Bundle with the record: a folder or a tar archive.
    #[arg(long, value_name = "PATH")]
    bundle: PathBuf,
    /// The record: stream and sequence, such as `7/12`.
    #[arg(long, value_name = "STREAM/SEQUENCE")]
    record: RecordName,
    /// Lane of the card that has the stream's log.
    #[arg(long, default_value_t = 0)]
    lane: u8,
    /// The text must leave whole.
    #[arg(long, group = "kind")]
    harmless: bool,
    /// Something of the text must be refused.
    #[arg(long, group = "kind")]
    harmful: bool,
    /// Name of the test. Default: the names of bundle and record.
    #[arg(long)]
    name: Option<String>,
}

/// A record by its stream and its sequence in the stream.
#[derive(Clone, Copy, Debug)]
struct RecordName {
    stream: u64,
    sequence: u32,
}

impl FromStr for RecordName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(stream, sequence)| {
            Some(Self { stream: stream.parse().ok()?, sequence: sequence.parse().ok()? })
        });
        parts.ok_or_else(|| "a record is named by its stream and its sequence, such as `7/12`".into())
    }
}

pub(crate) fn run(args: &PolicyCaseArgs) -> Result<u8, CommandFailure> {
    if is_composition(&args.dir) {
        let what = "is a composition: add the test to the member's own package, and compose again";
        return Err(anyhow!("`{}` {what}", args.dir.display()).into());
    }
    let policy = open::policy(&args.dir, &MemberArg { member: None }, TextLaneArg::default())?;
    let span = span(args)?;
    if span.kind != SpanKind::Text {
        return Err(anyhow!("the record is of a tool call, and tests of a package hold texts").into());
    }
    let must = if args.harmful { Determination::Reject } else { Determination::Admit };
    let RecordName { stream, sequence } = args.record;
    let bundle = args.bundle.file_name().unwrap_or_default().to_string_lossy();
    let name = args.name.clone().unwrap_or_else(|| format!("record {stream}/{sequence} of {bundle}"));
    let settings = GateSettings { streams: 1, ..GateSettings::new(SaltKey::from_bytes([0; 32])) };
    let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), settings).map_err(anyhow::Error::from)?);
    let config = SessionConfig { text_stride_log2: policy.text_stride_log2(), ..SessionConfig::default() };
    let mut session = CardSession::open(ModelCard::new(), &policy.compiled.image, config)?;
    let verdict = judge_text(&governor, &mut session, &name, &span.text, &StreamTask::default());
    let verdict = verdict.map_err(anyhow::Error::from)?;
    session.close()?;
    append(&args.dir.join(TESTS_FILE), &name, &span.text, must)?;
    let kind = if args.harmful { "harmful" } else { "harmless" };
    outln!("{}: a {kind} text, {:?}", args.dir.join(TESTS_FILE).display(), span.text);
    match (verdict.determination == must, verdict.rule) {
        (true, Some(rule)) => outln!("the package passes it: {rule} refuses the text"),
        (true, None) => outln!("the package passes it"),
        (false, Some(rule)) => outln!("the package fails it: {rule} refuses the text"),
        (false, None) => outln!("the package fails it: nothing in the text is refused"),
    }
    Ok(SUCCESS)
}

/// The text of the record.
fn span(args: &PolicyCaseArgs) -> anyhow::Result<SpanLine> {
    let PolicyCaseArgs { record: RecordName { stream, sequence }, lane, .. } = args;
    let files = bundle::at(&args.bundle).with_context(|| format!("bundle `{}`", args.bundle.display()))?;
    let files = SnapshotFiles::new(&*files);
    let bundle = Bundle::open(&files)?;
    ensure!(*lane < bundle.lanes(), "the bundle has {} lanes, numbered from 0", bundle.lanes());
    let begin = find(bundle.streams(*lane)?, |line| line.stream == *stream)?.map(|line| line.index);
    let begin = begin.with_context(|| format!("lane {lane} has no stream {stream}"))?;
    let index = index(bundle.records(*lane)?, begin, *sequence)?;
    let index = index.with_context(|| format!("stream {stream} has no record with sequence {sequence}"))?;
    let span = find(bundle.spans(*lane)?, |line| line.index == index)?;
    span.with_context(|| {
        format!("the bundle does not hold the text of record {stream}/{sequence}: it was withheld, or is sealed")
    })
}

/// The first line of a file for which a condition holds.
fn find<T: IndexedLine + DeserializeOwned>(
    mut lines: IndexedLineReader<'_, T>,
    is_wanted: impl Fn(&T) -> bool,
) -> Result<Option<T>, BundleError> {
    while let Some(index) = lines.rest()? {
        if let Some(line) = lines.about(index)?.filter(|line| is_wanted(line)) {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// The log index of the entry with this sequence, of the stream that begins at `begin`.
fn index(mut records: impl Read, begin: u64, sequence: u32) -> std::io::Result<Option<u64>> {
    let mut slot = None;
    let mut index = 0;
    while let Some(Record { descriptor, .. }) = log::read(&mut records)? {
        if index == begin {
            slot = Some(descriptor.slot);
        } else if slot == Some(descriptor.slot) {
            if descriptor.opcode == u8::from(Opcode::Gate) && descriptor.sequence.get() == sequence {
                return Ok(Some(index));
            }
            if descriptor.opcode == u8::from(Opcode::End) {
                break;
            }
        }
        index += 1;
    }
    Ok(None)
}

/// A test of a text, as a line of `tests.jsonl`.
#[derive(Serialize)]
struct TextTestLine<'t> {
    name: &'t str,
    text: &'t str,
    expect: TextExpectation,
}

#[derive(Serialize)]
struct TextExpectation {
    determination: Determination,
}

/// Adds a test of a text to the file.
fn append(file: &Path, name: &str, text: &str, must: Determination) -> anyhow::Result<()> {
    let at = || file.display().to_string();
    let tests = match fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(at)?,
    };
    for line in tests.lines().filter(|line| !line.trim().is_empty()) {
        let test: serde_json::Value = serde_json::from_str(line).with_context(at)?;
        let known = test.get("name").and_then(|name| name.as_str()).unwrap_or_default();
        ensure!(known != name, "{}: there is a test `{known}` already; give this one another `--name`", at());
        let same = test.get("text").is_some_and(|known| known == text);
        ensure!(!same, "{}: the test `{known}` has this text already", at());
    }
    let line = TextTestLine { name, text, expect: TextExpectation { determination: must } };
    let before = if tests.is_empty() || tests.ends_with('\n') { "" } else { "\n" };
    let mut file = fs::OpenOptions::new().append(true).create(true).open(file).with_context(at)?;
    file.write_all(format!("{before}{}\n", json_line(&line)?).as_bytes()).with_context(at)?;
    Ok(())
}
