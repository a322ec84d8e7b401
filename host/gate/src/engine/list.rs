//! An engine that proposes recorded candidates: steps, each with its alternatives.

use super::{Engine, EngineError, Proposal, View};
use crate::candidate::Candidate;

/// An engine that proposes the candidates of a list.
#[derive(Clone, Debug)]
pub struct ListEngine {
    steps: Vec<Vec<Candidate>>,
    at: usize,
}

impl ListEngine {
    /// Steps in order, each with its alternatives in order.
    #[must_use]
    pub const fn new(steps: Vec<Vec<Candidate>>) -> Self {
        Self { steps, at: 0 }
    }
}

impl Engine for ListEngine {
    fn name(&self) -> String {
        "recorded".into()
    }

    fn propose(&mut self, _view: &View<'_>, attempt: u32) -> Result<Proposal, EngineError> {
        let Some(step) = self.steps.get(self.at) else { return Ok(Proposal::End) };
        let alternative = usize::try_from(attempt).ok().and_then(|a| step.get(a));
        Ok(alternative.map_or(Proposal::Exhausted, |c| Proposal::Candidate(c.clone())))
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
        let candidate = |t: &str| Candidate { text: t.into(), logprobs: None, logprobs_absent: None, call: None };
        let mut engine = ListEngine::new(vec![vec![candidate("a"), candidate("b")], vec![candidate("c")]]);
        let view = View { intent: "", facts: &[], admitted: "" };
        assert_eq!(engine.propose(&view, 1), Ok(Proposal::Candidate(candidate("b"))));
        assert_eq!(engine.propose(&view, 2), Ok(Proposal::Exhausted));
        engine.advance("b");
        assert_eq!(engine.propose(&view, 0), Ok(Proposal::Candidate(candidate("c"))));
        engine.advance("c");
        assert_eq!(engine.propose(&view, 0), Ok(Proposal::End));
        engine.roll_back(2);
        assert_eq!(engine.propose(&view, 0), Ok(Proposal::Candidate(candidate("a"))));
    }
}
