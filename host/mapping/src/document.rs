//! JSON documents that a client decodes, in the encoding in which the gate judges and releases them.

use crate::json::Json;

/// An object of a JSON document has the same key twice; parsers differ in which of the two values they return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a JSON object that has a key twice")]
pub struct RepeatedKey;

/// A JSON document (RFC 8259) in the gate's own encoding: without white space, with the fewest escapes, with numbers as
/// written and members in their order. `None` if the text is not JSON; such a text has no other encoding.
///
/// # Errors
/// [`RepeatedKey`].
///
/// ```
/// # use portcullis_mapping::{RepeatedKey, json_document};
/// let written = json_document(r#"{"to": "ana\u0040b.org", "n": 1.50}"#);
/// assert_eq!(written, Ok(Some(r#"{"to":"ana@b.org","n":1.50}"#.to_owned())));
/// assert_eq!(json_document(r#"{"to": 1, "t\u006f": 2}"#), Err(RepeatedKey));
/// assert_eq!(json_document("no JSON"), Ok(None));
/// ```
pub fn json_document(text: &str) -> Result<Option<String>, RepeatedKey> {
    match Json::parse(text) {
        Some(value) if value.repeats_a_key() => Err(RepeatedKey),
        Some(value) => Ok(Some(value.in_order().to_string())),
        None => Ok(None),
    }
}
