//! `portcullis policy trial`: shows what another policy would have decided, over the streams of finished bundles.

use crate::failure::{CommandFailure, REFUSED, SUCCESS, WARNED};
use crate::replay::progress;
use anyhow::Context;
use portcullis_audit::{ChangedStreamDecisions, SpanChange, SpanOutcome, TrialReport, trial};
use portcullis_evidence::bundle::{self, SnapshotFiles};
use portcullis_gate::GatePolicy;
use portcullis_policy::ImagePolicySet;
use portcullis_report::escape::printable;
use portcullis_sealed::is_sealed_texts;
use portcullis_verify::console::json_line;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// List what another policy would have decided differently about streams that are on record.
///
/// Each bundle is replayed first, so that what was in force is what its records say. Then every stream that replays
/// is governed again under the other policy, with the task, the profile, the anchors and the texts that it had. A text
/// that a model wrote step by step is compared up to the first determination that differs: what the model would have
/// written then, no bundle knows.
///
/// Exit codes: 0 every stream was compared and comes to the same; 3 a stream comes to something else; 5 no difference
/// was found, but not every stream could be compared; 1 an error; 2 usage.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  portcullis policy trial --bundles bundles --policy policies/pii
  portcullis policy trial --bundles bundles --policy policies/pii --json | jq '.different[].changes[]'")]
pub(crate) struct PolicyTrialArgs {
    /// Folder with bundles, each a folder or a tar archive.
    #[arg(long, value_name = "DIR")]
    bundles: PathBuf,
    /// Folder of the package or the composition to try. A package judges every stream; of a composition, the member
    /// with the name of the stream's own.
    #[arg(long, value_name = "DIR")]
    policy: PathBuf,
    /// One JSON object per bundle.
    #[arg(long)]
    json: bool,
}

/// A bundle with its trial report.
#[derive(serde::Serialize)]
struct Tried {
    bundle: String,
    #[serde(flatten)]
    report: TrialReport,
}

pub(crate) fn run(args: &PolicyTrialArgs) -> Result<u8, CommandFailure> {
    let policies = ImagePolicySet::load(&args.policy)?;
    let ready =
        policies.iter().map(|policy| GatePolicy::new(policy.package.clone(), policy.compiled.clone()).map(Arc::new));
    let ready = ready.collect::<Result<Vec<_>, _>>().map_err(anyhow::Error::from)?;
    let progress = progress("streams tried");
    let (mut compared, mut different, mut all) = (0, 0, true);
    let mut rules: BTreeMap<String, u64> = BTreeMap::new();
    for path in entries(&args.bundles)? {
        let bundle = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files = bundle::at(&path).with_context(|| format!("bundle `{bundle}`"))?;
        let tried = trial(&SnapshotFiles::new(&*files), (policies.image(), &ready), &mut || progress.inc(1));
        let report = tried.with_context(|| format!("bundle `{bundle}`"))?;
        compared += report.compared;
        different += report.different.len();
        all &= report.compared == report.replay.streams && report.replay.reasons.is_empty();
        for change in report.different.iter().flat_map(|stream| &stream.changes) {
            if let SpanOutcome::Refused { rule } = &change.after {
                *rules.entry(rule.clone()).or_default() += 1;
            }
        }
        let tried = Tried { bundle, report };
        if args.json {
            outln!("{}", json_line(&tried)?);
        } else {
            show(&tried);
        }
    }
    progress.finish_and_clear();
    if !args.json {
        outln!("{compared} streams compared, {different} different");
        for (rule, times) in &rules {
            outln!("  refused by {}: {times} spans", printable(rule));
        }
    }
    Ok(match (different, all) {
        (1.., _) => REFUSED,
        (0, true) => SUCCESS,
        (0, false) => WARNED,
    })
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let io = || format!("cannot read `{}`", folder.display());
    let entries = fs::read_dir(folder).with_context(io)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().with_context(io)?;
    paths.retain(|path| !is_sealed_texts(path));
    anyhow::ensure!(!paths.is_empty(), "`{}` is empty: it should hold bundles", folder.display());
    paths.sort();
    Ok(paths)
}

fn show(Tried { bundle, report }: &Tried) {
    outln!("{}: {} of {} streams compared", printable(bundle), report.compared, report.replay.streams);
    for reason in &report.replay.reasons {
        let times = if reason.count > 1 { format!(" ({} times)", reason.count) } else { String::new() };
        outln!("  not compared: {}: {}{times}", reason.code, printable(&reason.detail));
    }
    for (why, times) in &report.not_compared {
        outln!("  not compared: {} ({times} times)", printable(why));
    }
    for stream in &report.different {
        let ChangedStreamDecisions { id, mode, changes, stopped_before, stops, admitted_before, admitted } = stream;
        let bytes = match admitted {
            Some(admitted) => format!("{admitted_before} bytes admitted before, {admitted} now"),
            None => "compared up to the first difference".to_owned(),
        };
        outln!("  {} ({}): {bytes}", printable(id), mode.name());
        for SpanChange { start, end, text, before, after } in changes {
            outln!("    {start}..{end} {}, now {}: \"{}\"", words(before), words(after), printable(text));
        }
        if admitted.is_some() && stopped_before != stops {
            let words = |stopped: &Option<String>| printable(stopped.as_deref().unwrap_or("its end"));
            outln!("    ended before: {}; now: {}", words(stopped_before), words(stops));
        }
    }
}

fn words(fate: &SpanOutcome) -> String {
    match fate {
        SpanOutcome::Admitted => "admitted".to_owned(),
        SpanOutcome::Refused { rule } => format!("refused by {}", printable(rule)),
        SpanOutcome::Decomposed { rule } => format!("split by {}", printable(rule)),
        SpanOutcome::NotJudged => "not judged".to_owned(),
    }
}
