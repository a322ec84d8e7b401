//! Compares the compiled rows with `cedar-policy`.
//!
//! Check 1: both banks pass if and only if Cedar answers Allow for the whole policy set.
//!
//! Check 2: each bank is also a policy set of its own (the entropy bank with a permit-all). Cedar names the determining
//! rules of that set, and the bank must answer accordingly. It must reject if there are forbids with outcome reject,
//! otherwise decompose if there are other forbids, otherwise pass if there are permits, and otherwise give the default
//! reject. Of the rules that decide so, the bank must name the one with the smallest id. This rule must also be
//! determining in the whole set if it is a forbid, or if both banks pass.
//!
//! Cedar must not report an error, because it skips a rule that fails at run time, even a forbid.

use crate::compile::CompiledPackage;
use crate::context::{ContextConversionError, ContextConverter};
use crate::error::{PolicyPackageError, PolicyProblem};
use crate::package::PolicyPackage;
use cedar_policy::{Authorizer, Decision, Entities, Policy, PolicyId, PolicySet, Request};
use portcullis_core::wire::{Descriptor, RowKind};
use portcullis_image::{BankAnswers, BankKind, BankOutcome, TableBankAnswer};
use std::collections::BTreeSet;
use std::fmt;

/// Id of the policy that permits everything, in the policy set of the entropy bank.
const PERMIT_ALL: &str = "permit-all";

/// A compiled package and its Cedar policies.
#[derive(Debug)]
pub struct CedarOracle<'a> {
    package: &'a PolicyPackage,
    compiled: &'a CompiledPackage,
    authorizer: Authorizer,
    whole: PolicySet,
    policy: PolicySet,
    entropy: PolicySet,
}

/// A difference between rows and Cedar: a defect of the compiler or of the evaluator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OracleDisagreementError {
    /// The descriptor cannot be converted into a request.
    #[error(transparent)]
    Context(#[from] ContextConversionError),
    #[error("cedar failed at run time: {0}")]
    Cedar(String),
    #[error("the banks {}, cedar answers {cedar} by {determining}", if *.pass { "pass" } else { "do not pass" })]
    Decision { pass: bool, cedar: String, determining: String },
    #[error("the {} bank answers {found}, cedar {expected} of {determining}", bank.name())]
    Rule {
        bank: BankKind,
        found: String,
        /// The outcome and the rule that follow from Cedar's determining rules.
        expected: String,
        determining: String,
    },
}

impl<'a> CedarOracle<'a> {
    /// The oracle of `package` with its compiled form. Errors: those of [`PolicyPackage::compile`] that concern
    /// parsing.
    pub fn new(package: &'a PolicyPackage, compiled: &'a CompiledPackage) -> Result<Self, PolicyPackageError> {
        let whole = package.cedar_policies()?;
        let fault =
            |error: &dyn fmt::Display| PolicyProblem::new(crate::error::PolicyProblemKind::Syntax, error.to_string());
        let of_bank = |bank: BankKind| {
            let wanted = |policy: &&Policy| compiled.rule(policy.id().as_ref()).is_some_and(|rule| rule.bank == bank);
            PolicySet::from_policies(whole.policies().filter(wanted).cloned()).map_err(|error| fault(&error))
        };
        let (policy, mut entropy) = (of_bank(BankKind::Policy)?, of_bank(BankKind::Entropy)?);
        let permit = Policy::parse(Some(PolicyId::new(PERMIT_ALL)), "permit (principal, action, resource);");
        entropy.add(permit.map_err(|error| fault(&error))?).map_err(|error| fault(&error))?;
        Ok(Self { package, compiled, authorizer: Authorizer::new(), whole, policy, entropy })
    }

    /// Compares `banks` with Cedar's decision about `descriptor`. Errors: the first disagreement.
    pub fn check(&self, descriptor: &Descriptor, banks: &BankAnswers) -> Result<(), OracleDisagreementError> {
        let request = ContextConverter::new(self.package.vocabulary()).request(descriptor)?;
        let (decision, determining) = self.ask(&self.whole, &request)?;
        let pass = banks.policy.outcome == BankOutcome::Pass && banks.entropy.outcome == BankOutcome::Pass;
        if pass != (decision == Decision::Allow) {
            let (cedar, determining) = (format!("{decision:?}"), format!("{determining:?}"));
            return Err(OracleDisagreementError::Decision { pass, cedar, determining });
        }
        for (bank, answer) in [(BankKind::Policy, banks.policy), (BankKind::Entropy, banks.entropy)] {
            self.check_bank(bank, answer, &request)?;
            let rule = answer.row.and_then(|row| self.compiled.rule_of_row(bank, row));
            let in_whole = answer.outcome != BankOutcome::Pass || pass;
            if let Some(rule) = rule.filter(|rule| in_whole && !determining.contains(&rule.id)) {
                let (found, determining) = (format!("{:?} by {}", answer.outcome, rule.id), format!("{determining:?}"));
                return Err(OracleDisagreementError::Rule {
                    bank,
                    found,
                    expected: "a rule of the whole set".into(),
                    determining,
                });
            }
        }
        Ok(())
    }

    /// Compares one bank's answer with Cedar's decision by this bank's rules alone. Errors: the disagreement.
    pub fn check_bank(
        &self,
        bank: BankKind,
        answer: TableBankAnswer,
        request: &Request,
    ) -> Result<(), OracleDisagreementError> {
        let set = match bank {
            BankKind::Policy => &self.policy,
            BankKind::Entropy => &self.entropy,
        };
        let (decision, determining) = self.ask(set, request)?;
        let smallest = |kind: RowKind| {
            let of_kind = |id: &&String| self.compiled.rule(id).is_some_and(|rule| rule.kind == kind);
            determining.iter().find(of_kind).map(String::as_str)
        };
        let named = answer.row.map(|row| self.compiled.rule_of_row(bank, row).map_or(PERMIT_ALL, |rule| &rule.id));
        let permit_all = determining.contains(PERMIT_ALL).then_some(PERMIT_ALL);
        let expected = match decision {
            Decision::Allow => (BankOutcome::Pass, smallest(RowKind::Permit).or(permit_all)),
            Decision::Deny => match (smallest(RowKind::ForbidReject), smallest(RowKind::ForbidDecompose)) {
                (None, Some(id)) => (BankOutcome::Decompose, Some(id)),
                (reject, _) => (BankOutcome::Reject, reject),
            },
        };
        // Only the default deny has no determining rule.
        let complete = expected.1.is_some() != determining.is_empty();
        if complete && (answer.outcome, named) == expected {
            return Ok(());
        }
        Err(OracleDisagreementError::Rule {
            bank,
            found: format!("{:?} by {named:?}", answer.outcome),
            expected: format!("{:?} by {:?}", expected.0, expected.1),
            determining: format!("{determining:?}"),
        })
    }

    fn ask(&self, set: &PolicySet, request: &Request) -> Result<(Decision, BTreeSet<String>), OracleDisagreementError> {
        let response = self.authorizer.is_authorized(request, set, &Entities::empty());
        let errors: Vec<_> = response.diagnostics().errors().map(ToString::to_string).collect();
        if !errors.is_empty() {
            return Err(OracleDisagreementError::Cedar(errors.join("; ")));
        }
        Ok((response.decision(), response.diagnostics().reason().map(ToString::to_string).collect()))
    }
}
