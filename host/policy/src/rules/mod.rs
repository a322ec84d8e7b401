//! Parses Cedar sources into rules with annotations and unique ids.

mod annotations;

use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind, PolicySourceRange};
use crate::sources::{PRELUDE_FILE, cedar_sources};
use annotations::RuleAnnotations;
use cedar_policy_core::ast::{Policy, PolicyID, PolicySet};
use cedar_policy_core::parser::parse_policyset;
use miette::Diagnostic;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use annotations::{extent, first_line, place};

/// A parsed rule. Rules are sorted by id.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) head: RuleAnnotations,
    pub(crate) file: String,
    /// The policy under its `@id`.
    pub(crate) policy: Policy,
}

/// The valid rules of a package's files in bytewise order of their ids, and the problems of the invalid rules.
pub(crate) fn parse(files: &BTreeMap<String, Vec<u8>>) -> (Vec<Parsed>, Vec<PolicyProblem>) {
    let mut problems = Vec::new();
    let mut rules: BTreeMap<String, Parsed> = BTreeMap::new();
    for source in cedar_sources(files) {
        let (file, text) = match source {
            Ok(source) => source,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let set = match parse_policyset(text) {
            Ok(set) => set,
            Err(errors) => {
                let source = Arc::from(text);
                problems.extend(
                    errors.iter().map(|error| syntax(diagnostic(PolicyProblemKind::Syntax, file, &source, error))),
                );
                continue;
            }
        };
        let mut parsed: Vec<&Policy> = set.static_policies().collect();
        parsed.sort_by_key(|policy| policy.loc().map(cedar_policy_core::parser::Loc::start));
        for template in set.templates() {
            let mut problem = PolicyProblem::new(PolicyProblemKind::Construct, "a template has no comparator row")
                .help("write a rule for each case: templates are not linked");
            if let Some(loc) = template.loc() {
                problem = problem.at(place(file, loc), "a slot makes this a template");
            }
            problems.push(problem);
        }
        for policy in parsed {
            let head = match annotations::read(file, policy) {
                Ok(head) => head,
                Err(found) => {
                    problems.extend(found);
                    continue;
                }
            };
            let policy = policy.new_id(PolicyID::from_string(&head.id));
            if let Some(first) = rules.get(&head.id) {
                problems.push(twice(first, file, &policy));
                continue;
            }
            rules.insert(head.id.clone(), Parsed { head, file: file.into(), policy });
        }
    }
    (rules.into_values().collect(), problems)
}

fn twice(first: &Parsed, file: &str, policy: &Policy) -> PolicyProblem {
    let earlier = first_line(&first.file, &first.policy).map_or_else(|| first.file.clone(), |place| place.to_string());
    let whose = if first.file == PRELUDE_FILE { "the prelude, which every package includes," } else { "another rule" };
    let problem =
        PolicyProblem::new(PolicyProblemKind::Annotation, format!("{whose} has this id already, at {earlier}"))
            .in_rule(&first.head.id)
            .help("give each rule an id of its own");
    match first_line(file, policy) {
        Some(place) => problem.at(place, "second rule of this id"),
        None => problem,
    }
}

pub(crate) fn policy_set(rules: &[Parsed]) -> Result<PolicySet, PolicyPackageError> {
    let policies = rules.iter().map(|rule| rule.policy.clone());
    PolicySet::try_from_iter(policies)
        .map_err(|error| PolicyProblem::new(PolicyProblemKind::Syntax, error.to_string()).into())
}

/// Rewrites a syntax problem if Cedar's message does not show the cause: a number with a fraction.
fn syntax(problem: PolicyProblem) -> PolicyProblem {
    let Some(place) = problem.place().cloned() else { return problem };
    let (before, after) = place.source.split_at_checked(place.offset).unwrap_or_default();
    let digit = |c: char| c.is_ascii_digit();
    if !before.strip_suffix('.').is_some_and(|before| before.ends_with(digit)) || !after.starts_with(digit) {
        return problem;
    }
    let whole = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let end = place.offset + after.len() - after.trim_start_matches(digit).len();
    let help = "counts and quantities are whole numbers; other fractions are decimals: `context.novelty.greaterThan(decimal(\"0.5\"))`";
    PolicyProblem::new(PolicyProblemKind::Syntax, "a number with a fraction")
        .at(PolicySourceRange { offset: whole, length: end - whole, ..place }, "not a number of Cedar")
        .help(help)
}

/// Converts a report of Cedar into a problem at the first place that the report labels.
pub(crate) fn diagnostic(
    kind: PolicyProblemKind,
    file: &str,
    source: &Arc<str>,
    from: &dyn Diagnostic,
) -> PolicyProblem {
    let mut message = from.to_string();
    // The problem already names the rule, so the message need not.
    if let Some(rest) = message.strip_prefix("for policy `").and_then(|rest| rest.split_once("`, ")) {
        message = rest.1.to_owned();
    }
    let mut problem = PolicyProblem::new(kind, message);
    if let Some(label) = from.labels().and_then(|mut labels| labels.next()) {
        let place = PolicySourceRange {
            file: file.into(),
            source: Arc::clone(source),
            offset: label.offset(),
            length: label.len(),
        };
        problem = problem.at(place, label.label().unwrap_or("here"));
    }
    match from.help() {
        Some(help) => problem.help(help.to_string()),
        None => problem,
    }
}
