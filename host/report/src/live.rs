//! The live page of a gateway: cells with texts, which a small script updates.
//!
//! The page has a fixed number of cells. [`LiveGatewayState::page`] renders them, and [`LiveGatewayState::cells`] gives
//! their current texts under the same ids, so the script only sets texts. Ids of streams and names of rules can be
//! hostile. Invisible characters in them are marked ([`marked`]), the page escapes markup, and the script writes
//! `textContent`.

use crate::escape::marked;
use crate::page::{page_with, policy};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::time::Duration;

const SCRIPT: &str = include_str!("live.js");

/// Number of rows for rules.
pub const RULES: usize = 16;
/// Number of rows for open streams.
pub const STREAMS: usize = 24;
/// Length of the longest bar in characters.
const BAR: u64 = 20;
/// Bar characters, from the lowest bar to the highest.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The current state of a gateway. It contains neither texts of requests nor texts of answers.
#[derive(Clone, Debug, Default)]
pub struct LiveGatewayState {
    /// Name and version of the program, and its role.
    pub program: String,
    /// The time by the machine's clock.
    pub now: String,
    /// The main figures, as pairs of name and value.
    pub figures: Vec<(&'static str, String)>,
    /// The cards of the gateway, in their order.
    pub cards: Vec<LiveCard>,
    /// Number of refusals per rule or reason.
    pub rules: BTreeMap<String, u64>,
    /// The open streams, the newest first.
    pub streams: Vec<LiveStream>,
    /// The highest trust slope among the open streams, in basis points: one value per second, the newest last.
    pub slopes: Vec<u16>,
    /// Upper bounds of the hold times, and the number of times in each bucket. The last bucket is above all bounds.
    pub hold: (Vec<Duration>, Vec<u64>),
}

/// A stream that is open.
#[derive(Clone, Debug, Default)]
pub struct LiveStream {
    pub id: String,
    /// Time since the stream's BEGIN.
    pub age: Duration,
    /// Number of admitted mutations, and number of refused mutations.
    pub counts: (u64, u64),
    /// Number of released bytes.
    pub bytes: u64,
    /// The stream's trust slope in basis points.
    pub slope: u16,
}

/// The state of a card and its session, as pairs of name and value. The names are the same for each card.
#[derive(Clone, Debug, Default)]
pub struct LiveCard(pub Vec<(&'static str, String)>);

/// A table of cells: caption, column heads and rows. The row number is part of the cells' ids.
struct LiveTable {
    name: &'static str,
    caption: &'static str,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The value of the header `Content-Security-Policy` for [`LiveGatewayState::page`]. It also permits requests to the
/// page's own origin, which fetch the figures, and forbids other pages to show this page in a frame.
#[must_use]
pub fn header_policy() -> String {
    format!("{}; frame-ancestors 'none'", page_policy())
}

fn page_policy() -> String {
    format!("{}; connect-src 'self'", policy(SCRIPT))
}

impl LiveGatewayState {
    #[must_use]
    pub fn page(&self) -> String {
        let cell = |id: &str, text: &str| html! { span id=(id) { (marked(text)) } };
        let content = html! {
            h1 { "Gateway" }
            p.lead { (marked(&self.program)) ", " (cell("now", &self.now)) " by the clock of its machine" }
            p.lost #lost role="status" {}
            @for table in self.tables() { (table.markup()) }
        };
        page_with("Gateway", &content, SCRIPT, &page_policy())
    }

    /// The texts of all cells, by id.
    #[must_use]
    pub fn cells(&self) -> BTreeMap<String, String> {
        let mut cells = BTreeMap::from([("now".to_owned(), marked(&self.now))]);
        for table in self.tables() {
            for (row, texts) in table.rows.iter().enumerate() {
                for (column, text) in texts.iter().enumerate() {
                    cells.insert(table.id(row, column), marked(text));
                }
            }
        }
        cells
    }

    fn tables(&self) -> [LiveTable; 6] {
        let figures = self.figures.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]).collect();
        [
            LiveTable { name: "figure", caption: "Now", columns: columns(["what", "value"]), rows: figures },
            self.cards(),
            self.refusals(),
            self.trust_slope(),
            self.histogram(),
            self.open_streams(),
        ]
    }

    /// One row for each name, one column for each card.
    fn cards(&self) -> LiveTable {
        let mut columns = columns(["what"]);
        match self.cards.len() {
            1 => columns.push("value".to_owned()),
            count => columns.extend((0..count).map(|card| format!("card {card}"))),
        }
        let names = self.cards.first().map(|card| card.0.iter().map(|(name, _)| *name)).into_iter().flatten();
        let row = |(place, name): (usize, &str)| {
            let values = self.cards.iter().map(|card| card.0.get(place).map(|(_, value)| value.clone()));
            [name.to_owned()].into_iter().chain(values.map(Option::unwrap_or_default)).collect()
        };
        let rows = names.enumerate().map(row).collect();
        LiveTable { name: "card", caption: "Cards and sessions", columns, rows }
    }

    /// The rules with the most refusals.
    fn refusals(&self) -> LiveTable {
        let mut rules: Vec<_> = self.rules.iter().collect();
        rules.sort_by(|(a, most), (b, more)| more.cmp(most).then(a.cmp(b)));
        let most = rules.first().map_or(0, |(_, count)| **count);
        let row = |(rule, count): (&str, u64)| vec![rule.to_owned(), count.to_string(), bar(count, most)];
        let shown = if rules.len() > RULES { RULES - 1 } else { rules.len() };
        let others: u64 = rules.iter().skip(shown).map(|(_, count)| **count).sum();
        let mut rows: Vec<_> = rules.iter().take(shown).map(|(rule, count)| row((rule, **count))).collect();
        if shown < rules.len() {
            rows.push(row(("(other rules)", others)));
        }
        let columns = columns(["rule or reason", "refusals", ""]);
        let rows = padded(rows, RULES, columns.len());
        LiveTable { name: "rule", caption: "Refusals by rule", columns, rows }
    }

    fn trust_slope(&self) -> LiveTable {
        let now = self.slopes.last().copied().unwrap_or(0);
        let most = self.slopes.iter().max().copied().unwrap_or(0);
        let curve = self.slopes.iter().map(|slope| level(u64::from(*slope), u64::from(most))).collect();
        let row = |name: &str, value: u16| vec![name.to_owned(), share(value), String::new()];
        let mut rows = vec![row("highest of the open streams", now), row("highest of the last minute", most)];
        if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()) {
            *cell = curve;
        }
        let columns = columns(["what", "slope", ""]);
        LiveTable { name: "slope", caption: "Trust slope, one step per second", columns, rows }
    }

    fn histogram(&self) -> LiveTable {
        let (bounds, counts) = &self.hold;
        let most = counts.iter().max().copied().unwrap_or(0);
        let last = bounds.last().copied().unwrap_or_default();
        let names = bounds.iter().map(|bound| format!("up to {}", time(*bound)));
        let names = names.chain([format!("more than {}", time(last))]);
        let rows = names.zip(counts).map(|(name, count)| vec![name, count.to_string(), bar(*count, most)]).collect();
        let columns = columns(["time", "pieces", ""]);
        LiveTable { name: "hold", caption: "From the arrival of a piece of text to its release", columns, rows }
    }

    fn open_streams(&self) -> LiveTable {
        let row = |stream: &LiveStream| {
            vec![
                stream.id.clone(),
                time(stream.age),
                stream.counts.0.to_string(),
                stream.counts.1.to_string(),
                stream.bytes.to_string(),
                share(stream.slope),
            ]
        };
        let rows: Vec<_> = self.streams.iter().take(STREAMS).map(row).collect();
        let columns = columns(["stream", "open for", "admitted", "refused", "bytes released", "trust slope"]);
        let rows = padded(rows, STREAMS, columns.len());
        LiveTable { name: "stream", caption: "Open streams, the newest first", columns, rows }
    }
}

impl LiveTable {
    fn id(&self, row: usize, column: usize) -> String {
        format!("{}-{row}-{column}", self.name)
    }

    fn markup(&self) -> Markup {
        html! {
            div.wide.live {
                table {
                    caption { (self.caption) }
                    thead { tr { @for head in &self.columns { th scope="col" { (head) } } } }
                    tbody {
                        @for (row, texts) in self.rows.iter().enumerate() {
                            tr {
                                @for (column, text) in texts.iter().enumerate() {
                                    // A bar repeats the value of the cell next to it.
                                    @let drawn = self.columns.get(column).is_some_and(|head| head.is_empty());
                                    td id=(self.id(row, column)) class=[drawn.then_some("bar")]
                                        aria-hidden=[drawn.then_some("true")] { (marked(text)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn columns<const N: usize>(heads: [&str; N]) -> Vec<String> {
    heads.map(str::to_owned).to_vec()
}

/// The rows, then empty rows until there are `length` rows.
fn padded(mut rows: Vec<Vec<String>>, length: usize, columns: usize) -> Vec<Vec<String>> {
    rows.resize(length, vec![String::new(); columns]);
    rows
}

/// A bar for `value`; the longest bar stands for `most`. A value above zero has a bar of at least one character.
fn bar(value: u64, most: u64) -> String {
    let length = value.saturating_mul(BAR).div_ceil(most.max(1)).min(BAR);
    (0..length).map(|_| '█').collect()
}

fn level(value: u64, most: u64) -> char {
    let top = LEVELS.len() as u64 - 1;
    let step = value.saturating_mul(top).div_ceil(most.max(1)).min(top);
    usize::try_from(step).ok().and_then(|step| LEVELS.get(step)).copied().unwrap_or('▁')
}

/// Basis points as a percentage.
fn share(basis_points: u16) -> String {
    format!("{}.{:02} %", basis_points / 100, basis_points % 100)
}

/// A time with a suitable unit.
#[must_use]
pub fn time(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..1_000 => format!("{millis} ms"),
        millis @ 1_000..120_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        millis => format!("{} min", millis / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</td><script>alert(1)</script><img src=x onerror=\"a('1')\">\u{202e}\0";

    fn live() -> LiveGatewayState {
        LiveGatewayState {
            program: HOSTILE.into(),
            now: HOSTILE.into(),
            figures: vec![("Streams", "3".into())],
            cards: vec![LiveCard(vec![("Session", HOSTILE.into())]); 2],
            rules: BTreeMap::from([(HOSTILE.into(), 3), ("A".into(), 3), ("B".into(), 7)]),
            streams: vec![LiveStream { id: HOSTILE.into(), slope: 1_234, ..LiveStream::default() }],
            slopes: vec![0, 50, 100],
            hold: (vec![Duration::from_millis(1), Duration::from_millis(1_500)], vec![1, 20, 0]),
        }
    }

    #[test]
    fn nothing_becomes_markup() {
        let page = live().page();
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("<img") && !page.contains('\u{202e}') && !page.contains('\0'), "{page}");
        assert!(page.contains("&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&quot;"));
        assert!(page.contains("⟨U+202E⟩⟨U+0000⟩"));
        assert!(!SCRIPT.contains('<') && !SCRIPT.contains("innerHTML"), "the script writes texts");
        let policy = header_policy();
        for part in ["default-src 'none'", "script-src 'sha256-", "connect-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{policy}");
        }
    }

    /// The page contains exactly the cells that the script sets.
    #[test]
    fn the_page_and_its_cells_are_the_same() {
        let (live, other) = (live(), LiveGatewayState::default());
        let page = live.page();
        for (id, text) in live.cells() {
            let cell = page.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("{id}")).1;
            let found = cell.split_once('>').unwrap().1.split_once("</").unwrap().0;
            assert_eq!(found, maud::html! { (text) }.into_string(), "{id}");
        }
        // Unused rows have cells, too.
        let rows = |live: &LiveGatewayState, name: &str| live.cells().keys().filter(|id| id.starts_with(name)).count();
        assert_eq!(rows(&live, "stream-"), STREAMS * 6);
        assert_eq!(rows(&live, "rule-"), RULES * 3);
        assert_eq!((rows(&other, "stream-"), rows(&other, "rule-")), (STREAMS * 6, RULES * 3));
    }

    #[test]
    fn the_rules_that_refuse_most_stand_first() {
        let mut live = live();
        live.rules = (0..40).map(|rule| (format!("R{rule:02}"), rule + 1)).collect();
        let cells = live.cells();
        let text = |id: &str| cells.get(id).unwrap().as_str();
        assert_eq!((text("rule-0-0"), text("rule-0-1")), ("R39", "40"));
        assert_eq!(text("rule-0-2").chars().count(), 20);
        assert_eq!((text("rule-14-0"), text("rule-15-0")), ("R25", "(other rules)"));
        let others: u64 = (1..=25).sum();
        assert_eq!(text("rule-15-1"), others.to_string());
    }

    #[test]
    fn figures_in_words() {
        let cells = live().cells();
        let text = |id: &str| cells.get(id).unwrap().as_str();
        assert_eq!((text("slope-0-1"), text("slope-1-1"), text("slope-1-2")), ("1.00 %", "1.00 %", "▁▅█"));
        assert_eq!((text("hold-0-0"), text("hold-0-2")), ("up to 1 ms", "█"));
        assert_eq!((text("hold-1-0"), text("hold-2-0")), ("up to 1.5 s", "more than 1.5 s"));
        assert_eq!((text("hold-2-1"), text("hold-2-2")), ("0", ""));
        assert_eq!(text("stream-0-5"), "12.34 %");
        assert_eq!(bar(1, 1_000_000), "█", "what is there is seen");
    }
}
