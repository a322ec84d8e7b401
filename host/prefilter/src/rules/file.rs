//! The content of a rule file.
//!
//! `[[cue]]` defines a family: words and phrases with the same role in a structure. `[[phrase]]` defines a sequence of
//! families, which itself is another family. `[[rule]]` defines a structure, either as an arrangement of families or as
//! a measured form.

use crate::tier::SeverityTier;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    /// Whether a profile may lower the tier of findings within a quotation.
    #[serde(default)]
    pub(crate) quotable: bool,
    #[serde(default, rename = "cue")]
    pub(crate) cues: Vec<Cue>,
    #[serde(default, rename = "phrase")]
    pub(crate) phrases: Vec<FamilyPhrase>,
    #[serde(default, rename = "rule")]
    pub(crate) rules: Vec<FilterRule>,
}

/// A family of literals. A literal begins and ends at word boundaries; if it ends with `*`, the word may continue.
/// ASCII letters match both cases, a space also matches a line end, and `'` also the typographic apostrophe. The
/// automaton contains all these spellings, so the input is compared unchanged.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cue {
    pub(crate) name: String,
    pub(crate) any: Vec<String>,
    /// Whether the case of ASCII letters must match.
    #[serde(default)]
    pub(crate) exact: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FamilyPhrase {
    pub(crate) name: String,
    pub(crate) sequence: Vec<String>,
    pub(crate) gap: usize,
    /// The family that the phrase must not follow directly.
    #[serde(default)]
    pub(crate) unless_after: Option<String>,
    /// The family that the phrase must follow directly, unless the phrase begins a clause.
    #[serde(default)]
    pub(crate) opens: Option<String>,
    /// The family that the phrase must precede directly, unless the phrase ends a clause.
    #[serde(default)]
    pub(crate) ends: Option<String>,
}

/// A rule as written in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterRule {
    pub id: String,
    /// The default tier.
    pub tier: SeverityTier,
    /// Describes the structure, and gives the reason why it is one.
    pub structure: String,
    pub hits: Vec<String>,
    /// Examples of similar inputs that do not have the structure.
    pub passes: Vec<String>,
    /// Families in sequence; `a|b` means either.
    #[serde(default)]
    pub(crate) sequence: Vec<String>,
    /// Largest number of bytes between two neighbouring parts of the sequence.
    #[serde(default)]
    pub(crate) gap: usize,
    /// The family that the sequence must not follow directly.
    #[serde(default)]
    pub(crate) unless_after: Option<String>,
    /// The family that the sequence must follow directly, unless the sequence begins a clause.
    #[serde(default)]
    pub(crate) opens: Option<String>,
    /// The family that the sequence must precede directly, unless the sequence ends a clause.
    #[serde(default)]
    pub(crate) ends: Option<String>,
    /// Whether the parts may be in different passages, because the border between passages is one of the parts.
    #[serde(default)]
    pub(crate) crosses: bool,
    /// A family that cancels the finding if it occurs after the sequence.
    #[serde(default)]
    pub(crate) closed_by: Option<String>,
    /// Families that must all occur near the families of `together`.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    #[serde(default)]
    pub(crate) together: Vec<String>,
    /// One family that must occur several times.
    #[serde(default)]
    pub(crate) repeated: Option<String>,
    #[serde(default)]
    pub(crate) measure: Option<FormMeasure>,
    /// The smallest number of families or repetitions, or the smallest value of the measure, for a finding.
    #[serde(default)]
    pub(crate) at_least: usize,
    #[serde(default)]
    pub(crate) within: usize,
}

/// Forms that the evaluators measure in one pass over the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FormMeasure {
    /// Length of a token of base64 characters with upper case, lower case and digits.
    Base64Run,
    /// Number of hexadecimal digits of a token.
    HexRun,
    /// Number of adjacent escapes (`\x41`, `\u0041`, `&#65;`).
    EscapeRun,
    /// Number of adjacent percent escapes.
    PercentRun,
    /// Number of percent escapes of letters and digits in a token.
    PercentNeedless,
    /// Number of percent escapes in a token that is neither a link nor a path.
    PercentWords,
    /// Weighted number of letter pairs that do not occur in any language, in nearby words.
    OddPairs,
    /// Number of consecutive tokens of dots and dashes.
    MorseRun,
    /// Number of zeros and ones, in groups of at least four.
    BinaryRun,
    /// Number of consecutive tokens that are pairs of hexadecimal digits or small numbers.
    CodeRun,
    /// Number of consecutive single letters, with one separator between each two.
    SpacedRun,
    /// Number of words with a digit or sign in place of a letter, among nearby tokens.
    LeetWords,
    /// Number of invisible characters in a row or between ASCII letters.
    Invisible,
    /// Number of bidirectional overrides and embeddings.
    Bidi,
    Tags,
    /// Number of words in which ASCII letters and letters of a look-alike script alternate.
    MixedWords,
    /// Number of consecutive letters of a mathematical, enclosed or full-width alphabet.
    StyledRun,
    Stacked,
    /// Number of repetitions of one token, or of two alternating tokens.
    RepeatedToken,
    ByteRun,
    /// Number of control characters other than white space.
    Control,
    /// Number of brackets or quotations that are open at once.
    Depth,
    QuoteRun,
    /// Number of names in brackets that are quoted, or that a colon follows.
    Turns,
}

pub(crate) type Families = BTreeMap<String, usize>;

impl RuleFile {
    /// Numbers the families: first those of cues, then those of phrases.
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
