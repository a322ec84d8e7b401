//! `portcullis prefilter`.

mod eval;

use crate::failure::{CommandFailure, REFUSED, SUCCESS};
use anyhow::{Context, anyhow};
use clap::{Subcommand, ValueEnum};
use portcullis_policy::PolicyPackage;
use portcullis_prefilter::evaluation::{self, LabelledRow};
use portcullis_prefilter::{EvaluatorIsolation, FilterPolicy, FilterReport, InputPrefilter, SeverityTier};
use portcullis_verify::console::InfallibleStdout;
use serde_json::json;
use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Largest input that is read, in bytes. Input over the policy's budget is refused without evaluation.
const INPUT_MAX: u64 = 64 << 20;
/// Hidden command that runs one evaluator as a separate process.
const SERVE: &str = "evaluator";

/// Judges a file, or stdin.
///
/// Exit codes: 0 every input may execute; 1 an error; 2 usage; 3 an input was refused.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PrefilterArgs {
    #[command(subcommand)]
    command: Option<PrefilterCommand>,
    /// The input; without it, or with `-`, stdin.
    #[arg(value_name = "FILE", conflicts_with = "jsonl")]
    file: Option<PathBuf>,
    /// Rows of `{"id","text"}`, a report each; `-` is stdin.
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
    /// One JSON object per report.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    judged: JudgeArgs,
}

#[derive(Subcommand)]
enum PrefilterCommand {
    /// Measure recall and false positives on labelled rows, with Wilson intervals.
    ///
    /// A row is one line of JSON: `{"id": "1", "text": "Hello.", "label": "benign"}`. The labels `attack` and
    /// `jailbreak` count for recall, `benign` and `control` for false positives, any other label for neither. A row
    /// without a label is an error, unless `--label` gives its label. `lang` or `variant` names the part of the set to
    /// which a row belongs.
    Eval(eval::PrefilterEvalArgs),
    /// Look at the rules.
    #[command(subcommand)]
    Rules(Rules),
    /// Serve one evaluator: policy and input on stdin, finding on stdout.
    #[command(hide = true, name = SERVE)]
    Evaluator { name: String },
}

#[derive(Subcommand)]
enum Rules {
    /// Every rule: id, evaluator, tier, structure.
    List {
        /// One JSON object per rule.
        #[arg(long)]
        json: bool,
        /// Profile whose tiers are shown.
        #[arg(long, value_name = "NAME", default_value = "user-prompt")]
        profile: String,
    },
    /// One rule with examples that have its structure, and examples that come near.
    Explain { id: String },
}

/// The policy under which inputs are judged.
#[derive(clap::Args, Clone)]
pub(crate) struct JudgeArgs {
    /// What the input is: `user-prompt`, `document` or `tool-result`.
    #[arg(long, value_name = "NAME", default_value = "user-prompt")]
    profile: String,
    /// A file (TOML) over the profile: `threshold`, `evaluators`, `[tiers]`, `bytes`, `steps-per-byte`, `deadline-ms`.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// How evaluators are kept apart.
    #[arg(long, default_value = "turn")]
    isolate: Isolate,
}

/// The filter before engines.
#[derive(clap::Args, Clone)]
pub(crate) struct FilterArgs {
    /// Profile that tasks for engines are judged under before an engine sees them.
    #[arg(long, value_name = "NAME", default_value = "user-prompt")]
    prefilter_profile: String,
    /// A file (TOML) over that profile, as `portcullis prefilter --policy` takes it.
    #[arg(long, value_name = "FILE")]
    prefilter_policy: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Isolate {
    /// One after the other, each with its own copy of the input.
    Turn,
    /// Each on a thread of its own, given up when it is late.
    Thread,
    /// Each in a process of its own, killed when it is late.
    Process,
}

impl JudgeArgs {
    fn policy(&self) -> Result<FilterPolicy, CommandFailure> {
        self.over(FilterPolicy::profile(&self.profile).map_err(anyhow::Error::from)?)
    }

    /// `policy` with the changes from the settings file.
    fn over(&self, policy: FilterPolicy) -> Result<FilterPolicy, CommandFailure> {
        let Some(file) = &self.policy else { return Ok(policy) };
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        Ok(policy.with_file(&file.display().to_string(), &text).map_err(anyhow::Error::from)?)
    }

    fn filter(&self) -> Result<InputPrefilter, CommandFailure> {
        let isolation = match self.isolate {
            Isolate::Turn => EvaluatorIsolation::Turn,
            Isolate::Thread => EvaluatorIsolation::Thread,
            Isolate::Process => EvaluatorIsolation::Process {
                program: std::env::current_exe().context("cannot find this program")?,
                arguments: vec!["prefilter".into(), SERVE.into()],
            },
        };
        Ok(InputPrefilter::new(self.policy()?).map_err(anyhow::Error::from)?.isolated(isolation))
    }
}

impl FilterArgs {
    /// The filter with a policy package's threshold. Each evaluator has a time limit.
    pub(crate) fn open(&self, package: &PolicyPackage) -> Result<Arc<InputPrefilter>, CommandFailure> {
        let judged = JudgeArgs {
            profile: self.prefilter_profile.clone(),
            policy: self.prefilter_policy.clone(),
            isolate: Isolate::Thread,
        };
        let named = &package.manifest().prefilter.threshold;
        let threshold = SeverityTier::ALL.into_iter().find(|t| t.name() == named);
        let threshold =
            threshold.ok_or_else(|| anyhow!("`[prefilter] threshold` of the policy: `{named}` is not a tier"))?;
        let profile = FilterPolicy::profile(&judged.profile).map_err(anyhow::Error::from)?;
        let policy = judged.over(profile.with_threshold(threshold))?;
        let filter = InputPrefilter::new(policy).map_err(anyhow::Error::from)?;
        Ok(Arc::new(filter.isolated(EvaluatorIsolation::Thread)))
    }
}

pub(crate) fn run(args: &PrefilterArgs) -> Result<u8, CommandFailure> {
    match &args.command {
        Some(PrefilterCommand::Eval(eval)) => eval::run(eval),
        Some(PrefilterCommand::Rules(rules)) => list(rules),
        Some(PrefilterCommand::Evaluator { name }) => {
            portcullis_prefilter::serve_evaluator(name, std::io::stdin().lock(), InfallibleStdout)?;
            Ok(SUCCESS)
        }
        None => judge(args),
    }
}

fn judge(args: &PrefilterArgs) -> Result<u8, CommandFailure> {
    let filter = args.judged.filter()?;
    let mut out = BufWriter::new(InfallibleStdout);
    let mut refused = false;
    match &args.jsonl {
        Some(file) => {
            for row in evaluation::read(file, false).map_err(anyhow::Error::from)? {
                let LabelledRow { id, text, .. } = row.map_err(anyhow::Error::from)?;
                let report = filter.report(text.as_bytes());
                refused |= !report.is_executive();
                show(&mut out, &id, &report, args.json)?;
            }
        }
        None => {
            let file = args.file.as_ref().filter(|f| f.as_os_str() != "-");
            let id = file.map_or_else(|| "stdin".to_owned(), |f| f.display().to_string());
            let mut bytes = Vec::new();
            let read = match file {
                Some(file) => std::fs::File::open(file).and_then(|f| f.take(INPUT_MAX).read_to_end(&mut bytes)),
                None => std::io::stdin().lock().take(INPUT_MAX).read_to_end(&mut bytes),
            };
            read.with_context(|| format!("cannot read `{id}`"))?;
            let report = filter.report(&bytes);
            refused |= !report.is_executive();
            show(&mut out, &id, &report, args.json)?;
        }
    }
    out.flush()?;
    Ok(if refused { REFUSED } else { SUCCESS })
}

fn show(out: &mut impl Write, id: &str, report: &FilterReport, as_json: bool) -> Result<(), CommandFailure> {
    let route = if report.is_executive() { "executive" } else { "non-executive" };
    if as_json {
        let evaluators: serde_json::Map<_, _> =
            report.evaluators().iter().map(|e| (e.evaluator.clone(), json!(e.tier))).collect();
        let violations: Vec<_> = report.violations().collect();
        let digest = crate::output::digest(&report.digest());
        let line = json!({"id": id, "route": route, "verdict": report.verdict(), "evaluators": evaluators,
            "violations": violations, "fault": report.is_fault(), "digest": digest});
        writeln!(out, "{line}")?;
        return Ok(());
    }
    writeln!(out, "{id}: {} ({route})", report.verdict())?;
    for v in report.violations() {
        writeln!(out, "  {} {}..{} [{}]", v.id, v.start, v.end, v.evaluator)?;
    }
    if report.is_fault() {
        writeln!(out, "  an evaluator failed: this says nothing of the input")?;
    }
    Ok(())
}

fn list(rules: &Rules) -> Result<u8, CommandFailure> {
    match rules {
        Rules::List { json, profile } => {
            let filter = InputPrefilter::new(FilterPolicy::profile(profile).map_err(anyhow::Error::from)?);
            for evaluator in filter.map_err(anyhow::Error::from)?.evaluators() {
                for rule in evaluator.rules().rules() {
                    let tier = evaluator.rules().tier(&rule.id).unwrap_or(SeverityTier::Critical);
                    if *json {
                        outln!(
                            "{}",
                            json!({"id": rule.id, "evaluator": evaluator.name(), "tier": tier, "structure": rule.structure})
                        );
                    } else {
                        outln!("{:<26} {:<11} {:<9} {}", rule.id, evaluator.name(), tier.name(), rule.structure);
                    }
                }
            }
        }
        Rules::Explain { id } => {
            let filter = InputPrefilter::new(FilterPolicy::profile("user-prompt").map_err(anyhow::Error::from)?);
            let filter = filter.map_err(anyhow::Error::from)?;
            let found = filter.evaluators().find_map(|e| Some((e, e.rules().rules().iter().find(|r| r.id == *id)?)));
            let Some((evaluator, rule)) = found else {
                return Err(anyhow!("there is no rule `{id}`; `portcullis prefilter rules list` names them").into());
            };
            outln!("{} ({}, evaluator `{}`)\n{}", rule.id, rule.tier, evaluator.name(), rule.structure);
            outln!("\nhas it:");
            for example in &rule.hits {
                outln!("  {example:?}");
            }
            outln!("\ncomes near and does not:");
            for example in &rule.passes {
                outln!("  {example:?}");
            }
        }
    }
    Ok(SUCCESS)
}
