//! Turns Cedar constructs into conditions on rows; for a construct that rows cannot express, gives advice.
//!
//! Strict validation has checked the types and has shown that evaluating the expression cannot fail. So a `has` guards
//! every access to a quantity, and a condition on a quantity and its negation may both require its presence.

use super::formula::Formula;
use super::operand::{ComparisonSide, Operand, describe, operand};
use crate::cube::{CubeCondition, SetCondition, presence_bit};
use crate::error::{PolicyProblem, PolicyProblemKind, suggestion};
use crate::rules::place;
use crate::vocabulary::{ContextField, PolicyVocabulary, bit, bits_of};
use cedar_policy_core::ast::{BinaryOp, EntityUID, Expr, ExprKind, Literal, UnaryOp};
use cedar_policy_core::parser::Loc;
use portcullis_core::wire::{Category, EnumerationColumn, RangeColumn, RangeUnit, SetColumn};

/// Lowers the conditions of one rule and collects problems.
pub(super) struct Lowering<'a> {
    pub(super) rule: &'a str,
    pub(super) file: &'a str,
    pub(super) vocabulary: &'a PolicyVocabulary,
    pub(super) problems: Vec<PolicyProblem>,
}

/// An ordered comparison.
#[derive(Clone, Copy)]
enum OrderedComparison {
    Less,
    LessOrEqual,
}

impl Lowering<'_> {
    /// The formula of `expr`; if `truth` is false, the formula of its negation.
    pub(super) fn formula(&mut self, expr: &Expr, truth: bool) -> Formula {
        match expr.expr_kind() {
            ExprKind::Lit(Literal::Bool(value)) => Formula::constant(*value == truth),
            ExprKind::And { left, right } => self.join(left, right, truth, truth),
            ExprKind::Or { left, right } => self.join(left, right, truth, !truth),
            ExprKind::UnaryApp { op: UnaryOp::Not, arg } => self.formula(arg, !truth),
            ExprKind::UnaryApp { op: UnaryOp::IsEmpty, arg } => match operand(arg) {
                Operand::Field(ContextField::Set(column)) => {
                    let every = self.members(column);
                    if truth { is(column, SetCondition::none(every)) } else { any(column, every) }
                }
                other => self.refuse(expr, &other, SET_HELP),
            },
            ExprKind::BinaryApp { op, arg1, arg2 } => self.binary(expr, *op, arg1, arg2, truth),
            ExprKind::ExtensionFunctionApp { fn_name, args } => match args.as_slice() {
                [left, right] => match fn_name.to_string().as_str() {
                    "lessThan" => self.ordered(expr, left, right, OrderedComparison::Less, truth),
                    "lessThanOrEqual" => self.ordered(expr, left, right, OrderedComparison::LessOrEqual, truth),
                    "greaterThan" => self.ordered(expr, left, right, OrderedComparison::LessOrEqual, !truth),
                    "greaterThanOrEqual" => self.ordered(expr, left, right, OrderedComparison::Less, !truth),
                    name => self.unsupported(expr, &format!("function `{name}`"), DECIMAL_HELP),
                },
                _ => self.unsupported(expr, &format!("function `{fn_name}`"), DECIMAL_HELP),
            },
            ExprKind::HasAttr { expr: of, attr } => match operand(of) {
                Operand::Quantities => self.presence(expr, attr, truth),
                Operand::Context => self.always_present(expr, attr),
                other => self.refuse(expr, &other, HAS_HELP),
            },
            ExprKind::ExtHasAttr { expr: of, attrs } => {
                match (operand(of), attrs.iter().map(AsRef::<str>::as_ref).collect::<Vec<_>>().as_slice()) {
                    (Operand::Context, ["quantity", slot]) | (Operand::Quantities, [slot]) => {
                        self.presence(expr, slot, truth)
                    }
                    (Operand::Context, [name]) => self.always_present(expr, name),
                    (other, _) => self.refuse(expr, &other, HAS_HELP),
                }
            }
            _ => match operand(expr) {
                Operand::Field(ContextField::Flag(flag)) => Formula::Is(CubeCondition::Bit(flag.index(), truth)),
                other => self.refuse(expr, &other, GENERAL_HELP),
            },
        }
    }

    fn join(&mut self, left: &Expr, right: &Expr, truth: bool, all: bool) -> Formula {
        let parts = vec![self.formula(left, truth), self.formula(right, truth)];
        if all { Formula::All(parts) } else { Formula::Any(parts) }
    }

    fn binary(&mut self, expr: &Expr, op: BinaryOp, left: &Expr, right: &Expr, truth: bool) -> Formula {
        match op {
            BinaryOp::Eq => self.equal(expr, left, right, truth),
            BinaryOp::Less => self.ordered(expr, left, right, OrderedComparison::Less, truth),
            BinaryOp::LessEq => self.ordered(expr, left, right, OrderedComparison::LessOrEqual, truth),
            BinaryOp::In => match (operand(left), operand(right)) {
                (Operand::Action, Operand::Entity(uid)) => self.category(std::iter::once((uid, right)), truth),
                (Operand::Action, Operand::Set(elements)) => {
                    let uids = elements.iter().filter_map(|element| match operand(element) {
                        Operand::Entity(uid) => Some((uid, element)),
                        _ => None,
                    });
                    let uids: Vec<_> = uids.collect();
                    if uids.len() != elements.len() {
                        return self.unsupported(expr, "`in` a set that is not of categories", GENERAL_HELP);
                    }
                    self.category(uids.into_iter(), truth)
                }
                (other, _) => self.refuse(expr, &other, GENERAL_HELP),
            },
            BinaryOp::Contains => match (operand(left), operand(right)) {
                (Operand::Field(ContextField::Set(column)), Operand::Text(name)) => {
                    let Some(member) = self.member(column, name, right) else { return Formula::False };
                    is(column, if truth { SetCondition::all(member) } else { SetCondition::none(member) })
                }
                (Operand::Set(values), Operand::Field(ContextField::Enumeration(column))) => {
                    let mask = self.values(column, values);
                    self.enumeration(column, mask, truth)
                }
                (a @ Operand::Set(_), b @ Operand::Field(ContextField::Range(..))) => self.two_sided(
                    expr,
                    "`contains`",
                    &a,
                    &b,
                    "compare with each number: `context.depth == 1 || context.depth == 2`",
                ),
                (a, b) => self.two_sided(expr, "`contains`", &a, &b, SET_HELP),
            },
            BinaryOp::ContainsAll => match (operand(left), operand(right)) {
                (Operand::Field(ContextField::Set(column)), Operand::Set(names)) => {
                    let all = self.set_members(column, names);
                    if truth { is(column, SetCondition::all(all)) } else { lacks_one(column, all) }
                }
                (Operand::Set(names), Operand::Field(ContextField::Set(column))) => {
                    let others = self.members(column) & !self.set_members(column, names);
                    if truth { is(column, SetCondition::none(others)) } else { any(column, others) }
                }
                (a, b) => self.two_sided(expr, "`containsAll`", &a, &b, SET_HELP),
            },
            BinaryOp::ContainsAny => match (operand(left), operand(right)) {
                (Operand::Field(ContextField::Set(column)), Operand::Set(names))
                | (Operand::Set(names), Operand::Field(ContextField::Set(column))) => {
                    let members = self.set_members(column, names);
                    if truth { any(column, members) } else { is(column, SetCondition::none(members)) }
                }
                (a, b) => self.two_sided(expr, "`containsAny`", &a, &b, SET_HELP),
            },
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => self.unsupported(expr, "arithmetic", ARITHMETIC_HELP),
            BinaryOp::GetTag | BinaryOp::HasTag => self.unsupported(expr, "an entity tag", ENTITY_HELP),
        }
    }

    fn equal(&mut self, expr: &Expr, left: &Expr, right: &Expr, truth: bool) -> Formula {
        // Equality is symmetric, so the field can always be treated as the left operand.
        let (field, constant, written) = match (operand(left), operand(right)) {
            (a, b @ (Operand::Field(_) | Operand::Quantity(_) | Operand::Action)) if a.is_constant() => (b, a, left),
            (a, b) => (a, b, right),
        };
        match (field, constant) {
            (Operand::Action, Operand::Entity(uid)) => self.category(std::iter::once((uid, written)), truth),
            (Operand::Field(ContextField::Enumeration(column)), Operand::Text(name)) => {
                let mask = self.value(column, name, written).unwrap_or(0);
                self.enumeration(column, mask, truth)
            }
            (Operand::Field(ContextField::Flag(flag)), Operand::Bool(value)) => {
                Formula::Is(CubeCondition::Bit(flag.index(), value == truth))
            }
            (Operand::Field(ContextField::Range(column)), constant) => match constant.number(column.unit()) {
                Some(value) => numeric_equal(column, value, truth),
                None => {
                    self.two_sided(expr, "`==`", &Operand::Field(ContextField::Range(column)), &constant, GENERAL_HELP)
                }
            },
            (Operand::Quantity(name), Operand::Long(value)) => {
                self.quantity(expr, name, |column| numeric_equal(column, value, truth))
            }
            (Operand::Field(ContextField::Set(column)), Operand::Set(names)) => {
                let (all, every) = (self.set_members(column, names), self.members(column));
                if truth {
                    return is(column, SetCondition { all, any: 0, none: every & !all });
                }
                Formula::Any(vec![lacks_one(column, all), any(column, every & !all)])
            }
            (a, b) => self.two_sided(expr, "`==`", &a, &b, GENERAL_HELP),
        }
    }

    fn ordered(&mut self, expr: &Expr, left: &Expr, right: &Expr, order: OrderedComparison, truth: bool) -> Formula {
        let (left, right) = (operand(left), operand(right));
        let bound = |field: &Operand<'_>, constant: &Operand<'_>| match field {
            Operand::Field(ContextField::Range(column)) => constant.number(column.unit()),
            Operand::Quantity(_) => constant.number(RangeUnit::Quantity),
            _ => None,
        };
        let (field, value, side) = match (bound(&left, &right), bound(&right, &left)) {
            (Some(value), _) => (&left, value, ComparisonSide::Left),
            (None, Some(value)) => (&right, value, ComparisonSide::Right),
            (None, None) => return self.two_sided(expr, "a comparison", &left, &right, GENERAL_HELP),
        };
        // The cases are field < value, field <= value, value < field, value <= field, and their negations.
        let (low, high) = match (side, order, truth) {
            (ComparisonSide::Left, OrderedComparison::Less, true)
            | (ComparisonSide::Right, OrderedComparison::LessOrEqual, false) => below(value),
            (ComparisonSide::Left, OrderedComparison::LessOrEqual, true)
            | (ComparisonSide::Right, OrderedComparison::Less, false) => (i64::MIN, value),
            (ComparisonSide::Left, OrderedComparison::Less, false)
            | (ComparisonSide::Right, OrderedComparison::LessOrEqual, true) => (value, i64::MAX),
            (ComparisonSide::Left, OrderedComparison::LessOrEqual, false)
            | (ComparisonSide::Right, OrderedComparison::Less, true) => above(value),
        };
        match field {
            Operand::Quantity(name) => self.quantity(expr, name, |column| range(column, low, high)),
            Operand::Field(ContextField::Range(column)) => range(*column, low, high),
            other => self.refuse(expr, other, GENERAL_HELP),
        }
    }

    /// A bound on a quantity, or its negation; both require that the quantity is present.
    fn quantity(&mut self, expr: &Expr, name: &str, bound: impl FnOnce(RangeColumn) -> Formula) -> Formula {
        let slot = self.slot(expr, name);
        match slot.and_then(|slot| Some((slot, *RangeColumn::SLOTS.get(slot)?))) {
            None => Formula::False,
            Some((slot, column)) => {
                let present = Formula::Is(CubeCondition::Bit(presence_bit(slot), true));
                Formula::All(vec![present, bound(column)])
            }
        }
    }

    fn presence(&mut self, expr: &Expr, name: &str, truth: bool) -> Formula {
        match self.slot(expr, name) {
            None => Formula::False,
            Some(slot) => Formula::Is(CubeCondition::Bit(presence_bit(slot), truth)),
        }
    }

    fn slot(&mut self, expr: &Expr, name: &str) -> Option<usize> {
        let known = self.vocabulary.quantities();
        let slot = known.iter().position(|slot| slot == name);
        if slot.is_none() {
            let help = suggestion(name, known.iter().map(String::as_str));
            self.unknown(expr, format!("unknown quantity `{name}`"), help);
        }
        slot
    }

    fn always_present(&mut self, expr: &Expr, name: &str) -> Formula {
        if PolicyVocabulary::field_names().any(|known| known == name) {
            return self.unsupported(
                expr,
                &format!("`has {name}`"),
                "every field of the context is always present: leave the test out",
            );
        }
        self.unknown(expr, format!("unknown field `{name}`"), suggestion(name, PolicyVocabulary::field_names()));
        Formula::False
    }

    fn category<'e>(&mut self, uids: impl Iterator<Item = (&'e EntityUID, &'e Expr)>, truth: bool) -> Formula {
        let mut mask = 0;
        for (uid, written) in uids {
            mask |= self.category_mask(uid, written.source_loc()).unwrap_or(0);
        }
        self.enumeration(EnumerationColumn::Category, mask, truth)
    }

    /// The mask of the category that an action's uid names.
    pub(super) fn category_mask(&mut self, uid: &EntityUID, loc: Option<&Loc>) -> Option<u32> {
        let name: &str = uid.eid().as_ref();
        let position = Category::ALL.iter().position(|category| category.name() == name);
        if position.is_none() || !uid.is_action() {
            let help = suggestion(name, Category::ALL.iter().map(|category| category.name()));
            self.report(PolicyProblemKind::Name, loc, format!("unknown category `{uid}`"), "not a category", help);
            return None;
        }
        position.map(|at| bit(at) as u32)
    }

    fn enumeration(&self, column: EnumerationColumn, mask: u32, truth: bool) -> Formula {
        let declared = self.vocabulary.value_mask(column);
        Formula::Is(CubeCondition::Enumeration(column, if truth { mask } else { declared & !mask }))
    }

    fn values(&mut self, column: EnumerationColumn, values: &[Expr]) -> u32 {
        values.iter().fold(0, |mask, written| match operand(written) {
            Operand::Text(name) => mask | self.value(column, name, written).unwrap_or(0),
            other => {
                self.refuse(written, &other, GENERAL_HELP);
                mask
            }
        })
    }

    fn value(&mut self, column: EnumerationColumn, name: &str, written: &Expr) -> Option<u32> {
        let position = self.vocabulary.value_number(column, name);
        if position.is_none() {
            let field = column.name();
            let known = self.vocabulary.enumeration(column).iter().map(String::as_str);
            let help = suggestion(name, known);
            self.unknown(written, format!("`{name}` is not a value of `{field}`"), help);
        }
        position.map(|at| bit(at) as u32)
    }

    fn members(&self, column: SetColumn) -> u128 {
        self.vocabulary.member_mask(column)
    }

    fn set_members(&mut self, column: SetColumn, names: &[Expr]) -> u128 {
        names.iter().fold(0, |mask, written| match operand(written) {
            Operand::Text(name) => mask | self.member(column, name, written).unwrap_or(0),
            other => {
                self.refuse(written, &other, GENERAL_HELP);
                mask
            }
        })
    }

    fn member(&mut self, column: SetColumn, name: &str, written: &Expr) -> Option<u128> {
        let position = self.vocabulary.member_number(column, name);
        if position.is_none() {
            let of = if column == SetColumn::FieldsTouched { "field of the semantic state" } else { "class" };
            let field = column.name();
            let known = self.vocabulary.set(column).iter().map(String::as_str);
            let help = suggestion(name, known);
            self.unknown(written, format!("unknown {of} `{name}` in `{field}`"), help);
        }
        position.map(bit)
    }

    fn unknown(&mut self, expr: &Expr, message: String, help: String) {
        self.report(PolicyProblemKind::Name, expr.source_loc(), message, "not declared", help);
    }

    fn two_sided(&mut self, expr: &Expr, op: &str, left: &Operand<'_>, right: &Operand<'_>, help: &str) -> Formula {
        if left.is_field() && right.is_field() {
            let what = format!("{op} between two fields");
            return self.unsupported(
                expr,
                &what,
                "the card compares fields with constants: compare each field with a constant",
            );
        }
        let culprit = [left, right].into_iter().find(|side| !side.is_field() && !side.is_constant());
        match culprit {
            Some(side) => self.refuse(expr, side, help),
            None => self.unsupported(expr, &format!("{op} of {} and {}", describe(left), describe(right)), help),
        }
    }

    /// Reports an operand as unsupported. The advice is that of the operand, or `help` if the operand has none.
    fn refuse(&mut self, expr: &Expr, operand: &Operand<'_>, help: &str) -> Formula {
        let help = if let Operand::Other(_, remedy) = operand { remedy } else { help };
        self.unsupported(expr, &describe(operand), help)
    }

    fn unsupported(&mut self, expr: &Expr, construct: &str, help: &str) -> Formula {
        let message = format!("{construct} has no comparator row");
        self.report(PolicyProblemKind::Construct, expr.source_loc(), message, "not supported here", help.into());
        Formula::False
    }

    fn report(&mut self, kind: PolicyProblemKind, loc: Option<&Loc>, message: String, label: &str, help: String) {
        let mut problem = PolicyProblem::new(kind, message).in_rule(self.rule).help(help);
        if let Some(loc) = loc {
            problem = problem.at(place(self.file, loc), label);
        }
        self.problems.push(problem);
    }
}

const SET_HELP: &str = "write `context.classes.contains(\"name\")`, or `containsAll`, `containsAny`, `isEmpty` with a literal set of names";
const DECIMAL_HELP: &str =
    "write `context.novelty.lessThan(decimal(\"0.2500\"))` or another of the decimal comparisons";
const HAS_HELP: &str = "`has` tests a quantity: `context.quantity has NAME`";
const ARITHMETIC_HELP: &str = "rows hold constants: work the sum out and write the result";
const ENTITY_HELP: &str = "neither identity is in the descriptor: test a field of the context instead";
const GENERAL_HELP: &str =
    "compare one field of the context with a literal, and join such tests with `&&`, `||` and `!`";

const fn below(value: i64) -> (i64, i64) {
    match value.checked_sub(1) {
        Some(high) => (i64::MIN, high),
        None => NOTHING,
    }
}

const fn above(value: i64) -> (i64, i64) {
    match value.checked_add(1) {
        Some(low) => (low, i64::MAX),
        None => NOTHING,
    }
}

/// The empty range.
const NOTHING: (i64, i64) = (i64::MAX, i64::MIN);

/// Requires a value from `low` to `high` in a range column. If the bounds contain no wire value, or all wire values,
/// the result is always false or always true.
fn range(column: RangeColumn, low: i64, high: i64) -> Formula {
    let limits = column.limits();
    let (low, high) = (low.max(limits.0), high.min(limits.1));
    if low > high {
        Formula::False
    } else if (low, high) == limits {
        Formula::True
    } else {
        Formula::Is(CubeCondition::Range(column, low, high))
    }
}

fn numeric_equal(column: RangeColumn, value: i64, truth: bool) -> Formula {
    if truth {
        return range(column, value, value);
    }
    let (below, above) = (below(value), above(value));
    Formula::Any(vec![range(column, below.0, below.1), range(column, above.0, above.1)])
}

fn is(column: SetColumn, condition: SetCondition) -> Formula {
    Formula::Is(CubeCondition::Set(column, condition))
}

/// Requires at least one of `members` in the set; always false for an empty mask.
fn any(column: SetColumn, members: u128) -> Formula {
    SetCondition::any(members).map_or(Formula::False, |condition| is(column, condition))
}

/// Requires that at least one of `members` is not in the set; this needs one row per member.
fn lacks_one(column: SetColumn, members: u128) -> Formula {
    Formula::Any(bits_of(members).map(|member| is(column, SetCondition::none(1 << member))).collect())
}
