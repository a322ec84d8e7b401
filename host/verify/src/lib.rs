//! The commands of `portcullis-verify`: they read evidence and the trust folder, write their findings, and return an
//! exit code.
//!
//! Exit codes: 0 affirmed, 5 warned, 10 simulated, 3 contradicted or not a bundle, 1 an operational error, 2 usage.
//! [`console`] describes the exit code when the output cannot be written.

pub mod console;
mod exit_code;
mod extract;
mod inspect;
mod output;
mod proxy;
mod receipt;
mod report;
mod series;
mod trust;
mod verify;

pub use exit_code::{CONTRADICTED, SIMULATED, WARNED};
pub use trust::TrustArgs;

use clap::Subcommand;
use std::process::ExitCode;

/// A command of this program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What other programs have too.
    #[command(flatten)]
    Evidence(Evidence),
    /// Check a bundle and write what was found as one HTML page
    Report(report::Args),
    /// Stand between clients and a gateway, and pass only what the card admitted for each request
    Proxy(proxy::Args),
}

/// A command about evidence, that other programs can have too.
#[derive(Debug, Subcommand)]
pub enum Evidence {
    /// Check a bundle: five properties, each affirmed, warned of or contradicted
    Verify(verify::Args),
    /// Check the sessions of a card, one bundle each in a folder, as a chain without gaps
    VerifySeries(series::Args),
    /// Show what a bundle holds; nothing is checked
    Inspect(inspect::Args),
    /// Make the proof of one record for whoever read its text
    Prove(receipt::ProveArgs),
    /// Check that a text was admitted, by its receipt and the proof of its record
    CheckReceipt(receipt::CheckArgs),
    /// Take a bundle apart into files for openssl, sha256sum and Python
    Extract(extract::Args),
}

/// Runs a command. What went wrong is said on stderr.
#[must_use]
pub fn run(command: &Command) -> ExitCode {
    match command {
        Command::Evidence(command) => run_evidence(command),
        Command::Report(args) => exit(report::run(args)),
        Command::Proxy(args) => exit(proxy::run(args)),
    }
}

/// Runs a command about evidence, as [`run`] does.
#[must_use]
pub fn run_evidence(command: &Evidence) -> ExitCode {
    exit(match command {
        Evidence::Verify(args) => verify::run(args),
        Evidence::VerifySeries(args) => series::run(args),
        Evidence::Inspect(args) => inspect::run(args),
        Evidence::Prove(args) => receipt::prove(args),
        Evidence::CheckReceipt(args) => receipt::check(args),
        Evidence::Extract(args) => extract::run(args),
    })
}

fn exit(done: anyhow::Result<u8>) -> ExitCode {
    console::exit(done.unwrap_or_else(|error| {
        console::warn(format_args!("error: {}", console::describe(&error)));
        output::code_of(&error)
    }))
}
