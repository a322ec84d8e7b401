//! Random Cedar conditions: one generator per line of the lowering table, with a count of its uses.

use super::{Constants, Coverage};
use crate::random::Random;
use portcullis_core::wire::{EnumerationColumn, FlagColumn, RangeColumn, RangeUnit, SetColumn};
use portcullis_policy::vocabulary::PolicyVocabulary;
use std::fmt::Write as _;

macro_rules! constructs {
    ($($name:ident),* $(,)?) => {
        /// A construct that rules can be written with.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Construct { $($name),* }

        impl Construct {
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

constructs! {
    EnumEqual, EnumNotEqual, EnumEqualFlipped, EnumListed, EnumNotListed,
    LongLess, LongLessEqual, LongGreater, LongGreaterEqual, LongEqual, LongNotEqual, LongFlipped,
    DecimalLess, DecimalLessEqual, DecimalGreater, DecimalGreaterEqual, DecimalEqual, DecimalNotEqual, DecimalFlipped,
    OutsideWireRange,
    Contains, NotContains, ContainsAll, NotContainsAll, ContainsAny, NotContainsAny, ContainsAnyFlipped, TwoContainsAny,
    IsEmpty, NotIsEmpty, LiteralContainsAll, NotLiteralContainsAll, SetEqual, SetNotEqual, SetEqualFlipped,
    HasQuantity, NotHasQuantity, HasPath, QuantityLess, QuantityLessEqual, QuantityGreater, QuantityGreaterEqual,
    QuantityEqual, QuantityNotEqual, QuantityNegated,
    Flag, NotFlag, FlagEqual, FlagNotEqual, Literal,
    ActionEqual, ActionNotEqual, ActionIn, ActionInSet, NotActionIn,
    ScopeActionEqual, ScopeActionIn, ScopeActionInOne, ScopePrincipalIs, ScopeResourceIs,
    And, Or, Not, Unless, SeveralClauses, NoClause,
    Permit, ForbidReject, ForbidRejectByDefault, ForbidDecompose, EntropyReject, EntropyDecompose, StagePolicy, Reason,
}

pub(super) struct Writer<'a> {
    pub(super) random: &'a mut Random,
    pub(super) vocabulary: &'a PolicyVocabulary,
    pub(super) coverage: &'a mut Coverage,
    pub(super) constants: &'a mut Constants,
}

impl Writer<'_> {
    pub(super) fn used(&mut self, construct: Construct) {
        *self.coverage.entry(construct).or_default() += 1;
    }

    /// A condition with at most `depth` levels of `&&`, `||` and `!`.
    pub(super) fn condition(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.chance(1, 4) {
            return self.atom();
        }
        match self.random.below(7) {
            0..=2 => {
                self.used(Construct::And);
                format!("({} && {})", self.condition(depth - 1), self.condition(depth - 1))
            }
            3..=5 => {
                self.used(Construct::Or);
                format!("({} || {})", self.condition(depth - 1), self.condition(depth - 1))
            }
            _ => {
                self.used(Construct::Not);
                format!("!({})", self.condition(depth - 1))
            }
        }
    }

    fn atom(&mut self) -> String {
        let quantities = self.vocabulary.quantities().len();
        match self.random.below(16) {
            0 | 1 => self.enumeration(),
            2 | 3 => self.long(),
            4 | 5 => self.decimal(),
            6..=9 => self.set(),
            10..=12 if quantities > 0 => self.quantity(),
            13 => self.flag(),
            14 => self.action(),
            15 if self.random.chance(1, 3) => {
                self.used(Construct::Literal);
                // A literal alone would usually make the whole rule impossible, so it is combined with atoms.
                let (left, right) = (self.atom(), self.atom());
                let neutral = *self.random.pick(&["&& true", "|| false", "&& !false"]);
                format!("(({left}) {neutral} || {right})")
            }
            _ => self.enumeration(),
        }
    }

    fn text(&mut self, names: &[String]) -> String {
        format!("\"{}\"", self.random.pick(names))
    }

    fn enumeration(&mut self) -> String {
        let column = *self.random.pick(PolicyVocabulary::CONTEXT_ENUMERATIONS);
        let field = format!("context.{}", column.name());
        let names = self.vocabulary.enumeration(column);
        let value = self.text(names);
        let kinds = [
            Construct::EnumEqual,
            Construct::EnumNotEqual,
            Construct::EnumEqualFlipped,
            Construct::EnumListed,
            Construct::EnumNotListed,
        ];
        let kind = *self.random.pick(&kinds);
        self.used(kind);
        let list = |writer: &mut Self| {
            let values: Vec<_> = (0..1 + writer.random.below(4)).map(|_| writer.text(names)).collect();
            format!("[{}].contains({field})", values.join(", "))
        };
        match kind {
            Construct::EnumEqual => format!("{field} == {value}"),
            Construct::EnumNotEqual => format!("{field} != {value}"),
            Construct::EnumEqualFlipped => format!("{value} == {field}"),
            Construct::EnumListed => list(self),
            _ => format!("!{}", list(self)),
        }
    }

    /// A constant near an end of the range, inside it, or outside it.
    fn constant(&mut self, column: RangeColumn, (low, high): (i64, i64)) -> i64 {
        let value = match self.random.below(8) {
            0 => low,
            1 => high,
            2 => low.saturating_add(1),
            3 => high.saturating_sub(1),
            4 => {
                self.used(Construct::OutsideWireRange);
                let beyond = self.random.between(1, 5000);
                if self.random.chance(1, 2) { low.saturating_sub(beyond) } else { high.saturating_add(beyond) }
            }
            _ => self.random.between(low, high),
        };
        self.constants.ranges[column.index()].push(value);
        value
    }

    fn long(&mut self) -> String {
        let fields = RangeColumn::FIELDS.into_iter();
        let longs: Vec<_> = fields.filter(|column| matches!(column.unit(), RangeUnit::Count(_))).collect();
        let column = *self.random.pick(&longs);
        let (name, constant) = (column.name(), self.constant(column, column.limits()));
        if self.random.chance(1, 6) {
            self.used(Construct::LongFlipped);
            let op = *self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
            return format!("{constant} {op} context.{name}");
        }
        let kinds = [
            (Construct::LongLess, "<"),
            (Construct::LongLessEqual, "<="),
            (Construct::LongGreater, ">"),
            (Construct::LongGreaterEqual, ">="),
            (Construct::LongEqual, "=="),
            (Construct::LongNotEqual, "!="),
        ];
        let (kind, op) = *self.random.pick(&kinds);
        self.used(kind);
        format!("context.{name} {op} {constant}")
    }

    fn decimal(&mut self) -> String {
        let column = *self.random.pick(&RangeColumn::FRACTIONS);
        let (name, value) = (column.name(), self.constant(column, column.limits()));
        let sign = if value < 0 { "-" } else { "" };
        let points = value.unsigned_abs();
        let mut digits = format!("{:04}", points % 10_000);
        while digits.len() > 1 && digits.ends_with('0') && self.random.chance(1, 2) {
            digits.pop();
        }
        let literal = format!("decimal(\"{sign}{}.{digits}\")", points / 10_000);
        let methods = [
            (Construct::DecimalLess, "lessThan"),
            (Construct::DecimalLessEqual, "lessThanOrEqual"),
            (Construct::DecimalGreater, "greaterThan"),
            (Construct::DecimalGreaterEqual, "greaterThanOrEqual"),
        ];
        match self.random.below(7) {
            0 => {
                self.used(Construct::DecimalEqual);
                format!("context.{name} == {literal}")
            }
            1 => {
                self.used(Construct::DecimalNotEqual);
                format!("context.{name} != {literal}")
            }
            2 => {
                self.used(Construct::DecimalFlipped);
                format!("{literal}.{}(context.{name})", self.random.pick(&methods).1)
            }
            _ => {
                let (kind, method) = *self.random.pick(&methods);
                self.used(kind);
                format!("context.{name}.{method}({literal})")
            }
        }
    }

    /// A literal set of one to five members of a column.
    fn members(&mut self, column: SetColumn) -> String {
        let names = self.vocabulary.set(column);
        let (mut mask, mut listed) = (0u128, Vec::new());
        for _ in 0..1 + self.random.below(5) {
            let at = self.random.below(names.len());
            mask |= 1 << at;
            listed.push(format!("\"{}\"", names[at]));
        }
        self.constants.sets[column.index()].push(mask);
        format!("[{}]", listed.join(", "))
    }

    fn set(&mut self) -> String {
        let has_classes = !self.vocabulary.set(SetColumn::Classes).is_empty();
        let column = if has_classes { *self.random.pick(&SetColumn::ALL) } else { SetColumn::FieldsTouched };
        let field = format!("context.{}", column.name());
        let names = self.vocabulary.set(column);
        let kinds = [
            Construct::Contains,
            Construct::NotContains,
            Construct::ContainsAll,
            Construct::NotContainsAll,
            Construct::ContainsAny,
            Construct::NotContainsAny,
            Construct::ContainsAnyFlipped,
            Construct::TwoContainsAny,
            Construct::IsEmpty,
            Construct::NotIsEmpty,
            Construct::LiteralContainsAll,
            Construct::NotLiteralContainsAll,
            Construct::SetEqual,
            Construct::SetNotEqual,
            Construct::SetEqualFlipped,
        ];
        let kind = *self.random.pick(&kinds);
        self.used(kind);
        match kind {
            Construct::Contains => format!("{field}.contains({})", self.text(names)),
            Construct::NotContains => format!("!{field}.contains({})", self.text(names)),
            Construct::ContainsAll => format!("{field}.containsAll({})", self.members(column)),
            Construct::NotContainsAll => format!("!{field}.containsAll({})", self.members(column)),
            Construct::ContainsAny => format!("{field}.containsAny({})", self.members(column)),
            Construct::NotContainsAny => format!("!{field}.containsAny({})", self.members(column)),
            Construct::ContainsAnyFlipped => format!("{}.containsAny({field})", self.members(column)),
            Construct::TwoContainsAny => {
                let (a, b) = (self.members(column), self.members(column));
                format!("({field}.containsAny({a}) && {field}.containsAny({b}))")
            }
            Construct::IsEmpty => format!("{field}.isEmpty()"),
            Construct::NotIsEmpty => format!("!{field}.isEmpty()"),
            Construct::LiteralContainsAll => format!("{}.containsAll({field})", self.members(column)),
            Construct::NotLiteralContainsAll => format!("!{}.containsAll({field})", self.members(column)),
            Construct::SetEqual => format!("{field} == {}", self.members(column)),
            Construct::SetNotEqual => format!("{field} != {}", self.members(column)),
            _ => format!("{} == {field}", self.members(column)),
        }
    }

    fn quantity(&mut self) -> String {
        let slot = self.random.below(self.vocabulary.quantities().len());
        let name = &self.vocabulary.quantities()[slot];
        let has = format!("context.quantity has {name}");
        let bounds = [
            (Construct::QuantityLess, "<"),
            (Construct::QuantityLessEqual, "<="),
            (Construct::QuantityGreater, ">"),
            (Construct::QuantityGreaterEqual, ">="),
            (Construct::QuantityEqual, "=="),
            (Construct::QuantityNotEqual, "!="),
        ];
        match self.random.below(8) {
            0 => {
                self.used(Construct::HasQuantity);
                format!("({has})")
            }
            1 => {
                self.used(Construct::NotHasQuantity);
                format!("!({has})")
            }
            choice => {
                let guard = if choice == 2 {
                    self.used(Construct::HasPath);
                    format!("context has quantity.{name}")
                } else {
                    has
                };
                let (kind, op) = *self.random.pick(&bounds);
                self.used(kind);
                let constant = self.constant(RangeColumn::SLOTS[slot], RangeColumn::SLOTS[slot].limits());
                let mut text = String::new();
                let negated = self.random.chance(1, 4);
                if negated {
                    self.used(Construct::QuantityNegated);
                }
                let bound = format!("context.quantity.{name} {op} {constant}");
                let bound = if negated && self.random.chance(1, 2) { format!("!({bound})") } else { bound };
                let _ = write!(text, "({guard} && {bound})");
                if negated { format!("!{text}") } else { text }
            }
        }
    }

    fn flag(&mut self) -> String {
        let field = format!("context.{}", self.random.pick(&FlagColumn::NAMES));
        let kind =
            *self.random.pick(&[Construct::Flag, Construct::NotFlag, Construct::FlagEqual, Construct::FlagNotEqual]);
        self.used(kind);
        let value = self.random.chance(1, 2);
        match kind {
            Construct::Flag => field,
            Construct::NotFlag => format!("!{field}"),
            Construct::FlagEqual => format!("{field} == {value}"),
            _ => format!("{value} != {field}"),
        }
    }

    pub(super) fn category(&mut self) -> String {
        format!("Action::{}", self.text(self.vocabulary.enumeration(EnumerationColumn::Category)))
    }

    pub(super) fn categories(&mut self) -> String {
        let listed: Vec<_> = (0..1 + self.random.below(4)).map(|_| self.category()).collect();
        format!("[{}]", listed.join(", "))
    }

    fn action(&mut self) -> String {
        let kinds = [
            Construct::ActionEqual,
            Construct::ActionNotEqual,
            Construct::ActionIn,
            Construct::ActionInSet,
            Construct::NotActionIn,
        ];
        let kind = *self.random.pick(&kinds);
        self.used(kind);
        match kind {
            Construct::ActionEqual => format!("action == {}", self.category()),
            Construct::ActionNotEqual => format!("action != {}", self.category()),
            Construct::ActionIn => format!("action in {}", self.category()),
            Construct::ActionInSet => format!("action in {}", self.categories()),
            _ => format!("!(action in {})", self.categories()),
        }
    }
}
