//! The input of the compiler: the forms that find the classes of a policy in the bytes of a text.
//!
//! The mapping makes this input from a package, so only the mapping parses patterns and vocabularies.

use portcullis_core::class::ClassId;
use portcullis_core::manifest::PatternValidator;
use regex_syntax::hir::Hir;
use std::ops::RangeInclusive;

/// The classes of a policy, and the lists of networks and countries with which numbers are checked.
#[derive(Clone, Debug, Default)]
pub struct LaneSource {
    /// Every class that has forms.
    pub classes: Vec<ClassSource>,
    /// Card networks, for `luhn`.
    pub networks: Vec<PaymentNetworkRange>,
    /// Lengths of account numbers by country, for `iban`.
    pub accounts: Vec<IbanCountryLength>,
}

/// First digits and lengths of a card network's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentNetworkRange {
    /// First and last prefix, as numbers with the same number of digits (at most 6).
    pub first: RangeInclusive<u32>,
    /// Number of digits of a whole number.
    pub lengths: RangeInclusive<usize>,
    /// Whether a number counts only if it is a whole run of digits.
    pub whole: bool,
}

/// Length of a country's account numbers (ISO 13616).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IbanCountryLength {
    /// Country code: two capital letters.
    pub country: [u8; 2],
    /// Number of characters without separators, country and check digits included.
    pub length: u8,
}

/// A class and its forms.
#[derive(Clone, Debug)]
pub struct ClassSource {
    pub id: ClassId,
    pub name: String,
    /// The forms for a lane.
    pub forms: Vec<ClassForm>,
    /// The forms that only the host finds.
    pub left_out: Vec<LeftOut>,
    /// Whether the host also searches the matching view, which a lane does not read.
    pub view: bool,
    /// Top-level domains that end an e-mail address, for `email`.
    pub domains: Vec<String>,
}

/// Something that the host finds and a lane does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The pattern or vocabulary.
    pub form: String,
    /// The reason why a lane does not find the form.
    pub reason: String,
}

/// One expression whose matches are hits of a class.
#[derive(Clone, Debug)]
pub struct ClassForm {
    /// The pattern as written, or a name for the vocabulary.
    pub name: String,
    pub hir: Hir,
    /// What a match's start or end must not divide.
    pub border: FormBorder,
    /// The arithmetic check of a match.
    pub check: Option<PatternValidator>,
    /// Relation between the expression and the mapping's rule.
    pub relation: MatchRelation,
}

/// What a match's start or end must not divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormBorder {
    /// A match may begin and end anywhere.
    Free,
    /// Two digits.
    Digits,
    /// Two ASCII letters or digits.
    Words,
}

/// Relation between the lane's matches and the mapping's hits in the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchRelation {
    /// The lane's matches are exactly the mapping's hits.
    Equal,
    /// As `Equal` in ASCII text; next to or inside other characters the lane may find more.
    EqualOnAscii,
    /// The lane finds everything that the mapping finds, and more.
    Superset,
}
