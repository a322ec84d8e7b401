//! An engine in its own thread, with a deadline for each answer.

use super::{CandidateEngine, EngineError, EngineProposal, EngineView, ProposalRequest};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

enum Ask {
    Propose(ProposalRequest),
    Advance(String),
    RollBack(usize),
}

/// Bounds an engine in time. An engine that misses a deadline or dies is not called again; its thread is abandoned.
pub struct DeadlineEngine {
    name: String,
    asks: Sender<Ask>,
    answers: Receiver<Result<EngineProposal, EngineError>>,
    deadline: Duration,
    failed: Option<EngineError>,
}

impl DeadlineEngine {
    /// Starts a thread for `engine`.
    #[must_use]
    pub fn new(mut engine: Box<dyn CandidateEngine>, deadline: Duration) -> Self {
        let name = engine.name();
        let (asks, asked) = channel();
        let (answer, answers) = channel();
        thread::spawn(move || {
            for ask in asked {
                match ask {
                    Ask::Propose(request) => {
                        if answer.send(request.ask(&mut *engine)).is_err() {
                            return;
                        }
                    }
                    Ask::Advance(admitted) => engine.advance(&admitted),
                    Ask::RollBack(steps) => engine.roll_back(steps),
                }
            }
        });
        Self { name, asks, answers, deadline, failed: None }
    }

    fn ask(&mut self, ask: Ask) {
        if self.asks.send(ask).is_err() {
            self.failed.get_or_insert(EngineError::Gone("its thread has ended".into()));
        }
    }
}

impl CandidateEngine for DeadlineEngine {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn propose(&mut self, view: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
        if self.failed.is_none() {
            self.ask(Ask::Propose(ProposalRequest::new(view, attempt)));
        }
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let error = match self.answers.recv_timeout(self.deadline) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) => {
                EngineError::Deadline { millis: u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX) }
            }
            Err(RecvTimeoutError::Disconnected) => EngineError::Gone("it panicked".into()),
        };
        self.failed = Some(error.clone());
        Err(error)
    }

    fn advance(&mut self, admitted: &str) {
        self.ask(Ask::Advance(admitted.to_owned()));
    }

    fn roll_back(&mut self, steps: usize) {
        self.ask(Ask::RollBack(steps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Odd(u32);

    impl CandidateEngine for Odd {
        fn name(&self) -> String {
            "odd".into()
        }

        fn propose(&mut self, _: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
            match self.0 {
                0 => thread::sleep(Duration::from_secs(3600)),
                1 => std::panic::resume_unwind(Box::new("gone")),
                _ => {}
            }
            Ok(if attempt == 0 { EngineProposal::End } else { EngineProposal::Exhausted })
        }

        fn advance(&mut self, _: &str) {}

        fn roll_back(&mut self, _: usize) {}
    }

    #[test]
    fn an_engine_that_hangs_or_dies_is_given_up_for_good() {
        let view = EngineView { intent: "", facts: &[], admitted: "" };
        let of = |kind| {
            let mut engine = DeadlineEngine::new(Box::new(Odd(kind)), Duration::from_millis(200));
            [engine.propose(&view, 0), engine.propose(&view, 1)]
        };
        assert_eq!(of(2), [Ok(EngineProposal::End), Ok(EngineProposal::Exhausted)]);
        let late = Err(EngineError::Deadline { millis: 200 });
        assert_eq!(of(0), [late.clone(), late]);
        assert!(of(1).iter().all(|r| matches!(r, Err(EngineError::Gone(_)))));
    }
}
