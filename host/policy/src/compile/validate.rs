//! Strict validation of the rules against the package's schema, by Cedar.

use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind};
use crate::package::PolicyPackage;
use crate::rules::{Parsed, diagnostic, first_line, policy_set};
use cedar_policy::{Schema, ValidationMode, Validator};
use miette::Diagnostic;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Findings of strict validation: errors first, then warnings, by rule.
#[derive(Default)]
pub(super) struct ValidationProblems {
    pub(super) errors: Vec<PolicyProblem>,
    pub(super) warnings: Vec<PolicyProblem>,
}

impl ValidationProblems {
    /// Ids of the rules with an error.
    pub(super) fn refused(&self) -> BTreeSet<&str> {
        self.errors.iter().filter_map(PolicyProblem::rule).collect()
    }
}

pub(super) fn validate(package: &PolicyPackage, rules: &[Parsed]) -> Result<ValidationProblems, PolicyPackageError> {
    let (schema, warnings) = Schema::from_cedarschema_str(&package.schema())
        .map_err(|error| PolicyProblem::new(PolicyProblemKind::Schema, format!("the generated schema: {error}")))?;
    let mut findings = ValidationProblems::default();
    findings
        .errors
        .extend(warnings.map(|w| PolicyProblem::new(PolicyProblemKind::Schema, format!("the generated schema: {w}"))));
    let set = cedar_policy::PolicySet::from(policy_set(rules)?);
    let result = Validator::new(schema).validate(&set, ValidationMode::Strict);
    let of_rule = |id: &cedar_policy::PolicyId, finding: &dyn Diagnostic| {
        let id: &str = id.as_ref();
        let rule = rules.iter().find(|rule| rule.head.id == id);
        let (file, source) = match rule {
            Some(rule) => (rule.file.as_str(), rule.policy.loc().map(|loc| Arc::clone(&loc.src))),
            None => ("", None),
        };
        let mut problem =
            diagnostic(PolicyProblemKind::Validation, file, &source.unwrap_or_default(), finding).in_rule(id);
        if problem.place().is_none()
            && let Some(place) = rule.and_then(|rule| first_line(&rule.file, &rule.policy))
        {
            problem = problem.at(place, "in this rule");
        }
        problem
    };
    findings.errors.extend(result.validation_errors().map(|error| {
        with_remedy(of_rule(error.policy_id(), error), "`policy.cedarschema` says what each field and action is")
    }));
    findings.warnings.extend(result.validation_warnings().map(|warning| {
        let remedy = "a rule that cannot apply protects nothing: correct it or take it out";
        with_remedy(of_rule(warning.policy_id(), warning), remedy)
    }));
    let key = |problem: &PolicyProblem| {
        let place = problem.place().map(|place| (place.file.clone(), place.offset));
        (place, problem.to_string())
    };
    findings.errors.sort_by_key(key);
    findings.warnings.sort_by_key(key);
    // Cedar validates once per action, in any order; the messages for one rule differ only in the name of the action.
    // Only the message that is first in text order is kept.
    for found in [&mut findings.errors, &mut findings.warnings] {
        found.dedup_by(|a, b| a.place().is_some() && a.place() == b.place() && a.rule() == b.rule());
    }
    Ok(findings)
}

fn with_remedy(problem: PolicyProblem, remedy: &str) -> PolicyProblem {
    if problem.remedy().is_some() { problem } else { problem.help(remedy) }
}
