//! Structured logs: one JSON object per line. At no level does a line contain text of a request or an answer. Lines
//! contain names from the configuration, ids that the gateway made, codes and counts.

use tracing::Level;
use tracing::subscriber::{Subscriber, set_global_default};
use tracing_subscriber::fmt::MakeWriter;

/// A subscriber that writes lines of this level and more severe levels.
#[must_use]
pub fn subscriber<W>(writer: W, level: Level) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    tracing_subscriber::fmt().json().flatten_event(true).with_max_level(level).with_writer(writer).finish()
}

/// Logs to stderr, from level `INFO`. An already installed subscriber stays.
pub fn to_stderr() {
    let _ = set_global_default(subscriber(std::io::stderr, Level::INFO));
}
