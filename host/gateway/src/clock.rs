//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, for answers and for the end of tickets. No decision about a text depends on this time.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
