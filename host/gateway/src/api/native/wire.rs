//! Requests and responses of the native API.

use crate::calls::{IdentifiedCall, judged_call};
use crate::governed::GovernedStream;
use crate::output::{AnswerProvenance, GatedAnswerPart};
use crate::request::RequestSource;
use crate::section::LoggedDetermination;
use portcullis_core::commitment::SpanKind;
use portcullis_core::wire::{Determination, Fault, Stage};
use portcullis_mapping::EngineToolCall;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The request that opens a stream.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenRequest {
    /// Name of a model that the key may use; it selects policy and profile.
    pub(super) model: String,
    /// The task of the text. The text may refer to things in it; it establishes no class, fact or claim.
    #[serde(default)]
    pub(super) task: String,
    /// A value of the caller that the records bind: 1 to 64 letters, digits, `-` or `_`.
    #[serde(default)]
    #[schema(pattern = "^[A-Za-z0-9_-]{1,64}$")]
    pub(super) nonce: Option<String>,
    /// Sources: in a closed world, the text may state what these texts state. The key must be allowed to supply
    /// sources, and the operator must have no anchor store for the model.
    #[serde(default)]
    pub(super) sources: Vec<RequestSource>,
}

/// A stream that was opened.
#[derive(Serialize, ToSchema)]
#[schema(as = Opened)]
pub(super) struct OpenedStream {
    /// Its name in paths of this API.
    pub(super) stream: String,
    /// The stream ends after this many milliseconds without a request.
    pub(super) idle_ms: u64,
    /// Policy, session, stream and request.
    #[schema(value_type = Object)]
    pub(super) portcullis: AnswerProvenance,
}

/// A part of a stream: a text or a tool call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Candidate)]
pub(super) struct StreamCandidate {
    /// The next bytes of the text.
    #[serde(default)]
    pub(super) text: Option<String>,
    /// A whole tool call.
    #[serde(default)]
    pub(super) call: Option<CandidateToolCall>,
}

/// A tool call.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ToolCall)]
pub(super) struct CandidateToolCall {
    /// The tool.
    pub(super) name: String,
    /// Its arguments, JSON as text.
    pub(super) arguments: String,
}

impl From<CandidateToolCall> for EngineToolCall {
    fn from(CandidateToolCall { name, arguments }: CandidateToolCall) -> Self {
        judged_call(name, arguments)
    }
}

/// The body of a close, which may be absent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Closing)]
pub(super) struct StreamCloseRequest {}

/// The result of a part.
#[derive(Serialize, ToSchema)]
#[schema(as = Decided)]
pub(super) struct StreamProgress {
    /// Name of the stream.
    stream: String,
    /// The determinations since the last response, in order.
    determinations: Vec<DeterminationEntry>,
    /// The pieces that were released since the last response, in order.
    released: Vec<ReleasedPart>,
    /// Bytes that wait for the text after them.
    pending: usize,
    /// Whether the stream accepts no more candidates.
    over: bool,
    /// Why the stream ended early; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    /// Policy, session, stream and request, with the totals of the stream.
    #[schema(value_type = Object)]
    portcullis: AnswerProvenance,
}

/// One determination.
#[derive(Serialize, ToSchema)]
struct DeterminationEntry {
    /// Sequence within the stream.
    seq: u32,
    /// Sequence of the mutation that was split into this one and others.
    parent: Option<u32>,
    /// `text` or `call`.
    #[schema(value_type = String)]
    kind: SpanKind,
    /// First byte of the span in the stream's text.
    start: usize,
    /// One past its last byte.
    end: usize,
    /// `admit`, `reject` or `decompose`; absent for a fault.
    #[schema(value_type = Option<String>)]
    decision: Option<Determination>,
    /// The first stage that failed.
    stage: Option<&'static str>,
    /// Id of the rule, or the reason of a refusal.
    rule: Option<String>,
    /// The fault's name.
    fault: Option<&'static str>,
    /// Place of its record.
    record: Option<RecordPlace>,
}

/// The place of a record in its session's log.
#[derive(Serialize, ToSchema)]
struct RecordPlace {
    /// Lane of the card.
    lane: u8,
    /// Index in that lane's log.
    index: u64,
}

/// A released piece.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schema(as = Piece)]
enum ReleasedPart {
    /// Admitted text.
    Text {
        /// The text.
        text: String,
    },
    /// An admitted tool call.
    Call {
        /// The tool.
        name: String,
        /// Its arguments, canonical JSON.
        arguments: String,
    },
    /// The policy's constant that replaces refused text.
    Placeholder {
        /// The constant.
        text: String,
    },
}

/// An error.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document's form of what `ApiError` writes")]
#[schema(as = Failure)]
pub(super) struct ApiErrorBody {
    error: FailureDetail,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "the document's form of what `ApiError` writes")]
struct FailureDetail {
    /// Message for people.
    message: String,
    /// Group of errors.
    r#type: String,
    /// Name of the wrong field.
    param: Option<String>,
    /// Code for programs.
    code: String,
}

impl StreamProgress {
    /// Everything since the last response.
    pub(super) fn of(name: &str, stream: &mut GovernedStream) -> Self {
        let lane = stream.section().lane();
        let determinations = stream.take_judged().into_iter().map(|judged| entry(judged, lane)).collect();
        Self {
            stream: name.to_owned(),
            determinations,
            released: stream.take_outputs().into_iter().filter_map(piece).collect(),
            pending: stream.section().pending(),
            over: stream.end().is_some(),
            stopped: stream.report().stopped.clone(),
            portcullis: stream.provenance(),
        }
    }
}

fn entry(LoggedDetermination { determination, log_index }: LoggedDetermination, lane: u8) -> DeterminationEntry {
    DeterminationEntry {
        seq: determination.seq,
        parent: determination.parent,
        kind: determination.kind,
        start: determination.start,
        end: determination.end,
        decision: determination.determination,
        stage: determination.stage.filter(|stage| *stage != Stage::None).map(Stage::name),
        rule: determination.rule,
        fault: determination.fault.map(Fault::name),
        record: log_index.map(|index| RecordPlace { lane, index }),
    }
}

fn piece(output: GatedAnswerPart) -> Option<ReleasedPart> {
    match output {
        GatedAnswerPart::Text { text, .. } => Some(ReleasedPart::Text { text }),
        GatedAnswerPart::Call { call: IdentifiedCall { call: EngineToolCall { name, arguments }, .. }, .. } => {
            Some(ReleasedPart::Call { name, arguments })
        }
        GatedAnswerPart::Constant { text, .. } => Some(ReleasedPart::Placeholder { text }),
        GatedAnswerPart::End { .. } => None,
    }
}
