//! Propositions: the assertions of a sentence about a subject, in a form in which two of them can be compared.

use serde::{Deserialize, Serialize};

/// The genders and numbers of pronouns, as bits.
pub mod gender {
    /// "He".
    pub const MASCULINE: u8 = 1;
    /// "She".
    pub const FEMININE: u8 = 2;
    pub const NEUTER: u8 = 4;
    pub const PLURAL: u8 = 8;
}

/// One assertion of a sentence about one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Proposition {
    pub subject: PropositionSubject,
    /// The quantifier of the subject (all, some, none).
    pub quantity: SubjectQuantifier,
    /// The verb in dictionary form, after its modal verb if there is one.
    pub verb: String,
    pub past: bool,
    /// Whether the assertion is denied.
    pub negated: bool,
    /// Whether the assertion holds at every time ("never", "always", "none").
    pub universal: bool,
    /// The phrases besides subject and verb.
    pub phrases: Vec<PropositionPhrase>,
    /// The sentence as reports quote it.
    pub shown: String,
}

/// The subject of a proposition.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PropositionSubject {
    /// The words in lower case, without articles; empty for a pronoun that matches no subject.
    pub words: String,
    pub name: bool,
    pub pronoun: bool,
    /// For a noun alone ("the price"): the words of the last subject with a name or of several words; else empty.
    pub within: String,
    /// Pronouns that can refer to the subject: bits of [`gender`].
    pub genders: u8,
}

/// The quantifier of a proposition's subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectQuantifier {
    /// The sentence does not have a quantifier.
    #[default]
    Plain,
    All,
    /// The quantifier is a number or a share.
    Some,
}

/// A phrase: its words and its preposition.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PropositionPhrase {
    /// The preposition or conjunction; empty for an object or a predicate.
    pub lead: String,
    /// Content words in lower case; numbers in digits.
    pub words: Vec<String>,
    pub name: bool,
    /// Whether a bound ("at least") or an approximation ("about") precedes its number.
    pub bound: bool,
}

impl PropositionSubject {
    /// Whether the subject is a noun alone, which many things have: "the price".
    #[must_use]
    pub fn is_bare(&self) -> bool {
        !self.name && !self.words.contains(' ')
    }

    /// Resolves a pronoun to the last of `subjects` that it can refer to, with the genders that both allow; `None` if
    /// it can refer to none. A subject that is not a pronoun is returned unchanged.
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

/// Makes a subject the most recent of the list, unless no pronoun can refer to it.
pub fn mention(subjects: &mut Vec<PropositionSubject>, subject: &PropositionSubject) {
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
