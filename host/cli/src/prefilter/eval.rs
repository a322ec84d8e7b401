//! `portcullis prefilter eval`: measures recall and false positives on labelled rows.

use super::JudgeArgs;
use crate::failure::{CommandFailure, SUCCESS};
use anyhow::anyhow;
use portcullis_prefilter::evaluation::{
    FilterEvaluation, LABELS, LabelCounting, LabelledRow, WilsonShare, joined, read,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct PrefilterEvalArgs {
    /// Files of rows; a row may have `output` instead of `text`. A file whose name ends in .txt has one harmless row
    /// per line.
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    data: Vec<PathBuf>,
    /// The label of rows that have none.
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Also judge this many texts of 1 to 8 KiB for each set, joined from its benign rows; with several sets also this
    /// many from the benign rows of all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    join: u64,
    /// Seed for choosing the rows that are joined.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Judge every row this many times; the median of its times counts.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// One JSON object with everything.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    judged: JudgeArgs,
}

pub(super) fn run(args: &PrefilterEvalArgs) -> Result<u8, CommandFailure> {
    let filter = args.judged.filter()?;
    let mut evaluation = FilterEvaluation::new(args.repeat);
    let mut benign: Vec<(String, Vec<String>)> = Vec::new();
    let mut others = BTreeSet::new();
    for file in &args.data {
        let set = file.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let mut of_set = Vec::new();
        let plain = file.extension().is_some_and(|e| e == "txt");
        for row in read(file, plain).map_err(anyhow::Error::from)? {
            let row = row.map_err(anyhow::Error::from)?;
            let label = label(args, file, plain, &row)?;
            let counts = LabelCounting::of(label);
            evaluation.row(&filter, &set, &row, counts);
            if counts == LabelCounting::Refused {
                others.insert(label.to_owned());
            }
            if counts == LabelCounting::FalsePositive && label != "control" {
                of_set.push(row.text);
            }
        }
        if !of_set.is_empty() {
            benign.push((format!("joined, {set}"), of_set));
        }
    }
    if args.join > 0 {
        if benign.is_empty() {
            return Err(anyhow!("`--join` needs rows with the label `benign`").into());
        }
        if benign.len() > 1 {
            benign.push(("joined, all sets".to_owned(), benign.iter().flat_map(|(_, rows)| rows.clone()).collect()));
        }
        for (set, rows) in &benign {
            for number in 0..args.join {
                let text = joined(rows, args.seed, number);
                let row = LabelledRow { line: 0, id: number.to_string(), text, label: None, variant: None };
                evaluation.row(&filter, set, &row, LabelCounting::FalsePositive);
            }
        }
    }
    show(&evaluation, &others, args.json)?;
    Ok(SUCCESS)
}

/// The label that counts for a row. Error: it has none, and neither its file nor `--label` gives it one.
fn label<'a>(
    args: &'a PrefilterEvalArgs,
    file: &Path,
    plain: bool,
    row: &'a LabelledRow,
) -> Result<&'a str, CommandFailure> {
    let given = if plain { Some("benign") } else { row.label.as_deref().or(args.label.as_deref()) };
    given.ok_or_else(|| {
        let (file, line) = (file.display(), row.line);
        anyhow!("{file}:{line}: no `label`; {LABELS}; `--label` gives one to all rows without").into()
    })
}

fn show(evaluation: &FilterEvaluation, others: &BTreeSet<String>, as_json: bool) -> Result<(), CommandFailure> {
    let lines = evaluation.lines();
    let (recall, wrong) = (evaluation.pooled(LabelCounting::Recall), evaluation.pooled(LabelCounting::FalsePositive));
    if as_json {
        let all = serde_json::json!({"sets": lines, "pooled": {"recall": recall, "false_positives": wrong},
            "rules": evaluation.rules()});
        outln!("{all}");
        return Ok(());
    }
    outln!("| set | variant | counted | share, 95 % interval | median µs | p99 µs |");
    outln!("| --- | --- | --- | --- | --- | --- |");
    for l in &lines {
        let micros = |ns: u64| format!("{}.{}", ns / 1000, ns % 1000 / 100);
        let (median, p99) = (micros(l.median_ns), micros(l.p99_ns));
        outln!("| {} | {} | {} | {} | {median} | {p99} |", l.set, l.variant, l.counts.name(), l.share);
    }
    let pooled =
        |share: Option<WilsonShare>, none: &str| share.map_or_else(|| none.to_owned(), |share| share.to_string());
    outln!("\npooled recall: {}", pooled(recall, "no attacks given"));
    outln!("pooled false positives: {}", pooled(wrong, "no harmless rows given"));
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|label| format!("`{label}`")).collect();
        outln!("these labels count for neither: {}", others.join(", "));
    }
    outln!("");
    outln!("| rule | in attacks | alone | in benign | alone |\n| --- | --- | --- | --- | --- |");
    for (id, r) in evaluation.rules() {
        outln!("| {id} | {} | {} | {} | {} |", r.attacks, r.alone_attacks, r.benign, r.alone_benign);
    }
    Ok(())
}
