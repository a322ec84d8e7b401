//! The policy of the filter: a threshold, the enabled evaluators, and replaced tiers of some rules.

use crate::evaluator::{EvaluatorBudget, INTAKE};
use crate::tier::SeverityTier;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The built-in profiles.
const PROFILES: &str = include_str!("../rules/profiles.toml");
/// Default time limit of an evaluator.
const DEADLINE_MS: u64 = 2000;

#[derive(Debug, thiserror::Error)]
pub enum FilterPolicyError {
    #[error("there is no profile `{name}`; there are {known}")]
    Profile { name: String, known: String },
    #[error(transparent)]
    Settings(#[from] portcullis_settings::SettingsError),
    #[error("the pre-execution policy: {0}")]
    Read(String),
    #[error("there is no rule `{0}`; `portcullis prefilter rules list` names them")]
    Rule(String),
    #[error("there is no evaluator `{name}`; there are {known}")]
    Evaluator { name: String, known: String },
    #[error("no evaluator is enabled; name at least one, or leave `evaluators` out")]
    Nothing,
    /// The built-in rules are invalid, which is a defect of the program.
    #[error(transparent)]
    Rules(#[from] crate::rules::RuleError),
}

/// The settings of a profile, or of a file that changes some of them. Every field is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Layer {
    threshold: Option<SeverityTier>,
    evaluators: Option<BTreeSet<String>>,
    #[serde(default)]
    tiers: BTreeMap<String, SeverityTier>,
    quoted: Option<SeverityTier>,
    bytes: Option<usize>,
    steps_per_byte: Option<u64>,
    deadline_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilterPolicy {
    profile: String,
    threshold: SeverityTier,
    /// The enabled evaluators; `None` enables all.
    evaluators: Option<BTreeSet<String>>,
    tiers: BTreeMap<String, SeverityTier>,
    /// The most severe tier that a quoted order can have; `None` if quoted orders are treated as other orders.
    quoted: Option<SeverityTier>,
    bytes: usize,
    steps_per_byte: u64,
    /// Time limit of an evaluator. It is not part of the policy's digest.
    #[serde(skip)]
    deadline: Duration,
}

impl FilterPolicy {
    /// The profile with this name: `user-prompt`, `document` or `tool-result`. Errors: [`FilterPolicyError::Profile`].
    pub fn profile(name: &str) -> Result<Self, FilterPolicyError> {
        let mut profiles = profiles()?;
        let known = profiles.keys().cloned().collect::<Vec<_>>().join(", ");
        let layer = profiles.remove(name).ok_or(FilterPolicyError::Profile { name: name.to_owned(), known })?;
        let budget = EvaluatorBudget::default();
        let base = Self {
            profile: name.to_owned(),
            threshold: SeverityTier::Notice,
            evaluators: None,
            tiers: BTreeMap::new(),
            quoted: None,
            bytes: budget.bytes,
            steps_per_byte: budget.steps_per_byte,
            deadline: Duration::from_millis(DEADLINE_MS),
        };
        Ok(base.under(layer))
    }

    /// The names of the profiles. Errors: the built-in data file is invalid, which is a defect.
    pub fn profiles() -> Result<Vec<String>, FilterPolicyError> {
        Ok(profiles()?.into_keys().collect())
    }

    /// Applies the settings of a file (TOML: `threshold`, `evaluators`, `[tiers]`, `bytes`, `steps-per-byte`,
    /// `deadline-ms`). `file` is its name, for errors only.
    pub fn with_file(self, file: &str, text: &str) -> Result<Self, FilterPolicyError> {
        let layer: Layer = portcullis_settings::parse(file, text)?;
        if layer.quoted.is_some() {
            return Err(FilterPolicyError::Read("`quoted` belongs to a profile".into()));
        }
        Ok(self.under(layer))
    }

    /// Sets the threshold: the most severe tier whose inputs may be executed. `Critical` inputs are never executed.
    #[must_use]
    pub const fn with_threshold(mut self, threshold: SeverityTier) -> Self {
        self.threshold = threshold;
        self
    }

    #[must_use]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    fn under(self, layer: Layer) -> Self {
        let mut tiers = self.tiers;
        tiers.extend(layer.tiers);
        Self {
            profile: self.profile,
            threshold: layer.threshold.unwrap_or(self.threshold),
            evaluators: layer.evaluators.or(self.evaluators),
            tiers,
            quoted: layer.quoted.or(self.quoted),
            bytes: layer.bytes.unwrap_or(self.bytes),
            steps_per_byte: layer.steps_per_byte.unwrap_or(self.steps_per_byte),
            deadline: layer.deadline_ms.map_or(self.deadline, Duration::from_millis),
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.profile
    }

    /// The most severe tier whose inputs may be executed.
    #[must_use]
    pub const fn threshold(&self) -> SeverityTier {
        self.threshold
    }

    /// The tiers that replace the rules' own tiers, by rule.
    #[must_use]
    pub const fn tiers(&self) -> &BTreeMap<String, SeverityTier> {
        &self.tiers
    }

    /// The most severe tier that a quoted order can have; `None` if quoted orders are treated as other orders.
    #[must_use]
    pub const fn quoted(&self) -> Option<SeverityTier> {
        self.quoted
    }

    pub(crate) const fn deadline(&self) -> Duration {
        self.deadline
    }

    pub(crate) const fn budget(&self) -> EvaluatorBudget {
        EvaluatorBudget { bytes: self.bytes, steps_per_byte: self.steps_per_byte }
    }

    pub(crate) fn enables(&self, evaluator: &str) -> bool {
        evaluator == INTAKE || self.evaluators.as_ref().is_none_or(|e| e.contains(evaluator))
    }

    pub(crate) fn check(&self, evaluators: &BTreeSet<&str>, rules: &BTreeSet<&str>) -> Result<(), FilterPolicyError> {
        if let Some(unknown) = self.tiers.keys().find(|id| !rules.contains(id.as_str())) {
            return Err(FilterPolicyError::Rule(unknown.clone()));
        }
        let Some(enabled) = &self.evaluators else { return Ok(()) };
        if let Some(name) = enabled.iter().find(|name| !evaluators.contains(name.as_str())) {
            let known = evaluators.iter().copied().collect::<Vec<_>>().join(", ");
            return Err(FilterPolicyError::Evaluator { name: name.clone(), known });
        }
        if enabled.iter().all(|name| name == INTAKE) {
            return Err(FilterPolicyError::Nothing);
        }
        Ok(())
    }
}

fn profiles() -> Result<BTreeMap<String, Layer>, FilterPolicyError> {
    toml::from_str(PROFILES).map_err(|e| FilterPolicyError::Read(e.to_string()))
}
