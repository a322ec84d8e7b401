//! The annotations of a rule: its id, its effect, its bank, and its reason.

use crate::error::{PolicyProblem, PolicyProblemKind, PolicySourceRange, suggestion};
use cedar_policy_core::ast::{AnyId, Effect, Policy};
use cedar_policy_core::parser::Loc;
use portcullis_core::reason::{ValidationReason, generic};
use portcullis_core::wire::RowKind;
use portcullis_image::BankKind;

const KNOWN: [&str; 4] = ["id", "outcome", "stage", "reason"];
/// Largest length of an id, in bytes.
const ID_BYTES: usize = 64;
/// Largest length of a reason, in characters.
const REASON_CHARS: usize = 400;
const ID_HELP: &str = "write `@id(\"SOME-NAME\")` before `permit` or `forbid`: reports and records name the rule by it";

#[derive(Clone, Debug)]
pub(crate) struct RuleAnnotations {
    pub(crate) id: String,
    pub(crate) kind: RowKind,
    pub(crate) bank: BankKind,
    pub(crate) reason: Option<String>,
}

pub(crate) fn place(file: &str, loc: &Loc) -> PolicySourceRange {
    PolicySourceRange {
        file: file.into(),
        source: loc.src.clone(),
        offset: loc.start(),
        length: loc.end() - loc.start(),
    }
}

/// The complete place of a rule in its source.
pub(crate) fn extent(file: &str, policy: &Policy) -> Option<PolicySourceRange> {
    policy.loc().map(|loc| place(file, loc))
}

/// First line of a rule, for messages about the whole rule.
pub(crate) fn first_line(file: &str, policy: &Policy) -> Option<PolicySourceRange> {
    let mut whole = extent(file, policy)?;
    let text = whole.source.get(whole.offset..whole.offset + whole.length)?;
    whole.length = text.lines().next().map_or(0, str::len);
    Some(whole)
}

pub(crate) fn read(file: &str, policy: &Policy) -> Result<RuleAnnotations, Vec<PolicyProblem>> {
    let mut reader = AnnotationReader { file, policy, id: None, problems: Vec::new() };
    reader.id = reader.value("id");
    for (name, _) in policy.annotations() {
        let name: &str = name.as_ref();
        if !KNOWN.contains(&name) {
            let help = suggestion(name, KNOWN);
            reader.problem(Some(name), format!("unknown annotation `@{name}`"), help);
        }
    }
    let id = reader.id();
    let permits = policy.effect() == Effect::Permit;
    let outcome = reader.choice("outcome", &["reject", "decompose"]);
    let stage = reader.choice("stage", &["policy", "entropy"]);
    if permits && outcome.is_some() {
        reader.problem(
            Some("outcome"),
            "`@outcome` on a permit".into(),
            "only a forbid has an outcome: leave it out".into(),
        );
    }
    if permits && stage == Some("entropy") {
        let help = "the entropy bank permits whatever its forbids let through: write the bound as a forbid";
        reader.problem(Some("stage"), "`@stage(\"entropy\")` on a permit".into(), help.into());
    }
    let reason = reader.value("reason");
    if let Some(reason) = &reason
        && (reason.is_empty() || reason.chars().count() > REASON_CHARS || reason.contains(char::is_control))
    {
        let help = format!("a reason is one line of 1 to {REASON_CHARS} characters");
        reader.problem(Some("reason"), "`@reason` cannot be printed".into(), help);
    }
    match id {
        Some(id) if reader.problems.is_empty() => Ok(RuleAnnotations {
            id,
            kind: match (permits, outcome) {
                (true, _) => RowKind::Permit,
                (false, Some("decompose")) => RowKind::ForbidDecompose,
                (false, _) => RowKind::ForbidReject,
            },
            bank: if stage == Some("entropy") { BankKind::Entropy } else { BankKind::Policy },
            reason,
        }),
        _ => Err(reader.problems),
    }
}

struct AnnotationReader<'a> {
    file: &'a str,
    policy: &'a Policy,
    id: Option<String>,
    problems: Vec<PolicyProblem>,
}

impl AnnotationReader<'_> {
    fn value(&self, name: &str) -> Option<String> {
        self.policy
            .annotations()
            .find(|(key, _)| AsRef::<str>::as_ref(*key) == name)
            .map(|(_, value)| value.val.to_string())
    }

    fn choice(&mut self, name: &str, allowed: &[&'static str]) -> Option<&'static str> {
        let value = self.value(name)?;
        let chosen = allowed.iter().copied().find(|choice| *choice == value);
        if chosen.is_none() {
            let choices: Vec<_> = allowed.iter().map(|choice| format!("`@{name}(\"{choice}\")`")).collect();
            let help = format!("write {}", choices.join(" or "));
            self.problem(Some(name), format!("`@{name}(\"{}\")` says nothing", value.escape_debug()), help);
        }
        chosen
    }

    fn id(&mut self) -> Option<String> {
        let Some(id) = self.id.clone() else {
            self.problem(None, "a rule without `@id`".into(), ID_HELP.into());
            return None;
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if id.is_empty() || id.len() > ID_BYTES || !id.chars().all(plain) {
            let help = format!("an id is 1 to {ID_BYTES} ASCII letters, digits, `_`, `-` and `.`");
            self.problem(Some("id"), format!("`@id(\"{}\")` is not an id", id.escape_debug()), help);
        }
        let generic = [generic::DEFAULT_DENY, generic::DEPTH_LIMIT, generic::INVALID_UTF8, generic::FAULT];
        if generic.contains(&id.as_str()) || ValidationReason::ALL.iter().any(|reason| reason.id() == id) {
            let help = "the gate itself gives refusals this name: choose another";
            self.problem(Some("id"), format!("`@id(\"{id}\")` is reserved"), help.into());
        }
        Some(id)
    }

    fn problem(&mut self, annotation: Option<&str>, message: String, help: String) {
        let annotation = annotation.and_then(|name| {
            self.policy.annotations().find(|(key, _): &(&AnyId, _)| AsRef::<str>::as_ref(*key) == name)
        });
        let at = annotation
            .and_then(|(_, value)| value.loc.as_ref())
            .map(|loc| place(self.file, loc))
            .or_else(|| first_line(self.file, self.policy));
        let mut problem = PolicyProblem::new(PolicyProblemKind::Annotation, message).help(help);
        if let Some(id) = &self.id {
            problem = problem.in_rule(id);
        }
        if let Some(at) = at {
            problem = problem.at(at, "here");
        }
        self.problems.push(problem);
    }
}
