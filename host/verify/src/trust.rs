//! The arguments for the trust folder.

use clap::Args;
use portcullis_evidence::verify::{Options, Trust};
use std::path::{Path, PathBuf};

/// Whom to believe.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Folder with roots/*.pem, issuers/*.pub, approvers/*.pub, withholders/*.pub, witnesses/*.pub, revoked.txt, and
    /// sim-roots/*.pem
    #[arg(long, value_name = "DIR")]
    trust: PathBuf,
    /// Check simulated evidence like any other; the exit code is then 10, never 0
    #[arg(long)]
    allow_sim: bool,
    /// Unix second at which certificates must be valid where no witness gives a time
    #[arg(long, value_name = "SECOND")]
    at: Option<u64>,
}

impl TrustArgs {
    pub(crate) fn folder(&self) -> &Path {
        &self.trust
    }

    /// Loads the trust folder and the options. Errors: the folder cannot be used.
    pub fn load(&self) -> anyhow::Result<(Trust, Options)> {
        let trust = Trust::load(&self.trust, self.allow_sim)?;
        Ok((trust, Options { allow_sim: self.allow_sim, at: self.at }))
    }
}
