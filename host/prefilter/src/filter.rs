//! The filter: every evaluator judges its own copy of the input, and the most severe verdict counts.

use crate::evaluator::{HALT_BUDGET, PrefilterEvaluator, builtin, halt};
use crate::policy::{FilterPolicy, FilterPolicyError};
use crate::process::Child;
use crate::report::{EvaluatorFinding, EvaluatorVerdict, FilterReport, commitment};
use crate::route::{InputRoute, InputRouter};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// How the evaluators are isolated from each other. The isolation does not change the verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EvaluatorIsolation {
    /// The evaluators run one after another on the caller's thread, each with its own copy of the bytes. An evaluator
    /// that does not return blocks the caller; a late result is a fault.
    #[default]
    Turn,
    /// Each evaluator runs in its own thread. A late evaluator's thread is abandoned.
    Thread,
    /// Each evaluator runs in its own process. A late evaluator's process is killed. The command is `program` with
    /// `arguments` and then the evaluator's name; it must run [`crate::serve_evaluator`].
    Process {
        program: PathBuf,
        /// Arguments before the evaluator's name.
        arguments: Vec<String>,
    },
}

/// The evaluators under a policy. The filter is stateless: judgements do not depend on earlier inputs.
#[derive(Debug)]
pub struct InputPrefilter {
    policy: FilterPolicy,
    evaluators: Vec<Arc<PrefilterEvaluator>>,
    isolation: EvaluatorIsolation,
    digest: [u8; 32],
}

impl InputPrefilter {
    /// The filter with the built-in evaluators that the policy enables. Errors: [`FilterPolicyError`]: the policy names
    /// an unknown evaluator or rule.
    pub fn new(policy: FilterPolicy) -> Result<Self, FilterPolicyError> {
        Self::of(policy, builtin()?)
    }

    /// A filter with only the given evaluators; if there are none, it refuses every input. Errors: as
    /// [`InputPrefilter::new`].
    pub fn of(policy: FilterPolicy, evaluators: Vec<PrefilterEvaluator>) -> Result<Self, FilterPolicyError> {
        let names = evaluators.iter().map(PrefilterEvaluator::name).collect::<BTreeSet<_>>();
        let rules = evaluators.iter().flat_map(|e| e.rules().rules()).map(|r| r.id.as_str()).collect();
        policy.check(&names, &rules)?;
        let enabled = evaluators.into_iter().filter(|e| policy.enables(e.name()));
        let evaluators = enabled
            .map(|e| Arc::new(e.with_rules(|r| r.with_tiers(policy.tiers()).with_quoted(policy.quoted()))))
            .collect::<Vec<_>>();
        let mut hash = Sha256::new().chain_update(b"portcullis/prefilter/rules/1\0");
        // Names, tiers and numbers can always be serialised.
        hash.update(serde_json::to_vec(&policy).unwrap_or_default());
        for evaluator in &evaluators {
            hash.update(evaluator.name().as_bytes());
            hash.update(evaluator.rules().digest());
        }
        Ok(Self { policy, evaluators, isolation: EvaluatorIsolation::default(), digest: hash.finalize().into() })
    }

    #[must_use]
    pub fn isolated(mut self, isolation: EvaluatorIsolation) -> Self {
        self.isolation = isolation;
        self
    }

    #[must_use]
    pub const fn policy(&self) -> &FilterPolicy {
        &self.policy
    }

    /// The enabled evaluators.
    pub fn evaluators(&self) -> impl Iterator<Item = &PrefilterEvaluator> {
        self.evaluators.iter().map(AsRef::as_ref)
    }

    /// SHA-256 over the policy and the rules in force.
    #[must_use]
    pub const fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Judges an input, and routes it.
    #[must_use]
    pub fn route(&self, bytes: &[u8]) -> InputRoute {
        let budget = self.policy.budget();
        let verdicts = if bytes.len() > budget.bytes {
            self.evaluators.iter().map(|e| over(e, bytes.len())).collect()
        } else {
            match &self.isolation {
                EvaluatorIsolation::Turn => self.evaluators.iter().map(|e| self.in_turn(e, bytes)).collect(),
                EvaluatorIsolation::Thread => self.on_threads(bytes),
                EvaluatorIsolation::Process { program, arguments } => {
                    // All processes are started before the first wait.
                    let child = |e: &Arc<PrefilterEvaluator>| {
                        let name = e.name().to_owned();
                        (name, Child::start(program, arguments, e.name(), &self.policy, bytes))
                    };
                    let children: Vec<_> = self.evaluators.iter().map(child).collect();
                    let verdict = |(name, child): (String, _)| verdict_of(&name, bytes.len(), Child::finish(child));
                    children.into_iter().map(verdict).collect()
                }
            }
        };
        let policy = &self.policy;
        let input = commitment(bytes);
        let report = FilterReport::new(policy.name(), policy.threshold(), self.digest, input, bytes.len(), verdicts);
        InputRouter::route(report, input)
    }

    /// Judges an input, and returns only the report.
    #[must_use]
    pub fn report(&self, bytes: &[u8]) -> FilterReport {
        match self.route(bytes) {
            InputRoute::Executive(pass) => pass.into_report(),
            InputRoute::NonExecutive(report) => report,
        }
    }

    fn in_turn(&self, evaluator: &PrefilterEvaluator, bytes: &[u8]) -> EvaluatorVerdict {
        let started = Instant::now();
        let finding = evaluator.judge_caught(bytes.into(), self.policy.budget());
        // A late result counts as a fault and not as a verdict, because time does not only depend on the input.
        let finding = finding.filter(|_| started.elapsed() <= self.policy.deadline());
        verdict_of(evaluator.name(), bytes.len(), finding)
    }

    fn on_threads(&self, bytes: &[u8]) -> Vec<EvaluatorVerdict> {
        let ends = Instant::now() + self.policy.deadline();
        let budget = self.policy.budget();
        let start = |evaluator: &Arc<PrefilterEvaluator>| {
            let (sender, receiver) = mpsc::sync_channel(1);
            let (own, copy) = (Arc::clone(evaluator), bytes.into());
            let spawned = std::thread::Builder::new().spawn(move || {
                // If the evaluator is late, the receiver no longer exists, and the error is ignored.
                let _ = sender.send(own.judge_caught(copy, budget));
            });
            (evaluator.name().to_owned(), spawned.is_ok().then_some(receiver))
        };
        let running: Vec<_> = self.evaluators.iter().map(start).collect();
        let verdict = |(name, receiver): (String, Option<mpsc::Receiver<Option<EvaluatorFinding>>>)| {
            let left = ends.saturating_duration_since(Instant::now());
            let finding = receiver.and_then(|r| r.recv_timeout(left).ok()).flatten();
            verdict_of(&name, bytes.len(), finding)
        };
        running.into_iter().map(verdict).collect()
    }
}

fn verdict_of(name: &str, bytes: usize, finding: Option<EvaluatorFinding>) -> EvaluatorVerdict {
    finding.map_or_else(|| EvaluatorVerdict::fault(name, bytes), |f| EvaluatorVerdict::of(name, bytes, f))
}

/// The verdict on an input with more bytes than the budget allows; the input is not copied.
fn over(evaluator: &PrefilterEvaluator, bytes: usize) -> EvaluatorVerdict {
    EvaluatorVerdict::of(evaluator.name(), bytes, halt(evaluator.rules(), HALT_BUDGET, 0, bytes, 0))
}
