//! `portcullis authority serve`: the running issuer.

use crate::authority::IssuerArgs;
use crate::failure::{CommandFailure, SUCCESS};
use crate::intake::Stop;
use portcullis_issuer::config::IssuerConfig;
use portcullis_issuer::serve;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Interval between checks for signals.
const LOOK: Duration = Duration::from_millis(20);

#[derive(clap::Subcommand)]
pub(crate) enum AuthorityCommand {
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

pub(crate) fn run(command: &AuthorityCommand) -> Result<u8, CommandFailure> {
    let AuthorityCommand::Serve { issuer, config, listen } = command;
    let stop = Stop::on_signals()?;
    let mut config = IssuerConfig::read(config).map_err(anyhow::Error::from)?;
    config.listen = listen.unwrap_or(config.listen);
    portcullis_gateway::logs::to_stderr();
    let stopped = async move {
        while !stop.is_asked() {
            tokio::time::sleep(LOOK).await;
        }
    };
    serve(&config, || issuer.open(), stopped, |address| outln!("listening on http://{address}"))?;
    Ok(SUCCESS)
}
