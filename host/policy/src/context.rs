//! Converts between descriptors, which cards read, and Cedar contexts, which `cedar-policy` and people read.
//!
//! In JSON, enumerations and set members are names. Fractions are decimal strings (`"0.2500"`); Cedar's form
//! `{"__extn": {"fn": "decimal", "arg": "0.2500"}}` is accepted, too. Quantities that are present are under `quantity`.

use crate::compile::decimal;
use crate::cube::presence_bit;
use crate::error::suggestion;
use crate::vocabulary::{ENUMERATIONS, FLAGS, Field, RANGES, SETS, Unit, Vocabulary, bit, bits_of};
use cedar_policy::{Context, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression};
use portcullis_core::mutation::Place;
use portcullis_core::wire::{
    BASIS_POINTS_MAX, Category, Descriptor, Granularity, Opcode, QUANTITY_SLOTS, StageOutcome, row_bits,
};
use serde_json::{Map, Value, json};
use std::str::FromStr as _;
use zerocopy::little_endian::{I32, U16, U128};

/// Why JSON is not a valid context, or a descriptor cannot be converted into one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
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
pub struct Contexts<'a> {
    vocabulary: &'a Vocabulary,
}

/// Treatment of fields that a context leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Refuse,
    /// The field has the value that it has in [`Contexts::neutral`].
    Neutral,
}

impl<'a> Contexts<'a> {
    /// Conversions with the names that `vocabulary` declares.
    #[must_use]
    pub const fn new(vocabulary: &'a Vocabulary) -> Self {
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
            ..Descriptor::entry(Opcode::Gate, Place { slot: 0, sequence: 1 }, [0; 32])
        }
        .sealed()
    }

    /// The descriptor of a category and a context: a GATE entry on slot 0 with sequence 1, host stages passed, a zero
    /// commitment and a valid CRC. Errors: unknown fields or names; values of a wrong type or out of range; missing
    /// fields under [`Missing::Refuse`].
    pub fn descriptor(self, category: &str, context: &Value, missing: Missing) -> Result<Descriptor, ContextError> {
        let object = context.as_object().ok_or(ContextError::NotAnObject)?;
        let mut d = self.neutral();
        d.category = self.value("category", 0, category)?;
        for (name, value) in object {
            self.set_field(&mut d, name, value)?;
        }
        if missing == Missing::Refuse
            && let Some(name) = Vocabulary::field_names().find(|name| !object.contains_key(*name))
        {
            return Err(ContextError::Missing(name.into()));
        }
        if d.flags & row_bits::UNCERTAINTY_KNOWN as u8 == 0 && d.uncertainty.get() != BASIS_POINTS_MAX {
            return Err(ContextError::UnknownUncertainty);
        }
        Ok(d.sealed())
    }

    fn set_field(self, d: &mut Descriptor, name: &str, value: &Value) -> Result<(), ContextError> {
        if name == "quantity" {
            return self.set_quantities(d, value);
        }
        match Vocabulary::field(name) {
            Some(Field::Enumeration(column)) => {
                let text = value.as_str().ok_or_else(|| wrong(name, "a name", value))?;
                let index = self.value(name, column, text)?;
                match column {
                    1 => d.granularity = index,
                    2 => d.epistemic = index,
                    3 => d.anchor = index,
                    4 => d.temporal = index,
                    5 => d.domain = index,
                    6 => d.audience = index,
                    _ => d.register = index,
                }
            }
            Some(Field::Flag(flag)) => {
                let on = value.as_bool().ok_or_else(|| wrong(name, "true or false", value))?;
                d.flags = d.flags & !(1 << flag) | u8::from(on) << flag;
            }
            Some(Field::Set(column)) => {
                let mask = self.members(name, column, value)?;
                match column {
                    0 => d.fields_touched = mask as u8,
                    1 => d.classes = U128::new(mask),
                    _ => d.established = U128::new(mask),
                }
            }
            Some(Field::Range(column, unit)) => {
                let number = number(name, unit, value)?;
                match column {
                    0 => d.depth = number as u8,
                    1 => d.alternatives = number as u8,
                    2 => d.correction = number as u8,
                    3 => d.novelty = U16::new(number),
                    4 => d.uncertainty = U16::new(number),
                    5 => d.certainty = U16::new(number),
                    6 => d.content_deviation = U16::new(number),
                    7 => d.certainty_divergence = U16::new(number),
                    8 => d.register_divergence = U16::new(number),
                    9 => d.trust_slope = U16::new(number),
                    _ => d.length = U16::new(number),
                }
            }
            None => {
                let help = suggestion(name, Vocabulary::field_names());
                return Err(ContextError::UnknownField { field: name.into(), help });
            }
        }
        Ok(())
    }

    fn set_quantities(self, d: &mut Descriptor, value: &Value) -> Result<(), ContextError> {
        let object = value.as_object().ok_or_else(|| wrong("quantity", "an object of quantities", value))?;
        for (name, value) in object {
            let known = self.vocabulary.quantities();
            let slot = known.iter().position(|slot| slot == name).ok_or_else(|| ContextError::UnknownField {
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

    fn value(self, field: &str, column: usize, name: &str) -> Result<u8, ContextError> {
        let number = self.vocabulary.value_number(column, name).and_then(|number| u8::try_from(number).ok());
        number.ok_or_else(|| ContextError::Name {
            field: field.into(),
            name: name.into(),
            help: suggestion(name, self.vocabulary.enumeration(column).iter().map(String::as_str)),
        })
    }

    fn members(self, field: &str, column: usize, value: &Value) -> Result<u128, ContextError> {
        let list = value.as_array().ok_or_else(|| wrong(field, "an array of names", value))?;
        let known = self.vocabulary.set(column);
        list.iter().try_fold(0, |mask, member| {
            let name = member.as_str().ok_or_else(|| wrong(field, "an array of names", member))?;
            let number = self.vocabulary.member_number(column, name).ok_or_else(|| ContextError::Name {
                field: field.into(),
                name: name.into(),
                help: suggestion(name, known.iter().map(String::as_str)),
            })?;
            Ok(mask | bit(number))
        })
    }

    /// The descriptor's category and its context, with every field. Errors: values that the policy does not declare.
    pub fn json(self, d: &Descriptor) -> Result<(String, Value), ContextError> {
        let mut object = Map::new();
        let values = enumeration_values(d);
        for (column, (name, value)) in ENUMERATIONS.into_iter().zip(values).enumerate().skip(1) {
            object.insert(name.into(), self.name_of(name, column, value)?.into());
        }
        for (column, (name, mask)) in SETS.into_iter().zip(set_values(d)).enumerate() {
            object.insert(name.into(), self.names_of(name, column, mask)?.into());
        }
        for ((name, unit), number) in RANGES.into_iter().zip(range_values(d)) {
            let value = match unit {
                Unit::Count(_) => json!(number),
                Unit::BasisPoints => json!(decimal_text(name, number)?),
            };
            object.insert(name.into(), value);
        }
        for (flag, name) in FLAGS.into_iter().enumerate() {
            object.insert(name.into(), json!(d.flags >> flag & 1 == 1));
        }
        let quantities = self.present(d)?;
        object.insert("quantity".into(), quantities.into_iter().map(|(name, n)| (name.to_owned(), json!(n))).collect());
        let [category, ..] = values;
        Ok((self.name_of("category", 0, category)?.to_owned(), Value::Object(object)))
    }

    /// The descriptor as a request to `cedar-policy`. Agent and stream are placeholders, because rules cannot refer to
    /// them. Errors: values that the policy does not declare.
    pub fn request(self, d: &Descriptor) -> Result<Request, ContextError> {
        let text = |value: &str| RestrictedExpression::new_string(value.to_owned());
        let mut pairs = Vec::with_capacity(26);
        let values = enumeration_values(d);
        for (column, (name, value)) in ENUMERATIONS.into_iter().zip(values).enumerate().skip(1) {
            pairs.push((name.to_owned(), text(self.name_of(name, column, value)?)));
        }
        for (column, (name, mask)) in SETS.into_iter().zip(set_values(d)).enumerate() {
            let members = self.names_of(name, column, mask)?;
            pairs.push((name.to_owned(), RestrictedExpression::new_set(members.into_iter().map(text))));
        }
        for ((name, unit), number) in RANGES.into_iter().zip(range_values(d)) {
            let value = match unit {
                Unit::Count(_) => RestrictedExpression::new_long(number.into()),
                Unit::BasisPoints => RestrictedExpression::new_decimal(decimal_text(name, number)?),
            };
            pairs.push((name.to_owned(), value));
        }
        for (flag, name) in FLAGS.into_iter().enumerate() {
            pairs.push((name.to_owned(), RestrictedExpression::new_bool(d.flags >> flag & 1 == 1)));
        }
        let quantities = self.present(d)?.into_iter();
        let quantities =
            quantities.map(|(name, number)| (name.to_owned(), RestrictedExpression::new_long(number.into())));
        let cedar = |error: String| ContextError::Cedar(error);
        let record = RestrictedExpression::new_record(quantities).map_err(|error| cedar(error.to_string()))?;
        pairs.push(("quantity".to_owned(), record));
        let context = Context::from_pairs(pairs).map_err(|error| cedar(error.to_string()))?;
        let entity = |kind: &str, id: &str| {
            let kind = EntityTypeName::from_str(kind).map_err(|error| cedar(error.to_string()))?;
            Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
        };
        let [category, ..] = values;
        let action = entity("Action", self.name_of("category", 0, category)?)?;
        Request::new(entity("Agent", "agent")?, action, entity("Stream", "stream")?, context, None)
            .map_err(|error| cedar(error.to_string()))
    }

    fn name_of(self, field: &'static str, column: usize, value: u8) -> Result<&'a str, ContextError> {
        let name = self.vocabulary.value_name(column, value.into());
        name.ok_or_else(|| ContextError::Undeclared { field, value: value.to_string() })
    }

    fn names_of(self, field: &'static str, column: usize, mask: u128) -> Result<Vec<&'a str>, ContextError> {
        let undeclared = || ContextError::Undeclared { field, value: format!("{mask:#x}") };
        bits_of(mask).map(|number| self.vocabulary.member_name(column, number).ok_or_else(undeclared)).collect()
    }

    fn present(self, d: &Descriptor) -> Result<Vec<(&'a str, i32)>, ContextError> {
        let undeclared =
            || ContextError::Undeclared { field: "quantity", value: format!("{:#06b}", d.quantity_present) };
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

fn wrong(field: &str, expected: &str, found: &Value) -> ContextError {
    ContextError::Value { field: field.into(), expected: expected.into(), found: found.to_string() }
}

fn number(field: &str, unit: Unit, value: &Value) -> Result<u16, ContextError> {
    match unit {
        Unit::Count(last) => {
            let number = value.as_i64().filter(|number| (0..=last).contains(number));
            let number = number.and_then(|number| u16::try_from(number).ok());
            number.ok_or_else(|| wrong(field, &format!("an integer from 0 to {last}"), value))
        }
        Unit::BasisPoints => {
            // Cedar writes `{"__extn": {"fn": "decimal", "arg": …}}`; the inner object alone is accepted, too.
            let call = value.get("__extn").unwrap_or(value);
            let argument = match (call.get("fn").and_then(Value::as_str), call.get("arg")) {
                (Some("decimal"), Some(argument)) => argument,
                _ => value,
            };
            let points = argument.as_str().and_then(decimal).filter(|n| (0..=i64::from(BASIS_POINTS_MAX)).contains(n));
            let points = points.and_then(|number| u16::try_from(number).ok());
            points.ok_or_else(|| wrong(field, "a decimal from \"0.0000\" to \"1.0000\", as a string", value))
        }
    }
}

fn decimal_text(field: &'static str, points: u16) -> Result<String, ContextError> {
    if points > BASIS_POINTS_MAX {
        return Err(ContextError::Undeclared { field, value: points.to_string() });
    }
    Ok(format!("{}.{:04}", points / BASIS_POINTS_MAX, points % BASIS_POINTS_MAX))
}

fn enumeration_values(d: &Descriptor) -> [u8; 8] {
    [d.category, d.granularity, d.epistemic, d.anchor, d.temporal, d.domain, d.audience, d.register]
}

fn set_values(d: &Descriptor) -> [u128; 3] {
    [d.fields_touched.into(), d.classes.get(), d.established.get()]
}

fn range_values(d: &Descriptor) -> [u16; RANGES.len()] {
    [
        d.depth.into(),
        d.alternatives.into(),
        d.correction.into(),
        d.novelty.get(),
        d.uncertainty.get(),
        d.certainty.get(),
        d.content_deviation.get(),
        d.certainty_divergence.get(),
        d.register_divergence.get(),
        d.trust_slope.get(),
        d.length.get(),
    ]
}

const _: () = assert!(presence_bit(QUANTITY_SLOTS) == 6);
