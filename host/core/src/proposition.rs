//! Propositions: what a sentence asserts of a subject, in a form that a later sentence can conflict with.

use serde::{Deserialize, Serialize};

/// The things that a pronoun can refer to, as bits.
pub mod gender {
    /// "He".
    pub const MASCULINE: u8 = 1;
    /// "She".
    pub const FEMININE: u8 = 2;
    pub const NEUTER: u8 = 4;
    pub const PLURAL: u8 = 8;
}

/// One thing that a sentence asserts of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Proposition {
    pub subject: Subject,
    /// The quantifier of the subject (all, some, none).
    pub quantity: Quantity,
    /// The verb as a dictionary has it, with a modal verb before it.
    pub verb: String,
    pub past: bool,
    /// Whether it is denied.
    pub negated: bool,
    /// Whether it holds at every time ("never", "always", "none").
    pub universal: bool,
    /// The other phrases, besides subject and verb.
    pub phrases: Vec<Phrase>,
    /// The sentence, for the reader.
    pub shown: String,
}

/// The subject of a proposition.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Its words in lower case, without articles; empty for a pronoun that nothing fits.
    pub words: String,
    pub name: bool,
    pub pronoun: bool,
    /// Pronouns that can refer to it: bits of [`gender`].
    pub genders: u8,
}

/// The quantifier of a proposition's subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Nothing is said.
    #[default]
    Plain,
    All,
    /// A number of them, or a share.
    Some,
}

/// A phrase: its words, and the preposition that leads to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Phrase {
    /// The preposition or conjunction; empty for an object or a predicate.
    pub lead: String,
    /// Content words in lower case; numbers in digits.
    pub words: Vec<String>,
    pub name: bool,
    /// Whether a bound or an approximation is before its number.
    pub bound: bool,
}

impl Subject {
    /// Resolves a pronoun to one of the subjects so far, the last one first; other subjects are returned unchanged. The
    /// pronoun means that subject from here on.
    #[must_use]
    pub fn resolved(&self, subjects: &[Self]) -> Option<Self> {
        if !self.pronoun {
            return Some(self.clone());
        }
        let found = subjects.iter().rev().find(|s| s.genders & self.genders != 0)?;
        Some(Self { genders: found.genders & self.genders, ..found.clone() })
    }
}

const SUBJECTS: usize = 4;

/// Puts a subject after the others, as the one spoken of last, unless no pronoun can mean it.
pub fn mention(subjects: &mut Vec<Subject>, subject: &Subject) {
    if subject.genders == 0 {
        return;
    }
    let mut subject = subject.clone();
    if let Some(at) = subjects.iter().position(|s| s.words == subject.words) {
        let known = subjects.remove(at);
        let both = known.genders & subject.genders;
        subject.genders = if both == 0 { known.genders } else { both };
    }
    subjects.push(subject);
    if subjects.len() > SUBJECTS {
        subjects.remove(0);
    }
}
