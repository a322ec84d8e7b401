//! Converts between descriptors, which cards read, and Cedar contexts, which `cedar-policy` and people read.
//!
//! In JSON, enumerations and set members are names. Fractions are decimal strings (`"0.2500"`); Cedar's form
//! `{"__extn": {"fn": "decimal", "arg": "0.2500"}}` is accepted, too. Quantities that are present are under `quantity`.

use crate::compile::decimal;
use crate::cube::presence_bit;
use crate::error::suggestion;
use crate::vocabulary::{ContextField, PolicyVocabulary, bit, bits_of};
use cedar_policy::{Context, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression};
use portcullis_core::mutation::SlotSequence;
use portcullis_core::wire::{
    BASIS_POINTS_MAX, Category, Descriptor, EnumerationColumn, FlagColumn, Granularity, Opcode, RangeColumn, RangeUnit,
    SetColumn, StageOutcome, row_bits,
};
use serde_json::{Map, Value, json};
use std::str::FromStr as _;
use zerocopy::little_endian::{I32, U16};

/// Why JSON is not a valid context, or a descriptor cannot be converted into one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextConversionError {
    #[error("{0}")]
    Json(String),
    #[error("a context is a JSON object")]
    NotAnObject,
    #[error("unknown field `{field}`: {help}")]
    UnknownField {
        field: String,
        /// The nearest known name, or the list of known names.
        help: String,
    },
    #[error("field `{0}` is missing")]
    Missing(String),
    /// A field with a value of the wrong type or out of range.
    #[error("field `{field}`: expected {expected}, found {found}")]
    Value { field: String, expected: String, found: String },
    #[error("field `{field}`: unknown name `{name}`: {help}")]
    Name {
        field: String,
        name: String,
        /// The nearest known name, or the list of known names.
        help: String,
    },
    #[error("`uncertainty` is 1.0000 where `uncertainty_known` is false")]
    UnknownUncertainty,
    #[error("the descriptor's `{field}` has the value {value}, which the policy does not declare")]
    Undeclared { field: &'static str, value: String },
    #[error("cedar: {0}")]
    Cedar(String),
}

/// Conversions under the declarations of one policy.
#[derive(Clone, Copy, Debug)]
pub struct ContextConverter<'a> {
    vocabulary: &'a PolicyVocabulary,
}

/// Treatment of fields that a context leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingFieldMode {
    Refuse,
    /// The field has the value that it has in [`ContextConverter::neutral`].
    Neutral,
}

impl<'a> ContextConverter<'a> {
    /// Conversions with the names that `vocabulary` declares.
    #[must_use]
    pub const fn new(vocabulary: &'a PolicyVocabulary) -> Self {
        Self { vocabulary }
    }

    /// The neutral descriptor: an assertion, the first declared value of every enumeration, granularity span, empty
    /// sets, zeros, unknown uncertainty, no quantities, host stages passed.
    #[must_use]
    pub fn neutral(self) -> Descriptor {
        Descriptor {
            category: Category::Assertion.into(),
            domain: self.vocabulary.first_domain(),
            granularity: Granularity::Span.into(),
            uncertainty: U16::new(BASIS_POINTS_MAX),
            validation_outcome: StageOutcome::Pass.into(),
            lineage_outcome: StageOutcome::Pass.into(),
            ..Descriptor::entry(Opcode::Gate, SlotSequence { slot: 0, sequence: 1 }, [0; 32])
        }
        .sealed()
    }

    /// The descriptor of a category and a context: a GATE entry on slot 0 with sequence 1, host stages passed, a zero
    /// commitment and a valid CRC. Errors: unknown fields or names; values of a wrong type or out of range; missing
    /// fields under [`Missing::Refuse`].
    pub fn descriptor(
        self,
        category: &str,
        context: &Value,
        missing: MissingFieldMode,
    ) -> Result<Descriptor, ContextConversionError> {
        let object = context.as_object().ok_or(ContextConversionError::NotAnObject)?;
        let mut d = self.neutral();
        d.category = self.value(EnumerationColumn::Category, category)?;
        for (name, value) in object {
            self.set_field(&mut d, name, value)?;
        }
        if missing == MissingFieldMode::Refuse
            && let Some(name) = PolicyVocabulary::field_names().find(|name| !object.contains_key(*name))
        {
            return Err(ContextConversionError::Missing(name.into()));
        }
        if d.flags & row_bits::UNCERTAINTY_KNOWN as u8 == 0 && d.uncertainty.get() != BASIS_POINTS_MAX {
            return Err(ContextConversionError::UnknownUncertainty);
        }
        Ok(d.sealed())
    }

    fn set_field(self, d: &mut Descriptor, name: &str, value: &Value) -> Result<(), ContextConversionError> {
        if name == "quantity" {
            return self.set_quantities(d, value);
        }
        match PolicyVocabulary::field(name) {
            Some(ContextField::Enumeration(column)) => {
                let text = value.as_str().ok_or_else(|| wrong(name, "a name", value))?;
                column.set_value(d, self.value(column, text)?);
            }
            Some(ContextField::Flag(flag)) => {
                let on = value.as_bool().ok_or_else(|| wrong(name, "true or false", value))?;
                d.flags = d.flags & !(1 << flag.index()) | u8::from(on) << flag.index();
            }
            Some(ContextField::Set(column)) => column.set_value(d, self.members(column, value)?),
            Some(ContextField::Range(column)) => column.set_value(d, number(column, value)?),
            None => {
                let help = suggestion(name, PolicyVocabulary::field_names());
                return Err(ContextConversionError::UnknownField { field: name.into(), help });
            }
        }
        Ok(())
    }

    fn set_quantities(self, d: &mut Descriptor, value: &Value) -> Result<(), ContextConversionError> {
        let object = value.as_object().ok_or_else(|| wrong("quantity", "an object of quantities", value))?;
        for (name, value) in object {
            let known = self.vocabulary.quantities();
            let slot =
                known.iter().position(|slot| slot == name).ok_or_else(|| ContextConversionError::UnknownField {
                    field: format!("quantity.{name}"),
                    help: suggestion(name, known.iter().map(String::as_str)),
                })?;
            let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
            let number = number.ok_or_else(|| wrong(&format!("quantity.{name}"), "a 32-bit integer", value))?;
            d.quantity_present |= 1 << slot;
            if let Some(quantity) = d.quantities.get_mut(slot) {
                *quantity = I32::new(number);
            }
        }
        Ok(())
    }

    fn value(self, column: EnumerationColumn, name: &str) -> Result<u8, ContextConversionError> {
        let number = self.vocabulary.value_number(column, name).and_then(|number| u8::try_from(number).ok());
        number.ok_or_else(|| ContextConversionError::Name {
            field: column.name().into(),
            name: name.into(),
            help: suggestion(name, self.vocabulary.enumeration(column).iter().map(String::as_str)),
        })
    }

    fn members(self, column: SetColumn, value: &Value) -> Result<u128, ContextConversionError> {
        let field = column.name();
        let list = value.as_array().ok_or_else(|| wrong(field, "an array of names", value))?;
        let known = self.vocabulary.set(column);
        list.iter().try_fold(0, |mask, member| {
            let name = member.as_str().ok_or_else(|| wrong(field, "an array of names", member))?;
            let number = self.vocabulary.member_number(column, name).ok_or_else(|| ContextConversionError::Name {
                field: field.into(),
                name: name.into(),
                help: suggestion(name, known.iter().map(String::as_str)),
            })?;
            Ok(mask | bit(number))
        })
    }

    /// The descriptor's category and its context, with every field. Errors: values that the policy does not declare.
    pub fn json(self, d: &Descriptor) -> Result<(String, Value), ContextConversionError> {
        let mut object = Map::new();
        for column in PolicyVocabulary::CONTEXT_ENUMERATIONS {
            object.insert(column.name().into(), self.name_of(*column, d)?.into());
        }
        for column in SetColumn::ALL {
            object.insert(column.name().into(), self.names_of(column, d)?.into());
        }
        for column in RangeColumn::FIELDS {
            let value = match column.unit() {
                RangeUnit::BasisPoints => json!(decimal_text(column, d)?),
                RangeUnit::Count(_) | RangeUnit::Quantity => json!(column.value(d)),
            };
            object.insert(column.name().into(), value);
        }
        for flag in FlagColumn::ALL {
            object.insert(flag.name().into(), json!(d.flags >> flag.index() & 1 == 1));
        }
        let quantities = self.present(d)?;
        object.insert("quantity".into(), quantities.into_iter().map(|(name, n)| (name.to_owned(), json!(n))).collect());
        Ok((self.name_of(EnumerationColumn::Category, d)?.to_owned(), Value::Object(object)))
    }

    /// The descriptor as a request to `cedar-policy`. Agent and stream are placeholders, because rules cannot refer to
    /// them. Errors: values that the policy does not declare.
    pub fn request(self, d: &Descriptor) -> Result<Request, ContextConversionError> {
        let text = |value: &str| RestrictedExpression::new_string(value.to_owned());
        let mut pairs = Vec::with_capacity(26);
        for column in PolicyVocabulary::CONTEXT_ENUMERATIONS {
            pairs.push((column.name().to_owned(), text(self.name_of(*column, d)?)));
        }
        for column in SetColumn::ALL {
            let members = self.names_of(column, d)?;
            pairs.push((column.name().to_owned(), RestrictedExpression::new_set(members.into_iter().map(text))));
        }
        for column in RangeColumn::FIELDS {
            let value = match column.unit() {
                RangeUnit::BasisPoints => RestrictedExpression::new_decimal(decimal_text(column, d)?),
                RangeUnit::Count(_) | RangeUnit::Quantity => RestrictedExpression::new_long(column.value(d)),
            };
            pairs.push((column.name().to_owned(), value));
        }
        for flag in FlagColumn::ALL {
            let is_set = d.flags >> flag.index() & 1 == 1;
            pairs.push((flag.name().to_owned(), RestrictedExpression::new_bool(is_set)));
        }
        let quantities = self.present(d)?.into_iter();
        let quantities =
            quantities.map(|(name, number)| (name.to_owned(), RestrictedExpression::new_long(number.into())));
        let cedar = |error: String| ContextConversionError::Cedar(error);
        let record = RestrictedExpression::new_record(quantities).map_err(|error| cedar(error.to_string()))?;
        pairs.push(("quantity".to_owned(), record));
        let context = Context::from_pairs(pairs).map_err(|error| cedar(error.to_string()))?;
        let entity = |kind: &str, id: &str| {
            let kind = EntityTypeName::from_str(kind).map_err(|error| cedar(error.to_string()))?;
            Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
        };
        let action = entity("Action", self.name_of(EnumerationColumn::Category, d)?)?;
        Request::new(entity("Agent", "agent")?, action, entity("Stream", "stream")?, context, None)
            .map_err(|error| cedar(error.to_string()))
    }

    fn name_of(self, column: EnumerationColumn, d: &Descriptor) -> Result<&'a str, ContextConversionError> {
        let value = column.value(d);
        let name = self.vocabulary.value_name(column, value.into());
        name.ok_or_else(|| ContextConversionError::Undeclared { field: column.name(), value: value.to_string() })
    }

    fn names_of(self, column: SetColumn, d: &Descriptor) -> Result<Vec<&'a str>, ContextConversionError> {
        let mask = column.value(d);
        let undeclared = || ContextConversionError::Undeclared { field: column.name(), value: format!("{mask:#x}") };
        bits_of(mask).map(|number| self.vocabulary.member_name(column, number).ok_or_else(undeclared)).collect()
    }

    fn present(self, d: &Descriptor) -> Result<Vec<(&'a str, i32)>, ContextConversionError> {
        let undeclared =
            || ContextConversionError::Undeclared { field: "quantity", value: format!("{:#06b}", d.quantity_present) };
        let slots = bits_of(d.quantity_present.into());
        slots
            .map(|slot| {
                let name = self.vocabulary.quantities().get(slot).ok_or_else(undeclared)?;
                let value = d.quantities.get(slot).ok_or_else(undeclared)?;
                Ok((name.as_str(), value.get()))
            })
            .collect()
    }
}

fn wrong(field: &str, expected: &str, found: &Value) -> ContextConversionError {
    ContextConversionError::Value { field: field.into(), expected: expected.into(), found: found.to_string() }
}

fn number(column: RangeColumn, value: &Value) -> Result<i64, ContextConversionError> {
    let (least, greatest) = column.limits();
    let is_within = |number: &i64| (least..=greatest).contains(number);
    match column.unit() {
        RangeUnit::Count(_) | RangeUnit::Quantity => {
            let expected = || format!("an integer from {least} to {greatest}");
            value.as_i64().filter(is_within).ok_or_else(|| wrong(column.name(), &expected(), value))
        }
        RangeUnit::BasisPoints => {
            // Cedar writes `{"__extn": {"fn": "decimal", "arg": …}}`; the inner object alone is accepted, too.
            let call = value.get("__extn").unwrap_or(value);
            let argument = match (call.get("fn").and_then(Value::as_str), call.get("arg")) {
                (Some("decimal"), Some(argument)) => argument,
                _ => value,
            };
            let points = argument.as_str().and_then(decimal).filter(is_within);
            let expected = "a decimal from \"0.0000\" to \"1.0000\", as a string";
            points.ok_or_else(|| wrong(column.name(), expected, value))
        }
    }
}

fn decimal_text(column: RangeColumn, d: &Descriptor) -> Result<String, ContextConversionError> {
    let (points, one) = (column.value(d), i64::from(BASIS_POINTS_MAX));
    if points > one {
        return Err(ContextConversionError::Undeclared { field: column.name(), value: points.to_string() });
    }
    Ok(format!("{}.{:04}", points / one, points % one))
}

const _: () = assert!(presence_bit(0) == row_bits::QUANTITY_BIT as usize);
