//! `portcullis replay`: makes every descriptor and determination of a bundle again from its texts, and compares them byte by byte.

use crate::failure::{Failure, SUCCESS};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_recorder::replay::{Difference, Error, Outcome, Sample, replay};
use std::io::IsTerminal;
use std::path::PathBuf;

/// A record differs from the replay, or the package is not the image's.
const CONTRADICTED: u8 = 3;
/// Something was not disclosed, or ended in a fault: it could not be replayed.
const WARNED: u8 = 5;

/// Replays text by text: policy, settings, anchors, texts and salts give the descriptors and determinations on record, or not.
///
/// Exit codes: 0 every stream replays; 5 some could not be replayed: something is withheld, a fault ended them, or another release wrote them;
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

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let drawn = args.sample.map(|streams| Sample { streams, seed: &args.seed });
    let progress = progress();
    let outcome = replay(&args.bundle, drawn, &mut || progress.inc(1));
    progress.finish_and_clear();
    let outcome = match outcome {
        Err(Error::Policy(error)) => return Err(error.into()),
        // That says nothing about the bundle; another release can replay it.
        Err(error @ Error::Version(_)) => {
            errln!("not replayable: {error}");
            return Ok(WARNED);
        }
        outcome => outcome.with_context(|| format!("`{}`", args.bundle.display()))?,
    };
    let Some(outcome) = outcome else {
        errln!("the policy package does not compile to the table image that was in force");
        return Ok(CONTRADICTED);
    };
    report(&outcome, args.json)
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
