//! JSON as written: numbers keep their text, and repeated keys of an object are kept.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Greatest nesting depth; `serde_json` has the same limit.
const DEPTH: usize = 128;

/// A JSON value (RFC 8259).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    /// The number as text.
    Number(String),
    String(String),
    Array(Vec<Self>),
    /// Members in the order of the text.
    Object(Vec<(String, Self)>),
}

/// What a text begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// A complete value.
    Value(Json),
    /// The beginning of a value.
    Open,
    /// Other text, or a value with too much nesting.
    Other,
}

impl Json {
    /// Parses a text that is one value; `None` for other texts, or with too much nesting.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::of(serde_json::from_str(text).ok()?, DEPTH)
    }

    /// The value with which `text` begins, and the number of bytes read.
    pub(crate) fn prefix(text: &str) -> (Prefix, usize) {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        match values.next() {
            Some(Ok(raw)) => (Self::of(raw, DEPTH).map_or(Prefix::Other, Prefix::Value), values.byte_offset()),
            Some(Err(error)) if error.is_eof() => (Prefix::Open, text.len()),
            Some(Err(error)) => {
                let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
                (Prefix::Other, lines.map(str::len).sum::<usize>() + error.column())
            }
            None => (Prefix::Open, text.len()),
        }
    }

    fn of(raw: &RawValue, depth: usize) -> Option<Self> {
        let (text, depth) = (raw.get(), depth.checked_sub(1)?);
        Some(match text.bytes().next()? {
            b'{' => {
                let Members(members) = serde_json::from_str(text).ok()?;
                let member = |(key, raw)| Some((key, Self::of(raw, depth)?));
                Self::Object(members.into_iter().map(member).collect::<Option<_>>()?)
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                Self::Array(items.into_iter().map(|raw| Self::of(raw, depth)).collect::<Option<_>>()?)
            }
            b'"' => Self::String(serde_json::from_str(text).ok()?),
            b't' => Self::Bool(true),
            b'f' => Self::Bool(false),
            b'n' => Self::Null,
            _ => Self::Number(text.to_owned()),
        })
    }

    /// All values of a key; an object can contain the same key several times.
    pub(crate) fn members(&self, key: &str) -> impl Iterator<Item = &Self> {
        let members = if let Self::Object(members) = self { members.as_slice() } else { &[] };
        members.iter().filter(move |(name, _)| name == key).map(|(_, value)| value)
    }

    /// The values at a JSON Pointer (RFC 6901).
    pub(crate) fn pointer(&self, pointer: &str) -> Vec<&Self> {
        let Some(path) = pointer.strip_prefix('/') else {
            return if pointer.is_empty() { vec![self] } else { Vec::new() };
        };
        let mut found = vec![self];
        for token in path.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            let step = found.into_iter().flat_map(|value| match value {
                Self::Array(items) => index(&token).and_then(|at| items.get(at)).into_iter().collect(),
                other => other.members(&token).collect::<Vec<_>>(),
            });
            found = step.collect();
        }
        found
    }

    /// This value and all values inside it; this value comes first.
    pub(crate) fn values(&self) -> Vec<&Self> {
        let mut values = vec![self];
        let mut next = 0;
        while let Some(value) = values.get(next).copied() {
            match value {
                Self::Array(items) => values.extend(items),
                Self::Object(members) => values.extend(members.iter().map(|(_, value)| value)),
                _ => {}
            }
            next += 1;
        }
        values
    }

    /// Whether an object inside this value contains a key twice.
    pub(crate) fn repeats_a_key(&self) -> bool {
        let repeats = |value: &&Self| {
            let Self::Object(members) = value else { return false };
            let mut keys: Vec<&String> = members.iter().map(|(key, _)| key).collect();
            keys.sort_unstable();
            keys.windows(2).any(|pair| pair.first() == pair.last())
        };
        self.values().iter().any(repeats)
    }

    /// The value without white space, with the members of objects in their order.
    pub(crate) fn in_order(&self) -> impl fmt::Display + '_ {
        CompactJson { value: self, sorted: false }
    }

    /// The text of a string, or the JSON of any other value.
    pub(crate) fn text(&self) -> String {
        if let Self::String(text) = self { text.clone() } else { self.to_string() }
    }
}

/// An array index in the form of RFC 6901.
fn index(token: &str) -> Option<usize> {
    let plain = token == "0" || !token.starts_with(['0', '+']);
    token.parse().ok().filter(|_| plain)
}

/// Writes JSON without white space and with sorted keys, so that equal values have equal text.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        CompactJson { value: self, sorted: true }.fmt(f)
    }
}

/// JSON without white space. A string has the fewest escapes: of quotation marks, backslashes and control characters.
struct CompactJson<'j> {
    value: &'j Json,
    /// Whether the members of objects are sorted by their keys.
    sorted: bool,
}

impl fmt::Display for CompactJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let string = |text: &str| serde_json::to_string(text).map_err(|_| fmt::Error);
        let inner = |value| CompactJson { value, sorted: self.sorted };
        match self.value {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(text) => f.write_str(text),
            Json::String(text) => f.write_str(&string(text)?),
            Json::Array(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if at == 0 { "" } else { "," }, inner(item))?;
                }
                f.write_str("]")
            }
            Json::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                if self.sorted {
                    members.sort_by_key(|(key, _)| key);
                }
                f.write_str("{")?;
                for (at, (key, value)) in members.into_iter().enumerate() {
                    write!(f, "{}{}:{}", if at == 0 { "" } else { "," }, string(key)?, inner(value))?;
                }
                f.write_str("}")
            }
        }
    }
}

/// All members of an object, repeated keys included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectMembersVisitor;
        impl<'de> Visitor<'de> for ObjectMembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(ObjectMembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_stays_and_keys_are_sorted() {
        for (text, canonical) in [
            (r#"{"b":1.0, "a":[1e+05, -0]}"#, r#"{"a":[1e+05,-0],"b":1.0}"#),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            (r#" "\u0041\n" "#, r#""A\n""#),
            ("[true, false, null]", "[true,false,null]"),
        ] {
            assert_eq!(Json::parse(text).unwrap().to_string(), canonical);
        }
        for bad in ["", "{", "{} {}", "01", "+1", "NaN", r#""\ud800""#, "{'a':1}", "[1,]"] {
            assert_eq!(Json::parse(bad), None, "{bad}");
        }
        assert_eq!(Json::parse(&("[".repeat(200_000) + &"]".repeat(200_000))), None, "nested too deep");
    }

    #[test]
    fn a_pointer_finds_every_value() {
        let json = Json::parse(r#"{"a":{"b/c":[1,2]},"a":{"b/c":[3]}}"#).unwrap();
        let text = |pointer: &str| json.pointer(pointer).into_iter().map(Json::text).collect::<Vec<_>>();
        assert_eq!(text("/a/b~1c/0"), ["1", "3"]);
        assert_eq!(text("/a/b~1c/01"), [""; 0]);
        assert_eq!(text("").len(), 1);
        assert!(json.repeats_a_key() && !Json::parse(r#"{"a":{"b":1},"b":{"b":1}}"#).unwrap().repeats_a_key());
    }

    #[test]
    fn a_value_ends_where_another_text_begins() {
        assert_eq!(Json::prefix(r#"{"a":1} and more"#).1, 7);
        assert_eq!(Json::prefix("{ not json } and more"), (Prefix::Other, 3));
        assert_eq!(Json::prefix("{\n\"a\"!"), (Prefix::Other, 6));
    }
}
