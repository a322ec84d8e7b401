//! The semantic state object: seven typed fields outside the engine. Only an admitted mutation changes them.

mod admit;
mod difference;
mod profile;

pub use admit::CommitUndo;
pub use difference::StateDifference;
pub use profile::{AgentProfile, ProfileError, StreamTask};

use crate::class::ClassSet;
use crate::drift::DriftLevel;
use crate::fixed::BasisPoints;
use crate::manifest::{CitationPolicy, ContinuityChecks, GatedLoopLimits, PackageManifest, TrustSlope};
use crate::mutation::SpanMutation;
use crate::proposition::{Proposition, PropositionSubject};
use crate::topic::TopicState;
use crate::wire::{Category, Epistemic, QUANTITY_SLOTS};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The state of one governed stream. Equal inputs give equal serialised bytes.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let manifest = serde_json::from_str(r#"{"package":{"name":"p","version":"1.0.0","description":""},
/// #   "enumerations":{"domain":["any"],"audience":["any"],"temporal":["any"],"register":["any"]}}"#)?;
/// use portcullis_core::state::{AgentProfile, SemanticState, StreamIntent};
///
/// let intent = StreamIntent { words: ["tide".to_owned()].into(), ..StreamIntent::default() };
/// let context = AgentProfile::default().context(&manifest)?;
/// let state = SemanticState::new(&manifest, [1; 32], [2; 32], intent, context);
/// assert!(state.knows("tide") && !state.knows("moon"));
/// assert_eq!(SemanticState::read(&state.dump()?)?, state);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SemanticState {
    /// The purpose of the stream.
    pub intent: StreamIntent,
    /// The conditions under which the stream is judged.
    pub context: StreamContext,
    /// The commitments of the text admitted so far.
    pub memory: SemanticCommitments,
    pub policy: PolicyReference,
    /// The mutation under evaluation; `None` whenever the state is dumped or compared.
    pub mutation: Option<Box<SpanMutation>>,
    /// Admitted transitions, in order of sequence.
    pub lineage: Vec<AdmittedTransition>,
    /// Bounds on entropy and uncertainty.
    pub bounds: EntropyBounds,
}

/// The purpose of a stream, in the operator's words; the engine never contributes to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamIntent {
    pub text: String,
    /// Facts that the operator guarantees. An engine sees only these facts and admitted text.
    pub facts: Vec<String>,
    /// Content words of task and facts, in lower case.
    pub words: BTreeSet<String>,
}

/// Conditions of the stream, as indexes into the policy's lists. The domain is the number that descriptors carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamContext {
    pub domain: u8,
    pub audience: u8,
    pub temporal: u8,
    pub epistemic: Epistemic,
    pub register: u8,
}

/// The commitments of the text admitted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SemanticCommitments {
    /// Classes that an admitted span established.
    pub established: ClassSet,
    /// Content words of admitted spans, in lower case, each with the sequence number of its last use.
    pub words: BTreeMap<String, u32>,
    /// The last admitted value of each quantity slot.
    pub quantities: [Option<i32>; QUANTITY_SLOTS],
    /// Referents that admitted spans introduced.
    pub referents: BTreeSet<String>,
    /// The value in force for each subject and relation.
    pub claims: BTreeMap<ClaimKey, ClaimValue>,
    /// Values that an admitted revision replaced.
    pub superseded: BTreeSet<(ClaimKey, String)>,
    /// Statements by fingerprint, and whether each is a denial.
    pub statements: BTreeMap<u64, bool>,
    /// The stream's current entity.
    pub subject: Option<String>,
    /// The current number of the open enumeration.
    pub ordinal: Option<u32>,
    /// The asserted propositions, in order.
    pub propositions: Vec<HeldProposition>,
    /// Subjects to which a pronoun can refer, the most recent one last.
    pub subjects: Vec<PropositionSubject>,
    /// Content words of admitted sentences in dictionary form, if the policy checks topics.
    pub topic_words: BTreeSet<String>,
}

/// A proposition that was asserted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldProposition {
    pub proposition: Proposition,
    /// Whether an admitted revision replaced it.
    pub replaced: bool,
}

/// Subject and relation of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct ClaimKey {
    pub subject: String,
    pub relation: String,
}

/// A value in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimValue {
    /// The value, in normal form.
    pub value: String,
    pub negated: bool,
}

/// The policy in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyReference {
    /// Name and version of the package.
    pub package: String,
    /// SHA-256 of the package.
    pub package_digest: [u8; 32],
    /// SHA-256 of the table image.
    pub image_digest: [u8; 32],
    /// Whether a text may assert verified facts only.
    pub closed_world: bool,
    pub citations: CitationPolicy,
    /// Bounds of the governed loop.
    pub limits: GatedLoopLimits,
    pub continuity: ContinuityChecks,
    pub trust_slope: TrustSlope,
    /// Tolerance of each quantity slot, in basis points.
    pub tolerances: [Option<u16>; QUANTITY_SLOTS],
}

/// One admitted transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdmittedTransition {
    /// Sequence of the admitted entry.
    pub sequence: u32,
    pub commitment: [u8; 32],
    /// The span's relation to the earlier text.
    pub category: Category,
    /// Fingerprint of the span's statement; 0 if there is none.
    pub fingerprint: u64,
    /// The same without numbers.
    pub theme: u64,
    /// Fingerprint of the first words.
    pub opening: u64,
    pub distance: BasisPoints,
}

/// Bounds on entropy and uncertainty that the host keeps; the thresholds themselves are in the entropy bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntropyBounds {
    /// Accumulated distance of the lineage, in basis points, saturating.
    pub trust_slope: u16,
    /// The highest threshold that the slope has reached.
    pub drift: DriftLevel,
    /// The stream's topic, and the distance of the last sentences from the earlier text.
    pub topic: TopicState,
}

impl SemanticState {
    /// The state at the start of a stream. It does not contain anything from the engine.
    #[must_use]
    pub fn new(
        manifest: &PackageManifest,
        package_digest: [u8; 32],
        image_digest: [u8; 32],
        intent: StreamIntent,
        context: StreamContext,
    ) -> Self {
        let mut tolerances = [None; QUANTITY_SLOTS];
        tolerances.iter_mut().zip(&manifest.quantities).for_each(|(t, q)| *t = q.tolerance);
        Self {
            intent,
            context,
            memory: SemanticCommitments::default(),
            policy: PolicyReference {
                package: manifest.reference(),
                package_digest,
                image_digest,
                closed_world: manifest.package.closed_world,
                citations: manifest.package.citations,
                limits: manifest.limits.clone(),
                continuity: manifest.continuity.clone(),
                trust_slope: manifest.trust_slope.clone(),
                tolerances,
            },
            mutation: None,
            lineage: Vec::new(),
            bounds: EntropyBounds::default(),
        }
    }

    /// Takes over the final memory of another stream: established classes, claims and referents. Intent, conditions,
    /// lineage, trust slope and enumeration stay this stream's own.
    pub fn continue_from(&mut self, memory: &SemanticCommitments) {
        let subject = self.memory.subject.take().or_else(|| memory.subject.clone());
        self.memory = SemanticCommitments { subject, ordinal: None, ..memory.clone() };
    }

    /// Whether intent or memory contains a content word. Under a drift correction, only the intent counts, so that the
    /// stream returns to it.
    #[must_use]
    pub fn knows(&self, word: &str) -> bool {
        self.intent.words.contains(word)
            || (self.bounds.drift < DriftLevel::Correction && self.memory.words.contains_key(word))
    }
}

impl ClaimKey {
    /// Separates subject and relation in the serialised form; the text of a claim never contains it.
    const SEPARATOR: char = '\u{1f}';
}

impl From<ClaimKey> for String {
    fn from(key: ClaimKey) -> Self {
        format!("{}{}{}", key.subject, ClaimKey::SEPARATOR, key.relation)
    }
}

impl From<String> for ClaimKey {
    fn from(text: String) -> Self {
        let (subject, relation) = text.split_once(Self::SEPARATOR).unwrap_or(("", &text));
        Self { subject: subject.to_owned(), relation: relation.to_owned() }
    }
}

#[cfg(test)]
mod tests;
