//! APIs for other gateways and orchestrators, which ask for verdicts on texts and show the texts themselves.
//!
//! Each text has its own governed stream. A whole text is judged after it was written, so nothing is prevented here:
//! the mode of the stream is `recorded`.

mod fms;
mod litellm;

use crate::error::ApiError;
use crate::governed::{GovernedStream, GovernedStreamRequest, owner};
use crate::observe::SectionInput;
use crate::output::GatedAnswerPart;
use crate::prompt::PromptVerdict;
use crate::request::{MessageRole, RequestSource};
use crate::section::SectionEnd;
use crate::service::{GatewayService, KeyedClient, random};
use crate::session::is_drained;
use axum::Router;
use axum::body::Body;
use axum::http::HeaderMap;
use bytes::Bytes;
use portcullis_core::context::OnRefuse;
use portcullis_core::state::StreamTask;
use portcullis_core::wire::Determination;
use portcullis_gate::StreamGovernor;
use portcullis_mapping::EngineToolCall;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// Largest number of texts per request.
const TEXTS: usize = 1024;

/// The routes of these APIs.
pub(crate) fn router() -> Router<Arc<GatewayService>> {
    litellm::router().merge(fms::router())
}

/// A request for verdicts from another gateway or an orchestrator, and the data that its streams share.
struct GuardrailInquiry {
    service: Arc<GatewayService>,
    id: String,
    /// Index of the model in the configuration; it selects policy and profile.
    place: usize,
    task: StreamTask,
    /// Digest of the pre-execution filter's report about the request's input.
    note: [u8; 32],
    digest: [u8; 32],
    nonce: Option<String>,
    /// Sources from the caller.
    sources: Arc<[RequestSource]>,
    /// Number of streams so far.
    streams: usize,
    /// Among whom the process shares its workers.
    owner: u64,
    _room: OwnedSemaphorePermit,
}

/// The gate's verdict on one text or call.
struct TextVerdict {
    /// The text that may be shown, with the package's constants in place of refused text.
    shown: String,
    /// The refused spans, in order.
    refused: Vec<RefusedSpan>,
    /// Name of the session.
    session: String,
    /// Number of the stream in its session.
    stream: u64,
    governor: Arc<StreamGovernor>,
}

/// A span of a text that may not be shown.
struct RefusedSpan {
    /// Byte range in the text.
    range: Range<usize>,
    rule: String,
    /// Log index and lane of the span's record.
    record: Option<(u64, u8)>,
}

impl TextVerdict {
    /// The refusing rules in order, without duplicates.
    fn rules(&self) -> Vec<String> {
        let mut rules: Vec<String> = Vec::new();
        for span in &self.refused {
            if !rules.contains(&span.rule) {
                rules.push(span.rule.clone());
            }
        }
        rules
    }
}

/// Reads a body, after the caller's key was checked.
async fn body_of(service: &Arc<GatewayService>, headers: &HeaderMap, body: Body) -> Result<Bytes, ApiError> {
    service.caller(headers)?;
    service.check_running()?;
    service.body(body).await
}

impl GuardrailInquiry {
    /// An inquiry for the named model, or for the only model that the key may use.
    fn new(
        service: &Arc<GatewayService>,
        headers: &HeaderMap,
        (body, model, prefix): (&[u8], Option<&str>, &str),
    ) -> Result<Self, ApiError> {
        let caller = service.caller(headers)?;
        let place = service.model_or_only(caller, model)?;
        Ok(Self {
            owner: owner(caller.map(KeyedClient::place)),
            service: Arc::clone(service),
            id: format!("{prefix}{}", random()?),
            place,
            task: StreamTask { intent: String::new(), facts: Vec::new() },
            note: [0; 32],
            digest: Sha256::digest(body).into(),
            nonce: None,
            sources: Arc::default(),
            streams: 0,
            _room: service.room()?,
        })
    }

    fn opening(&mut self, text: Option<String>, on_refuse: Option<OnRefuse>) -> GovernedStreamRequest {
        let number = self.streams;
        self.streams += 1;
        GovernedStreamRequest {
            id: format!("{}/{number}", self.id),
            place: self.place,
            task: self.task.clone(),
            note: self.note,
            refusal: None,
            text,
            on_refuse,
            digest: self.digest,
            nonce: self.nonce.clone(),
            sources: Arc::clone(&self.sources),
            owner: self.owner,
        }
    }

    /// Judges the input with the pre-execution filter, and records the report. Returns the rules that refuse it.
    async fn input(&mut self, texts: Vec<(MessageRole, String)>) -> Result<Vec<String>, ApiError> {
        let (task, verdict) = self.service.judge_input(texts).await?;
        self.task = task;
        self.note(verdict).await
    }

    /// Judges documents that the caller retrieved. They are compared with the answer, but do not become part of its
    /// task.
    async fn documents(&mut self, texts: Vec<(MessageRole, String)>) -> Result<Vec<String>, ApiError> {
        let (_, verdict) = self.service.judge_input(texts).await?;
        self.note(verdict).await
    }

    async fn note(&mut self, verdict: PromptVerdict) -> Result<Vec<String>, ApiError> {
        self.note = verdict.note;
        let refusal = (!verdict.rules.is_empty()).then(|| verdict.rules.join(", "));
        let opening = GovernedStreamRequest { refusal, sources: Arc::default(), ..self.opening(None, None) };
        let mut stream = self.service.govern(&opening).await?;
        stream.finish()?;
        stream.settle(self.service.limits().client(), false).await?;
        Ok(verdict.rules)
    }

    /// Judges a whole text.
    async fn text(&mut self, text: String, on_refuse: Option<OnRefuse>) -> Result<TextVerdict, ApiError> {
        let length = text.len();
        let opening = self.opening(Some(text), on_refuse);
        let mut stream = self.service.govern(&opening).await?;
        stream.settle(self.service.limits().whole(), false).await?;
        verdict(stream, length)
    }

    /// Judges a whole tool call.
    async fn call(&mut self, call: &EngineToolCall, on_refuse: Option<OnRefuse>) -> Result<TextVerdict, ApiError> {
        let opening = self.opening(None, on_refuse);
        let mut stream = self.service.govern(&opening).await?;
        stream.give(&SectionInput::Call(call))?;
        stream.finish()?;
        stream.settle(self.service.limits().client(), false).await?;
        verdict(stream, call.name.len() + call.arguments.len())
    }
}

/// The verdict from an ended stream; `length` is the length of its text in bytes.
fn verdict(mut stream: GovernedStream, length: usize) -> Result<TextVerdict, ApiError> {
    let failed = || ApiError::gate("the gate failed, and says nothing of this text");
    let end = match stream.end() {
        Some(end) if end != SectionEnd::Broken => end,
        _ if is_drained(stream.report().stopped.as_deref()) => return Err(ApiError::shutting_down()),
        _ => return Err(failed()),
    };
    let lane = stream.section().lane();
    let judged = stream.take_judged();
    if judged.iter().any(|judged| judged.determination.fault.is_some()) {
        return Err(failed());
    }
    let is_admit = |answer: Option<Determination>| answer == Some(Determination::Admit);
    // A refused mutation may have waited for information and been admitted later.
    let is_admitted_later = |at: usize, range: &Range<usize>| {
        let mut later = judged.iter().skip(at + 1).map(|judged| &judged.determination);
        later.any(|later| is_admit(later.determination) && later.range() == *range)
    };
    let mut refused = Vec::new();
    for (at, one) in judged.iter().enumerate() {
        let (determination, range) = (&one.determination, one.determination.range());
        let is_refused = determination.determination == Some(Determination::Reject);
        if is_refused && !is_admitted_later(at, &range) {
            let rule = determination.rule.clone().unwrap_or_default();
            refused.push(RefusedSpan { range, rule, record: one.log_index.map(|index| (index, lane)) });
        }
    }
    if end == SectionEnd::Refused {
        // The text after the place where the gate ended the stream was not judged.
        let judged_to = judged.last().map_or(0, |judged| judged.determination.end).min(length);
        match refused.last_mut() {
            Some(last) if last.range.end >= judged_to => last.range.end = length.max(last.range.end),
            _ => refused.push(RefusedSpan { range: judged_to..length, rule: STREAM_ENDED.into(), record: None }),
        }
    }
    let shown = stream.take_outputs().into_iter().map(|output| match output {
        GatedAnswerPart::Text { text, .. } | GatedAnswerPart::Constant { text, .. } => text,
        GatedAnswerPart::Call { .. } | GatedAnswerPart::End { .. } => String::new(),
    });
    Ok(TextVerdict {
        shown: shown.collect(),
        refused,
        session: stream.session().name.clone(),
        stream: stream.report().stream,
        governor: Arc::clone(stream.governor()),
    })
}

/// Rule id for text that was not judged because the gate had ended the stream.
const STREAM_ENDED: &str = "STREAM-ENDED";
