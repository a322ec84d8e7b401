//! Checks the evidence of a Portcullis card, offline, trusting neither the card nor whoever hands the evidence over.

use clap::Parser;
use portcullis_verify::Command;
use std::process::ExitCode;

/// Check the evidence of a Portcullis card, offline
///
/// Exit codes: 0 affirmed, 5 warned (something is missing or could not be checked), 10 simulated, 3 contradicted or no
/// bundle, 1 an operational error, 2 usage.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    portcullis_verify::run(&Cli::parse().command)
}
