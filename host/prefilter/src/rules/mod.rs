//! The rules of one evaluator, which are read, checked and compiled once.

mod clause;
mod file;
mod lexicon;
mod passage;
mod quotation;
mod structure;
mod words;

pub use file::FilterRule;
pub(crate) use file::{FormMeasure, RuleFile};

use crate::report::FilterViolation;
use crate::tier::SeverityTier;
use lexicon::FamilyLexicon;
use quotation::Quotations;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use structure::Structures;

/// Why a rule file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error("the rules of `{evaluator}`: {problem}")]
    Read { evaluator: String, problem: String },
    #[error("`{name}` in the rules of `{evaluator}`: {problem}")]
    Rule { evaluator: String, name: String, problem: String },
}

/// The compiled rules of one evaluator. They do not change during a judgement.
#[derive(Debug)]
pub struct RuleSet {
    evaluator: String,
    rules: Vec<FilterRule>,
    lexicon: FamilyLexicon,
    structures: Structures,
    measured: Vec<(usize, FormMeasure, usize)>,
    tiers: Vec<SeverityTier>,
    quotable: bool,
    /// The most severe tier of a finding within a quotation; `None` if quotations make no difference.
    quoted: Option<SeverityTier>,
    digest: [u8; 32],
}

impl RuleSet {
    /// Reads and compiles a rule file (TOML). Errors: [`RuleError`] with the rule's name.
    pub fn parse(evaluator: &str, text: &str) -> Result<Self, RuleError> {
        let read = |problem: String| RuleError::Read { evaluator: evaluator.to_owned(), problem };
        let file: RuleFile = toml::from_str(text).map_err(|e| read(e.to_string()))?;
        let named = |(name, problem)| RuleError::Rule { evaluator: evaluator.to_owned(), name, problem };
        let families = file.families().map_err(named)?;
        let lexicon = FamilyLexicon::new(&file.cues, &families).map_err(read)?;
        let structures = Structures::new(&file, &families).map_err(named)?;
        let measured = (0..).zip(&file.rules).filter_map(|(at, r)| r.measure.map(|m| (at, m, r.at_least))).collect();
        let tiers = file.rules.iter().map(|r| r.tier).collect();
        let digest = Sha256::digest(text.as_bytes()).into();
        let quotable = file.quotable;
        let evaluator = evaluator.to_owned();
        let rules = file.rules;
        Ok(Self { evaluator, rules, lexicon, structures, measured, tiers, quotable, quoted: None, digest })
    }

    /// Limits the tier of findings within quotations. Has no effect on rule files that are not `quotable`.
    #[must_use]
    pub fn with_quoted(mut self, quoted: Option<SeverityTier>) -> Self {
        self.quoted = quoted.filter(|_| self.quotable);
        self
    }

    /// Replaces the tiers of some rules; ids of other evaluators are ignored.
    #[must_use]
    pub fn with_tiers(mut self, tiers: &BTreeMap<String, SeverityTier>) -> Self {
        for (tier, rule) in self.tiers.iter_mut().zip(&self.rules) {
            if let Some(other) = tiers.get(&rule.id) {
                *tier = *other;
            }
        }
        self
    }

    #[must_use]
    pub fn evaluator(&self) -> &str {
        &self.evaluator
    }

    /// The rules as written in the file.
    #[must_use]
    pub fn rules(&self) -> &[FilterRule] {
        &self.rules
    }

    /// The tier of a rule under the current policy.
    #[must_use]
    pub fn tier(&self, id: &str) -> Option<SeverityTier> {
        self.rules.iter().zip(&self.tiers).find(|(r, _)| r.id == id).map(|(_, t)| *t)
    }

    /// SHA-256 of the file.
    #[must_use]
    pub const fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The findings of the rules over cues, the number of steps, and whether `steps_max` was enough.
    pub(crate) fn match_cues(&self, bytes: &[u8], steps_max: u64) -> (Vec<RuleHit>, u64, bool) {
        let quotations = if self.quoted.is_some() { Quotations::of(bytes) } else { Quotations::default() };
        let mut run = self.structures.start(bytes, quotations);
        let (steps, done) = self.lexicon.scan(bytes, steps_max, |hit, steps| run.hit(hit, steps));
        (run.found(), steps, done)
    }

    /// The findings of the rules over measures. `measured` contains the largest value of each measure, and its place.
    pub(crate) fn match_measures(&self, measured: &Measurements) -> Vec<RuleHit> {
        let found = |(rule, measure, least): &(usize, FormMeasure, usize)| {
            let (value, start, end) = measured.get(*measure)?;
            (value >= *least).then_some(RuleHit { rule: *rule, start, end, quoted: false })
        };
        self.measured.iter().filter_map(found).collect()
    }

    /// Violations with their tiers, in the order of the rules.
    pub(crate) fn violations(&self, mut found: Vec<RuleHit>) -> Vec<(SeverityTier, FilterViolation)> {
        found.sort_unstable_by_key(|f| (f.rule, f.start));
        let violation = |f: RuleHit| {
            let (rule, tier) = (self.rules.get(f.rule)?, *self.tiers.get(f.rule)?);
            let tier = self.quoted.filter(|_| f.quoted).map_or(tier, |quoted| tier.min(quoted));
            let evaluator = self.evaluator.clone();
            Some((tier, FilterViolation { id: rule.id.clone(), evaluator, start: f.start, end: f.end }))
        };
        found.into_iter().filter_map(violation).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleHit {
    pub(crate) rule: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) quoted: bool,
}

/// The largest value of each measure, with its byte range.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measurements(Vec<(FormMeasure, usize, usize, usize)>);

impl Measurements {
    /// Records a value if it is the largest of its measure so far; of equal values, the first is kept.
    pub(crate) fn note(&mut self, measure: FormMeasure, value: usize, start: usize, end: usize) {
        if value == 0 {
            return;
        }
        match self.0.iter_mut().find(|(m, ..)| *m == measure) {
            Some(old) if value > old.1 => *old = (measure, value, start, end),
            Some(_) => {}
            None => self.0.push((measure, value, start, end)),
        }
    }

    fn get(&self, measure: FormMeasure) -> Option<(usize, usize, usize)> {
        self.0.iter().find(|(m, ..)| *m == measure).map(|(_, v, s, e)| (*v, *s, *e))
    }
}
