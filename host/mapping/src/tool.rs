//! Tool calls: a name and JSON arguments, in one canonical text, with the classes that name tools and patterns of arguments.

use crate::error::MappingError;
use crate::pattern;
use portcullis_core::class::ClassId;
use portcullis_core::manifest::Manifest;
use portcullis_core::wire::CLASSES;
use regex_automata::meta::Regex;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::fmt;

/// A tool call as an engine proposes it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Name of the tool.
    pub name: String,
    /// Its arguments, a JSON object as text.
    pub arguments: String,
}

/// Rules of one class.
struct Rule {
    class: ClassId,
    name: Option<String>,
    argument: Option<String>,
    pattern: Option<Regex>,
}

/// The rules of all classes.
pub(crate) struct Tools {
    rules: Vec<Rule>,
}

impl Tools {
    pub(crate) fn new(manifest: &Manifest) -> Result<Self, MappingError> {
        let mut rules = Vec::new();
        for (at, class) in manifest.classes.iter().enumerate() {
            for tool in &class.tools {
                let pattern = tool.regex.as_deref().map(|regex| pattern::of_tool(&class.name, regex)).transpose()?;
                let count = manifest.classes.len();
                let number = u8::try_from(at).ok().and_then(|i| ClassId::try_from(i).ok());
                let number = number.ok_or(MappingError::TooMany { what: "classes", count, most: CLASSES })?;
                let name = Some(tool.name.clone()).filter(|n| n != "*");
                rules.push(Rule { class: number, name, argument: tool.argument.clone(), pattern });
            }
        }
        Ok(Self { rules })
    }

    /// Classes of a call.
    pub(crate) fn classes(&self, name: &str, arguments: &Value) -> Vec<ClassId> {
        let matches = |rule: &&Rule| {
            let target = match &rule.argument {
                Some(pointer) => arguments.pointer(pointer),
                None => Some(arguments),
            };
            let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
            rule.name.as_deref().is_none_or(|n| n == name)
                && target.is_some_and(|t| rule.pattern.as_ref().is_none_or(|p| p.is_match(&text(t))))
        };
        self.rules.iter().filter(matches).map(|r| r.class).collect()
    }
}

/// Every expression about arguments that cannot be used.
pub(crate) fn problems(manifest: &Manifest) -> Vec<MappingError> {
    let tools = manifest.classes.iter().flat_map(|class| class.tools.iter().map(move |tool| (&class.name, tool)));
    let used = tools.filter_map(|(class, tool)| Some((class, tool.regex.as_deref()?)));
    used.filter_map(|(class, regex)| pattern::of_tool(class, regex).err()).collect()
}

/// The canonical text of a call, `{"arguments":{…},"name":"…"}` with sorted keys, and its arguments. `None` when the name is empty or
/// the arguments are no JSON object: nothing is guessed, and a key that stands there twice is no object.
pub(crate) fn canonical(call: &Call) -> Option<(String, Value)> {
    let Strict(arguments) = serde_json::from_str(&call.arguments).ok()?;
    if call.name.is_empty() || !arguments.is_object() {
        return None;
    }
    let text = serde_json::json!({"arguments": arguments, "name": call.name}).to_string();
    Some((text, arguments))
}

/// JSON in which no key stands twice in one object.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is none"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(value)) = access.next_element()? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        // Sorted here: what serde_json's map does depends on the features that it is built with.
        let mut map = BTreeMap::new();
        while let Some((key, Strict(value))) = access.next_entry::<String, Strict>()? {
            if map.insert(key, value).is_some() {
                return Err(de::Error::custom("a key that stands there twice"));
            }
        }
        Ok(Value::Object(map.into_iter().collect::<Map<_, _>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_has_one_text() {
        let text =
            |arguments: &str| canonical(&Call { name: "get".into(), arguments: arguments.into() }).map(|(t, _)| t);
        let expected = Some(r#"{"arguments":{"a":[1,null],"b":"x"},"name":"get"}"#.to_owned());
        assert_eq!(text(r#"{"b":"x", "a":[1, null]}"#), expected);
        for bad in ["", "[]", "7", r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"b":1}}"#, "{", r#"{"a":1} x"#] {
            assert_eq!(text(bad), None, "{bad}");
        }
        assert_eq!(canonical(&Call { name: String::new(), arguments: "{}".into() }), None);
        assert_eq!(text(&format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200))), None, "nested too deep");
    }
}
