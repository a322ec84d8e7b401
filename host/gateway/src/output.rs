//! Output of the gate for a client: only admitted text, and constants of the policy and of this program.

use crate::receipts::Unproven;
use portcullis_core::context::Mode;
use portcullis_core::hex;
use portcullis_evidence::stream_proof::StreamProof;
use portcullis_gate::Policy;
use serde::Serialize;

/// A part of an answer that a client can see apart from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The answer.
    Content,
    /// The model's text before its answer.
    Reasoning,
    /// The model's own refusal.
    Refusal,
}

impl Channel {
    /// Its name in identities and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Reasoning => "reasoning",
            Self::Refusal => "refusal",
        }
    }
}

/// Why a choice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it.
    Stop,
    /// The bound on tokens was reached.
    Length,
    /// The model called tools.
    ToolCalls,
    /// The gate refused something, and the choice ends there; or the model's server did.
    Refused,
    /// The answer broke off.
    Failed,
}

/// Something that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Admitted text.
    Text {
        /// Choice.
        choice: u32,
        /// Channel.
        channel: Channel,
        /// The text.
        text: String,
    },
    /// An admitted tool call.
    Call {
        /// Choice.
        choice: u32,
        /// Place among the calls of the choice.
        index: u32,
        /// Identity; the gate's, not the upstream's.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments, canonical JSON.
        arguments: String,
    },
    /// A constant of the policy in place of refused text: a placeholder, or the refusal text.
    Constant {
        /// Choice.
        choice: u32,
        /// Channel.
        channel: Channel,
        /// The text.
        text: String,
    },
    /// A choice is over.
    End {
        /// Choice.
        choice: u32,
        /// Why.
        finish: Finish,
    },
}

impl Output {
    /// The choice that it belongs to.
    #[must_use]
    pub const fn choice(&self) -> u32 {
        match self {
            Self::Text { choice, .. }
            | Self::Call { choice, .. }
            | Self::Constant { choice, .. }
            | Self::End { choice, .. } => *choice,
        }
    }
}

/// Tokens of the released text, as the upstream counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of the prompt.
    pub prompt: u64,
    /// Of the answer.
    pub completion: u64,
}

/// How an answer came to be, for the client: the `portcullis` object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// Version of this object.
    pub version: u32,
    /// Identity of the answer.
    pub answer: String,
    /// `held`: the reader did not get what was refused, but the model continued from it. `driven_conversation`:
    /// the model continued from admitted text. `recorded`: the text was whole before it came, and was judged only.
    /// `observed`: the reader got everything, and this object says what would have been refused.
    pub mode: &'static str,
    /// Name and version of the policy.
    pub policy: String,
    /// SHA-256 of the policy package.
    pub package_digest: String,
    /// SHA-256 of the tables that the card held.
    pub policy_digest: String,
    /// The session, by the name of its bundle.
    pub session: String,
    /// SHA-256 of the request's body.
    pub request: String,
    /// The client's value that is bound to the records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// SHA-256 of the anchor store that the request's sources make: the streams' contexts have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// The stream that the content's stream continues: the leaf hash of END's record. An assistant's message in the
    /// conversation is what that one released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Rules of the pre-execution filter that refused the input, where the answer is only observed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_rules: Vec<String>,
    /// The governed streams, in the order in which they began.
    pub streams: Vec<StreamReport>,
    /// The proofs of those streams, where the client asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proofs: Option<Vec<StreamProof>>,
    /// Why there are none, where the client asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproven: Option<Unproven>,
}

impl Provenance {
    /// Without streams and without a nonce. `request` is the SHA-256 of the request's body.
    pub(crate) fn new(answer: String, mode: Mode, policy: &Policy, session: &str, request: &[u8; 32]) -> Self {
        Self {
            version: 1,
            answer,
            mode: mode.name(),
            policy: policy.package.manifest().reference(),
            package_digest: hex::encode(&policy.package.digest()),
            policy_digest: hex::encode(&policy.compiled.image.digest()),
            session: session.to_owned(),
            request: hex::encode(request),
            nonce: None,
            sources: None,
            continues: None,
            input_rules: Vec::new(),
            streams: Vec::new(),
            proofs: None,
            unproven: None,
        }
    }
}

/// The outcome of one governed stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamReport {
    /// Number in its session.
    pub stream: u64,
    /// Identity that its BEGIN record binds.
    pub id: String,
    /// Choice.
    pub choice: u32,
    /// Channel.
    pub channel: Channel,
    /// Mutations that were admitted.
    pub admitted: u64,
    /// Mutations that were refused.
    pub rejected: u64,
    /// Rules that refused, in order, each once.
    pub rules: Vec<String>,
    /// Where constants of the policy are in the choice's text of this channel: first byte and length. The text without
    /// these constants is exactly what the records admitted.
    pub constants: Vec<(usize, usize)>,
    /// Refused parts that left because the answer is only observed: first byte and length in the choice's text of this
    /// channel. They have no receipt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(usize, usize)>,
    /// The same of tool calls, by their places in the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<u32>,
    /// Why it ended early, in the gate's words; absent when it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}
