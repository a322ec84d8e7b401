//! The arguments for the trust folder, and for what is checked with it.

use clap::Args;
use portcullis_evidence::verify::series::{GivenLog, LogError, read_log};
use portcullis_evidence::verify::{TrustedParties, VerifyOptions};
use std::path::{Path, PathBuf};

/// Whom to believe.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Folder with roots/*.pem, issuers/*.pub, approvers/*.pub, withholders/*.pub, witnesses/*.pub, log-policy.txt,
    /// revoked.txt, and sim-roots/*.pem
    #[arg(long, value_name = "DIR")]
    trust: PathBuf,
    /// Accept simulated evidence (the exit code is then 10, never 0), or streams in which nothing was prevented,
    /// without their warning; may be given several times
    #[arg(long, value_name = "WHAT", value_enum)]
    allow: Vec<VerifyAllowance>,
    /// The same as `--allow sim`
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
    pub fn load(&self) -> anyhow::Result<(TrustedParties, VerifyOptions)> {
        let allow_sim = self.allow_sim || self.allow.contains(&VerifyAllowance::Sim);
        let allow_not_enforced = self.allow.contains(&VerifyAllowance::NotEnforced);
        let trust = TrustedParties::load(&self.trust, allow_sim)?;
        Ok((trust, VerifyOptions { allow_sim, allow_not_enforced, at: self.at }))
    }
}

/// What can be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum VerifyAllowance {
    // Without doc comments, so that the help of the commands keeps its form.
    Sim,
    NotEnforced,
}

/// The issuer's public log.
#[derive(Debug, Args)]
pub struct PublicLogArgs {
    /// Folder with the issuer's public log (C2SP tlog-tiles): also find sessions of which no bundle is given
    ///
    /// `log-policy.txt` in the trust folder (C2SP tlog-policy) names the log, the witnesses, and how many of them must
    /// have cosigned it. With this file, a log that is not given is a warning.
    #[arg(long, value_name = "DIR")]
    public_log: Option<PathBuf>,
}

impl PublicLogArgs {
    /// Reads the log, if one is given; a log that is damaged or not trusted is a result. Errors: the trust folder has
    /// no policy; reading failed.
    pub fn read(&self, trust: &TrustedParties) -> Result<Option<GivenLog>, LogError> {
        read_log(self.public_log.as_deref(), trust)
    }
}
