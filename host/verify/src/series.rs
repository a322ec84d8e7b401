//! The command `verify-series`.

use crate::console::{json_pretty, say, stdout_terminal};
use crate::trust::{PublicLogArgs, TrustArgs};
use crate::verify::check;
use anyhow::Context;
use portcullis_evidence::bundle;
use portcullis_evidence::verify::series::{Start, join};
use portcullis_report::evidence::SeriesText;
use portcullis_sealed::is_sealed_texts;
use std::fs;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
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

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let (trust, options) = args.trust.load()?;
    let io = || format!("cannot read `{}`", args.folder.display());
    let (mut reports, mut unfinished) = (Vec::new(), Vec::new());
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
        let report = bundle::at(&path)
            .and_then(|files| check(&*files, &trust, options))
            .with_context(|| format!("bundle `{name}`"))?;
        reports.push((name, report));
    }
    let log = args.log.read(&trust)?;
    unfinished.sort();
    let series = join(reports, Start::First, log.as_ref()).with_unfinished(unfinished);
    if args.json {
        say(json_pretty(&series)?);
    } else {
        say(SeriesText { series: &series, terminal: stdout_terminal() });
    }
    Ok(series.exit_code)
}
