//! `portcullis explain`: how one text is mapped, and which rows decide.

use crate::failure::{Failure, SUCCESS};
use crate::open;
use crate::output::{digest, digests};
use portcullis_core::mutation::Place;
use portcullis_core::state::{SemanticState, Task};
use portcullis_core::wire::{Determination, Granularity};
use portcullis_mapping::SpanInput;
use portcullis_policy::context::Contexts;
use portcullis_policy::evaluate::Evaluator;
use portcullis_policy::evaluate::reference::row_matches;
use portcullis_policy::image::Bank;
use std::io::Read;
use std::path::PathBuf;

/// Spans of the text, the descriptor of each with every field by its Cedar name, the verdict of the tables, and the rules whose rows match.
///
/// The software evaluator judges; nothing is released and no card is asked.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of the policy package.
    #[arg(long, value_name = "DIR")]
    policy: PathBuf,
    /// The agent's governed profile (`agent.toml`).
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// The text; without it, stdin.
    text: Option<String>,
    /// One JSON object a span.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let policy = open::policy(&args.policy)?;
    let text = match &args.text {
        Some(text) => text.clone(),
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    let image = &policy.compiled.image;
    let evaluator = Evaluator::new(image);
    let mut state = {
        let manifest = policy.package.manifest();
        let profile = open::profile(args.profile.as_deref())?;
        let context = profile.context(manifest).map_err(anyhow::Error::from)?;
        let intent = profile.intent(&Task::default(), |t| policy.mapper.content_words(t));
        SemanticState::new(manifest, policy.package.digest(), image.digest(), intent, context)
    };
    let text = policy.mapper.read(text, Granularity::Span);
    if !args.json {
        outln!("policy {}", state.policy.package);
        outln!("{}", digests(&digest(&policy.package.digest()), &digest(&image.digest())));
    }
    let mut inert_prefix = false;
    let mut sequence = 1;
    for piece in text.pieces() {
        let shown = text.slice(&piece.range);
        if piece.inert {
            inert_prefix = true;
            if !args.json {
                outln!("inert  {:>4}..{:<4} {shown:?}", piece.range.start, piece.range.end);
            }
            continue;
        }
        let candidate = SpanInput {
            text: &text,
            span: &piece.range,
            granularity: Granularity::Span,
            inert_prefix,
            depth: 0,
            alternatives: 0,
            logprobs: None,
        };
        inert_prefix = false;
        let mapped = policy.mapper.map(&state, candidate);
        let descriptor = mapped.mutation.descriptor(Place { slot: 0, sequence }, [0; 32]);
        let verdict = evaluator.judge(&descriptor);
        let (category, context) =
            Contexts::new(policy.package.vocabulary()).json(&descriptor).map_err(anyhow::Error::from)?;
        let mut rules: Vec<&str> = Vec::new();
        for bank in [Bank::Policy, Bank::Entropy] {
            for (index, row) in (0u16..).zip(image.rows(bank)) {
                if row_matches(row, &descriptor)
                    && let Some(rule) = policy.compiled.rule_of_row(bank, index)
                    && !rules.contains(&rule.id.as_str())
                {
                    rules.push(&rule.id);
                }
            }
        }
        if args.json {
            outln!(
                "{}",
                serde_json::json!({
                    "start": piece.range.start, "end": piece.range.end, "category": category, "context": context,
                    "determination": verdict.determination, "stage": verdict.stage, "matching_rules": rules,
                })
            );
        } else {
            outln!("{:<6} {:>4}..{:<4} {shown:?}", verdict.determination.name(), piece.range.start, piece.range.end);
            outln!("       category {category}; matching rules: {}", rules.join(", "));
            if let Some(fields) = context.as_object() {
                for (name, value) in fields {
                    outln!("         {name:<22} {value}");
                }
            }
        }
        if verdict.determination == Determination::Admit {
            state.admit(&mapped.mutation, sequence, descriptor.commitment);
        }
        sequence += 1;
    }
    Ok(SUCCESS)
}
