//! The command `verify-series`.

use crate::console::{json_pretty, say, stdout_terminal};
use crate::trust::{PublicLogArgs, TrustArgs};
use crate::verify::check;
use anyhow::Context;
use portcullis_evidence::bundle;
use portcullis_evidence::verify::series::{ChainStart, join};
use portcullis_report::evidence::SeriesText;
use portcullis_sealed::is_sealed_texts;
use std::fs;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct VerifySeriesArgs {
    /// Folder whose entries are bundles, each a folder or a tar archive
    folder: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    log: PublicLogArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &VerifySeriesArgs) -> anyhow::Result<u8> {
    let (trust, options) = args.trust.load()?;
    let io = || format!("cannot read `{}`", args.folder.display());
    let (mut reports, mut unfinished, mut broken) = (Vec::new(), Vec::new(), Vec::new());
    for entry in fs::read_dir(&args.folder).with_context(io)? {
        let path = entry.with_context(io)?.path();
        if is_sealed_texts(&path) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if bundle::is_unfinished(&path) {
            unfinished.push(name);
            continue;
        }
        match bundle::at(&path).and_then(|files| check(&*files, &trust, options)) {
            Ok(report) => reports.push((name, report)),
            // One entry of the folder hides no other one. A failure to read says nothing about the evidence.
            Err(error) if error.is_no_bundle() => broken.push((name, error.to_string())),
            Err(error) => return Err(error).with_context(|| format!("bundle `{name}`")),
        }
    }
    let log = args.log.read(&trust)?;
    unfinished.sort();
    broken.sort();
    let series = join(reports, ChainStart::First, log.as_ref()).with_broken(broken).with_unfinished(unfinished);
    if args.json {
        say(json_pretty(&series)?);
    } else {
        say(SeriesText { series: &series, terminal: stdout_terminal() });
    }
    Ok(series.exit_code)
}
