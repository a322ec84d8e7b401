//! `portcullis lineage`: prints the content of a ledger.

use crate::failure::{CommandFailure, SUCCESS};
use crate::output::digests;
use anyhow::{Context, anyhow};
use portcullis_gate::StreamEventKind;
use portcullis_gate::ledger::{LedgerReader, LedgerTail, recover};
use portcullis_report::escape::printable;
use portcullis_report::ledger::{CSV_HEAD, csv_record, line};
use portcullis_verify::console::{InfallibleStdout, json_line};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Subcommand)]
pub(crate) enum LineageCommand {
    /// Show each stream: what was judged, deferred, taken back and released, and how it ended.
    Show {
        ledger: PathBuf,
        /// Only the stream with this identity.
        #[arg(long)]
        id: Option<String>,
    },
    /// Write every entry as JSON Lines, or every determination as CSV (RFC 4180).
    Export {
        ledger: PathBuf,
        /// The form.
        #[arg(long, default_value = "jsonl")]
        format: LineageFormatArg,
    },
    /// Cut off what a write that was cut short left at the end.
    Recover { ledger: PathBuf },
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum LineageFormatArg {
    /// One entry per line.
    Jsonl,
    /// One determination per line.
    Csv,
}

pub(crate) fn run(command: &LineageCommand) -> Result<u8, CommandFailure> {
    match command {
        LineageCommand::Show { ledger, id } => show(ledger, id.as_deref()),
        LineageCommand::Export { ledger, format: LineageFormatArg::Jsonl } => jsonl(ledger),
        LineageCommand::Export { ledger, format: LineageFormatArg::Csv } => csv(ledger),
        LineageCommand::Recover { ledger } => {
            let cut = recover(ledger).map_err(anyhow::Error::from)?;
            outln!("{}: {cut} bytes of an entry that was cut short were removed", ledger.display());
            Ok(SUCCESS)
        }
    }
}

/// Reads a ledger; reports an incomplete end on stderr.
pub(crate) fn read(path: &Path) -> Result<LedgerReader, CommandFailure> {
    Ok(LedgerReader::open(path).map_err(anyhow::Error::from)?)
}

/// Reports on stderr how a ledger ends.
pub(crate) fn tail(reader: &LedgerReader, path: &Path) {
    if let LedgerTail::Torn(bytes) = reader.tail() {
        let path = path.display();
        errln!(
            "note: the last write was cut short, {bytes} bytes are passed over; `portcullis lineage recover {path}`"
        );
    }
}

fn show(path: &Path, only: Option<&str>) -> Result<u8, CommandFailure> {
    let mut reader = read(path)?;
    let header = reader.header();
    outln!("policy {}, card {}", printable(&header.policy), printable(&header.card));
    outln!("{}", digests(&printable(&header.package_digest), &printable(&header.image_digest)));
    let mut ids: std::collections::BTreeMap<u64, String> = std::collections::BTreeMap::new();
    let mut found = false;
    for entry in reader.by_ref() {
        let event = entry.map_err(anyhow::Error::from)?.event;
        if let StreamEventKind::Begun { id, .. } = &event.what {
            ids.insert(event.stream, id.clone());
        }
        let id = ids.get(&event.stream).map_or("?", String::as_str);
        if only.is_some_and(|o| o != id) {
            continue;
        }
        found = true;
        outln!("{}: {}", printable(id), printable(&line(&event.what)));
    }
    tail(&reader, path);
    if let Some(id) = only.filter(|_| !found) {
        return Err(anyhow!("no stream of the ledger is called `{}`", printable(id)).into());
    }
    Ok(SUCCESS)
}

fn jsonl(path: &Path) -> Result<u8, CommandFailure> {
    let mut reader = read(path)?;
    let mut out = std::io::BufWriter::new(InfallibleStdout);
    for entry in reader.by_ref() {
        writeln!(out, "{}", json_line(&entry.map_err(anyhow::Error::from)?)?)?;
    }
    out.flush()?;
    tail(&reader, path);
    Ok(SUCCESS)
}

fn csv(path: &Path) -> Result<u8, CommandFailure> {
    let mut reader = read(path)?;
    let mut out = csv::Writer::from_writer(InfallibleStdout);
    out.write_record(CSV_HEAD).context("stdout")?;
    for entry in reader.by_ref() {
        if let Some(record) = csv_record(&entry.map_err(anyhow::Error::from)?) {
            out.write_record(record).context("stdout")?;
        }
    }
    out.flush()?;
    tail(&reader, path);
    Ok(SUCCESS)
}
