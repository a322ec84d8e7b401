//! Proofs that an answer was admitted: the proofs of its streams.

use portcullis_evidence::stream_proof::StreamProof;
use portcullis_recorder::{ProofBook, ProofState};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The proofs of one session, up to its last checkpoint.
#[derive(Clone)]
pub struct SessionProofs {
    pub(crate) book: Arc<ProofBook>,
    /// Changes at each checkpoint.
    pub(crate) changed: watch::Receiver<()>,
}

/// Why an answer has no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingProofReason {
    /// No checkpoint covers the end of the answer yet.
    NotYet,
    /// No proof will follow: the session ended first, has no bundle, or has dropped the proof to keep newer ones.
    Never,
}

/// Notifies at each checkpoint until it is dropped.
pub(crate) struct CheckpointNotifier(JoinHandle<()>);

impl Drop for CheckpointNotifier {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl SessionProofs {
    /// Notifies `changed` at every checkpoint.
    pub(crate) fn wake(&self, changed: &Arc<Notify>) -> CheckpointNotifier {
        let (mut came, changed) = (self.changed.clone(), Arc::clone(changed));
        CheckpointNotifier(tokio::spawn(async move {
            while came.changed().await.is_ok() {
                changed.notify_one();
            }
        }))
    }

    /// The proofs of the streams with these numbers; waits until they exist.
    pub(crate) async fn prove(
        &self,
        streams: &[u64],
        within: Duration,
    ) -> Result<Vec<StreamProof>, MissingProofReason> {
        let mut changed = self.changed.clone();
        let proven = async {
            loop {
                changed.mark_unchanged();
                let states = streams.iter().map(|stream| match self.book.proof(*stream) {
                    ProofState::Proven(proof) => Ok(*proof),
                    ProofState::Waiting => Err(MissingProofReason::NotYet),
                    ProofState::Missing => Err(MissingProofReason::Never),
                });
                match states.collect() {
                    Err(MissingProofReason::NotYet) if changed.changed().await.is_ok() => {}
                    // The session has ended, so no more checkpoints follow.
                    Err(MissingProofReason::NotYet) => return Err(MissingProofReason::Never),
                    proven => return proven,
                }
            }
        };
        timeout(within, proven).await.unwrap_or(Err(MissingProofReason::NotYet))
    }
}

/// The recent answers, for later requests of their proofs.
pub(crate) struct ReceiptStore {
    most: usize,
    answers: Mutex<ReceiptTable>,
}

#[derive(Default)]
struct ReceiptTable {
    held: BTreeMap<String, HeldAnswer>,
    /// Ids, the oldest first.
    order: VecDeque<String>,
}

/// An answer whose proofs can be requested.
#[derive(Clone)]
pub(crate) struct HeldAnswer {
    /// Index of the client's key; `None` if no keys are configured.
    pub(crate) caller: Option<usize>,
    pub(crate) proofs: SessionProofs,
    /// Numbers of its streams.
    pub(crate) streams: Vec<u64>,
}

impl ReceiptStore {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, answers: Mutex::default() }
    }

    /// Keeps an answer, and drops the oldest one if there are too many.
    pub(crate) fn keep(&self, id: String, answer: HeldAnswer) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.order.push_back(id.clone());
        answers.held.insert(id, answer);
        while answers.order.len() > self.most {
            if let Some(oldest) = answers.order.pop_front() {
                answers.held.remove(&oldest);
            }
        }
    }

    pub(crate) fn find(&self, id: &str, caller: Option<usize>) -> Option<HeldAnswer> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.held.get(id).filter(|answer| answer.caller == caller).cloned()
    }
}
