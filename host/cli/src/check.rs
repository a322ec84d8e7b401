//! `portcullis check`: verifies a bundle and replays it, over one snapshot of its files.

use crate::failure::Failure;
use crate::replay::progress;
use portcullis_evidence::bundle::{Archive, BundleError, Directory, Files, Snapshot};
use portcullis_evidence::report::plain;
use portcullis_evidence::verify::{Options, Report, Status, Trust, verify_snapshot};
use portcullis_recorder::replay::{Error, Outcome, replay};
use portcullis_verify::{CONTRADICTED, TrustArgs};
use std::path::{Path, PathBuf};

/// Checks a bundle whole: `verify` and `replay` over one snapshot of its files.
///
/// Exit codes: 0 everything is affirmed, every stream ended, everything that it was given was judged, and every record replays; 5
/// something is missing, did not end, was not asked for, or is of a version that this program does not know; 10 nothing is contradicted,
/// but simulated, with `--allow-sim`; 3 something is contradicted, or is no bundle; 1 an error; 2 usage.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of the bundle, or a tar archive of it.
    bundle: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    /// The result as one JSON object.
    #[arg(long)]
    json: bool,
}

/// What both found.
#[derive(serde::Serialize)]
struct Checked {
    status: Status,
    exit_code: u8,
    /// Why the files are no bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verify: Option<Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<Outcome>,
}

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let (trust, options) = args.trust.load()?;
    let checked = match look(&args.bundle, &trust, options) {
        Err(Error::Bundle(error)) if !error.is_operational() => broken(&error),
        looked => looked?,
    };
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&checked)?);
    } else {
        show(&checked);
    }
    Ok(checked.exit_code)
}

fn look(path: &Path, trust: &Trust, options: Options) -> Result<Checked, Error> {
    let files: Box<dyn Files> =
        if path.is_file() { Box::new(Archive::open(path)?) } else { Box::new(Directory::new(path)) };
    let snapshot = Snapshot::new(&*files);
    let verified = progress("records verified");
    let report = verify_snapshot(&snapshot, trust, options, &mut |records| verified.set_position(records));
    verified.finish_and_clear();
    let report = report?;
    let replayed = progress("streams replayed");
    let outcome = replay(&snapshot, None, &mut || replayed.inc(1));
    replayed.finish_and_clear();
    Ok(both(report, outcome?))
}

/// The worse of the two.
fn both(report: Report, outcome: Outcome) -> Checked {
    let status = report.status.max(outcome.status);
    let exit_code = status.exit_code(report.simulated);
    Checked { status, exit_code, error: None, verify: Some(report), replay: Some(outcome) }
}

fn broken(error: &BundleError) -> Checked {
    let error = Some(error.to_string());
    Checked { status: Status::Contradicted, exit_code: CONTRADICTED, error, verify: None, replay: None }
}

/// The verdict stands last, and once.
fn show(checked: &Checked) {
    if let Some(report) = &checked.verify {
        outln!("{}", report.without_verdict());
    }
    if let Some(outcome) = &checked.replay {
        outln!("replay       {outcome}");
    }
    if let Some(error) = &checked.error {
        outln!("no bundle: {}", plain(error));
    }
    outln!("verdict      {}", checked.status);
}
