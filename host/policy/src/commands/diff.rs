//! `policy diff A B`: lists changed declarations and rules, and descriptors that A and B decide differently.
//!
//! The host stages count as passed. Each package becomes a list of cells. A cell is the set of descriptors that one
//! rule decides: its rows match them, and no rule before it decides them. For each pair of cells with different
//! determinations, the search intersects the two cells. A descriptor in the intersection is a witness.

use super::joint::{ComparedPackage, JointUniverse, declared_enumerations};
use crate::checks::{PackageChecks, WeakenedCheck};
use crate::compile::CompiledPackage;
use crate::context::ContextConverter;
use crate::cube::solve::{Residue, residue, witness};
use crate::cube::{Cube, CubeCondition, Universe};
use crate::decision::DescriptorDecision;
use crate::error::{PolicyPackageError, PolicyProblem, PolicyProblemKind};
use crate::package::PolicyPackage;
use crate::vocabulary::PolicyVocabulary;
use portcullis_core::manifest::{ClassDeclaration, QuantityDeclaration};
use portcullis_core::reason::generic;
use portcullis_core::wire::{Descriptor, Determination, RangeColumn, RowKind, SetColumn};
use portcullis_image::{BankKind, ImageEvaluator};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Limits on the number of splits of the search: for one pair of cells, and in total.
const PAIR_BUDGET: u32 = 20_000;
const TOTAL_BUDGET: u32 = 2_000_000;

/// How two packages differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackageDiff {
    /// Changed declarations and limits, in words.
    pub declarations: Vec<String>,
    /// Checks that B switches off or widens.
    pub weaker: Vec<WeakenedCheck>,
    /// The entries of `declarations` that the comparison does not cover. Such a change has no effect on descriptors, or
    /// makes some descriptors valid under one package only.
    pub not_compared: Vec<String>,
    /// Rules that changed, by id.
    pub rules: Vec<RuleChange>,
    /// Descriptors that A and B decide differently, one per pair of deciding rules.
    pub witnesses: Vec<DiffWitness>,
    /// Pairs of deciding rules for which the search spent its budget without a result.
    pub undecided: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleChange {
    pub id: String,
    pub change: RuleChangeKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleChangeKind {
    Added,
    Removed,
    /// The rule is in both packages, but differs; the differences are listed in words.
    Changed(Vec<String>),
}

/// A descriptor that the two packages decide differently.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiffWitness {
    pub a: DescriptorDecision,
    pub b: DescriptorDecision,
    pub category: String,
    /// The descriptor's context under A. `policy eval` accepts it after the category is added.
    pub context_a: Value,
    /// The descriptor's context under B.
    pub context_b: Value,
    #[serde(skip)]
    pub descriptor_a: Descriptor,
    #[serde(skip)]
    pub descriptor_b: Descriptor,
}

impl PackageDiff {
    /// Whether A and B certainly give the same decision for every descriptor that is valid under both.
    #[must_use]
    pub fn decide_alike(&self) -> bool {
        self.witnesses.is_empty() && self.undecided.is_empty()
    }

    /// Whether the comparison covered everything that can change a decision, and found no difference.
    #[must_use]
    pub fn nothing_differs(&self) -> bool {
        self.decide_alike() && self.not_compared.is_empty()
    }

    fn obstacle(&mut self, what: String) {
        self.declarations.push(what.clone());
        self.not_compared.push(what);
    }
}

/// The differences between `a` and `b`. Errors: an evaluator contradicts a witness, which is a defect of this program.
pub fn diff(
    a: (&PolicyPackage, &CompiledPackage),
    b: (&PolicyPackage, &CompiledPackage),
) -> Result<PackageDiff, PolicyPackageError> {
    let sides = [ComparedPackage { package: a.0, compiled: a.1 }, ComparedPackage { package: b.0, compiled: b.1 }];
    let [first, second] = sides;
    let mut found = declarations(first, second);
    let joint = match JointUniverse::new(first, second) {
        Ok(joint) => joint,
        Err(obstacles) => {
            obstacles.into_iter().for_each(|what| found.obstacle(what));
            return Ok(found);
        }
    };
    let rules = sides.iter().enumerate().map(|(side, package)| translated(&joint, side, package.compiled));
    let rules: Vec<Vec<Translated>> = rules.collect();
    let [rules_a, rules_b] = rules.as_slice() else { return Ok(found) };
    found.rules = rule_changes(rules_a, rules_b);
    let cells_a = cells(&joint.universe, rules_a, a.1.image.header().max_depth);
    let cells_b = cells(&joint.universe, rules_b, b.1.image.header().max_depth);
    let (mut seen, mut unsure) = (BTreeSet::new(), BTreeSet::new());
    let mut total = TOTAL_BUDGET;
    for x in &cells_a {
        for y in cells_b.iter().filter(|y| y.determination != x.determination) {
            let pair = (x.label.clone(), y.label.clone());
            if seen.contains(&pair) || !x.region.meets(&y.region) {
                continue;
            }
            let covers: Vec<&Cube> = x.without.iter().chain(&y.without).copied().collect();
            let mut undecided = false;
            for region in x.region.and(&y.region) {
                let mut budget = PAIR_BUDGET.min(total);
                let before = budget;
                let left = residue(&joint.universe, &region, &covers, &mut budget);
                total -= before - budget;
                match left {
                    Residue::Empty => {}
                    Residue::Unknown => undecided = true,
                    Residue::Left(cube) => {
                        found.witnesses.push(confirmed(&joint, sides, &cube, x, y)?);
                        seen.insert(pair.clone());
                        break;
                    }
                }
            }
            if undecided {
                unsure.insert(pair);
            }
        }
    }
    found.undecided = unsure.difference(&seen).cloned().collect();
    Ok(found)
}

/// A rule, and its cubes in the joint space of both packages.
struct Translated<'a> {
    rule: &'a crate::compile::CompiledRule,
    cubes: Vec<Cube>,
}

fn translated<'a>(joint: &JointUniverse, side: usize, compiled: &'a CompiledPackage) -> Vec<Translated<'a>> {
    let rules = compiled.rules.iter().zip(&compiled.cubes);
    rules.map(|(rule, cubes)| Translated { rule, cubes: joint.cubes(side, cubes) }).collect()
}

/// A set of descriptors with the same determination by the same rule: `region` less `without`.
struct Cell<'a> {
    region: Cube,
    without: Vec<&'a Cube>,
    determination: Determination,
    label: String,
}

/// All cells of a package; the host stages count as passed.
fn cells<'a>(universe: &'a Universe, rules: &'a [Translated<'a>], max_depth: u8) -> Vec<Cell<'a>> {
    let of = |bank: BankKind, kind: RowKind| {
        let rules = rules.iter().filter(move |rule| rule.rule.bank == bank && rule.rule.kind == kind);
        rules.flat_map(|rule| rule.cubes.iter().map(|cube| (rule.rule.id.as_str(), cube))).collect::<Vec<_>>()
    };
    let bare = |rows: &[(&str, &'a Cube)]| rows.iter().map(|(_, cube)| *cube).collect::<Vec<_>>();
    // Rows of the same class with smaller rule ids. Subtracting them leaves the descriptors that this rule decides.
    let before = |rows: &[(&str, &'a Cube)], id: &str| {
        rows.iter().filter(|(other, _)| *other < id).map(|(_, cube)| *cube).collect::<Vec<_>>()
    };
    let rejects = of(BankKind::Policy, RowKind::ForbidReject);
    let decomposes = of(BankKind::Policy, RowKind::ForbidDecompose);
    let permits = of(BankKind::Policy, RowKind::Permit);
    let late_rejects = of(BankKind::Entropy, RowKind::ForbidReject);
    let late_decomposes = of(BankKind::Entropy, RowKind::ForbidDecompose);
    let forbids = [bare(&rejects), bare(&decomposes)].concat();
    let mut cells = Vec::new();
    for (id, cube) in &rejects {
        cells.push(Cell::new((*cube).clone(), before(&rejects, id), Determination::Reject, id));
    }
    for (id, cube) in &decomposes {
        let without = [bare(&rejects), before(&decomposes, id)].concat();
        decompose_cells(universe, &mut cells, cube, &without, max_depth, id);
    }
    let default = [forbids.clone(), bare(&permits)].concat();
    cells.push(Cell::new(universe.all.clone(), default, Determination::Reject, generic::DEFAULT_DENY));
    for (_, permit) in &permits {
        for (id, cube) in &late_rejects {
            for region in permit.and(cube) {
                let without = [forbids.clone(), before(&late_rejects, id)].concat();
                cells.push(Cell::new(region, without, Determination::Reject, id));
            }
        }
        let without = [forbids.clone(), bare(&late_rejects)].concat();
        for (id, cube) in &late_decomposes {
            for region in permit.and(cube) {
                let without = [without.clone(), before(&late_decomposes, id)].concat();
                decompose_cells(universe, &mut cells, &region, &without, max_depth, id);
            }
        }
        let without = [without, bare(&late_decomposes)].concat();
        cells.push(Cell::new((*permit).clone(), without, Determination::Admit, "admit"));
    }
    cells
}

/// Adds the cells of a decompose: below the depth limit it stays a decompose, at the limit it becomes a reject.
fn decompose_cells<'a>(
    universe: &Universe,
    cells: &mut Vec<Cell<'a>>,
    region: &Cube,
    without: &[&'a Cube],
    max_depth: u8,
    id: &str,
) {
    let depths = [
        (Determination::Decompose, 0, i64::from(max_depth) - 1),
        (Determination::Reject, i64::from(max_depth), i64::from(u8::MAX)),
    ];
    for (determination, low, high) in depths {
        let depth = universe.cube(CubeCondition::Range(RangeColumn::Depth, low, high));
        for region in depth.iter().flat_map(|depth| region.and(depth)) {
            cells.push(Cell::new(region, without.to_vec(), determination, id));
        }
    }
}

impl<'a> Cell<'a> {
    fn new(region: Cube, without: Vec<&'a Cube>, determination: Determination, id: &str) -> Self {
        Self { region, without, determination, label: format!("{} by {id}", determination.name()) }
    }
}

/// The descriptor in `cube` as a witness, after both evaluators have confirmed the determinations of the cells.
fn confirmed(
    joint: &JointUniverse,
    sides: [ComparedPackage<'_>; 2],
    cube: &Cube,
    a: &Cell<'_>,
    b: &Cell<'_>,
) -> Result<DiffWitness, PolicyPackageError> {
    let fault =
        |what: String| PolicyProblem::new(PolicyProblemKind::Name, format!("diff fault, please report it: {what}"));
    let descriptor = witness(cube);
    let judge = |side: usize, cell: &Cell<'_>| {
        let ComparedPackage { package, compiled } = sides.get(side).ok_or_else(|| fault("no such side".into()))?;
        let own =
            joint.descriptor(side, &descriptor).ok_or_else(|| fault("a witness outside the joint space".into()))?;
        let banks = ImageEvaluator::new(&compiled.image).evaluate(&own);
        let decision = DescriptorDecision::new(compiled, &own, &banks);
        if decision.determination != cell.determination {
            return Err(fault(format!("{} was expected, {} came out", cell.label, decision.determination.name())));
        }
        let (category, context) =
            ContextConverter::new(package.vocabulary()).json(&own).map_err(|error| fault(error.to_string()))?;
        Ok((own, decision, category, context))
    };
    let (descriptor_a, decision_a, category, context_a) = judge(0, a)?;
    let (descriptor_b, decision_b, _, context_b) = judge(1, b)?;
    Ok(DiffWitness { a: decision_a, b: decision_b, category, context_a, context_b, descriptor_a, descriptor_b })
}

fn rule_changes(a: &[Translated<'_>], b: &[Translated<'_>]) -> Vec<RuleChange> {
    let find = |rules: &'_ [Translated<'_>], id: &str| rules.iter().position(|rule| rule.rule.id == id);
    let ids: BTreeSet<&str> = a.iter().chain(b).map(|rule| rule.rule.id.as_str()).collect();
    let changes = ids.into_iter().filter_map(|id| {
        let old = find(a, id).and_then(|at| a.get(at));
        let new = find(b, id).and_then(|at| b.get(at));
        let change = match (old, new) {
            (Some(old), Some(new)) => {
                let what = rule_differences(old, new);
                if what.is_empty() {
                    return None;
                }
                RuleChangeKind::Changed(what)
            }
            (Some(_), None) => RuleChangeKind::Removed,
            (None, _) => RuleChangeKind::Added,
        };
        Some(RuleChange { id: id.to_owned(), change })
    });
    changes.collect()
}

fn rule_differences(a: &Translated<'_>, b: &Translated<'_>) -> Vec<String> {
    let mut what = Vec::new();
    if a.rule.kind != b.rule.kind {
        what.push(format!("{} became {}", a.rule.kind.name(), b.rule.kind.name()));
    }
    if a.rule.bank != b.rule.bank {
        what.push(format!("moved from the {} bank to the {} bank", a.rule.bank.name(), b.rule.bank.name()));
    }
    if a.rule.reason != b.rule.reason {
        what.push("another reason is given".into());
    }
    let rows = |rule: &Translated<'_>| rule.cubes.iter().cloned().collect::<BTreeSet<_>>();
    if rows(a) != rows(b) {
        what.push(format!("matches differently: {} rows became {}", a.rule.rows.len(), b.rule.rows.len()));
    }
    what
}

/// A `PackageDiff` that has only the differences between the two manifests.
fn declarations(a: ComparedPackage<'_>, b: ComparedPackage<'_>) -> PackageDiff {
    let mut found = PackageDiff {
        declarations: Vec::new(),
        weaker: PackageChecks::of(a.package, a.compiled).weaker_in(&PackageChecks::of(b.package, b.compiled)),
        not_compared: Vec::new(),
        rules: Vec::new(),
        witnesses: Vec::new(),
        undecided: Vec::new(),
    };
    let (va, vb): (&PolicyVocabulary, &PolicyVocabulary) = (a.package.vocabulary(), b.package.vocabulary());
    // A descriptor with a value that only one package declares is not valid under the other package.
    for column in declared_enumerations() {
        let name = column.name();
        let (in_a, in_b) = (va.enumeration(column), vb.enumeration(column));
        list_changes(name, in_a, in_b).into_iter().for_each(|what| found.obstacle(what));
        if let (Some(old), Some(new)) = (in_a.first(), in_b.first())
            && old != new
        {
            found.obstacle(format!("{name} of a context that names none: `{old}` became `{new}`"));
        }
    }
    // Descriptors cannot have a class or quantity that their package does not declare.
    found.declarations.extend(list_changes("class", va.set(SetColumn::Classes), vb.set(SetColumn::Classes)));
    found.declarations.extend(list_changes("quantity", va.quantities(), vb.quantities()));
    let (ma, mb) = (a.package.manifest(), b.package.manifest());
    if ma.limits.max_depth != mb.limits.max_depth {
        found.declarations.push(format!("limits.max_depth: {} became {}", ma.limits.max_depth, mb.limits.max_depth));
    }
    let mut other_limits = (ma.limits.clone(), mb.limits.clone());
    other_limits.0.max_depth = other_limits.1.max_depth;
    let (ia, ib) = (&ma.package, &mb.package);
    for (what, same) in [
        ("limits of the loop changed", other_limits.0 == other_limits.1),
        ("continuity changed", ma.continuity == mb.continuity),
        ("trust slope changed", ma.trust_slope == mb.trust_slope),
        ("pre-execution filter changed", ma.prefilter == mb.prefilter),
        ("language changed", ia.language == ib.language),
        ("closed world or citations changed", (ia.closed_world, ia.citations) == (ib.closed_world, ib.citations)),
        ("links or loads changed", (ia.links, ia.loads, &ia.hosts) == (ib.links, ib.loads, &ib.hosts)),
        (
            "text is recognised differently: vocabulary, patterns, tools or units changed",
            recognition(a) == recognition(b),
        ),
    ] {
        if !same {
            found.obstacle(what.into());
        }
    }
    if (&ia.name, &ia.version, &ia.description) != (&ib.name, &ib.version, &ib.description) {
        found.declarations.push("identity changed".into());
    }
    found
}

/// The names that are in only one of the two lists.
fn list_changes(what: &str, a: &[String], b: &[String]) -> Vec<String> {
    let only = |from: &[String], other: &[String]| {
        let names = from.iter().filter(|name| !other.contains(name)).map(|name| format!("`{name}`"));
        names.collect::<Vec<_>>().join(", ")
    };
    let changes = [("no longer declared", only(a, b)), ("newly declared", only(b, a))].into_iter();
    changes.filter(|(_, names)| !names.is_empty()).map(|(verb, names)| format!("{what} {verb}: {names}")).collect()
}

/// The parts of a package that the mapping uses, in an order that is independent of the order of the declarations.
#[derive(PartialEq)]
struct Recognition<'a> {
    classes: Vec<ClassDeclaration>,
    quantities: Vec<QuantityDeclaration>,
    vocabularies: Vec<(&'a str, &'a [u8])>,
}

fn recognition(side: ComparedPackage<'_>) -> Recognition<'_> {
    let manifest = side.package.manifest();
    let files = side.package.files().iter();
    let words = files.filter(|(path, _)| manifest.classes.iter().any(|class| class.vocabulary.contains(path)));
    let mut classes = manifest.classes.clone();
    classes.iter_mut().for_each(|class| class.description.clear());
    classes.sort_by(|a, b| a.name.cmp(&b.name));
    let mut quantities = manifest.quantities.clone();
    quantities.sort_by(|a, b| a.name.cmp(&b.name));
    let vocabularies = words.map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    Recognition { classes, quantities, vocabularies }
}
