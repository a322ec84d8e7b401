//! The command `extract`.

use crate::console::say;
use portcullis_evidence::bundle;
use portcullis_evidence::extract::extract;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct ExtractBundleArgs {
    /// Folder of the bundle, or a tar archive of it
    bundle: PathBuf,
    /// Folder to make; one that exists is left as it is
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
}

pub(crate) fn run(args: &ExtractBundleArgs) -> anyhow::Result<u8> {
    extract(&*bundle::at(&args.bundle)?, &args.output)?;
    say(format_args!("{}: how to check it stands in its README.md", args.output.display()));
    Ok(0)
}
