//! `portcullis replay`: computes every descriptor and determination of a bundle again from its texts, and compares them
//! byte by byte.

use crate::failure::CommandFailure;
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_audit::{AuditError, ReplayReport, StreamSample, replay_after};
use portcullis_core::hex::HexBytes;
use portcullis_evidence::bundle::{Bundle, BundleError, BundleFiles, SnapshotFiles};
use portcullis_verify::UnsealArgs;
use portcullis_verify::console::{json_line, stdout_terminal};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Replays text by text: policy, settings, anchors, texts and salts give the descriptors and determinations on record,
/// or not.
///
/// Exit codes: 0 every stream ended, everything that a stream was given was judged, and every record replays; 5
/// something is withheld, a stream has no end or ended in a fault, a part of what a stream was given was never judged,
/// or something is of a version that this program does not know; 3 a record is not what the replay gives, or a file of
/// the bundle is broken; 1 an error; 2 usage. `verify` checks whether the records are the card's; `check` does both.
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// Folder of the bundle, or a tar archive of it.
    bundle: PathBuf,
    #[command(flatten)]
    unseal: UnsealArgs,
    #[command(flatten)]
    earlier: EarlierArgs,
    /// Replay this many streams, drawn at random, instead of all.
    #[arg(long, value_name = "STREAMS", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
    /// Seed of the sample. Whoever checks chooses it after the bundle was handed over. Without it the operating system
    /// gives a random seed, which is printed.
    #[arg(long, value_name = "TEXT", requires = "sample")]
    seed: Option<String>,
    /// The result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// The bundles of earlier sessions.
#[derive(clap::Args)]
pub(crate) struct EarlierArgs {
    /// The bundle of an earlier session, where streams continue one of it; may be given several times, the earliest
    /// first. It is replayed, too, but nothing of it is reported: `check` it for itself.
    #[arg(long, value_name = "BUNDLE")]
    earlier: Vec<PathBuf>,
}

impl EarlierArgs {
    /// The files of these bundles, each of which must be finished. Sealed texts are opened if a key was given.
    pub(crate) fn open(&self, unseal: &UnsealArgs) -> Result<Vec<Box<dyn BundleFiles>>, BundleError> {
        let finished = |path: &PathBuf| {
            let files = unseal.earlier(path)?;
            Bundle::open(&*files)?;
            Ok(files)
        };
        self.earlier.iter().map(finished).collect()
    }
}

pub(crate) fn run(args: &ReplayArgs) -> Result<u8, CommandFailure> {
    let seed = match (&args.seed, args.sample) {
        (None, Some(_)) => random_seed()?,
        (seed, _) => seed.clone().unwrap_or_default(),
    };
    let drawn = args.sample.map(|streams| StreamSample { streams, seed: &seed });
    let outcome = match look(args, drawn) {
        Err(AuditError::Bundle(error)) if !error.is_operational() => ReplayReport::broken(&error),
        looked => looked?,
    };
    if args.json {
        outln!("{}", json_line(&outcome)?);
    } else {
        for line in outcome.to_string().lines() {
            outln!("{}", stdout_terminal().wrap(2, line));
        }
    }
    Ok(outcome.status.exit_code(false))
}

fn look(args: &ReplayArgs, drawn: Option<StreamSample<'_>>) -> Result<ReplayReport, AuditError> {
    let files = args.unseal.at(&args.bundle)?;
    let before = args.earlier.open(&args.unseal)?;
    let before: Vec<_> = before.iter().map(|files| SnapshotFiles::new(&**files)).collect();
    let progress = progress("streams replayed");
    let outcome = replay_after(&before, &SnapshotFiles::new(&*files), drawn, &mut || progress.inc(1));
    progress.finish_and_clear();
    outcome
}

/// A random seed, so that the bundle's author could not predict it.
fn random_seed() -> anyhow::Result<String> {
    let mut seed = [0; 16];
    getrandom::fill(&mut seed).map_err(|error| anyhow!("the operating system gives no random seed: {error}"))?;
    Ok(HexBytes(seed).to_string())
}

pub(crate) fn progress(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {pos} {msg}, {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style).with_message(what)
}
