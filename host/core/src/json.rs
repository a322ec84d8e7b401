//! Strict JSON objects. A derived `Deserialize` also reads an array of field values as a struct; these functions accept
//! objects only, so equal content has one form.

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// Parses a JSON text, which must be an object. Errors: any other text.
pub fn from_slice<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    let mut from = serde_json::Deserializer::from_slice(text);
    let value = object(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Reads an object; for `deserialize_with`. Errors: any other JSON value.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_map(JsonObjectVisitor(PhantomData))
}

/// Reads an array of objects; for `deserialize_with`. Errors: any other JSON value.
pub fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let items = Vec::<JsonObjectElement<T>>::deserialize(from)?;
    Ok(items.into_iter().map(|JsonObjectElement(item)| item).collect())
}

struct JsonObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for JsonObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

struct JsonObjectElement<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObjectElement<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        object(from).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[serde(deserialize_with = "objects")]
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        a: u8,
    }

    #[test]
    fn an_array_is_not_an_object() {
        let read = |text: &str| from_slice::<Outer>(text.as_bytes()).ok();
        assert_eq!(read(r#" {"inner": [{"a": 1}]} "#), Some(Outer { inner: vec![Inner { a: 1 }] }));
        for wrong in [
            r#"[[{"a":1}]]"#,
            r#"{"inner":[[1]]}"#,
            r#"{"inner":[{"a":1}]} {}"#,
            r#"{"inner":[{"a":1,"a":1}]}"#,
            r#"{"inner":[{"a":1,"b":1}]}"#,
            r#"{"inner":[{}]}"#,
            r#"{"inner":[{"a":1.0}]}"#,
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
