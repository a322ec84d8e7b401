//! Compiles a package into rows: parses, validates, lowers and expands its rules, counts the rows, writes the image.

mod analyse;
mod formula;
mod lower;
mod operand;
mod validate;

use crate::cube::rows::{permit_all, to_row};
use crate::cube::{Cube, CubeCondition, Universe, presence_bit};
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind, PolicySourceRange, suggestion};
use crate::package::PolicyPackage;
use crate::rules::{self, Parsed};
use cedar_policy_core::ast::{ActionConstraint, PrincipalOrResourceConstraint};
use formula::{EXPANSION_LIMIT, Formula};
use lower::Lowering;
use portcullis_core::reason::{LineageReason, ValidationReason};
use portcullis_core::wire::{
    EnumerationColumn, IMAGE_MAGIC, ImageHeader, LAYOUT_VERSION, MAP_DIGEST, ROW_NONE, Row, RowKind, SetColumn,
};
use portcullis_image::{BankKind, TableImage};
use std::ops::Range;

pub(crate) use operand::decimal;

/// Row capacity of a card's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCapacity {
    /// Rows of the policy bank.
    pub policy: u16,
    /// Rows of the entropy bank; each image needs one of them for the row permit-all.
    pub entropy: u16,
}

impl Default for RowCapacity {
    fn default() -> Self {
        Self { policy: 256, entropy: 64 }
    }
}

impl RowCapacity {
    /// Rows of `bank`.
    #[must_use]
    pub const fn of(self, bank: BankKind) -> u16 {
        match bank {
            BankKind::Policy => self.policy,
            BankKind::Entropy => self.entropy,
        }
    }
}

/// A rule and its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledRule {
    pub id: String,
    /// The bank that holds the rule's rows.
    pub bank: BankKind,
    /// Permit, forbid with reject, or forbid with decompose.
    pub kind: RowKind,
    pub reason: Option<String>,
    pub place: Option<PolicySourceRange>,
    /// The rule's rows in the bank; empty if the rule can never match.
    pub rows: Range<u16>,
}

impl CompiledRule {
    /// The first line of the rule, for messages about the whole rule.
    #[must_use]
    pub fn first_line(&self) -> Option<PolicySourceRange> {
        let mut place = self.place.clone()?;
        let text = place.source.get(place.offset..place.offset + place.length)?;
        place.length = text.lines().next().map_or(0, str::len);
        Some(place)
    }
}

/// A compiled package.
#[derive(Clone, Debug)]
pub struct CompiledPackage {
    /// The table image; a member of a composition shares it with the other members.
    pub image: TableImage,
    /// Every rule of the package, in bytewise order of the ids.
    pub rules: Vec<CompiledRule>,
    /// Number of the first rule in the image.
    first_rule: u16,
    pub(crate) universe: Universe,
    /// Cubes of each rule, in the order of its rows.
    pub(crate) cubes: Vec<Vec<Cube>>,
}

impl CompiledPackage {
    /// The rule of row `row` of the policy bank.
    #[must_use]
    pub fn rule_of_policy_row(&self, row: u16) -> Option<&CompiledRule> {
        self.rule_of_row(BankKind::Policy, row)
    }

    /// The rule of row `row` of the entropy bank; `None` for the last row, permit-all.
    #[must_use]
    pub fn rule_of_entropy_row(&self, row: u16) -> Option<&CompiledRule> {
        self.rule_of_row(BankKind::Entropy, row)
    }

    /// The rule of row `row` of `bank`.
    #[must_use]
    pub fn rule_of_row(&self, bank: BankKind, row: u16) -> Option<&CompiledRule> {
        let row = self.image.rows(bank).get(usize::from(row))?;
        self.rules.get(usize::from(row.rule.get().checked_sub(self.first_rule)?))
    }

    /// The package's rows of `bank` with their numbers, and the row permit-all. Rows of other members are left out.
    pub fn rows(&self, bank: BankKind) -> impl Iterator<Item = (u16, &Row)> {
        let own = |row: &Row| {
            let rule = row.rule.get().checked_sub(self.first_rule);
            row.rule.get() == ROW_NONE || rule.is_some_and(|rule| usize::from(rule) < self.rules.len())
        };
        (0..).zip(self.image.rows(bank)).filter(move |(_, row)| own(row))
    }

    #[must_use]
    pub fn rule(&self, id: &str) -> Option<&CompiledRule> {
        self.rules.binary_search_by(|rule| rule.id.as_str().cmp(id)).ok().and_then(|at| self.rules.get(at))
    }
}

impl PolicyPackage {
    /// Compiles the package for the default tables. Errors: all problems of all rules, or too many rows.
    pub fn compile(&self) -> Result<CompiledPackage, PolicyPackageError> {
        self.compile_for(RowCapacity::default())
    }

    /// Compiles the package for tables of this size. Errors: as [`PolicyPackage::compile`].
    pub fn compile_for(&self, capacity: RowCapacity) -> Result<CompiledPackage, PolicyPackageError> {
        if self.manifest().membership.is_some() {
            let problem =
                PolicyProblem::new(PolicyProblemKind::Manifest, "a member of a composition has no tables of its own");
            return Err(problem.help("compile the composition").into());
        }
        let expanded = Expanded::new(self, capacity)?;
        let rows = BankKind::ALL.map(|bank| (bank, expanded.rows(bank) + usize::from(bank == BankKind::Entropy)));
        let over = rows.into_iter().filter(|(bank, rows)| *rows > usize::from(capacity.of(*bank)));
        PolicyPackageError::unless_empty(over.map(|(bank, rows)| expanded.overflow(bank, rows, capacity)).collect())?;
        let mut compiled = link(self.manifest().limits.max_depth, self.digest(), vec![expanded])?;
        compiled
            .pop()
            .ok_or_else(|| PolicyProblem::new(PolicyProblemKind::Capacity, "compiler fault, please report it").into())
    }

    /// The rules as a policy set of `cedar-policy`, each under its `@id`. Tests compare the compiled rows with this
    /// set. Errors: those of [`PolicyPackage::compile`] that concern parsing and annotations.
    pub fn cedar_policies(&self) -> Result<cedar_policy::PolicySet, PolicyPackageError> {
        let (parsed, problems) = rules::parse(self.files());
        PolicyPackageError::unless_empty(problems)?;
        Ok(rules::policy_set(&parsed)?.into())
    }
}

/// A package before its image is written: its rules and the cubes of each.
pub(crate) struct Expanded {
    universe: Universe,
    parsed: Vec<Parsed>,
    cubes: Vec<Vec<Cube>>,
}

impl Expanded {
    /// Parses, validates, lowers and expands the rules of `package`. `capacity` is only used in messages.
    pub(crate) fn new(package: &PolicyPackage, capacity: RowCapacity) -> Result<Self, PolicyPackageError> {
        let (parsed, mut problems) = rules::parse(package.files());
        if problems.is_empty() {
            problems.extend(about_the_whole(package, &parsed));
        }
        let (formulas, found) = lower(package, &parsed)?;
        let universe = Universe::new(package.vocabulary());
        let mut cubes = Vec::with_capacity(parsed.len());
        for (rule, formula) in parsed.iter().zip(&formulas) {
            // A rule with a problem counts as zero rows.
            let refused = found.iter().any(|problem| problem.rule() == Some(&rule.head.id));
            let rows = if refused { Ok(Vec::new()) } else { formula.cubes(&universe) };
            cubes.push(rows.unwrap_or_else(|formula::TooLarge| {
                problems.push(explosion(rule, capacity));
                Vec::new()
            }));
        }
        problems.extend(found);
        problems.sort_by_key(|problem| problem.place().map(|place| (place.file.clone(), place.offset)));
        problems.extend(package.recognition_problems());
        PolicyPackageError::unless_empty(problems)?;
        Ok(Self { universe, parsed, cubes })
    }

    fn rules(&self, bank: BankKind) -> impl Iterator<Item = (&Parsed, &Vec<Cube>)> {
        self.parsed.iter().zip(&self.cubes).filter(move |(rule, _)| rule.head.bank == bank)
    }

    /// Rows that the rules need in `bank`, without the permit-all.
    pub(crate) fn rows(&self, bank: BankKind) -> usize {
        self.rules(bank).map(|(_, cubes)| cubes.len()).sum()
    }

    /// Reports a bank with too many rows: the excess, and the rules with the most rows.
    fn overflow(&self, bank: BankKind, rows: usize, capacity: RowCapacity) -> PolicyProblem {
        let room = capacity.of(bank);
        let mut costs: Vec<_> = self.rules(bank).map(|(rule, cubes)| (rule, cubes.len())).collect();
        costs.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        let listed: Vec<_> = costs.iter().take(5).map(|(rule, rows)| format!("`{}` {rows}", rule.head.id)).collect();
        let over = rows - usize::from(room);
        let message = format!(
            "the {} bank needs {rows} rows and the table has {room}: {over} over. Rows by rule: {}",
            bank.name(),
            listed.join(", ")
        );
        let problem = PolicyProblem::new(PolicyProblemKind::Capacity, message).help(COST_HELP);
        match costs.first() {
            Some((rule, rows)) => {
                let problem = problem.in_rule(&rule.head.id);
                match rules::first_line(&rule.file, &rule.policy) {
                    Some(place) => problem.at(place, format!("{rows} rows")),
                    None => problem,
                }
            }
            None => problem,
        }
    }
}

/// Problems of the rules as a set. They are meaningful only if every rule was parsed.
fn about_the_whole(package: &PolicyPackage, parsed: &[Parsed]) -> Vec<PolicyProblem> {
    let mut problems = unknown_defers(package, parsed);
    if !parsed.iter().any(|rule| rule.head.kind == RowKind::Permit) {
        let help = "what no rule permits is refused: write at least one, such as `@id(\"PERMIT\") permit (principal, action, resource);`";
        problems.push(
            PolicyProblem::new(PolicyProblemKind::NoPermit, "no rule of the package permits anything").help(help),
        );
    }
    problems
}

/// The formula of each rule, and the problems that validation and lowering find.
fn lower(package: &PolicyPackage, parsed: &[Parsed]) -> Result<(Vec<Formula>, Vec<PolicyProblem>), PolicyPackageError> {
    let findings = validate::validate(package, parsed)?;
    let refused = findings.refused();
    let mut problems = Vec::new();
    let mut formulas = Vec::with_capacity(parsed.len());
    for rule in parsed {
        let mut lowering =
            Lowering { rule: &rule.head.id, file: &rule.file, vocabulary: package.vocabulary(), problems: Vec::new() };
        let formula = whole_rule(&mut lowering, rule);
        // For an ill-typed rule, Cedar's own messages are sufficient.
        if !refused.contains(rule.head.id.as_str()) {
            if lowering.problems.is_empty() {
                problems.extend(findings.warnings.iter().filter(|w| w.rule() == Some(&rule.head.id)).cloned());
            }
            problems.append(&mut lowering.problems);
        }
        formulas.push(formula);
    }
    problems.extend(findings.errors);
    Ok((formulas, problems))
}

fn whole_rule(lowering: &mut Lowering<'_>, rule: &Parsed) -> Formula {
    for (what, constraint) in [
        ("principal", rule.policy.principal_constraint().into_inner()),
        ("resource", rule.policy.resource_constraint().into_inner()),
    ] {
        if !matches!(constraint, PrincipalOrResourceConstraint::Any | PrincipalOrResourceConstraint::Is(_)) {
            let problem = PolicyProblem::new(PolicyProblemKind::Scope, format!("the scope names a {what}"))
                .in_rule(&rule.head.id)
                .help(format!(
                    "neither identity is in the descriptor: leave `{what}` unconstrained, or write `{what} is TYPE`"
                ));
            lowering.problems.push(match rules::first_line(&rule.file, &rule.policy) {
                Some(place) => problem.at(place, "in this rule"),
                None => problem,
            });
        }
    }
    let mut categories = |uids: &[std::sync::Arc<cedar_policy_core::ast::EntityUID>]| {
        let masks = uids.iter().map(|uid| lowering.category_mask(uid, uid.loc().or(rule.policy.loc())));
        Formula::Is(CubeCondition::Enumeration(
            EnumerationColumn::Category,
            masks.fold(0, |mask, one| mask | one.unwrap_or(0)),
        ))
    };
    let scope = match rule.policy.action_constraint() {
        ActionConstraint::Any => Formula::True,
        ActionConstraint::Eq(uid) => categories(std::slice::from_ref(uid)),
        ActionConstraint::In(uids) => categories(uids),
    };
    match rule.policy.non_scope_constraints() {
        None => scope,
        Some(conditions) => Formula::All(vec![scope, lowering.formula(conditions, true)]),
    }
}

const COST_HELP: &str = "rows come from `||` between different fields, `!=` on numbers, `!containsAll`, `!=` on sets and two \
     `containsAny` on one set: split the rule's intent, or say it with a class of its own";

fn explosion(rule: &Parsed, capacity: RowCapacity) -> PolicyProblem {
    let (bank, rows) = (rule.head.bank, capacity.of(rule.head.bank));
    let message = format!("it expands to more than {EXPANSION_LIMIT} rows, and the {} bank has {rows}", bank.name());
    let problem = PolicyProblem::new(PolicyProblemKind::Capacity, message).in_rule(&rule.head.id).help(COST_HELP);
    match rules::first_line(&rule.file, &rule.policy) {
        Some(place) => problem.at(place, "this rule"),
        None => problem,
    }
}

/// Reasons in `limits.defer` that no refusal can have.
fn unknown_defers(package: &PolicyPackage, parsed: &[Parsed]) -> Vec<PolicyProblem> {
    let known: Vec<&str> = parsed
        .iter()
        .filter(|rule| rule.head.kind == RowKind::ForbidReject)
        .map(|rule| rule.head.id.as_str())
        .chain(ValidationReason::ALL.iter().map(|reason| reason.id()))
        .chain(LineageReason::ALL.iter().map(|reason| reason.id()))
        .collect();
    let unknown = package.manifest().limits.defer.iter().filter(|id| !known.contains(&id.as_str()));
    unknown
        .map(|id| {
            PolicyProblem::new(
                PolicyProblemKind::Manifest,
                format!("limits.defer names `{id}`, and no refusal has that reason"),
            )
            .help(suggestion(id, known.iter().copied()))
        })
        .collect()
}

/// Writes one image for these packages; returns each package's part. Rows are in the order of the packages. The
/// packages have no common domain, so a descriptor matches rows of one package only.
pub(crate) fn link(
    max_depth: u8,
    package_digest: [u8; 32],
    packages: Vec<Expanded>,
) -> Result<Vec<CompiledPackage>, PolicyPackageError> {
    let too_many = || PolicyProblem::new(PolicyProblemKind::Capacity, "more than 65535 rules or rows");
    let fault = |what: &dyn std::fmt::Display| {
        PolicyProblem::new(PolicyProblemKind::Capacity, format!("compiler fault, please report it: {what}"))
    };
    let universes = packages.iter().map(|package| package.universe.clone());
    let universe = universes.reduce(|all, one| all.with(&one)).ok_or_else(|| fault(&"no package"))?;
    let mut rows = [Vec::new(), Vec::new()];
    let mut numbers = 0..ROW_NONE;
    let mut placed = Vec::with_capacity(packages.len());
    for package in packages {
        let first_rule = numbers.start;
        let mut rules = Vec::with_capacity(package.parsed.len());
        for ((rule, cubes), number) in package.parsed.iter().zip(&package.cubes).zip(numbers.by_ref()) {
            let [policy, entropy] = &mut rows;
            let bank = match rule.head.bank {
                BankKind::Policy => policy,
                BankKind::Entropy => entropy,
            };
            let first = bank.len();
            bank.extend(cubes.iter().map(|cube| to_row(cube, &package.universe, rule.head.kind, number)));
            let range = |row: usize| u16::try_from(row).map_err(|_| too_many());
            rules.push(CompiledRule {
                id: rule.head.id.clone(),
                bank: rule.head.bank,
                kind: rule.head.kind,
                reason: rule.head.reason.clone(),
                place: rules::extent(&rule.file, &rule.policy),
                rows: range(first)?..range(bank.len())?,
            });
        }
        if rules.len() < package.parsed.len() {
            return Err(too_many().into());
        }
        placed.push((rules, first_rule, package.universe, package.cubes));
    }
    let [policy, mut entropy] = rows;
    entropy.push(permit_all(&universe));
    let mut header = ImageHeader {
        magic: IMAGE_MAGIC.into(),
        version: LAYOUT_VERSION,
        max_depth,
        quantities: universe.bits >> presence_bit(0),
        classes: universe.members.get(SetColumn::Classes.index()).copied().unwrap_or_default().into(),
        map_digest: MAP_DIGEST,
        package_digest,
        ..ImageHeader::ZERO
    };
    for (column, mask) in EnumerationColumn::ALL.into_iter().zip(universe.all.enumerations) {
        column.set_declared(&mut header, mask);
    }
    // The prelude has rows in both banks, so neither bank is empty; an error here is a defect of the compiler.
    let image = TableImage::new(header, &policy, &entropy).map_err(|error| fault(&error))?;
    let compiled = |(rules, first_rule, universe, cubes)| {
        let image = image.clone();
        CompiledPackage { image, rules, first_rule, universe, cubes }
    };
    Ok(placed.into_iter().map(compiled).collect())
}
