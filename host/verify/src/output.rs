//! Output files, the progress bar, and the exit code of errors.

use crate::exit_code::CONTRADICTED;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use portcullis_core::wire::Record;
use portcullis_evidence::bundle::{self, BundleError, BundleFiles};
use portcullis_evidence::checkpoint::LANES_MAX;
use portcullis_evidence::extract::ExtractError;
use portcullis_evidence::receipt::{ProveError, ReceiptError};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Writes a new file. If the file exists, it is not changed, and the result is an error.
pub(crate) fn write_new(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(content));
    written.with_context(|| format!("cannot write `{}`", path.display()))
}

/// Exit code of an error: 3 for evidence of the wrong form, 1 for everything else, such as a record that the bundle
/// does not have.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    let evidence = error.chain().any(|cause| {
        let bundle = cause.downcast_ref::<BundleError>().is_some_and(|e| !e.is_operational());
        let extract = matches!(cause.downcast_ref(), Some(ExtractError::Checkpoint(..) | ExtractError::Certificate));
        let prove = matches!(
            cause.downcast_ref(),
            Some(ProveError::Checkpoint(..) | ProveError::Log(_) | ProveError::NoText(_))
        );
        bundle || extract || prove || cause.downcast_ref::<ReceiptError>().is_some()
    });
    if evidence { CONTRADICTED } else { 1 }
}

/// A progress bar over the records of a bundle, if stderr is a terminal.
pub(crate) fn bar(files: &dyn BundleFiles) -> ProgressBar {
    let is_log = |name: &str| (0..LANES_MAX).any(|lane| name == bundle::in_lane(bundle::RECORDS, lane));
    let names = files.names().unwrap_or_default();
    let bytes: u64 = names.iter().filter(|(name, _)| is_log(name)).map(|(_, size)| size).sum();
    let bar = ProgressBar::new(bytes / Record::BYTES as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} records, {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
