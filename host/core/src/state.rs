//! The semantic state object: seven typed fields that stand beside the engine and that only an admitted mutation changes.

use crate::class::ClassSet;
use crate::manifest::Manifest;
use crate::mutation::Mutation;
use crate::wire::{Epistemic, QUANTITY_SLOTS};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The state of one governed stream. Serialises to the same bytes for the same inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SemanticState {
    /// What the stream is for: content words of the task.
    pub intent: BTreeSet<String>,
    /// Under what conditions it speaks.
    pub context: Context,
    /// What it has committed to so far.
    pub memory: Memory,
    /// The policy in force.
    pub policy: PolicyReference,
    /// The mutation under evaluation: empty whenever state is dumped or compared between steps.
    pub mutation: Option<Box<Mutation>>,
    /// Admitted transitions, in order of sequence.
    pub lineage: Vec<Transition>,
    /// Bounds on entropy and uncertainty.
    pub bounds: Bounds,
}

/// Conditions of the stream; indexes into the policy's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Domain.
    pub domain: u8,
    /// Audience.
    pub audience: u8,
    /// Temporal condition.
    pub temporal: u8,
    /// Epistemic mode.
    pub epistemic: Epistemic,
    /// Register of language.
    pub register: u8,
}

/// Commitments so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Classes that an admitted span established.
    pub established: ClassSet,
    /// Content words of admitted spans, in lower case.
    pub words: BTreeSet<String>,
    /// The last admitted value of each quantity slot.
    pub quantities: [Option<i32>; QUANTITY_SLOTS],
    /// Referents that admitted spans introduced.
    pub referents: BTreeSet<String>,
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
}

/// One admitted transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// Sequence of the admitted entry.
    pub sequence: u32,
    /// Its span commitment.
    pub commitment: [u8; 32],
}

/// Bounds on entropy and uncertainty that the host keeps; the thresholds themselves stand in the entropy bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Correction level of the trust slope.
    pub correction: u8,
    /// Accumulated distance of the lineage, in basis points, saturating.
    pub trust_slope: u16,
}

/// What an admitted mutation adds to memory besides what its descriptor says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Content words of the span, in lower case.
    pub words: Vec<String>,
    /// Referents that the span introduces.
    pub referents: Vec<String>,
}

impl SemanticState {
    /// The state at the start of a stream: nothing in it comes from the engine.
    #[must_use]
    pub fn new(manifest: &Manifest, package_digest: [u8; 32], image_digest: [u8; 32]) -> Self {
        Self {
            intent: BTreeSet::new(),
            context: Context { domain: 0, audience: 0, temporal: 0, epistemic: Epistemic::Standard, register: 0 },
            memory: Memory::default(),
            policy: PolicyReference {
                package: format!("{} {}", manifest.package.name, manifest.package.version),
                package_digest,
                image_digest,
            },
            mutation: None,
            lineage: Vec::new(),
            bounds: Bounds::default(),
        }
    }

    /// Commits an admitted mutation. The only way in which state changes.
    pub fn admit(&mut self, mutation: &Mutation, additions: Additions, transition: Transition) {
        self.memory.established = self.memory.established.union(mutation.classes);
        for (slot, value) in self.memory.quantities.iter_mut().zip(mutation.quantities) {
            *slot = value.or(*slot);
        }
        self.memory.words.extend(additions.words);
        self.memory.referents.extend(additions.referents);
        self.lineage.push(transition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let one = || vec!["general".to_owned()];
        Manifest {
            package: crate::manifest::Identity {
                name: "p".into(),
                version: "1.0.0".into(),
                description: String::new(),
                closed_world: false,
            },
            enumerations: crate::manifest::Enumerations {
                domain: one(),
                audience: one(),
                temporal: one(),
                register: one(),
            },
            classes: Vec::new(),
            quantities: Vec::new(),
            limits: Default::default(),
            trust_slope: Default::default(),
            prefilter: Default::default(),
        }
    }

    #[test]
    fn the_seven_fields_are_dumped_and_read_back() {
        let state = SemanticState::new(&manifest(), [1; 32], [2; 32]);
        let text = serde_json::to_string(&state).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut fields: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["bounds", "context", "intent", "lineage", "memory", "mutation", "policy"]);
        let back: SemanticState = serde_json::from_str(&text).unwrap();
        assert_eq!(back, state);
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }
}
