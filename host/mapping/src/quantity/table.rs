//! Tables, whose columns may name the unit of their numbers.

use std::ops::Range;

/// Greatest distance in bytes from the head of a table to the last row to which its units apply.
pub(super) const TABLE_MAX: usize = 1024;

/// A cell of a table, and the head of its column.
pub(super) struct Column {
    pub(super) head: Range<usize>,
    pub(super) cell: Range<usize>,
}

/// Ranges in order of their starts, for the question whether one of them covers or touches a range.
pub(super) struct Covered {
    ranges: Vec<Range<usize>>,
    /// For each range, the greatest end up to it.
    reach: Vec<usize>,
}

impl Covered {
    pub(super) fn new(mut ranges: Vec<Range<usize>>) -> Self {
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let reach = ranges.iter().scan(0, |most, range| {
            *most = range.end.max(*most);
            Some(*most)
        });
        let reach = reach.collect();
        Self { ranges, reach }
    }

    /// Whether one of the ranges shares a byte with `range`.
    pub(super) fn touches(&self, range: &Range<usize>) -> bool {
        let before = self.ranges.partition_point(|other| other.start < range.end);
        before.checked_sub(1).and_then(|last| self.reach.get(last)).is_some_and(|reach| range.start < *reach)
    }
}

/// Calls `found` with every cell of every table in a text, once for each head above it. A table has rows with bars
/// below a row of dashes (GitHub Flavored Markdown 4.10), or lines with as many tabs as an earlier line without digits.
pub(super) fn columns(text: &str, mut found: impl FnMut(&Column)) {
    if !text.contains(['|', '\t']) {
        return;
    }
    let mut lines: Vec<Range<usize>> = Vec::new();
    for line in text.split_inclusive('\n') {
        let start = lines.last().map_or(0, |l| l.end);
        lines.push(start..start + line.len());
    }
    let shown = |line: &Range<usize>| text.get(line.clone()).unwrap_or_default();
    let tabs = |line: &Range<usize>| shown(line).matches('\t').count();
    let mut heads: Vec<Vec<Range<usize>>> = Vec::new();
    let mut mark = '|';
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1);
        let goes_on = match mark {
            '|' => shown(line).contains('|'),
            _ => heads.first().is_some_and(|head| tabs(line) + 1 == head.len()),
        };
        if !goes_on {
            heads.clear();
        }
        heads.retain(|head| head.first().is_some_and(|first| line.start - first.start <= TABLE_MAX));
        // The nearest head is paired first.
        for head in heads.iter().rev() {
            let pairs = head.iter().cloned().zip(cells(shown(line), line.start, mark));
            pairs.for_each(|(head, cell)| found(&Column { head, cell }));
        }
        if shown(line).contains('|') && next.is_some_and(|next| is_ruler(shown(next))) {
            if mark != '|' {
                heads.clear();
            }
            mark = '|';
            heads.push(cells(shown(line), line.start, mark));
        } else if tabs(line) > 0
            && !shown(line).contains(char::is_numeric)
            && next.is_some_and(|next| tabs(next) == tabs(line))
            && (mark == '\t' || heads.is_empty())
        {
            mark = '\t';
            heads.push(cells(shown(line), line.start, mark));
        }
    }
}

/// Whether a line is the ruler between the heads of a table and its rows.
fn is_ruler(line: &str) -> bool {
    line.contains('-') && line.trim().chars().all(|c| matches!(c, '-' | ':' | '|' | ' ' | '\t'))
}

/// The cells of a line that begins at `start`.
fn cells(line: &str, start: usize, mark: char) -> Vec<Range<usize>> {
    let body = line.trim_end();
    let open = if mark == '|' { body.len() - body.trim_start().trim_start_matches('|').len() } else { 0 };
    let mut at = start + open;
    let parts = body.get(open..).unwrap_or_default().split(mark);
    parts
        .map(|part| {
            let cell = at..at + part.len();
            at = cell.end + mark.len_utf8();
            cell
        })
        .collect()
}
