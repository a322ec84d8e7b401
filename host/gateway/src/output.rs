//! Output of the gate for a client: admitted text, constants of the policy, and constants of this program.

use crate::calls::IdentifiedCall;
use crate::receipts::MissingProofReason;
use portcullis_core::context::StreamMode;
use portcullis_core::hex;
use portcullis_evidence::stream_proof::StreamProof;
use portcullis_gate::GatePolicy;
use serde::Serialize;

/// A part of an answer that clients show separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerChannel {
    /// The answer.
    Content,
    /// The model's text before its answer.
    Reasoning,
    /// The model's own refusal.
    Refusal,
}

impl AnswerChannel {
    /// Name in ids and reports.
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
pub enum FinishReason {
    /// The model ended it.
    Stop,
    /// The token limit was reached.
    Length,
    /// The model called tools.
    ToolCalls,
    /// The gate or the model's server refused text, and the choice ends there.
    Refused,
    /// The answer was cut off.
    Failed,
}

/// A piece of output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatedAnswerPart {
    /// Admitted text.
    Text {
        /// Index of the choice.
        choice: u32,
        channel: AnswerChannel,
        text: String,
    },
    /// An admitted tool call.
    Call {
        /// Index of the choice.
        choice: u32,
        /// Index among the calls of the choice.
        index: u32,
        /// Its id is made by the gateway; its arguments are canonical JSON.
        call: IdentifiedCall,
    },
    /// A constant that replaces refused text: the policy's placeholder or its refusal text.
    Constant {
        /// Index of the choice.
        choice: u32,
        channel: AnswerChannel,
        text: String,
    },
    /// A choice is over.
    End {
        /// Index of the choice.
        choice: u32,
        finish: FinishReason,
    },
}

impl GatedAnswerPart {
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

/// Number of tokens in the released text, as the upstream counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Tokens of the prompt.
    pub prompt: u64,
    /// Tokens of the answer.
    pub completion: u64,
}

/// How the gate made an answer, for the client: the `portcullis` object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerProvenance {
    /// Version of this object.
    pub version: u32,
    /// Id of the answer.
    pub answer: String,
    /// `held`: the reader did not get refused text, but the model continued after it. `driven_conversation`: the
    /// model continued from admitted text only. `recorded`: the text was complete before it was judged.
    /// `observed`: the reader got all text; this object lists the parts that were refused.
    pub mode: &'static str,
    /// Name and version of the policy.
    pub policy: String,
    /// SHA-256 of the policy package.
    pub package_digest: String,
    /// SHA-256 of the table image in the card.
    pub policy_digest: String,
    /// Name of the session and of its bundle.
    pub session: String,
    /// SHA-256 of the request's body.
    pub request: String,
    /// The client's nonce, which the records bind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// SHA-256 of the anchor store made from the request's sources. The context documents contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// Leaf hash of the END record of the stream that the content continues. That stream released an assistant message
    /// of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Rules of the pre-execution filter that refused the input; only for observed answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_rules: Vec<String>,
    /// The governed streams, in the order of their BEGIN.
    pub streams: Vec<StreamReport>,
    /// The proofs of these streams, if the client asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proofs: Option<Vec<StreamProof>>,
    /// Why the proofs are missing, if the client asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproven: Option<MissingProofReason>,
}

impl AnswerProvenance {
    /// A provenance without streams and nonce. `request` is the SHA-256 of the request's body.
    pub(crate) fn new(
        answer: String,
        mode: StreamMode,
        policy: &GatePolicy,
        session: &str,
        request: &[u8; 32],
    ) -> Self {
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

/// Number of refusals that the report of a stream lists.
pub const MOST_REFUSALS: usize = 64;

/// One refusal, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamRefusal {
    /// Id of the refusing rule or reason.
    pub code: String,
    /// What the rule is for, if the policy tells clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Stream and sequence of its record, as the evidence names them: `7/12`.
    pub id: String,
    /// First byte and length of the refused part in the model's text.
    pub place: (usize, usize),
}

/// The outcome of one governed stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamReport {
    /// Number in its session.
    pub stream: u64,
    /// Id that the BEGIN record binds.
    pub id: String,
    pub choice: u32,
    pub channel: AnswerChannel,
    /// Number of admitted mutations.
    pub admitted: u64,
    /// Number of refused mutations.
    pub rejected: u64,
    /// The refusing rules in order, without duplicates.
    pub rules: Vec<String>,
    /// The refusals in order, at most [`MOST_REFUSALS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<StreamRefusal>,
    /// Places of constants in the choice's text of this channel: first byte and length. The text without the constants
    /// is exactly what the records admitted.
    pub constants: Vec<(usize, usize)>,
    /// Places of the refused parts in the choice's text of this channel: first byte and length. Only an observed answer
    /// contains refused parts. They have no receipt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(usize, usize)>,
    /// Indices of refused calls in an observed answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<u32>,
    /// Why the stream ended early; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}
