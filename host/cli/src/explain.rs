//! `portcullis explain`: shows how a text is mapped, and which rows decide.

use crate::failure::{CommandFailure, SUCCESS};
use crate::open::{self, PolicyArgs};
use crate::output::{digest, digests};
use portcullis_core::state::{SemanticState, StreamTask};
use portcullis_gate::explain::explain;
use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

/// Spans of the text, the descriptor of each with every field by its Cedar name, the verdict of the tables, and the
/// rules whose rows match.
///
/// The software evaluator judges; nothing is released and no card is asked.
#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// The agent's governed profile (`agent.toml`).
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// The text; without it, stdin.
    text: Option<String>,
    /// One JSON object per span.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<u8, CommandFailure> {
    let policy = args.policy.open()?;
    let text = match &args.text {
        Some(text) => text.clone(),
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    let image = policy.compiled.image.digest();
    let mut state = {
        let manifest = policy.package.manifest();
        let profile = open::profile(args.profile.as_deref())?;
        let context = profile.context(manifest).map_err(anyhow::Error::from)?;
        let intent = profile.intent(&StreamTask::default(), |t| policy.mapper.content_words(t));
        SemanticState::new(manifest, policy.package.digest(), image, intent, context)
    };
    if !args.json {
        outln!("policy {}", state.policy.package);
        outln!("{}", digests(&digest(&policy.package.digest()), &digest(&image)));
    }
    let pieces = explain((&policy.package, &policy.compiled, &policy.mapper), &mut state, text);
    for piece in pieces.map_err(anyhow::Error::from)? {
        let Range { start, end } = piece.range;
        let Some(span) = piece.span else {
            if !args.json {
                outln!("inert  {start:>4}..{end:<4} {:?}", piece.text);
            }
            continue;
        };
        if args.json {
            outln!(
                "{}",
                serde_json::json!({
                    "start": start, "end": end, "category": span.category, "context": span.context,
                    "determination": span.determination, "stage": span.stage, "matching_rules": span.rules,
                })
            );
            continue;
        }
        outln!("{:<6} {start:>4}..{end:<4} {:?}", span.determination.name(), piece.text);
        outln!("       category {}; matching rules: {}", span.category, span.rules.join(", "));
        for (name, value) in span.context.as_object().into_iter().flatten() {
            outln!("         {name:<22} {value}");
        }
    }
    Ok(SUCCESS)
}
