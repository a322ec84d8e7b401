//! `frequencies.txt`: of how many of WordNet's glosses a word is a part, as inverse document frequency in integers.

use super::table::{head, is_plain};
use super::wordnet::WordNet;
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A word that fewer glosses hold is as rare as one that none holds.
const LEAST: u64 = 2;
const HEAD: &str = "English words: 256 times the binary logarithm of glosses by glosses with the word.";

pub(super) fn text(wordnet: &WordNet) -> Result<String> {
    let mut holding: BTreeMap<String, u64> = BTreeMap::new();
    for gloss in &wordnet.glosses {
        let gloss = gloss.to_ascii_lowercase();
        let words: BTreeSet<&str> = gloss
            .split(|c: char| !c.is_ascii_lowercase() && c != '-')
            .map(|word| word.trim_matches('-'))
            .filter(|word| is_plain(word))
            .collect();
        for word in words {
            *holding.entry(word.to_owned()).or_default() += 1;
        }
    }
    let glosses = u64::try_from(wordnet.glosses.len())?;
    ensure!(glosses > 100_000, "{glosses} glosses: the files are not WordNet's");
    let mut text = head(HEAD, &wordnet.licence);
    for (word, count) in holding.iter().filter(|(_, count)| **count >= LEAST) {
        let _ = writeln!(text, "{word} {}", logarithm(glosses, *count));
    }
    Ok(text)
}

/// 256 times the binary logarithm of `all / part`, rounded down: the fraction's bits come one by one from squares.
fn logarithm(all: u64, part: u64) -> u64 {
    let whole = u64::from((all / part).max(1).ilog2());
    // `all / part` by its power of two, between 1 and 2, with 32 bits after the point.
    let mut rest = (u128::from(all) << 32) / (u128::from(part) << whole);
    let mut bits = whole;
    for _ in 0..8 {
        rest = (rest * rest) >> 32;
        bits *= 2;
        if rest >= 2 << 32 {
            rest >>= 1;
            bits += 1;
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_exact_to_their_last_bit() {
        assert_eq!([logarithm(8, 8), logarithm(8, 1), logarithm(3, 2)], [0, 3 * 256, 149]);
        assert_eq!(logarithm(117_659, 2), 4056);
    }
}
