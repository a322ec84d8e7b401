//! Memory that two parties access at the same time, as words of 8 bytes.
//!
//! Every access is atomic per word. Loads acquire and stores release, in ascending order of the words. So a reader that
//! sees a new word also sees all bytes that were written before that word, within one process and across processes.

use std::sync::atomic::{AtomicU64, Ordering};

pub const WORD: usize = size_of::<u64>();

/// Copies the bytes that begin at `offset` into `into`. If the range is not inside the words, returns false after a
/// partial copy.
#[must_use]
pub fn read(words: &[AtomicU64], offset: usize, into: &mut [u8]) -> bool {
    let mut at = offset;
    let mut rest = into;
    while !rest.is_empty() {
        let Some(word) = words.get(at / WORD) else { return false };
        let bytes = word.load(Ordering::Acquire).to_le_bytes();
        let part = bytes.get(at % WORD..).unwrap_or_default();
        let n = part.len().min(rest.len());
        let (now, later) = rest.split_at_mut(n);
        now.copy_from_slice(part.get(..n).unwrap_or_default());
        rest = later;
        at += n;
    }
    true
}

/// Copies `from` to the bytes that begin at `offset`. If the range is not inside the words, returns false after a
/// partial copy. Only each aligned word is written atomically, not the whole range.
#[must_use]
pub fn write(words: &[AtomicU64], offset: usize, from: &[u8]) -> bool {
    let mut at = offset;
    let mut rest = from;
    while !rest.is_empty() {
        let Some(word) = words.get(at / WORD) else { return false };
        let skip = at % WORD;
        let n = (WORD - skip).min(rest.len());
        let (now, later) = rest.split_at(n);
        let merge = |old: u64| {
            let mut bytes = old.to_le_bytes();
            for (to, from) in bytes.iter_mut().skip(skip).zip(now) {
                *to = *from;
            }
            Some(u64::from_le_bytes(bytes))
        };
        if n == WORD {
            word.store(merge(0).unwrap_or_default(), Ordering::Release);
        } else {
            // The closure always returns `Some`, so the result is always `Ok`.
            let _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, merge);
        }
        rest = later;
        at += n;
    }
    true
}
