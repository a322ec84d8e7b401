//! Judges the input of a model before the model is asked: every message of every request, under the profile of its
//! speaker.

use crate::request::MessageRole;
use portcullis_core::state::StreamTask;
use portcullis_prefilter::{FilterPolicy, FilterPolicyError, FilterReport, InputPrefilter, STRUCT_UNSPECIFIED};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Verdicts that are cached, since each turn of a conversation repeats the earlier messages.
const KEPT: usize = 4096;
/// Bytes from the end of the conversation that become a stream's task.
const TASK_BYTES: usize = 16 << 10;

/// The filter's report about one text.
#[derive(Clone, Debug)]
struct PromptTextVerdict {
    /// Digest of the report.
    report: [u8; 32],
    /// Rules that refuse the text; empty if it is accepted.
    rules: Arc<[String]>,
}

/// The filters for the kinds of text.
pub(crate) struct PromptFilter {
    user: InputPrefilter,
    document: InputPrefilter,
    tool_result: InputPrefilter,
    /// Verdicts by profile and digest of the text.
    kept: Mutex<BTreeMap<(&'static str, [u8; 32]), PromptTextVerdict>>,
}

/// The filter's report about a request.
pub(crate) struct PromptVerdict {
    /// SHA-256 over the digests of the reports, in the order of the texts. The NOTE records contain it.
    pub(crate) note: [u8; 32],
    /// Rules that refuse the request, without duplicates; empty if the model may be asked.
    pub(crate) rules: Vec<String>,
}

impl PromptFilter {
    /// Loads the filters of the shipped profiles.
    ///
    /// # Errors
    /// [`FilterPolicyError`].
    pub(crate) fn new() -> Result<Self, FilterPolicyError> {
        let filter = |profile| InputPrefilter::new(FilterPolicy::profile(profile)?);
        Ok(Self {
            user: filter("user-prompt")?,
            document: filter("document")?,
            tool_result: filter("tool-result")?,
            kept: Mutex::default(),
        })
    }

    /// Judges the texts of a request, each with its speaker. The time is linear in their length.
    pub(crate) fn judge(&self, texts: &[(MessageRole, String)]) -> PromptVerdict {
        let mut note = Sha256::new().chain_update(b"portcullis/gateway/input/1\0");
        let mut rules = Vec::new();
        for (role, text) in texts {
            let verdict = self.text(*role, text);
            note.update(verdict.report);
            for rule in verdict.rules.iter().filter(|rule| !rules.contains(*rule)).cloned().collect::<Vec<_>>() {
                rules.push(rule);
            }
        }
        PromptVerdict { note: note.finalize().into(), rules }
    }

    fn text(&self, role: MessageRole, text: &str) -> PromptTextVerdict {
        let (profile, filter) = match role {
            MessageRole::System | MessageRole::User => ("user-prompt", &self.user),
            MessageRole::Assistant => ("document", &self.document),
            MessageRole::Tool => ("tool-result", &self.tool_result),
        };
        let name = (profile, <[u8; 32]>::from(Sha256::digest(text)));
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verdict) = kept().get(&name) {
            return verdict.clone();
        }
        let report = filter.report(text.as_bytes());
        let verdict = verdict(&report);
        if report.is_fault() {
            // A fault is not a verdict on the text, so it is not cached.
            return verdict;
        }
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(name, verdict.clone());
        verdict
    }
}

fn verdict(report: &FilterReport) -> PromptTextVerdict {
    let mut rules: Vec<String> = Vec::new();
    if !report.is_executive() {
        for violation in report.violations() {
            if !rules.contains(&violation.id) {
                rules.push(violation.id.clone());
            }
        }
        if rules.is_empty() {
            rules.push(STRUCT_UNSPECIFIED.to_owned());
        }
    }
    PromptTextVerdict { report: report.digest(), rules: rules.into() }
}

/// The task of an answer's streams: the end of the conversation. A text may refer to things in the task, but the task
/// establishes no class, fact or claim.
pub(crate) fn task(texts: &[(MessageRole, String)]) -> StreamTask {
    let texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let whole = texts.join("\n");
    let from = whole.ceil_char_boundary(whole.len().saturating_sub(TASK_BYTES));
    StreamTask { intent: whole.get(from..).unwrap_or_default().to_owned(), facts: Vec::new() }
}
