//! Loading an image through the table windows, and reading it back.

use portcullis_core::wire::{BANK_STRIDE, ImageHeader, Row};
use portcullis_policy::image::{Bank, Image};
use sha2::{Digest, Sha256};
use zerocopy::IntoBytes;

use super::SessionError;
use crate::registers::{ENTROPY_WINDOW, HEADER_WINDOW, POLICY_WINDOW};
use crate::{Card, CardInfo};

/// What is written into a card's tables. Sessions use an [`Image`]; anything else is for tests of the card, which has to
/// judge by itself what it was given.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Image header.
    pub header: &'a ImageHeader,
    /// Rows of the policy bank.
    pub policy: &'a [Row],
    /// Rows of the entropy bank.
    pub entropy: &'a [Row],
}

impl<'a> From<&'a Image> for Tables<'a> {
    fn from(image: &'a Image) -> Self {
        Self { header: image.header(), policy: image.policy_rows(), entropy: image.entropy_rows() }
    }
}

/// A word of a table: where it stands, its number in its window, its value.
struct Word {
    window: &'static str,
    number: usize,
    address: u32,
    value: u32,
}

impl Tables<'_> {
    /// SHA-256 over the canonical bytes: header, policy rows, entropy rows. What the card finds when it reads its tables back.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.header.as_bytes());
        hash.update(self.policy.as_bytes());
        hash.update(self.entropy.as_bytes());
        hash.finalize().into()
    }

    /// Every word, in the order in which the card takes them: rows ascending, words ascending.
    fn words(&self) -> impl Iterator<Item = Word> {
        let header = words("image header", HEADER_WINDOW, 0, self.header.as_bytes());
        let bank = |window, base, rows: &'_ [Row]| {
            let words =
                rows.iter().enumerate().flat_map(move |(row, r)| words(window, base, row * BANK_STRIDE, r.as_bytes()));
            words.collect::<Vec<_>>()
        };
        let policy = bank("policy bank", POLICY_WINDOW, self.policy);
        let entropy = bank("entropy bank", ENTROPY_WINDOW, self.entropy);
        header.chain(policy).chain(entropy)
    }
}

fn words(window: &'static str, base: u32, offset: usize, bytes: &[u8]) -> impl Iterator<Item = Word> {
    bytes.chunks_exact(4).enumerate().map(move |(i, chunk)| {
        let at = offset + i * 4;
        Word {
            window,
            number: at / 4,
            // Windows are below 1 MiB and banks were checked against the card's rows.
            address: base + u32::try_from(at).unwrap_or(u32::MAX - base),
            value: u32::from_le_bytes(chunk.try_into().unwrap_or_default()),
        }
    })
}

/// Whether the card has room for the tables.
pub(super) fn check_size(info: &CardInfo, tables: &Tables<'_>) -> Result<(), SessionError> {
    for (bank, rows, available) in
        [(Bank::Policy, tables.policy, info.policy_rows), (Bank::Entropy, tables.entropy, info.entropy_rows)]
    {
        if rows.len() > usize::from(available) {
            return Err(SessionError::TooManyRows { bank, rows: rows.len(), available });
        }
    }
    Ok(())
}

/// Writes every word, then reads every word back: what the card judges by is what was meant, or there is no session.
pub(super) fn load<C: Card + ?Sized>(card: &mut C, tables: &Tables<'_>) -> Result<(), SessionError> {
    for word in tables.words() {
        card.write32(word.address, word.value)?;
    }
    for Word { window, number, address, value } in tables.words() {
        let found = card.read32(address)?;
        if found != value {
            return Err(SessionError::ReadBack { window, word: number, written: value, found });
        }
    }
    Ok(())
}
