//! The manifest of a policy package, `policy.toml`: what a policy declares. The policy compiler and the mapping both
//! read it.

use crate::class::ClassId;
use crate::hex::Hex;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the mapping from text to descriptors. It is part of every package digest, so that a changed mapping is a
/// changed policy. It also covers the version of Unicode's tables.
pub const MAPPING_VERSION: u32 = 7;

/// `policy.toml`. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub package: Identity,
    /// Values of the four enumerations that a policy declares.
    pub enumerations: Enumerations,
    /// Classes, at most 128; a class's number is its place in this list.
    #[serde(default, rename = "class")]
    pub classes: Vec<Class>,
    /// Quantity slots, at most four; a slot's number is its place in this list.
    #[serde(default, rename = "quantity")]
    pub quantities: Vec<Quantity>,
    /// Bounds of the governed loop.
    #[serde(default)]
    pub limits: Limits,
    /// Checks of stages 2 and 3.
    #[serde(default)]
    pub continuity: Continuity,
    /// Thresholds of the trust slope.
    #[serde(default)]
    pub trust_slope: TrustSlope,
    #[serde(default)]
    pub prefilter: Prefilter,
    /// Texts that readers get in place of refused text.
    #[serde(default)]
    pub refusal: Refusal,
    /// The package's part in a composition; `None` for a package alone. It is in no file: the composition
    /// decides it.
    #[serde(skip)]
    pub membership: Option<Membership>,
}

/// What a composition decides about one of its packages: the numbers that the package's declarations have in the
/// common tables, and the profiles that it is used with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Name and version of the composition, and the member's name: `house 1.0.0/clinical`.
    pub reference: String,
    /// Number of the package's first domain; the others follow it.
    pub first_domain: u8,
    /// Number of each class, in the order of [`Manifest::classes`].
    pub classes: Vec<ClassId>,
    /// Digests of the profiles that the member is used with; no other profile is accepted.
    pub profiles: BTreeSet<Hex<32>>,
}

impl Manifest {
    /// Name and version of the policy, as states, context documents and reports give them: `pii 1.1.0`, or of a
    /// member of a composition `house 1.0.0/clinical`.
    #[must_use]
    pub fn reference(&self) -> String {
        match &self.membership {
            Some(membership) => membership.reference.clone(),
            None => format!("{} {}", self.package.name, self.package.version),
        }
    }

    /// Number of the first domain in tables and descriptors.
    #[must_use]
    pub fn first_domain(&self) -> u8 {
        self.membership.as_ref().map_or(0, |membership| membership.first_domain)
    }

    /// Number of the class at this place of the list, in tables and descriptors; `None` where no layout can carry it.
    #[must_use]
    pub fn class_id(&self, index: usize) -> Option<ClassId> {
        match &self.membership {
            Some(membership) => membership.classes.get(index).copied(),
            None => ClassId::try_from(u8::try_from(index).ok()?).ok(),
        }
    }
}

/// Name and version of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Name, the same as its folder's.
    pub name: String,
    /// Version, `major.minor.patch`.
    pub version: String,
    pub description: String,
    /// Only verified facts can be asserted.
    #[serde(default)]
    pub closed_world: bool,
    #[serde(default)]
    pub citations: Citations,
    /// Language of the cue tables (ISO 639-1): `en` or `de`.
    #[serde(default = "english")]
    pub language: String,
}

/// Which citations a text may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Citations {
    #[default]
    Resolved,
    /// Any: no one looks them up.
    Any,
}

fn english() -> String {
    "en".to_owned()
}

/// Declared values, at most 32 each. The first of each list is the value of a context that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enumerations {
    pub domain: Vec<String>,
    pub audience: Vec<String>,
    pub temporal: Vec<String>,
    pub register: Vec<String>,
}

/// A class of content and how text is recognised as belonging to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Name that Cedar rules use.
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// Files of phrases under the package's folder: one phrase per line, `#` starts a comment, matched without case at
    /// word boundaries.
    #[serde(default)]
    pub vocabulary: Vec<String>,
    #[serde(default, rename = "pattern")]
    pub patterns: Vec<Pattern>,
    #[serde(default, rename = "tool", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Whether vocabulary and patterns are also looked for in the matching view of a text.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub view: bool,
    /// Whether other forms of a phrase's words count: those with the same stem.
    #[serde(default, skip_serializing_if = "is_no")]
    pub inflect: bool,
    /// What may come right before and after a match of a pattern.
    #[serde(default, skip_serializing_if = "Letters::is_usual")]
    pub letters: Letters,
    #[serde(default, skip_serializing_if = "Polarity::is_usual")]
    pub polarity: Polarity,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_yes(value: &bool) -> bool {
    *value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_no(value: &bool) -> bool {
    !*value
}

/// Which hits of a class count, depending on whether the sentence affirms or denies them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Polarity {
    #[default]
    Any,
    /// Matches in assertions; doubtful ones do not count. For classes that open a gate.
    Affirmed,
    /// Matches that are not in a denial, a question or a condition; doubtful ones count. For classes that forbid.
    Undenied,
}

impl Polarity {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Any
    }
}

/// What may come right before and after a match of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Letters {
    /// As the pattern itself says; `\b` is the border of a word.
    #[default]
    Border,
    /// Letters and underscores, too: `\b` parts digits from digits alone.
    Any,
}

impl Letters {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Border
    }
}

/// Tool calls that belong to a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Name of the tool; `*` is any.
    pub name: String,
    /// Argument that is looked at (JSON Pointer, RFC 6901); absent: all of them, as canonical JSON. A call without it
    /// does not match.
    #[serde(default)]
    pub argument: Option<String>,
    /// Regular expression that must occur in it; absent: anything does.
    #[serde(default)]
    pub regex: Option<String>,
}

/// A bounded regular expression, with an optional check of its match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// Regular expression (the syntax of the `regex` crates). Repetition without an upper bound is an error.
    pub regex: String,
    /// Check of the match; a match that fails it does not count.
    #[serde(default)]
    pub validator: Option<Validator>,
    /// Phrases, ignoring case. One of them must be within 64 bytes of the match; empty means no condition.
    #[serde(default)]
    pub near: Vec<String>,
}

/// Checks of a matched string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Validator {
    /// ISO/IEC 7812-1 check digit over the digits.
    Luhn,
    /// ISO 13616 check digits (ISO 7064 mod 97-10) and the country's length.
    Iban,
    /// United States social security number: area not 000, 666 or 9xx, group not 00, serial not 0000.
    Ssn,
    /// IPv4 dotted quad or IPv6 (RFC 4291 section 2.2) that parses.
    Ip,
    /// 7 to 15 digits (ITU-T E.164), not a date and not one repeated digit.
    Phone,
}

/// A quantity slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Name that Cedar rules use, as `context.quantity.NAME`.
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// Unit words, without case, and the size of each in the slot's unit: an integer or a fraction such as `"1/1000"`.
    pub units: BTreeMap<String, String>,
    /// Phrases. One of them must be in the same span; empty means no condition.
    #[serde(default)]
    pub near: Vec<String>,
    /// Lowest value in the slot's unit.
    #[serde(default = "lowest")]
    pub min: i32,
    /// Highest value in the slot's unit.
    #[serde(default = "highest")]
    pub max: i32,
    /// How much a later value may differ from the established one, in basis points of it; absent: any value is allowed.
    #[serde(default)]
    pub tolerance: Option<u16>,
}

fn lowest() -> i32 {
    i32::MIN
}

fn highest() -> i32 {
    i32::MAX
}

/// Bounds of the governed loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Alternatives asked for after a refusal.
    pub alternatives: u8,
    /// Depth at which a decompose becomes a reject.
    pub max_depth: u8,
    /// Longest span in bytes; at most 65535.
    pub span_bytes: u16,
    /// Ids of rules (reasons) whose rejects are deferred.
    pub defer: Vec<String>,
    /// Steps after which a deferred mutation expires.
    pub defer_expiry: u16,
    /// Rollbacks of one stream when no admissible candidate is left.
    pub rollbacks: u8,
    /// Admitted candidates between two checkpoints.
    pub checkpoint: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            alternatives: 3,
            max_depth: 2,
            span_bytes: 2048,
            defer: Vec::new(),
            defer_expiry: 16,
            rollbacks: 2,
            checkpoint: 4,
        }
    }
}

/// Optional checks of stages 2 and 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Continuity {
    /// References back and nouns that are pointed at ("this trial") must have been introduced.
    pub presupposition: bool,
    /// Nouns after a definite article must have been introduced, too.
    pub definite: bool,
    /// Established claims must not be contradicted; superseded values must not come back.
    pub contradiction: bool,
    /// A continuation must continue something, an enumeration must continue from where it is.
    pub discontinuity: bool,
    /// Mean distance of the last sentences from what was said before, in basis points, at which a sentence is refused
    /// unless a cue of transition leads over; 0 looks at no topic. A stream with an anchor store or a closed world is
    /// measured by its anchors instead.
    pub topic: u16,
    /// Admitted transitions that are recent.
    pub recent: u16,
    /// How often one statement may be among the recent ones; 0 means no limit.
    pub repetitions: u16,
}

impl Default for Continuity {
    fn default() -> Self {
        Self {
            presupposition: true,
            definite: false,
            contradiction: true,
            discontinuity: true,
            topic: 0,
            recent: 16,
            repetitions: 3,
        }
    }
}

/// Thresholds of the accumulated distance, in basis points; 65535 is never reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrustSlope {
    pub warning: u16,
    pub correction: u16,
    pub halt: u16,
    pub window: u16,
    /// Share of the accumulated distance kept at each step, in basis points.
    pub decay: u16,
    /// Weights of content deviation, certainty divergence and register divergence in one transition's distance; the
    /// distance is their weighted mean.
    pub weights: [u16; 3],
}

impl Default for TrustSlope {
    fn default() -> Self {
        Self { warning: u16::MAX, correction: u16::MAX, halt: u16::MAX, window: 32, decay: 9_000, weights: [2, 1, 1] }
    }
}

/// Texts that readers get in place of refused text, if another program than the gate writes the answer: the gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Refusal {
    /// Whether an answer ends at its first refusal or continues after a placeholder.
    pub on_refuse: AfterRefusal,
    /// Text at the end of an answer that the gate ended.
    pub text: String,
    /// Text that replaces each refusal in an answer that continues.
    pub placeholder: String,
}

/// How an answer continues after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterRefusal {
    Stop,
    /// It continues, with a placeholder where the refused part was.
    Redact,
}

impl Default for Refusal {
    fn default() -> Self {
        Self {
            on_refuse: AfterRefusal::Stop,
            text: "\n[This answer was ended by policy.]".into(),
            placeholder: "[withheld by policy]".into(),
        }
    }
}

/// The pre-execution filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prefilter {
    /// The execution-safe threshold: the most severe tier that still executes.
    pub threshold: String,
}

impl Default for Prefilter {
    fn default() -> Self {
        Self { threshold: "notice".into() }
    }
}
