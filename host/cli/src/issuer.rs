//! `portcullis authority serve`, the running issuer, and the arguments of the commands that use it.

use crate::authority::{IssuerArgs, digits};
use crate::failure::{Failure, SUCCESS};
use crate::intake::Stop;
use anyhow::{Context, anyhow};
use portcullis_core::wire::Life;
use portcullis_evidence::bundle;
use portcullis_evidence::checkpoint::SignedCheckpoint;
use portcullis_issuer::client::IssuerClient;
use portcullis_issuer::config::{Config, token};
use portcullis_issuer::serve;
use portcullis_issuer::wire::ReportAnswer;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Interval between checks for signals.
const LOOK: Duration = Duration::from_millis(20);
/// Seconds for which a request to an issuer is repeated, by default.
const WAIT: u32 = 30;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Serve an issuer: sessions get their tickets over HTTP (`--issuer`), and report their opening and their end.
    ///
    /// The configuration (TOML) lists the clients with their tokens, the cards with their seats, and the policies with
    /// the terms of their tickets. The service listens on an address of the loopback interface; for clients on other
    /// machines, put a server with TLS in front of it. `/livez` and `/readyz` need no token: the second is 200 while
    /// the store answers and has every event of the public log. Several issuers can serve one store and one public log.
    ///
    /// SIGINT and SIGTERM end the service after the requests in progress. The second signal ends the process at once.
    ///
    /// Exit codes: 0 ended by a signal; 1 an error; 2 usage.
    Serve {
        #[command(flatten)]
        issuer: IssuerArgs,
        /// Configuration (TOML).
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Where clients connect; only an address of the loopback interface is taken. It overrides `listen` of the
        /// configuration, whose default is 127.0.0.1:8630.
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<SocketAddr>,
    },
}

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

pub(crate) fn run(command: &Command) -> Result<u8, Failure> {
    let Command::Serve { issuer, config, listen } = command;
    let stop = Stop::on_signals()?;
    let shown = config.display();
    let text = std::fs::read_to_string(config).with_context(|| format!("cannot read `{shown}`"))?;
    let mut config = Config::parse(&text).with_context(|| format!("the configuration `{shown}`"))?;
    config.listen = listen.unwrap_or(config.listen);
    portcullis_gateway::logs::to_stderr();
    let stopped = async move {
        while !stop.is_asked() {
            tokio::time::sleep(LOOK).await;
        }
    };
    let served = serve(&config, issuer.open()?, stopped, |address| outln!("listening on http://{address}"));
    served.map_err(anyhow::Error::from)?;
    Ok(SUCCESS)
}

/// Reports the opening checkpoint of a bundle's session to a running issuer, and the closing one if there is one.
pub(crate) fn report(issuer: &IssuerClientArgs, folder: &Path, public_key: &str) -> anyhow::Result<()> {
    let client = issuer.client()?.ok_or_else(|| anyhow!("`--issuer` and `--issuer-token` say to whom"))?;
    let public_key = digits("public key", public_key)?;
    let said = |what: &str, answer: &ReportAnswer| {
        let ReportAnswer { seat, serial, state } = answer;
        outln!("{what} reported: ticket {serial} of seat {seat} is {state}");
    };
    let read = |serial| {
        let path = folder.join(bundle::checkpoint(serial));
        std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
    };
    said("opening", &client.opened(public_key, &read(0)?)?);
    let mut last = 0;
    while folder.join(bundle::checkpoint(last + 1)).exists() {
        last += 1;
    }
    let closing = read(last)?;
    if SignedCheckpoint::parse(&closing)?.checkpoint.state != Life::Closing {
        errln!("the bundle has no closing checkpoint: the session did not end, or the bundle is not complete");
        return Ok(());
    }
    said("end", &client.closed(public_key, &closing)?);
    Ok(())
}
