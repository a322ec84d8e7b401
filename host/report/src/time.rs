//! Times in ISO 8601, in UTC.

use der::DateTime;
use std::time::Duration;

/// Formats a Unix second.
#[must_use]
pub fn utc(second: u64) -> String {
    DateTime::from_unix_duration(Duration::from_secs(second))
        .map_or_else(|_| "after the year 9999".to_owned(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (second, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(second), date);
        }
        // The number in a witness's note can be arbitrarily large.
        assert_eq!(utc(u64::MAX / 2), "after the year 9999");
    }
}
