//! The command `proxy`: passes on only answers that the evidence proves.

use crate::console::say;
use crate::trust::TrustArgs;
use anyhow::Context;
use portcullis_client::Expectations;
use portcullis_proxy::{Settings, serve};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `proxy`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  portcullis-verify proxy --gateway https://gate.example.org/v1 --trust trust --constant 'I cannot say that.'
  curl http://127.0.0.1:8090/v1/chat/completions -H 'content-type: application/json' \\
    -d '{\"model\": \"any\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'")]
pub struct Args {
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
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let (trust, options) = args.trust.load()?;
    let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()));
    let settings = Settings {
        listen: args.listen,
        gateway: args.gateway.clone(),
        authorities: args.gateway_ca.as_ref().map(read).transpose()?,
        expected: Expectations { trust, options, constants: args.constant.clone() },
        patience: Duration::from_secs(args.patience),
    };
    // A signal may end the process at any time, because the process has no state to save.
    serve(settings, std::future::pending(), |address| {
        say(format_args!("listening on http://{address}/v1"));
        if options.allow_sim {
            say(format_args!("SIMULATED cards are believed: their keys are public, and this is not evidence"));
        }
    })?;
    Ok(0)
}
