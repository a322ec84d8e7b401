//! Runs the sessions of each card in a thread of its own, one after the other.

use crate::clock::now;
use crate::config::{EvidenceSettings, ReleaseCondition, SessionRotation};
use crate::metrics::GatewayMetrics;
use crate::placement::SessionStates;
use crate::receipts::SessionProofs;
use crate::session_state::{OpenSession, SessionState};
use portcullis_card::{CardSession, CardTransport, SessionConfig, SessionError};
use portcullis_core::wire::Fault;
use portcullis_evidence::note::CLOCK_SKEW;
use portcullis_evidence::ticket::SessionTicket;
use portcullis_gate::{
    CheckpointSchedule, InboxBounds, SaltKey, SaltKeyError, SessionHandle, SessionLoop, StreamEvent, StreamEventKind,
    StreamGovernor,
};
use portcullis_recorder::{FinishedBundle, ProofBook, RecorderError, SessionRecorder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

pub struct SessionParts {
    pub card: Box<dyn CardTransport>,
    pub config: SessionConfig,
    /// Writes the bundle, if there is one.
    pub recorder: Option<SessionRecorder>,
    /// Name of the session and of its bundle.
    pub name: String,
    /// A governor for each model, in the order of the configuration.
    pub governors: Vec<Arc<StreamGovernor>>,
}

/// Opens a card and the bundle of a session with a new salt key. The card's thread calls it.
pub type Opener = Box<dyn FnMut(SaltKey) -> Result<SessionParts, SessionFailure> + Send>;

/// Why no more sessions follow.
#[derive(Debug, thiserror::Error)]
pub enum SessionFailure {
    #[error(transparent)]
    Card(#[from] SessionError),
    #[error("the card reports {}", .0.name())]
    Fault(Fault),
    #[error(transparent)]
    Recorder(#[from] RecorderError),
    /// The ticket's end is too near, or the clocks of this machine and of the issuer differ.
    #[error(
        "ticket {serial} ends in {left} s, and a session with `rotation.drain_ms` needs more than {needed} s: its issuer \
         gives it up with `portcullis ticket abandon --serial {serial}`; then ask for tickets of more hours, or compare \
         the clocks of both machines"
    )]
    TicketEnds { serial: u64, left: u64, needed: u64 },
    /// The operating system provided no salt key.
    #[error(transparent)]
    Salt(#[from] SaltKeyError),
    /// The opener failed, with this message.
    #[error("{0}")]
    Open(String),
    /// The thread panicked: a defect of this program.
    #[error("the session's thread panicked")]
    Panicked,
}

/// The sessions of a gateway's cards.
pub struct GatewaySessions {
    states: Arc<watch::Sender<SessionStates>>,
    metrics: Arc<GatewayMetrics>,
    /// Set when no session may follow the open ones.
    stop: Arc<AtomicBool>,
    rotation: SessionRotation,
    evidence: EvidenceSettings,
    /// In the order of the cards.
    cards: Vec<CardSessions>,
}

/// The sessions of a card.
struct CardSessions {
    board: Arc<CardThreadState>,
    /// Opens the sessions; taken by the thread.
    opener: Option<Opener>,
    /// Runs the sessions, once they are started.
    thread: Option<JoinHandle<Result<(), SessionFailure>>>,
}

/// State that the thread of a card shares with callers.
struct CardThreadState {
    /// Index of the card.
    card: usize,
    /// The states of all cards; this thread changes the state of its card only.
    states: Arc<watch::Sender<SessionStates>>,
    running: Mutex<RunningSession>,
    /// The time from which on no session has accepted streams; `None` if a session accepts them.
    closed: Mutex<Option<Instant>>,
    metrics: Arc<GatewayMetrics>,
}

/// What the thread of a card runs.
#[derive(Default)]
struct RunningSession {
    /// The running session, even if it accepts no more streams.
    session: Option<SessionHandle>,
    /// A drain that was requested while a session was being opened: its time, and the reason.
    drain: Option<(Duration, &'static str)>,
}

/// End reason for streams when a session ends, whether or not another session follows.
const ROTATION: &str = "the session is being shut down";
/// End reason for streams when the next session has other policies.
const POLICY_CHANGE: &str = "policy_change";

/// Whether a stream that stopped for this reason ended because the gateway ended its session, and not by a fault.
pub(crate) fn is_drained(stopped: Option<&str>) -> bool {
    stopped.is_some_and(|why| [ROTATION, POLICY_CHANGE].iter().any(|drain| why.ends_with(drain)))
}

impl CardThreadState {
    /// Makes the running session refuse new streams at once, and end its open streams within `drain` with this reason.
    /// A session that is being opened ends as soon as it is open.
    fn drain(&self, drain: Duration, why: &'static str) {
        let mut running = self.running();
        let Some(session) = &running.session else {
            running.drain = Some((drain, why));
            return;
        };
        let was_open = self.change(SessionState::Between, |state| matches!(state, SessionState::Open(_)));
        if was_open {
            self.closed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
        }
        session.shut_down_for(drain, why);
    }

    /// Makes a session the running one. It accepts streams, unless a drain was requested while it was being opened.
    fn open(&self, session: OpenSession) {
        let mut running = self.running();
        running.session = Some(session.handle.clone());
        match running.drain.take() {
            Some((drain, why)) => session.handle.shut_down_for(drain, why),
            None => self.set(SessionState::Open(Arc::new(session))),
        }
    }

    fn running(&self) -> MutexGuard<'_, RunningSession> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the state of the card, whatever it was.
    fn set(&self, state: SessionState) {
        self.change(state, |_| true);
    }

    /// Sets the state of the card if the state until now satisfies `from`. Returns whether it does.
    fn change(&self, to: SessionState, from: impl FnOnce(&SessionState) -> bool) -> bool {
        self.states.send_if_modified(|states| match states.of_mut(self.card) {
            Some(state) if from(state) => {
                *state = to;
                true
            }
            _ => false,
        })
    }
}

/// Requests the end of open sessions.
#[derive(Clone)]
pub struct RotationRequest {
    boards: Vec<Arc<CardThreadState>>,
    drain: Duration,
}

impl GatewaySessions {
    /// The sessions of the cards, of which each has an opener. None is open before [`GatewaySessions::start`].
    #[must_use]
    pub fn new(openers: Vec<Opener>, rotation: &SessionRotation, evidence: &EvidenceSettings) -> Self {
        let states = Arc::new(watch::Sender::new(SessionStates::between(openers.len())));
        let metrics = Arc::new(GatewayMetrics::new(openers.len()));
        let card = |(card, opener)| {
            let (states, metrics) = (Arc::clone(&states), Arc::clone(&metrics));
            let board = CardThreadState { card, states, running: Mutex::default(), closed: Mutex::default(), metrics };
            CardSessions { board: Arc::new(board), opener: Some(opener), thread: None }
        };
        let cards = openers.into_iter().enumerate().map(card).collect();
        let (rotation, evidence, stop) = (rotation.clone(), evidence.clone(), Arc::default());
        Self { states, metrics, stop, rotation, evidence, cards }
    }

    /// Starts a thread for each card, which opens its sessions. If a card is lost, its thread ends, and the sessions of
    /// the other cards continue. A second call has no effect.
    ///
    /// # Errors
    /// A thread could not be started.
    pub fn start(&mut self) -> std::io::Result<()> {
        for (card, sessions) in self.cards.iter_mut().enumerate() {
            let Some(open) = sessions.opener.take() else { continue };
            let (shared, stop) = (Arc::clone(&sessions.board), Arc::clone(&self.stop));
            let (rotation, evidence) = (self.rotation.clone(), self.evidence.clone());
            let run = move || {
                let run = AssertUnwindSafe(|| run_sessions(open, &rotation, &evidence, &shared, &stop));
                let ran = catch_unwind(run).unwrap_or(Err(SessionFailure::Panicked));
                if let Err(failure) = &ran {
                    tracing::error!(card, %failure, "the card takes no more streams");
                }
                shared.set(SessionState::Over);
                ran
            };
            sessions.thread = Some(std::thread::Builder::new().name(format!("card {card}")).spawn(run)?);
        }
        Ok(())
    }

    /// The states of the cards' sessions, and their changes.
    #[must_use]
    pub fn states(&self) -> watch::Receiver<SessionStates> {
        self.states.subscribe()
    }

    /// Counters of the gateway.
    #[must_use]
    pub fn metrics(&self) -> Arc<GatewayMetrics> {
        Arc::clone(&self.metrics)
    }

    /// A handle to request rotations of all cards.
    #[must_use]
    pub fn rotation(&self, drain: Duration) -> RotationRequest {
        RotationRequest { boards: self.cards.iter().map(|card| Arc::clone(&card.board)).collect(), drain }
    }

    /// For each card, a handle to request its rotations.
    pub(crate) fn rotations(&self, drain: Duration) -> impl Iterator<Item = RotationRequest> {
        self.cards.iter().map(move |card| RotationRequest { boards: vec![Arc::clone(&card.board)], drain })
    }

    /// Ends the open sessions within `drain`; no sessions follow.
    pub fn drain(&self, drain: Duration) {
        self.stop.store(true, Ordering::SeqCst);
        self.cards.iter().for_each(|card| card.board.drain(drain, ROTATION));
    }

    /// Ends the open sessions within `drain`, and waits until their bundles are finished. Blocks.
    ///
    /// # Errors
    /// Why a session ended by itself; if there are several, that of the first card.
    pub fn stop(self, drain: Duration) -> Result<(), SessionFailure> {
        // A session that is just opening either stops because of the flag, or is drained in a later iteration.
        while self.cards.iter().filter_map(|card| card.thread.as_ref()).any(|thread| !thread.is_finished()) {
            self.drain(drain);
            std::thread::sleep(Duration::from_millis(5));
        }
        let threads = self.cards.into_iter().filter_map(|card| card.thread);
        let ended = threads.map(|thread| thread.join().unwrap_or(Err(SessionFailure::Panicked)));
        // All threads are joined before the first failure is returned.
        ended.collect::<Vec<_>>().into_iter().collect()
    }
}

impl RotationRequest {
    /// Ends the open sessions; the next ones follow.
    pub fn ask(&self) {
        self.boards.iter().for_each(|board| board.drain(self.drain, ROTATION));
    }

    /// Like [`RotationRequest::ask`], for new policies: streams that the rotation ends report `policy_change`.
    pub fn ask_for_policy_change(&self) {
        self.boards.iter().for_each(|board| board.drain(self.drain, POLICY_CHANGE));
    }
}

fn run_sessions(
    mut open: Opener,
    rotation: &SessionRotation,
    evidence: &EvidenceSettings,
    board: &Arc<CardThreadState>,
    stop: &AtomicBool,
) -> Result<(), SessionFailure> {
    while !stop.load(Ordering::SeqCst) {
        // The opener uses the policies of now. Only a drain that is requested from here on concerns its session.
        board.running().drain = None;
        let parts = match open(SaltKey::random()?) {
            // Whoever ends the service also ends the wait for a ticket.
            Err(SessionFailure::Recorder(RecorderError::Ended)) => return Ok(()),
            opened => opened?,
        };
        let name = parts.name.clone();
        let ran = run_session(parts, rotation, evidence, board);
        board.running().session = None;
        board.set(SessionState::Between);
        board.metrics.session_over(board.card);
        tracing::info!(card = board.card, session = name, whole = ran.is_ok(), "session ended");
        ran?;
        if !stop.load(Ordering::SeqCst) {
            board.metrics.rotated();
        }
    }
    Ok(())
}

/// A session is over at least this long before its ticket: the clock of the witness can be ahead by this much.
const MARGIN: Duration = Duration::from_secs(CLOCK_SKEW);

/// A ticket must be valid for longer than this at the opening of a session.
#[must_use]
pub fn needed_validity(rotation: &SessionRotation) -> Duration {
    MARGIN + Duration::from_millis(rotation.drain_ms)
}

/// When the session of a ticket must begin to end. Errors: the ticket ends too soon for a session.
fn end_of(recorder: &SessionRecorder, rotation: &SessionRotation) -> Result<Instant, SessionFailure> {
    let ticket = SessionTicket::parse(&recorder.session_files().ticket).map_err(RecorderError::from)?.content;
    let left = Duration::from_secs(ticket.not_after.saturating_sub(now()));
    let needed = needed_validity(rotation);
    match left.checked_sub(needed) {
        Some(open) if !open.is_zero() => Ok(Instant::now() + open.min(MAX_SESSION)),
        _ => Err(SessionFailure::TicketEnds { serial: ticket.serial, left: left.as_secs(), needed: needed.as_secs() }),
    }
}

/// Longer than any session; an [`Instant`] this far ahead exists.
const MAX_SESSION: Duration = Duration::from_secs(10 * 366 * 86_400);

/// Runs one session, from OPEN until its bundle is finished.
fn run_session(
    SessionParts { card, mut config, mut recorder, name, governors }: SessionParts,
    rotation: &SessionRotation,
    evidence: &EvidenceSettings,
    board: &Arc<CardThreadState>,
) -> Result<(), SessionFailure> {
    let Some(image) = governors.first().map(|governor| governor.policy().compiled.image.clone()) else {
        return Err(SessionFailure::Open("no model is configured".into()));
    };
    let ends = match recorder.as_ref().map(|recorder| end_of(recorder, rotation)).transpose() {
        Ok(ends) => ends,
        Err(why) => {
            // The card has signed nothing, so this removes the folder. The configuration holds the recorder's sink.
            drop(config);
            recorder.map(SessionRecorder::finish).transpose()?;
            return Err(why);
        }
    };
    let proofs = recorder.as_ref().map(|recorder| {
        let (say, changed) = watch::channel(());
        let (metrics, card) = (Arc::clone(&board.metrics), board.card);
        let signed = move || {
            metrics.checkpoint(card);
            say.send_modify(|()| {});
        };
        let book = ProofBook::new(recorder.session_files().clone(), evidence.answers, signed);
        config.sink = book.sink(std::mem::replace(&mut config.sink, Box::new(())));
        SessionProofs { book, changed }
    });
    let book = proofs.as_ref().map(|proofs| Arc::clone(&proofs.book));
    let session_name = name.clone();
    let governed = CardSession::open(card, &image, config).map_err(SessionFailure::from).and_then(|mut session| {
        let slots = usize::try_from(session.info().max_streams).unwrap_or(usize::MAX);
        let settle = match evidence.release {
            ReleaseCondition::Admitted => {
                CheckpointSchedule { every: Duration::from_millis(evidence.checkpoint_ms), each_record: false }
            }
            ReleaseCondition::Signed => CheckpointSchedule { every: Duration::ZERO, each_record: true },
        };
        let settle = Some(settle).filter(|_| recorder.is_some());
        let session_loop = SessionLoop::new(InboxBounds { waiting: slots, settle, ..InboxBounds::default() });
        let handle = session_loop.handle();
        let mut meter = SessionSizeMeter::new(rotation, Arc::clone(board));
        let closed = board.closed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let gap = closed.map(|closed| closed.elapsed());
        tracing::info!(
            card = board.card,
            session = name,
            gap_ms = gap.and_then(|gap| u64::try_from(gap.as_millis()).ok()),
            "session opened"
        );
        let metrics = Arc::clone(&board.metrics);
        metrics.session_opened(board.card, &name, session.info());
        let open = OpenSession { name, governors, ends, handle, proofs, metrics };
        board.open(open);
        let ran = session_loop.run(&mut session, |event| -> Result<(), SessionFailure> {
            if let Some(recorder) = &mut recorder {
                recorder.event(event)?;
            }
            if let Some(book) = &book {
                book.event(event);
            }
            meter.count(event);
            board.metrics.event(board.card, event);
            Ok(())
        });
        // Callers that still hold the old state get an error when they open a stream.
        board.set(SessionState::Between);
        let closed = session.close()?;
        match closed.cause {
            Fault::None => ran,
            fault => ran.and(Err(SessionFailure::Fault(fault))),
        }
    });
    if let Some(book) = book {
        book.close();
    }
    let finished = recorder.map(SessionRecorder::finish).transpose();
    if let Ok(Some(Some(FinishedBundle { unreported: Some(unreported), .. }))) = &finished {
        tracing::warn!(session = session_name, unreported, "the end of the session is not reported");
    }
    governed.and(finished.map(|_| ()).map_err(SessionFailure::from))
}

/// Ends a session when it reaches its size limits.
struct SessionSizeMeter {
    records: u64,
    bytes: u64,
    drain: Duration,
    board: Arc<CardThreadState>,
    asked: bool,
}

impl SessionSizeMeter {
    fn new(rotation: &SessionRotation, board: Arc<CardThreadState>) -> Self {
        let bound = |most: u64| if most == 0 { u64::MAX } else { most };
        let drain = Duration::from_millis(rotation.drain_ms);
        Self { records: bound(rotation.records), bytes: bound(rotation.bytes), drain, board, asked: false }
    }

    fn count(&mut self, event: &StreamEvent) {
        if let StreamEventKind::Determined(judged) = &event.what {
            self.records = self.records.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(judged.text.len() as u64);
        }
        if !self.asked && (self.records == 0 || self.bytes == 0) {
            self.asked = true;
            self.board.drain(self.drain, ROTATION);
        }
    }
}
