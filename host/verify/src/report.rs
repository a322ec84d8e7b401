//! `report`.

use crate::console::say;
use crate::output::write_new;
use crate::trust::TrustArgs;
use crate::verify::check;
use portcullis_report::evidence::page;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the bundle, or a tar archive of it
    bundle: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    /// The page; a file that exists is left as it is
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// The exit code is that of `verify`: a page about a contradiction was written all the same.
pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let (trust, options) = args.trust.load()?;
    let report = check(&args.bundle, &trust, options)?;
    let name = args.bundle.file_name().unwrap_or_default().to_string_lossy();
    write_new(&args.output, page(&report, &name).as_bytes())?;
    say(format_args!("{}: {}", args.output.display(), report.status));
    Ok(report.exit_code)
}
