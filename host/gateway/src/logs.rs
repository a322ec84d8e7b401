//! Structured logs: one JSON object per line. No line holds text of a request or an answer, at any level: what is
//! logged are names of the configuration, identities that the gateway made, codes and counts.

use tracing::Level;
use tracing::subscriber::{Subscriber, set_global_default};
use tracing_subscriber::fmt::MakeWriter;

/// Writes the lines of this level and the levels above it.
#[must_use]
pub fn subscriber<W>(writer: W, level: Level) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    tracing_subscriber::fmt().json().flatten_event(true).with_max_level(level).with_writer(writer).finish()
}

/// Writes the lines of the process to stderr, from `INFO` on. A subscriber that is there stays.
pub fn to_stderr() {
    let _ = set_global_default(subscriber(std::io::stderr, Level::INFO));
}
