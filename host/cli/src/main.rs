//! `portcullis`: governs texts, works on policies, and manages cards.

/// Writes a line to stdout, as [`portcullis_verify::console`] does.
macro_rules! outln {
    ($($text:tt)*) => { ::portcullis_verify::console::say(format_args!($($text)*)) };
}

/// Writes a line to stderr, as [`portcullis_verify::console`] does.
macro_rules! errln {
    ($($text:tt)*) => { ::portcullis_verify::console::warn(format_args!($($text)*)) };
}

mod anchors;
mod attest;
mod authority;
mod bitstream;
mod bundle;
mod card;
mod check;
mod choices;
mod compose;
mod engine;
mod examples;
mod explain;
mod failure;
mod gated;
mod intake;
mod issuer;
mod issuer_client;
mod journal;
mod lane;
mod lineage;
mod machine;
mod manual;
mod open;
mod output;
mod policy;
mod prefilter;
mod recording;
mod replay;
mod report;
mod run;
mod serve;
mod trial;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use portcullis_verify::console::{ColourArg, Stdout, exit};
use portcullis_verify::examples as evidence;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// A gate for language-model output that the model's operator cannot change.
#[derive(Parser)]
#[command(name = "portcullis", version, max_term_width = 100)]
struct Args {
    #[command(flatten)]
    colour: ColourArg,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Govern texts or candidates, and release what is admitted.
    Run(Box<run::Args>),
    /// Show how one text is mapped, and which rows decide.
    Explain(explain::Args),
    /// Write, check, test and compare policies.
    #[command(subcommand)]
    Policy(policy::Command),
    /// Judge the structure of prompts, documents and tool results before anything acts on them.
    Prefilter(prefilter::Args),
    /// Serve the gate to other processes.
    Gated(Box<gated::Args>),
    /// Put the gate in front of a model server: an HTTP gateway for clients of OpenAI's and Anthropic's APIs.
    Serve(Box<serve::Args>),
    /// Build and look at anchor stores.
    #[command(subcommand)]
    Anchors(anchors::Command),
    /// Look into a ledger.
    #[command(subcommand)]
    Lineage(lineage::Command),
    /// Write a ledger as one self-contained HTML page.
    Report(report::Args),
    #[command(flatten)]
    Evidence(portcullis_verify::Evidence),
    /// Check a bundle whole: verify and replay it.
    Check(check::Args),
    /// Make every determination of a bundle again from its texts.
    Replay(replay::Args),
    /// Attest a period: a signed statement of what the bundles of a card or a fleet show.
    Attest(Box<attest::Args>),
    /// Look after bundles.
    #[command(subcommand)]
    Bundle(bundle::Command),
    /// Certify cards.
    #[command(subcommand)]
    Ca(authority::Ca),
    /// Run an authority as a service.
    #[command(subcommand)]
    Authority(issuer::Command),
    /// Issue session tickets.
    #[command(subcommand)]
    Ticket(authority::Ticket),
    /// See checkpoints from the outside.
    #[command(subcommand)]
    Witness(authority::WitnessCommand),
    /// Look at a card, test it, measure it.
    #[command(subcommand)]
    Card(card::Command),
    /// Compare bitstreams with their manifests.
    #[command(subcommand)]
    Bitstream(bitstream::Command),
    /// Print completions for a shell.
    Completions { shell: clap_complete::Shell },
    /// Write manual pages, and completions for bash, zsh and fish, of `portcullis`, `portcullis-verify` and
    /// `portcullis-proxy`.
    Manual {
        /// Folder for the files; it is made where it is missing.
        #[arg(long, value_name = "DIR")]
        output: PathBuf,
    },
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    args.colour.set();
    let result = match args.command {
        Command::Run(args) => run::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Policy(command) => policy::run(&command),
        Command::Prefilter(args) => prefilter::run(&args),
        Command::Gated(args) => gated::run(&args),
        Command::Serve(args) => serve::run(&args, command()),
        Command::Anchors(command) => anchors::run(&command),
        Command::Lineage(command) => lineage::run(&command),
        Command::Report(args) => report::run(&args),
        Command::Evidence(command) => return portcullis_verify::run_evidence(&command),
        Command::Check(args) => check::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Attest(args) => attest::run(&args),
        Command::Bundle(command) => bundle::run(&command),
        Command::Ca(command) => authority::ca(&command),
        Command::Authority(command) => issuer::run(&command),
        Command::Ticket(command) => authority::ticket(&command),
        Command::Witness(command) => authority::witness(&command),
        Command::Card(command) => card::run(&command),
        Command::Bitstream(command) => bitstream::run(&command),
        Command::Completions { shell } => completions(shell),
        Command::Manual { output } => manual::write(&output, command()),
    };
    exit(result.unwrap_or_else(failure::Failure::report))
}

fn command() -> clap::Command {
    evidence::add(Args::command(), &[evidence::EVIDENCE, examples::EXAMPLES].concat())
}

fn completions(shell: clap_complete::Shell) -> Result<u8, failure::Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "portcullis", &mut script);
    Stdout.write_all(&script)?;
    Ok(failure::SUCCESS)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_has_examples_that_parse() {
        assert_eq!(portcullis_verify::examples::problems(&super::command()), [""; 0]);
    }
}
