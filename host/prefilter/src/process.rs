//! An evaluator in its own process, without shared memory.
//!
//! The parent starts the program and writes the policy as one JSON line, then the input, to its standard input. It
//! closes that pipe, and reads one JSON object, an [`EvaluatorFinding`], from the standard output. Every other
//! behaviour of the program is a fault.

use crate::evaluator::{EvaluatorBudget, PrefilterEvaluator, builtin};
use crate::policy::FilterPolicy;
use crate::report::EvaluatorFinding;
use crate::tier::SeverityTier;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

/// Longest answer in bytes.
const ANSWER_MAX: u64 = 4 << 20;
/// Longest first line in bytes.
const HEAD_MAX: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EvaluatorRequestHead {
    tiers: BTreeMap<String, SeverityTier>,
    quoted: Option<SeverityTier>,
    bytes: usize,
    steps_per_byte: u64,
}

pub(crate) struct Child {
    process: std::process::Child,
    answer: mpsc::Receiver<Option<EvaluatorFinding>>,
    ends: Instant,
}

impl Child {
    /// Starts an evaluator on an input; `None` if that fails.
    pub(crate) fn start(
        program: &Path,
        arguments: &[String],
        evaluator: &str,
        policy: &FilterPolicy,
        bytes: &[u8],
    ) -> Option<Self> {
        let ends = Instant::now() + policy.deadline();
        let mut command = Command::new(program);
        command.args(arguments).arg(evaluator).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().ok()?;
        let (mut to, from) = (process.stdin.take()?, process.stdout.take()?);
        let EvaluatorBudget { bytes: most, steps_per_byte } = policy.budget();
        let (tiers, quoted) = (policy.tiers().clone(), policy.quoted());
        let mut message =
            serde_json::to_vec(&EvaluatorRequestHead { tiers, quoted, bytes: most, steps_per_byte }).ok()?;
        message.push(b'\n');
        message.extend_from_slice(bytes);
        let (sender, answer) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            // If the child does not read its input, it is killed at the deadline, which also ends this thread.
            let told = to.write_all(&message);
            drop(to);
            let _ = sender.send(told.ok().and_then(|()| read(from)));
        });
        Some(Self { process, answer, ends })
    }

    /// Waits for the finding until the deadline, then kills the process.
    pub(crate) fn finish(child: Option<Self>) -> Option<EvaluatorFinding> {
        let mut child = child?;
        let left = child.ends.saturating_duration_since(Instant::now());
        let finding = child.answer.recv_timeout(left).ok().flatten();
        // The process is killed whether or not it has answered.
        let _ = child.process.kill();
        let _ = child.process.wait();
        finding
    }
}

fn read(from: impl Read) -> Option<EvaluatorFinding> {
    let mut answer = Vec::new();
    from.take(ANSWER_MAX).read_to_end(&mut answer).ok()?;
    serde_json::from_slice(&answer).ok()
}

/// Serves one evaluator: reads a policy and an input, writes a finding. A program that isolates evaluators in processes
/// calls this function in a hidden command. Errors: the evaluator is unknown, the input is incomplete, or the evaluator
/// panics; in these cases nothing is written.
pub fn serve(name: &str, mut from: impl BufRead, mut to: impl Write) -> io::Result<()> {
    let mut head = Vec::new();
    (&mut from).take(HEAD_MAX).read_until(b'\n', &mut head)?;
    let head: EvaluatorRequestHead = serde_json::from_slice(&head)?;
    let evaluators = builtin().map_err(io::Error::other)?;
    let evaluator = evaluators.into_iter().find(|e| e.name() == name);
    let evaluator: PrefilterEvaluator =
        evaluator.ok_or_else(|| io::Error::other(format!("there is no evaluator `{name}`")))?;
    let evaluator = evaluator.with_rules(|r| r.with_tiers(&head.tiers).with_quoted(head.quoted));
    let mut bytes = Vec::new();
    from.take(head.bytes as u64 + 1).read_to_end(&mut bytes)?;
    let budget = EvaluatorBudget { bytes: head.bytes, steps_per_byte: head.steps_per_byte };
    let finding = evaluator.judge_caught(bytes.into_boxed_slice(), budget);
    let finding = finding.ok_or_else(|| io::Error::other("the evaluator panicked"))?;
    serde_json::to_writer(&mut to, &finding)?;
    to.flush()
}
