//! The commands of `portcullis-verify`. A command reads evidence and the trust folder, prints its findings, and returns
//! an exit code.
//!
//! Exit codes: 0 affirmed, 5 warned, 10 simulated, 3 contradicted or not a bundle, 1 an operational error, 2 usage.
//! [`console`] describes the exit code if the output cannot be written.
//!
//! [`main()`] is the whole program. A program with more commands includes [`EvidenceCommand`] in its own, and runs it
//! with [`run_evidence`]. The checks themselves are in `portcullis-evidence`: a program that needs a report and not an
//! output calls that crate.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use clap::FromArgMatches;
//! use portcullis_verify::{EvidenceCommand, command};
//!
//! let line = ["portcullis-verify", "verify", "first.bundle", "--trust", "trust"];
//! let parsed = EvidenceCommand::from_arg_matches(&command().try_get_matches_from(line)?)?;
//! assert!(matches!(parsed, EvidenceCommand::Verify(_)));
//! # Ok(())
//! # }
//! ```

pub mod console;
pub mod examples;
mod exit_code;
mod extract;
mod inspect;
mod output;
mod proxy;
mod receipt;
mod report;
mod series;
mod trust;
mod unseal;
mod verify;

pub use exit_code::{CONTRADICTED, SIMULATED, WARNED};
pub use trust::{PublicLogArgs, TrustArgs};
pub use unseal::UnsealArgs;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Check the evidence of a Portcullis card, offline
///
/// Exit codes: 0 affirmed, 5 warned (something is missing or could not be checked), 10 simulated, 3 contradicted or not
/// a bundle, 1 an operational error, 2 usage.
#[derive(Debug, Parser)]
#[command(name = "portcullis-verify", version)]
struct VerifyCli {
    #[command(flatten)]
    colour: console::ColourArg,
    #[command(subcommand)]
    command: VerifyCommand,
}

/// The program's commands with their examples.
#[must_use]
pub fn command() -> clap::Command {
    examples::add(VerifyCli::command(), &[examples::EVIDENCE, examples::VERIFIER].concat())
}

/// Parses the program's arguments and runs the command.
#[must_use]
pub fn main() -> ExitCode {
    let matches = command().get_matches();
    let cli = VerifyCli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    cli.colour.set();
    run(&cli.command)
}

/// A command of this program.
#[derive(Debug, Subcommand)]
pub enum VerifyCommand {
    /// Shared with other programs.
    #[command(flatten)]
    Evidence(EvidenceCommand),
    /// Check a bundle and write what was found as one HTML page
    Report(report::EvidenceReportArgs),
    /// Start `portcullis-proxy`, a program of its own: use that name
    Proxy(proxy::ProxyLaunchArgs),
}

/// A command on evidence, which other programs can have, too.
#[derive(Debug, Subcommand)]
pub enum EvidenceCommand {
    /// Check a bundle: five properties, each affirmed, warned of or contradicted
    Verify(verify::VerifyBundleArgs),
    /// Check the sessions of a card, one bundle each in a folder, as a chain without gaps
    VerifySeries(series::VerifySeriesArgs),
    /// Show what a bundle holds; nothing is checked
    Inspect(inspect::InspectBundleArgs),
    /// Make the proof of one record for whoever read its text
    Prove(receipt::ProveArgs),
    /// Check that a text was admitted, by its receipt and the proof of its record
    CheckReceipt(receipt::CheckArgs),
    /// Take a bundle apart into files for openssl, sha256sum and Python
    Extract(extract::ExtractBundleArgs),
}

/// Runs a command; prints an error to stderr.
fn run(command: &VerifyCommand) -> ExitCode {
    match command {
        VerifyCommand::Evidence(command) => run_evidence(command),
        VerifyCommand::Report(args) => exit(report::run(args)),
        VerifyCommand::Proxy(args) => exit(proxy::run(args)),
    }
}

/// Runs a command on evidence, like [`run`].
#[must_use]
pub fn run_evidence(command: &EvidenceCommand) -> ExitCode {
    exit(match command {
        EvidenceCommand::Verify(args) => verify::run(args),
        EvidenceCommand::VerifySeries(args) => series::run(args),
        EvidenceCommand::Inspect(args) => inspect::run(args),
        EvidenceCommand::Prove(args) => receipt::prove(args),
        EvidenceCommand::CheckReceipt(args) => receipt::check(args),
        EvidenceCommand::Extract(args) => extract::run(args),
    })
}

fn exit(done: anyhow::Result<u8>) -> ExitCode {
    console::exit(done.unwrap_or_else(|error| {
        console::error(console::describe(&error));
        output::code_of(&error)
    }))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_has_examples_that_parse() {
        assert_eq!(super::examples::problems(&super::command()), [""; 0]);
    }
}
