//! The HTTP service: checks callers, judges their requests and sends the answers.

use crate::answer::{Answer, AnswerEnd, OUTPUTS, Question, Unopened};
use crate::config::{AnswerMode, Config, ConfigError, Evidence, Limits, Release};
use crate::continuations::Continuations;
use crate::decide::streams::Streams;
use crate::dialect::{Dialect, Header, now};
use crate::error::{ApiError, GATE_FAILED};
use crate::governed::{GovernedStream, Opening, owner};
use crate::metrics::{CardCounts, Metrics, Queues, note_model};
use crate::output::{Output, Provenance, StreamReport};
use crate::placement::SessionStates;
use crate::prompt::{self, PromptFilter, PromptVerdict};
use crate::receipts::{HeldAnswer, Receipts, Unproven};
use crate::request::{Role, Source};
use crate::session::is_drained;
use crate::session_state::{OpenSession, SessionState};
use crate::sources;
use crate::traces::{RequestTrace, Traces, TracesError};
use crate::upstream::{self, Upstream, UpstreamSettings};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Frame;
use portcullis_core::hex;
use portcullis_core::state::Task;
use portcullis_evidence::stream_proof::StreamProof;
use portcullis_gate::Credit;
use portcullis_prefilter::FilterPolicyError;
use sha2::{Digest, Sha256};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

/// Number of successive sessions in which a request is tried.
const ATTEMPTS: usize = 3;
/// Pieces of an answer that are buffered for the network.
const PIECES: usize = 16;

/// A client with a key.
pub(crate) struct Caller {
    /// Index of the key in the configuration.
    place: usize,
    /// SHA-256 of the key. Comparing digests does not reveal by timing how much of a guess is right.
    key: [u8; 32],
    /// Indices of the client's models in the configuration; empty for all.
    models: Vec<usize>,
    /// Whether the client's requests may supply sources.
    sources: bool,
}

impl Caller {
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
    upstream: Upstream,
    mode: AnswerMode,
}

/// The gateway's service.
pub struct Service {
    models: Vec<ModelEntry>,
    callers: Vec<Caller>,
    filter: PromptFilter,
    limits: Limits,
    evidence: Evidence,
    receipts: Receipts,
    continuations: Continuations,
    sessions: watch::Receiver<SessionStates>,
    room: Arc<Semaphore>,
    started: u64,
    /// Becomes true when the service accepts no more requests.
    draining: watch::Receiver<bool>,
    /// The open streams of the native API.
    decide: Arc<Streams>,
    metrics: Arc<Metrics>,
    traces: Option<Traces>,
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

/// An error response, in its dialect.
pub(crate) struct Refusal(pub(crate) Dialect, pub(crate) ApiError);

impl Service {
    /// A service over these sessions. It stops accepting requests when `draining` becomes true. Must be called inside a
    /// tokio runtime.
    ///
    /// # Errors
    /// [`ServiceError`].
    pub fn new(
        config: &Config,
        sessions: watch::Receiver<SessionStates>,
        draining: watch::Receiver<bool>,
        metrics: Arc<Metrics>,
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
                key: model.upstream_key.as_ref().map(crate::config::Secret::read).transpose()?,
                model: model.upstream_model.clone(),
                strict: model.strict_upstream,
            };
            let client = upstream::client(connect, authorities.as_deref())?;
            let upstream = Upstream::new(client, settings, config.limits.clone());
            models.push(ModelEntry { name: model.name.clone(), upstream, mode: model.mode });
        }
        let place = |name: &String| config.models.iter().position(|model| model.name == *name);
        let caller = |(at, key): (usize, &crate::config::Key)| -> Result<Caller, ConfigError> {
            let models = key.models.iter().filter_map(place).collect();
            Ok(Caller { place: at, key: Sha256::digest(key.secret.read_key()?).into(), models, sources: key.sources })
        };
        Ok(Self {
            models,
            callers: config.keys.iter().enumerate().map(caller).collect::<Result<_, _>>()?,
            decide: Arc::new(Streams::new(&config.limits, config.keys.len())),
            metrics,
            traces: config.traces.as_ref().map(Traces::start).transpose()?,
            filter: PromptFilter::new()?,
            limits: config.limits.clone(),
            evidence: config.evidence.clone(),
            receipts: Receipts::new(config.evidence.answers),
            continuations: Continuations::new(config.limits.turns, config.limits.turns_bytes),
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
    pub(crate) fn models(&self, caller: Option<&Caller>) -> impl Iterator<Item = &str> {
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

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The proofs of the answer of this id, if this caller got it.
    ///
    /// # Errors
    /// There is no such answer or proof.
    pub(crate) async fn proofs(&self, id: &str, caller: Option<&Caller>) -> Result<Vec<StreamProof>, ApiError> {
        let held = self.receipts.find(id, caller.map(Caller::place)).ok_or_else(ApiError::no_answer)?;
        held.proofs.prove(&held.streams, self.evidence.proof()).await.map_err(|why| match why {
            Unproven::NotYet => ApiError::unavailable("no checkpoint covers the answer yet"),
            Unproven::Never => ApiError::unproven(),
        })
    }

    /// Opens a stream, and waits until its BEGIN is recorded. If the session is about to end, another session is used:
    /// of another card, or the next one.
    ///
    /// # Errors
    /// There is no session, or it is full.
    pub(crate) async fn govern(&self, opening: &Opening) -> Result<GovernedStream, ApiError> {
        let mut closed = None;
        for _ in 0..ATTEMPTS {
            let session = self.session(&opening.id, closed.as_ref()).await?;
            let governor = sources::governor(&session, opening.place, &opening.sources).await?;
            let opened = GovernedStream::open(Arc::clone(&session), &governor, opening, self.is_signed())?;
            closed = Some(session);
            let Some(mut stream) = opened else { continue };
            stream.settle(self.limits().client(), true).await?;
            if stream.has_begun() {
                return Ok(stream);
            }
        }
        Err(ApiError::unavailable("no session of the card took the request"))
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) const fn decide(&self) -> &Arc<Streams> {
        &self.decide
    }

    /// The caller with the request's key; `None` if no key is configured.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Option<&Caller>, ApiError> {
        if self.callers.is_empty() {
            return Ok(None);
        }
        let digest: [u8; 32] = Sha256::digest(bearer_or_key(headers).ok_or_else(ApiError::unauthorized)?).into();
        let found = self.callers.iter().find(|caller| caller.key == digest);
        found.map(Some).ok_or_else(ApiError::unauthorized)
    }

    /// Index of a model that this caller may use.
    pub(crate) fn model(&self, caller: Option<&Caller>, name: &str) -> Result<usize, ApiError> {
        let may = |place: &usize| caller.is_none_or(|caller| caller.may_use(*place));
        let named = |wanted: &str| self.models.iter().position(|model| model.name == wanted).filter(may);
        // An exact name has priority over `*`.
        let known = self.models.iter().any(|model| model.name == name);
        named(if known { name } else { "*" }).inspect(|place| note_model(*place)).ok_or_else(ApiError::no_model)
    }

    /// Index of the model with this name, or of the only model that this caller may use.
    pub(crate) fn model_or_only(&self, caller: Option<&Caller>, name: Option<&str>) -> Result<usize, ApiError> {
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
    pub(crate) fn queues(&self) -> Queues {
        let states = self.session_states();
        let (mut session, mut cards) = (Credit::default(), CardCounts::default());
        for state in states.iter() {
            match state {
                SessionState::Open(open) => {
                    let Credit { slots, waiting, entries } = open.handle.credit();
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
        Queues { requests, decide_streams: self.decide.open_streams(), session, cards }
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
    pub(crate) fn check_sources(&self, caller: Option<&Caller>, sources: &[Source]) -> Result<(), ApiError> {
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
        let body = timeout(self.limits.request(), to_bytes(body, self.limits.body_bytes)).await;
        let body = body.map_err(|_| ApiError::invalid("body", "the body did not come in time"))?;
        body.map_err(|_| ApiError::too_large(self.limits.body_bytes))
    }

    /// Takes a place among the concurrent requests.
    pub(crate) fn room(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let room = Arc::clone(&self.room).try_acquire_owned();
        room.map_err(|_| ApiError::unavailable("as many requests are answered as may be"))
    }

    /// Judges texts and their speakers with the pre-execution filter, and makes the task from them.
    pub(crate) async fn judge_input(
        self: &Arc<Self>,
        texts: Vec<(Role, String)>,
    ) -> Result<(Task, PromptVerdict), ApiError> {
        let judging = Arc::clone(self);
        let judged = tokio::task::spawn_blocking(move || (prompt::task(&texts), judging.filter.judge(&texts)));
        let judged = judged.await.map_err(|_| ApiError::gate("the pre-execution filter failed"))?;
        self.metrics.input_refused(&judged.1.rules);
        Ok(judged)
    }

    /// Answers a request in one of the dialects.
    ///
    /// # Errors
    /// The error response.
    pub(crate) async fn answer(
        self: Arc<Self>,
        dialect: Dialect,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response, Refusal> {
        let trace = RequestTrace::begin(self.traces.as_ref(), dialect, headers);
        let answered = self.answer_traced(dialect, headers, body, &trace).await;
        trace.answered(answered.as_ref().map_or_else(|refusal| Err(&refusal.1), |answer| Ok(answer.status())));
        answered
    }

    /// Exports the waiting traces and stops tracing. Blocks for a bounded time.
    pub(crate) fn end_traces(&self) {
        if let Some(traces) = &self.traces {
            traces.end();
        }
    }

    async fn answer_traced(
        self: Arc<Self>,
        dialect: Dialect,
        headers: &HeaderMap,
        body: Body,
        trace: &RequestTrace,
    ) -> Result<Response, Refusal> {
        let refuse = |error| Refusal(dialect, error);
        let caller = self.caller(headers).map_err(refuse)?;
        self.check_running().map_err(refuse)?;
        let body = self.body(body).await.map_err(refuse)?;
        let request = dialect.parse(&body).map_err(refuse)?;
        let place = self.model(caller, &request.model).map_err(refuse)?;
        let Some(model) = self.models.get(place) else { return Err(refuse(ApiError::no_model())) };
        model.upstream.check(&request).map_err(refuse)?;
        let mode = model.mode;
        if mode == AnswerMode::Driven && request.is_json() {
            let why = "this model writes a sentence at a time, and a JSON value is judged whole";
            return Err(refuse(ApiError::invalid("response_format", why)));
        }
        self.check_sources(caller, &request.sources).map_err(refuse)?;
        let room = self.room().map_err(refuse)?;
        let (task, verdict) = self.judge_input(request.texts()).await.map_err(refuse)?;
        let header = Header {
            id: dialect.identity(&random().map_err(refuse)?),
            model: request.model.clone(),
            created: now(),
            include_usage: request.include_usage,
        };
        let stream = request.stream;
        let conversation = self.continuations.conversation(caller.map(Caller::place), &request);
        let session = match conversation.session.upgrade().filter(|session| self.sessions.borrow().takes(session)) {
            Some(session) => session,
            None => self.session(&header.id, None).await.map_err(refuse)?,
        };
        let mut question = Question {
            id: header.id.clone(),
            governor: sources::governor(&session, place, &request.sources).await.map_err(refuse)?,
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
            owner: owner(caller.map(Caller::place)),
        };
        for _ in 0..ATTEMPTS {
            let (send, outputs) = mpsc::channel(OUTPUTS);
            let mut answer = Answer::new(question.clone(), send);
            let opened = if verdict.rules.is_empty() || mode == AnswerMode::Observed {
                answer.begin().await.map(|()| Some(answer))
            } else {
                // The refusal is recorded even if the client disconnects.
                let refusal = tokio::spawn(answer.refuse(verdict.rules.join(", ")));
                refusal.await.unwrap_or(Err(Unopened::Full)).map(|_| None)
            };
            let answer = match opened {
                Ok(Some(answer)) => answer,
                Ok(None) => return Err(refuse(ApiError::input_refused(&verdict.rules))),
                Err(Unopened::Full) => return Err(refuse(ApiError::unavailable("the card has no room for a stream"))),
                Err(Unopened::Closed) => {
                    // The session was about to end, so the request goes to another card or to the next session.
                    let session = self.session(&question.id, Some(&question.session)).await.map_err(refuse)?;
                    let governor = sources::governor(&session, place, &question.request.sources).await;
                    question = Question { governor: governor.map_err(refuse)?, session, ..question };
                    continue;
                }
            };
            let upstream = model.upstream.clone();
            let chat = trace.chat(dialect, &model.name, &upstream, &question.request);
            let (service, caller) = (Arc::clone(&self), caller.map(Caller::place));
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
            let exchange = Exchange { dialect, header, outputs, written, keep_alive: self.limits.keep_alive_ms };
            return if stream { exchange.stream(self.limits.client()).await } else { exchange.whole().await };
        }
        Err(refuse(ApiError::unavailable("no session of the card took the request")))
    }
}

impl Service {
    /// Whether text is sent only after its record is signed.
    pub(crate) fn is_signed(&self) -> bool {
        self.evidence.release == Release::Signed
    }

    /// Notes the streams of an answer, so that its receiver can request their proofs.
    pub(crate) fn keep_receipt(&self, caller: Option<usize>, session: &OpenSession, answer: &Provenance) {
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
    let Provenance { answer, session, .. } = provenance;
    tracing::info!(answer, session, admitted, rejected, failure, stopped, "answered");
}

/// An answer that is being sent to a client.
struct Exchange {
    dialect: Dialect,
    header: Header,
    outputs: mpsc::Receiver<Output>,
    written: JoinHandle<AnswerEnd>,
    /// Milliseconds of silence after which a comment is sent.
    keep_alive: u64,
}

impl Exchange {
    /// Sends the answer as one JSON object.
    async fn whole(mut self) -> Result<Response, Refusal> {
        let mut outputs = Vec::new();
        while let Some(output) = self.outputs.recv().await {
            outputs.push(output);
        }
        let AnswerEnd { usage, provenance, failure, .. } = self.written.await.map_err(|_| broken(self.dialect))?;
        match failure {
            Some(error) => Err(Refusal(self.dialect, error)),
            None => {
                let body = self.dialect.body(&self.header, &outputs, usage, &provenance);
                Ok(json_response(StatusCode::OK, body, &self.header.id))
            }
        }
    }

    /// Sends the answer as a stream of events. The head is sent with the first output, so that an earlier failure can
    /// still set the status.
    async fn stream(mut self, client: Duration) -> Result<Response, Refusal> {
        let silence = Duration::from_millis(self.keep_alive.max(1));
        let first = match timeout(silence, self.outputs.recv()).await {
            Ok(None) => {
                let ended = self.written.await.map_err(|_| broken(self.dialect))?;
                if let Some(error) = ended.failure {
                    return Err(Refusal(self.dialect, error));
                }
                self.written = tokio::spawn(async { ended });
                None
            }
            Ok(first) => first,
            Err(_) => None,
        };
        let id = self.header.id.clone();
        let (pieces, body) = mpsc::channel(PIECES);
        tokio::spawn(self.write_events(first, pieces, silence, client));
        let mut response = Response::new(Body::new(EventBody(Some(body))));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        put_request_id(headers, &id);
        Ok(response)
    }

    async fn write_events(
        mut self,
        first: Option<Output>,
        pieces: mpsc::Sender<Piece>,
        silence: Duration,
        client: Duration,
    ) {
        let mut events = self.dialect.events(self.header.clone());
        let send = async |text: String| {
            text.is_empty() || matches!(timeout(client, pieces.send(Piece::Bytes(text.into()))).await, Ok(Ok(())))
        };
        if !send(events.start()).await {
            return;
        }
        let mut next = first;
        loop {
            if let Some(output) = next.take()
                && !send(events.output(&output)).await
            {
                return;
            }
            tokio::select! {
                () = pieces.closed() => return,
                received = timeout(silence, self.outputs.recv()) => match received {
                    Ok(Some(output)) => next = Some(output),
                    Ok(None) => break,
                    Err(_) => {
                        if !send(":\n\n".into()).await {
                            return;
                        }
                    }
                },
            }
        }
        if let Ok(AnswerEnd { usage, provenance, failure, .. }) = self.written.await {
            let last = match failure {
                Some(error) => events.fail(&error, &provenance),
                None => events.end(usage, &provenance),
            };
            if send(last).await {
                let _ = timeout(client, pieces.send(Piece::End)).await;
            }
        }
    }
}

/// A piece of a streamed answer.
enum Piece {
    Bytes(Bytes),
    /// The answer was written completely.
    End,
}

/// The bytes of a streamed answer. If an answer is incomplete, the connection is aborted, so that the client notices.
struct EventBody(Option<mpsc::Receiver<Piece>>);

/// The error for an incomplete answer.
#[derive(Debug, thiserror::Error)]
#[error("the answer was not written to its end")]
struct CutOff;

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        let Some(pieces) = &mut self.0 else { return Poll::Ready(None) };
        let Poll::Ready(piece) = pieces.poll_recv(cx) else { return Poll::Pending };
        Poll::Ready(match piece {
            Some(Piece::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Piece::End) => {
                self.0 = None;
                None
            }
            None => {
                self.0 = None;
                Some(Err(CutOff))
            }
        })
    }
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

fn broken(dialect: Dialect) -> Refusal {
    Refusal(dialect, ApiError::gate("the gate failed, and releases nothing more of this answer"))
}

fn put_request_id(headers: &mut HeaderMap, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert("x-request-id", id);
    }
}

pub(crate) fn json_response(status: StatusCode, body: String, id: &str) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    put_request_id(headers, id);
    response
}

pub(crate) fn error_response(dialect: Dialect, error: &ApiError) -> Response {
    let mut response = json_response(error.status, dialect.error(error).to_string(), "");
    let headers = response.headers_mut();
    headers.remove("x-request-id");
    if let Some(seconds) = error.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Sixteen random bytes from the operating system, for an id.
pub(crate) fn random() -> Result<String, ApiError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| ApiError::gate("the operating system gives no randomness"))?;
    Ok(hex::encode(&bytes))
}
