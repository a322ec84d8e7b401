//! Records the events of a session: first in the bundle, then in the ledger.

use crate::choices::FsyncArg;
use anyhow::Result;
use portcullis_gate::StreamEvent;
use portcullis_gate::ledger::{LedgerHeader, LedgerWriter};
use portcullis_recorder::{FinishedBundle, SessionRecorder};
use portcullis_verify::console;
use std::path::PathBuf;

#[derive(clap::Args, Clone)]
pub(crate) struct LedgerArgs {
    /// Keep a ledger of everything that happens. An existing ledger is appended to.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// When the ledger is forced to the disk.
    #[arg(long, default_value = "released", requires = "ledger")]
    fsync: FsyncArg,
}

impl LedgerArgs {
    /// Whether a ledger was requested.
    pub(crate) const fn is_asked(&self) -> bool {
        self.ledger.is_some()
    }

    pub(crate) fn open(&self, header: &LedgerHeader) -> Result<Option<LedgerWriter>> {
        let open = |path: &PathBuf| LedgerWriter::append_to(path, header, self.fsync.into());
        Ok(self.ledger.as_ref().map(open).transpose()?)
    }
}

/// Records every event. Text is released only after its event is recorded.
#[derive(Default)]
pub(crate) struct EvidenceJournal {
    pub(crate) recorder: Option<SessionRecorder>,
    pub(crate) ledger: Option<LedgerWriter>,
}

impl EvidenceJournal {
    pub(crate) fn event(&mut self, event: &StreamEvent) -> Result<()> {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(event)?;
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.append(event)?;
        }
        Ok(())
    }

    /// Finishes the bundle, whether or not the session failed.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if let Some(recorder) = self.recorder.take()
            && let Some(FinishedBundle { folder, unreported }) = recorder.finish()?
        {
            errln!("bundle written to {}", folder.display());
            if let Some(unreported) = unreported {
                console::problem("warning", unreported);
            }
        }
        Ok(())
    }
}
