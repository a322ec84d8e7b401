//! `portcullis check`: verifies a bundle and replays it, over one snapshot of its files.

use crate::failure::CommandFailure;
use crate::replay::{EarlierArgs, progress};
use portcullis_audit::{AuditError, CheckReport, check_after};
use portcullis_evidence::verify::{TrustedParties, VerifyOptions};
use portcullis_report::escape::printable;
use portcullis_report::evidence::{ReportText, VerdictText};
use portcullis_verify::console::{json_pretty, stdout_terminal};
use portcullis_verify::{TrustArgs, UnsealArgs};
use std::path::PathBuf;

/// Checks a bundle whole: `verify` and `replay` over one snapshot of its files.
///
/// Exit codes: 0 everything is affirmed, every stream ended, everything that a stream was given was judged, and every
/// record replays; 5 something is missing or could not be checked, a stream has no end, a part of what a stream was
/// given was never judged, or something is of a version that this program does not know; 10 nothing is contradicted,
/// but simulated, with `--allow sim`, or nothing was prevented; 3 something is contradicted, or is not a bundle; 1 an
/// error; 2 usage.
#[derive(clap::Args)]
pub(crate) struct BundleCheckArgs {
    /// Folder of the bundle, or a tar archive of it.
    bundle: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    unseal: UnsealArgs,
    #[command(flatten)]
    earlier: EarlierArgs,
    /// The result as one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &BundleCheckArgs) -> Result<u8, CommandFailure> {
    let (trust, options) = args.trust.load()?;
    let checked = match look(args, &trust, options) {
        Err(AuditError::Bundle(error)) if !error.is_operational() => CheckReport::broken(&error),
        looked => looked?,
    };
    if args.json {
        outln!("{}", json_pretty(&checked)?);
    } else {
        show(&checked);
    }
    Ok(checked.exit_code)
}

fn look(args: &BundleCheckArgs, trust: &TrustedParties, options: VerifyOptions) -> Result<CheckReport, AuditError> {
    let files = args.unseal.at(&args.bundle)?;
    let earlier = args.earlier.open(&args.unseal)?;
    let (verified, replayed) = (progress("records verified"), progress("streams replayed"));
    let mut on_records = |records| verified.set_position(records);
    let mut on_stream = || {
        verified.finish_and_clear();
        replayed.inc(1);
    };
    let checked = check_after(&earlier, &*files, trust, options, (&mut on_records, &mut on_stream));
    verified.finish_and_clear();
    replayed.finish_and_clear();
    checked
}

/// Prints the report. The verdict comes first, and only once.
fn show(checked: &CheckReport) {
    let terminal = stdout_terminal();
    match &checked.verify {
        Some(report) => outln!("{}", ReportText::new(report).on(terminal).concluding(checked.status)),
        None => outln!("{}", VerdictText { status: checked.status, terminal }),
    }
    if let Some(outcome) = &checked.replay {
        for line in format!("replay       {outcome}").lines() {
            outln!("{}", terminal.wrap(13, line));
        }
    }
    if let Some(error) = &checked.error {
        outln!("{}", terminal.wrap(2, &format!("no bundle: {}", printable(error))));
    }
}
