//! `portcullis explain`: what the gate does with a text, and why.

use crate::failure::{CommandFailure, SUCCESS};
use crate::open::{self, PolicyArgs};
use crate::output::{digest, digests};
use portcullis_card::transport::model::ModelCard;
use portcullis_card::{CardSession, SessionConfig};
use portcullis_core::state::StreamTask;
use portcullis_core::wire::Determination;
use portcullis_gate::explain::{FoundText, SpanExplanation, TextExplanation, explain};
use portcullis_gate::{GateSettings, SaltKey, StreamGovernor};
use portcullis_report::terminal::TerminalTone;
use portcullis_verify::console::{json_line, stdout_terminal};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Say what the gate does with one text: what was found, which rule decided and where it is written, and what the
/// reader gets.
///
/// The text is judged as a whole by the card in Rust; a refusal does not end it, and nothing is recorded. What an
/// earlier text of the same stream would change is not seen.
#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// The agent's governed profile (`agent.toml`).
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// The text; without it, stdin.
    text: Option<String>,
    /// Each field of each descriptor, and every rule whose rows match.
    #[arg(short, long, conflicts_with = "json")]
    verbose: bool,
    /// One JSON object per span, and a last one with what the reader gets.
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
    let profile = open::profile(args.profile.as_deref())?;
    let settings = GateSettings { streams: 1, profile, ..GateSettings::new(SaltKey::from_bytes([0; 32])) };
    let governor = Arc::new(StreamGovernor::new(Arc::clone(&policy), settings).map_err(anyhow::Error::from)?);
    let config = SessionConfig { text_stride_log2: policy.text_stride_log2(), ..SessionConfig::default() };
    let mut session = CardSession::open(ModelCard::new(), &policy.compiled.image, config)?;
    let explained = explain(&governor, &mut session, &text, &StreamTask::default()).map_err(anyhow::Error::from)?;
    session.close()?;
    if args.json {
        for span in &explained.spans {
            outln!("{}", json_line(&span_json(span))?);
        }
        let last = serde_json::json!({"released": explained.released, "stopped": explained.stopped});
        outln!("{}", json_line(&last)?);
        return Ok(SUCCESS);
    }
    let folder = match &args.policy.member.member {
        Some(name) => args.policy.policy.join("members").join(name),
        None => args.policy.policy.clone(),
    };
    print(&explained, &folder, args.verbose);
    outln!("");
    outln!("policy {}", policy.package.manifest().reference());
    let image = policy.compiled.image.digest();
    outln!("{}", digests(&digest(&policy.package.digest()), &digest(&image)));
    Ok(SUCCESS)
}

fn span_json(span: &SpanExplanation) -> serde_json::Value {
    let found = |FoundText { what, range, text }: &FoundText| serde_json::json!({"what": what, "start": range.start, "end": range.end, "text": text});
    let decided = &span.determination;
    serde_json::json!({
        "start": decided.start,
        "end": decided.end,
        "seq": decided.seq,
        "parent": decided.parent,
        "determination": decided.determination,
        "stage": decided.stage,
        "rule": decided.rule,
        "reason": decided.reason,
        "place": span.place.as_ref().map(ToString::to_string),
        "found": span.found.iter().map(found).collect::<Vec<_>>(),
        "fields": span.fields,
        "category": span.category,
        "context": span.context,
        "matching_rules": span.rules,
    })
}

/// Prints each span that was judged whole, and of a divided span the parts that were not divided again.
fn print(explained: &TextExplanation, folder: &Path, verbose: bool) {
    let terminal = stdout_terminal();
    let line = |text: &str| outln!("{}", terminal.wrap(12, text));
    let mut divided_by = None;
    for span in &explained.spans {
        let decided = &span.determination;
        let is_part = decided.parent.is_some();
        let (word, tone) = match decided.determination {
            Some(Determination::Admit) => ("admitted", TerminalTone::Good),
            Some(Determination::Decompose) if is_part && !verbose => continue,
            Some(Determination::Decompose) => ("divided", TerminalTone::Warning),
            Some(_) => ("refused", TerminalTone::Bad),
            None => ("faulted", TerminalTone::Bad),
        };
        let indent = if is_part { "  " } else { "" };
        let word = terminal.paint(tone, format_args!("{word:<8}"));
        line(&format!("{indent}{word}  {:?}", span.text));
        let rule = decided.rule.as_ref().filter(|_| decided.determination != Some(Determination::Admit));
        if !is_part || rule.is_some_and(|rule| divided_by != Some(rule)) || verbose {
            reasons(span, folder, &|text| line(&format!("{indent}{text}")));
        }
        if !is_part {
            divided_by = rule;
        }
        if verbose {
            line(&format!("{indent}  matches {}", span.rules.join(", ")));
            outln!("{indent}  category {}", span.category);
            for (name, value) in span.context.as_object().into_iter().flatten() {
                outln!("{indent}    {name:<22} {value}");
            }
        }
    }
    if let Some(why) = &explained.stopped {
        line(&format!("stopped: {why}"));
    }
    line(&format!("the reader gets {:?}", explained.released));
}

/// Prints what was found in a span, and what decided.
fn reasons(span: &SpanExplanation, folder: &Path, line: &dyn Fn(&str)) {
    for FoundText { what, range, text } in &span.found {
        line(&format!("  found   {what}: {text:?}, bytes {} to {}", range.start, range.end));
    }
    let decided = &span.determination;
    let refused = decided.determination != Some(Determination::Admit);
    let Some(rule) = decided.rule.as_ref().filter(|_| refused) else { return };
    let reason = decided.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    line(&format!("  rule    {rule}{reason}"));
    match &span.place {
        Some(place) => line(&format!("  in      {}/{place}", folder.display())),
        None => {
            let stage = decided.stage.map(|stage| stage.name()).unwrap_or_default();
            line(&format!(
                "  in      the gate's own checks (stage `{stage}`), as {}/policy.toml sets them",
                folder.display()
            ));
        }
    }
    for field in &span.fields {
        line(&format!("  field   {} is {}; the rule asks for: {}", field.field, field.value, field.condition));
    }
}
