//! Markdown tables of shares: one line per name, and the sum.

use crate::judged::share;
use std::collections::BTreeMap;

pub(crate) struct ShareTable {
    head: Vec<&'static str>,
    rows: BTreeMap<String, Vec<(usize, usize)>>,
}

impl ShareTable {
    /// A table whose first column has the names.
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: BTreeMap::new() }
    }

    pub(crate) fn count(&mut self, name: &str, column: usize, good: bool) {
        let columns = self.head.len().saturating_sub(1);
        let row = self.rows.entry(name.to_owned()).or_insert_with(|| vec![(0, 0); columns]);
        if let Some((of, all)) = row.get_mut(column) {
            *of += usize::from(good);
            *all += 1;
        }
    }

    /// The column with this head.
    pub(crate) fn column(&self, head: &str) -> Option<&'static str> {
        self.head.iter().skip(1).copied().find(|h| *h == head)
    }

    /// Counts a case in the column with this head.
    pub(crate) fn count_in(&mut self, name: &str, head: &str, good: bool) {
        if let Some(column) = self.head.iter().skip(1).position(|h| *h == head) {
            self.count(name, column, good);
        }
    }

    /// Prints the table. A dash stands for a cell without cases.
    pub(crate) fn print(&self, title: &str) {
        println!("\n## {title}\n\n| {} |\n|{}", self.head.join(" | "), " --- |".repeat(self.head.len()));
        let mut sum = vec![(0, 0); self.head.len().saturating_sub(1)];
        for (name, row) in &self.rows {
            for (s, (of, all)) in sum.iter_mut().zip(row) {
                *s = (s.0 + of, s.1 + all);
            }
            println!("| {name} | {} |", cells(row));
        }
        if self.rows.len() > 1 {
            println!("| all | {} |", cells(&sum));
        }
    }
}

fn cells(row: &[(usize, usize)]) -> String {
    let cell = |(of, all): &(usize, usize)| if *all == 0 { "-".to_owned() } else { share(*of, *all) };
    row.iter().map(cell).collect::<Vec<_>>().join(" | ")
}
