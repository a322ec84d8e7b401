//! The table windows: header and two banks, written word by word.

use portcullis_core::wire::{IMAGE_MAGIC, ImageHeader, ImageText, LAYOUT_VERSION, MAP_DIGEST, Row, image_parts};

use super::capacity::{BANK_WINDOW, ENTROPY_ROWS, POLICY_ROWS};
use crate::registers::{ENTROPY_WINDOW, HEADER_WINDOW, POLICY_WINDOW, bytes_of};

const HEADER_WORDS: usize = ImageHeader::BYTES / 4;
/// Number of words in the window that header and text part share.
const HEAD_WORDS: usize = HEADER_WORDS + ImageText::BYTES / 4;
const ROW_WORDS: usize = Row::BYTES / 4;

/// Row and word for an address in a bank's window.
fn place(address: u32) -> (usize, usize) {
    ((address >> 8 & 0x3ff) as usize, (address >> 2 & 0x3f) as usize)
}

#[derive(Debug)]
struct RowBank {
    rows: Vec<[u32; ROW_WORDS]>,
    /// Whether each row was written completely and in order.
    valid: Vec<bool>,
    /// The row that is being written, and its next word. 0 means that the next write must begin a row.
    open_row: usize,
    next_word: usize,
}

impl RowBank {
    fn new(rows: u16) -> Self {
        let rows = usize::from(rows);
        Self { rows: vec![[0; ROW_WORDS]; rows], valid: vec![false; rows], open_row: 0, next_word: 0 }
    }

    fn clear(&mut self) {
        self.valid.fill(false);
        (self.open_row, self.next_word) = (0, 0);
    }

    fn write(&mut self, address: u32, value: u32) {
        let (row, word) = place(address);
        let Some(place) = self.rows.get_mut(row).and_then(|words| words.get_mut(word)) else { return };
        *place = value;
        let continues = word == 0 || (word == self.next_word && row == self.open_row);
        let last = word == ROW_WORDS - 1;
        if let Some(valid) = self.valid.get_mut(row) {
            *valid = continues && last;
        }
        self.open_row = row;
        self.next_word = if continues && !last { word + 1 } else { 0 };
    }

    /// Reads a word; an invalid row reads as zero.
    fn read(&self, address: u32) -> u32 {
        let (row, word) = place(address);
        let valid = self.valid.get(row).copied().unwrap_or_default();
        let value = self.rows.get(row).and_then(|words| words.get(word)).copied();
        if valid { value.unwrap_or_default() } else { 0 }
    }

    /// The first `count` rows; `None` if any of them is invalid.
    fn rows(&self, count: u16) -> Option<Vec<Row>> {
        let valid = self.valid.get(..usize::from(count))?;
        let rows = self.rows.get(..usize::from(count))?;
        if !valid.iter().all(|valid| *valid) {
            return None;
        }
        Some(rows.iter().map(|words| zerocopy::transmute!(bytes_of::<ROW_WORDS, { Row::BYTES }>(*words))).collect())
    }
}

#[derive(Debug)]
pub(super) struct TableMemory {
    head: [u32; HEAD_WORDS],
    head_valid: [bool; HEAD_WORDS],
    policy: RowBank,
    entropy: RowBank,
}

impl Default for TableMemory {
    fn default() -> Self {
        Self {
            head: [0; HEAD_WORDS],
            head_valid: [false; HEAD_WORDS],
            policy: RowBank::new(POLICY_ROWS),
            entropy: RowBank::new(ENTROPY_ROWS),
        }
    }
}

/// The table window of an address.
enum TableWindow {
    Head(usize),
    Policy,
    Entropy,
    Nothing,
}

fn window(address: u32) -> TableWindow {
    match address {
        HEADER_WINDOW.. if address < HEADER_WINDOW + HEAD_WORDS as u32 * 4 => {
            TableWindow::Head((address - HEADER_WINDOW) as usize / 4)
        }
        POLICY_WINDOW.. if address < POLICY_WINDOW + BANK_WINDOW => TableWindow::Policy,
        ENTROPY_WINDOW.. if address < ENTROPY_WINDOW + BANK_WINDOW => TableWindow::Entropy,
        _ => TableWindow::Nothing,
    }
}

impl TableMemory {
    /// Makes everything invalid.
    pub(super) fn clear(&mut self) {
        self.head.fill(0);
        self.head_valid.fill(false);
        self.policy.clear();
        self.entropy.clear();
    }

    pub(super) fn write(&mut self, address: u32, value: u32) {
        match window(address) {
            TableWindow::Head(word) => {
                if let (Some(place), Some(valid)) = (self.head.get_mut(word), self.head_valid.get_mut(word)) {
                    *place = value;
                    *valid = true;
                }
            }
            TableWindow::Policy => self.policy.write(address, value),
            TableWindow::Entropy => self.entropy.write(address, value),
            TableWindow::Nothing => {}
        }
    }

    pub(super) fn read(&self, address: u32) -> u32 {
        match window(address) {
            TableWindow::Head(word) => self.head.get(word).copied().unwrap_or_default(),
            TableWindow::Policy => self.policy.read(address),
            TableWindow::Entropy => self.entropy.read(address),
            TableWindow::Nothing => 0,
        }
    }

    pub(super) fn header(&self) -> ImageHeader {
        let words = self.head.first_chunk().copied().unwrap_or_default();
        zerocopy::transmute!(bytes_of::<HEADER_WORDS, { ImageHeader::BYTES }>(words))
    }

    /// The text part; `None` if the header announces none.
    pub(super) fn text(&self) -> Option<ImageText> {
        let words = self.head.last_chunk().copied().unwrap_or_default();
        let text = zerocopy::transmute!(bytes_of::<{ ImageText::BYTES / 4 }, { ImageText::BYTES }>(words));
        (u16::from(self.header().parts) & image_parts::TEXT != 0).then_some(text)
    }

    /// Whether the header fits this card: magic, version, map digest, reserved bits, row counts.
    pub(super) fn header_fits(&self) -> bool {
        let header = self.header();
        let counted = |rows: u16, available: u16| rows != 0 && rows <= available;
        header.magic.get() == IMAGE_MAGIC
            && header.version == LAYOUT_VERSION
            && header.map_digest == MAP_DIGEST
            && header.reserved_is_zero()
            && u16::from(header.parts) & !image_parts::ALL == 0
            && self.text().is_none_or(|text| text.reserved_is_zero())
            && header.quantities >> 4 == 0
            && counted(header.policy_rows.get(), POLICY_ROWS)
            && counted(header.entropy_rows.get(), ENTROPY_ROWS)
    }

    /// The rows that the header counts; `None` unless the header and all these rows were written completely.
    pub(super) fn complete(&self) -> Option<(Vec<Row>, Vec<Row>)> {
        let header = self.header();
        let words = if self.text().is_some() { HEAD_WORDS } else { HEADER_WORDS };
        let whole = self.head_valid.iter().take(words).all(|valid| *valid);
        let policy = self.policy.rows(header.policy_rows.get())?;
        let entropy = self.entropy.rows(header.entropy_rows.get())?;
        whole.then_some((policy, entropy))
    }
}
