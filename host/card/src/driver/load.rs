//! Writing an image through the table windows, and reading it back.

use portcullis_core::wire::{BANK_STRIDE, Command, ImageHeader, ImageText, Life, Row};
use portcullis_image::BankKind;
use zerocopy::little_endian::U32;
use zerocopy::transmute_ref;

use super::command::{await_status, command, reset};
use super::error::SessionError;
use super::info::CardInfo;
use crate::card::CardTransport;
use crate::limits::LANES;
use crate::registers::{self, ENTROPY_WINDOW, HEADER_WINDOW, POLICY_WINDOW, words_of};
use crate::tables::CardTables;

/// A word of a table: its window, its number in the window, its address and its value.
struct TableWord {
    window: &'static str,
    number: usize,
    address: u32,
    value: u32,
}

/// Every word, in the order that the card requires: rows ascending, words ascending.
fn table_words(tables: &CardTables<'_>) -> impl Iterator<Item = TableWord> {
    let header: &[U32; ImageHeader::BYTES / 4] = transmute_ref!(tables.header);
    let header = words("image header", HEADER_WINDOW, 0, header);
    let text = tables.text.into_iter().flat_map(|text| {
        let part: &[U32; ImageText::BYTES / 4] = transmute_ref!(text.part);
        words("text part", HEADER_WINDOW, ImageHeader::BYTES, part)
    });
    let bank = |window, base, rows: &'_ [Row]| {
        let row = move |(number, row): (usize, &Row)| {
            let row: &[U32; Row::BYTES / 4] = transmute_ref!(row);
            words(window, base, number * BANK_STRIDE, row).collect::<Vec<_>>()
        };
        rows.iter().enumerate().flat_map(row).collect::<Vec<_>>()
    };
    let policy = bank("policy bank", POLICY_WINDOW, tables.policy);
    let entropy = bank("entropy bank", ENTROPY_WINDOW, tables.entropy);
    header.chain(text).chain(policy).chain(entropy)
}

fn words(window: &'static str, base: u32, offset: usize, words: &[U32]) -> impl Iterator<Item = TableWord> {
    words.iter().enumerate().map(move |(i, word)| {
        let at = offset + i * 4;
        TableWord {
            window,
            number: at / 4,
            // Windows are below 1 MiB, and the banks' sizes were checked against the card's rows, so the conversion
            // succeeds.
            address: base + u32::try_from(at).unwrap_or(u32::MAX - base),
            value: word.get(),
        }
    })
}

/// Checks that the tables fit the card's banks.
fn check_size(info: &CardInfo, tables: &CardTables<'_>) -> Result<(), SessionError> {
    for (bank, rows, available) in
        [(BankKind::Policy, tables.policy, info.policy_rows), (BankKind::Entropy, tables.entropy, info.entropy_rows)]
    {
        if rows.len() > usize::from(available) {
            return Err(SessionError::TooManyRows { bank, rows: rows.len(), available });
        }
    }
    if tables.text.is_some() && info.text.is_none() {
        return Err(SessionError::Missing("text lane"));
    }
    Ok(())
}

/// Writes every word, then reads every word back. If a word differs, no session opens.
fn load<C: CardTransport + ?Sized>(card: &mut C, tables: &CardTables<'_>) -> Result<(), SessionError> {
    for word in table_words(tables) {
        card.write32(word.address, word.value)?;
    }
    for TableWord { window, number, address, value } in table_words(tables) {
        let found = card.read32(address)?;
        if found != value {
            return Err(SessionError::ReadBack { window, word: number, written: value, found });
        }
    }
    Ok(())
}

/// Brings the card to LOAD, writes the tables, reads every word back, and sets the expected digest. Does not open a
/// session. Errors: as those steps of [`CardSession::open`].
pub fn load_only<C: CardTransport + ?Sized>(card: &mut C, tables: &CardTables<'_>) -> Result<CardInfo, SessionError> {
    let info = CardInfo::read(card)?;
    if !LANES.contains(&info.lanes) {
        return Err(SessionError::Lanes(info.lanes));
    }
    check_size(&info, tables)?;
    reset(card)?;
    command(card, Command::Load)?;
    await_status(card, "state LOAD", |s| s.life == Life::Load)?;
    load(card, tables)?;
    // A card that does not hash its tables accepts only zero as the expected digest.
    let expected = if info.digest { tables.digest() } else { [0; 32] };
    registers::with(card, |r| {
        let pairs = r.expected_digest().into_iter().zip(words_of::<32, 8>(expected));
        pairs.into_iter().try_for_each(|(register, word)| register.try_write(|w| w.set_v(word)))
    })?;
    Ok(info)
}
