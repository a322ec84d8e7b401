//! What the compiler is given: the forms by which the classes of a policy are found in the bytes of a text.
//!
//! The mapping makes it from a package, so that one reading of patterns and vocabularies serves both.

use portcullis_core::class::ClassId;
use portcullis_core::manifest::Validator;
use regex_syntax::hir::Hir;
use std::ops::RangeInclusive;

/// The classes of a policy that are found in text, and the registers that their numbers are checked by.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Every class that has forms.
    pub classes: Vec<ClassSource>,
    /// Card networks, for `luhn`.
    pub networks: Vec<Network>,
    /// Lengths of account numbers by country, for `iban`.
    pub accounts: Vec<Account>,
}

/// First digits and lengths of a card network's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// First digits from and to, as numbers of the same count of digits (at most 6).
    pub first: RangeInclusive<u32>,
    /// Digits of a whole number.
    pub lengths: RangeInclusive<usize>,
}

/// Length of a country's account numbers (ISO 13616).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Two capital letters.
    pub country: [u8; 2],
    /// Characters of a number without separators, country and check digits included.
    pub length: u8,
}

/// A class and what it is found by.
#[derive(Clone, Debug)]
pub struct ClassSource {
    /// Its place in the policy.
    pub id: ClassId,
    /// Its name.
    pub name: String,
    /// What a lane may look for.
    pub forms: Vec<Form>,
    /// What stays the host's.
    pub left_out: Vec<LeftOut>,
}

/// Something that the host looks for and a lane does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The pattern or vocabulary.
    pub form: String,
    /// Why.
    pub reason: String,
}

/// One expression whose matches are hits of a class.
#[derive(Clone, Debug)]
pub struct Form {
    /// The pattern as it is written, or what stands for the vocabulary.
    pub name: String,
    /// The expression over bytes.
    pub hir: Hir,
    /// What a match must not divide.
    pub border: Border,
    /// The arithmetic check of a match.
    pub check: Option<Validator>,
    /// How the expression relates to the rule of the mapping that it stands for.
    pub relation: Relation,
}

/// What neither end of a match may divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// A match may begin and end anywhere.
    Free,
    /// Two digits.
    Digits,
    /// Two letters or digits of ASCII.
    Words,
}

/// How what the lane finds relates to what the mapping finds in the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// The same.
    Equal,
    /// The same in text of ASCII; beside or inside other characters the lane may find more.
    EqualOnAscii,
    /// Everything that the mapping finds, and more.
    Superset,
}
