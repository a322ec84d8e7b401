//! The context document of a stream: the settings under which it is judged. BEGIN carries its digest.
//!
//! It is JSON in one encoding: all keys are present, in the order of the fields of [`ContextDocument`], without white
//! space. A reader refuses every other encoding, so equal content has equal bytes and one digest.

use crate::hex::HexBytes;
use crate::json;
use crate::state::{AgentProfile, StreamTask};
use crate::wire::Granularity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Version of the layout that this program reads and writes.
pub const CONTEXT_VERSION: u32 = 3;

/// How the text came to the gate. The mode decides what the gate could prevent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamMode {
    /// The gate's loop asked an engine for each candidate and released the admitted ones.
    Driven,
    /// As `Driven`, but the engine also saw data that the gate did not choose: a client's own conversation and tools.
    DrivenConversation,
    /// The gate received a text while an engine wrote it. Readers did not get refused text, but the engine's next
    /// words could depend on it.
    Held,
    /// The whole text existed before the gate saw it: the gate judges it but prevented nothing.
    Recorded,
    /// The text is judged on its way to a reader, who gets it whatever the verdict is.
    Observed,
}

impl StreamMode {
    /// All modes, in the order in which reports list them.
    pub const ALL: [Self; 5] = [Self::Driven, Self::DrivenConversation, Self::Held, Self::Recorded, Self::Observed];

    /// The mode's name in documents and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Driven => "driven",
            Self::DrivenConversation => "driven_conversation",
            Self::Held => "held",
            Self::Recorded => "recorded",
            Self::Observed => "observed",
        }
    }
}

/// Behaviour of a stream when every alternative for a place in the text was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnRefuse {
    /// Leaves the refused span out and continues with unchanged state.
    Skip,
    /// Ends the stream.
    Stop,
}

/// When admitted bytes are released to the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseMode {
    /// Each span as soon as its admit is recorded. A rollback is not possible.
    #[default]
    Span,
    /// At every release checkpoint: after every N admitted candidates, where the policy sets N (`limits.checkpoint`).
    Checkpoint,
    /// When the stream ends. All admitted bytes are then released together.
    End,
}

/// The document to which BEGIN commits. A replay needs this document, the text, the anchor stores and the policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextDocument {
    /// [`CONTEXT_VERSION`].
    pub version: u32,
    /// How the text came to the gate.
    pub mode: StreamMode,
    pub granularity: Granularity,
    /// Behaviour of the stream when every alternative for a place in the text was refused.
    pub on_refuse: OnRefuse,
    /// When admitted bytes are released; a rollback never takes back released bytes.
    pub release: ReleaseMode,
    /// The largest number of candidates that the loop requests from an engine.
    pub max_proposals: u32,
    /// Name and version of the policy package.
    pub policy: String,
    /// SHA-256 of the package.
    pub package_digest: HexBytes<32>,
    /// The agent's governed profile: the operator's choice, unless the ticket pins it.
    pub profile: AgentProfile,
    pub profile_digest: HexBytes<32>,
    /// The purpose of this stream and the facts given for it.
    pub task: StreamTask,
    /// SHA-256 of each anchor store, in the order in which the operator gave them.
    pub anchor_digests: Vec<HexBytes<32>>,
    /// The stream that this stream continues, named by the RFC 9162 leaf hash, SHA-256(0x00 || 192 bytes), of the last
    /// known record of the continued stream.
    pub predecessor: Option<HexBytes<32>>,
    /// Name of the stream in the input.
    pub id: String,
}

/// Why bytes are not a context document of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextDocumentError {
    #[error("it is of version {found}, this program reads version {CONTEXT_VERSION}")]
    Version { found: u32 },
    /// The bytes are not in the one encoding that a document of this version may have.
    #[error("{0}")]
    Malformed(String),
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl ContextDocument {
    /// The document in its one encoding.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // Plain strings and unit enums always serialise. An empty document would not match any stored context.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// SHA-256 of [`ContextDocument::bytes`].
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.bytes()).into()
    }

    /// Reads a document. Errors: another version; an unknown, missing or moved key; another encoding of equal content;
    /// a profile whose digest is not `profile_digest`.
    pub fn parse(bytes: &[u8]) -> Result<Self, ContextDocumentError> {
        let malformed = |error: serde_json::Error| ContextDocumentError::Malformed(error.to_string());
        let Versioned { version } = json::from_slice(bytes).map_err(malformed)?;
        if version != CONTEXT_VERSION {
            return Err(ContextDocumentError::Version { found: version });
        }
        let document: Self = serde_json::from_slice(bytes).map_err(malformed)?;
        if document.bytes() != bytes {
            let what = "it is not as it is written: all keys, in order, without white space";
            return Err(ContextDocumentError::Malformed(what.to_owned()));
        }
        if document.profile.digest() != document.profile_digest {
            return Err(ContextDocumentError::Malformed(
                "its profile does not have the digest that it gives".to_owned(),
            ));
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> ContextDocument {
        let profile = AgentProfile { audience: Some("public".to_owned()), ..AgentProfile::default() };
        ContextDocument {
            version: CONTEXT_VERSION,
            mode: StreamMode::Driven,
            granularity: Granularity::Span,
            on_refuse: OnRefuse::Stop,
            release: ReleaseMode::Span,
            max_proposals: 10,
            policy: "test 1.0.0".to_owned(),
            package_digest: HexBytes([1; 32]),
            profile_digest: profile.digest(),
            profile,
            task: StreamTask::default(),
            anchor_digests: vec![HexBytes([2; 32])],
            predecessor: Some(HexBytes([3; 32])),
            id: "a".to_owned(),
        }
    }

    /// Compares the encoding with the example of the reference document.
    #[test]
    fn the_encoding_is_the_documented_one() {
        let (ones, twos, threes) = ("01".repeat(32), "02".repeat(32), "03".repeat(32));
        let profile = r#"{"intent":"","domain":null,"audience":"public","temporal":null,"epistemic":null,"register":null,"facts":[]}"#;
        let digest = crate::hex::encode(&Sha256::digest(profile));
        let expected = format!(
            concat!(
                r#"{{"version":3,"mode":"driven","granularity":"span","on_refuse":"stop","release":"span","max_proposals":10,"#,
                r#""policy":"test 1.0.0","package_digest":"{}","profile":{},"profile_digest":"{}","task":{{"intent":"","facts":[]}},"#,
                r#""anchor_digests":["{}"],"predecessor":"{}","id":"a"}}"#
            ),
            ones, profile, digest, twos, threes
        );
        assert_eq!(String::from_utf8(document().bytes()).unwrap(), expected);
        assert_eq!(ContextDocument::parse(expected.as_bytes()), Ok(document()));
    }

    /// The profile's digest does not depend on the stream's name or task.
    #[test]
    fn streams_of_one_profile_share_its_digest() {
        let other = ContextDocument {
            id: "b".to_owned(),
            task: StreamTask { intent: "something else".to_owned(), facts: vec!["x".to_owned()] },
            predecessor: None,
            ..document()
        };
        assert_ne!(other.digest(), document().digest());
        assert_eq!(other.profile_digest, document().profile_digest);
        let counsel = AgentProfile { audience: Some("counsel".to_owned()), ..AgentProfile::default() };
        assert_ne!(counsel.digest(), document().profile_digest);
    }

    #[test]
    fn other_versions_keys_and_encodings_are_refused() {
        let good = String::from_utf8(document().bytes()).unwrap();
        for found in [0, 1, 2, 4] {
            let other = good.replace("\"version\":3", &format!("\"version\":{found}"));
            assert_eq!(ContextDocument::parse(other.as_bytes()), Err(ContextDocumentError::Version { found }));
        }
        // For a document of another version, only the version field is read.
        assert_eq!(ContextDocument::parse(b"{\"version\":9,\"x\":1}"), Err(ContextDocumentError::Version { found: 9 }));
        for (from, to) in [
            (r#""id":"a""#, r#""id":"a","x":1"#),
            (r#""predecessor":"#, r#""continues":"#),
            (r#","max_proposals":10"#, ""),
            (r#"{"version":3"#, r#"{ "version":3"#),
            (r#""mode":"driven""#, r#""mode":"forced""#),
            (r#""task":{"#, r#""task":{"x":1,"#),
            (r#""epistemic":null,"#, ""),
            (r#""id":"a""#, r#""id":"\u0061""#),
            (&"03".repeat(32), "03"),
            (&"03".repeat(32), &"0A".repeat(32)),
            // A changed profile with the old digest.
            (r#""audience":"public""#, r#""audience":"counsel""#),
        ] {
            let wrong = good.replacen(from, to, 1);
            assert_ne!(wrong, good, "{from}");
            assert!(
                matches!(ContextDocument::parse(wrong.as_bytes()), Err(ContextDocumentError::Malformed(_))),
                "{wrong}"
            );
        }
        for wrong in ["", "{}", "[]", "[9]", "{\"version\":\"3\"}", "{\"version\":4294967296}"] {
            assert!(
                matches!(ContextDocument::parse(wrong.as_bytes()), Err(ContextDocumentError::Malformed(_))),
                "{wrong}"
            );
        }
    }
}
