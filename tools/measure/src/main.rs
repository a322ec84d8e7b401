//! `cargo xtask measure` and `cargo xtask bench`: measure policies on labelled data that the user provides, and the
//! speed of parts of the system.

#![allow(clippy::indexing_slicing, reason = "only serde_json values are indexed, and a missing key of theirs is null")]

mod bench;
mod biographies;
mod bytes;
mod drift;
mod everyday;
mod gateway;
mod grounding;
mod judged;
mod lane;
mod meaning;
mod pii;
mod prefilter;
mod sentences;
mod shapes;
mod streaming;

use anyhow::Result;
use clap::{Parser, Subcommand};
use portcullis_tools::{fleet, setup, tool};
use std::path::PathBuf;

/// Policies on labelled data, and the speed of the parts.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 100)]
enum MeasureToolCommand {
    /// Measure, and print medians and ratios.
    Bench {
        /// One part instead of all.
        #[command(subcommand)]
        part: Option<BenchPart>,
    },
    /// Measure a policy on labelled data, with the program itself on the simulated card.
    #[command(subcommand)]
    Measure(MeasureCommand),
}

/// A part of the benches.
#[derive(Subcommand)]
enum BenchPart {
    /// What the gateway adds to the time of a text, its memory and its throughput. It takes two minutes, beside the
    /// build.
    Gateway {
        /// A program that is built already; without it, `portcullis` is built for release.
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Streams per second that verify, replay, check and attest handle, by the size of the bundle. It takes ten
    /// minutes, beside the build.
    Evidence {
        /// Numbers of streams in place of 1,000, 10,000 and 100,000.
        streams: Vec<usize>,
    },
    /// Instructions of the mapping on texts of many shapes, at one length and at twice the length, counted by valgrind.
    /// It fails if twice the length costs more than 2.2 times as much, there and at eight times the length. All
    /// shapes take hours.
    Shapes {
        /// Names of shapes in `host/mapping/tests/support/shapes.rs`; all without any.
        names: Vec<String>,
        /// Length of the shorter text.
        #[arg(long, default_value_t = 65_536)]
        bytes: usize,
    },
    /// Short answers of one client beside the texts of another client that are dearest to map. It takes four minutes,
    /// beside the build, and fails if a median more than doubles; so run it on a quiet machine.
    Beside {
        /// Measure this program instead of building one.
        #[arg(long)]
        program: Option<PathBuf>,
    },
    /// The audit of many bundles: records a second of ingest, of the trees, and of the verifier alone, in the engine
    /// and on a cluster, over 20,000,000 made records. It takes half an hour to build, and as long to run.
    Fleet,
}

/// What is measured.
#[derive(Subcommand)]
enum MeasureCommand {
    /// Recall and precision of the policy `pii` on `{"id", "text", "label", "spans": [{"type", "start", "end"}]}`
    /// lines.
    Pii {
        data: PathBuf,
        /// The policy.
        #[arg(long, default_value = "policies/pii")]
        policy: PathBuf,
    },
    /// Closed-world grounding of the policy `biography` on FActScore's labelled biographies (`factscore_*.jsonl` of a
    /// folder).
    Grounding {
        /// The folder.
        data: PathBuf,
    },
    /// Recall and false positives of the pre-execution filter on the labelled sets of a folder, and on long harmless
    /// text.
    Prefilter {
        /// The folder, with `*.jsonl` in it or in `prompts` and `outputs` below it.
        data: PathBuf,
    },
    /// Written forms of values and phrases, look-alikes, random harmless texts, and cuts of values, in a folder with
    /// the shape of `tests/cases/bytes`, on the model of the card.
    Bytes {
        /// The folder.
        #[arg(default_value = "tests/cases/bytes")]
        data: PathBuf,
        /// Print each promised form that leaves, each look-alike that is touched and each cut that leaves.
        #[arg(long)]
        list: bool,
    },
    /// How much harmless text the shipped policies damage, by kind and rule, and which addresses that a client loads by
    /// itself leave, in a folder with the shape of `tests/cases/everyday`, on the model of the card.
    Everyday {
        /// The folder.
        #[arg(default_value = "tests/cases/everyday")]
        cases: PathBuf,
        /// Print each refused part and each address that leaves.
        #[arg(long)]
        list: bool,
    },
    /// How much harmless text the shipped policies damage on its way through `portcullis serve`, with each way to go on
    /// after a refusal, whole and streamed. A refused address that a client would load is not counted.
    Served {
        /// The folder, with the shape of `tests/cases/everyday`.
        #[arg(default_value = "tests/cases/everyday")]
        cases: PathBuf,
        /// So many pages of packages in the registry cache, chosen by digest, in place of the cases.
        #[arg(long, default_value_t = 0)]
        documents: usize,
    },
    /// Sentences that an abbreviation or a line break divides, amounts, doses, contradictions over boundaries, loops of
    /// an engine and misleading labels, in a folder with the shape of `tests/cases/sentences`, on the model of the
    /// card.
    Sentences {
        /// The folder.
        #[arg(default_value = "tests/cases/sentences")]
        cases: PathBuf,
        /// Print each case that fails.
        #[arg(long)]
        list: bool,
    },
    /// Whether texts that come in chunks are read as whole texts are, how long their bytes wait, and what that costs:
    /// the labelled sets of a folder, under every shipped policy.
    Streaming {
        /// The folder, with `*.jsonl` in it or in `prompts` and `outputs` below it.
        data: PathBuf,
    },
    /// What the walk of a text lane's tables finds that the mapping does not, and the other way round, in the texts of
    /// a folder, under every shipped policy.
    Lane {
        /// The folder, with `*.jsonl` in it or in `prompts` and `outputs` below it.
        data: PathBuf,
    },
    /// What stages 2 and 3 make of hand-made cases, splits, ordinary answers, paraphrases, polarity and vocabulary, in
    /// a folder with the shape of `tests/cases/meaning`, on the model of the card.
    Meaning {
        /// The folder.
        #[arg(default_value = "tests/cases/meaning")]
        cases: PathBuf,
        /// Also false sentences, ordinary prose and drift, of FActScore's labelled biographies (`factscore_*.jsonl`)
        /// and of mails (`bipia_emails.jsonl`) in this folder, or in `prompts` and `outputs` below it.
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
        /// Print each case that fails.
        #[arg(long)]
        list: bool,
    },
    /// How soon a biography that turns into another one is stopped, and how often one that does not is.
    Drift {
        /// The folder.
        data: PathBuf,
    },
}

fn main() -> Result<()> {
    let task = MeasureToolCommand::parse();
    std::env::set_current_dir(tool::root()?)?;
    let what = match task {
        MeasureToolCommand::Measure(what) => what,
        MeasureToolCommand::Bench { part: None } => return bench::run(),
        MeasureToolCommand::Bench { part: Some(BenchPart::Gateway { program }) } => return gateway::run(program),
        MeasureToolCommand::Bench { part: Some(BenchPart::Evidence { streams }) } => return bench::evidence(&streams),
        MeasureToolCommand::Bench { part: Some(BenchPart::Shapes { names, bytes }) } => {
            return shapes::run(&names, bytes);
        }
        MeasureToolCommand::Bench { part: Some(BenchPart::Beside { program }) } => return gateway::beside(program),
        MeasureToolCommand::Bench { part: Some(BenchPart::Fleet) } => return fleet::measure(),
    };
    if !matches!(
        what,
        MeasureCommand::Bytes { .. }
            | MeasureCommand::Everyday { .. }
            | MeasureCommand::Lane { .. }
            | MeasureCommand::Meaning { .. }
            | MeasureCommand::Sentences { .. }
            | MeasureCommand::Streaming { .. }
    ) {
        setup::build()?;
    }
    match &what {
        MeasureCommand::Bytes { data, list } => bytes::run(data, *list),
        MeasureCommand::Everyday { cases, list } => everyday::run(cases, *list),
        MeasureCommand::Served { cases, documents } => gateway::served(cases, *documents),
        MeasureCommand::Sentences { cases, list } => sentences::run(cases, *list),
        MeasureCommand::Streaming { data } => streaming::run(data),
        MeasureCommand::Lane { data } => lane::run(data),
        MeasureCommand::Meaning { cases, data, list } => meaning::run(cases, data.as_deref(), *list),
        MeasureCommand::Pii { data, policy } => pii::run(data, policy),
        MeasureCommand::Grounding { data } => grounding::run(data),
        MeasureCommand::Prefilter { data } => prefilter::run(data),
        MeasureCommand::Drift { data } => drift::run(data),
    }
}
