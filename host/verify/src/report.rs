//! The command `report`.

use crate::console::say;
use crate::output::write_new;
use crate::trust::TrustArgs;
use crate::unseal::UnsealArgs;
use crate::verify::check;
use portcullis_report::PageOrigin;
use portcullis_report::evidence::{EvidencePageInputs, page};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct EvidenceReportArgs {
    /// Folder of the bundle, or a tar archive of it
    bundle: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    unseal: UnsealArgs,
    /// The page; a file that exists is left as it is
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Writes the page, even if a property is contradicted. The exit code is that of `verify`.
pub(crate) fn run(args: &EvidenceReportArgs) -> anyhow::Result<u8> {
    let (trust, options) = args.trust.load()?;
    let report = check(&*args.unseal.at(&args.bundle)?, &trust, options)?;
    // The machine's clock only dates the page; no decision depends on it.
    let made = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs());
    let making = EvidencePageInputs {
        name: args.bundle.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        origin: PageOrigin { program: format!("portcullis-verify {}", env!("CARGO_PKG_VERSION")), made },
        trust: args.trust.folder().display().to_string(),
        trusted: trust.files.clone(),
        at: options.at,
        allow_sim: options.allow_sim,
        allow_not_enforced: options.allow_not_enforced,
    };
    write_new(&args.output, page(&report, &making).as_bytes())?;
    say(format_args!("{}: {}", args.output.display(), report.status));
    Ok(report.exit_code)
}
