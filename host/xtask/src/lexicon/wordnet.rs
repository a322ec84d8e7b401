//! WordNet's database files (wndb(5WN), morphy(7WN), cntlist(5WN)).

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Parts of speech with the ends of their files' names. An adjective satellite is an adjective.
const PARTS: [(char, &str); 4] = [('a', "adj"), ('n', "noun"), ('r', "adv"), ('v', "verb")];

pub(super) struct Synset {
    /// Words as they are written, an underscore between those of a phrase.
    pub(super) words: Vec<String>,
    pub(super) pointers: Vec<Pointer>,
}

/// A relation of one word to another.
pub(super) struct Pointer {
    pub(super) symbol: String,
    /// Place of the word in this synset, from 1; 0 for the synset as a whole.
    pub(super) from: usize,
    pub(super) synset: (char, u32),
    /// Place of the word in the other synset, from 1.
    pub(super) to: usize,
}

pub(super) struct WordNet {
    pub(super) synsets: BTreeMap<(char, u32), Synset>,
    /// Synsets of a lemma, the most frequent first.
    pub(super) senses: BTreeMap<(String, char), Vec<u32>>,
    /// How often a lemma's senses are in the texts that WordNet tagged.
    pub(super) counts: BTreeMap<(String, char), Vec<u64>>,
    pub(super) irregular: Vec<(String, char, String)>,
    pub(super) glosses: Vec<String>,
    pub(super) licence: Vec<String>,
}

impl WordNet {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let file = |name: String| -> Result<String> {
            let path = folder.join(name);
            Ok(String::from_utf8_lossy(&fs::read(&path).with_context(|| path.display().to_string())?).into_owned())
        };
        let mut wordnet = Self {
            synsets: BTreeMap::new(),
            senses: BTreeMap::new(),
            counts: BTreeMap::new(),
            irregular: Vec::new(),
            glosses: Vec::new(),
            licence: Vec::new(),
        };
        for (part, end) in PARTS {
            for line in file(format!("data.{end}"))?.lines() {
                match line.strip_prefix("  ") {
                    Some(line) => wordnet.licence_line(part, line),
                    None => wordnet.synset(part, line).with_context(|| format!("data.{end}: {line}"))?,
                }
            }
            for line in file(format!("index.{end}"))?.lines().filter(|l| !l.starts_with(' ')) {
                wordnet.lemma(part, line).with_context(|| format!("index.{end}: {line}"))?;
            }
            for line in file(format!("{end}.exc"))?.lines() {
                let mut words = line.split(' ').map(str::to_owned);
                let form = words.next().context("a form")?;
                wordnet.irregular.extend(words.map(|lemma| (form.clone(), part, lemma)));
            }
        }
        for line in file("cntlist.rev".to_owned())?.lines() {
            wordnet.count(line).with_context(|| format!("cntlist.rev: {line}"))?;
        }
        Ok(wordnet)
    }

    /// Each file begins with the licence, its lines numbered.
    fn licence_line(&mut self, part: char, line: &str) {
        if part == 'n' {
            let text = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
            self.licence.push(text.to_owned());
        }
    }

    fn synset(&mut self, part: char, line: &str) -> Option<()> {
        let (fields, gloss) = line.split_once('|').unwrap_or((line, ""));
        let mut fields = fields.split_ascii_whitespace();
        let offset = fields.next()?.parse().ok()?;
        let words = usize::from_str_radix(fields.nth(2)?, 16).ok()?;
        let mut synset = Synset { words: Vec::new(), pointers: Vec::new() };
        for _ in 0..words {
            // A mark in brackets says where an adjective may be.
            let word = fields.next()?;
            synset.words.push(word.split_once('(').map_or(word, |(word, _)| word).to_owned());
            fields.next()?;
        }
        for _ in 0..fields.next()?.parse::<usize>().ok()? {
            let symbol = fields.next()?.to_owned();
            let to: u32 = fields.next()?.parse().ok()?;
            let part = fields.next()?.chars().next().map(|p| if p == 's' { 'a' } else { p })?;
            let (source, target) = fields.next()?.split_at_checked(2)?;
            let place = |hexadecimal: &str| usize::from_str_radix(hexadecimal, 16).ok();
            synset.pointers.push(Pointer { symbol, from: place(source)?, synset: (part, to), to: place(target)? });
        }
        self.synsets.insert((part, offset), synset);
        self.glosses.push(gloss.trim().to_owned());
        Some(())
    }

    fn lemma(&mut self, part: char, line: &str) -> Option<()> {
        let mut fields = line.split_ascii_whitespace();
        let lemma = fields.next()?.to_owned();
        let senses: usize = fields.nth(1)?.parse().ok()?;
        let symbols: usize = fields.next()?.parse().ok()?;
        let offsets: Vec<u32> = fields.skip(symbols + 2).map_while(|offset| offset.parse().ok()).collect();
        self.senses.insert((lemma, part), offsets.into_iter().take(senses).collect());
        Some(())
    }

    /// `lemma%type:…  sense  count`: types are noun, verb, adjective, adverb and adjective satellite.
    fn count(&mut self, line: &str) -> Option<()> {
        let mut fields = line.split_ascii_whitespace();
        let (lemma, rest) = fields.next()?.split_once('%')?;
        let part =
            ['n', 'v', 'a', 'r', 'a'].get(rest.split(':').next()?.parse::<usize>().ok()?.checked_sub(1)?).copied()?;
        let sense: usize = fields.next()?.parse::<usize>().ok()?.checked_sub(1)?;
        let count = fields.next()?.parse().ok()?;
        let counts = self.counts.entry((lemma.to_owned(), part)).or_default();
        counts.resize(counts.len().max(sense + 1), 0);
        *counts.get_mut(sense)? = count;
        Some(())
    }
}
