//! Compiles the forms of classes into the tables of a lane.
//!
//! Each form becomes a part: an automaton of its own, which accepts exactly the form, or more if the exact automaton is
//! too large. The compiler joins parts into engines, lists of domains first and then the smallest part, and puts each
//! part into the engine that it enlarges least. It proves of each part that the part finds all matches of its form.

use crate::check::{DomainNames, FormCheck};
use crate::dfa::Dfa;
use crate::gap;
use crate::machine::FormMachine;
use crate::prefixes::Prefixes;
use crate::proof;
use crate::relax::{self, Width};
use crate::source::{ClassForm, ClassSource, FormBorder, LaneSource, LeftOut, MatchRelation};
use crate::tables::{
    Accounts, Cards, GapAutomaton, LaneEngine, MOST_BYTE_CLASSES, MOST_CLASSES, MOST_GAP_STATES, MOST_STATES,
    TextLaneTables, lengths,
};
use portcullis_core::class::{ClassId, ClassSet};
use portcullis_core::manifest::PatternValidator;
use regex_syntax::hir::{HirKind, Look};
use std::rc::Rc;

/// Sizes of a card's text lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneTableLimits {
    /// Number of engines of a lane.
    pub engines: usize,
    /// Number of states of an engine, at most 4,096.
    pub states: usize,
    /// Number of byte classes of an engine, at most 64.
    pub byte_classes: usize,
    /// Largest number of states of one form's automaton.
    pub part_states: usize,
}

impl Default for LaneTableLimits {
    fn default() -> Self {
        Self { engines: 3, states: MOST_STATES, byte_classes: MOST_BYTE_CLASSES, part_states: 1024 }
    }
}

/// How many letters of a top-level domain are compared: all, or as many as there is room for.
const COMPARED_LETTERS: [usize; 4] = [63, 6, 5, 4];
/// Factor by which an automaton may exceed its limit of states before it is minimised.
const GROWTH: usize = 4;
/// Largest number of places of an expression per permitted state. For a larger expression, no automaton is built.
const PLACES: usize = 2;

/// Tables, and the coverage of each class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledLane {
    pub tables: TextLaneTables,
    /// Every class of the source, in the same order.
    pub classes: Vec<ClassSight>,
}

/// A lane's coverage of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSight {
    pub id: ClassId,
    pub name: String,
    /// The covered forms.
    pub forms: Vec<FormSight>,
    /// The forms that a lane does not cover; only the host finds them.
    pub left_out: Vec<LeftOut>,
    /// Whether the host also searches the matching view, which a lane does not read.
    pub view: bool,
}

/// A lane's coverage of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormSight {
    /// The pattern, or a name for the vocabulary.
    pub name: String,
    /// The unit that finds the form.
    pub place: LaneUnit,
    /// Number of states of the form's own automaton; 0 if a counting unit finds the form.
    pub states: usize,
    /// Relation between the lane's matches and the mapping's hits in the same bytes.
    pub relation: MatchRelation,
    /// How the form's automaton was widened, if it was.
    pub widened: Option<String>,
}

/// The part of a lane that finds a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneUnit {
    /// The engine with this number.
    Engine(usize),
    /// The unit for card numbers.
    Cards,
    /// The unit for account numbers.
    Accounts,
}

/// How completely a lane covers a class in the bytes of a text; what only the matching view shows does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneCoverage {
    /// All forms of the class, with this relation.
    Whole(MatchRelation),
    /// Some of the forms; the host finds the others.
    Part,
    /// The lane does not cover any form.
    Nothing,
}

impl ClassSight {
    /// How completely the lane covers the class, apart from the matching view.
    #[must_use]
    pub fn sight(&self) -> LaneCoverage {
        match (self.forms.iter().map(|form| form.relation).max(), self.left_out.is_empty()) {
            (None, _) => LaneCoverage::Nothing,
            (Some(_), false) => LaneCoverage::Part,
            (Some(relation), true) => LaneCoverage::Whole(relation),
        }
    }
}

/// A form with its automaton, before it is put into an engine.
struct FormAutomaton {
    class: usize,
    name: String,
    dfa: Dfa,
    relation: MatchRelation,
    widened: Option<String>,
    engine: Option<usize>,
    /// Whether it holds a list of domains, which needs many classes of bytes.
    is_list: bool,
}

/// Compiles the forms of classes into tables. If a list of domains would keep a form out of the tables, fewer letters
/// of each domain are compared.
#[must_use]
pub fn compile(source: &LaneSource, limits: &LaneTableLimits) -> CompiledLane {
    let left_out = |lane: &CompiledLane| lane.classes.iter().map(|class| class.left_out.len()).sum::<usize>();
    let any = compiled(source, limits, None);
    let mut forms = source.classes.iter().flat_map(|class| &class.forms);
    if forms.all(|form| form.check != Some(PatternValidator::Email)) {
        return any;
    }
    let mut listed = COMPARED_LETTERS.iter().map(|letters| compiled(source, limits, Some(*letters)));
    listed.find(|lane| left_out(lane) <= left_out(&any)).unwrap_or(any)
}

fn compiled(source: &LaneSource, limits: &LaneTableLimits, letters: Option<usize>) -> CompiledLane {
    let mut classes: Vec<ClassSight> = source.classes.iter().map(ClassSight::of).collect();
    let mut parts = Vec::new();
    let mut counted = (Vec::new(), Vec::new());
    for (class, index) in source.classes.iter().zip(0..) {
        for form in &class.forms {
            let out = match form.check {
                Some(PatternValidator::Luhn) => {
                    card_machine(form).map(|machine| counted.0.push((index, form, machine)))
                }
                Some(PatternValidator::Iban) => {
                    account_machine(form).map(|machine| counted.1.push((index, form, machine)))
                }
                Some(PatternValidator::Email) => {
                    address_part(form, index, class, letters, limits).map(|part| parts.push(part))
                }
                check => FormCheck::of(check)
                    .ok_or_else(|| "its check is not one of an automaton".to_owned())
                    .and_then(|check| part(form, index, &check, &Width::LADDER, limits.part_states, limits))
                    .map(|part| parts.push(part)),
            };
            if let (Err(reason), Some(class)) = (out, classes.get_mut(index)) {
                class.left_out.push(LeftOut { form: form.name.clone(), reason });
            }
        }
    }
    let engines = pack(&mut parts, &source.classes, limits, &mut classes);
    for part in parts {
        let (Some(engine), Some(class)) = (part.engine, classes.get_mut(part.class)) else { continue };
        let (states, place) = (part.dfa.len(), LaneUnit::Engine(engine));
        let (name, relation, widened) = (part.name, part.relation, part.widened);
        class.forms.push(FormSight { name, place, states, relation, widened });
    }
    let (cards, accounts) = counted;
    let cards = unit(cards, |byte| byte.is_ascii_digit(), LaneUnit::Cards, &source.classes, &mut classes);
    let cards =
        cards.and_then(|(gap, classes)| Some(Cards { classes, gap, prefixes: Prefixes::new(&source.networks)? }));
    let accounts =
        unit(accounts, |byte| byte.is_ascii_alphanumeric(), LaneUnit::Accounts, &source.classes, &mut classes);
    let accounts = accounts.map(|(gap, classes)| Accounts { classes, gap, lengths: lengths(&source.accounts) });
    CompiledLane { tables: TextLaneTables { engines, cards, accounts }, classes }
}

impl ClassSight {
    fn of(class: &ClassSource) -> Self {
        Self {
            id: class.id,
            name: class.name.clone(),
            forms: Vec::new(),
            left_out: class.left_out.clone(),
            view: class.view,
        }
    }

    /// Whether the lane finds the class in every text in which the host finds it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.view && matches!(self.sight(), LaneCoverage::Whole(_))
    }
}

/// The automaton of a form for e-mail addresses. With a list of domains, the form is as wide as possible, so that only
/// the names need states, and these may be half of an engine's.
fn address_part(
    form: &ClassForm,
    index: usize,
    class: &ClassSource,
    letters: Option<usize>,
    limits: &LaneTableLimits,
) -> Result<FormAutomaton, String> {
    let names = letters.map(|most| DomainNames::new(&class.domains, most));
    match names.filter(|names| names.apply_to(&form.hir)) {
        Some(names) => {
            let [.., widest] = Width::LADDER;
            let wide = ClassForm { hir: relax::widen(&form.hir, widest), ..form.clone() };
            let check = FormCheck::Email(Rc::new(names.with_users_of(&form.hir, &wide.hir)));
            let part = part(&wide, index, &check, &[Width::WRITTEN], limits.states / 2, limits)?;
            Ok(FormAutomaton { widened: Some(of_width(widest)), is_list: true, ..part })
        }
        None => part(form, index, &FormCheck::None, &Width::LADDER, limits.part_states, limits),
    }
}

/// The automaton of a form, widened as little as the limits allow.
fn part(
    form: &ClassForm,
    class: usize,
    check: &FormCheck,
    widths: &[Width],
    most_states: usize,
    limits: &LaneTableLimits,
) -> Result<FormAutomaton, String> {
    let written = FormMachine::new(&form.hir, form.border, check.clone())?;
    let plain = form.border == FormBorder::Free && *check == FormCheck::None;
    let mut tried: Vec<regex_syntax::hir::Hir> = Vec::new();
    for width in widths.iter().copied() {
        let hir = relax::widen(&form.hir, width);
        let hir = if plain { relax::cut(&hir) } else { hir };
        if tried.contains(&hir) {
            continue;
        }
        let machine = FormMachine::new(&hir, form.border, check.clone())?;
        tried.push(hir);
        let (most, places) = (most_states * GROWTH, most_states * PLACES);
        let dfa = (machine.len() <= places).then(|| Dfa::of(&machine, most)).flatten();
        let Some(dfa) = dfa.filter(|dfa| dfa.len() <= most_states && dfa.classes <= limits.byte_classes) else {
            continue;
        };
        if let Some(text) = proof::missed(&written, &dfa) {
            return Err(format!(
                "its automaton does not find `{}`: this is a fault of the compiler",
                text.escape_ascii()
            ));
        }
        let relation = relation(form, check, &written, &dfa, width);
        let widened = (width != Width::WRITTEN).then(|| of_width(width));
        return Ok(FormAutomaton {
            class,
            name: form.name.clone(),
            dfa,
            relation,
            widened,
            engine: None,
            is_list: false,
        });
    }
    Err(format!(
        "its automaton has more than {} states or {} classes of bytes, however it is widened; \
         divide the pattern, or repeat less in it",
        most_states, limits.byte_classes
    ))
}

/// The relation between the automaton's matches and the mapping's hits.
fn relation(form: &ClassForm, check: &FormCheck, written: &FormMachine, dfa: &Dfa, width: Width) -> MatchRelation {
    // The mapping chooses a single end for a match, and applies the check and the border only to that end.
    let one_end = || (*check == FormCheck::None && form.border != FormBorder::Digits) || proof::is_prefix_free(written);
    let equal = width == Width::WRITTEN
        && check.is_exact()
        // The mapping may prefer an empty match at the same place to a match that counts.
        && form.hir.properties().minimum_len() != Some(0)
        && !written.takes_looks()
        && one_end()
        && proof::invents(written, dfa) == Some(false);
    if equal { form.relation } else { MatchRelation::Superset }
}

fn of_width(width: Width) -> String {
    let wide = if width.any_wide { ", and a set with characters outside ASCII holds all of them" } else { "" };
    format!("what repeats more than {} times repeats without a bound{wide}", width.most)
}

/// Parts that go into one engine together, and the automaton of all of them.
struct FormGroup {
    class: usize,
    parts: Vec<usize>,
    dfa: Dfa,
    /// Whether one of the parts holds a list of domains.
    is_list: bool,
}

/// An engine under construction, with its classes and groups.
struct Filling {
    dfa: Dfa,
    classes: Vec<usize>,
    groups: Vec<usize>,
}

/// Joins parts into engines. Parts that do not fit are left to the host.
fn pack(
    parts: &mut [FormAutomaton],
    sources: &[ClassSource],
    limits: &LaneTableLimits,
    classes: &mut [ClassSight],
) -> Vec<LaneEngine> {
    let mut groups = grouped(parts, limits);
    let order = |groups: &[FormGroup], from: usize| {
        let mut order: Vec<usize> = (from..groups.len()).collect();
        order.sort_by_key(|at| groups.get(*at).map(|group| (!group.is_list, group.dfa.len(), *at)));
        order
    };
    let mut filling = Vec::new();
    fill(&mut filling, &groups, &order(&groups, 0), limits);
    // Parts of a group that does not fit are tried one by one.
    let whole = groups.len();
    for at in 0..whole {
        let placed = filling.iter().any(|engine: &Filling| engine.groups.contains(&at));
        let apart = groups.get(at).filter(|group| !placed && group.parts.len() > 1).map(|group| group.parts.clone());
        for at in apart.into_iter().flatten() {
            let Some(part) = parts.get(at) else { continue };
            groups.push(FormGroup { class: part.class, parts: vec![at], dfa: part.dfa.clone(), is_list: part.is_list });
        }
    }
    fill(&mut filling, &groups, &order(&groups, whole), limits);
    let used: Vec<String> = filling.iter().map(|engine| engine.dfa.len().to_string()).collect();
    for (engine, index) in filling.iter().zip(0..) {
        for part in engine.groups.iter().filter_map(|group| groups.get(*group)).flat_map(|group| &group.parts) {
            if let Some(part) = parts.get_mut(*part) {
                part.engine = Some(index);
            }
        }
    }
    for part in parts.iter().filter(|part| part.engine.is_none()) {
        let reason = format!(
            "it has {} states and fits no engine: the engines hold {} of {} states, with {} classes of bytes at most; \
             divide the pattern, or leave out another one",
            part.dfa.len(),
            used.join(", "),
            limits.states,
            limits.byte_classes
        );
        if let Some(class) = classes.get_mut(part.class) {
            class.left_out.push(LeftOut { form: part.name.clone(), reason });
        }
    }
    let engine = |filling: Filling| {
        let ids = filling.classes.iter().filter_map(|class| sources.get(*class)).map(|class| class.id);
        LaneEngine::new(&filling.dfa, ids.collect())
    };
    let packed: Option<Vec<LaneEngine>> = filling.into_iter().map(engine).collect();
    packed.unwrap_or_default()
}

/// Combines the parts of each class into a few groups: automata of the same class have many states in common.
fn grouped(parts: &[FormAutomaton], limits: &LaneTableLimits) -> Vec<FormGroup> {
    let mut groups: Vec<FormGroup> = Vec::new();
    let mut order: Vec<(usize, &FormAutomaton)> = parts.iter().enumerate().collect();
    order.sort_by_key(|(at, part)| (part.class, part.dfa.len(), *at));
    for (at, part) in order {
        let joined =
            groups.iter().enumerate().filter(|(_, group)| group.class == part.class).find_map(|(index, group)| {
                let most = (group.dfa.len() + part.dfa.len()) * 3 / 2;
                let joined = group.dfa.joined(&part.dfa, 2 * most, limits.byte_classes)?.least();
                (joined.len() <= most.min(limits.part_states)).then_some((index, joined))
            });
        match joined.and_then(|(index, dfa)| Some((groups.get_mut(index)?, dfa))) {
            Some((group, dfa)) => {
                group.dfa = dfa;
                group.parts.push(at);
                group.is_list |= part.is_list;
            }
            None => groups.push(FormGroup {
                class: part.class,
                parts: vec![at],
                dfa: part.dfa.clone(),
                is_list: part.is_list,
            }),
        }
    }
    groups
}

/// Puts groups, in the given order, each into the engine that grows least. Groups that do not fit are skipped.
fn fill(filling: &mut Vec<Filling>, groups: &[FormGroup], order: &[usize], limits: &LaneTableLimits) {
    for at in order {
        let Some(group) = groups.get(*at) else { continue };
        // Adding a new engine costs as many states as the group has.
        let fresh = filling.len() < limits.engines && group.dfa.len() <= limits.states;
        let mut best: Option<(usize, Dfa, usize)> = None;
        for (engine, index) in filling.iter().zip(0..) {
            let bit = engine.classes.iter().position(|class| *class == group.class).unwrap_or(engine.classes.len());
            let Some(own) = u32::try_from(bit).ok().filter(|_| bit < MOST_CLASSES) else { continue };
            let least = best.as_ref().map_or(usize::MAX, |(growth, _, _)| *growth);
            let growth = if fresh { least.min(3 * group.dfa.len()) } else { least };
            let most = engine.dfa.len().saturating_add(growth).min(limits.states);
            let own = group.dfa.clone().at_bit(own);
            let Some(joined) = engine.dfa.joined(&own, most, limits.byte_classes) else { continue };
            let growth = joined.len().saturating_sub(engine.dfa.len());
            if growth < least {
                best = Some((growth, joined, index));
            }
        }
        match best.and_then(|(_, dfa, index)| Some((filling.get_mut(index)?, dfa))) {
            Some((engine, dfa)) => {
                engine.dfa = dfa;
                engine.groups.push(*at);
                if !engine.classes.contains(&group.class) {
                    engine.classes.push(group.class);
                }
            }
            None if fresh => filling.push(Filling {
                dfa: group.dfa.clone().at_bit(0),
                classes: vec![group.class],
                groups: vec![*at],
            }),
            None => {}
        }
    }
}

type Counted<'s> = (usize, &'s ClassForm, FormMachine);

/// The gap automaton and the classes of the forms that a counting unit finds.
fn unit(
    counted: Vec<Counted<'_>>,
    is_numeral: fn(u8) -> bool,
    place: LaneUnit,
    sources: &[ClassSource],
    classes: &mut [ClassSight],
) -> Option<(GapAutomaton, ClassSet)> {
    if counted.is_empty() {
        return None;
    }
    let (forms, machines): (Vec<_>, Vec<_>) =
        counted.into_iter().map(|(class, form, machine)| ((class, form), machine)).unzip();
    let dfa = gap::automaton(&machines, is_numeral, MOST_GAP_STATES);
    let gap = dfa.as_ref().and_then(GapAutomaton::new);
    for (class, form) in &forms {
        let Some(class) = classes.get_mut(*class) else { continue };
        if gap.is_some() {
            let (name, relation) = (form.name.clone(), MatchRelation::Superset);
            class.forms.push(FormSight { name, place, states: 0, relation, widened: None });
        } else {
            let reason = format!(
                "what may stand between its numerals takes more than {MOST_GAP_STATES} states or {MOST_BYTE_CLASSES} \
                 classes of bytes; allow fewer kinds of separators"
            );
            class.left_out.push(LeftOut { form: form.name.clone(), reason });
        }
    }
    let ids = forms.iter().filter_map(|(class, _)| sources.get(*class)).map(|class| class.id);
    Some((gap?, ids.collect()))
}

/// The machine of a form for the card-number unit. Refuses a form whose match may begin between two digits.
fn card_machine(form: &ClassForm) -> Result<FormMachine, String> {
    let machine = FormMachine::new(&form.hir, form.border, FormCheck::None)?;
    let bordered = match form.hir.kind() {
        HirKind::Concat(parts) => matches!(parts.first().map(|part| part.kind()), Some(HirKind::Look(Look::WordAscii))),
        _ => false,
    };
    if form.border == FormBorder::Digits || bordered {
        Ok(machine)
    } else {
        Err("a match may begin between two digits, which the unit does not count; write `letters = \"any\"`".into())
    }
}

/// The machine of a form for the account-number unit. Refuses a form whose third or fourth numeral may be a letter.
fn account_machine(form: &ClassForm) -> Result<FormMachine, String> {
    let machine = FormMachine::new(&form.hir, form.border, FormCheck::None)?;
    let mut known = Vec::new();
    let mut open = vec![(0, machine.beginnings())];
    while let Some((numerals, places)) = open.pop() {
        for byte in 0..=u8::MAX {
            let next = machine.beyond(&places, byte);
            if next.is_empty() {
                continue;
            }
            if numerals >= 2 && byte.is_ascii_alphabetic() {
                return Err("a letter may stand for one of its check digits, which the unit does not count; \
                            write `\\d` there"
                    .into());
            }
            let next = (numerals + usize::from(byte.is_ascii_alphanumeric()), next);
            if next.0 < 4 && !known.contains(&next) {
                known.push(next.clone());
                open.push(next);
            }
        }
    }
    Ok(machine)
}
