//! `policy eval`: reads one Cedar context per line; the JSON object of a line also has the key `"category"`.

use crate::context::{ContextConversionError, ContextConverter, MissingFieldMode};
use crate::error::json_problem;
use portcullis_core::wire::Descriptor;
use serde_json::Value;

/// The descriptor for a line. Missing fields get neutral values; unknown fields are errors. The host stages count as
/// passed. Errors: the line is not JSON, or not a context of this policy.
pub fn eval_line(contexts: ContextConverter<'_>, line: &str) -> Result<Descriptor, ContextConversionError> {
    let mut value: Value =
        serde_json::from_str(line).map_err(|error| ContextConversionError::Json(json_problem(&error)))?;
    let object = value.as_object_mut().ok_or(ContextConversionError::NotAnObject)?;
    let category = object.remove("category").ok_or_else(|| ContextConversionError::Missing("category".into()))?;
    let category = category.as_str().map(str::to_owned).ok_or_else(|| ContextConversionError::Value {
        field: "category".into(),
        expected: "a name".into(),
        found: category.to_string(),
    })?;
    // The context's fields are next to the category, or in an object called `context`.
    let fields = match object.remove("context") {
        Some(fields) if object.is_empty() => fields,
        Some(_) => {
            return Err(ContextConversionError::Value {
                field: "context".into(),
                expected: "every field in it, or every field beside the category".into(),
                found: "both".into(),
            });
        }
        None => value,
    };
    contexts.descriptor(&category, &fields, MissingFieldMode::Neutral)
}
