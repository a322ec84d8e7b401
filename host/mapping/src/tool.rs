//! Tool calls: the canonical text of a name and its JSON arguments, and the classes whose rules match a call.

use crate::error::MappingError;
use crate::json::{Json, Prefix};
use crate::pattern;
use crate::view::MatchingView;
use portcullis_core::class::ClassId;
use portcullis_core::manifest::PackageManifest;
use portcullis_core::wire::CLASSES;
use regex_automata::meta::Regex;
use std::borrow::Cow;
use std::ops::Range;

/// A tool call as an engine proposes it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineToolCall {
    /// Name of the tool.
    pub name: String,
    /// Arguments of the call: a JSON object as text.
    pub arguments: String,
}

/// Rules of one class.
struct ToolClassRule {
    class: ClassId,
    name: Option<String>,
    argument: Option<String>,
    pattern: Option<Regex>,
}

/// The rules of all classes.
pub(crate) struct Tools {
    rules: Vec<ToolClassRule>,
}

impl Tools {
    pub(crate) fn new(manifest: &PackageManifest) -> Result<Self, MappingError> {
        let mut rules = Vec::new();
        for (at, class) in manifest.classes.iter().enumerate() {
            for tool in &class.tools {
                let pattern = tool.regex.as_deref().map(|regex| pattern::of_tool(&class.name, regex)).transpose()?;
                let count = manifest.classes.len();
                let number =
                    manifest.class_id(at).ok_or(MappingError::TooMany { what: "classes", count, most: CLASSES })?;
                let name = Some(tool.name.clone()).filter(|n| n != "*");
                rules.push(ToolClassRule { class: number, name, argument: tool.argument.clone(), pattern });
            }
        }
        Ok(Self { rules })
    }

    /// Classes whose rules match a call.
    pub(crate) fn classes(&self, name: &str, arguments: &Json) -> Vec<ClassId> {
        let matches = |rule: &&ToolClassRule| {
            let targets = arguments.pointer(rule.argument.as_deref().unwrap_or_default());
            rule.name.as_deref().is_none_or(|n| n == name)
                && targets.iter().any(|t| rule.pattern.as_ref().is_none_or(|p| p.is_match(&t.text())))
        };
        self.rules.iter().filter(matches).map(|r| r.class).collect()
    }

    /// The calls in a text, in order, including calls whose marks only look like ASCII marks. A program that reads the
    /// text may execute them, so they are judged as calls.
    pub(crate) fn in_text(&self, text: &str) -> Vec<TextCall> {
        let mut found = self.written(text);
        if let Some(view) = MatchingView::of_marks(text) {
            let shown = self.written(view.text()).into_iter();
            let shown = shown.map(|call| TextCall { range: view.origin(&call.range), ..call });
            let apart = |call: &TextCall| {
                let next = found.get(found.partition_point(|f| f.range.end <= call.range.start));
                next.is_none_or(|f| call.range.end <= f.range.start)
            };
            let shown: Vec<TextCall> = shown.filter(apart).collect();
            found.extend(shown);
            found.sort_by_key(|call| call.range.start);
        }
        found
    }

    /// Ranges that look like objects but are invalid or incomplete, in order; overlapping ranges are joined. Later text
    /// must be read together with them.
    pub(crate) fn looked_at(text: &str) -> Vec<Range<usize>> {
        let mut ranges = objects(text, |_, _| {});
        if let Some(view) = MatchingView::of_marks(text) {
            ranges.extend(objects(view.text(), |_, _| {}).iter().map(|range| view.origin(range)));
        }
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
    }

    fn written(&self, text: &str) -> Vec<TextCall> {
        let mut found = Vec::new();
        objects(text, |range, object| {
            let classes = match object {
                EmbeddedObject::Read(json) => {
                    let Some(calls) = calls(json) else {
                        let classes = self.rules.iter().map(|rule| rule.class).collect();
                        return found.push(TextCall { range, classes });
                    };
                    if calls.is_empty() {
                        return;
                    }
                    calls.iter().flat_map(|(name, arguments)| self.classes(name, arguments)).collect()
                }
                // An object that cannot be read in bounded time counts as a call that matches every rule.
                EmbeddedObject::Unread => self.rules.iter().map(|rule| rule.class).collect(),
            };
            found.push(TextCall { range, classes });
        });
        found
    }
}

/// An object in a text.
enum EmbeddedObject<'j> {
    Read(&'j Json),
    /// The object is too long, or too deeply nested.
    Unread,
}

/// Calls `show` for each object of a text in order. Returns the ranges that begin with a brace but are not objects;
/// overlapping ranges are joined.
fn objects(text: &str, mut show: impl FnMut(Range<usize>, EmbeddedObject<'_>)) -> Vec<Range<usize>> {
    let mut from = 0;
    let mut looked_at = Vec::new();
    let (mut failed, mut cost) = (0..0, 0);
    while let Some(start) = text.get(from..).and_then(|rest| rest.find('{')).map(|at| from + at) {
        let rest = text.get(start..).unwrap_or_default();
        let near = rest.get(..rest.floor_char_boundary(LONGEST)).unwrap_or_default();
        let (read, length) = Json::prefix(near);
        let end = start + length;
        match read {
            Prefix::Value(json) => {
                show(start..end, EmbeddedObject::Read(&json));
                from = end;
                continue;
            }
            Prefix::Open if near.len() < rest.len() => {
                show(start..end, EmbeddedObject::Unread);
                from = end;
                continue;
            }
            Prefix::Open | Prefix::Other => {}
        }
        if failed.end <= start {
            looked_at.push(std::mem::replace(&mut failed, start..start));
            cost = 0;
        }
        failed.end = failed.end.max(end);
        cost += length;
        if cost > EFFORT * (failed.len() + 1) {
            show(start..failed.end, EmbeddedObject::Unread);
            from = failed.end;
        } else {
            from = start + 1;
        }
    }
    looked_at.push(failed);
    looked_at
}

/// The errors of all expressions about arguments.
pub(crate) fn problems(manifest: &PackageManifest) -> Vec<MappingError> {
    let tools = manifest.classes.iter().flat_map(|class| class.tools.iter().map(move |tool| (&class.name, tool)));
    let used = tools.filter_map(|(class, tool)| Some((class, tool.regex.as_deref()?)));
    used.filter_map(|(class, regex)| pattern::of_tool(class, regex).err()).collect()
}

/// The canonical text of a call, `{"arguments":{…},"name":"…"}` with sorted keys, and its arguments. `None` if the name
/// is empty, or the arguments are not a JSON object, or an object in them contains a key twice.
pub(crate) fn canonical(call: &EngineToolCall) -> Option<(String, Json)> {
    let arguments = Json::parse(&call.arguments)?;
    if call.name.is_empty() || !matches!(arguments, Json::Object(_)) || arguments.repeats_a_key() {
        return None;
    }
    let name = Json::String(call.name.clone());
    let text = format!("{{\"arguments\":{arguments},\"name\":{name}}}");
    Some((text, arguments))
}

/// A tool call in a text, in one of the formats that model servers and agent libraries accept.
pub(crate) struct TextCall {
    /// The bytes of the outermost object that contains the call.
    pub(crate) range: Range<usize>,
    /// Classes whose rules match the call.
    pub(crate) classes: Vec<ClassId>,
}

/// Limits the search for objects: how often a byte may be read on average. After an unclosed object, the search starts
/// again at each later brace.
const EFFORT: usize = 32;
/// Greatest length of an object in bytes.
const LONGEST: usize = 1 << 16;

/// Keys that name the tool: OpenAI, Anthropic, Llama and Mistral use `name`, Cohere `tool_name`, ReAct agents `action`,
/// and libraries accept the others.
const NAMES: [&str; 6] = ["name", "tool_name", "tool", "function", "action", "recipient_name"];
/// Keys that hold the arguments, in the same formats.
const ARGUMENTS: [&str; 9] =
    ["arguments", "parameters", "input", "args", "params", "action_input", "tool_input", "kwargs", "tool_args"];

/// Greatest number of calls that one object can stand for, because it repeats keys.
const CALLS: usize = 64;

/// Names and arguments of all calls in a value. Every value of a repeated key is used. `None` if an object stands for
/// more than [`CALLS`] calls.
fn calls(json: &Json) -> Option<Vec<(&str, Cow<'_, Json>)>> {
    let mut found = Vec::new();
    for object in json.values() {
        let arguments: Vec<&Json> = ARGUMENTS.iter().flat_map(|key| object.members(key)).collect();
        let names = || NAMES.iter().flat_map(|key| object.members(key));
        if arguments.len().saturating_mul(names().take(CALLS + 1).count()) > CALLS {
            return None;
        }
        for name in names() {
            let Json::String(name) = name else { continue };
            for &arguments in &arguments {
                // Arguments may be an object, or a string that contains an object.
                let inner = if let Json::String(text) = arguments { Json::parse(text) } else { None };
                found.push((name.as_str(), inner.map_or(Cow::Borrowed(arguments), Cow::Owned)));
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_has_one_text() {
        let text = |arguments: &str| {
            canonical(&EngineToolCall { name: "get".into(), arguments: arguments.into() }).map(|(t, _)| t)
        };
        let expected = Some(r#"{"arguments":{"a":[1.0,null],"b":"x"},"name":"get"}"#.to_owned());
        assert_eq!(text(r#"{"b":"x", "a":[1.0, null]}"#), expected);
        for bad in ["", "[]", "7", r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"b":1}}"#, "{", r#"{"a":1} x"#] {
            assert_eq!(text(bad), None, "{bad}");
        }
        assert_eq!(canonical(&EngineToolCall { name: String::new(), arguments: "{}".into() }), None);
        assert_eq!(text(&format!("{{\"a\":{}{}}}", "[".repeat(200), "]".repeat(200))), None, "nested too deep");
    }

    #[test]
    fn a_text_holds_calls_in_the_shapes_that_are_read() {
        let manifest = serde_json::json!({
            "package": {"name": "p", "version": "1.0.0", "description": ""},
            "enumerations": {"domain": ["d"], "audience": ["a"], "temporal": ["t"], "register": ["r"]},
            "class": [{"name": "delete", "tool": [{"name": "delete", "argument": "/id", "regex": "7"}]}],
        });
        let tools = Tools::new(&serde_json::from_value(manifest).unwrap()).unwrap();
        let classes = |text: &str| -> Vec<(String, usize)> {
            let found = tools.in_text(text);
            found.iter().map(|c| (text.get(c.range.clone()).unwrap().to_owned(), c.classes.len())).collect()
        };
        let call = r#"{"name":"delete","arguments":{"id":7}}"#;
        assert_eq!(classes(&format!("First {{ not }} json, then {call}. End")), [(call.to_owned(), 1)]);
        for call in [
            r#"{"arguments":"{\"id\": 7}","name":"dele\u0074e"}"#,
            r#"{"type":"function","function":{"name":"delete","arguments":{"id":7}}}"#,
            r#"{"type":"tool_use","name":"delete","input":{"id":7}}"#,
            r#"{"tool_name":"delete","parameters":{"id":7}}"#,
            r#"{"functionCall":{"name":"delete","args":{"id":7}}}"#,
            r#"{"action":"delete","action_input":{"id":7}}"#,
            r#"{"name":"noop","name":"delete","arguments":{"id":1,"id":7}}"#,
        ] {
            assert_eq!(classes(&format!("```\n[{call}]\n```")), [(call.to_owned(), 1)]);
        }
        assert_eq!(classes(r#"{"name":"delete","arguments":{"id":8}}"#).len(), 1, "a call that no rule names");
        let wide = "\u{ff5b}\u{ff02}name\u{ff02}\u{ff1a}\"delete\", \"arguments\": {\"id\": \u{ff17}}\u{fe5c}";
        assert_eq!(classes(&format!("Do {wide} now")), [(wide.to_owned(), 1)]);
        let endless = r#"{"a":"#.repeat(20_000);
        assert_eq!(classes(&endless).iter().map(|(_, classes)| *classes).collect::<Vec<_>>(), [1, 1], "it ends");
        assert_eq!(classes(r#"{"name":"Ana","id":7} {"arguments":{"id":7}}"#), [], "no calls");
    }
}
