//! Runs the card's sessions in their own thread, one after the other.

use crate::config::{Evidence, Release, Rotation};
use crate::metrics::Metrics;
use crate::receipts::SessionProofs;
use portcullis_card::{Card, Session, SessionConfig, SessionError};
use portcullis_core::wire::Fault;
use portcullis_gate::{Bounds, Event, EventKind, Governor, SaltKey, SaltKeyError, SessionHandle, SessionLoop, Settle};
use portcullis_recorder::{FinishedBundle, ProofBook, Recorder, RecorderError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

pub struct SessionParts {
    pub card: Box<dyn Card>,
    pub config: SessionConfig,
    /// Writes the bundle, if there is one.
    pub recorder: Option<Recorder>,
    /// Name of the session and of its bundle.
    pub name: String,
    /// A governor for each model, in the order of the configuration.
    pub governors: Vec<Arc<Governor>>,
}

/// Opens the card and the bundle of a session with a new salt key. The session thread calls it.
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

/// A session that accepts streams.
pub struct OpenSession {
    pub name: String,
    /// A governor for each model, in the order of the configuration.
    pub governors: Vec<Arc<Governor>>,
    /// Opens streams.
    pub handle: SessionHandle,
    /// The proofs of the session's streams, if the session has a bundle.
    pub proofs: Option<SessionProofs>,
    /// Counters of the gateway.
    pub metrics: Arc<Metrics>,
}

/// The state of the sessions, as callers see it.
#[derive(Clone)]
pub enum SessionState {
    /// No session is open; the next one opens soon.
    Between,
    Open(Arc<OpenSession>),
    /// No more sessions follow.
    Over,
}

/// The sessions of a gateway, one after the other.
pub struct Sessions {
    board: Arc<Board>,
    /// Set when no session may follow the open one.
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<(), SessionFailure>>,
}

/// State that the session thread shares with callers.
struct Board {
    state: watch::Sender<SessionState>,
    /// The running session, even if it accepts no more streams.
    running: Mutex<Option<SessionHandle>>,
    /// The time from which on no session has accepted streams; `None` if a session accepts them.
    closed: Mutex<Option<Instant>>,
    metrics: Arc<Metrics>,
}

/// End reason for streams when a session ends, whether or not another session follows.
const ROTATION: &str = "the session is being shut down";
/// End reason for streams when the next session has other policies.
const POLICY_CHANGE: &str = "policy_change";

impl Board {
    /// Makes the running session refuse new streams at once, and end its open streams within `drain` with this reason.
    fn drain(&self, drain: Duration, why: &'static str) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(running) = running {
            self.state.send_if_modified(|state| {
                let is_open = matches!(state, SessionState::Open(_));
                if is_open {
                    *state = SessionState::Between;
                    self.closed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
                }
                is_open
            });
            running.shut_down_for(drain, why);
        }
    }
}

/// Requests the end of the open session.
#[derive(Clone)]
pub struct RotationRequest {
    board: Arc<Board>,
    drain: Duration,
}

impl Sessions {
    /// Starts the session thread.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn start(open: Opener, rotation: Rotation, evidence: Evidence) -> std::io::Result<Self> {
        let state = watch::Sender::new(SessionState::Between);
        let board = Arc::new(Board {
            state,
            running: Mutex::default(),
            closed: Mutex::default(),
            metrics: Arc::new(Metrics::new()),
        });
        let shared = Arc::clone(&board);
        let stop = Arc::new(AtomicBool::new(false));
        let flags = Arc::clone(&stop);
        let run = move || {
            let ran = run_sessions(open, &rotation, &evidence, &shared, &flags);
            shared.state.send_replace(SessionState::Over);
            ran
        };
        let thread = std::thread::Builder::new().name("session".into()).spawn(run)?;
        Ok(Self { board, stop, thread })
    }

    /// The state of the sessions, and its changes.
    #[must_use]
    pub fn state(&self) -> watch::Receiver<SessionState> {
        self.board.state.subscribe()
    }

    /// Counters of the gateway.
    #[must_use]
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.board.metrics)
    }

    /// A handle to request rotations.
    #[must_use]
    pub fn rotation(&self, drain: Duration) -> RotationRequest {
        RotationRequest { board: Arc::clone(&self.board), drain }
    }

    /// Ends the open session within `drain`; no session follows.
    pub fn drain(&self, drain: Duration) {
        self.stop.store(true, Ordering::SeqCst);
        self.board.drain(drain, ROTATION);
    }

    /// Ends the open session within `drain`, and waits until its bundle is finished. Blocks.
    ///
    /// # Errors
    /// Why a session ended by itself.
    pub fn stop(self, drain: Duration) -> Result<(), SessionFailure> {
        // A session that is just opening either stops because of the flag, or is drained in a later iteration.
        while !self.thread.is_finished() {
            self.drain(drain);
            std::thread::sleep(Duration::from_millis(5));
        }
        self.thread.join().unwrap_or(Err(SessionFailure::Panicked))
    }
}

impl RotationRequest {
    /// Ends the open session; the next one follows.
    pub fn ask(&self) {
        self.board.drain(self.drain, ROTATION);
    }

    /// Like [`RotationRequest::ask`], for new policies: streams that the rotation ends report `policy_change`.
    pub fn ask_for_policy_change(&self) {
        self.board.drain(self.drain, POLICY_CHANGE);
    }
}

fn run_sessions(
    mut open: Opener,
    rotation: &Rotation,
    evidence: &Evidence,
    board: &Arc<Board>,
    stop: &AtomicBool,
) -> Result<(), SessionFailure> {
    while !stop.load(Ordering::SeqCst) {
        let parts = open(SaltKey::random()?)?;
        let name = parts.name.clone();
        let ran = run_session(parts, rotation, evidence, board);
        board.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        board.state.send_replace(SessionState::Between);
        board.metrics.session_over();
        tracing::info!(session = name, whole = ran.is_ok(), "session ended");
        ran?;
        if !stop.load(Ordering::SeqCst) {
            board.metrics.rotated();
        }
    }
    Ok(())
}

/// Runs one session, from OPEN until its bundle is finished.
fn run_session(
    SessionParts { card, mut config, mut recorder, name, governors }: SessionParts,
    rotation: &Rotation,
    evidence: &Evidence,
    board: &Arc<Board>,
) -> Result<(), SessionFailure> {
    let Some(image) = governors.first().map(|governor| governor.policy().compiled.image.clone()) else {
        return Err(SessionFailure::Open("no model is configured".into()));
    };
    let proofs = recorder.as_ref().map(|recorder| {
        let (say, changed) = watch::channel(());
        let metrics = Arc::clone(&board.metrics);
        let signed = move || {
            metrics.checkpoint();
            say.send_modify(|()| {});
        };
        let book = ProofBook::new(recorder.session_files().clone(), evidence.answers, signed);
        config.sink = book.sink(std::mem::replace(&mut config.sink, Box::new(())));
        SessionProofs { book, changed }
    });
    let book = proofs.as_ref().map(|proofs| Arc::clone(&proofs.book));
    let session_name = name.clone();
    let governed = Session::open(card, &image, config).map_err(SessionFailure::from).and_then(|mut session| {
        let slots = usize::try_from(session.info().max_streams).unwrap_or(usize::MAX);
        let settle = match evidence.release {
            Release::Admitted => Settle { every: Duration::from_millis(evidence.checkpoint_ms), each_record: false },
            Release::Signed => Settle { every: Duration::ZERO, each_record: true },
        };
        let settle = Some(settle).filter(|_| recorder.is_some());
        let session_loop = SessionLoop::new(Bounds { waiting: slots, settle, ..Bounds::default() });
        let handle = session_loop.handle();
        let mut meter = Meter::new(rotation, Arc::clone(board));
        *board.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle.clone());
        let closed = board.closed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let gap = closed.map(|closed| closed.elapsed());
        tracing::info!(
            session = name,
            gap_ms = gap.and_then(|gap| u64::try_from(gap.as_millis()).ok()),
            "session opened"
        );
        let metrics = Arc::clone(&board.metrics);
        metrics.session_opened(&name, session.info());
        let open = OpenSession { name, governors, handle, proofs, metrics };
        board.state.send_replace(SessionState::Open(Arc::new(open)));
        let ran = session_loop.run(&mut session, |event| -> Result<(), SessionFailure> {
            if let Some(recorder) = &mut recorder {
                recorder.event(event)?;
            }
            if let Some(book) = &book {
                book.event(event);
            }
            meter.count(event);
            board.metrics.event(event);
            Ok(())
        });
        // Callers that still hold the old state get an error when they open a stream.
        board.state.send_replace(SessionState::Between);
        let closed = session.close()?;
        match closed.cause {
            Fault::None => ran,
            fault => ran.and(Err(SessionFailure::Fault(fault))),
        }
    });
    if let Some(book) = book {
        book.close();
    }
    let finished = recorder.map(Recorder::finish).transpose();
    if let Ok(Some(Some(FinishedBundle { unreported: Some(unreported), .. }))) = &finished {
        tracing::warn!(session = session_name, unreported, "the end of the session is not reported");
    }
    governed.and(finished.map(|_| ()).map_err(SessionFailure::from))
}

/// Ends a session when it reaches its size limits.
struct Meter {
    records: u64,
    bytes: u64,
    drain: Duration,
    board: Arc<Board>,
    asked: bool,
}

impl Meter {
    fn new(rotation: &Rotation, board: Arc<Board>) -> Self {
        let bound = |most: u64| if most == 0 { u64::MAX } else { most };
        let drain = Duration::from_millis(rotation.drain_ms);
        Self { records: bound(rotation.records), bytes: bound(rotation.bytes), drain, board, asked: false }
    }

    fn count(&mut self, event: &Event) {
        if let EventKind::Determined(judged) = &event.what {
            self.records = self.records.saturating_sub(1);
            self.bytes = self.bytes.saturating_sub(judged.text.len() as u64);
        }
        if !self.asked && (self.records == 0 || self.bytes == 0) {
            self.asked = true;
            self.board.drain(self.drain, ROTATION);
        }
    }
}
