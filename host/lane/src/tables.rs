//! The tables of a lane in the form of a card's memories: the compiler's output and the walk's input.
//!
//! Their encoding is canonical ([`TextLaneTables::encode`]): equal tables have equal bytes. The page
//! docs/reference/formats/lane-tables.md describes it.

use crate::dfa::{Dfa, DfaReport};
use crate::error::TablesError;
use crate::hash::Map;
use crate::prefixes::{ENTRIES, MOST_PREFIX_STATES, Prefixes};
use portcullis_core::class::{ClassId, ClassSet};
use portcullis_core::wire::CLASSES;

const MAGIC: &[u8; 8] = b"PCTLANE2";
/// Largest number of engines in tables.
const MOST_ENGINES: usize = 8;
/// Largest numbers of states and of byte classes of an automaton on any card.
pub(crate) const MOST_STATES: usize = 4096;
pub(crate) const MOST_BYTE_CLASSES: usize = 64;
/// Largest number of states of a gap automaton (for the text between two digits) on any card.
pub(crate) const MOST_GAP_STATES: usize = 256;
/// Largest numbers of classes and of report rows of an engine.
pub(crate) const MOST_CLASSES: usize = 16;
const MOST_ROWS: usize = 256;
/// Number of country codes of two letters.
const COUNTRIES: usize = 26 * 26;

/// The bits of an entry that hold the next state.
pub(crate) const STATE: u16 = 0x0fff;
/// The bit of an entry that is set if the next state reports something.
pub(crate) const REPORTS: u16 = 0x8000;

/// The tables of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextLaneTables {
    pub(crate) engines: Vec<LaneEngine>,
    pub(crate) cards: Option<Cards>,
    pub(crate) accounts: Option<Accounts>,
}

/// An automaton in the form of a card's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Automaton {
    pub(crate) map: [u8; 256],
    pub(crate) classes: u16,
    /// Rows have `1 << shift` entries.
    pub(crate) shift: u16,
    pub(crate) next: Vec<u16>,
}

/// One engine: an automaton that reports classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaneEngine {
    pub(crate) automaton: Automaton,
    pub(crate) classes: Vec<ClassId>,
    pub(crate) row_of: Vec<u8>,
    pub(crate) rows: Vec<DfaReport>,
}

/// The unit for card numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cards {
    pub(crate) classes: ClassSet,
    pub(crate) gap: GapAutomaton,
    pub(crate) prefixes: Prefixes,
}

/// The unit for account numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accounts {
    pub(crate) classes: ClassSet,
    pub(crate) gap: GapAutomaton,
    pub(crate) lengths: Vec<u8>,
}

/// The gap automaton: which bytes may separate two numerals. State 0 is dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GapAutomaton(pub(crate) Automaton);

impl Automaton {
    pub(crate) fn new(dfa: &Dfa) -> Option<Self> {
        let classes = u16::try_from(dfa.classes).ok().filter(|n| usize::from(*n) <= MOST_BYTE_CLASSES)?;
        let shift = dfa.classes.next_power_of_two().trailing_zeros();
        let mut next = vec![0; dfa.len() << shift];
        for (row, then) in next.chunks_mut(1 << shift).zip(dfa.next.chunks(dfa.classes)) {
            for (slot, state) in row.iter_mut().zip(then) {
                let report = dfa.report(*state);
                let flag = if report.now | report.before != 0 { REPORTS } else { 0 };
                *slot = u16::try_from(*state).ok().filter(|state| *state <= STATE)? | flag;
            }
        }
        Some(Self { map: dfa.map, classes, shift: u16::try_from(shift).ok()?, next })
    }

    pub(crate) fn states(&self) -> usize {
        self.next.len() >> self.shift
    }

    pub(crate) fn after(&self, state: u16, byte: u8) -> u16 {
        let class = self.map.get(usize::from(byte)).copied().unwrap_or(0);
        self.next.get(usize::from(state & STATE) << self.shift | usize::from(class)).copied().unwrap_or(0)
    }
}

impl GapAutomaton {
    pub(crate) fn new(dfa: &Dfa) -> Option<Self> {
        let mut automaton = Automaton::new(dfa)?;
        automaton.next.iter_mut().for_each(|entry| *entry &= STATE);
        Some(Self(automaton))
    }

    pub(crate) fn after(&self, state: u16, byte: u8) -> u16 {
        self.0.after(state, byte)
    }

    /// Largest number of bytes between two numerals; `None` without a limit.
    pub(crate) fn longest(&self, numeral: u8) -> Option<usize> {
        let others = (0..=u8::MAX).filter(|byte| !byte.is_ascii_alphanumeric());
        let others: Vec<u8> = others.collect();
        let mut now = vec![self.after(0, numeral)];
        for length in 0..=self.0.states() {
            now = now.iter().flat_map(|state| others.iter().map(|byte| self.after(*state, *byte))).collect();
            now.sort_unstable();
            now.dedup();
            now.retain(|state| *state != crate::gap::DEAD);
            if now.is_empty() {
                return Some(length);
            }
        }
        None
    }
}

impl LaneEngine {
    pub(crate) fn new(dfa: &Dfa, classes: Vec<ClassId>) -> Option<Self> {
        let mut known: Map<DfaReport, u8> = Map::default();
        let mut rows = vec![DfaReport::default()];
        known.insert(DfaReport::default(), 0);
        let mut row_of = Vec::with_capacity(dfa.len());
        for report in &dfa.reports {
            let row = match known.get(report) {
                Some(row) => *row,
                None => {
                    let new = u8::try_from(rows.len()).ok()?;
                    known.insert(*report, new);
                    rows.push(*report);
                    new
                }
            };
            row_of.push(row);
        }
        let automaton = Automaton::new(dfa)?;
        (classes.len() <= MOST_CLASSES).then_some(Self { automaton, classes, row_of, rows })
    }

    pub(crate) fn report(&self, state: u16) -> DfaReport {
        let row = self.row_of.get(usize::from(state & STATE)).copied().unwrap_or(0);
        self.rows.get(usize::from(row)).copied().unwrap_or_default()
    }

    pub(crate) fn set(&self, bits: u16) -> ClassSet {
        let held = self.classes.iter().zip(0..).filter(|(_, bit)| bits >> bit & 1 == 1);
        held.map(|(class, _)| *class).collect()
    }
}

impl TextLaneTables {
    /// Tables that find nothing.
    #[must_use]
    pub const fn empty() -> Self {
        Self { engines: Vec::new(), cards: None, accounts: None }
    }

    /// Number of states of each engine.
    pub fn states(&self) -> impl Iterator<Item = usize> {
        self.engines.iter().map(|engine| engine.automaton.states())
    }

    /// Number of byte classes of each engine.
    pub fn byte_classes(&self) -> impl Iterator<Item = usize> {
        self.engines.iter().map(|engine| usize::from(engine.automaton.classes))
    }

    /// Whether the tables count card numbers, and whether they count account numbers.
    #[must_use]
    pub const fn counts(&self) -> (bool, bool) {
        (self.cards.is_some(), self.accounts.is_some())
    }

    /// The classes that these tables can find.
    #[must_use]
    pub fn held(&self) -> ClassSet {
        let counted = [self.cards.as_ref().map(|c| c.classes), self.accounts.as_ref().map(|a| a.classes)];
        let engines: ClassSet = self.engines.iter().flat_map(|engine| engine.classes.iter().copied()).collect();
        counted.into_iter().flatten().fold(engines, ClassSet::union)
    }

    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = LaneTableWriter::default();
        out.bytes(MAGIC);
        out.bytes(&[0; 4]);
        let units = u8::from(self.cards.is_some()) | u8::from(self.accounts.is_some()) << 1;
        out.bytes(&[u8::try_from(self.engines.len()).unwrap_or(u8::MAX), units, 0, 0]);
        let sets = [self.cards.as_ref().map(|c| c.classes), self.accounts.as_ref().map(|a| a.classes)];
        sets.iter().for_each(|set| out.bytes(&set.unwrap_or_default().0.to_le_bytes()));
        for engine in &self.engines {
            out.automaton(&engine.automaton);
            out.short(engine.classes.len());
            out.short(engine.rows.len());
            let classes = engine.classes.iter().map(|class| u8::from(*class)).chain(std::iter::repeat(0xff));
            out.bytes(&classes.take(MOST_CLASSES).collect::<Vec<_>>());
            out.bytes(&engine.row_of);
            for row in &engine.rows {
                [row.now, row.before, row.at_end].iter().for_each(|set| out.bytes(&set.to_le_bytes()));
            }
            out.pad();
        }
        if let Some(cards) = &self.cards {
            out.automaton(&cards.gap.0);
            out.short(cards.prefixes.lengths.len());
            out.bytes(&[0; 6]);
            cards.prefixes.next.iter().for_each(|next| out.bytes(&next.to_le_bytes()));
            cards.prefixes.lengths.iter().for_each(|lengths| out.bytes(lengths));
            out.pad();
        }
        if let Some(accounts) = &self.accounts {
            out.automaton(&accounts.gap.0);
            out.bytes(&accounts.lengths);
            out.pad();
        }
        out.finish()
    }

    /// Reads tables; refuses tables that a card could not use.
    ///
    /// # Errors
    /// [`TablesError`] with the cause and the place.
    pub fn decode(bytes: &[u8]) -> Result<Self, TablesError> {
        let mut input = LaneTableReader { bytes, at: 0 };
        if input.take(8)? != MAGIC {
            return Err(TablesError::Magic);
        }
        let length = input.take(4)?.try_into().map(u32::from_le_bytes).unwrap_or(0);
        if usize::try_from(length) != Ok(bytes.len()) {
            return Err(TablesError::Length { said: length, given: bytes.len() });
        }
        let [engines, units, 0, 0] = input.take(4)? else {
            return Err(TablesError::Field { at: 12, field: "engines" });
        };
        let (engines, units) = (usize::from(*engines), *units);
        if engines > MOST_ENGINES || units > 3 {
            return Err(TablesError::Field { at: 12, field: "engines" });
        }
        let mut set = || input.take(16).map(|set| ClassSet(set.try_into().map(u128::from_le_bytes).unwrap_or(0)));
        let (cards, accounts) = (set()?, set()?);
        let engines = (0..engines).map(|_| input.engine()).collect::<Result<Vec<_>, _>>()?;
        let cards = (units & 1 != 0).then(|| input.cards(cards)).transpose()?;
        let accounts = (units & 2 != 0).then(|| input.accounts(accounts)).transpose()?;
        let tables = Self { engines, cards, accounts };
        // Equal tables must have equal bytes. This check also covers padding, flags and unused entries.
        if input.at == bytes.len() && tables.encode() == bytes { Ok(tables) } else { Err(TablesError::Form) }
    }
}

#[derive(Default)]
struct LaneTableWriter(Vec<u8>);

impl LaneTableWriter {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn short(&mut self, value: usize) {
        self.bytes(&u16::try_from(value).unwrap_or(u16::MAX).to_le_bytes());
    }

    fn automaton(&mut self, of: &Automaton) {
        self.short(of.states());
        self.short(usize::from(of.classes));
        self.short(usize::from(of.shift));
        self.short(0);
        self.bytes(&of.map);
        of.next.iter().for_each(|next| self.bytes(&next.to_le_bytes()));
        self.pad();
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX).to_le_bytes();
        if let Some(slot) = self.0.get_mut(8..12) {
            slot.copy_from_slice(&length);
        }
        self.0
    }
}

struct LaneTableReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> LaneTableReader<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], TablesError> {
        let end = self.at.saturating_add(length);
        let taken = self.bytes.get(self.at..end).ok_or(TablesError::Short { at: self.at, wants: length })?;
        self.at = end;
        Ok(taken)
    }

    fn short(&mut self) -> Result<u16, TablesError> {
        let bytes = self.take(2)?;
        Ok(bytes.try_into().map(u16::from_le_bytes).unwrap_or(0))
    }

    fn shorts(&mut self, count: usize) -> Result<Vec<u16>, TablesError> {
        let bytes = self.take(count * 2)?;
        Ok(bytes.chunks_exact(2).filter_map(|pair| pair.try_into().ok().map(u16::from_le_bytes)).collect())
    }

    fn pad(&mut self) -> Result<(), TablesError> {
        let length = self.at.next_multiple_of(8) - self.at;
        self.take(length).map(|_| ())
    }

    fn automaton(&mut self) -> Result<Automaton, TablesError> {
        let at = self.at;
        let wrong = |field| TablesError::Field { at, field };
        let (states, classes, shift, _) = (self.short()?, self.short()?, self.short()?, self.short()?);
        if states == 0 || usize::from(states) > MOST_STATES {
            return Err(wrong("states"));
        }
        if classes == 0 || usize::from(classes) > MOST_BYTE_CLASSES {
            return Err(wrong("classes of bytes"));
        }
        if u32::from(shift) != classes.next_power_of_two().trailing_zeros() {
            return Err(wrong("shift"));
        }
        let map: [u8; 256] = self.take(256)?.try_into().map_err(|_| wrong("class of a byte"))?;
        if map.iter().any(|class| u16::from(*class) >= classes) {
            return Err(wrong("class of a byte"));
        }
        let next = self.shorts(usize::from(states) << shift)?;
        if next.iter().any(|entry| entry & STATE >= states || entry & !(STATE | REPORTS) != 0) {
            return Err(wrong("next state"));
        }
        // Entries beyond the last byte class are never read, so they must be zero.
        let behind = next.chunks(1 << shift).flat_map(|row| row.iter().skip(usize::from(classes)));
        if behind.into_iter().any(|entry| *entry != 0) {
            return Err(wrong("unused entry"));
        }
        self.pad()?;
        Ok(Automaton { map, classes, shift, next })
    }

    fn engine(&mut self) -> Result<LaneEngine, TablesError> {
        let automaton = self.automaton()?;
        let at = self.at;
        let wrong = |field| TablesError::Field { at, field };
        let (classes, rows) = (usize::from(self.short()?), usize::from(self.short()?));
        if classes > MOST_CLASSES || rows == 0 || rows > MOST_ROWS {
            return Err(wrong("classes and rows"));
        }
        let ids = self.take(MOST_CLASSES)?;
        let ids = ids.iter().take(classes).map(|id| ClassId::try_from(*id).map_err(|_| wrong("class")));
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        let row_of = self.take(automaton.states())?.to_vec();
        if row_of.iter().any(|row| usize::from(*row) >= rows) {
            return Err(wrong("row of a state"));
        }
        let sets = self.shorts(rows * 3)?;
        let row = |sets: &[u16]| match sets {
            [now, before, at_end] => DfaReport { now: *now, before: *before, at_end: *at_end },
            _ => DfaReport::default(),
        };
        let rows: Vec<DfaReport> = sets.chunks_exact(3).map(row).collect();
        let held = rows.iter().fold(0, |all, row| all | row.now | row.before | row.at_end);
        if u32::from(held) >> classes != 0 || rows.first() != Some(&DfaReport::default()) {
            return Err(wrong("rows"));
        }
        self.pad()?;
        let engine = LaneEngine { automaton, classes: ids, row_of, rows };
        let told = |entry: &u16| {
            let report = engine.report(*entry);
            (report.now | report.before != 0) == (entry & REPORTS != 0)
        };
        let read = usize::from(engine.automaton.classes);
        let rows = engine.automaton.next.chunks(1 << engine.automaton.shift);
        if !rows.into_iter().all(|row| row.iter().take(read).all(told)) {
            return Err(wrong("flag of a next state"));
        }
        Ok(engine)
    }

    fn gap(&mut self) -> Result<GapAutomaton, TablesError> {
        let at = self.at;
        let gap = self.automaton()?;
        if gap.states() > MOST_GAP_STATES {
            return Err(TablesError::Field { at, field: "states" });
        }
        let plain = gap.next.iter().all(|entry| *entry & REPORTS == 0);
        if plain { Ok(GapAutomaton(gap)) } else { Err(TablesError::Field { at, field: "flag of a next state" }) }
    }

    fn cards(&mut self, classes: ClassSet) -> Result<Cards, TablesError> {
        let gap = self.gap()?;
        let at = self.at;
        let states = usize::from(self.short()?);
        self.take(6)?;
        let next = self.shorts(states << 4)?;
        if states == 0 || states > MOST_PREFIX_STATES || next.iter().any(|next| usize::from(*next) >= states) {
            return Err(TablesError::Field { at, field: "first digits" });
        }
        let lengths = self.take(states * ENTRIES)?.chunks_exact(ENTRIES);
        let lengths = lengths.filter_map(|lengths| lengths.try_into().ok()).collect();
        self.pad()?;
        Ok(Cards { classes, gap, prefixes: Prefixes { next, lengths } })
    }

    fn accounts(&mut self, classes: ClassSet) -> Result<Accounts, TablesError> {
        let gap = self.gap()?;
        let at = self.at;
        let lengths = self.take(COUNTRIES)?.to_vec();
        if lengths.iter().any(|length| *length > 34 || (1..5).contains(length)) {
            return Err(TablesError::Field { at, field: "length of an account number" });
        }
        self.pad()?;
        Ok(Accounts { classes, gap, lengths })
    }
}

/// Lengths of account numbers by country code; 0 for unknown codes.
pub(crate) fn lengths(accounts: &[crate::source::IbanCountryLength]) -> Vec<u8> {
    let mut lengths = vec![0; COUNTRIES];
    for account in accounts {
        let [a, b] = account.country.map(|letter| usize::from(letter.wrapping_sub(b'A')));
        if let Some(slot) = lengths.get_mut(a * 26 + b) {
            *slot = account.length;
        }
    }
    lengths
}

const _: () = assert!(MOST_STATES - 1 == STATE as usize && CLASSES <= 0xff);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{LaneTableLimits, compile};
    use crate::source::{ClassForm, ClassSource, FormBorder, LaneSource, MatchRelation};
    use regex_automata::util::syntax;

    impl GapAutomaton {
        /// Accepts at most `most` marks between two digits.
        pub(crate) fn of_marks(most: usize) -> Self {
            Self::of(most, |byte| byte.is_ascii_digit())
        }

        /// Accepts at most `most` marks between two letters or digits.
        pub(crate) fn of_marks_between_words(most: usize) -> Self {
            Self::of(most, |byte| byte.is_ascii_alphanumeric())
        }

        fn of(most: usize, is_numeral: fn(u8) -> bool) -> Self {
            let mut map = [0; 256];
            for (byte, slot) in (0..=u8::MAX).zip(&mut map) {
                *slot =
                    if is_numeral(byte) { 1 } else { u8::from(byte.is_ascii_alphanumeric() || !byte.is_ascii()) * 2 };
            }
            let states = most as u16 + 2;
            let after = |state: u16| if state == 0 || state + 1 == states { 0 } else { state + 1 };
            let next = (0..states).flat_map(|state| [after(state), 1, 0, 0]).collect();
            Self(Automaton { map, classes: 3, shift: 2, next })
        }
    }

    fn tables() -> TextLaneTables {
        let hir = syntax::parse_with("ab{1,3}c", &syntax::Config::new().unicode(false)).unwrap();
        let form = ClassForm {
            name: "ab{1,3}c".into(),
            hir,
            border: FormBorder::Free,
            check: None,
            relation: MatchRelation::Equal,
        };
        let id = ClassId::try_from(7).unwrap();
        let class = ClassSource {
            id,
            name: "x".into(),
            forms: vec![form],
            left_out: Vec::new(),
            view: false,
            domains: Vec::new(),
        };
        compile(&LaneSource { classes: vec![class], ..LaneSource::default() }, &LaneTableLimits::default()).tables
    }

    #[test]
    fn bytes_and_back() {
        let tables = tables();
        let bytes = tables.encode();
        assert_eq!(TextLaneTables::decode(&bytes), Ok(tables));
        assert_eq!(bytes.len() % 8, 0);
    }

    /// The memories of the card have room for 256 states of a gap automaton and 512 states of first digits.
    #[test]
    fn units_have_a_limited_number_of_states() {
        for (marks, digits, fits) in [(254, 512, true), (255, 512, false), (254, 513, false)] {
            let prefixes = Prefixes { next: vec![0; digits << 4], lengths: vec![[0; ENTRIES]; digits] };
            let cards = Some(Cards { classes: ClassSet::EMPTY, gap: GapAutomaton::of_marks(marks), prefixes });
            let tables = TextLaneTables { cards, ..TextLaneTables::empty() };
            assert_eq!(
                TextLaneTables::decode(&tables.encode()).is_ok(),
                fits,
                "{marks} marks, {digits} states of digits"
            );
        }
    }

    #[test]
    fn no_changed_byte_is_read_as_the_same_tables() {
        let bytes = tables().encode();
        for at in 0..bytes.len() {
            for flip in [1, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                assert_ne!(TextLaneTables::decode(&changed), TextLaneTables::decode(&bytes), "byte {at}");
            }
            assert!(TextLaneTables::decode(&bytes[..at]).is_err(), "{at} bytes");
        }
    }
}
