//! Cells of a Markdown table. If a text does not fit into its cell, the rest is put below the table.

use super::requirements::wrap;
use std::mem;

/// Longest cell in characters.
pub(crate) const CELL: usize = 120;

/// The texts that did not fit into the cells of a table, as a Markdown list.
#[derive(Debug, Default)]
pub(crate) struct Below(String);

impl Below {
    /// The beginning of `text` that fits into a cell, up to the end of a sentence or clause. The rest becomes an item
    /// of the list, under `name`. A text that cannot be divided stays whole, and lint reports it.
    pub(crate) fn cell(&mut self, name: &str, text: &str) -> String {
        if text.chars().count() <= CELL {
            return text.to_owned();
        }
        let fits = |mark: &str| {
            let (mut ends, most) = (text.rmatch_indices(mark), CELL - 1);
            ends.find(|(at, _)| text.get(..*at).is_some_and(|head| head.chars().count() <= most)).map(|(at, _)| at)
        };
        let Some(at) = [". ", "; ", ": "].into_iter().find_map(fits) else { return text.to_owned() };
        let (head, rest) = text.split_at(at);
        let rest = rest.get(2..).unwrap_or_default();
        let mut characters = rest.chars();
        let first = characters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        wrap(&mut self.0, &format!("- `{name}`: {first}{}", characters.as_str()));
        format!("{head}.")
    }

    /// Ends the table in `page`: writes the list below it, and clears the list.
    pub(crate) fn end(&mut self, page: &mut String) {
        if !self.0.is_empty() {
            page.push('\n');
            page.push_str(&mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_follows_the_table() {
        let (mut below, mut page) = (Below::default(), String::new());
        assert_eq!(below.cell("short", "A cell. It fits."), "A cell. It fits.");
        let (first, second) = ("a".repeat(70), "b".repeat(70));
        assert_eq!(below.cell("x", &format!("{first}. {second}.")), format!("{first}."));
        assert_eq!(below.cell("y", &format!("{first}; {second}: c")), format!("{first}."));
        let whole = "a".repeat(121);
        assert_eq!(below.cell("z", &whole), whole);
        below.end(&mut page);
        let second = format!("B{}", "b".repeat(69));
        assert_eq!(page, format!("\n- `x`: {second}.\n- `y`: {second}: c\n"));
        below.end(&mut page);
        assert_eq!(page.lines().count(), 3);
    }
}
