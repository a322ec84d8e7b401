//! `verify`.

use crate::output::{bar, print};
use crate::{CONTRADICTED, TrustArgs};
use portcullis_evidence::bundle::{BundleError, Directory};
use portcullis_evidence::verify::{Options, Report, Trust, verify};
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the bundle
    bundle: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let (trust, options) = args.trust.load()?;
    match check(&args.bundle, &trust, options) {
        Ok(report) if args.json => print(&serde_json::to_string_pretty(&report)?).map(|()| report.exit_code),
        Ok(report) => print(&report).map(|()| report.exit_code),
        Err(error) if args.json && !error.is_operational() => {
            let report =
                serde_json::json!({"status": "contradicted", "exit_code": CONTRADICTED, "error": error.to_string()});
            print(&serde_json::to_string_pretty(&report)?).map(|()| CONTRADICTED)
        }
        Err(error) => Err(error.into()),
    }
}

/// Checks a bundle, with a bar for the long ones.
pub(crate) fn check(bundle: &Path, trust: &Trust, options: Options) -> Result<Report, BundleError> {
    let files = Directory::new(bundle);
    let bar = bar(&files);
    let report = verify(&files, trust, options, &mut |records| bar.set_position(records));
    bar.finish_and_clear();
    report
}
