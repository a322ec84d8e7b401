//! The operands of a comparison: a field, a constant, or a construct that rows cannot express.

use crate::vocabulary::{ContextField, PolicyVocabulary};
use cedar_policy_core::ast::{BinaryOp, EntityUID, Expr, ExprKind, Literal, UnaryOp, Var};
use portcullis_core::wire::RangeUnit;

/// One side of an operator.
#[derive(Clone, Debug)]
pub(super) enum Operand<'a> {
    Field(ContextField),
    Quantity(&'a str),
    Quantities,
    Context,
    Action,
    Bool(bool),
    Long(i64),
    /// A decimal number in units of 1/10000.
    Decimal(i64),
    Text(&'a str),
    Entity(&'a EntityUID),
    Set(&'a [Expr]),
    /// Any other construct: its description, and advice.
    Other(&'static str, &'static str),
}

/// The side of a comparison on which the field is.
#[derive(Clone, Copy)]
pub(super) enum ComparisonSide {
    Left,
    Right,
}

impl Operand<'_> {
    pub(super) const fn is_field(&self) -> bool {
        matches!(self, Self::Field(_) | Self::Quantity(_) | Self::Action)
    }

    pub(super) const fn is_constant(&self) -> bool {
        matches!(
            self,
            Self::Bool(_) | Self::Long(_) | Self::Decimal(_) | Self::Text(_) | Self::Entity(_) | Self::Set(_)
        )
    }

    /// The constant in the wire unit of a range; `None` if the types differ.
    pub(super) const fn number(&self, unit: RangeUnit) -> Option<i64> {
        match (self, unit) {
            (Self::Long(value), RangeUnit::Count(_) | RangeUnit::Quantity)
            | (Self::Decimal(value), RangeUnit::BasisPoints) => Some(*value),
            _ => None,
        }
    }
}

pub(super) fn operand(expr: &Expr) -> Operand<'_> {
    match expr.expr_kind() {
        ExprKind::Lit(Literal::Bool(value)) => Operand::Bool(*value),
        ExprKind::Lit(Literal::Long(value)) => Operand::Long(*value),
        ExprKind::Lit(Literal::String(value)) => Operand::Text(value),
        ExprKind::Lit(Literal::EntityUID(uid)) => Operand::Entity(uid),
        ExprKind::Set(elements) => Operand::Set(elements),
        ExprKind::Var(Var::Action) => Operand::Action,
        ExprKind::Var(Var::Context) => Operand::Context,
        ExprKind::Var(Var::Principal | Var::Resource) => Operand::Other("a test of a principal or resource", ENTITY),
        ExprKind::UnaryApp { op: UnaryOp::Neg, arg } => match arg.expr_kind() {
            ExprKind::Lit(Literal::Long(value)) => value.checked_neg().map_or(ARITHMETIC, Operand::Long),
            _ => ARITHMETIC,
        },
        ExprKind::ExtensionFunctionApp { fn_name, args } if fn_name.to_string() == "decimal" => {
            match args.first().map(Expr::expr_kind) {
                Some(ExprKind::Lit(Literal::String(text))) => decimal(text).map_or(OTHER, Operand::Decimal),
                _ => OTHER,
            }
        }
        ExprKind::GetAttr { expr, attr } => match operand(expr) {
            Operand::Context if attr == "quantity" => Operand::Quantities,
            Operand::Context => PolicyVocabulary::field(attr).map_or(OTHER, Operand::Field),
            Operand::Quantities => Operand::Quantity(attr),
            Operand::Other(..) | Operand::Entity(_) | Operand::Action => Operand::Other("an entity attribute", ENTITY),
            _ => OTHER,
        },
        ExprKind::BinaryApp { op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, .. } => ARITHMETIC,
        ExprKind::UnaryApp { op: UnaryOp::Not | UnaryOp::IsEmpty, .. }
        | ExprKind::BinaryApp { .. }
        | ExprKind::And { .. }
        | ExprKind::Or { .. } => Operand::Other(
            "a comparison inside a comparison",
            "join tests with `&&`, `||` and `!` instead of comparing them",
        ),
        ExprKind::If { .. } => Operand::Other("`if`", "write `a && b || !a && c` for `if a then b else c`"),
        ExprKind::Like { .. } => Operand::Other(
            "`like`",
            "patterns belong to classes: give a class in policy.toml a `pattern`, and test `context.classes.contains(…)`",
        ),
        ExprKind::Is { .. } => {
            Operand::Other("`is` in a condition", "write `is` in the scope: `permit(principal is Agent, …)`")
        }
        ExprKind::Slot(_) => Operand::Other("a template slot", "write a rule for each case: templates are not linked"),
        ExprKind::Record(_) => Operand::Other("a record", "compare single fields with constants"),
        ExprKind::HasAttr { .. } | ExprKind::ExtHasAttr { .. } => {
            Operand::Other("`has` inside a comparison", "a `has` is a test by itself: join it with `&&`")
        }
        ExprKind::ExtensionFunctionApp { .. } => Operand::Other(
            "an extension function other than the decimal comparisons",
            "compare decimals with `lessThan`, `lessThanOrEqual`, `greaterThan`, `greaterThanOrEqual`, `==` or `!=`",
        ),
        ExprKind::Unknown(_) => OTHER,
    }
}

const ENTITY: &str = "neither identity is in the descriptor: test a field of the context instead";
const ARITHMETIC: Operand<'static> =
    Operand::Other("arithmetic", "rows hold constants: work the sum out and write the result");
const OTHER: Operand<'static> = Operand::Other(
    "this expression",
    "compare one field of the context with a literal, and join such tests with `&&`, `||` and `!`",
);

pub(super) fn describe(operand: &Operand<'_>) -> String {
    match operand {
        Operand::Field(field) => format!("`context.{}`", field.name()),
        Operand::Quantity(name) => format!("`context.quantity.{name}`"),
        Operand::Quantities => "the whole record `context.quantity`".into(),
        Operand::Context => "the whole `context`".into(),
        Operand::Action => "`action`".into(),
        Operand::Bool(value) => format!("`{value}`"),
        Operand::Long(value) => format!("`{value}`"),
        Operand::Decimal(_) => "a decimal".into(),
        Operand::Text(text) => format!("`\"{}\"`", text.escape_debug()),
        Operand::Entity(uid) => format!("`{uid}`"),
        Operand::Set(_) => "a literal set".into(),
        Operand::Other(what, _) => (*what).into(),
    }
}

/// Parses a Cedar decimal (optional `-`, digits, `.`, 1 to 4 digits) into units of 1/10000.
pub(crate) fn decimal(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.')?;
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || fraction.len() > 4 {
        return None;
    }
    let magnitude = format!("{whole}{fraction:0<4}").parse::<i128>().ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}
