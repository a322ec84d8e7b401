//! The service behind all APIs: checks callers, judges their requests, opens streams, and starts answers.

use crate::answer::{AnswerEnd, AnswerJob, GatedAnswer, OUTPUTS, StreamOpenError};
use crate::clock::now;
use crate::config::{AnswerMode, ConfigError, EvidenceSettings, GatewayConfig, GatewayLimits, ReleaseCondition};
use crate::continuations::ContinuationStore;
use crate::error::{ApiError, GATE_FAILED};
use crate::governed::{GovernedStream, GovernedStreamRequest, owner};
use crate::metrics::{CardCounts, GatewayMetrics, QueueLengths, note_model};
use crate::open_streams::OpenStreams;
use crate::output::{AnswerProvenance, GatedAnswerPart, StreamReport};
use crate::placement::SessionStates;
use crate::prompt::{self, PromptFilter, PromptVerdict};
use crate::receipts::{HeldAnswer, MissingProofReason, ReceiptStore};
use crate::request::{ClientRequest, MessageRole, RequestSource};
use crate::session::is_drained;
use crate::session_state::{OpenSession, SessionState};
use crate::sources;
use crate::traces::{RequestTrace, TraceExporter, TracesError};
use crate::upstream::{self, UpstreamClient, UpstreamSettings};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use portcullis_core::hex;
use portcullis_core::state::StreamTask;
use portcullis_evidence::stream_proof::StreamProof;
use portcullis_gate::SessionCapacity;
use portcullis_http::server::{UnreadBody, read_body};
use portcullis_prefilter::FilterPolicyError;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

/// Number of successive sessions in which a request is tried.
const ATTEMPTS: usize = 3;

/// A client with a key.
pub(crate) struct KeyedClient {
    /// Index of the key in the configuration.
    place: usize,
    /// SHA-256 of the key. Comparing digests does not reveal by timing how much of a guess is right.
    key: [u8; 32],
    /// Indices of the client's models in the configuration; empty for all.
    models: Vec<usize>,
    /// Whether the client's requests may supply sources.
    sources: bool,
}

impl KeyedClient {
    /// Index of the key in the configuration.
    pub(crate) const fn place(&self) -> usize {
        self.place
    }

    fn may_use(&self, model: usize) -> bool {
        self.models.is_empty() || self.models.contains(&model)
    }
}

/// A model, as clients see it.
struct ModelEntry {
    name: String,
    upstream: UpstreamClient,
    mode: AnswerMode,
}

/// An answer that is being written.
pub(crate) struct RunningAnswer {
    pub(crate) id: String,
    /// Seconds since 1970.
    pub(crate) created: u64,
    pub(crate) outputs: mpsc::Receiver<GatedAnswerPart>,
    /// Completes after the last output.
    pub(crate) written: JoinHandle<AnswerEnd>,
}

/// How an API names its answers.
#[derive(Clone, Copy)]
pub(crate) struct AnswerLabels {
    /// How ids begin.
    pub(crate) id_prefix: &'static str,
    /// Name of the operation in traces.
    pub(crate) operation: &'static str,
}

/// The gateway's service.
pub struct GatewayService {
    models: Vec<ModelEntry>,
    callers: Vec<KeyedClient>,
    filter: PromptFilter,
    limits: GatewayLimits,
    evidence: EvidenceSettings,
    receipts: ReceiptStore,
    continuations: ContinuationStore,
    sessions: watch::Receiver<SessionStates>,
    room: Arc<Semaphore>,
    started: u64,
    /// Becomes true when the service accepts no more requests.
    draining: watch::Receiver<bool>,
    /// The open streams of the native API.
    open_streams: Arc<OpenStreams>,
    metrics: Arc<GatewayMetrics>,
    traces: Option<TraceExporter>,
}

/// Why a service could not be created.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Filter(#[from] FilterPolicyError),
    #[error("the client for model servers: {0}")]
    Client(#[from] reqwest::Error),
    #[error("the exporter of traces: {0}")]
    Traces(#[from] TracesError),
}

impl GatewayService {
    /// A service over these sessions. It stops accepting requests when `draining` becomes true. Must be called inside a
    /// tokio runtime.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub fn new(
        config: &GatewayConfig,
        sessions: watch::Receiver<SessionStates>,
        draining: watch::Receiver<bool>,
        metrics: Arc<GatewayMetrics>,
    ) -> Result<Self, ServiceError> {
        let read = |path: &std::path::Path| {
            std::fs::read(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })
        };
        let connect = Duration::from_millis(config.limits.connect_ms);
        let mut models = Vec::new();
        for model in &config.models {
            let authorities = model.upstream_ca.as_deref().map(read).transpose()?;
            let settings = UpstreamSettings {
                kind: model.kind,
                base: model.upstream.trim_end_matches('/').to_owned(),
                key: model.upstream_key.as_ref().map(crate::config::SecretLocation::read).transpose()?,
                model: model.upstream_model.clone(),
                strict: model.strict_upstream,
            };
            let client = upstream::client(connect, authorities.as_deref())?;
            let upstream = UpstreamClient::new(client, settings, config.limits.clone());
            models.push(ModelEntry { name: model.name.clone(), upstream, mode: model.mode });
        }
        let place = |name: &String| config.models.iter().position(|model| model.name == *name);
        let caller = |(at, key): (usize, &crate::config::ClientKeySettings)| -> Result<KeyedClient, ConfigError> {
            let models = key.models.iter().filter_map(place).collect();
            Ok(KeyedClient {
                place: at,
                key: Sha256::digest(key.secret.read_key()?).into(),
                models,
                sources: key.sources,
            })
        };
        Ok(Self {
            models,
            callers: config.keys.iter().enumerate().map(caller).collect::<Result<_, _>>()?,
            open_streams: Arc::new(OpenStreams::new(&config.limits, config.keys.len())),
            metrics,
            traces: config.traces.as_ref().map(TraceExporter::start).transpose()?,
            filter: PromptFilter::new()?,
            limits: config.limits.clone(),
            evidence: config.evidence.clone(),
            receipts: ReceiptStore::new(config.evidence.answers),
            continuations: ContinuationStore::new(config.limits.turns, config.limits.turns_bytes),
            sessions,
            room: Arc::new(Semaphore::new(config.limits.requests)),
            started: now(),
            draining,
        })
    }

    /// Asks every model server once whether it is there, and logs what is wrong. Dropping the result ends this.
    pub(crate) fn probe_servers(self: &Arc<Self>) -> JoinSet<()> {
        let mut probes = JoinSet::new();
        for place in 0..self.models.len() {
            let service = Arc::clone(self);
            probes.spawn(async move {
                if let Some(model) = service.models.get(place) {
                    model.upstream.probe(&model.name).await;
                }
            });
        }
        probes
    }

    /// Whether no key is configured, so that every client may ask.
    pub(crate) const fn is_open(&self) -> bool {
        self.callers.is_empty()
    }

    /// Names of the models that this caller may use.
    pub(crate) fn models(&self, caller: Option<&KeyedClient>) -> impl Iterator<Item = &str> {
        let may = move |place: usize| caller.is_none_or(|caller| caller.may_use(place));
        let mine = self.models.iter().enumerate().filter(move |(place, model)| may(*place) && model.name != "*");
        mine.map(|(_, model)| model.name.as_str())
    }

    /// Name of the model at this index of the configuration.
    pub(crate) fn model_name(&self, place: usize) -> Option<&str> {
        self.models.get(place).map(|model| model.name.as_str())
    }

    /// Start time of the service, in seconds since 1970.
    pub(crate) const fn started(&self) -> u64 {
        self.started
    }

    pub(crate) fn metrics(&self) -> &GatewayMetrics {
        &self.metrics
    }

    /// The proofs of the answer of this id, if this caller got it.
    ///
    /// # Errors
    /// There is no such answer or proof.
    pub(crate) async fn proofs(&self, id: &str, caller: Option<&KeyedClient>) -> Result<Vec<StreamProof>, ApiError> {
        let held = self.receipts.find(id, caller.map(KeyedClient::place)).ok_or_else(ApiError::no_answer)?;
        held.proofs.prove(&held.streams, self.evidence.proof()).await.map_err(|why| match why {
            MissingProofReason::NotYet => ApiError::unavailable("no checkpoint covers the answer yet"),
            MissingProofReason::Never => ApiError::unproven(),
        })
    }

    /// Opens a stream, and waits until its BEGIN is recorded. If the session is about to end, another session is used:
    /// of another card, or the next one.
    ///
    /// # Errors
    /// There is no session, or it is full.
    pub(crate) async fn govern(&self, opening: &GovernedStreamRequest) -> Result<GovernedStream, ApiError> {
        let mut closed = None;
        for _ in 0..ATTEMPTS {
            let session = self.session(&opening.id, closed.as_ref()).await?;
            let governor = sources::governor(&session, opening.place, &opening.sources).await?;
            let opened = GovernedStream::open(Arc::clone(&session), &governor, opening, self.is_signed())?;
            closed = Some(session);
            let Some(mut stream) = opened else { continue };
            stream.settle(self.limits().client(), true).await?;
            if stream.has_read_begin() {
                return Ok(stream);
            }
        }
        Err(ApiError::unavailable("no session of the card took the request"))
    }

    pub(crate) const fn limits(&self) -> &GatewayLimits {
        &self.limits
    }

    pub(crate) const fn open_streams(&self) -> &Arc<OpenStreams> {
        &self.open_streams
    }

    /// The caller with the request's key; `None` if no key is configured.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Option<&KeyedClient>, ApiError> {
        if self.callers.is_empty() {
            return Ok(None);
        }
        let digest: [u8; 32] = Sha256::digest(bearer_or_key(headers).ok_or_else(ApiError::unauthorized)?).into();
        let found = self.callers.iter().find(|caller| caller.key == digest);
        found.map(Some).ok_or_else(ApiError::unauthorized)
    }

    /// Index of a model that this caller may use.
    pub(crate) fn model(&self, caller: Option<&KeyedClient>, name: &str) -> Result<usize, ApiError> {
        let may = |place: &usize| caller.is_none_or(|caller| caller.may_use(*place));
        let named = |wanted: &str| self.models.iter().position(|model| model.name == wanted).filter(may);
        // An exact name has priority over `*`.
        let known = self.models.iter().any(|model| model.name == name);
        named(if known { name } else { "*" }).inspect(|place| note_model(*place)).ok_or_else(ApiError::no_model)
    }

    /// Index of the model with this name, or of the only model that this caller may use.
    pub(crate) fn model_or_only(&self, caller: Option<&KeyedClient>, name: Option<&str>) -> Result<usize, ApiError> {
        let named = self.model(caller, name.unwrap_or("*"));
        if named.is_ok() || self.models.iter().any(|model| Some(model.name.as_str()) == name) {
            return named;
        }
        let may = |place: &usize| caller.is_none_or(|caller| caller.may_use(*place));
        let mut open = (0..self.models.len()).filter(may);
        match (open.next(), open.next()) {
            (Some(only), None) => {
                note_model(only);
                Ok(only)
            }
            _ => Err(ApiError::no_model()),
        }
    }

    /// The session for the stream of this id, other than `closed`, which accepts no more streams. If no session is
    /// open, waits for the next one.
    pub(crate) async fn session(
        &self,
        id: &str,
        closed: Option<&Arc<OpenSession>>,
    ) -> Result<Arc<OpenSession>, ApiError> {
        let is_closed = |session: &Arc<OpenSession>| closed.is_some_and(|closed| Arc::ptr_eq(closed, session));
        let mut sessions = self.sessions.clone();
        let open = sessions.wait_for(|states| states.is_over() || states.place(id, is_closed).is_some());
        let states = timeout(self.limits.request(), open).await;
        let states = states.map_err(|_| ApiError::unavailable("the next session of the card is not open yet"))?;
        let placed = states.ok().and_then(|states| states.place(id, is_closed).map(Arc::clone));
        placed.ok_or_else(|| ApiError::unavailable("the gate takes no further request"))
    }

    /// The metrics in Prometheus' text format.
    pub(crate) fn metrics_text(&self) -> String {
        self.metrics.text(self.queues())
    }

    /// Queue lengths and free places.
    pub(crate) fn queues(&self) -> QueueLengths {
        let states = self.session_states();
        let (mut session, mut cards) = (SessionCapacity::default(), CardCounts::default());
        for state in states.iter() {
            match state {
                SessionState::Open(open) => {
                    let SessionCapacity { slots, waiting, entries } = open.handle.credit();
                    session.slots += slots;
                    session.waiting += waiting;
                    session.entries += entries;
                    cards.open += 1;
                }
                SessionState::Between => cards.between += 1,
                SessionState::Over => cards.over += 1,
            }
        }
        let requests = self.limits.requests.saturating_sub(self.room.available_permits());
        QueueLengths { requests, decide_streams: self.open_streams.count(), session, cards }
    }

    /// The current states of the cards' sessions.
    pub(crate) fn session_states(&self) -> SessionStates {
        self.sessions.borrow().clone()
    }

    /// Status 200 if requests are answered now, else 503. Where streams already wait for a slot of every card, other
    /// gateways answer sooner.
    pub(crate) fn readiness(&self) -> Response {
        let is_ready = self.sessions.borrow().has_room() && !*self.draining.borrow();
        let mut response = Response::new(Body::from(if is_ready { "ready\n" } else { "not ready\n" }));
        *response.status_mut() = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        response
    }

    /// Checks that this caller may supply sources, since they count as facts.
    pub(crate) fn check_sources(
        &self,
        caller: Option<&KeyedClient>,
        sources: &[RequestSource],
    ) -> Result<(), ApiError> {
        match caller {
            Some(caller) if !caller.sources && !sources.is_empty() => {
                Err(ApiError::invalid(sources::FIELD, "the requests of this key may bring no sources"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that requests are accepted.
    pub(crate) fn check_running(&self) -> Result<(), ApiError> {
        if *self.draining.borrow() { Err(ApiError::unavailable("the gateway is being stopped")) } else { Ok(()) }
    }

    /// Reads a request's body, within the limits of size and time.
    pub(crate) async fn body(&self, body: Body) -> Result<Bytes, ApiError> {
        let body = read_body(body, self.limits.body_bytes, self.limits.request()).await;
        body.map_err(|unread| match unread {
            UnreadBody::Late => ApiError::invalid("body", "the body did not come in time"),
            UnreadBody::Oversize | UnreadBody::Broken => ApiError::too_large(self.limits.body_bytes),
        })
    }

    /// Takes a place among the concurrent requests.
    pub(crate) fn room(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let room = Arc::clone(&self.room).try_acquire_owned();
        room.map_err(|_| ApiError::unavailable("as many requests are answered as may be"))
    }

    /// Judges texts and their speakers with the pre-execution filter, and makes the task from them.
    pub(crate) async fn judge_input(
        self: &Arc<Self>,
        texts: Vec<(MessageRole, String)>,
    ) -> Result<(StreamTask, PromptVerdict), ApiError> {
        let judging = Arc::clone(self);
        let judged = tokio::task::spawn_blocking(move || (prompt::task(&texts), judging.filter.judge(&texts)));
        let judged = judged.await.map_err(|_| ApiError::gate("the pre-execution filter failed"))?;
        self.metrics.input_refused(&judged.1.rules);
        Ok(judged)
    }

    /// Exports the waiting traces and stops tracing. Blocks for a bounded time.
    pub(crate) fn end_traces(&self) {
        if let Some(traces) = &self.traces {
            traces.end();
        }
    }

    /// Starts the trace of a request for this path.
    pub(crate) fn trace(&self, path: &'static str, headers: &HeaderMap) -> RequestTrace {
        RequestTrace::begin(self.traces.as_ref(), path, headers)
    }

    /// Judges the input of a request, opens the streams of its answer, and starts to write the answer.
    ///
    /// # Errors
    /// The request is refused, or there is no session or no room for it.
    pub(crate) async fn begin_answer(
        self: &Arc<Self>,
        caller: Option<&KeyedClient>,
        request: ClientRequest,
        AnswerLabels { id_prefix, operation }: AnswerLabels,
        trace: &RequestTrace,
    ) -> Result<RunningAnswer, ApiError> {
        let place = self.model(caller, &request.model)?;
        let Some(model) = self.models.get(place) else { return Err(ApiError::no_model()) };
        model.upstream.check(&request)?;
        let mode = model.mode;
        if mode == AnswerMode::Driven && request.is_json() {
            let why = "this model writes a sentence at a time, and a JSON value is judged whole";
            return Err(ApiError::invalid("response_format", why));
        }
        self.check_sources(caller, &request.sources)?;
        let room = self.room()?;
        let (task, verdict) = self.judge_input(request.texts()).await?;
        let (id, created) = (format!("{id_prefix}{}", random()?), now());
        let conversation = self.continuations.conversation(caller.map(KeyedClient::place), &request);
        let session = match conversation.session.upgrade().filter(|session| self.sessions.borrow().takes(session)) {
            Some(session) => session,
            None => self.session(&id, None).await?,
        };
        let mut question = AnswerJob {
            id: id.clone(),
            governor: sources::governor(&session, place, &request.sources).await?,
            session,
            request,
            task,
            note: verdict.note,
            client: self.limits.client(),
            limit: self.limits.whole() + self.limits.client(),
            mode,
            input_rules: if mode == AnswerMode::Observed { verdict.rules.clone() } else { Vec::new() },
            signed: self.is_signed(),
            proof: self.evidence.proof(),
            conversation,
            owner: owner(caller.map(KeyedClient::place)),
        };
        for _ in 0..ATTEMPTS {
            let (send, outputs) = mpsc::channel(OUTPUTS);
            let mut answer = GatedAnswer::new(question.clone(), send);
            let opened = if verdict.rules.is_empty() || mode == AnswerMode::Observed {
                answer.begin().await.map(|()| Some(answer))
            } else {
                // The refusal is recorded even if the client disconnects.
                let refusal = tokio::spawn(answer.refuse(verdict.rules.join(", ")));
                refusal.await.unwrap_or(Err(StreamOpenError::Full)).map(|_| None)
            };
            let answer = match opened {
                Ok(Some(answer)) => answer,
                Ok(None) => return Err(ApiError::input_refused(&verdict.rules)),
                Err(StreamOpenError::Full) => return Err(ApiError::unavailable("the card has no room for a stream")),
                Err(StreamOpenError::Closed) => {
                    // The session was about to end, so the request goes to another card or to the next session.
                    let session = self.session(&question.id, Some(&question.session)).await?;
                    let governor = sources::governor(&session, place, &question.request.sources).await;
                    question = AnswerJob { governor: governor?, session, ..question };
                    continue;
                }
            };
            let upstream = model.upstream.clone();
            let chat = trace.chat(operation, &model.name, &upstream, &question.request);
            let (service, caller) = (Arc::clone(self), caller.map(KeyedClient::place));
            let session = Arc::clone(&question.session);
            let written = tokio::spawn(async move {
                let _room = room;
                let mut ended = answer.write(&upstream).await;
                if let Some(failure) = ended.failure.take() {
                    let drained = |stream: &StreamReport| is_drained(stream.stopped.as_deref());
                    let is_drained = failure.code == GATE_FAILED && ended.provenance.streams.iter().any(drained);
                    ended.failure = Some(if is_drained { ApiError::shutting_down() } else { failure });
                }
                for (turn, state) in ended.states.drain(..) {
                    service.continuations.keep(turn, state, &session);
                }
                service.keep_receipt(caller, &session, &ended.provenance);
                log_end(&ended);
                chat.end(&ended);
                ended
            });
            return Ok(RunningAnswer { id, created, outputs, written });
        }
        Err(ApiError::unavailable("no session of the card took the request"))
    }
}

impl GatewayService {
    /// Whether text is sent only after its record is signed.
    pub(crate) fn is_signed(&self) -> bool {
        self.evidence.release == ReleaseCondition::Signed
    }

    /// Notes the streams of an answer, so that its receiver can request their proofs.
    pub(crate) fn keep_receipt(&self, caller: Option<usize>, session: &OpenSession, answer: &AnswerProvenance) {
        if let Some(proofs) = session.proofs.clone() {
            let streams = answer.streams.iter().map(|stream| stream.stream).collect();
            self.receipts.keep(answer.answer.clone(), HeldAnswer { caller, proofs, streams });
        }
    }
}

/// Logs the end of an answer, with counts and codes.
fn log_end(AnswerEnd { provenance, failure, .. }: &AnswerEnd) {
    let sum = |of: fn(&StreamReport) -> u64| provenance.streams.iter().map(of).sum::<u64>();
    let (admitted, rejected) = (sum(|stream| stream.admitted), sum(|stream| stream.rejected));
    let failure = failure.as_ref().map(|failure| failure.code);
    let stopped = provenance.streams.iter().find_map(|stream| stream.stopped.as_deref());
    let AnswerProvenance { answer, session, .. } = provenance;
    tracing::info!(answer, session, admitted, rejected, failure, stopped, "answered");
}

/// The key in a request: `Authorization: Bearer KEY` or `x-api-key`.
pub(crate) fn bearer_or_key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
    });
    bearer.or_else(|| text(header::HeaderName::from_static("x-api-key")))
}

/// Sixteen random bytes from the operating system, for an id.
pub(crate) fn random() -> Result<String, ApiError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| ApiError::gate("the operating system gives no randomness"))?;
    Ok(hex::encode(&bytes))
}
