//! The agent's governed profile, `agent.toml`, and the task. Together they give the initial state.

use super::{StreamContext, StreamIntent};
use crate::hex::HexBytes;
use crate::manifest::PackageManifest;
use crate::wire::Epistemic;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// `agent.toml`. Unknown keys are errors; an absent value is the first one that the policy declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentProfile {
    /// The purpose of the agent.
    pub intent: String,
    /// Subject domain, declared by the policy.
    pub domain: Option<String>,
    /// Audience, declared by the policy.
    pub audience: Option<String>,
    /// Temporal condition, declared by the policy.
    pub temporal: Option<String>,
    /// Epistemic mode: `standard`, `high_precision` or `exploratory`.
    pub epistemic: Option<Epistemic>,
    /// Register of language, declared by the policy.
    pub register: Option<String>,
    /// Facts that the operator guarantees.
    pub facts: Vec<String>,
}

/// The task of one stream. It comes from the operator, never from the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTask {
    /// The purpose of the stream; it is appended to the profile's intent.
    pub intent: String,
    /// More facts that the operator guarantees.
    pub facts: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the profile's {field} `{value}` is not declared by the policy; it declares {declared}")]
pub struct ProfileError {
    pub field: &'static str,
    pub value: String,
    pub declared: String,
}

impl AgentProfile {
    /// SHA-256 of the profile's JSON as a context document holds it: keys in the order of the fields, no white space.
    #[must_use]
    pub fn digest(&self) -> HexBytes<32> {
        // Plain strings and unit enums always serialise.
        HexBytes(Sha256::digest(serde_json::to_vec(self).unwrap_or_default()).into())
    }

    /// The conditions of this agent's streams. Errors: a value that the policy does not declare, with the list of the
    /// declared values; for a member of a composition, a profile whose digest the member does not list.
    pub fn context(&self, manifest: &PackageManifest) -> Result<StreamContext, ProfileError> {
        if let Some(membership) = &manifest.membership {
            let digest = self.digest();
            if !membership.profiles.contains(&digest) {
                let known: Vec<_> = membership.profiles.iter().map(ToString::to_string).collect();
                return Err(ProfileError { field: "digest", value: digest.to_string(), declared: known.join(", ") });
            }
        }
        let place = |field, value: &Option<String>, declared: &[String]| match value {
            None => Ok(0),
            Some(value) => {
                let at = declared.iter().position(|d| d == value).and_then(|at| u8::try_from(at).ok());
                at.ok_or_else(|| ProfileError { field, value: value.clone(), declared: declared.join(", ") })
            }
        };
        let lists = &manifest.enumerations;
        Ok(StreamContext {
            domain: manifest.first_domain().saturating_add(place("domain", &self.domain, &lists.domain)?),
            audience: place("audience", &self.audience, &lists.audience)?,
            temporal: place("temporal", &self.temporal, &lists.temporal)?,
            epistemic: self.epistemic.unwrap_or(Epistemic::Standard),
            register: place("register", &self.register, &lists.register)?,
        })
    }

    /// The intent of one stream. `content_words` gives the content words of a text.
    #[must_use]
    pub fn intent(&self, task: &StreamTask, content_words: impl Fn(&str) -> Vec<String>) -> StreamIntent {
        let parts = [self.intent.trim(), task.intent.trim()];
        let text = parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("\n");
        let facts: Vec<String> = self.facts.iter().chain(&task.facts).cloned().collect();
        let words = std::iter::once(&text).chain(&facts).flat_map(|t| content_words(t)).collect();
        StreamIntent { text, facts, words }
    }
}
