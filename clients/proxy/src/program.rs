//! The program `portcullis-proxy`: arguments, messages and exit codes.

use crate::{ProxySettings, serve};
use anyhow::Context;
use clap::{CommandFactory, FromArgMatches, Parser};
use portcullis_client::AnswerExpectations;
use portcullis_verify::TrustArgs;
use portcullis_verify::console::{self, say};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Stand between clients and a gateway, and pass only what the card admitted for each request
///
/// The program runs until a signal ends it. Exit codes: 1 an error, 2 usage.
#[derive(Debug, Parser)]
#[command(name = "portcullis-proxy", version)]
#[command(after_long_help = "Examples:
  portcullis-proxy --gateway https://gate.example.org/v1 --trust trust --constant 'I cannot say that.'
  curl http://127.0.0.1:8090/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"model\": \"any\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'")]
struct ProxyArgs {
    /// Base of the gateway's paths, such as `https://gate.example.org/v1`
    #[arg(long, value_name = "URL")]
    gateway: String,
    /// Where clients connect: an address of the loopback interface
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Certificates (PEM) that may vouch for the gateway; without it those of the system
    #[arg(long, value_name = "FILE")]
    gateway_ca: Option<PathBuf>,
    /// A text of the policy in place of refused ones (`[refusal]` in its policy.toml); may be given several times
    #[arg(long, value_name = "TEXT")]
    constant: Vec<String>,
    /// Longest time for an answer and its proof, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    patience: u64,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    colour: console::ColourArg,
}

/// The program's arguments with their examples.
#[must_use]
pub fn command() -> clap::Command {
    ProxyArgs::command()
}

/// Parses the program's arguments and serves until a signal ends the process. Returns exit code 1 if it cannot serve.
#[must_use]
pub fn main() -> ExitCode {
    let cli = ProxyArgs::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    cli.colour.set();
    console::exit(match run(&cli) {
        Ok(()) => 0,
        Err(error) => {
            console::error(console::describe(&error));
            1
        }
    })
}

fn run(cli: &ProxyArgs) -> anyhow::Result<()> {
    let (trust, options) = cli.trust.load()?;
    let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()));
    let settings = ProxySettings {
        listen: cli.listen,
        gateway: cli.gateway.clone(),
        authorities: cli.gateway_ca.as_ref().map(read).transpose()?,
        expected: AnswerExpectations { trust, options, constants: cli.constant.clone() },
        patience: Duration::from_secs(cli.patience),
    };
    // A signal may end the process at any time, because the process has no state to save.
    serve(settings, std::future::pending(), |address| {
        say(format_args!("listening on http://{address}/v1"));
        if options.allow_sim {
            say(format_args!("SIMULATED cards are believed: their keys are public, and this is not evidence"));
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_examples_parse() {
        assert_eq!(portcullis_verify::examples::problems(&super::command()), [""; 0]);
    }
}
