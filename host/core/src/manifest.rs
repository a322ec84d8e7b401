//! The manifest of a policy package, `policy.toml`: what a policy declares. The policy compiler and the mapping both
//! read it.

use crate::class::ClassId;
use crate::hex::HexBytes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the mapping from text to descriptors, Unicode's tables included. Every package digest covers it, so a
/// changed mapping counts as a changed policy.
pub const MAPPING_VERSION: u32 = 9;

/// `policy.toml`. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageManifest {
    pub package: PackageIdentity,
    /// Values of the four enumerations that a policy declares.
    pub enumerations: DeclaredEnumerations,
    /// Classes, at most 128; a class's number is its index in this list.
    #[serde(default, rename = "class")]
    pub classes: Vec<ClassDeclaration>,
    /// Quantity slots, at most four; a slot's number is its index in this list.
    #[serde(default, rename = "quantity")]
    pub quantities: Vec<QuantityDeclaration>,
    /// Bounds of the governed loop.
    #[serde(default)]
    pub limits: GatedLoopLimits,
    /// Checks of stages 2 and 3.
    #[serde(default)]
    pub continuity: ContinuityChecks,
    /// Thresholds of the trust slope.
    #[serde(default)]
    pub trust_slope: TrustSlope,
    #[serde(default)]
    pub prefilter: PrefilterThreshold,
    /// Texts that readers get instead of refused text.
    #[serde(default)]
    pub refusal: RefusalTexts,
    /// The package's part in a composition; `None` for a package that is used alone. The composition sets it; no file
    /// contains it.
    #[serde(skip)]
    pub membership: Option<CompositionMembership>,
}

/// What a composition decides about one of its packages: the numbers that the package's declarations have in the
/// common tables, and the profiles that may use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompositionMembership {
    /// Name and version of the composition, then the member's name: `house 1.0.0/clinical`.
    pub reference: String,
    /// Number of the package's first domain; its other domains have the following numbers.
    pub first_domain: u8,
    /// Number of each class, in the order of [`PackageManifest::classes`].
    pub classes: Vec<ClassId>,
    /// Digests of the profiles that may use this member; every other profile is refused.
    pub profiles: BTreeSet<HexBytes<32>>,
}

impl PackageManifest {
    /// Name and version of the policy in states, context documents and reports: `pii 1.1.0`, or
    /// `house 1.0.0/clinical` for a member of a composition.
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

    /// The class number that tables and descriptors use for a place in the list; `None` above the largest number.
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
pub struct PackageIdentity {
    /// Name; equal to the folder's name.
    pub name: String,
    /// Version, `major.minor.patch`.
    pub version: String,
    pub description: String,
    /// Whether a text may assert verified facts only.
    #[serde(default)]
    pub closed_world: bool,
    #[serde(default)]
    pub citations: CitationPolicy,
    /// Which links a text may contain; `None`: a link is a citation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkPolicy>,
    #[serde(default, skip_serializing_if = "LoadPolicy::is_usual")]
    pub loads: LoadPolicy,
    /// Hosts for `links` and `loads`: names, IP addresses, and `*.example.org` for a domain with all names below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Language of the cue tables (ISO 639-1): `en` or `de`.
    #[serde(default = "english")]
    pub language: String,
}

/// Which citations a text may contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CitationPolicy {
    #[default]
    Resolved,
    /// Any citation; the anchor stores are not searched.
    Any,
}

/// Which links a text may contain, apart from links that support a statement: those are citations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkPolicy {
    Any,
    /// Links to the listed hosts.
    Listed,
}

/// Which addresses a text may contain that a client loads by itself, such as those of images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadPolicy {
    None,
    /// Addresses on the listed hosts.
    Listed,
    #[default]
    Any,
}

impl LoadPolicy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Any
    }
}

fn english() -> String {
    "en".to_owned()
}

/// Declared values, at most 32 per list. A context that leaves a value out gets the first value of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredEnumerations {
    pub domain: Vec<String>,
    pub audience: Vec<String>,
    pub temporal: Vec<String>,
    pub register: Vec<String>,
}

/// A class of content and how text is recognised as belonging to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassDeclaration {
    /// Name that Cedar rules use.
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// Files of phrases, relative to the package's folder: one phrase per line, `#` starts a comment. Phrases match at
    /// word boundaries, ignoring case.
    #[serde(default)]
    pub vocabulary: Vec<String>,
    #[serde(default, rename = "pattern")]
    pub patterns: Vec<ClassPattern>,
    #[serde(default, rename = "tool", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolCallPattern>,
    /// Whether vocabulary and patterns are also searched for in the matching view: the text as a reader of the rendered
    /// page sees it.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub view: bool,
    /// Whether other words with the same stem as a phrase's words match, too.
    #[serde(default, skip_serializing_if = "is_no")]
    pub inflect: bool,
    /// Which characters may come right before and after a match of a pattern.
    #[serde(default, skip_serializing_if = "PatternBorder::is_usual")]
    pub letters: PatternBorder,
    #[serde(default, skip_serializing_if = "HitPolarity::is_usual")]
    pub polarity: HitPolarity,
    /// Top-level domains of the operator's own networks, for patterns with the validator `email`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_domains: Option<Vec<String>>,
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

/// Which hits of a class count, depending on whether the sentence affirms or denies the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HitPolarity {
    #[default]
    Any,
    /// Hits in assertions; doubtful hits do not count. Suitable for classes that permit something.
    Affirmed,
    /// Hits outside denials, questions and conditions; doubtful hits count. Suitable for classes that forbid something.
    Undenied,
}

impl HitPolarity {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Any
    }
}

/// Which characters may come right before and after a match of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatternBorder {
    /// The characters that the pattern accepts; `\b` is the border of a word.
    #[default]
    Border,
    /// Any characters: `\b` is ignored, but a match never begins or ends between two digits.
    Any,
}

impl PatternBorder {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_usual(&self) -> bool {
        *self == Self::Border
    }
}

/// Tool calls that belong to a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCallPattern {
    /// Name of the tool; `*` matches every tool.
    pub name: String,
    /// The argument to examine (JSON Pointer, RFC 6901). Absent: all arguments, as canonical JSON. A call without the
    /// named argument does not match.
    #[serde(default)]
    pub argument: Option<String>,
    /// Regular expression that must match within the argument. Absent: every value matches.
    #[serde(default)]
    pub regex: Option<String>,
}

/// A bounded regular expression with an optional check of the matched text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassPattern {
    /// Regular expression (the syntax of the `regex` crates). Repetition without an upper bound is an error.
    pub regex: String,
    /// Check of the matched text; a match that fails it does not count.
    #[serde(default)]
    pub validator: Option<PatternValidator>,
    /// Phrases, ignoring case. At least one must be within 64 bytes of the match; an empty list sets no condition.
    #[serde(default)]
    pub near: Vec<String>,
    /// Phrases, ignoring case. One that is directly before the match, or in brackets directly behind it, takes the
    /// place of a phrase of `near`; an empty list sets no condition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub label: Vec<String>,
}

/// Checks of a matched string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatternValidator {
    /// Check digit of ISO/IEC 7812-1 over the digits.
    Luhn,
    /// ISO 13616 check digits (ISO 7064 mod 97-10) and the country's length.
    Iban,
    /// United States social security number: area not 000, 666 or 9xx, group not 00, serial not 0000.
    Ssn,
    /// IPv4 dotted quad or IPv6 (RFC 4291 section 2.2) that parses.
    Ip,
    /// 7 to 15 digits (ITU-T E.164), not a date or time and not one repeated digit.
    Phone,
    /// E-mail address with a delegated or private top-level domain, and not a host to log in to.
    Email,
}

/// A quantity slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantityDeclaration {
    /// Name that Cedar rules use, as `context.quantity.NAME`.
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// Unit words, ignoring case, and the size of each in the slot's unit: an integer or a fraction such as `"1/1000"`.
    pub units: BTreeMap<String, String>,
    /// Phrases. At least one must be in the sentence of the quantity; an empty list sets no condition.
    #[serde(default)]
    pub near: Vec<String>,
    /// Lowest value in the slot's unit.
    #[serde(default = "lowest")]
    pub min: i32,
    /// Highest value in the slot's unit.
    #[serde(default = "highest")]
    pub max: i32,
    /// Largest difference from the established value, in basis points of that value. Absent: any value is allowed.
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
pub struct GatedLoopLimits {
    /// Alternatives that the loop requests after a refusal.
    pub alternatives: u8,
    /// Depth at which a decompose becomes a reject.
    pub max_depth: u8,
    /// Longest span in bytes; at most 65535.
    pub span_bytes: u16,
    /// Ids of the rules and reasons whose rejects are deferred.
    pub defer: Vec<String>,
    /// Steps after which a deferred mutation expires.
    pub defer_expiry: u16,
    /// Rollbacks per stream when every candidate for a place was refused.
    pub rollbacks: u8,
    /// Admitted candidates between two release checkpoints.
    pub checkpoint: u16,
}

impl Default for GatedLoopLimits {
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
pub struct ContinuityChecks {
    /// Back-references and nouns with a demonstrative ("this trial") must refer to something introduced before.
    pub presupposition: bool,
    /// Nouns with a definite article must also refer to something introduced before.
    pub definite: bool,
    /// Established claims must not be contradicted; superseded values must not come back.
    pub contradiction: bool,
    /// A continuation must follow something; an enumeration must continue from its current number.
    pub discontinuity: bool,
    /// A sentence is refused when the mean distance of the last sentences from the earlier text reaches this value, in
    /// basis points, unless a transition cue introduces the sentence. 0 switches the check off. A stream with an anchor
    /// store or a closed world is compared with its anchors instead.
    pub topic: u16,
    /// Number of admitted transitions that count as recent.
    pub recent: u16,
    /// How many statements in a row may bring nothing new; 0 means no limit.
    pub repetitions: u16,
    /// How often one tool call may be made; 0 means no limit.
    pub calls: u16,
}

impl Default for ContinuityChecks {
    fn default() -> Self {
        Self {
            presupposition: true,
            definite: false,
            contradiction: true,
            discontinuity: true,
            topic: 0,
            recent: 16,
            repetitions: 3,
            calls: 50,
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
    /// Share of the accumulated distance that each step keeps, in basis points.
    pub decay: u16,
    /// Weights of content deviation, certainty divergence and register divergence in a transition's distance, which is
    /// their weighted mean.
    pub weights: [u16; 3],
}

impl Default for TrustSlope {
    fn default() -> Self {
        Self { warning: u16::MAX, correction: u16::MAX, halt: u16::MAX, window: 32, decay: 9_000, weights: [2, 1, 1] }
    }
}

/// Texts that readers get instead of refused text. They are used only if the gateway writes the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RefusalTexts {
    /// Whether an answer ends at its first refusal or continues after a placeholder.
    pub on_refuse: AfterRefusal,
    /// Text that the gate adds to an answer that it ends.
    pub text: String,
    /// Text that replaces each refusal in an answer that continues.
    pub placeholder: String,
    /// Whether a client reads the reason of the rule that refused something, not only its id.
    pub describe: bool,
}

/// How an answer continues after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterRefusal {
    Stop,
    /// It continues; a placeholder stands for the refused part.
    Redact,
}

impl Default for RefusalTexts {
    fn default() -> Self {
        Self {
            on_refuse: AfterRefusal::Stop,
            text: "\n[This answer was ended by policy.]".into(),
            placeholder: "[withheld by policy]".into(),
            describe: false,
        }
    }
}

/// The pre-execution filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrefilterThreshold {
    /// The execution-safe threshold: the most severe tier of a violation with which an input still executes.
    pub threshold: String,
}

impl Default for PrefilterThreshold {
    fn default() -> Self {
        Self { threshold: "notice".into() }
    }
}
