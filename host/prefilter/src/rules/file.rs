//! What a rule file says.
//!
//! `[[cue]]` names a family of words and phrases that stand for the same part of a structure. `[[phrase]]` names a
//! sequence of families that is a family in turn. `[[rule]]` says which arrangement of families, or which measured
//! form, is a structure.

use crate::tier::Tier;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    /// Whether a profile may hold what its rules find within a quotation for less.
    #[serde(default)]
    pub(crate) quotable: bool,
    #[serde(default, rename = "cue")]
    pub(crate) cues: Vec<Cue>,
    #[serde(default, rename = "phrase")]
    pub(crate) phrases: Vec<Phrase>,
    #[serde(default, rename = "rule")]
    pub(crate) rules: Vec<Rule>,
}

/// A family of literals. A literal begins at the start of a word and ends at the end of one; one that ends in `*` is a
/// stem and may continue. ASCII letters stand for both cases, a blank for a blank or a line's end, `'` for the
/// typographic one, too: each an alternative in the automaton, so that the input is never changed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cue {
    pub(crate) name: String,
    pub(crate) any: Vec<String>,
    /// ASCII letters are taken as written.
    #[serde(default)]
    pub(crate) exact: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Phrase {
    pub(crate) name: String,
    pub(crate) sequence: Vec<String>,
    pub(crate) gap: usize,
    /// A family right after which it does not begin.
    #[serde(default)]
    pub(crate) unless_after: Option<String>,
    /// It begins a clause, or is right after this family.
    #[serde(default)]
    pub(crate) opens: Option<String>,
    /// It ends a clause, or is right before this family.
    #[serde(default)]
    pub(crate) ends: Option<String>,
}

/// A rule as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub id: String,
    /// Its tier, where no policy says otherwise.
    pub tier: Tier,
    /// The structure that it represents, and why that is one.
    pub structure: String,
    pub hits: Vec<String>,
    /// Inputs that come near and do not have it.
    pub passes: Vec<String>,
    /// Families that follow each other, `a|b` for either.
    #[serde(default)]
    pub(crate) sequence: Vec<String>,
    /// Most bytes between two of the sequence.
    #[serde(default)]
    pub(crate) gap: usize,
    /// The sequence must not begin right after this family.
    #[serde(default)]
    pub(crate) unless_after: Option<String>,
    /// The sequence begins a clause, or is right after this family.
    #[serde(default)]
    pub(crate) opens: Option<String>,
    /// The sequence ends a clause, or is right before this family.
    #[serde(default)]
    pub(crate) ends: Option<String>,
    /// Its parts may be in several passages: the border between them is a part of the structure.
    #[serde(default)]
    pub(crate) crosses: bool,
    /// A family that, standing after the sequence, takes it back.
    #[serde(default)]
    pub(crate) closed_by: Option<String>,
    /// Families that all are together with these.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    #[serde(default)]
    pub(crate) together: Vec<String>,
    /// One family that is there several times.
    #[serde(default)]
    pub(crate) repeated: Option<String>,
    #[serde(default)]
    pub(crate) measure: Option<Measure>,
    /// How many families, repetitions, or what value of the measure at least.
    #[serde(default)]
    pub(crate) at_least: usize,
    #[serde(default)]
    pub(crate) within: usize,
}

/// Forms that are measured in one pass over the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measure {
    /// Bytes of one token of base64 characters with upper and lower case and digits.
    Base64Run,
    /// Hexadecimal digits of one token.
    HexRun,
    /// Escapes (`\x41`, `\u0041`, `&#65;`) that follow each other directly.
    EscapeRun,
    /// Percent escapes that follow each other directly.
    PercentRun,
    /// Percent escapes of letters and digits in one token.
    PercentNeedless,
    /// Percent escapes of one token that is neither a link nor a path.
    PercentWords,
    /// Pairs of letters that no language has, in words that are close together.
    OddPairs,
    /// Tokens of dots and dashes that follow each other.
    MorseRun,
    /// Zeros and ones, in groups of at least four.
    BinaryRun,
    /// Pairs of hexadecimal digits or small numbers that follow each other as tokens.
    CodeRun,
    /// Single letters that follow each other, one separator between two.
    SpacedRun,
    /// Words with a digit or sign in the place of a letter, within a window.
    LeetWords,
    /// Invisible characters between ASCII letters or one after the other.
    Invisible,
    /// Bidirectional overrides and embeddings.
    Bidi,
    Tags,
    /// Words in which ASCII letters and letters of a look-alike script alternate.
    MixedWords,
    /// Letters of a mathematical, enclosed or full-width alphabet that follow each other.
    StyledRun,
    Stacked,
    /// One token, or two in turn, again and again.
    RepeatedToken,
    ByteRun,
    /// Control characters that are no white space.
    Control,
    /// Brackets or quotations that are open at once.
    Depth,
    QuoteRun,
    /// Names in brackets that are quoted, or that a colon follows.
    Turns,
}

pub(crate) type Families = BTreeMap<String, usize>;

impl RuleFile {
    /// Numbers the families, in order: those of cues, then those of phrases.
    pub(super) fn families(&self) -> Result<Families, (String, String)> {
        let mut families = Families::new();
        let names = self.cues.iter().map(|c| &c.name).chain(self.phrases.iter().map(|p| &p.name));
        for name in names {
            let next = families.len();
            if families.insert(name.clone(), next).is_some() {
                return Err((name.clone(), "the name is taken".into()));
            }
        }
        Ok(families)
    }
}
