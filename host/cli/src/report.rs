//! `portcullis report`: writes a ledger as one self-contained HTML page.

use crate::failure::{CommandFailure, SUCCESS};
use crate::lineage;
use anyhow::Context;
use portcullis_report::PageOrigin;
use portcullis_report::ledger::{LedgerModel, page};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The page has the text with admitted, rejected and split spans marked, the reasons, the trust slope with its
/// thresholds, and counts by stage and rule.
#[derive(clap::Args)]
pub(crate) struct LedgerReportArgs {
    /// The ledger.
    ledger: PathBuf,
    /// The page.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn run(args: &LedgerReportArgs) -> Result<u8, CommandFailure> {
    let mut reader = lineage::read(&args.ledger)?;
    let mut model = LedgerModel::new(reader.header().clone());
    for entry in reader.by_ref() {
        model.add(entry.map_err(anyhow::Error::from)?);
    }
    lineage::tail(&reader, &args.ledger);
    model.torn = reader.tail() != portcullis_gate::ledger::LedgerTail::Whole;
    let made = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs());
    let origin = PageOrigin { program: format!("portcullis {}", env!("CARGO_PKG_VERSION")), made };
    std::fs::write(&args.output, page(&model, &origin))
        .with_context(|| format!("cannot write `{}`", args.output.display()))?;
    outln!("{}: {} streams", args.output.display(), model.streams.len());
    Ok(SUCCESS)
}
