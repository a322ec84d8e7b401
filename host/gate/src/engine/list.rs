//! An engine that proposes recorded candidates: steps, each with its alternatives.

use super::{CandidateEngine, EngineError, EngineProposal, EngineView};
use crate::candidate::AnswerCandidate;

/// An engine that proposes the candidates of a list.
#[derive(Clone, Debug)]
pub struct ListEngine {
    steps: Vec<Vec<AnswerCandidate>>,
    at: usize,
}

impl ListEngine {
    /// Steps in order, each with its alternatives in order.
    #[must_use]
    pub const fn new(steps: Vec<Vec<AnswerCandidate>>) -> Self {
        Self { steps, at: 0 }
    }
}

impl CandidateEngine for ListEngine {
    fn name(&self) -> String {
        "recorded".into()
    }

    fn propose(&mut self, _view: &EngineView<'_>, attempt: u32) -> Result<EngineProposal, EngineError> {
        let Some(step) = self.steps.get(self.at) else { return Ok(EngineProposal::End) };
        let alternative = usize::try_from(attempt).ok().and_then(|a| step.get(a));
        Ok(alternative.map_or(EngineProposal::Exhausted, |c| EngineProposal::Candidate(c.clone())))
    }

    fn advance(&mut self, _admitted: &str) {
        self.at += 1;
    }

    fn roll_back(&mut self, steps: usize) {
        self.at = self.at.saturating_sub(steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_end_and_the_way_back() {
        let candidate = |t: &str| AnswerCandidate { text: t.into(), logprobs: None, logprobs_absent: None, call: None };
        let mut engine = ListEngine::new(vec![vec![candidate("a"), candidate("b")], vec![candidate("c")]]);
        let view = EngineView { intent: "", facts: &[], admitted: "" };
        assert_eq!(engine.propose(&view, 1), Ok(EngineProposal::Candidate(candidate("b"))));
        assert_eq!(engine.propose(&view, 2), Ok(EngineProposal::Exhausted));
        engine.advance("b");
        assert_eq!(engine.propose(&view, 0), Ok(EngineProposal::Candidate(candidate("c"))));
        engine.advance("c");
        assert_eq!(engine.propose(&view, 0), Ok(EngineProposal::End));
        engine.roll_back(2);
        assert_eq!(engine.propose(&view, 0), Ok(EngineProposal::Candidate(candidate("a"))));
    }
}
