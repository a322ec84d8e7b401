//! JSON answers in which values were refused: whether what is left is still what the client asked for.

use serde_json::Value;

/// Keys of JSON Schema (draft 2020-12) that say no more about a value than its type, or nothing about one that is
/// `null`. A value whose schema has another key may have no gap.
const HARMLESS: [&str; 24] = [
    "$comment",
    "$defs",
    "$schema",
    "additionalProperties",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxProperties",
    "maximum",
    "minItems",
    "minProperties",
    "minimum",
    "multipleOf",
    "properties",
    "readOnly",
    "required",
    "title",
    "type",
];

/// Where a JSON answer may have the placeholder or `null` in place of a value.
#[derive(Clone, Debug)]
pub(crate) enum JsonGaps {
    /// Nowhere: a refusal ends the answer.
    Nowhere,
    /// Everywhere.
    Anywhere,
    /// Where this JSON schema allows any string, or `null`.
    Schema(Value),
}

impl JsonGaps {
    /// The gaps that the client's form of the answer allows: an object as in OpenAI's `response_format`.
    pub(crate) fn of(format: Option<&Value>) -> Self {
        match format.and_then(|format| format.get("type")).and_then(Value::as_str) {
            Some("json_object") => Self::Anywhere,
            Some("json_schema") => {
                let schema = format.and_then(|format| format.pointer("/json_schema/schema"));
                schema.map_or(Self::Nowhere, |schema| Self::Schema(schema.clone()))
            }
            _ => Self::Nowhere,
        }
    }

    /// Whether a document with gaps is JSON, has the shape of the document before, and has gaps only where they may be.
    /// The cost is linear in both.
    pub(crate) fn allow(&self, before: &str, after: &str) -> bool {
        let of = |text: &str| serde_json::from_str::<Value>(text).ok();
        let (Some(before), Some(after)) = (of(before), of(after)) else { return false };
        match self {
            Self::Nowhere => false,
            Self::Anywhere => same_shape(&before, &after, None),
            Self::Schema(schema) => same_shape(&before, &after, Some(Some(schema))),
        }
    }
}

/// Whether two values differ only in strings, and in numbers and names that are `null` in the second. `schema` is the
/// schema of the value, if there is one and it is known.
fn same_shape(before: &Value, after: &Value, schema: Option<Option<&Value>>) -> bool {
    let is_plain =
        |node: &&Value| node.as_object().is_some_and(|node| node.keys().all(|key| HARMLESS.contains(&key.as_str())));
    let plain = schema.map(|schema| schema.filter(is_plain));
    let allows = |kind: &str| match plain {
        None => true,
        Some(node) => match node.and_then(|node| node.get("type")) {
            Some(Value::String(only)) => only == kind,
            Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
            _ => false,
        },
    };
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let of = |key: &str| plain.map(|node| node.and_then(|node| node.get("properties")?.get(key)));
            before.len() == after.len()
                && before.iter().all(|(key, value)| {
                    after.get(key).is_some_and(|after| value == after || same_shape(value, after, of(key)))
                })
        }
        (Value::Array(before), Value::Array(after)) => {
            let of = plain.map(|node| node.and_then(|node| node.get("items")));
            let mut pairs = before.iter().zip(after);
            before.len() == after.len() && pairs.all(|(value, after)| value == after || same_shape(value, after, of))
        }
        (Value::String(before), Value::String(after)) => before == after || allows("string"),
        (Value::Number(_) | Value::Bool(_), Value::Null) => allows("null"),
        _ => before == after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn allows(format: &Value, before: &str, after: &str) -> bool {
        JsonGaps::of(Some(format)).allow(before, after)
    }

    #[test]
    fn gaps_leave_the_object_that_was_asked_for() {
        let object = json!({"type": "json_object"});
        for (before, after, allowed) in [
            (r#"{"a":"b","c":1}"#, r#"{"a":"[x]","c":1}"#, true),
            (r#"{"a":"b","c":1}"#, r#"{"a":"b","c":null}"#, true),
            (r#"{"a":[true,{"b":2}]}"#, r#"{"a":[null,{"b":null}]}"#, true),
            (r#"{"a":"b","c":1}"#, r#"{"a":"b","[x]":1}"#, false),
            (r#"{"a":"b","c":1}"#, r#"{"a":"b"}"#, false),
            (r#"{"a":"b","c":1}"#, r#"{"a":"b","c":}"#, false),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, false),
            (r#"{"a":{"b":1}}"#, r#"{"a":null}"#, false),
        ] {
            assert_eq!(allows(&object, before, after), allowed, "{after}");
        }
        assert!(!allows(&json!({"type": "grammar"}), "[1]", "[null]"));
    }

    #[test]
    fn gaps_are_where_the_schema_allows_them() {
        let schema = json!({"type": "object", "properties": {
            "name": {"type": "string"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "size": {"type": "number"},
            "more": {"type": ["number", "null"]},
            "list": {"type": "array", "items": {"type": ["string", "null"]}},
            "other": {"$ref": "#/$defs/name"},
            "pair": {"type": "array", "prefixItems": [{"enum": ["a"]}], "items": {"type": "string"}},
        }});
        let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
        for (before, after, allowed) in [
            (r#"{"name":"b"}"#, r#"{"name":"[x]"}"#, true),
            (r#"{"kind":"b"}"#, r#"{"kind":"[x]"}"#, false),
            (r#"{"size":1}"#, r#"{"size":null}"#, false),
            (r#"{"more":1}"#, r#"{"more":null}"#, true),
            (r#"{"list":["a","b"]}"#, r#"{"list":["[x]","b"]}"#, true),
            (r#"{"other":"a"}"#, r#"{"other":"[x]"}"#, false),
            (r#"{"unknown":"a"}"#, r#"{"unknown":"[x]"}"#, false),
            (r#"{"pair":["a"]}"#, r#"{"pair":["[x]"]}"#, false),
            (r#"{"kind":"b","size":1}"#, r#"{"kind":"b","size":1}"#, true),
        ] {
            assert_eq!(allows(&format, before, after), allowed, "{after}");
        }
    }
}
