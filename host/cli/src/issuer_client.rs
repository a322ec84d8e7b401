//! The arguments of the commands that ask a running issuer, and `ticket report`.

use anyhow::{Context, anyhow};
use portcullis_core::wire::Life;
use portcullis_evidence::bundle;
use portcullis_evidence::checkpoint::CoseCheckpoint;
use portcullis_issuer::client::IssuerClient;
use portcullis_issuer::config::token;
use portcullis_issuer::wire::ReportAnswer;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Seconds for which a request to an issuer is repeated, by default.
const WAIT: u32 = 30;

/// Which issuer, over HTTP.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Issuer options")]
pub(crate) struct IssuerClientArgs {
    /// Take the session's ticket from the issuer at this address (`portcullis authority serve`), and report the opening
    /// and the end of the session to it: `https://HOST:PORT`, or `http://` with a host of the loopback interface.
    /// Without a ticket, or if the issuer does not accept the opening, there is no session.
    #[arg(long, value_name = "URL", requires = "bundle", requires = "issuer_token")]
    issuer: Option<String>,
    /// File with the token that the issuer has given to this client.
    #[arg(long, value_name = "FILE", requires = "issuer")]
    issuer_token: Option<PathBuf>,
    /// Certificates to trust for an `https` issuer, PEM. Default: the authorities of Mozilla's programme.
    #[arg(long, value_name = "FILE", requires = "issuer")]
    issuer_ca: Option<PathBuf>,
    /// Seconds for which a request is repeated while the issuer cannot be reached. Default: 30.
    #[arg(long, value_name = "SECONDS", requires = "issuer")]
    issuer_wait: Option<u32>,
}

impl IssuerClientArgs {
    #[cfg(feature = "services")]
    pub(crate) const fn is_given(&self) -> bool {
        self.issuer.is_some()
    }

    /// The client; `None` without `--issuer`.
    pub(crate) fn client(&self) -> anyhow::Result<Option<Arc<IssuerClient>>> {
        let (Some(url), Some(file)) = (&self.issuer, &self.issuer_token) else { return Ok(None) };
        let read = |path: &PathBuf| {
            std::fs::read_to_string(path).with_context(|| format!("cannot read the certificates `{}`", path.display()))
        };
        let authorities = self.issuer_ca.as_ref().map(read).transpose()?;
        let wait = Duration::from_secs(self.issuer_wait.unwrap_or(WAIT).into());
        let client = IssuerClient::new(url, token(file)?, authorities.as_deref(), wait)?;
        Ok(Some(Arc::new(client)))
    }
}

/// Reports the opening checkpoint of a bundle's session to a running issuer, and the closing one if there is one.
/// Returns whether there is one: without it, the ticket stays open.
pub(crate) fn report(issuer: &IssuerClientArgs, folder: &Path, public_key: [u8; 32]) -> anyhow::Result<bool> {
    let client = issuer.client()?.ok_or_else(|| anyhow!("`--issuer` and `--issuer-token` say to whom"))?;
    let said = |what: &str, answer: &ReportAnswer| {
        let ReportAnswer { seat, serial, state } = answer;
        outln!("{what} reported: ticket {serial} of seat {seat} is {state}");
    };
    let read = |serial| {
        let path = folder.join(bundle::checkpoint(serial));
        std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    let opened = client.opened(public_key, &read(0)?)?;
    said("opening", &opened);
    let mut last = 0;
    while folder.join(bundle::checkpoint(last + 1)).exists() {
        last += 1;
    }
    let closing = read(last)?;
    if CoseCheckpoint::parse(&closing)?.checkpoint.state != Life::Closing {
        errln!(
            "the bundle has no closing checkpoint, so the ticket stays open: report the session again once it has ended, \
             or give the ticket up with `portcullis ticket abandon`"
        );
        return Ok(false);
    }
    said("end", &client.closed(public_key, opened.seat, &closing)?);
    Ok(true)
}
