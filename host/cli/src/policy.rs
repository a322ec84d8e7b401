//! `portcullis policy …`: presentation of what the policy crate does.

use crate::failure::{ERROR, Failure, SUCCESS};
use crate::output::digest;
use anyhow::{Context, anyhow};
use portcullis_policy::context::{Contexts, Missing};
use portcullis_policy::evaluate::{Evaluator, Outcome};
use portcullis_policy::image::Bank;
use portcullis_policy::{Capacity, Package};
use std::io::BufRead;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Compile a package and say what it costs in table rows.
    Check {
        /// Folder of the package.
        dir: PathBuf,
    },
    /// Compile a package to a table image.
    Build {
        /// Folder of the package.
        dir: PathBuf,
        /// Where the image goes.
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Print the Cedar schema that the package's declarations give.
    Schema {
        /// Folder of the package.
        dir: PathBuf,
        /// Write it to the package's policy.cedarschema.
        #[arg(long)]
        write: bool,
    },
    /// Print the digests of the package and of its image.
    Digest {
        /// Folder of the package.
        dir: PathBuf,
    },
    /// Decide contexts: one JSON object a line from stdin, `{"category", "context": {…}}`; fields that are left out are neutral.
    Eval {
        /// Folder of the package.
        #[arg(long, value_name = "DIR")]
        policy: PathBuf,
    },
}

/// Name of the schema in a package.
const SCHEMA_FILE: &str = "policy.cedarschema";

pub(crate) fn run(command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Check { dir } => check(&Package::load(dir)?),
        Command::Build { dir, output } => {
            let compiled = Package::load(dir)?.compile()?;
            std::fs::write(output, compiled.image.as_bytes())
                .with_context(|| format!("cannot write `{}`", output.display()))?;
            println!("{}  {}", digest(&compiled.image.digest()), output.display());
            Ok(SUCCESS)
        }
        Command::Schema { dir, write } => {
            let package = Package::load(dir)?;
            if *write {
                std::fs::write(dir.join(SCHEMA_FILE), package.schema())?;
            } else {
                print!("{}", package.schema());
            }
            Ok(SUCCESS)
        }
        Command::Digest { dir } => {
            let package = Package::load(dir)?;
            println!("package {}\nimage   {}", digest(&package.digest()), digest(&package.compile()?.image.digest()));
            Ok(SUCCESS)
        }
        Command::Eval { policy } => eval(&Package::load(policy)?),
    }
}

fn check(package: &Package) -> Result<u8, Failure> {
    let compiled = package.compile()?;
    let written = package.files().get(SCHEMA_FILE).map(Vec::as_slice);
    if written != Some(package.schema().as_bytes()) {
        let state = if written.is_some() { "is not what the declarations give" } else { "is missing" };
        eprintln!("error: {SCHEMA_FILE} {state}; run `portcullis policy schema --write`");
        return Ok(ERROR);
    }
    let identity = &package.manifest().package;
    println!("{} {}", identity.name, identity.version);
    for bank in [Bank::Policy, Bank::Entropy] {
        println!("{} bank: {} of {} rows", bank.name(), compiled.image.rows(bank).len(), Capacity::default().of(bank));
        for rule in compiled.rules.iter().filter(|r| r.bank == bank) {
            println!("  {:>4}  {:<20} {}", rule.rows.len(), rule.kind.name(), rule.id);
        }
    }
    Ok(SUCCESS)
}

fn eval(package: &Package) -> Result<u8, Failure> {
    let compiled = package.compile()?;
    let evaluator = Evaluator::new(&compiled.image);
    let contexts = Contexts::new(package.vocabulary());
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let at = || format!("line {}", number + 1);
        let mut value: serde_json::Value = serde_json::from_str(&line).with_context(at)?;
        let object = value.as_object_mut().ok_or_else(|| anyhow!("{}: expected a JSON object", at()))?;
        let category = object.remove("category").and_then(|c| c.as_str().map(str::to_owned));
        let category = category.ok_or_else(|| anyhow!("{}: has no `category`", at()))?;
        let context = object.remove("context").unwrap_or_else(|| serde_json::Value::Object(std::mem::take(object)));
        let descriptor = contexts.descriptor(&category, &context, Missing::Neutral).with_context(at)?;
        let banks = evaluator.evaluate(&descriptor);
        let verdict = evaluator.resolve(&descriptor, &banks);
        let shown = |bank: Bank, answer: portcullis_policy::evaluate::BankAnswer| {
            let rule = answer.row.and_then(|row| compiled.rule_of_row(bank, row)).map(|r| r.id.as_str());
            serde_json::json!({ "outcome": outcome(answer.outcome), "rule": rule })
        };
        println!(
            "{}",
            serde_json::json!({
                "determination": verdict.determination, "stage": verdict.stage,
                "policy": shown(Bank::Policy, banks.policy), "entropy": shown(Bank::Entropy, banks.entropy),
            })
        );
    }
    Ok(SUCCESS)
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Reject => "reject",
        Outcome::Decompose => "decompose",
    }
}
