//! The command `verify`.

use crate::console::{json_pretty, say, stdout_terminal};
use crate::exit_code::CONTRADICTED;
use crate::output::bar;
use crate::trust::TrustArgs;
use crate::unseal::UnsealArgs;
use portcullis_evidence::bundle::{BundleError, BundleFiles};
use portcullis_evidence::verify::{TrustedParties, VerifyOptions, VerifyReport, verify};
use portcullis_report::evidence::ReportText;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct VerifyBundleArgs {
    /// Folder of the bundle, or a tar archive of it
    bundle: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    unseal: UnsealArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &VerifyBundleArgs) -> anyhow::Result<u8> {
    let (trust, options) = args.trust.load()?;
    let report = match args.unseal.at(&args.bundle).and_then(|files| check(&*files, &trust, options)) {
        Ok(report) => report,
        Err(error) if args.json && !error.is_operational() => {
            let status =
                serde_json::json!({"status": "contradicted", "exit_code": CONTRADICTED, "error": error.to_string()});
            say(json_pretty(&status)?);
            return Ok(CONTRADICTED);
        }
        Err(error) => return Err(error.into()),
    };
    if args.json {
        say(json_pretty(&report)?);
    } else {
        say(ReportText::new(&report).on(stdout_terminal()));
    }
    Ok(report.exit_code)
}

/// Checks a bundle, with a progress bar.
pub(crate) fn check(
    files: &dyn BundleFiles,
    trust: &TrustedParties,
    options: VerifyOptions,
) -> Result<VerifyReport, BundleError> {
    let bar = bar(files);
    let report = verify(files, trust, options, &mut |records| bar.set_position(records));
    bar.finish_and_clear();
    report
}
