//! The walk over a lane's tables in software. The card's scan must agree with it on every byte.
//!
//! The text of a stream is divided into entries. A [`ScanState`] is the complete state between two bytes of a stream;
//! the caller may store it at any byte and continue from it later.

use crate::dfa::DfaReport;
use crate::form::Fields;
use crate::gap;
use crate::iban::Iban;
use crate::luhn::Luhn;
use crate::tables::{LaneEngine, REPORTS, STATE, TextLaneTables};
use crate::utf8::Utf8;
use portcullis_core::class::ClassSet;

/// Number of engines that one loop walks.
const ENGINES: usize = 4;

/// Tables, prepared for the walk.
#[derive(Clone, Debug)]
pub struct LaneScanner {
    tables: TextLaneTables,
    engines: [Steps; ENGINES],
    /// For each byte, its class in each engine of the loop, one byte per engine.
    columns: [u32; 256],
    /// How many bytes before a digit can influence the account-number unit; `None` if the number is unlimited.
    reach: Option<usize>,
}

/// Next states by state and byte class. A number is the offset of the next state's row, combined with [`TOLD`].
#[derive(Clone, Debug)]
struct Steps {
    next: Vec<u32>,
    shift: u32,
    /// For each report row: the classes reported with a byte, and the classes reported at the end of an entry.
    told: Vec<(ClassSet, ClassSet)>,
}

/// In a number of `Steps::next`, the bit that is set if the next state reports a match that has ended.
const TOLD: u32 = 1 << 31;

/// The state of a stream's scan between two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanState {
    engines: [u16; ENGINES],
    cards: Luhn,
    accounts: Iban,
}

/// An entry that is being read.
#[derive(Clone, Copy, Debug)]
pub struct EntryScan {
    found: ClassSet,
    utf8: Utf8,
    fresh: bool,
}

/// The result of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryScanResult {
    /// Classes with a match that ends in the entry, or that would end there if the text ended with the entry. Also
    /// classes with a match that ended before the entry, if only the entry decided that.
    pub classes: ClassSet,
    /// Whether the entry consists of complete UTF-8 characters.
    pub utf8: bool,
}

impl Steps {
    const NONE: Self = Self { next: Vec::new(), shift: 0, told: Vec::new() };

    fn told(&self, engine: &LaneEngine, state: u16) -> (ClassSet, ClassSet) {
        let row = engine.row_of.get(usize::from(state)).copied().unwrap_or(0);
        self.told.get(usize::from(row)).copied().unwrap_or_default()
    }
}

impl ScanState {
    /// The state before the first byte of a stream.
    pub const START: Self = Self { engines: [0; ENGINES], cards: Luhn::NEW, accounts: Iban::NEW };

    /// The state as a card with this number of engines holds it (`rtl/text`): little-endian bytes, padded to words of
    /// 32 bits. `None` if a part does not fit.
    #[must_use]
    pub fn card_form(&self, engines: usize) -> Option<Vec<u8>> {
        let (kept, more) = self.engines.split_at_checked(engines)?;
        if more.iter().any(|state| *state != 0) {
            return None;
        }
        let mut fields = Fields::default();
        kept.iter().rev().for_each(|state| fields.put(*state, 12));
        self.cards.form(&mut fields)?;
        self.accounts.form(&mut fields)?;
        Some(fields.bytes())
    }
}

impl EntryScan {
    /// The result for the bytes so far, provided that the text does not end here.
    #[must_use]
    pub const fn so_far(&self) -> EntryScanResult {
        EntryScanResult { classes: self.found, utf8: self.utf8.is_whole() }
    }
}

impl Default for EntryScan {
    fn default() -> Self {
        Self { found: ClassSet::EMPTY, utf8: Utf8::NEW, fresh: true }
    }
}

impl LaneScanner {
    /// Prepares tables. `None` if they have more engines than a walk supports.
    #[must_use]
    pub fn new(tables: TextLaneTables) -> Option<Self> {
        if tables.engines.len() > ENGINES {
            return None;
        }
        let mut columns = [0u32; 256];
        let mut engines: [Steps; ENGINES] = std::array::from_fn(|_| Steps::NONE);
        for (index, (engine, steps)) in tables.engines.iter().zip(&mut engines).enumerate() {
            let shift = u32::from(engine.automaton.shift);
            let step = |entry: &u16| u32::from(entry & STATE) << shift | if entry & REPORTS != 0 { TOLD } else { 0 };
            let told = |row: &DfaReport| (engine.set(row.now | row.before), engine.set(row.at_end));
            let next = engine.automaton.next.iter().map(step).collect();
            *steps = Steps { next, shift, told: engine.rows.iter().map(told).collect() };
            for (column, class) in columns.iter_mut().zip(engine.automaton.map) {
                *column |= u32::from(class) << (8 * index);
            }
        }
        let longest = tables.accounts.as_ref().map(|accounts| accounts.gap.longest(b'A'));
        let reach = longest.flatten().map(|gap| 2 * gap + 3);
        Some(Self { tables, engines, columns, reach })
    }

    #[must_use]
    pub const fn tables(&self) -> &TextLaneTables {
        &self.tables
    }

    /// Reads a complete entry.
    #[must_use]
    pub fn scan(&self, state: &mut ScanState, bytes: &[u8]) -> EntryScanResult {
        let mut entry = EntryScan::default();
        self.read(state, &mut entry, bytes);
        self.end(state, entry)
    }

    /// The classes found in a text that is a whole stream.
    #[must_use]
    pub fn classes(&self, text: &str) -> ClassSet {
        self.scan(&mut ScanState::START.clone(), text.as_bytes()).classes
    }

    /// Reads a part of an entry.
    pub fn read(&self, state: &mut ScanState, entry: &mut EntryScan, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        entry.utf8.read(bytes);
        match self.tables.engines.len() {
            0 => {}
            1 => self.engines::<1>(state, entry, bytes),
            2 => self.engines::<2>(state, entry, bytes),
            3 => self.engines::<3>(state, entry, bytes),
            _ => self.engines::<ENGINES>(state, entry, bytes),
        }
        self.cards(state, entry, bytes);
        self.accounts(state, entry, bytes);
        entry.fresh = false;
    }

    /// Ends an entry; also finds matches that end here if the text ends here.
    #[must_use]
    pub fn end(&self, state: &mut ScanState, entry: EntryScan) -> EntryScanResult {
        let mut classes = entry.found;
        // An entry without bytes has no matches.
        if !entry.fresh {
            for ((engine, steps), at) in self.tables.engines.iter().zip(&self.engines).zip(state.engines) {
                classes = classes.union(steps.told(engine, at).1);
            }
            if let Some(cards) = &self.tables.cards {
                if state.cards.at_end() {
                    classes = classes.union(cards.classes);
                }
                state.cards.end();
            }
        }
        EntryScanResult { classes, utf8: entry.utf8.is_whole() }
    }

    /// Walks all engines in one loop, so that their memory accesses overlap.
    #[expect(clippy::indexing_slicing, reason = "places below N of arrays of N, and of 256 by a byte")]
    fn engines<const N: usize>(&self, state: &mut ScanState, entry: &mut EntryScan, bytes: &[u8]) {
        let tables: [&[u32]; N] = std::array::from_fn(|index| self.engines[index].next.as_slice());
        let mut rows: [u32; N] =
            std::array::from_fn(|index| u32::from(state.engines[index]) << self.engines[index].shift);
        // The first byte of an entry can show that a match ended before the entry. The previous entry has already
        // reported the matches that were known at its end.
        let mut known = [0u16; N];
        if entry.fresh {
            for ((known, engine), at) in known.iter_mut().zip(&self.tables.engines).zip(state.engines) {
                *known = engine.report(at).at_end;
            }
        }
        for byte in bytes {
            let column = self.columns[usize::from(*byte)];
            let next: [u32; N] = std::array::from_fn(|index| {
                let class = column >> (8 * index) & 0xff;
                tables[index].get((rows[index] + class) as usize).copied().unwrap_or(0)
            });
            rows = next.map(|next| next & !TOLD);
            if next.iter().fold(0, |told, next| told | next) & TOLD != 0 {
                self.told(&rows, entry, &known);
            }
            known = [0; N];
        }
        for (index, row) in rows.into_iter().enumerate() {
            state.engines[index] = u16::try_from(row >> self.engines[index].shift).unwrap_or(0);
        }
    }

    /// Adds the classes that the states report, except matches that the previous entry has reported.
    #[cold]
    fn told(&self, rows: &[u32], entry: &mut EntryScan, known: &[u16]) {
        let engines = self.tables.engines.iter().zip(&self.engines);
        for (((engine, steps), row), known) in engines.zip(rows).zip(known) {
            let state = u16::try_from(row >> steps.shift).unwrap_or(0);
            let classes = if *known == 0 {
                steps.told(engine, state).0
            } else {
                let report = engine.report(state);
                engine.set(report.now | report.before & !known)
            };
            entry.found = entry.found.union(classes);
        }
    }

    fn cards(&self, state: &mut ScanState, entry: &mut EntryScan, bytes: &[u8]) {
        let Some(cards) = &self.tables.cards else { return };
        let mut luhn = state.cards;
        let mut rest = bytes;
        loop {
            if luhn.is_idle() {
                let Some(digit) = rest.iter().position(u8::is_ascii_digit) else { break };
                rest = rest.get(digit..).unwrap_or_default();
            }
            let Some((byte, after)) = rest.split_first() else { break };
            let found = luhn.step(*byte, &cards.gap, &cards.prefixes);
            if found.now || found.before {
                entry.found = entry.found.union(cards.classes);
            }
            rest = after;
        }
        state.cards = luhn;
    }

    /// Skips bytes without digits while no number is being read. The `reach` bytes before a digit are read.
    fn accounts(&self, state: &mut ScanState, entry: &mut EntryScan, bytes: &[u8]) {
        let Some(accounts) = &self.tables.accounts else { return };
        let mut iban = state.accounts;
        let mut at = 0;
        while at < bytes.len() {
            let mut to = at + 1;
            if let Some(reach) = self.reach.filter(|_| iban.is_idle()) {
                let rest = bytes.get(at..).unwrap_or_default();
                let digit = rest.iter().position(u8::is_ascii_digit).unwrap_or(rest.len());
                to = (at + digit + 1).min(bytes.len());
                if digit > reach {
                    at = (at + digit).saturating_sub(reach);
                    iban = Iban::NEW;
                }
            }
            for byte in bytes.get(at..to).into_iter().flatten() {
                if iban.step(*byte, &accounts.gap, &accounts.lengths) {
                    entry.found = entry.found.union(accounts.classes);
                }
            }
            at = to;
        }
        state.accounts = iban;
    }
}

const _: () = assert!(gap::DEAD == 0);
