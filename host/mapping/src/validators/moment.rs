//! Dates and times in digits. Every field must be in its range, and one separator divides all fields of a date.
//!
//! Read are `2026-07-18`, `18.07.2026`, `07/18/2026`, an hour or a time of day behind a date, `10:17`, `10:17:18,123`
//! with a zone, a range of times with points (`09.00-12.30`), and `20260718T101718` or `20260718101718`.

use std::ops::Range;

/// Number of bytes before a match in which a date or time that reaches into the match can begin.
const REACH: usize = 40;

/// Number of digits of a match that belong to no date and no time.
pub(super) fn digits_outside(text: &[u8], found: &Range<usize>) -> usize {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = found.start.saturating_sub(REACH);
    let mut outside = 0;
    while at < found.end {
        let begins = digit(at) && !at.checked_sub(1).is_some_and(digit);
        match begins.then(|| Moment { text, at }.end()).flatten() {
            Some(end) => at = end,
            None => {
                outside += usize::from(digit(at) && found.contains(&at));
                at += 1;
            }
        }
    }
    outside
}

/// A place where a date or time may begin.
struct Moment<'t> {
    text: &'t [u8],
    at: usize,
}

/// A number: its value, its count of digits, and its end.
#[derive(Clone, Copy)]
struct Field {
    value: u64,
    size: usize,
    end: usize,
}

impl Moment<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// The number that begins at `at`, of at most 14 digits.
    fn field(&self, at: usize) -> Option<Field> {
        let digits = self.text.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).take(15);
        let (value, size) = digits.fold((0, 0), |(value, size), byte| (value * 10 + u64::from(byte - b'0'), size + 1));
        (1..15).contains(&size).then_some(Field { value, size, end: at + size })
    }

    /// A number of two digits up to `most`.
    fn pair(&self, at: usize, most: u64) -> Option<usize> {
        self.field(at).filter(|field| field.size == 2 && field.value <= most).map(|field| field.end)
    }

    fn end(&self) -> Option<usize> {
        let first = self.field(self.at)?;
        if first.size >= 8 {
            return self.compact(first);
        }
        self.date(first).map(|end| self.behind_date(end)).or_else(|| self.clock(self.at)).or_else(|| self.range())
    }

    /// `20260718T101718`, `20260718-1017`, `202607181017`, `20260718101718`.
    fn compact(&self, first: Field) -> Option<usize> {
        let (date, time, size, end) = match first.size {
            8 if matches!(self.byte(first.end), Some(b'T' | b't' | b'-' | b'_')) => {
                let time = self.field(first.end + 1)?;
                (first.value, time.value, time.size, time.end)
            }
            12 => (first.value / 10_000, first.value % 10_000, 4, first.end),
            14 => (first.value / 1_000_000, first.value % 1_000_000, 6, first.end),
            _ => return None,
        };
        let time = match size {
            4 => time * 100,
            6 => time,
            _ => return None,
        };
        let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
        let dated = (1900..2100).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        (dated && time / 10_000 <= 24 && time / 100 % 100 <= 59 && time % 100 <= 60).then_some(end)
    }

    /// A year of four digits, first or last, a month and a day.
    fn date(&self, first: Field) -> Option<usize> {
        let mark = self.byte(first.end).filter(|byte| matches!(byte, b'-' | b'/' | b'.'))?;
        let second = self.field(first.end + 1).filter(|field| self.byte(field.end) == Some(mark))?;
        let third = self.field(second.end + 1)?;
        let day = |field: Field| field.size <= 2 && (1..=31).contains(&field.value);
        let year = |field: Field| field.size == 4 && (1000..3000).contains(&field.value);
        let days = |a: Field, b: Field| day(a) && day(b) && (a.value <= 12 || b.value <= 12);
        let dated = year(first) && days(second, third) || days(first, second) && year(third);
        (dated && !self.goes_on(third.end, mark) && !self.continues(mark)).then_some(third.end)
    }

    /// The end of a date with the hour or time behind it.
    fn behind_date(&self, end: usize) -> usize {
        let at = end + 1;
        if !matches!(self.byte(end), Some(b' ' | b'T' | b't')) {
            return end;
        }
        let hour = || self.pair(at, 24).filter(|end| ![b':', b'.', b'-', b'/'].iter().any(|m| self.goes_on(*end, *m)));
        self.clock(at).or_else(|| self.points(at)).or_else(hour).unwrap_or(end)
    }

    /// A time of day with colons, a fraction of the second, and a zone.
    fn clock(&self, at: usize) -> Option<usize> {
        let hour = self.field(at).filter(|field| field.size <= 2 && field.value <= 24)?.end;
        let colon = |at: usize| self.byte(at) == Some(b':');
        let minute = colon(hour).then(|| self.pair(hour + 1, 59)).flatten()?;
        let second = colon(minute).then(|| self.pair(minute + 1, 60)).flatten();
        let mut end = second.unwrap_or(minute);
        if self.goes_on(end, b':') || self.continues(b':') {
            return None;
        }
        if second.is_some() && matches!(self.byte(end), Some(b'.' | b',')) {
            end = self.field(end + 1).filter(|fraction| fraction.size <= 9).map_or(end, |fraction| fraction.end);
        }
        Some(self.zone(end).unwrap_or(end))
    }

    /// A zone such as `+02:00`, ` +0200` or `-03:30`.
    fn zone(&self, end: usize) -> Option<usize> {
        let sign = if self.byte(end) == Some(b' ') { end + 1 } else { end };
        matches!(self.byte(sign), Some(b'+' | b'-')).then_some(())?;
        let field = self.field(sign + 1)?;
        match field.size {
            4 if field.value <= 1400 && field.value % 100 <= 59 => Some(field.end),
            2 if field.value <= 14 && self.byte(field.end) == Some(b':') => self.pair(field.end + 1, 59),
            _ => None,
        }
    }

    /// Two times with points: `09.00-12.30`.
    fn range(&self) -> Option<usize> {
        let first = self.points(self.at).filter(|_| !self.continues(b'.'))?;
        let marks = self.text.get(first..)?.iter().take(3).take_while(|byte| matches!(byte, b' ' | b'-'));
        let marks: Vec<u8> = marks.copied().collect();
        if !marks.contains(&b'-') {
            return None;
        }
        self.points(first + marks.len())
    }

    /// An hour and a minute with a point.
    fn points(&self, at: usize) -> Option<usize> {
        let hour = self.field(at).filter(|field| field.size <= 2 && field.value <= 24)?.end;
        let minute = (self.byte(hour) == Some(b'.')).then(|| self.pair(hour + 1, 59)).flatten()?;
        (!self.goes_on(minute, b'.')).then_some(minute)
    }

    /// Whether the mark and a digit come at `end`.
    fn goes_on(&self, end: usize, mark: u8) -> bool {
        self.byte(end) == Some(mark) && self.byte(end + 1).is_some_and(|byte| byte.is_ascii_digit())
    }

    /// Whether the mark and a digit come before the start.
    fn continues(&self, mark: u8) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        matches!(before, [.., digit, last] if *last == mark && digit.is_ascii_digit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outside(text: &str) -> usize {
        digits_outside(text.as_bytes(), &(0..text.len()))
    }

    #[test]
    fn dates_and_times() {
        for moment in [
            "2026-07-18 10:17:18",
            "2026-07-18T10:17:18.123456+02:00",
            "18.07.2026 10",
            "07/18/2026, 10:17 and 2026-07-18",
            "13.07.2026 09.15",
            "09.00-12.30 and 13.00 - 17.45",
            "8:15-12:30",
            "20260718T101718Z and 20260718101718 and 202607181017",
            "2026-07-18 10:17:18 +0200",
        ] {
            assert_eq!(outside(moment), 0, "{moment}");
        }
        for (other, digits) in [
            ("2026-17-18", 8),
            ("2026-07.18", 8),
            ("2026-07-18-05", 10),
            ("06.12.34.56.78", 10),
            ("12 30 13 45", 8),
            ("12.30 13.45", 8),
            ("25:10", 4),
            ("12:34:56:07", 8),
            ("20261128", 8),
            ("20269928101718", 14),
            ("2026-07-18 555 1234", 7),
        ] {
            assert_eq!(outside(other), digits, "{other}");
        }
    }
}
