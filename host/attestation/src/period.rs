//! Days of the calendar and periods, in UTC.

use der::DateTime;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// A day of the calendar, in UTC, from 1970 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcDay {
    /// Its first Unix second.
    first: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a day; write it as 2026-01-31")]
pub struct DayError(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the period would end before it begins: {to} is before {from}")]
pub struct PeriodError {
    from: UtcDay,
    to: UtcDay,
}

impl UtcDay {
    /// The day of a Unix second. Errors: it is after the year 9999.
    pub fn of(second: u64) -> Result<Self, DayError> {
        let time = DateTime::from_unix_duration(Duration::from_secs(second));
        let time = time.map_err(|_| DayError(second.to_string()))?;
        Ok(Self { first: time.unix_duration().as_secs() / DAY_SECONDS * DAY_SECONDS })
    }
}

impl FromStr for UtcDay {
    type Err = DayError;

    fn from_str(text: &str) -> Result<Self, DayError> {
        let error = || DayError(text.to_owned());
        // The parser of RFC 3339 times accepts only this length.
        let time: DateTime = format!("{text}T00:00:00Z").parse().map_err(|_| error())?;
        Ok(Self { first: time.unix_duration().as_secs() })
    }
}

impl TryFrom<String> for UtcDay {
    type Error = DayError;

    fn try_from(text: String) -> Result<Self, DayError> {
        text.parse()
    }
}

impl From<UtcDay> for String {
    fn from(day: UtcDay) -> Self {
        day.to_string()
    }
}

impl fmt::Display for UtcDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = DateTime::from_unix_duration(Duration::from_secs(self.first)).map_err(|_| fmt::Error)?;
        write!(f, "{:04}-{:02}-{:02}", time.year(), time.month(), time.day())
    }
}

/// A period of whole days; both days belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestationPeriod {
    from: UtcDay,
    to: UtcDay,
}

/// Where a session lies beside a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeriodPosition {
    Before,
    Within,
    After,
    /// No witness saw the session, so its time is not known.
    Undated,
}

impl AttestationPeriod {
    /// Errors: `to` is before `from`.
    pub fn new(from: UtcDay, to: UtcDay) -> Result<Self, PeriodError> {
        if to < from { Err(PeriodError { from, to }) } else { Ok(Self { from, to }) }
    }

    /// The place of a session whose first and last checkpoint a witness saw at these Unix seconds. A session that
    /// overlaps the period is within it.
    pub(crate) const fn place(self, witnessed: Option<(u64, u64)>) -> PeriodPosition {
        match witnessed {
            None => PeriodPosition::Undated,
            Some((_, last)) if last < self.from.first => PeriodPosition::Before,
            Some((first, _)) if self.is_over(first) => PeriodPosition::After,
            Some(_) => PeriodPosition::Within,
        }
    }

    /// Whether the period is over at this Unix second.
    pub(crate) const fn is_over(self, second: u64) -> bool {
        second >= self.to.first.saturating_add(DAY_SECONDS)
    }
}

impl fmt::Display for AttestationPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_they_are_written() {
        for text in ["1970-01-01", "2024-02-29", "2026-12-31", "9999-12-31"] {
            let day = text.parse::<UtcDay>().unwrap();
            assert_eq!((day.to_string(), UtcDay::of(day.first + DAY_SECONDS - 1).unwrap()), (text.to_owned(), day));
        }
        for text in ["", "2026", "2026-1-1", "2026-13-01", "2025-02-29", "1969-12-31", "2026-01-01 ", "2026/01/01"] {
            assert!(text.parse::<UtcDay>().is_err(), "{text}");
        }
    }

    #[test]
    fn both_days_belong_to_the_period() {
        let (from, to) = ("2026-01-01".parse().unwrap(), "2026-01-02".parse().unwrap());
        let period = AttestationPeriod::new(from, to).unwrap();
        let (begin, end) = (from.first, to.first + DAY_SECONDS);
        assert_eq!(period.place(None), PeriodPosition::Undated);
        assert_eq!(period.place(Some((0, begin - 1))), PeriodPosition::Before);
        assert_eq!(period.place(Some((0, begin))), PeriodPosition::Within);
        assert_eq!(period.place(Some((end - 1, u64::MAX))), PeriodPosition::Within);
        assert_eq!(period.place(Some((end, end))), PeriodPosition::After);
        assert!(AttestationPeriod::new(to, from).is_err());
        assert!(AttestationPeriod::new(to, to).is_ok());
    }
}
