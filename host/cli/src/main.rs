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
mod groups;
mod intake;
#[cfg(feature = "services")]
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
mod policy_case;
mod policy_measure;
mod prefilter;
mod recording;
mod replay;
mod report;
mod run;
#[cfg(feature = "services")]
mod serve;
mod trial;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use portcullis_verify::console::{ColourArg, InfallibleStdout, exit};
use portcullis_verify::examples as evidence;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// A gate for language-model output that the model's operator cannot change.
#[derive(Parser)]
#[command(name = "portcullis", version, max_term_width = 100)]
struct PortcullisArgs {
    #[command(flatten)]
    colour: ColourArg,
    #[command(subcommand)]
    command: PortcullisCommand,
}

#[derive(Subcommand)]
enum PortcullisCommand {
    /// Govern texts or candidates, and release what is admitted.
    Run(Box<run::RunArgs>),
    /// Say what the gate does with one text: what was found, which rule decided, what the reader gets.
    Explain(explain::ExplainArgs),
    /// Write, check, test and compare policies.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Judge the structure of prompts, documents and tool results before anything acts on them.
    Prefilter(prefilter::PrefilterArgs),
    /// Serve the gate to other processes.
    Gated(Box<gated::GatedArgs>),
    #[cfg(feature = "services")]
    /// Put the gate in front of a model server: an HTTP gateway for clients of OpenAI's and Anthropic's APIs.
    Serve(Box<serve::ServeArgs>),
    /// Build and look at anchor stores.
    #[command(subcommand)]
    Anchors(anchors::AnchorsCommand),
    /// Look into a ledger.
    #[command(subcommand)]
    Lineage(lineage::LineageCommand),
    /// Write a ledger as one self-contained HTML page.
    Report(report::LedgerReportArgs),
    #[command(flatten)]
    Evidence(portcullis_verify::EvidenceCommand),
    /// Check a bundle whole: verify and replay it.
    Check(check::BundleCheckArgs),
    /// Make every determination of a bundle again from its texts.
    Replay(replay::ReplayArgs),
    /// Attest a period: a signed statement of what the bundles of a card or a fleet show.
    Attest(Box<attest::AttestArgs>),
    /// Look after bundles.
    #[command(subcommand)]
    Bundle(bundle::BundleCommand),
    /// Certify cards.
    #[command(subcommand)]
    Ca(authority::Ca),
    #[cfg(feature = "services")]
    /// Run an authority as a service.
    #[command(subcommand)]
    Authority(issuer::AuthorityCommand),
    /// Issue session tickets.
    #[command(subcommand)]
    Ticket(authority::TicketCommand),
    /// See checkpoints from the outside.
    #[command(subcommand)]
    Witness(authority::WitnessCommand),
    /// Look at a card, test it, measure it.
    #[command(subcommand)]
    Card(card::CardCommand),
    /// Compare bitstreams with their manifests.
    #[command(subcommand)]
    Bitstream(bitstream::BitstreamCommand),
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
    let args = PortcullisArgs::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    args.colour.set();
    let result = match args.command {
        PortcullisCommand::Run(args) => run::run(&args),
        PortcullisCommand::Explain(args) => explain::run(&args),
        PortcullisCommand::Policy(command) => policy::run(&command),
        PortcullisCommand::Prefilter(args) => prefilter::run(&args),
        PortcullisCommand::Gated(args) => gated::run(&args),
        #[cfg(feature = "services")]
        PortcullisCommand::Serve(args) => serve::run(&args, command()),
        PortcullisCommand::Anchors(command) => anchors::run(&command),
        PortcullisCommand::Lineage(command) => lineage::run(&command),
        PortcullisCommand::Report(args) => report::run(&args),
        PortcullisCommand::Evidence(command) => return portcullis_verify::run_evidence(&command),
        PortcullisCommand::Check(args) => check::run(&args),
        PortcullisCommand::Replay(args) => replay::run(&args),
        PortcullisCommand::Attest(args) => attest::run(&args),
        PortcullisCommand::Bundle(command) => bundle::run(&command),
        PortcullisCommand::Ca(command) => authority::ca(&command),
        #[cfg(feature = "services")]
        PortcullisCommand::Authority(command) => issuer::run(&command),
        PortcullisCommand::Ticket(command) => authority::ticket(&command),
        PortcullisCommand::Witness(command) => authority::witness(&command),
        PortcullisCommand::Card(command) => card::run(&command),
        PortcullisCommand::Bitstream(command) => bitstream::run(&command),
        PortcullisCommand::Completions { shell } => completions(shell),
        PortcullisCommand::Manual { output } => manual::write(&output, command()),
    };
    exit(result.unwrap_or_else(failure::CommandFailure::report))
}

fn command() -> clap::Command {
    groups::add(evidence::add(PortcullisArgs::command(), &[evidence::EVIDENCE, examples::EXAMPLES].concat()))
}

fn completions(shell: clap_complete::Shell) -> Result<u8, failure::CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "portcullis", &mut script);
    InfallibleStdout.write_all(&script)?;
    Ok(failure::SUCCESS)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_has_examples_that_parse() {
        assert_eq!(portcullis_verify::examples::problems(&super::command()), [""; 0]);
    }
}
